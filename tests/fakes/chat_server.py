# SPDX-License-Identifier: Apache-2.0
"""Serves the chat page's source files with an API that a test scripts.

It shows the page what the real server only does in rare moments: an answer cut in the middle, bytes
split inside a character, an error after the first tokens. Paths and the security policy are read
from the sources that the real server is built from, so that they cannot drift apart.
"""
import http.server
import json
import pathlib
import re
import threading
import time
from typing import Callable, Iterable

ROOT = pathlib.Path(__file__).resolve().parents[2]
PAGE = ROOT / "src/api/page"
TOKEN = "page-token-of-the-fake"
TYPES = {".html": "text/html", ".js": "text/javascript", ".css": "text/css", ".svg": "image/svg+xml"}


def asset_files() -> dict[str, pathlib.Path]:
    text = (PAGE / "CMakeLists.txt").read_text(encoding="utf-8")
    rows = re.findall(r"^\s*(/[^\s=]*)=([^\s)]+)", text, re.M)
    return {url: PAGE / "assets" / name for url, name in rows}


def security_policy() -> str:
    text = (PAGE / "assets.h").read_text(encoding="utf-8")
    literal = re.search(r"kPageSecurityPolicy =\s*((?:\"[^\"]*\"\s*)+);", text)
    return "".join(re.findall(r'"([^"]*)"', literal.group(1)))


def chunk(text: str | None = None, finish: str | None = None) -> bytes:
    """One streamed chunk as its frame."""
    delta = {} if text is None else {"content": text}
    choice = {"index": 0, "delta": delta, "finish_reason": finish}
    return frame({"id": "chatcmpl-1", "object": "chat.completion.chunk", "model": "fake",
                  "choices": [choice]})


def frame(body: dict) -> bytes:
    return b"data: " + json.dumps(body, ensure_ascii=False).encode() + b"\n\n"


def usage(prompt: int, completion: int) -> bytes:
    return frame({"object": "chat.completion.chunk", "choices": [],
                  "usage": {"prompt_tokens": prompt, "completion_tokens": completion,
                            "total_tokens": prompt + completion}})


DONE = b"data: [DONE]\n\n"


def answer(text: str, pause: float = 0.0, finish: str = "stop") -> Iterable[bytes]:
    """A whole answer, word by word."""
    pieces = re.findall(r"\S+\s*|\s+", text)
    for piece in pieces:
        yield chunk(piece)
        time.sleep(pause)
    yield chunk(finish=finish)
    yield usage(20, len(pieces) + 1)
    yield DONE


class Refusal(Exception):
    """Raised by a script to answer with an error object."""

    def __init__(self, status: int, message: str, code: str | None = None, headers=None):
        super().__init__(message)
        self.status = status
        self.body = {"error": {"message": message, "type": "invalid_request_error", "param": None,
                               "code": code}}
        self.headers = headers or {}


class FakeServer:
    """Use as a context manager. `script(request_body)` yields the bytes of the stream."""

    def __init__(self, script: Callable[[dict], Iterable[bytes]] | None = None,
                 models: tuple[str, ...] = ("smollm2-135m-instruct",), needs_key: bool = True):
        self.script = script or (lambda body: answer("Hello."))
        self.models = models
        self.needs_key = needs_key
        self.requests: list[dict] = []  # {path, headers, body}
        self.aborted = threading.Event()  # a stream's reader went away
        handler = type("Handler", (_Handler,), {"fake": self})
        self._http = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
        self._http.daemon_threads = True
        self._thread = threading.Thread(target=self._http.serve_forever, daemon=True)

    def __enter__(self) -> "FakeServer":
        self._thread.start()
        return self

    def __exit__(self, *unused) -> None:
        self._http.shutdown()
        self._http.server_close()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._http.server_address[1]}/"

    @property
    def link(self) -> str:
        return f"{self.url}#token={TOKEN}"


class _Handler(http.server.BaseHTTPRequestHandler):
    fake: FakeServer
    protocol_version = "HTTP/1.1"

    def log_message(self, *unused) -> None:
        pass

    def do_GET(self) -> None:
        self._note(None)
        files = asset_files()
        if self.path in files:
            file = files[self.path]
            self._reply(200, file.read_bytes(), TYPES[file.suffix])
        elif self.path == "/v1/models":
            self._guard(lambda: self._json(200, {"object": "list", "data": [
                {"id": name, "object": "model"} for name in self.fake.models]}))
        else:
            self._json(404, {"error": {"message": f"no route {self.path}"}})

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self._note(body)
        self._guard(lambda: self._stream(body))

    def _note(self, body) -> None:
        self.fake.requests.append({"path": self.path, "headers": dict(self.headers), "body": body})

    def _guard(self, serve) -> None:
        if self.fake.needs_key and self.headers.get("Authorization") != f"Bearer {TOKEN}":
            return self._refuse(Refusal(401, "The key or page link is not valid. The server may have "
                                        "been restarted: open the link it printed.", "invalid_api_key"))
        try:
            serve()
        except Refusal as refusal:
            self._refuse(refusal)

    def _stream(self, body: dict) -> None:
        stream = iter(self.fake.script(body))
        first = next(stream)  # a script may refuse before its first byte
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Connection", "close")
        self.end_headers()
        self.close_connection = True
        try:
            self.wfile.write(first)
            for piece in stream:
                self.wfile.write(piece)
                self.wfile.flush()
        except (BrokenPipeError, ConnectionResetError):
            self.fake.aborted.set()

    def _refuse(self, refusal: Refusal) -> None:
        self._json(refusal.status, refusal.body, refusal.headers)

    def _json(self, status: int, body: dict, headers=None) -> None:
        self._reply(status, json.dumps(body).encode(), "application/json", headers)

    def _reply(self, status: int, body: bytes, kind: str, headers=None) -> None:
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.send_header("Content-Security-Policy", security_policy())
        self.send_header("Cache-Control", "no-store")
        self.send_header("Connection", "close")  # so that a stopped fake is gone at once
        for name, value in (headers or {}).items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)
