"""A server with Robometer's schema: it parses the multipart form, and answers as it is told."""

import io
import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from email import message_from_bytes
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import numpy as np

Answer = Callable[[list["Sample"]], Any]


@dataclass
class Sample:
    """One rollout as the server received it."""

    described: dict[str, Any]
    frames: np.ndarray

    @property
    def brightness(self) -> list[float]:
        """The progress that this server sees: the mean of each frame, in [0, 1]."""
        return [float(frame.mean()) / 255 for frame in self.frames]


def by_brightness(samples: list[Sample]) -> dict[str, Any]:
    """Robometer's answer with the frames' brightness as progress, its half as success."""
    progress = [sample.brightness for sample in samples]
    halves = [[value / 2 for value in row] for row in progress]
    return {
        "outputs_preference": None,
        "outputs_progress": {"progress_pred": progress},
        "outputs_success": {"success_probs": halves},
    }


@dataclass
class Stub:
    """What the server was sent, and how it answers.

    Attributes:
        url: Its address.
        answer: Makes the answer of samples.
        failures: HTTP codes of the next answers; 0 closes the connection without one.
        requests: The samples of each request that was parsed.
        calls: The number of POST requests, failed ones included.
        forms: The plain form fields of each request.
    """

    url: str = ""
    answer: Answer = by_brightness
    failures: list[int] = field(default_factory=list)
    requests: list[list[Sample]] = field(default_factory=list)
    forms: list[dict[str, str]] = field(default_factory=list)
    calls: int = 0


@contextmanager
def serving() -> Iterator[Stub]:
    """A server on a free port of this machine."""
    stub = Stub()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            if self.path == "/health":
                self._send(200, {"status": "healthy", "available_gpus": 1, "total_gpus": 1})
            else:
                self._send(404, {"detail": "Not Found"})

        def do_POST(self) -> None:
            stub.calls += 1
            body = self.rfile.read(int(self.headers["Content-Length"]))
            code = stub.failures.pop(0) if stub.failures else 200
            if code == 0:
                self.close_connection = True
            elif code != 200 or self.path != "/evaluate_batch_npy":
                self._send(code if code != 200 else 404, {"detail": "no"})
            else:
                samples, form = parsed(self.headers["Content-Type"], body)
                stub.requests.append(samples)
                stub.forms.append(form)
                self._send(200, stub.answer(samples))

        def _send(self, code: int, answer: Any) -> None:
            text = answer if isinstance(answer, bytes) else json.dumps(answer).encode()
            self.send_response(code)
            self.send_header("Content-Length", str(len(text)))
            self.end_headers()
            self.wfile.write(text)

        def log_message(self, *_: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    stub.url = f"http://127.0.0.1:{server.server_port}"
    try:
        yield stub
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def parsed(content_type: str, body: bytes) -> tuple[list[Sample], dict[str, str]]:
    """The samples and the other form fields, read as a web framework reads them."""
    message = message_from_bytes(b"Content-Type: " + content_type.encode() + b"\r\n\r\n" + body)
    assert message.is_multipart()
    fields, files = dict[str, str](), dict[str, np.ndarray]()
    for part in message.get_payload():
        name = str(part.get_param("name", header="content-disposition"))
        content = part.get_payload(decode=True)
        if part.get_filename() is None:
            fields[name] = content.decode()
        else:
            assert part.get_filename().endswith(".npy")
            assert part.get_content_type() == "application/octet-stream"
            files[name] = np.load(io.BytesIO(content), allow_pickle=False)
    described = [json.loads(fields.pop(f"sample_{i}")) for i in range(len(files))]
    names = [one["trajectory"]["frames"]["__numpy_file__"] for one in described]
    assert sorted(names) == sorted(files)
    samples = [Sample(one, files[name]) for one, name in zip(described, names, strict=True)]
    return samples, fields
