"""An evaluator as an HTTP service: `python3 service.py 8000`, then `--evaluator-url http://127.0.0.1:8000/score`."""

import json
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


class Score(BaseHTTPRequestHandler):
    def do_POST(self):
        payload = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        polite = "please" in payload["candidate"].lower()
        answer = json.dumps({"score": float(polite), "polite": polite}).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(answer)))
        self.end_headers()
        self.wfile.write(answer)

    def log_message(self, *words):
        pass


with ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), Score) as server:
    print(f"listening on {server.server_port}", flush=True)
    server.serve_forever()
