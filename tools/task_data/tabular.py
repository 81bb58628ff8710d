"""Entries for tables: plain models over several preparations, a random search of strong ones."""

from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd
from scipy.signal import savgol_filter
from sklearn import discriminant_analysis, ensemble, linear_model, naive_bayes, neighbors, svm, tree
from sklearn.compose import ColumnTransformer, TransformedTargetRegressor
from sklearn.cross_decomposition import PLSRegression
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF, WhiteKernel
from sklearn.impute import SimpleImputer
from sklearn.multioutput import MultiOutputRegressor
from sklearn.neural_network import MLPClassifier, MLPRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import (
    FunctionTransformer,
    KBinsDiscretizer,
    MinMaxScaler,
    OneHotEncoder,
    OrdinalEncoder,
    PolynomialFeatures,
    PowerTransformer,
    QuantileTransformer,
    SplineTransformer,
    StandardScaler,
)

from task_data.entry import Entry, fit_predict, fitted
from task_data.problem import Problem

__all__ = ["plain", "strong"]

_WORDS_FROM = 0.5
"""A string column with more different values than this share of its rows is read as words."""
_SPECTRUM = 40
"""Tables of at least so many numbers and no strings are read as curves too."""


def plain(problem: Problem) -> Iterator[Entry]:
    """About 60 pipelines that a newcomer would try."""
    yield from _single_columns(problem)
    yield from _linear(problem)
    yield from _probabilistic(problem)
    yield from _neighbours(problem)
    yield from _trees(problem)
    yield from _ensembles(problem)
    yield from _networks(problem)
    yield from _few_rows(problem)


def strong(problem: Problem) -> Iterator[Entry]:
    """About 45 pipelines whose settings are drawn at random from sensible ranges."""
    generator = np.random.default_rng(20240815)
    for index in range(18):
        yield _boosting(problem, generator, index)
    for index in range(8):
        yield _forest(problem, generator, index, extra=True)
        yield _forest(problem, generator, index, extra=False)
    for index in range(6):
        yield _kernel(problem, generator, index)
    for index in range(5):
        yield _spline(problem, generator, index)
    if _is_spectrum(problem):
        yield from _spectral(problem)


def _names(problem: Problem) -> tuple[list[str], list[str], list[str]]:
    """Columns of numbers, of categories, of words."""
    rows: pd.DataFrame = problem.train
    numbers = [c for c in rows if pd.api.types.is_numeric_dtype(rows[c])]
    strings = [c for c in rows if c not in numbers]
    words = [c for c in strings if rows[c].nunique() > _WORDS_FROM * len(rows)]
    return numbers, [c for c in strings if c not in words], words


def _scaled(problem: Problem, scaler: Any = None, words: bool = False) -> ColumnTransformer:
    numbers, categories, texts = _names(problem)
    numeric = make_pipeline(SimpleImputer(strategy="median"), scaler or StandardScaler())
    codes = OneHotEncoder(
        handle_unknown="infrequent_if_exist",
        min_frequency=5,
        max_categories=40,
        sparse_output=False,
    )
    parts = [("numbers", numeric, numbers)]
    if categories:
        parts.append(("codes", make_pipeline(_absent(), codes), categories))
    return ColumnTransformer(parts + (_word_parts(texts) if words else []), sparse_threshold=0)


def _coded(problem: Problem, impute: bool = True, words: bool = False) -> ColumnTransformer:
    numbers, categories, texts = _names(problem)
    codes = OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=-1)
    numeric = SimpleImputer(strategy="median") if impute else "passthrough"
    parts = [("numbers", numeric, numbers)]
    if categories:
        parts.append(("codes", make_pipeline(_absent(), codes), categories))
    return ColumnTransformer(parts + (_word_parts(texts) if words else []), sparse_threshold=0)


def _absent() -> SimpleImputer:
    return SimpleImputer(strategy="constant", fill_value="NA")


