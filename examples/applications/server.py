#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A small server: POST a file's content, get what it contains as JSON. One session for all threads, a time limit for each run.

    server.py [--port 8000]                       prints the address when it is ready
    curl --data-binary @README.md localhost:8000
"""

import argparse
import http.server
import json

import gantry
from file_types import MODEL, classify

MOST_BYTES = 16 << 20  # of a request
SECONDS = 5  # that a client may take to send what it announced


class Handler(http.server.BaseHTTPRequestHandler):
    timeout = SECONDS
    session: gantry.Session  # set below; many threads may run one session at once

    def do_POST(self) -> None:
        size = self.headers.get("Content-Length", "")
        if not size.isdigit() or int(size) > MOST_BYTES:
            return self.answer(413, {"error": f"expected a Content-Length of up to {MOST_BYTES} bytes, found \"{size}\""})
        try:
            (label, score), = classify(self.session, [self.rfile.read(int(size))])
        except gantry.Error as error:  # says what was expected and what was found
            return self.answer(500, {"error": str(error)})
        return self.answer(200, {"type": label, "score": round(score, 3)})

    def answer(self, status: int, document: dict) -> None:
        body = json.dumps(document).encode() + b"\n"
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--port", type=int, default=8000, help="0: one that is free")
    options = parser.parse_args()
    Handler.session = gantry.Session(MODEL / "model.onnx", device="CPU", config={"session": {"threads": 1}})  # a request, a core
    with http.server.ThreadingHTTPServer(("localhost", options.port), Handler) as server:
        print(f"http://localhost:{server.server_port}", flush=True)
        server.serve_forever()


if __name__ == "__main__":
    main()
