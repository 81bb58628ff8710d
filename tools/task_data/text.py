"""Entries for texts: words and letters, linear models, neighbours, trees on their projections."""

from collections.abc import Iterator
from typing import Any

import numpy as np
from scipy import sparse
from sklearn import ensemble, linear_model, naive_bayes, neighbors, svm, tree
from sklearn.decomposition import TruncatedSVD
from sklearn.feature_extraction.text import CountVectorizer, TfidfVectorizer
from sklearn.preprocessing import MaxAbsScaler, StandardScaler

from task_data.entry import Entry, fitted
from task_data.problem import Problem

__all__ = ["plain", "strong"]

_FEWEST = 25


def plain(problem: Problem) -> Iterator[Entry]:
    """About 60 pipelines that a newcomer would try."""
    _prepare(problem)
    for key in ("length", "frequent words", "words", "letters", "single letters", "word pairs"):
        yield from _linear(key, (1.0, 10.0))
    yield from _linear("letter groups", (0.1, 1.0, 50.0))
    for key in ("words", "letters", "letter groups"):
        yield from _bayes(problem, key)
        yield from _neighbours(key)
        yield from _trees(key)
    for key in ("words 20", "letters 20"):
        yield from _projected(problem, key)
    yield from _few_rows(problem)


def strong(problem: Problem) -> Iterator[Entry]:
    """About 45 pipelines whose settings are drawn at random from sensible ranges."""
    _prepare(problem)
    generator = np.random.default_rng(20240815)
    keys = ("letter groups", "all", "all weighted", "word pairs")
    for index in range(24):
        key = keys[index % len(keys)]
        yield _drawn_linear(problem, generator, key, index)
    for index in range(8):
        yield _drawn_kernel(problem, generator, ("letters 100", "all 100")[index % 2], index)
    for index in range(5):
        yield _drawn_boosting(problem, generator, index)
    for index in range(5):
        yield _drawn_trees(problem, generator, index)


def _prepare(problem: Problem) -> None:
    """Computes the features once."""
    if problem.cache:
        return
    words: dict[str, Any] = {"min_df": 2, "sublinear_tf": True}
    letters: dict[str, Any] = {"analyzer": "char_wb", "min_df": 2, "sublinear_tf": True}
    vectorizers = {
        "words": TfidfVectorizer(min_df=2),
        "word pairs": TfidfVectorizer(ngram_range=(1, 2), max_features=30_000, **words),
        "frequent words": CountVectorizer(binary=True, max_features=200),
        "single letters": CountVectorizer(analyzer="char", lowercase=False),
        "letters": TfidfVectorizer(ngram_range=(1, 3), max_features=10_000, **letters),
        "letter groups": TfidfVectorizer(ngram_range=(2, 5), max_features=40_000, **letters),
    }
    for key, vectorizer in vectorizers.items():
        problem.cache[key] = _vectors(problem, vectorizer)
    problem.cache["length"] = _lengths(problem.train), _lengths(problem.test)
    _combine(problem)
    for source, count in (("words", 20), ("letters", 20), ("letters", 100), ("all", 100)):
        problem.cache[f"{source} {count}"] = _project(problem, source, count)


def _vectors(problem: Problem, vectorizer: Any) -> tuple[Any, Any]:
    """Sparse features; where hardly a word occurs twice, those that occur once."""
    if _is_poor(vectorizer, problem.train):
        vectorizer.set_params(min_df=1, max_features=2000)
    train = vectorizer.fit_transform(problem.train)
    return train, vectorizer.transform(problem.test)


def _is_poor(vectorizer: Any, texts: list[str]) -> bool:
    try:
        return len(vectorizer.fit(texts).vocabulary_) < _FEWEST
    except ValueError:  # no word is left
        return True


def _combine(problem: Problem) -> None:
    parts = [problem.cache[key] for key in ("word pairs", "letter groups")]
    both = tuple(sparse.hstack([part[i] for part in parts]).tocsr() for i in (0, 1))
    scaler = MaxAbsScaler().fit(problem.cache["length"][0])
    lengths = [sparse.csr_matrix(scaler.transform(x)) for x in problem.cache["length"]]
    problem.cache["all"] = tuple(
        sparse.hstack([matrix, extra]).tocsr() for matrix, extra in zip(both, lengths, strict=True)
    )
    problem.cache["all weighted"] = _log_ratios(problem, *both)


def _log_ratios(problem: Problem, train: Any, test: Any) -> tuple[Any, Any]:
    """Scales each feature by how far it separates the classes (or the high from the low half)."""
    target = problem.labels
    codes = target if problem.classifies else (target > np.median(target)).astype(int)
    rates = np.stack([np.asarray(train[codes == c].sum(axis=0)).ravel() + 1 for c in set(codes)])
    logs = np.log(rates / rates.sum(axis=1, keepdims=True))
    scale = sparse.diags(logs.max(axis=0) - logs.min(axis=0))
    return (train @ scale).tocsr(), (test @ scale).tocsr()


def _project(problem: Problem, source: str, count: int) -> tuple[np.ndarray, np.ndarray]:
    train, test = problem.cache[source]
    projection = TruncatedSVD(min(count, train.shape[1] - 1), random_state=0).fit(train)
    return projection.transform(train), projection.transform(test)


def _lengths(texts: list[str]) -> np.ndarray:
    rows = [
        [len(t), t.count(" "), sum(map(str.isupper, t)), sum(map(str.isdigit, t)), t.count(".")]
        for t in texts
    ]
    return np.array(rows, dtype=float)


def _logistic(strength: float) -> Any:
    return linear_model.LogisticRegression(C=strength, max_iter=150, tol=1e-3)


