"""Ordinary data-science scripts run in the sandbox as they do outside."""

import os
import tempfile
from pathlib import Path

import pytest

from wmrl_envs.autoresearch.sandbox import Job, Limits, Sandbox

_PANDAS = """
import pandas as pd
from sklearn.compose import make_column_transformer
from sklearn.ensemble import RandomForestClassifier
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

train, test = pd.read_csv("train.csv"), pd.read_csv("/data/test.csv")
columns = make_column_transformer(
    (make_pipeline(SimpleImputer(), StandardScaler()), ["a", "b"]),
    (OneHotEncoder(handle_unknown="ignore"), ["c"]),
)
model = make_pipeline(columns, RandomForestClassifier(20, n_jobs=-1, random_state=0))
model.fit(train.drop(columns=["id", "target"]), train["target"])
test["target"] = model.predict(test.drop(columns="id"))
test[["id", "target"]].to_csv("submission.csv", index=False)
"""

_SCRIPTS = {
    "cross validation with n_jobs=-1": """
import numpy as np
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import cross_val_score
x = np.random.normal(size=(60, 3)); y = (x[:, 0] > 0).astype(int)
assert cross_val_score(LogisticRegression(), x, y, n_jobs=-1).mean() > 0.5""",
    "gradient boosting with OpenMP": """
import numpy as np
from sklearn.ensemble import HistGradientBoostingRegressor
x = np.random.normal(size=(200, 3))
assert HistGradientBoostingRegressor(max_iter=5).fit(x, x[:, 0]).score(x, x[:, 0]) > 0.1""",
    "a pool of processes": """
import multiprocessing
def square(x): return x * x
if __name__ == '__main__':
    with multiprocessing.get_context('fork').Pool(2) as pool:
        assert pool.map(square, range(5)) == [0, 1, 4, 9, 16]""",
    "a manager, a queue and shared memory": """
import multiprocessing
from multiprocessing import shared_memory
context = multiprocessing.get_context('fork')
queue = context.Queue()
worker = context.Process(target=queue.put, args=(7,)); worker.start()
assert queue.get() == 7; worker.join()
with context.Manager() as manager: assert list(manager.list([1])) == [1]
block = shared_memory.SharedMemory(create=True, size=1 << 20); block.close(); block.unlink()""",
    "temporary files and folders": """
import os, pathlib, shutil, tempfile
with tempfile.TemporaryDirectory() as folder:
    pathlib.Path(folder, 'a').write_text('x'); shutil.copytree(folder, 'copy')
assert os.path.exists('copy/a') and pathlib.Path.home().joinpath('b').write_text('y') == 1
with tempfile.NamedTemporaryFile() as file: file.write(b'z')""",
    "threads, asyncio and a subprocess": """
import asyncio, subprocess, sys, threading
thread = threading.Thread(target=print, args=('thread',)); thread.start(); thread.join()
asyncio.run(asyncio.sleep(0))
done = subprocess.run([sys.executable, '-c', 'import numpy; print(6 * 7)'], capture_output=True)
assert done.stdout == b'42\\n', done""",
    "classes that refer to their module": """
import dataclasses, pickle
@dataclasses.dataclass
class Point:
    x: int
assert pickle.loads(pickle.dumps(Point(1))) == Point(1)
assert __name__ == '__main__' and __file__.endswith('solution.py')""",
    "200 MB of files within the limits": """
import os
for i in range(4): open(f'{i}', 'wb').write(bytes(50 << 20))
assert sum(os.path.getsize(f'{i}') for i in range(4)) == 200 << 20""",
}


@pytest.mark.parametrize("name", _SCRIPTS)
def test_ordinary_scripts_run(data_science_sandbox: Sandbox, name: str) -> None:
    execution = data_science_sandbox.run(_SCRIPTS[name])
    assert execution.status == "ok", execution.stderr


_COLD = (
    "a pool of processes",
    "a manager, a queue and shared memory",
    "temporary files and folders",
    "threads, asyncio and a subprocess",
    "classes that refer to their module",
)


@pytest.mark.parametrize("name", _COLD)
def test_ordinary_scripts_run_in_a_cold_interpreter(cold_sandbox: Sandbox, name: str) -> None:
    execution = cold_sandbox.run(_SCRIPTS[name])
    assert execution.status == "ok", execution.stderr


