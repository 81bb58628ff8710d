"""The requests of a Robometer server (robometer/evals/eval_server.py), with the standard library.

``POST /evaluate_batch_npy`` takes multipart/form-data: for sample i a form field ``sample_i``
(JSON) and a file ``sample_i_trajectory_frames`` (the bytes of ``numpy.save``), and the form field
``use_frame_steps``.
"""

import http.client
import io
import json
import urllib.error
import urllib.request
import uuid
from collections.abc import Sequence
from typing import Any

import numpy as np

__all__ = ["RobometerRequestError", "get_json", "post_samples"]


class RobometerRequestError(Exception):
    """A request that got no answer.

    Attributes:
        transient: Whether another try may help.
    """

    def __init__(self, message: str, transient: bool) -> None:
        super().__init__(message)
        self.transient = transient


def get_json(url: str, *, timeout: float) -> Any:
    """What a GET request answers.

    Raises:
        RobometerRequestError: It fails, times out or is answered with no JSON.
    """
    return _answer(urllib.request.Request(url), timeout)


def post_samples(url: str, samples: Sequence[tuple[np.ndarray, str]], *, timeout: float) -> Any:
    """Posts rollouts to be evaluated.

    Args:
        url: The whole address.
        samples: (frames, instruction) of each rollout; frames are (T, H, W, 3) uint8.
        timeout: Seconds.

    Raises:
        RobometerRequestError: As in :func:`get_json`.
    """
    boundary = uuid.uuid4().hex
    body = b"".join(
        [part for i, sample in enumerate(samples) for part in _sample(boundary, i, *sample)]
        + [_part(boundary, 'name="use_frame_steps"', b"false"), f"--{boundary}--\r\n".encode()]
    )
    headers = {"Content-Type": f"multipart/form-data; boundary={boundary}"}
    return _answer(urllib.request.Request(url, body, headers), timeout)


def _sample(boundary: str, index: int, frames: np.ndarray, instruction: str) -> tuple[bytes, bytes]:
    name = f"sample_{index}_trajectory_frames"
    described = {
        "sample_type": "progress",
        "trajectory": {
            "frames": {"__numpy_file__": name},
            "frames_shape": list(frames.shape),
            "task": instruction,
            "id": str(index),
            "metadata": {"subsequence_length": len(frames)},
            "video_embeddings": None,
        },
    }
    saved = io.BytesIO()
    np.save(saved, frames, allow_pickle=False)
    field = _part(boundary, f'name="sample_{index}"', json.dumps(described).encode())
    disposition = f'name="{name}"; filename="{name}.npy"'
    return field, _part(boundary, disposition, saved.getvalue(), "application/octet-stream")


def _part(boundary: str, disposition: str, content: bytes, kind: str = "") -> bytes:
    head = f"--{boundary}\r\nContent-Disposition: form-data; {disposition}\r\n"
    head += f"Content-Type: {kind}\r\n" if kind else ""
    return head.encode() + b"\r\n" + content + b"\r\n"


def _answer(request: urllib.request.Request, timeout: float) -> Any:
    where = f"the Robometer server at {request.full_url}"
    try:
        with urllib.request.urlopen(request, timeout=timeout) as response:
            return json.loads(response.read())
    except urllib.error.HTTPError as error:
        with error:
            said = error.read(200).decode(errors="replace")
        transient = error.code == 429 or error.code >= 500
        raise RobometerRequestError(f"{where} answered {error.code}: {said}", transient) from error
    except (OSError, http.client.HTTPException) as error:
        raise RobometerRequestError(f"{where} gave no answer: {error!r}", True) from error
    except ValueError as error:
        raise RobometerRequestError(f"{where} answered no JSON: {error}", True) from error
