"""Facts about estimators: what scikit-learn refuses, and no false alarm."""

import ast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from wmrl_envs.wrappers.world_models.estimator_facts import ESTIMATOR_FACTS, estimator_facts

IMPORTS = """
from sklearn.svm import SVC
from sklearn.linear_model import Ridge
from sklearn.decomposition import PCA
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.ensemble import StackingClassifier
from sklearn.multiclass import OneVsRestClassifier
"""


def facts(code: str) -> dict[str, float]:
    """The facts that are not 0."""
    return {k: v for k, v in estimator_facts(ast.parse(IMPORTS + code)).items() if v}


def test_a_method_that_an_estimator_lacks_is_counted() -> None:
    assert facts("m = SVC()\nm.predict_proba(T)")["missing_methods"] == 1
    assert "missing_methods" not in facts("m = SVC()\nm.decision_function(T)")


def test_an_argument_that_a_constructor_rejects_is_counted() -> None:
    assert facts("m = Ridge(alhpa=1.0)\nm.fit(X)") == {"rejected_arguments": 1}


def test_the_tags_are_those_of_the_estimator_that_predicts() -> None:
    assert facts("m = Ridge()\nd = PCA()") == {
        "regressor": 1,
        "several_targets": 1,
        "sparse_input": 1,
    }
    assert facts("m = SVC()")["classifier"] == 1


@pytest.mark.parametrize(
    "code",
    [
        "m = make_pipeline(PCA(), Ridge())\nm.fit(X)\nm.named_steps",
        "m = Pipeline([('a', PCA())])\nm.fit(X)",
        "d = {'a': PCA()}\nd.items()",
        "m = Ridge()\nm = 3\nm.bit_length()",
        "m = SVC(C=c)\nm.predict_proba(T)",
        "m = StackingClassifier(estimators=())",
        "m = OneVsRestClassifier(estimator=None)",
        "from sklearn.nowhere import Thing\nm = Thing()\nm.fit(X)",
        "from sklearn.tests.test_base import MyEstimator\nm = MyEstimator()\nm.go()",
        "from sklearn.svm import NoSuchThing\nNoSuchThing()",
        "from numpy import array\na = array(3)\na.anything()",
        "Ridge(**{'alpha': 1})",
    ],
)
def test_what_cannot_be_told_is_no_alarm(code: str) -> None:
    found = facts(code)
    assert "missing_methods" not in found and "rejected_arguments" not in found


@given(st.text())
def test_every_script_has_all_facts(text: str) -> None:
    code = IMPORTS + f"m = Ridge(alpha={text!r})\nm.fit({text!r})"
    assert tuple(estimator_facts(ast.parse(code))) == ESTIMATOR_FACTS
