"""The scripts and the data that the sandbox comparison runs."""

from dataclasses import dataclass
from pathlib import Path
from typing import Final

import numpy as np

from wmrl_envs.autoresearch.sandbox import DEFAULT_PRELOAD

__all__ = ["ARTIFACT", "MEMORY_PROBE", "WORKLOADS", "Workload", "write_data"]

ARTIFACT: Final = "submission.csv"
MEMORY_PROBE: Final = (
    "\nopen('submission.csv', 'w').write(open('/proc/self/smaps_rollup').read())\n"
)
"""Put behind a script, it hands in what the kernel knows of the process's memory."""

_READ = """
import pandas as pd

train, test = pd.read_csv("train.csv"), pd.read_csv("test.csv")
features = [name for name in train.columns if name not in ("id", "target")]
"""
_WRITE = """
pd.DataFrame({"id": test["id"], "target": predicted}).to_csv("submission.csv", index=False)
"""
_LOGISTIC = """
from sklearn.linear_model import LogisticRegression

model = LogisticRegression(max_iter=200).fit(train[features], train["target"])
predicted = model.predict(test[features])
"""
_BOOSTING = """
from sklearn.ensemble import HistGradientBoostingClassifier

model = HistGradientBoostingClassifier(max_iter=20, random_state=0)
predicted = model.fit(train[features], train["target"]).predict(test[features])
"""
_TORCH = """
import torch

inputs = torch.tensor(train[features].to_numpy(), dtype=torch.float32)
targets = torch.tensor(train["target"].to_numpy())
network = torch.nn.Sequential(torch.nn.Linear(len(features), 16), torch.nn.ReLU(), torch.nn.Linear(16, 3))
optimizer = torch.optim.Adam(network.parameters(), lr=0.02)
for _ in range(50):
    optimizer.zero_grad()
    torch.nn.functional.cross_entropy(network(inputs), targets).backward()
    optimizer.step()
with torch.no_grad():
    predicted = network(torch.tensor(test[features].to_numpy(), dtype=torch.float32)).argmax(1)
"""  # noqa: E501


@dataclass(frozen=True)
class Workload:
    """A script and the modules that warm contenders have imported before it.

    Attributes:
        name: Its name in the table.
        code: What is run.
        preload: Modules.
    """

    name: str
    code: str
    preload: tuple[str, ...] = DEFAULT_PRELOAD


WORKLOADS: Final = (
    Workload("empty script", "open('submission.csv', 'w').write('x')\n"),
    Workload("iris, LogisticRegression", _READ + _LOGISTIC + _WRITE),
    Workload("iris, HistGradientBoosting", _READ + _BOOSTING + _WRITE),
    Workload("iris, torch", _READ + _TORCH + _WRITE, (*DEFAULT_PRELOAD, "torch", "torch._dynamo")),
)


def write_data(folder: Path, seed: int) -> None:
    """Writes iris as ``train.csv`` and ``test.csv``, split by ``seed``, for any user to read."""
    import pandas as pd
    from sklearn.datasets import load_iris

    features, target = load_iris(return_X_y=True)
    table = pd.DataFrame(features, columns=["a", "b", "c", "d"]).assign(target=target)
    table.insert(0, "id", range(len(table)))
    order = np.random.default_rng(seed).permutation(len(table))
    table.iloc[order[:100]].to_csv(folder / "train.csv", index=False)
    table.iloc[order[100:]].drop(columns="target").to_csv(folder / "test.csv", index=False)
    for path in (folder, *folder.iterdir()):
        path.chmod(0o755)