def _word_parts(columns: list[str]) -> list[tuple[str, Any, str]]:
    """Indicators of the 40 most frequent words of each column."""
    return [(c, CountVectorizer(binary=True, min_df=5, max_features=40), c) for c in columns]


def _several(problem: Problem, regressor: Any) -> Any:
    """One regressor for each target, for those that know only one."""
    return MultiOutputRegressor(regressor) if problem.labels.ndim == 2 else regressor


def _standard(regressor: Any) -> TransformedTargetRegressor:
    return TransformedTargetRegressor(regressor, transformer=StandardScaler())


def _loss(problem: Problem) -> str:
    return "absolute_error" if problem.spec.metric == "mae" else "squared_error"


def _logistic(strength: float = 1.0, **settings: Any) -> Any:
    return linear_model.LogisticRegression(C=strength, max_iter=400, **settings)


def _single_columns(problem: Problem) -> Iterator[Entry]:
    for column in _names(problem)[0][:4]:
        scale = make_pipeline(SimpleImputer(strategy="median"), StandardScaler())
        only = ColumnTransformer([("number", scale, [column])])
        yield fitted(f"linear, {column} alone", _logistic(), linear_model.Ridge(), only)


def _linear(problem: Problem) -> Iterator[Entry]:
    for strength in (1e-4, 1e-3, 0.01, 0.1, 1.0, 10.0, 100.0):
        ridge = linear_model.Ridge(1 / strength)
        yield fitted(f"linear C={strength:g}", _logistic(strength), ridge, _scaled(problem))
    scalers = {
        "quantiles": QuantileTransformer(n_quantiles=100, output_distribution="normal"),
        "power": PowerTransformer(),
        "unit range": MinMaxScaler(),
        "bins": KBinsDiscretizer(8, encode="onehot-dense", quantile_method="averaged_inverted_cdf"),
        "splines": SplineTransformer(5),
    }
    if len(_names(problem)[0]) <= 20:
        scalers["squares"] = make_pipeline(StandardScaler(), PolynomialFeatures(2))
    for name, scaler in scalers.items():
        ridge = linear_model.Ridge()
        yield fitted(f"linear on {name}", _logistic(), ridge, _scaled(problem, scaler))
    yield fitted(
        "linear, even classes",
        _logistic(class_weight="balanced"),
        _several(problem, linear_model.HuberRegressor(max_iter=200)),
        _scaled(problem),
    )
    yield fitted(
        "linear, sparse",
        _logistic(0.1, solver="saga", l1_ratio=1),
        _several(problem, linear_model.Lasso(0.01)),
        _scaled(problem),
    )
    words = _scaled(problem, words=True)
    yield fitted("linear with words", _logistic(), linear_model.Ridge(), words)


def _probabilistic(problem: Problem) -> Iterator[Entry]:
    scaled = _scaled(problem)
    if not problem.classifies:
        for count in (3, 6, 10):
            if count < len(_names(problem)[0]):
                yield fitted(f"pls {count}", None, PLSRegression(count), scaled)
        return
    shrunk = discriminant_analysis.LinearDiscriminantAnalysis(solver="lsqr", shrinkage="auto")
    quadratic = discriminant_analysis.QuadraticDiscriminantAnalysis(reg_param=0.1)
    yield fitted("linear discriminant", shrunk, None, scaled)
    yield fitted("quadratic discriminant", quadratic, None, scaled)
    yield fitted("gaussian naive bayes", naive_bayes.GaussianNB(), None, scaled)
    yield fitted("bernoulli naive bayes", naive_bayes.BernoulliNB(), None, scaled)


def _neighbours(problem: Problem) -> Iterator[Entry]:
    for count in (1, 3, 7, 15, 40):
        for weights in ("uniform", "distance") if count > 1 else ("uniform",):
            classifier = neighbors.KNeighborsClassifier(count, weights=weights)
            regressor = neighbors.KNeighborsRegressor(count, weights=weights)
            name = f"{count} neighbours, {weights}"
            yield fitted(name, classifier, regressor, _scaled(problem))


