"""The scaffold: a program that is whole but for one line, which a small language model writes.

A model of 135 million parameters cannot write a program that runs; it can name a scikit-learn
estimator. The scaffold reads the task's files, prepares features, fits ``model`` and writes the
submission.
"""

from collections.abc import Mapping
from itertools import pairwise
from typing import Any, NamedTuple

__all__ = ["CardFacts", "line_of", "program", "prompt"]

_CLASSIFIERS = """from sklearn.ensemble import RandomForestClassifier, ExtraTreesClassifier
from sklearn.linear_model import LogisticRegression, RidgeClassifier
from sklearn.neighbors import KNeighborsClassifier
from sklearn.tree import DecisionTreeClassifier

# {task}
model_1 = DecisionTreeClassifier(max_depth=2)
model_2 = KNeighborsClassifier(n_neighbors=1)
model_3 ="""

_REGRESSORS = """from sklearn.ensemble import RandomForestRegressor, ExtraTreesRegressor
from sklearn.linear_model import LinearRegression, Ridge, Lasso
from sklearn.neighbors import KNeighborsRegressor
from sklearn.tree import DecisionTreeRegressor

# {task}
model_1 = DecisionTreeRegressor(max_depth=2)
model_2 = KNeighborsRegressor(n_neighbors=1)
model_3 ="""

_MARK = "model ="

_IMPORTS = """import warnings

import numpy as np
import pandas as pd
from sklearn.decomposition import PCA
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.dummy import DummyClassifier, DummyRegressor
from sklearn.ensemble import (
    AdaBoostClassifier, AdaBoostRegressor, BaggingClassifier, BaggingRegressor,
    ExtraTreesClassifier, ExtraTreesRegressor, GradientBoostingClassifier,
    GradientBoostingRegressor, HistGradientBoostingClassifier, HistGradientBoostingRegressor,
    RandomForestClassifier, RandomForestRegressor, StackingClassifier, VotingClassifier,
)
from sklearn.feature_extraction.text import CountVectorizer, TfidfVectorizer
from sklearn.linear_model import (
    ElasticNet, Lasso, LinearRegression, LogisticRegression, Ridge, RidgeClassifier,
    SGDClassifier, SGDRegressor,
)
from sklearn.model_selection import GridSearchCV
from sklearn.naive_bayes import BernoulliNB, GaussianNB, MultinomialNB
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor
from sklearn.neural_network import MLPClassifier, MLPRegressor
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import MinMaxScaler, PolynomialFeatures, RobustScaler, StandardScaler
from sklearn.svm import SVC, SVR, LinearSVC, LinearSVR
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

warnings.simplefilter("ignore")
sample = pd.read_csv("sample_submission.csv")
"""

_TABULAR = """train, test = pd.read_csv("train.csv"), pd.read_csv("test.csv")
names = [name for name in sample.columns[1:] if name in train]
labels = train[names or ["target"]]
features = [name for name in test.columns if name != "id"]
both = pd.get_dummies(pd.concat([train[features], test[features]]), dtype=float)
both = both.fillna(both.median()).to_numpy()
X, T = both[: len(train)], both[len(train) :]
"""

_TEXT = """train, test = pd.read_csv("train.csv"), pd.read_csv("test.csv")
names = [name for name in sample.columns[1:] if name in train]
labels = train[names or ["target"]]
words = TfidfVectorizer(analyzer="char_wb", ngram_range=(1, 3), max_features=400)
X = words.fit_transform(train["text"]).toarray()
T = words.transform(test["text"]).toarray()
"""

_IMAGE = """train, test = np.load("train.npz"), np.load("test.npz")
X, T = (part["image"].reshape(len(part["image"]), -1) / 255 for part in (train, test))
labels = pd.read_csv("train_labels.csv").drop(columns="id")
"""

_READERS = {"tabular": _TABULAR, "text": _TEXT, "image": _IMAGE}

_ENDING = """y = labels.to_numpy()
model.fit(X, y[:, 0] if y.shape[1] == 1 else y)
{answer}
sample[sample.columns[1:]] = answer.reshape(len(sample), -1)
sample.to_csv("submission.csv", index=False)
"""

_PROBABILITY = """answer = model.predict_proba(T)
answer = answer[:, 1] if sample.shape[1] == 2 else answer"""

_PLAIN = "answer = model.predict(T)"


class CardFacts(NamedTuple):
    """What the scaffold needs to know of a task card.

    Attributes:
        modality: ``tabular``, ``text`` or ``image``.
        category: ``binary``, ``multiclass``, ``regression`` or ``other``.
        metric: The metric's name.
        rows: Training rows.
        columns: Columns of the features.
        kind: ``label``, ``probability`` or ``value``.
    """

    modality: str
    category: str
    metric: str
    rows: int
    columns: int
    kind: str

    @classmethod
    def read(cls, card: str) -> "CardFacts":
        """Reads the three lines of a card.

        Raises:
            ValueError: They are something else.
        """
        words = card.split()
        facts = dict(pairwise(words[3:]))
        try:
            columns = int(facts["num"]) + int(facts["cat"])
            return cls(words[0], words[1], words[2], int(facts["rows"]), columns, facts["kind"])
        except (IndexError, KeyError, ValueError) as error:
            message = f"card must be the three lines of a task card, got {card!r}"
            raise ValueError(message) from error


def prompt(observation: Mapping[str, Any]) -> str:
    """Names of estimators, the task in one line, two weak models, and the third one's beginning.

    Raises:
        ValueError: The observation's task is no card; pass ``observation="card"`` to the
            environment.
    """
    facts = CardFacts.read(observation["task"])
    form = _REGRESSORS if facts.kind == "value" else _CLASSIFIERS
    size = f"{facts.rows} rows, {facts.columns} columns"
    return form.format(task=f"{facts.modality} {facts.category}, {facts.metric}, {size}")


def program(observation: Mapping[str, Any], line: str) -> str:
    """The whole program around a line.

    Args:
        observation: Its task is a card.
        line: What follows ``model =``; all after a line break is dropped.
    """
    facts = CardFacts.read(observation["task"])
    reader = _READERS.get(facts.modality, _TABULAR)
    written = f"{_MARK} {line.partition(chr(10))[0].strip()}\n"
    ending = _ENDING.format(answer=_PROBABILITY if facts.kind == "probability" else _PLAIN)
    return _IMPORTS + reader + written + ending


def line_of(script: str) -> str:
    """The line of a program that the scaffold was put around; any other script as it is.

    Example:
        >>> card = "tabular regression rmse rows 9 num 2 cat 0 outputs 1 kind value"
        >>> line_of(program({"task": card}, " Ridge()"))
        'model = Ridge()'
    """
    found = [line for line in script.splitlines() if line.startswith(_MARK)]
    return found[0] if found else script
