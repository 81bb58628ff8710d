"""Where a script does not fit its task's card."""

import pytest

from wmrl_envs.wrappers.world_models.features import ScriptFeatures, script_facts
from wmrl_envs.wrappers.world_models.mismatches import MISMATCHES, mismatches

READ = "import pandas as pd\nt = pd.read_csv('train.csv')\n"
RIDGE = READ + "from sklearn.linear_model import Ridge\nm = Ridge()\nm.fit(t, t)\nm.predict(t)\n"
TREES = RIDGE.replace("Ridge", "RandomForestClassifier").replace("linear_model", "ensemble")
GAUSS = TREES.replace("RandomForestClassifier", "GaussianNB").replace("ensemble", "naive_bayes")
WORDS = (
    "from sklearn.feature_extraction.text import TfidfVectorizer\n"
    "X = TfidfVectorizer().fit_transform(t)\n"
)


def card(kind: str = "value", cat: int = 0, missing: str = "no") -> str:
    return (
        f"tabular binary rmse\nrows 99 num 3 cat {cat} missing {missing} scale even\n"
        f"outputs 1 kind {kind} names target\n"
    )


def found(task: str, code: str) -> set[str]:
    facts = mismatches(task, script_facts(code))
    assert tuple(facts) == MISMATCHES and set(facts.values()) <= {0.0, 1.0}
    return {name for name, value in facts.items() if value}


@pytest.mark.parametrize(
    ("task", "code", "expected"),
    [
        (card(), RIDGE, set()),
        (card(cat=2), RIDGE, {"unencoded"}),
        (card(cat=2), READ + "t = pd.get_dummies(t)\n" + RIDGE, set()),
        (card(missing="yes"), RIDGE, {"unimputed"}),
        (card(missing="yes"), RIDGE + "t.fillna(0)\n", set()),
        (card("label"), RIDGE, {"regressor_for_labels"}),
        (card("label"), TREES, set()),
        (card("value"), TREES, {"classifier_for_values"}),
        (card("probability"), TREES, {"labels_for_probabilities"}),
        (card("probability"), TREES + "m.predict_proba(t)\n", set()),
        (card("label", cat=1), WORDS + GAUSS, {"sparse_unfit"}),
        (card("label", cat=1), WORDS + "X.toarray()\n" + GAUSS, set()),
        (card("label", cat=1), WORDS + TREES, set()),
        ("Predict the prices of houses.", RIDGE, set()),
    ],
)
def test_what_does_not_fit_is_found(task: str, code: str, expected: set[str]) -> None:
    assert found(task, code) == expected


def test_they_are_among_the_features_of_a_script() -> None:
    plain, strings = (
        ScriptFeatures(min_count=1)
        .fit([("a", "b")])
        .transform([(card(), RIDGE), (card(cat=2), RIDGE)])
    )
    assert (plain != strings).sum() == 1 and strings[-len(MISMATCHES)] == 1.0
