"""Executions outlive the process that made them, and a file that is none of ours is left alone."""

import copy
import math
import multiprocessing
import os
import pickle
import sqlite3
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from testing_autoresearch import FakeSandbox, fake_tasks, program
from testing_executions import EXECUTION, write_many

from wmrl_envs.autoresearch.env import AutoResearchEnv
from wmrl_envs.autoresearch.execution_cache import ExecutionCache
from wmrl_envs.autoresearch.execution_key import digest_folder, execution_key, versions
from wmrl_envs.autoresearch.sandbox import Limits
from wmrl_envs.autoresearch.vector_env import AutoResearchVectorEnv
from wmrl_envs.errors import ExecutionCacheError

_SOME = [program("ok 0.4"), program("error"), program("ok -1"), program("nothing"), "no code"]
_FINITE = st.floats(min_value=0, allow_infinity=False)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "executions.sqlite"


class TestFile:
    def test_another_process_or_run_finds_what_was_kept(self, path: Path) -> None:
        ExecutionCache(path).put("key", EXECUTION)
        again = ExecutionCache(path)
        assert again.get("key") == EXECUTION
        assert again.get("other") is None
        assert len(again) == 1

    @settings(max_examples=50, deadline=None)
    @given(
        stdout=st.text(st.characters()),
        artifact=st.none() | st.binary(),
        error=st.none() | st.text(),
        seconds=_FINITE,
        layers=st.lists(st.text()),
    )
    def test_every_execution_survives_unchanged(
        self,
        tmp_path_factory: pytest.TempPathFactory,
        stdout: str,
        artifact: bytes | None,
        error: str | None,
        seconds: float,
        layers: list[str],
    ) -> None:
        execution = replace(
            EXECUTION, stdout=stdout, artifact=artifact, artifact_error=error, wall_s=seconds,
            layers=tuple(layers),
        )  # fmt: skip
        with closing(ExecutionCache(tmp_path_factory.mktemp("cache") / "file")) as cache:
            cache.put("key", execution)
            assert cache.get("key") == execution

    @pytest.mark.parametrize("status", ["timeout", "cpu", "memory", "output", "killed"])
    def test_what_depends_on_the_machine_is_not_kept(self, path: Path, status: Any) -> None:
        cache = ExecutionCache(path)
        cache.put("key", replace(EXECUTION, status=status))
        assert cache.get("key") is None

    def test_the_first_of_two_executions_stays(self, path: Path) -> None:
        cache = ExecutionCache(path)
        cache.put("key", EXECUTION)
        cache.put("key", replace(EXECUTION, stdout="another"))
        assert cache.get("key") == EXECUTION

    def test_copies_and_pickles_share_the_file(self, path: Path) -> None:
        cache = ExecutionCache(path)
        cache.put("key", EXECUTION)
        for other in (copy.deepcopy(cache), pickle.loads(pickle.dumps(cache))):
            assert other.get("key") == EXECUTION

    def test_a_closed_one_opens_again(self, path: Path) -> None:
        cache = ExecutionCache(path)
        cache.close()
        cache.close()
        cache.put("key", EXECUTION)
        assert cache.get("key") == EXECUTION

    def test_nothing_in_the_file_is_a_pickle(self, path: Path) -> None:
        ExecutionCache(path).put("key", EXECUTION)
        with closing(sqlite3.connect(path)) as connection:
            [(key, record, artifact)] = connection.execute("SELECT * FROM executions")
        assert (key, artifact) == ("key", EXECUTION.artifact)
        assert record.startswith('{"status": "ok"')


class TestProcesses:
    @pytest.mark.parametrize("method", ["fork", "spawn"])
    def test_processes_may_make_and_fill_one_file_at_once(self, path: Path, method: str) -> None:
        context = multiprocessing.get_context(method)
        count = 6 if method == "fork" else 2
        processes = [
            context.Process(target=write_many, args=(str(path), number)) for number in range(count)
        ]
        for process in processes:
            process.start()
        for process in processes:
            process.join()
        assert [process.exitcode for process in processes] == [0] * count
        assert len(ExecutionCache(path)) == 40 * (count + 1)

    def test_a_forked_process_does_not_use_its_parents_connection(self, path: Path) -> None:
        cache = ExecutionCache(path)
        cache.put("key", EXECUTION)
        pid = os.fork()
        if pid == 0:
            found = cache.get("key") == EXECUTION
            cache.put("child", EXECUTION)
            cache.close()
            os._exit(0 if found else 1)
        assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
        assert cache.get("child") == EXECUTION


class TestWrongFiles:
    def test_a_file_that_is_no_database_is_named_and_left_alone(self, path: Path) -> None:
        path.write_text("id,target\n" * 200)
        with pytest.raises(ExecutionCacheError, match=str(path)):
            ExecutionCache(path)
        assert path.read_text() == "id,target\n" * 200

    def test_somebody_elses_database_is_named_and_left_alone(self, path: Path) -> None:
        with closing(sqlite3.connect(path)) as connection:
            connection.execute("CREATE TABLE executions (mine)")
        before = path.read_bytes()
        with pytest.raises(ExecutionCacheError, match=f"{path}.*not an execution cache"):
            ExecutionCache(path)
        assert path.read_bytes() == before

    def test_a_file_of_another_version_is_named(self, path: Path) -> None:
        ExecutionCache(path).close()
        with closing(sqlite3.connect(path)) as connection:
            connection.execute("PRAGMA user_version = 99")
        with pytest.raises(ExecutionCacheError, match=f"{path}.*version"):
            ExecutionCache(path)

    def test_a_damaged_file_is_named(self, path: Path) -> None:
        with closing(ExecutionCache(path)) as cache:
            for i in range(200):
                cache.put(f"{i}", EXECUTION)
        content = bytearray(path.read_bytes())
        content[4096:] = b"\xaa" * (len(content) - 4096)
        path.write_bytes(content)
        with pytest.raises(ExecutionCacheError, match=str(path)):
            ExecutionCache(path).get("7")

    @pytest.mark.parametrize("record", ["{", "[]", "{}", '{"layers": 3}'])
    def test_a_damaged_record_is_an_error_that_names_the_file(
        self, path: Path, record: str
    ) -> None:
        cache = ExecutionCache(path)
        with closing(sqlite3.connect(path)) as connection, connection:
            connection.execute("INSERT INTO executions VALUES ('key', ?, NULL)", (record,))
        with pytest.raises(ExecutionCacheError, match=str(path)):
            cache.get("key")

    def test_a_missing_folder_is_named(self, tmp_path: Path) -> None:
        with pytest.raises(ExecutionCacheError, match="no-folder"):
            ExecutionCache(tmp_path / "no-folder" / "file")


