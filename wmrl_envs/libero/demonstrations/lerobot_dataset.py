"""Demonstrations in the layout of LeRobot datasets, version 3.0.

Parquet files of frames, one an episode, and the metadata that ``LeRobotDataset(repo_id, root=...)``
reads without a network. Pictures are PNG files inside the frames' tables.
"""

import io
import json
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wmrl_envs.libero.demonstrations.pictures import Pictures
from wmrl_envs.libero.demonstrations.recording import Demonstration

__all__ = ["write_lerobot"]

_FPS = 20
_FILES_A_CHUNK = 1000
_FILE = "chunk-{chunk_index:03d}/file-{file_index:03d}.parquet"

Columns = dict[str, NDArray[Any]]


def write_lerobot(
    demonstrations: Sequence[Demonstration],
    env: Any,
    root: Path,
    pictures: Pictures | None = None,
) -> Path:
    """Writes demonstrations, of any tasks, as one LeRobot dataset, over an older one.

    Args:
        demonstrations: The demonstrations.
        env: The environment that they were recorded in; it renders the pictures.
        root: The dataset's folder.
        pictures: Which pictures to render; None stores the states alone.

    Returns:
        The dataset's folder.

    Raises:
        ImportError: pyarrow is not installed.
        ValueError: There is no demonstration.
    """
    if not demonstrations:
        raise ValueError("there must be at least one demonstration to write, got none")
    unfinished = root.with_name(f".{root.name}")
    shutil.rmtree(unfinished, ignore_errors=True)
    tasks = sorted({demonstration.instruction for demonstration in demonstrations})
    episodes: list[dict[str, Any]] = []
    for demonstration in demonstrations:
        start = episodes[-1]["dataset_to_index"] if episodes else 0
        frames = _frames(demonstration, len(episodes), start, tasks)
        images = _images(pictures, env, demonstration)
        _write_frames(frames, images, unfinished / "data" / _place(len(episodes)))
        episodes.append(_episode(demonstration, len(episodes), start, {**frames, **images}))
    features = _features(frames, images)
    _write_metadata(unfinished / "meta", episodes, tasks, features)
    shutil.rmtree(root, ignore_errors=True)
    unfinished.rename(root)
    return root


def _frames(demo: Demonstration, episode: int, start: int, tasks: Sequence[str]) -> Columns:
    """The columns of an episode; the last observation, which no action follows, is left out."""
    steps, seen = np.arange(len(demo)), demo.observations
    last = steps == len(demo) - 1
    hand = [seen["robot0_eef_pos"], _rotation_vectors(seen["robot0_eef_quat"])]
    state = np.hstack([*hand, seen["robot0_gripper_qpos"]])
    return {
        "observation.state": state[:-1].astype(np.float32),
        "observation.environment_state": seen["object_poses"][:-1].reshape(len(demo), -1),
        "action": demo.actions,
        "intended_action": demo.intended,
        "progress": demo.progress[:-1].astype(np.float32),
        "next.reward": demo.rewards.astype(np.float32),
        "next.done": last,
        "next.success": last & demo.success,
        "timestamp": (steps / _FPS).astype(np.float32),
        "frame_index": steps,
        "episode_index": np.full(len(demo), episode),
        "index": start + steps,
        "task_index": np.full(len(demo), tasks.index(demo.instruction)),
    }


def _rotation_vectors(quaternions: NDArray[Any]) -> NDArray[Any]:
    from scipy.spatial.transform import Rotation

    return np.asarray(Rotation.from_quat(quaternions).as_rotvec())


def _images(pictures: Pictures | None, env: Any, demonstration: Demonstration) -> Columns:
    if pictures is None:
        return {}
    rendered = pictures.of(env, demonstration)
    return {
        f"observation.images.{name.removesuffix('_image')}": images[:-1]
        for name, images in rendered.items()
    }


def _write_frames(frames: Columns, images: Columns, path: Path) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    columns = {name: _column(values) for name, values in frames.items()}
    for name, values in images.items():
        columns[name] = pa.array([{"bytes": _png(image), "path": None} for image in values])
    path.parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(pa.table(columns), path)


def _column(values: NDArray[Any]) -> Any:
    import pyarrow as pa

    flat = pa.array(np.ascontiguousarray(values).ravel())
    if values.ndim == 1:
        return flat
    return pa.FixedSizeListArray.from_arrays(flat, values.shape[1])


def _png(image: NDArray[np.uint8]) -> bytes:
    from PIL import Image

    buffer = io.BytesIO()
    Image.fromarray(image).save(buffer, format="PNG")
    return buffer.getvalue()