def _trees(problem: Problem) -> Iterator[Entry]:
    for depth in (1, 2, 3, 5, 8, None):
        settings: dict[str, Any] = {"max_depth": depth, "random_state": 0}
        yield fitted(
            f"tree of depth {depth}",
            tree.DecisionTreeClassifier(**settings),
            tree.DecisionTreeRegressor(**settings),
            _coded(problem),
        )


def _ensembles(problem: Problem) -> Iterator[Entry]:
    for count, leaf in ((10, 1), (50, 1), (150, 1), (100, 10)):
        settings: dict[str, Any] = {"min_samples_leaf": leaf, "random_state": 0}
        yield fitted(
            f"forest of {count}, leaf {leaf}",
            ensemble.RandomForestClassifier(count, **settings),
            ensemble.RandomForestRegressor(count, max_features="sqrt", **settings),
            _coded(problem),
        )
    for count in (50, 150):
        yield fitted(
            f"extra trees of {count}",
            ensemble.ExtraTreesClassifier(count, random_state=0),
            ensemble.ExtraTreesRegressor(count, random_state=0),
            _coded(problem),
        )
    for rounds, rate, leaves in ((20, 0.1, 31), (100, 0.1, 31), (100, 0.1, 8), (200, 0.03, 15)):
        yield _boosted(
            problem,
            f"boosting {rounds} x {rate}, {leaves} leaves",
            words=False,
            max_iter=rounds,
            learning_rate=rate,
            max_leaf_nodes=leaves,
            random_state=0,
        )
    yield fitted(
        "ada boost",
        ensemble.AdaBoostClassifier(random_state=0),
        _several(problem, ensemble.AdaBoostRegressor(n_estimators=30, random_state=0)),
        _coded(problem),
    )


def _networks(problem: Problem) -> Iterator[Entry]:
    for hidden, decay in (((32,), 1e-4), ((64, 32), 0.1)):
        settings: dict[str, Any] = {"alpha": decay, "random_state": 0, "max_iter": 60}
        regressor = MLPRegressor(hidden_layer_sizes=hidden, learning_rate_init=3e-3, **settings)
        if problem.spec.metric != "rmsle":
            regressor = _standard(regressor)
        yield fitted(
            f"network {hidden}, decay {decay:g}",
            MLPClassifier(hidden_layer_sizes=hidden, **settings),
            regressor,
            _scaled(problem),
        )


def _few_rows(problem: Problem) -> Iterator[Entry]:
    linear = fitted("linear", _logistic(), linear_model.Ridge(), _scaled(problem))
    boosted = _boosted(problem, "boosting", words=False, max_iter=60, random_state=0)
    for fraction in (0.05, 0.2, 0.5):
        for entry in (linear, boosted):
            yield Entry(f"{entry.name} on {fraction:.0%} of the rows", _on_part(entry, fraction))


def _on_part(entry: Entry, fraction: float) -> Any:
    return lambda problem: entry.predict(problem.part(fraction))


def _boosted(problem: Problem, name: str, *, words: bool, **settings: Any) -> Entry:
    """Histogram boosting; fewer rounds where every round fits a tree for each of many classes."""
    if len(problem.spec.classes) > 4:
        settings["max_iter"] = max(10, int(settings["max_iter"] * 0.35))
    classifier = ensemble.HistGradientBoostingClassifier(early_stopping=False, **settings)
    regressor = ensemble.HistGradientBoostingRegressor(
        loss=_loss(problem), early_stopping=False, **settings
    )
    prepared = _coded(problem, impute=False, words=words)
    return fitted(name, classifier, _several(problem, regressor), prepared)


def _boosting(problem: Problem, generator: np.random.Generator, index: int) -> Entry:
    u = generator.random(6)
    return _boosted(
        problem, f"boosting #{index}", words=True,
        learning_rate=10 ** (-1.7 + 1.0 * u[0]), max_iter=int(50 + 200 * u[1]),
        max_leaf_nodes=int(4 + 36 * u[2] ** 2), l2_regularization=10 ** (-2 + 3 * u[3]),
        min_samples_leaf=int(5 + 35 * u[4]), max_features=0.3 + 0.7 * u[5], random_state=index,
    )  # fmt: skip


