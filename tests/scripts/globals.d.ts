// What the page finds in its window: the vendored libraries, and the data of an exported copy.

interface Window {
  ASSAY_STATIC?: any;
  markdownit: any;
  katex: any;
  hljs: any;
}