def _linear(key: str, strengths: tuple[float, ...]) -> Iterator[Entry]:
    steps = [StandardScaler()] if key == "length" else []
    for strength in strengths:
        yield fitted(
            f"linear on {key}, C={strength:g}",
            _logistic(strength),
            linear_model.Ridge(1 / strength),
            *steps,
            features=key,
        )


def _bayes(problem: Problem, key: str) -> Iterator[Entry]:
    if not problem.classifies:
        for alpha in (1e-5, 1e-3):
            model = linear_model.SGDRegressor(alpha=alpha, max_iter=30, tol=None, random_state=0)
            yield fitted(f"gradient descent on {key}, {alpha:g}", None, model, features=key)
        return
    yield fitted(f"naive bayes on {key}", naive_bayes.MultinomialNB(alpha=0.1), None, features=key)
    complement = naive_bayes.ComplementNB(alpha=0.3)
    yield fitted(f"complement bayes on {key}", complement, None, features=key)


def _neighbours(key: str) -> Iterator[Entry]:
    for count in (1, 5, 20):
        classifier = neighbors.KNeighborsClassifier(count, metric="cosine")
        regressor = neighbors.KNeighborsRegressor(count, metric="cosine", weights="distance")
        yield fitted(f"{count} neighbours on {key}", classifier, regressor, features=key)


def _trees(key: str) -> Iterator[Entry]:
    settings: dict[str, Any] = {"max_depth": 5, "random_state": 0}
    yield fitted(
        f"tree on {key}",
        tree.DecisionTreeClassifier(**settings),
        tree.DecisionTreeRegressor(**settings),
        features=key,
    )


def _projected(problem: Problem, key: str) -> Iterator[Entry]:
    forest: dict[str, Any] = {"n_estimators": 80, "random_state": 0}
    yield fitted(f"linear on {key} axes", _logistic(1.0), linear_model.Ridge(), features=key)
    yield fitted(
        f"forest on {key} axes",
        ensemble.RandomForestClassifier(**forest),
        ensemble.RandomForestRegressor(max_features=0.3, **forest),
        features=key,
    )
    rounds = 30 if len(problem.spec.classes) > 4 else 80
    yield fitted(
        f"boosting on {key} axes",
        ensemble.HistGradientBoostingClassifier(max_iter=rounds, random_state=0),
        ensemble.HistGradientBoostingRegressor(max_iter=rounds, random_state=0),
        features=key,
    )


def _few_rows(problem: Problem) -> Iterator[Entry]:
    for fraction in (0.05, 0.2, 0.5):
        vectorizer = TfidfVectorizer(analyzer="char_wb", ngram_range=(1, 3), max_features=5000)
        entry = fitted("", _logistic(5.0), linear_model.Ridge(), vectorizer)
        yield Entry(f"linear on {fraction:.0%} of the rows", _on_part(entry, fraction))


def _on_part(entry: Entry, fraction: float) -> Any:
    return lambda problem: entry.predict(problem.part(fraction))


def _drawn_linear(problem: Problem, generator: np.random.Generator, key: str, index: int) -> Entry:
    strength = 10 ** (-0.5 + 2 * generator.random())
    if index % 3 == 2 and problem.classifies:
        model: Any = svm.LinearSVC(C=strength / 10)
    elif index % 3 == 1 and problem.classifies and "weighted" not in key:
        model = naive_bayes.ComplementNB(alpha=10 ** (-1.5 + 1.5 * generator.random()))
    else:
        model = _logistic(strength)
    kind = {"LinearSVC": "margin", "ComplementNB": "bayes"}.get(type(model).__name__, "linear")
    return fitted(
        f"{kind} on {key} #{index}", model, linear_model.Ridge(1 / strength), features=key
    )


def _drawn_kernel(problem: Problem, generator: np.random.Generator, key: str, index: int) -> Entry:
    strength = 10 ** (2 * generator.random() - 0.3)
    gamma = 10 ** (1.5 * generator.random() - 0.5)
    spread = 1.0 if problem.classifies else max(1.0, float(np.std(problem.labels)))
    return fitted(
        f"kernel machine on {key} axes #{index}",
        svm.SVC(C=strength, gamma=gamma),
        svm.SVR(C=strength * spread, gamma=gamma),
        features=key,
    )


def _drawn_boosting(problem: Problem, generator: np.random.Generator, index: int) -> Entry:
    u = generator.random(4)
    rounds = int((10 if len(problem.spec.classes) > 4 else 50) * (1 + 2 * u[0]))
    settings: dict[str, Any] = {
        "max_iter": rounds, "learning_rate": 10 ** (-1.5 + 0.7 * u[1]), "max_features": 0.3,
        "max_leaf_nodes": int(6 + 25 * u[2]), "min_samples_leaf": int(5 + 30 * u[3]),
        "early_stopping": False, "random_state": index,
    }  # fmt: skip
    loss = "absolute_error" if problem.spec.metric == "mae" else "squared_error"
    return fitted(
        f"boosting on all 100 axes #{index}",
        ensemble.HistGradientBoostingClassifier(**settings),
        ensemble.HistGradientBoostingRegressor(loss=loss, **settings),
        features="all 100",
    )


def _drawn_trees(problem: Problem, generator: np.random.Generator, index: int) -> Entry:
    settings: dict[str, Any] = {
        "n_estimators": 100, "max_features": 0.1 + 0.4 * generator.random(),
        "min_samples_leaf": int(generator.integers(1, 4)), "random_state": index,
    }  # fmt: skip
    return fitted(
        f"extra trees on all 100 axes #{index}",
        ensemble.ExtraTreesClassifier(**settings),
        ensemble.ExtraTreesRegressor(**settings),
        features="all 100",
    )