@pytest.mark.parametrize("fixture", ["data_science_sandbox", "cold_sandbox"])
def test_a_pipeline_on_mounted_data_leaves_its_submission(
    request: pytest.FixtureRequest, fixture: str
) -> None:
    chosen: Sandbox = request.getfixturevalue(fixture)
    with tempfile.TemporaryDirectory() as folder:
        os.chmod(folder, 0o755)
        rows = [f"{i},{i % 7},{i % 3 or ''},{'xy'[i % 2]}" for i in range(40)]
        train = "id,a,b,c,target\n" + "\n".join(f"{row},{i % 2}" for i, row in enumerate(rows))
        Path(folder, "train.csv").write_text(train)
        Path(folder, "test.csv").write_text("id,a,b,c\n" + "\n".join(rows))
        execution = chosen.run(_PANDAS, ro_data={folder: "/data"})
    assert execution.status == "ok", execution.stderr
    assert execution.artifact is not None
    assert execution.artifact.startswith(b"id,target\n0,0\n1,1\n")


def test_joblib_starts_its_own_workers(data_science_sandbox: Sandbox) -> None:
    code = """
from joblib import Parallel, delayed
def square(x): return x * x
print(Parallel(n_jobs=2)(delayed(square)(i) for i in range(4)))
"""
    limits = Limits(wall_s=120, cpu_s=120, threads=2)
    execution = data_science_sandbox.run(code, limits=limits)
    assert execution.stdout == "[0, 1, 4, 9]\n", execution


def test_more_threads_can_be_allowed(data_science_sandbox: Sandbox) -> None:
    code = """
import numpy, threadpoolctl
print([pool['num_threads'] for pool in threadpoolctl.threadpool_info()])
"""
    one = data_science_sandbox.run(code).stdout
    two = data_science_sandbox.run(code, limits=Limits(threads=2)).stdout
    assert set(one.strip("[]\n").split(", ")) == {"1"}
    assert set(two.strip("[]\n").split(", ")) == {"2"}


def test_the_same_code_and_seed_give_the_same_output(data_science_sandbox: Sandbox) -> None:
    code = """
import random, numpy, os
print(random.random(), numpy.random.rand(), hash('text'), sorted({'a', 'b', 'c'}, key=hash))
"""
    runs = [data_science_sandbox.run(code, seed=seed).stdout for seed in (0, 0, 1)]
    assert runs[0] == runs[1]
    assert runs[0] != runs[2]


@pytest.mark.parametrize("backend", ["forkserver", "bubblewrap"])
def test_modules_that_are_loaded_late_are_seeded_too(backend: str) -> None:
    code = "import random, numpy.random; print(random.random(), numpy.random.rand())"
    with Sandbox(backend, preload=()) as bare:
        runs = [bare.run(code, seed=seed).stdout for seed in (0, 0, 1)]
    assert runs[0] == runs[1]
    assert runs[0] != runs[2]


def test_files_come_along_and_folders_are_made(either_sandbox: Sandbox) -> None:
    files = {"helper.py": b"VALUE = 5", "sub/data.txt": b"text"}
    code = "import helper; print(helper.VALUE, open('sub/data.txt').read())"
    assert either_sandbox.run(code, files=files).stdout == "5 text\n"


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        ("raise ValueError('no')", "ValueError: no"),
        ("x = (", "SyntaxError"),
        ("x = '\ud800'", "SyntaxError"),
        ("x = '\0'", "null bytes"),
        ("raise SystemExit('message')", "message"),
        ("import sys; sys.stdout.close(); 1 / 0", "ZeroDivisionError"),
        ("def f(): f()\nf()", "RecursionError"),
    ],
)
def test_failures_read_as_they_do_outside(
    either_sandbox: Sandbox, code: str, expected: str
) -> None:
    execution = either_sandbox.run(code)
    assert execution.status == "error"
    assert expected in execution.stderr
    assert "forkserver" not in execution.stderr


def test_handlers_and_threads_end_before_the_job_does(either_sandbox: Sandbox) -> None:
    code = """
import atexit, threading, time
atexit.register(print, 'handler')
threading.Thread(target=lambda: (time.sleep(0.1), print('thread'))).start()
"""
    assert either_sandbox.run(code).stdout == "thread\nhandler\n"


@pytest.mark.slow
def test_torch_trains_with_a_data_loader_of_two_workers() -> None:
    code = """
import torch
from torch.utils.data import DataLoader, TensorDataset
data = TensorDataset(torch.randn(256, 4), torch.randn(256, 1))
model = torch.nn.Linear(4, 1)
optimizer = torch.optim.Adam(model.parameters())
for x, y in DataLoader(data, batch_size=32, num_workers=2):
    optimizer.zero_grad()
    loss = ((model(x) - y) ** 2).mean()
    loss.backward()
    optimizer.step()
print(loss.item())
"""
    with Sandbox(preload=("torch", "torch._dynamo"), limits=Limits(wall_s=120)) as warm:
        first, second = warm.run_many([Job(code), Job(code)])
    assert first.status == "ok", first.stderr
    assert first.stdout == second.stdout
