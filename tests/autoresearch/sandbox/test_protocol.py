"""The trainer's parser takes any bytes and answers with its own errors."""

import json
import socket
import struct
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from wmrl_envs.autoresearch.sandbox import Execution, Sandbox
from wmrl_envs.autoresearch.sandbox.client import decode
from wmrl_envs.autoresearch.sandbox.forkserver.output import HeadAndTail
from wmrl_envs.autoresearch.sandbox.forkserver.protocol import (
    ProtocolError,
    receive_message,
    send_message,
)
from wmrl_envs.errors import SandboxError

_JSON = st.recursive(
    st.none() | st.booleans() | st.floats(allow_nan=False) | st.integers() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner),
    max_leaves=8,
)
_OUTCOME: dict[str, Any] = {
    "status": "ok", "exit_code": 0, "stdout": "", "stderr": "", "wall_s": 0.1, "cpu_s": 0.1,
    "peak_mb": 1.0, "artifact_error": None,
}  # fmt: skip


def _receive(sent: bytes, body_limit: int = 1 << 20) -> tuple[dict[str, Any], bytes]:
    ours, theirs = socket.socketpair()
    with ours, theirs:
        theirs.sendall(sent)
        theirs.shutdown(socket.SHUT_WR)
        return receive_message(ours, body_limit)


@given(st.dictionaries(st.text(max_size=8), _JSON, max_size=4), st.binary(max_size=999))
def test_what_is_sent_is_received(header: dict[str, Any], body: bytes) -> None:
    ours, theirs = socket.socketpair()
    with ours, theirs:
        send_message(theirs, header, [body[:7], body[7:]])
        assert receive_message(ours, 999) == (header, body)


@given(st.binary(max_size=400))
def test_random_bytes_are_a_protocol_error(sent: bytes) -> None:
    with pytest.raises(ProtocolError):
        _receive(sent)


@given(st.binary(max_size=200))
def test_a_random_header_of_true_length_is_a_protocol_error_or_an_object(text: bytes) -> None:
    try:
        header, body = _receive(struct.pack("!IQ", len(text), 0) + text)
    except ProtocolError:
        return
    assert header == json.loads(text)
    assert body == b""


@pytest.mark.parametrize(
    "sent",
    [
        struct.pack("!IQ", 2**32 - 1, 0),
        struct.pack("!IQ", 2, 2**63) + b"{}",
        struct.pack("!IQ", 2, 9) + b"{}",
        struct.pack("!IQ", 4, 0) + b"null",
        struct.pack("!IQ", 20000, 0) + b"[" * 20000,
    ],
    ids=["huge header", "huge body", "short body", "no object", "deep nesting"],
)
def test_a_malformed_message_is_a_protocol_error(sent: bytes) -> None:
    with pytest.raises(ProtocolError):
        _receive(sent)


@given(st.dictionaries(st.text(max_size=8), _JSON, max_size=4))
def test_an_object_that_is_no_outcome_is_a_sandbox_error(header: dict[str, Any]) -> None:
    with pytest.raises(SandboxError):
        decode(header, b"", "forkserver", ())


@given(st.sampled_from(sorted(_OUTCOME)), _JSON)
@settings(max_examples=200)
def test_a_field_of_the_wrong_kind_is_a_sandbox_error(field: str, value: Any) -> None:
    header = {"execution": {**_OUTCOME, field: value}, "has_artifact": False}
    try:
        execution = decode(header, b"", "forkserver", ())
    except SandboxError:
        return
    assert isinstance(execution, Execution)
    assert type(value) in (type(_OUTCOME[field]), int, bool, float, str)


@pytest.mark.parametrize("content", [b"", b"\0\xff" * 999, b'\r\n,,"', bytes(1 << 20)])
def test_a_submission_may_be_any_bytes(sandbox: Sandbox, content: bytes) -> None:
    code = "import shutil; shutil.copy('content', 'submission.csv')"
    assert sandbox.run(code, files={"content": content}).artifact == content


@given(st.lists(st.binary(max_size=40), max_size=20), st.integers(1, 60))
def test_kept_output_is_all_of_it_or_its_head_and_tail(pieces: list[bytes], limit: int) -> None:
    kept = HeadAndTail(limit)
    for piece in pieces:
        kept.write(piece)
    whole = b"".join(pieces)
    head, tail = whole[: limit // 4], whole[-(limit - limit // 4) :]
    if len(whole) <= limit:
        assert kept.text() == whole[: limit // 4].decode("utf-8", "replace") + whole[
            limit // 4 :
        ].decode("utf-8", "replace")
    else:
        assert kept.text().startswith(head.decode("utf-8", "replace"))
        assert kept.text().endswith(tail.decode("utf-8", "replace"))
        assert f"{len(whole) - limit} bytes left out" in kept.text()
