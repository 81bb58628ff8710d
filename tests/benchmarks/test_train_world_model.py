"""``wmrl world-model train progress``: from demonstrations to a model and its figures."""

import json
from pathlib import Path
from typing import Any

import pytest
from testing_clips import render_brightness
from testing_demonstrations import made_up

from wmrl_envs.benchmarks import cli
from wmrl_envs.benchmarks.world_models.progress_clips import ClipCache, ClipForm
from wmrl_envs.libero.demonstrations import Recipe, Store
from wmrl_envs.wrappers.world_models import Episode, ProgressWorldModel

SMALL = ("--frames", "4", "--pixels", "16", "--image-size", "16", "--held-out", "3")


@pytest.fixture
def train(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Any:
    def run(*arguments: str, code: int = 0) -> str:
        folders = (str(tmp_path / "demos"), str(tmp_path / "out"))
        with pytest.raises(SystemExit) as ended:
            cli.main(["world-model", "train", "progress", *folders, *arguments])
        out, err = capsys.readouterr()
        assert ended.value.code == code, out + err
        return out + err

    return run


@pytest.fixture
def rendered(tmp_path: Path) -> None:
    """Demonstrations from four initial states whose frames have been rendered already."""
    recipes = [Recipe(5, state, failure=f) for state in range(4) for f in (None, "stop")]
    found = [made_up(recipe, success=recipe.failure is None) for recipe in recipes]
    store = Store(tmp_path / "demos" / "episodes")
    for demonstration in found:
        store.add(demonstration)
    list(ClipCache(tmp_path / "out" / "clips", ClipForm(4, 16), render_brightness).fill(found))


@pytest.mark.usefixtures("rendered")
def test_it_learns_from_rendered_clips_and_reports_on_held_out_states(
    train: Any, tmp_path: Path
) -> None:
    printed = train(*SMALL, "--epochs", "40", "--batch-size", "8")
    assert "held-out" in printed and "task 5" in printed
    record = json.loads((tmp_path / "out" / "results.json").read_text())
    assert record["command"].startswith("wmrl") and "torch" in record["versions"]
    assert (record["settings"]["seed"], record["settings"]["frames"]) == (0, 4)
    assert record["learned"]["states"] == [0, 1, 2] and record["held_out"]["states"] == [3]
    assert record["learned"]["tasks"] == {"5": "do it"}
    figures = record["fidelity"]["all"]
    assert (figures["episodes"], figures["successes"], figures["auc_final"]) == (2, 1, 1.0)
    assert figures["mae"] < figures["mae_of_time"]
    assert (tmp_path / "out" / "table.md").read_text().startswith("| held-out states |")


@pytest.mark.usefixtures("rendered")
def test_the_model_is_saved_with_its_way_to_collapse(train: Any, tmp_path: Path) -> None:
    train(*SMALL, "--epochs", "1", "--collapse", "potential")
    model = ProgressWorldModel.load(tmp_path / "out" / "model")
    assert (model.collapse, model.image_size) == ("potential", 16)
    [frames] = render_brightness([made_up(Recipe(5, 0))], 4, 16)
    [prediction] = model.predict([Episode("do it", (), frames=frames)])
    assert prediction.reward is not None and -1.0 <= prediction.reward <= 1.0


@pytest.mark.usefixtures("rendered")
@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--held-out", "9"), "held_out must name some, not all, of the initial states"),
        (("--held-out", "x"), "numbers and ranges"),
        (("--frames", "1"), "frames must be at least 2"),
        (("--image-size", "20"), "image_size must be a multiple of 16, got 20"),
        (("--epochs", "0"), "epochs must be positive, got 0"),
    ],
)
def test_what_cannot_be_trained_is_one_line(
    train: Any, options: tuple[str, ...], message: str
) -> None:
    printed = train(*SMALL, *options, code=2)
    assert printed.count("\n") == 1 and message in printed


def test_a_folder_without_demonstrations_is_one_line(train: Any) -> None:
    assert "holds no demonstrations: see `wmrl demos collect`" in train(*SMALL, code=2)
