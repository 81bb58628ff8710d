"""The sandbox runs scripts and says what became of them."""

import copy
import pickle

import pytest

from wmrl_envs.autoresearch.sandbox import Job, Sandbox


def test_a_script_that_ends_well_is_ok(sandbox: Sandbox) -> None:
    execution = sandbox.run("print(6 * 7)\nopen('submission.csv', 'w').write('id,target')")
    assert (execution.status, execution.exit_code) == ("ok", 0)
    assert execution.stdout == "42\n"
    assert execution.artifact == b"id,target"


def test_executions_come_in_the_order_of_their_jobs(sandbox: Sandbox) -> None:
    jobs = [Job(f"import time; time.sleep({0.2 * (i % 2)}); print({i})") for i in range(6)]
    assert [int(execution.stdout) for execution in sandbox.run_many(jobs)] == list(range(6))


def test_a_copy_is_the_same_sandbox_and_a_pickle_is_refused(sandbox: Sandbox) -> None:
    assert copy.deepcopy(sandbox) is sandbox
    with pytest.raises(TypeError, match="handle to processes"):
        pickle.dumps(sandbox)
