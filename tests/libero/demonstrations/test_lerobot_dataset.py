"""The LeRobot layout, without a simulator."""

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from testing_demonstrations import made_up

from wmrl_envs.libero.demonstrations import Demonstration, Recipe, write_lerobot

pytest.importorskip("pyarrow")

DEMOS = [made_up(Recipe(0, 0), steps=4), made_up(Recipe(0, 1), success=False, steps=6)]


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return write_lerobot(DEMOS, None, tmp_path / "dataset")


def meta(root: Path, name: str) -> dict[str, object]:
    found: dict[str, object] = json.loads((root / "meta" / name).read_text(encoding="utf-8"))
    return found


def frames(root: Path) -> pd.DataFrame:
    files = sorted((root / "data").glob("*/*.parquet"))
    return pd.concat([pd.read_parquet(file) for file in files])


def test_frames_are_numbered_through_all_episodes(root: Path) -> None:
    found = frames(root)
    assert found["index"].tolist() == list(range(10))
    assert found["episode_index"].tolist() == [0] * 4 + [1] * 6
    assert found["frame_index"].tolist() == [*range(4), *range(6)]
    assert np.allclose(found["timestamp"], found["frame_index"] / 20)


def test_a_frame_holds_the_action_and_the_state_that_it_was_chosen_in(root: Path) -> None:
    found = frames(root)
    assert np.array_equal(np.stack(found["action"]), np.vstack([d.actions for d in DEMOS]))
    hands = np.vstack([demo.observations["robot0_eef_pos"][:-1] for demo in DEMOS])
    assert np.array_equal(np.stack(found["observation.state"])[:, :3], hands)


def test_only_the_last_frame_of_a_success_is_one(root: Path) -> None:
    found = frames(root)
    assert np.flatnonzero(found["next.done"]).tolist() == [3, 9]
    assert np.flatnonzero(found["next.success"]).tolist() == [3]


def test_the_metadata_say_where_each_episode_is(root: Path) -> None:
    info = meta(root, "info.json")
    assert (info["total_episodes"], info["total_frames"], info["fps"]) == (2, 10, 20)
    (file,) = (root / "meta" / "episodes").glob("*/*.parquet")
    for row in pd.read_parquet(file).to_dict("records"):
        place = {"chunk_index": row["data/chunk_index"], "file_index": row["data/file_index"]}
        data = pd.read_parquet(root / str(info["data_path"]).format(**place))
        assert data["index"].iloc[0] == row["dataset_from_index"]
        assert len(data) == row["length"] == row["dataset_to_index"] - row["dataset_from_index"]


def test_every_feature_has_the_type_and_shape_that_is_declared(root: Path) -> None:
    found = frames(root)
    features = meta(root, "info.json")["features"]
    assert isinstance(features, dict)
    assert set(features) == set(found.columns)
    for name, feature in features.items():
        values = np.array(found[name].tolist(), found[name].iloc[0].dtype)
        assert (values.shape[1:] or (1,)) == tuple(feature["shape"])
        assert str(values.dtype) == feature["dtype"]


def test_statistics_are_those_of_all_frames(root: Path) -> None:
    actions = np.vstack([demo.actions for demo in DEMOS]).astype(np.float64)
    stats = meta(root, "stats.json")["action"]
    assert isinstance(stats, dict)
    assert np.allclose(stats["mean"], actions.mean(axis=0))
    assert np.allclose(stats["std"], actions.std(axis=0))
    assert np.allclose(stats["max"], actions.max(axis=0))
    assert stats["count"] == [10]


def test_an_older_dataset_is_replaced(root: Path) -> None:
    write_lerobot(DEMOS[:1], None, root)
    assert meta(root, "info.json")["total_episodes"] == 1
    assert len(frames(root)) == 4


def test_nothing_to_write_is_an_error(tmp_path: Path) -> None:
    none: list[Demonstration] = []
    with pytest.raises(ValueError, match="at least one demonstration"):
        write_lerobot(none, None, tmp_path / "dataset")
