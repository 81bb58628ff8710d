"""A grammar of solution scripts: from sound pipelines to the slips that beginners make.

The embedded policy is pretrained on its output. About half of the scripts fail or submit something
invalid, so that reinforcement learning has something to teach.
"""

import random
from collections.abc import Sequence
from typing import NamedTuple

from wmrl_envs.agents.embedded.cards import Card


class Model(NamedTuple):
    """A scikit-learn estimator and the values that its parameters may take."""

    module: str
    name: str
    parameters: tuple[tuple[str, tuple[str, ...]], ...] = ()
    fixed: str = ""


_C = ("C", ("0.001", "0.01", "0.1", "1.0", "10.0"))
_NEIGHBOURS = ("n_neighbors", ("1", "3", "5", "15", "40"))
_DEPTH = ("max_depth", ("1", "2", "4", "8"))
_TREES = (("n_estimators", ("3", "10", "40")), ("max_depth", ("2", "6", "None")))
_BOOSTING = (("max_iter", ("5", "20", "40")), ("learning_rate", ("0.01", "0.1", "0.3")))
_GAMMA = ("gamma", ('"scale"', "0.001", "0.01", "0.1"))
_SEED = "random_state=0"

CLASSIFIERS = (
    Model("linear_model", "LogisticRegression", (_C,), "max_iter=200"),
    Model("linear_model", "RidgeClassifier", (("alpha", ("0.1", "1.0", "10.0")),)),
    Model("neighbors", "KNeighborsClassifier", (_NEIGHBOURS,)),
    Model("svm", "SVC", (("C", ("0.1", "1.0", "10.0")), _GAMMA)),
    Model("tree", "DecisionTreeClassifier", (_DEPTH,), _SEED),
    Model("ensemble", "RandomForestClassifier", _TREES, _SEED),
    Model("ensemble", "ExtraTreesClassifier", _TREES, _SEED),
    Model("ensemble", "HistGradientBoostingClassifier", _BOOSTING, _SEED),
    Model("naive_bayes", "GaussianNB"),
    Model("discriminant_analysis", "LinearDiscriminantAnalysis"),
    Model("dummy", "DummyClassifier", (("strategy", ('"most_frequent"', '"prior"')),)),
    Model(
        "neural_network",
        "MLPClassifier",
        (("hidden_layer_sizes", ("8", "32")),),
        f"max_iter=40, {_SEED}",
    ),
)
REGRESSORS = (
    Model("linear_model", "LinearRegression"),
    Model("linear_model", "Ridge", (("alpha", ("0.1", "1.0", "10.0", "100.0")),)),
    Model("linear_model", "Lasso", (("alpha", ("0.01", "0.1", "1.0")),)),
    Model("neighbors", "KNeighborsRegressor", (_NEIGHBOURS,)),
    Model("svm", "SVR", (("C", ("0.1", "1.0", "10.0", "100.0")), _GAMMA)),
    Model("tree", "DecisionTreeRegressor", (_DEPTH,), _SEED),
    Model("ensemble", "RandomForestRegressor", _TREES, _SEED),
    Model("ensemble", "ExtraTreesRegressor", _TREES, _SEED),
    Model("ensemble", "HistGradientBoostingRegressor", _BOOSTING, _SEED),
    Model(
        "ensemble",
        "GradientBoostingRegressor",
        (("n_estimators", ("10", "40")), ("max_depth", ("1", "3"))),
        _SEED,
    ),
    Model("dummy", "DummyRegressor"),
    Model(
        "neural_network",
        "MLPRegressor",
        (("hidden_layer_sizes", ("8", "32")),),
        f"max_iter=40, {_SEED}",
    ),
)
TEXT_CLASSIFIERS = (
    Model("linear_model", "LogisticRegression", (_C,), "max_iter=200"),
    Model("linear_model", "RidgeClassifier", (("alpha", ("0.1", "1.0", "10.0")),)),
    Model("linear_model", "SGDClassifier", (("loss", ('"log_loss"', '"hinge"')),), _SEED),
    Model("naive_bayes", "MultinomialNB", (("alpha", ("0.01", "0.1", "1.0")),)),
    Model("naive_bayes", "ComplementNB", (("alpha", ("0.01", "0.1", "1.0")),)),
    Model("naive_bayes", "GaussianNB"),
    Model("neighbors", "KNeighborsClassifier", (_NEIGHBOURS,)),
    Model("svm", "LinearSVC", (_C,)),
    Model("tree", "DecisionTreeClassifier", (_DEPTH,), _SEED),
    Model("ensemble", "RandomForestClassifier", _TREES, _SEED),
    Model("dummy", "DummyClassifier", (("strategy", ('"most_frequent"', '"prior"')),)),
)
TEXT_REGRESSORS = (
    Model("linear_model", "Ridge", (("alpha", ("0.1", "1.0", "10.0")),)),
    Model("linear_model", "Lasso", (("alpha", ("0.001", "0.01", "0.1")),)),
    Model("linear_model", "SGDRegressor", (("alpha", ("0.0001", "0.001")),), _SEED),
    Model("neighbors", "KNeighborsRegressor", (_NEIGHBOURS,)),
    Model("svm", "LinearSVR", (_C,)),
    Model("tree", "DecisionTreeRegressor", (_DEPTH,), _SEED),
    Model(
        "ensemble",
        "RandomForestRegressor",
        (("n_estimators", ("3", "10")), ("max_depth", ("2", "6"))),
        _SEED,
    ),
    Model("dummy", "DummyRegressor"),
)
_SCALERS = ("StandardScaler()", "MinMaxScaler()", "RobustScaler()", "Normalizer()")
_NO_PROBABILITIES = ("RidgeClassifier", "SVC", "LinearSVC")
_WIDEST_FOR_PRODUCTS = 16
"""Products of features grow with their square: more columns than this would only time out."""


