"""The images and sounds of a page's samples, inside the file: it fetches nothing, and its size is bounded."""

from __future__ import annotations

import re
from collections.abc import Sequence

from assay.pages.html.element import Child, Html, escaped, raw, tag
from assay.results.conversation import Part, mention
from assay.text.wording import count_of

MOST_BYTES = 8 << 20
"""Of images and sounds in one page, in base64: small enough to be mailed."""
# as render.js has them
PICTURE = re.compile(r"data:image\/(png|jpeg|gif|webp);base64,[A-Za-z0-9+/=\s]+")
SOUND = re.compile(r"data:audio\/(wav|mpeg|mp3|ogg|flac|webm);base64,[A-Za-z0-9+/=\s]+")


class Pictures:
    """What one page embeds, in the order in which its samples appear."""

    def __init__(self, most_bytes: int = MOST_BYTES) -> None:
        self._most = self._left = most_bytes
        self._anchors: dict[str, str] = {}
        """What is embedded already -> its id in the page."""

    def of(self, parts: Sequence[Part], sample: str, source: object = "RUN") -> Child:
        """Those of one question, and the command that shows the ones for which there is no room."""
        shown = [self._shown(part, sample) for part in parts if _kind(part).fullmatch(part.text)]
        if not shown:
            return None
        missing = shown.count(None)
        note = f"{count_of(missing, 'file')} left out, as a page holds {self._most / 2**20:.3g} MiB of them: "
        return [
            tag("div", shown, class_="media"),
            tag("p", note, tag("code", f"assay view {source}"), class_="soft") if missing else None,
        ]

    def _shown(self, part: Part, sample: str) -> Html | None:
        anchor = self._anchors.get(part.text)
        name = part.name or part.kind
        if len(part.text) > self._left:
            return None if anchor is None else tag("a", f"{name}: shown above", href=f"#{anchor}")
        self._left -= len(part.text)
        attributes = f' title="{escaped(mention(part).strip("()"))}"'
        if anchor is None:
            anchor = self._anchors[part.text] = f"file-{len(self._anchors) + 1}"
            attributes += f' id="{anchor}"'
        # not by `tag`, which remembers attributes; the pattern leaves nothing in the address to escape
        attributes += f' src="{"".join(part.text.split())}"'
        label = escaped(f"{name} of sample {sample}")
        if part.kind == "image":
            return raw(f'<img class="picture" alt="{label}"{attributes}/>')
        return raw(f'<audio controls aria-label="{label}"{attributes}></audio>')


def _kind(part: Part) -> re.Pattern[str]:
    return PICTURE if part.kind == "image" else SOUND


def media_sources(markup: str) -> list[str]:
    """The directives of a content policy that let this markup show what it embeds, and nothing from elsewhere."""
    return [
        f"{directive} data:"
        for directive, element in (("img-src", "<img "), ("media-src", "<audio "))
        if element in markup
    ]
