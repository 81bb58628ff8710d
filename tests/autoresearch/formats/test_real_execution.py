"""A task of each format is loaded, solved and graded by real execution."""

from pathlib import Path

import gymnasium as gym
import pytest
import testing_formats as formats
from PIL import Image

from wmrl_envs.autoresearch import load_task
from wmrl_envs.autoresearch.sandbox import Sandbox
from wmrl_envs.autoresearch.task import Task
from wmrl_envs.errors import SandboxUnavailable

pytestmark = pytest.mark.sandbox

ID = "wmrl_envs:WMRL/AutoResearch-v0"
PARITY = """```python
import pandas as pd
test = pd.read_csv("/data/test.csv")
test["target"] = (test["id"] // {step} + {shift}) % 2
test[["id", "target"]].sample(frac=1).to_csv("submission.csv", index=False)
```"""
PEEK = """```python
import os
print("beside", os.path.exists("/data/../private"), os.path.exists("{private}"))
print("shown", sorted(os.listdir("/data")))
os.remove("/data/train.csv")
```"""
BRIGHT = """```python
import numpy as np, pandas as pd, glob, os
from PIL import Image
names = sorted(os.path.basename(p)[:-4] for p in glob.glob("/data/test/*.png"))
light = [np.asarray(Image.open(f"test/{n}.png")).mean() / 255 for n in names]
pd.DataFrame({"id": names, "target": light}).to_csv("submission.csv", index=False)
```"""


@pytest.fixture(scope="module", autouse=True)
def sandbox():
    with Sandbox(workers=1) as shared:
        try:
            shared.report()
        except SandboxUnavailable as error:
            pytest.skip(str(error))
        yield shared


def play(task: Task, action: str, sandbox: Sandbox, max_turns: int = 1) -> tuple[float, str, str]:
    """Reward, status and the last feedback of an episode of one action."""
    env = gym.make(ID, tasks=task, sandbox=sandbox, max_turns=max_turns)
    env.reset(seed=0)
    observation, reward, _, _, info = env.step(action)
    return float(reward), info.get("grade_status", ""), observation["feedback"]


def test_mle_dojo(tmp_path: Path, sandbox: Sandbox) -> None:
    task = load_task(formats.write_dojo(tmp_path), metric="accuracy", strict_paper=True)
    # Right on every row: first on both boards. Right on the four even ones (10 // 2 = 5 …): the
    # ids 10 to 17 give 1 1 0 0 1 1 0 0 against 0 1 0 1 0 1 0 1, accuracy 1/2, third of four, and
    # second of two.
    assert play(task, PARITY.format(step=1, shift=0), sandbox)[:2] == (1.0, "valid")
    reward, status, _ = play(task, PARITY.format(step=2, shift=0), sandbox)
    assert (reward, status) == (0.5 + 0.5 * (2 / 4 + 1 / 2) / 2, "valid")


def test_mle_bench(tmp_path: Path, sandbox: Sandbox) -> None:
    files = {
        "prepared__public__sample_submission_csv": "",
        "prepared__private__sample_submission_csv": "id,target\n10,0\n",
    }
    task = load_task(formats.write_bench(tmp_path, **files), metric="auc", strict_paper=True)
    # AUC 1/2 is below 0.6 and above 0.3: third of three.
    assert play(task, PARITY.format(step=1, shift=0), sandbox)[:2] == (1.0, "valid")
    reward, status, _ = play(task, PARITY.format(step=2, shift=0), sandbox)
    assert (reward, status) == (0.5 + 0.5 * 1 / 3, "valid")


def test_dsbench(tmp_path: Path, sandbox: Sandbox) -> None:
    files = {
        "save_performance__GT__titanic__result_txt": "1.0",
        "save_performance__baseline__titanic__result_txt": "0.25",
    }
    root = formats.write_dsbench(tmp_path, "titanic", **files)
    task = load_task(root, strict_paper=True)
    # (1/2 - 1/4) / (1 - 1/4) = 1/3; all wrong is below the baseline.
    assert play(task, PARITY.format(step=1, shift=0), sandbox)[:2] == (1.0, "valid")
    reward, status, _ = play(task, PARITY.format(step=2, shift=0), sandbox)
    assert (reward, status) == (pytest.approx(0.5 + 0.5 / 3), "valid")
    assert play(task, PARITY.format(step=1, shift=1), sandbox)[:2] == (0.5, "valid")


def test_an_image_task_whose_folder_is_linked(tmp_path: Path, sandbox: Sandbox) -> None:
    folder = formats.write_dojo(tmp_path)
    images = tmp_path / "raw" / "test"
    images.mkdir(parents=True)
    for i in formats.IDS:
        Image.new("L", (4, 4), 255 * (i % 2)).save(images / f"{i}.png")
    (tmp_path / "toy" / "images").symlink_to(images.parent)
    (folder / "data" / "public" / "test").symlink_to("../../images/test")
    task = load_task(folder, metric="auc", strict_paper=True)
    assert (task.modality, play(task, BRIGHT, sandbox)[:2]) == ("image", (1.0, "valid"))


def test_programs_find_no_answers_and_change_no_data(tmp_path: Path, sandbox: Sandbox) -> None:
    folder = formats.write_dojo(tmp_path)
    task = load_task(folder, metric="accuracy")
    peek = PEEK.format(private=folder / "data" / "private")
    _, _, feedback = play(task, peek, sandbox, max_turns=2)
    assert "beside False False" in feedback
    assert f"shown {sorted(p.name for p in task.public_dir.iterdir())}" in feedback
    assert "OSError: [Errno 30] Read-only file system: '/data/train.csv'" in feedback
    assert (folder / "data" / "public" / "train.csv").read_text() == formats.TRAIN