def solution(card: Card, rng: random.Random, slips: float = 1.0) -> str:
    """Draws a solution script for a card.

    Args:
        card: The task's card.
        rng: The source of randomness.
        slips: Factor on the probability of every slip; 0 gives scripts that should run.

    Returns:
        Python source that reads the task's public files and writes ``submission.csv``.

    Raises:
        ValueError: ``slips`` is negative.
    """
    if slips < 0:
        raise ValueError(f"slips must be at least 0, got {slips!r}")
    return _Writer(card, rng, slips).script()


class _Writer:
    """Writes one script: imports are gathered while the body grows."""

    def __init__(self, card: Card, rng: random.Random, slips: float) -> None:
        self._card = card
        self._rng = rng
        self._slips = slips
        self._imports = ["import pandas as pd"]
        self._body: list[str] = []

    def script(self) -> str:
        {"tabular": self._tabular, "text": self._text, "image": self._image}[self._card.modality]()
        self._submission(self._model())
        if self._slip(0.01):
            self._imports.remove("import pandas as pd")
        self._rng.shuffle(self._imports)
        return "\n".join(self._imports + self._body) + "\n"

    # ---- small helpers

    def _slip(self, probability: float) -> bool:
        return self._rng.random() < probability * self._slips

    def _import(self, module: str, names: str, forget: float = 0.04) -> None:
        line = f"from sklearn.{module} import {names}"
        if not self._slip(forget) and line not in self._imports:
            self._imports.append(line)

    def _add(self, *lines: str) -> None:
        self._body.extend(lines)

    def _pick(self, *choices: str) -> str:
        return self._rng.choice(choices)

    # ---- reading the data

    def _tabular(self) -> None:
        self._add('train = pd.read_csv("train.csv")')
        self._add(
            'test = pd.read_csv("data/test.csv")'
            if self._slip(0.02)
            else 'test = pd.read_csv("test.csv")'
        )
        self._read_sample()
        self._add(f"y = train[{self._target()}]")
        drop = '["target"]' if self._slip(0.08) else '["id", "target"]'
        self._add(
            'X = train.drop(columns=["id"]).drop(columns=sub.columns[1:])'
            if self._several_values
            else f"X = train.drop(columns={drop})"
        )
        self._add("T = test" if self._slip(0.06) else 'T = test.drop(columns=["id"])')
        steps = [self._encode, self._impute]
        if self._slip(0.1):
            steps.reverse()
        for step in steps:
            step()
        self._features()

    def _text(self) -> None:
        self._add('train = pd.read_csv("train.csv")', 'test = pd.read_csv("test.csv")')
        self._read_sample()
        self._add(f"y = train[{self._target()}]")
        self._vectorise()
        if self._rng.random() < 0.25:
            self._import("decomposition", "TruncatedSVD")
            self._add(f"d = TruncatedSVD({self._pick('5', '20', '40')}, random_state=0)")
            self._add("X, T = d.fit_transform(X), d.transform(T)")

    def _image(self) -> None:
        if not self._slip(0.04):
            self._imports.append("import numpy as np")
        self._add('a, b = np.load("train.npz"), np.load("test.npz")')
        self._read_sample()
        labels = "train.csv" if self._slip(0.04) else "train_labels.csv"
        self._add(f'y = pd.read_csv("{labels}")[{self._target()}]')
        key = "x" if self._slip(0.04) else "image"
        if self._slip(0.12):
            self._add(f'X, T = a["{key}"], b["{key}"]')
        else:
            flat = (f'{array}["{key}"].reshape(len({array}["{key}"]), -1)' for array in "ab")
            self._add(f"X, T = {', '.join(flat)}")
        if self._rng.random() < 0.3:
            divisor = self._pick("16", "255")
            other = self._pick("16", "255") if self._slip(0.2) else "255"
            self._add(f"X, T = X / {divisor}, T / {other}")
        self._features()

    def _read_sample(self) -> None:
        self._add('sub = pd.read_csv("sample_submission.csv")')

    @property
    def _several_values(self) -> bool:
        return self._card.outputs > 1 and self._card.is_regression

    def _target(self) -> str:
        if self._slip(0.05):
            return self._pick('"label"', '"y"', '"class"')
        return "sub.columns[1:]" if self._several_values else '"target"'

    # ---- features

    def _encode(self) -> None:
        if self._card.cat == 0:
            choice = self._pick("dummies", "number") if self._rng.random() < 0.1 else "none"
        elif self._slip(0.3):
            choice = "none"
        else:
            choice = self._pick("dummies", "dummies", "number", "ordinal")
        if choice == "dummies":
            self._add("X, T = pd.get_dummies(X), pd.get_dummies(T)")
            if not self._slip(0.15):
                self._add("T = T.reindex(columns=X.columns, fill_value=0)")
        elif choice == "number":
            self._add('X = X.select_dtypes("number")', "T = T[X.columns]")
        elif choice == "ordinal":
            self._import("preprocessing", "OrdinalEncoder")
            unknown = (
                "" if self._slip(0.4) else 'handle_unknown="use_encoded_value", unknown_value=-1'
            )
            self._add(
                'c = X.select_dtypes("str").columns', f"o = OrdinalEncoder({unknown}).fit(X[c])"
            )
            self._add("X[c], T[c] = o.transform(X[c]), o.transform(T[c])")

    def _impute(self) -> None:
        if not self._card.missing:
            if self._rng.random() >= 0.12:
                return
        elif self._slip(0.4):
            return
        choice = self._pick("mean", "zero", "median", "imputer")
        if choice == "imputer":
            self._import("impute", "SimpleImputer")
            self._add(f'i = SimpleImputer(strategy="{self._pick("mean", "median")}")')
            self._add("X, T = i.fit_transform(X), i.transform(T)")
        elif choice == "zero":
            self._add("X, T = X.fillna(0), T.fillna(0)")
        else:
            self._add(f"X, T = X.fillna(X.{choice}()), T.fillna(X.{choice}())")

    def _vectorise(self) -> None:
        name = self._pick("TfidfVectorizer", "TfidfVectorizer", "CountVectorizer")
        self._import("feature_extraction.text", name)
        analyzer = self._pick(
            "",
            'analyzer="char_wb", ngram_range=(1, 3)',
            'analyzer="char", ngram_range=(2, 4)',
            "ngram_range=(1, 2)",
            "min_df=2",
        )
        column = "" if self._slip(0.06) else '["text"]'
        self._add(f"v = {name}({analyzer})", f"X = v.fit_transform(train{column})")
        refit = "fit_transform" if self._slip(0.08) else "transform"
        self._add(f"T = v.{refit}(test{column})")

    def _features(self) -> None:
        draw = self._rng.random()
        if draw < 0.15:
            self._import("decomposition", "PCA")
            self._add(f"d = PCA({self._pick('2', '4', '8', '20')}, random_state=0)")
            self._add("X, T = d.fit_transform(X), d.transform(T)")
        elif draw < 0.27 and not self._several_values:
            function = "f_regression" if self._card.is_regression ^ self._slip(0.1) else "f_classif"
            self._import("feature_selection", f"SelectKBest, {function}")
            self._add(f"d = SelectKBest({function}, k={self._pick('2', '4', '8', '20')})")
            self._add("X, T = d.fit_transform(X, y), d.transform(T)")
        elif draw < 0.36 and self._card.num + self._card.cat <= _WIDEST_FOR_PRODUCTS:
            self._import("preprocessing", "PolynomialFeatures")
            self._add("d = PolynomialFeatures(2)", "X, T = d.fit_transform(X), d.transform(T)")
        if self._rng.random() < 0.5:
            self._scale()

    def _scale(self) -> None:
        scaler = self._rng.choice(_SCALERS)
        self._import("preprocessing", scaler[:-2], forget=0.06)
        self._add(f"s = {scaler}", "X, T = s.fit_transform(X), s.transform(T)")

    # ---- the model and what it submits

    def _model(self) -> Model:
        model = self._rng.choice(self._families())
        self._import(model.module, model.name)
        chosen = [f"{name}={self._rng.choice(values)}" for name, values in model.parameters]
        arguments = ", ".join(chosen + ([model.fixed] if model.fixed else []))
        self._add(f"m = {model.name}({arguments})", "m.fit(X, y)")
        return model

    def _families(self) -> Sequence[Model]:
        regression = self._card.is_regression ^ self._slip(0.03)
        if self._card.modality == "text":
            return TEXT_REGRESSORS if regression else TEXT_CLASSIFIERS
        return REGRESSORS if regression else CLASSIFIERS

    def _submission(self, model: Model) -> None:
        column = "sub[sub.columns[1:]]" if self._card.outputs > 1 else 'sub["target"]'
        if self._slip(0.06):
            column = self._pick('sub["prediction"]', 'sub["target"]', "sub[sub.columns[1:]]")
        self._add(f"{column} = {self._prediction(model)}")
        name = self._pick("output.csv", "predictions.csv") if self._slip(0.05) else "submission.csv"
        self._add(
            f'sub.to_csv("{name}")' if self._slip(0.05) else f'sub.to_csv("{name}", index=False)'
        )

    def _prediction(self, model: Model) -> str:
        several = self._card.outputs > 1
        if self._card.kind != "probability":
            return "m.predict_proba(T)[:, 1]" if self._slip(0.05) else "m.predict(T)"
        if model.name in _NO_PROBABILITIES and not self._slip(0.5):
            return (
                "m.decision_function(T)"
                if self._card.metric != "logloss" or several
                else "m.predict(T)"
            )
        if self._slip(0.25):
            return "m.predict(T)"
        if self._slip(0.15):
            several = not several
        return "m.predict_proba(T)" if several else "m.predict_proba(T)[:, 1]"
