"""The grammar of solution scripts: sound without slips, and what slips break."""

import ast
import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from wmrl_envs.agents.embedded.cards import Card, prompt_of, random_card
from wmrl_envs.agents.embedded.grammar import solution
from wmrl_envs.autoresearch import catalog
from wmrl_envs.autoresearch.execution import Executor
from wmrl_envs.autoresearch.grading import GradeStatus, compiles, extract_code
from wmrl_envs.autoresearch.outcome import Submission

QUICK = ("diabetes", "meats-nir", "surname-language", "breast-cancer", "olive-area", "concrete")


def script(seed: int, slips: float) -> str:
    rng = random.Random(seed)
    return solution(random_card(rng), rng, slips)


def card_of(name: str) -> Card:
    """A bundled task's card, read back from its text."""
    first, second, third = prompt_of(catalog.load(name).card()).splitlines()
    said = dict(zip(*[iter((second + " " + third).split())] * 2, strict=True))
    return Card(
        *first.split(),
        rows=int(said["rows"]),
        num=int(said["num"]),
        cat=int(said["cat"]),
        missing=said["missing"] == "yes",
        mixed_scale=said["scale"] == "mixed",
        outputs=int(said["outputs"]),
        kind=said["kind"],
    )


@given(st.integers(), st.sampled_from([0.0, 0.8, 3.0]))
def test_a_script_is_a_function_of_its_seed(seed: int, slips: float) -> None:
    assert script(seed, slips) == script(seed, slips)


@settings(max_examples=300)
@given(st.integers(), st.floats(0, 20))
def test_every_script_compiles_and_is_taken_for_code(seed: int, slips: float) -> None:
    code = script(seed, slips)
    assert compiles(code) is None
    assert extract_code(code) == code


@settings(max_examples=300)
@given(st.integers())
def test_a_script_without_slips_reads_the_data_and_writes_a_submission(seed: int) -> None:
    code = script(seed, slips=0)
    assert 'pd.read_csv("sample_submission.csv")' in code
    assert code.endswith('sub.to_csv("submission.csv", index=False)\n')


def test_slips_leave_out_imports_of_some_scripts_only() -> None:
    forgetful = ["import pandas as pd" not in script(seed, slips=1) for seed in range(2000)]
    assert 0 < sum(forgetful) < 200


def test_a_negative_factor_on_slips_is_refused() -> None:
    rng = random.Random(0)
    with pytest.raises(ValueError, match=r"slips must be at least 0, got -0\.5"):
        solution(random_card(rng), rng, slips=-0.5)


def test_the_scripts_of_a_card_differ() -> None:
    card, rng = random_card(random.Random(1)), random.Random(2)
    assert len({solution(card, rng) for _ in range(50)}) > 40


def test_a_script_names_the_columns_that_its_card_asks_for() -> None:
    several, one = card_of("meats-nir"), card_of("diabetes")
    assert "sub[sub.columns[1:]] =" in solution(several, random.Random(0), slips=0)
    assert 'sub["target"] =' in solution(one, random.Random(0), slips=0)


@pytest.mark.sandbox
def test_scripts_without_slips_mostly_make_valid_submissions_of_bundled_tasks() -> None:
    rng, executor = random.Random(3), Executor(workers=2)
    tasks = [catalog.load(name) for name in QUICK for _ in range(2)]
    codes = [solution(card_of(task.name), rng, slips=0) for task in tasks]
    try:
        outcomes = executor.resolve(
            [Submission(task, code) for task, code in zip(tasks, codes, strict=True)]
        )
    finally:
        executor.close()
    valid = [o.grade is not None and o.grade.status is GradeStatus.VALID for o in outcomes]
    assert sum(valid) >= 9, [str(o.grade) for o in outcomes]


def test_a_script_is_flat() -> None:
    tree = ast.parse(script(5, slips=0))
    assert not any(isinstance(node, ast.FunctionDef | ast.For | ast.If) for node in ast.walk(tree))
