// The cases of test_real_servers.py, answered by Node's own HTTP server. Prints its port when it listens.
const http = require("http");
const server = http.createServer((request, response) => {
  if (request.url === "/early") {
    response.writeHead(413, { "Content-Type": "application/json", Connection: "close" });
    return response.end("{}");
  }
  const pieces = [];
  request.on("data", (piece) => pieces.push(piece));
  request.on("end", () => {
    const body = Buffer.concat(pieces);
    if (request.url === "/chunked") {
      response.write("one,");
      return response.end("two");
    }
    if (request.url === "/close") response.setHeader("Connection", "close");
    if (request.url === "/redirect") {
      response.writeHead(307, { Location: "/echo" });
      return response.end();
    }
    if (request.url === "/nothing") {
      response.writeHead(204);
      return response.end();
    }
    if (request.url === "/headers") for (let i = 0; i < 100; i++) response.setHeader("X-" + i, "v".repeat(100));
    if (request.url === "/large") return response.end(Buffer.alloc(2 << 20, "x"));
    if (request.url === "/continue") {
      response.writeContinue();
      response.writeEarlyHints({ link: "</style.css>; rel=preload" });
    }
    if (request.url === "/gzip") {
      response.setHeader("Content-Encoding", "gzip");
      return response.end(require("zlib").gzipSync("packed"));
    }
    response.setHeader("Content-Type", "application/json");
    response.end(JSON.stringify({ bytes: body.length, method: request.method, type: request.headers["content-type"] }));
  });
});
server.listen(0, "127.0.0.1", () => console.log(server.address().port));
process.stdin.on("end", () => process.exit()).resume();
