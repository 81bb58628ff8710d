"""Script features: what they see, and that they are the same in every process."""

import hashlib
import os
import subprocess
import sys
import warnings

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from wmrl_envs.wrappers.world_models.features import ScriptFeatures, script_facts

PAIRS = [(f"rows {10 * i} num {i}", f"import a\nx = {i % 3}\ny = a.fit(x)") for i in range(12)]
FIT = """
import sys
from wmrl_envs.wrappers.world_models.features import ScriptFeatures
pairs = [(f"rows {i} card", f"a{i % 4} = b{i % 3}\\nc{i % 5} = d{i % 2}") for i in range(40)]
features = ScriptFeatures(vocabulary_size=20, min_count=1).fit(pairs)
sys.stdout.buffer.write(features.transform(pairs).tobytes())
"""


def test_facts_count_what_a_linter_counts() -> None:
    facts = script_facts(
        'import pandas as pd\nd = pd.read_csv("a")\nm.fit(d)\nd["p"] = m.predict_proba(d)\n'
        'd.to_csv("b")\n'
    )
    expected = {"undefined": 1, "imports": 1, "statements": 5, "reads": 1, "writes": 1}
    assert {name: facts[name] for name in expected} == expected
    assert (facts["fits"], facts["predicts"], facts["unparsable"]) == (1, 1, 0)


@pytest.mark.parametrize("code", ["x = (", "\0", "if", "-" * 5000 + "1", "x" + ".y" * 20_000])
def test_what_cannot_be_read_is_unparsable(code: str) -> None:
    facts = script_facts(code)
    assert facts["unparsable"] == 1 and sum(facts.values()) == 1


@given(st.text())
def test_every_text_has_the_same_facts_in_the_same_order(code: str) -> None:
    assert list(script_facts(code)) == list(script_facts("x = 1"))


def test_reading_a_script_warns_of_nothing() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        script_facts(r"x = '\d'" + "\nassert (x, 'always')\n1 is 1")


def test_a_script_has_the_lines_and_words_that_the_vocabulary_knows() -> None:
    features = ScriptFeatures(min_count=1).fit([("t", "x = 1"), ("t", "y = 2"), ("t", "y = 2")])
    same, other, unknown = features.transform([("t", "y = 2"), ("t", "x = 1"), ("t", "z = 3")])
    assert same.sum() > unknown.sum() and other.sum() > unknown.sum()
    assert not np.array_equal(same, other)


def test_what_is_rare_or_always_there_is_left_out() -> None:
    always = [("task", f"same\nonly_{i}") for i in range(5)]
    assert ScriptFeatures(min_count=2).fit(always).transform(always).std(axis=0).max() == 0


def test_the_vocabulary_has_a_largest_size() -> None:
    wide, narrow = (ScriptFeatures(size, 1).fit(PAIRS).transform(PAIRS) for size in (50, 5))
    assert wide.shape[1] > narrow.shape[1]
    assert narrow.shape == (12, narrow.shape[1])


def test_numbers_of_the_task_are_features_and_huge_ones_stay_finite() -> None:
    pairs = [("rows 10", "x"), ("rows 20", "x"), ("rows " + "9" * 400, "x")]
    features = ScriptFeatures(min_count=3).fit(pairs).transform(pairs)
    assert np.isfinite(features).all()
    varying = features[:, features.min(axis=0) < features.max(axis=0)]
    assert varying[:2].tolist() == [[10.0], [20.0]]


@given(st.lists(st.tuples(st.text(max_size=40), st.text(max_size=40)), min_size=1, max_size=6))
def test_any_pairs_give_finite_features_of_one_width(pairs: list[tuple[str, str]]) -> None:
    features = ScriptFeatures(min_count=1).fit(pairs)
    assert np.isfinite(features.transform(pairs)).all()
    assert features.transform(PAIRS).shape == (12, features.transform(pairs).shape[1])


@pytest.mark.parametrize("name", ["vocabulary_size", "min_count"])
def test_sizes_below_one_are_refused(name: str) -> None:
    with pytest.raises(ValueError, match=f"{name} must be at least 1, got 0"):
        ScriptFeatures(**{name: 0})


def test_nothing_to_learn_from_is_refused() -> None:
    with pytest.raises(ValueError, match="pairs must not be empty"):
        ScriptFeatures().fit([])


def test_another_process_has_the_same_features() -> None:
    """Sets of strings are ordered by a hash that differs from process to process."""
    digests = set()
    for seed in ("1", "2"):
        environment = {**os.environ, "PYTHONHASHSEED": seed}
        done = subprocess.run(
            [sys.executable, "-c", FIT], env=environment, capture_output=True, check=True
        )
        digests.add(hashlib.sha256(done.stdout).hexdigest())
    assert len(digests) == 1