def _forest(problem: Problem, generator: np.random.Generator, index: int, extra: bool) -> Entry:
    settings: dict[str, Any] = {
        "max_features": 0.1 + 0.8 * generator.random(),
        "min_samples_leaf": 1 + int(5 * generator.random()),
        "random_state": index,
    }
    if extra:
        pair = ensemble.ExtraTreesClassifier, ensemble.ExtraTreesRegressor
    else:
        pair = ensemble.RandomForestClassifier, ensemble.RandomForestRegressor
    count = 120 if len(problem.labels) < 5000 else 60
    name = f"{'extra trees' if extra else 'forest'} #{index}"
    prepared = _coded(problem, words=True)
    return fitted(name, pair[0](count, **settings), pair[1](count, **settings), prepared)


def _kernel(problem: Problem, generator: np.random.Generator, index: int) -> Entry:
    """A kernel machine; a network where the rows are too many for one."""
    u = generator.random(3)
    prepared = _scaled(problem, words=True)
    if len(problem.labels) > 4500:
        width = int(16 + 112 * u[0])
        settings: dict[str, Any] = {
            "alpha": 10 ** (-3 + 3 * u[1]),
            "max_iter": 25,
            "random_state": index,
        }
        regressor: Any = MLPRegressor(
            hidden_layer_sizes=(width, width // 2), learning_rate_init=3e-3, **settings
        )
        return fitted(
            f"network #{index}",
            MLPClassifier(hidden_layer_sizes=(width, width // 2), **settings),
            regressor,
            prepared,
        )
    settings = {"C": 10 ** (-0.5 + 2 * u[0]), "gamma": 10 ** (-2.5 + 1.5 * u[1])}
    if problem.spec.metric == "rmsle":
        regressor = svm.SVR(epsilon=0.02, **settings)
    else:
        regressor = _several(problem, _standard(svm.SVR(epsilon=0.05, **settings)))
    return fitted(f"kernel machine #{index}", svm.SVC(**settings), regressor, prepared)


def _spline(problem: Problem, generator: np.random.Generator, index: int) -> Entry:
    strength = 10 ** (-2 + 3 * generator.random())
    spline = SplineTransformer(int(generator.integers(3, 8)))
    return fitted(
        f"splines #{index}",
        _logistic(strength),
        linear_model.Ridge(1 / strength),
        _scaled(problem, spline, words=True),
    )


def _is_spectrum(problem: Problem) -> bool:
    numbers, categories, words = _names(problem)
    curve = len(numbers) >= _SPECTRUM and not categories and not words
    return curve and not problem.classifies


def _spectral(problem: Problem) -> Iterator[Entry]:
    """Entries on smoothed derivatives of curves, as chemists do."""
    for order in (0, 1, 2):
        slope = FunctionTransformer(
            savgol_filter, kw_args={"window_length": 9, "polyorder": 3, "deriv": order, "axis": 1}
        )
        prepared = [FunctionTransformer(np.asarray), slope, StandardScaler()]
        kernel = RBF(10.0) + WhiteKernel(0.01)
        models = {f"pls {count}": PLSRegression(count) for count in (8, 12, 16)}
        models |= {f"ridge {alpha:g}": linear_model.Ridge(alpha) for alpha in (1e-3, 0.1)}
        models["gaussian process"] = _standard(GaussianProcessRegressor(kernel))
        models["kernel machine"] = _several(problem, _standard(svm.SVR(C=100, gamma=1e-3)))
        for name, model in models.items():
            yield Entry(f"{name}, derivative {order}", _on_curves(model, prepared))


def _on_curves(model: Any, steps: list[Any]) -> Any:
    return lambda problem: fit_predict(
        problem, make_pipeline(*steps, model), problem.train, problem.test
    )