def _place(episode: int) -> str:
    chunk, file = divmod(episode, _FILES_A_CHUNK)
    return _FILE.format(chunk_index=chunk, file_index=file)


def _episode(demo: Demonstration, episode: int, start: int, columns: Columns) -> dict[str, Any]:
    """An episode's row of the metadata, with its statistics."""
    chunk, file = divmod(episode, _FILES_A_CHUNK)
    stats = {
        f"stats/{column}/{name}": value.tolist()
        for column, values in columns.items()
        for name, value in _statistics(values).items()
    }
    return {
        "episode_index": episode,
        "tasks": [demo.instruction],
        "length": len(demo),
        "data/chunk_index": chunk,
        "data/file_index": file,
        "dataset_from_index": start,
        "dataset_to_index": start + len(demo),
        "meta/episodes/chunk_index": 0,
        "meta/episodes/file_index": 0,
        "success": demo.success,
        "recipe": demo.recipe.name,
        **stats,
    }


def _statistics(values: NDArray[Any]) -> dict[str, NDArray[Any]]:
    """Extremes and moments over frames; of pictures also over pixels, by colour, in [0, 1]."""
    pictured = values.ndim == 4
    numbers = values.astype(np.float64) / (255.0 if pictured else 1.0)
    axis = (0, 1, 2) if pictured else 0
    found = {
        "min": numbers.min(axis),
        "max": numbers.max(axis),
        "mean": numbers.mean(axis),
        "std": numbers.std(axis),
    }
    shape = (3, 1, 1) if pictured else (-1,)
    reshaped = {name: value.reshape(shape) for name, value in found.items()}
    return {**reshaped, "count": np.array([len(values)])}


def _features(frames: Columns, images: Columns) -> dict[str, Any]:
    plain = {
        name: {"dtype": str(values.dtype), "shape": values.shape[1:] or (1,), "names": None}
        for name, values in frames.items()
    }
    axes = ["height", "width", "channels"]
    pictured = {
        name: {"dtype": "image", "shape": values.shape[1:], "names": axes}
        for name, values in images.items()
    }
    return {**plain, **pictured}


def _write_metadata(
    folder: Path,
    episodes: Sequence[dict[str, Any]],
    tasks: Sequence[str],
    features: Mapping[str, Any],
) -> None:
    import pandas as pd
    import pyarrow as pa
    import pyarrow.parquet as pq

    (folder / "episodes" / "chunk-000").mkdir(parents=True)
    pq.write_table(pa.Table.from_pylist(list(episodes)), folder / "episodes" / _place(0))
    index = pd.Index(tasks, name="task")
    pd.DataFrame({"task_index": range(len(tasks))}, index=index).to_parquet(
        folder / "tasks.parquet"
    )
    _write_json(folder / "info.json", _info(episodes, len(tasks), features))
    _write_json(folder / "stats.json", {name: _combined(episodes, name) for name in features})


def _info(
    episodes: Sequence[dict[str, Any]], tasks: int, features: Mapping[str, Any]
) -> dict[str, Any]:
    return {
        "codebase_version": "v3.0",
        "robot_type": "panda",
        "total_episodes": len(episodes),
        "total_frames": episodes[-1]["dataset_to_index"],
        "total_tasks": tasks,
        "chunks_size": _FILES_A_CHUNK,
        "data_files_size_in_mb": 100,
        "video_files_size_in_mb": 200,
        "fps": _FPS,
        "splits": {"train": f"0:{len(episodes)}"},
        "data_path": f"data/{_FILE}",
        "video_path": None,
        "features": features,
    }


def _combined(episodes: Sequence[dict[str, Any]], feature: str) -> dict[str, Any]:
    """The statistics of a feature over all episodes, from those of each."""

    def of(name: str) -> NDArray[np.float64]:
        return np.array([episode[f"stats/{feature}/{name}"] for episode in episodes], np.float64)

    counts, means = of("count"), of("mean")
    weights = (counts / counts.sum()).reshape(-1, *(1,) * (means.ndim - 1))
    mean = (weights * means).sum(axis=0)
    variance = (weights * (of("std") ** 2 + (means - mean) ** 2)).sum(axis=0)
    found = {"min": of("min").min(axis=0), "max": of("max").max(axis=0)}
    found |= {"mean": mean, "std": np.sqrt(variance)}
    return {**{name: value.tolist() for name, value in found.items()}, "count": [int(counts.sum())]}


def _write_json(path: Path, content: Mapping[str, Any]) -> None:
    path.write_text(json.dumps(content, indent=1), encoding="utf-8")
