"""The form that a Robometer server takes (robometer/evals/eval_server.py).

``POST /evaluate_batch_npy`` takes multipart/form-data: for sample i a form field ``sample_i``
(JSON) and a file ``sample_i_trajectory_frames`` (the bytes of ``numpy.save``), and the form field
``use_frame_steps``.
"""

import io
import json
import uuid
from collections.abc import Sequence

import numpy as np

__all__ = ["form_of"]


def form_of(samples: Sequence[tuple[np.ndarray, str]]) -> tuple[str, bytes]:
    """The form of rollouts to be evaluated.

    Args:
        samples: (frames, instruction) of each rollout; frames are (T, H, W, 3) uint8.

    Returns:
        Its content type and its bytes.
    """
    boundary = uuid.uuid4().hex
    body = b"".join(
        [part for i, sample in enumerate(samples) for part in _sample(boundary, i, *sample)]
        + [_part(boundary, 'name="use_frame_steps"', b"false"), f"--{boundary}--\r\n".encode()]
    )
    return f"multipart/form-data; boundary={boundary}", body


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