class TestKey:
    def test_everything_that_the_outcome_depends_on_changes_the_key(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        base = ("task", "data", "code", 0, Limits())
        keys = {execution_key(*base)}
        for i, other in enumerate(("task2", "data2", "code2", 1, Limits(threads=2))):
            changed: Any = (*base[:i], other, *base[i + 1 :])
            keys.add(execution_key(*changed))
        keys.add(execution_key(*base, python="/opt/python3.12"))
        found = {**versions(), "numpy": "0.0"}
        monkeypatch.setattr("wmrl_envs.autoresearch.execution_key.versions", lambda: found)
        keys.add(execution_key(*base))
        assert len(keys) == 8
        assert {len(key) for key in keys} == {64}

    def test_parts_cannot_be_shifted_into_one_another(self) -> None:
        limits = Limits()
        assert execution_key("a", "b", "c", 0, limits) != execution_key("ab", "", "c", 0, limits)

    @given(st.text(st.characters(codec=None)))
    def test_any_program_has_a_key(self, code: str) -> None:
        assert execution_key("task", "data", code, 0, Limits())

    def test_names_and_contents_of_the_data_count(self, tmp_path: Path) -> None:
        (tmp_path / "inner").mkdir()
        digests = set()
        for name, content in (("a", "1"), ("a", "2"), ("inner/a", "2"), ("inner/b", "2")):
            (tmp_path / name).write_text(content)
            digests.add(digest_folder(tmp_path))
        assert len(digests) == 4
        assert digest_folder(tmp_path) in digests


def _rewards(env: AutoResearchEnv) -> list[tuple[Any, ...]]:
    """Reward and info of one episode for each of some programs."""
    found = []
    for action in _SOME:
        env.reset(seed=0)
        _, reward, *_, info = env.step(action)
        found.append((reward, info))
    return found


class TestEnvironment:
    def test_the_outcomes_are_equal_in_memory_in_a_file_and_without_a_cache(
        self, path: Path
    ) -> None:
        found = []
        for cache in (True, False, str(path), path):
            with closing(AutoResearchEnv(fake_tasks(), sandbox=FakeSandbox(), cache=cache)) as env:
                found.append(_rewards(env))
        assert found[0] == found[1] == found[2] == found[3]

    def test_a_later_run_executes_nothing_and_says_so(self, path: Path) -> None:
        first, second = FakeSandbox(), FakeSandbox()
        for sandbox in (first, second):
            env = AutoResearchEnv(fake_tasks(), sandbox=sandbox, cache=str(path))
            _rewards(env)
            metrics = env.metrics()
            env.close()
        assert (len(first.jobs), len(second.jobs)) == (4, 0)
        assert metrics["executions"] == metrics["cached_executions"] == 4
        assert metrics["cache_hit_rate"] == 1.0
        assert math.isclose(metrics["execution_cpu_s"], 4 * 0.25)

    def test_grades_are_made_anew_from_what_was_kept(
        self, path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        action = program("ok 0.4")
        rewards = []
        for factor in (1.0, 2.0):
            sandbox, [task] = FakeSandbox(), fake_tasks(1)
            grade = task.grade
            monkeypatch.setattr(
                task, "grade", lambda *a, g=grade, f=factor: replace(g(*a), position=0.4 * f)
            )
            env = AutoResearchEnv(task, sandbox=sandbox, cache=path)
            env.reset(seed=0)
            rewards.append(env.step(action)[1])
        assert rewards == [pytest.approx(0.7), pytest.approx(0.9)]
        assert sandbox.jobs == []

    def test_a_vector_environment_shares_the_file_with_a_single_one(self, path: Path) -> None:
        env = AutoResearchEnv(fake_tasks(1), sandbox=FakeSandbox(), cache=path)
        env.reset(seed=0)
        env.step(program("ok 0.4"))
        sandbox: Any = FakeSandbox()
        envs = AutoResearchVectorEnv(2, fake_tasks(1), sandbox=sandbox, cache=path)
        envs.reset(seed=[0, 0])
        _, rewards, *_ = envs.step((program("ok 0.4"), program("ok 0.6")))
        assert rewards == pytest.approx([0.7, 0.8])
        assert len(sandbox.jobs) == 1
        assert envs.metrics()["cache_hit_rate"] == 0.5
        envs.close()

    def test_a_wrong_file_is_an_error_when_the_environment_is_made(self, path: Path) -> None:
        path.write_text("something else " * 99)
        with pytest.raises(ExecutionCacheError, match=str(path)):
            AutoResearchEnv(fake_tasks(), sandbox=FakeSandbox(), cache=path)
