"""Jobs find the libraries warm, and warmth changes nothing that a script can tell."""

import numpy as np

from wmrl_envs.autoresearch.sandbox import Limits, Sandbox

_TYPICAL = """
import sys, warnings
before = set(sys.modules)
import pandas as pd
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
table = pd.DataFrame({"x": range(20), "y": [0, 1] * 10})
table.to_csv("train.csv", index=False)
table = pd.read_csv("train.csv")
for model in (LogisticRegression(), RandomForestClassifier(3)):
    model.fit(table[["x"]], table["y"]).predict(table[["x"]])
new = sorted(set(sys.modules) - before)
print([name for name in new if name.split(".")[0] in ("pandas", "sklearn", "scipy", "narwhals")])
"""


def test_a_typical_script_imports_nothing_more(data_science_sandbox: Sandbox) -> None:
    execution = data_science_sandbox.run(_TYPICAL)
    assert (execution.status, execution.stdout) == ("ok", "[]\n"), execution


def test_warnings_are_shown_as_at_the_first_use(data_science_sandbox: Sandbox) -> None:
    code = """
from sklearn.linear_model import LogisticRegression
LogisticRegression(max_iter=1).fit([[i, i * i] for i in range(9)], [0, 1, 1] * 3)
"""
    assert "ConvergenceWarning" in data_science_sandbox.run(code).stderr


def test_generators_begin_as_in_a_new_interpreter(data_science_sandbox: Sandbox) -> None:
    execution = data_science_sandbox.run("import numpy; print(numpy.random.rand())", seed=7)
    assert float(execution.stdout) == np.random.RandomState(7).rand()


def test_an_ordinary_process_limit_counts_the_jobs_own_processes_alone(sandbox: Sandbox) -> None:
    code = """
import os, time
children = 0
try:
    while children < 50:
        if os.fork() == 0: time.sleep(20); os._exit(0)
        children += 1
except BlockingIOError: print(children)
"""
    limits = Limits(processes=8, wall_s=30)
    assert sandbox.run(code, limits=limits).stdout == "7\n"


def test_peak_memory_is_what_the_job_adds(sandbox: Sandbox) -> None:
    held = "x = b'x' * (100 << 20)\nimport time; time.sleep(0.5)"
    small, large = sandbox.run("pass").peak_mb, sandbox.run(held).peak_mb
    assert 100 <= large - small < 130
    assert small < 30


def test_handlers_and_finalizers_of_the_job_itself_still_run_at_its_end(sandbox: Sandbox) -> None:
    code = """
import atexit, weakref
class Kept: pass
kept = Kept()
weakref.finalize(kept, print, 'finalized')
atexit.register(print, 'at exit')
"""
    assert sorted(sandbox.run(code).stdout.splitlines()) == ["at exit", "finalized"]
