"""An OpenAI-like server in this process that answers well, badly, late or not at all."""

import json
import math
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

Reply = tuple[int, bytes, dict[str, str]]
Behaviour = Callable[["Request"], Reply]


@dataclass
class Request:
    """One request: its number from 0, its path and its JSON."""

    number: int
    path: str
    body: dict[str, Any]
    headers: Any

    @property
    def text(self) -> str:
        """The prompt."""
        if "prompt" in self.body:
            return str(self.body["prompt"])
        return str(self.body.get("state") or self.body["messages"][-1]["content"])


@dataclass
class StubServer:
    """A server on a free port of this machine.

    Attributes:
        behave: Answers requests; replace it to change the server's mind.
        requests: All requests so far, those to ``/models`` left out.
        at_once: The most requests that were under way at the same time.
    """

    behave: Behaviour
    url: str = ""
    requests: list[Request] = field(default_factory=list)
    at_once: int = 0
    under_way: int = 0
    lock: threading.Lock = field(default_factory=threading.Lock)
    closing: threading.Event = field(default_factory=threading.Event)

    def take(self, path: str, body: dict[str, Any], headers: Any) -> Request:
        with self.lock:
            request = Request(len(self.requests), path, body, headers)
            self.requests.append(request)
            self.under_way += 1
            self.at_once = max(self.at_once, self.under_way)
        return request

    def leave(self) -> None:
        with self.lock:
            self.under_way -= 1


@contextmanager
def stub_server(behave: Behaviour) -> Iterator[StubServer]:
    """Runs a stub server."""
    stub = StubServer(behave)
    server = ThreadingHTTPServer(("127.0.0.1", 0), _handler(stub))
    server.daemon_threads = True
    stub.url = f"http://127.0.0.1:{server.server_address[1]}/v1"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield stub
    finally:
        stub.closing.set()
        server.shutdown()
        thread.join()
        server.server_close()


def _handler(stub: StubServer) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.answer(reply({"data": [{"id": "stub"}]}))

        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            request = stub.take(self.path, body, self.headers)
            try:
                found = stub.behave(request)
            finally:
                stub.leave()  # before the answer: the client's next request may come at once
            try:
                self.answer(found)
            except OSError:  # the client has gone
                self.close_connection = True

        def answer(self, found: Reply) -> None:
            status, body, headers = found
            self.send_response(status)
            for name, value in {"Content-Length": str(len(body)), **headers}.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: Any) -> None:
            pass

    return Handler


def reply(body: Any, status: int = 200, **headers: str) -> Reply:
    """A reply with a JSON body."""
    names = {name.replace("_", "-"): value for name, value in headers.items()}
    return status, json.dumps(body).encode(), names


def digits(probabilities: dict[str, float]) -> dict[str, Any]:
    """The answer of ``/completions`` with log-probabilities."""
    listed = {token: math.log(p) for token, p in probabilities.items()}
    return {"choices": [{"index": 0, "text": "7", "logprobs": {"top_logprobs": [listed]}}]}


def chat(*texts: str, finish_reason: str = "stop") -> dict[str, Any]:
    """The answer of ``/chat/completions``, its choices in reverse order."""
    choices = [
        {"index": i, "finish_reason": finish_reason, "message": {"content": text}}
        for i, text in enumerate(texts)
    ]
    return {"choices": choices[::-1]}
