"""Entries for images: pixels and gradients, neighbours, kernels, forests, moved copies."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
from sklearn import discriminant_analysis, ensemble, linear_model, naive_bayes, neighbors, svm, tree
from sklearn.compose import TransformedTargetRegressor
from sklearn.decomposition import PCA
from sklearn.kernel_ridge import KernelRidge
from sklearn.neural_network import MLPClassifier, MLPRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from task_data import pictures
from task_data.entry import Entry, fit_predict, fitted
from task_data.problem import Problem

__all__ = ["plain", "strong"]

_MANY_TARGETS = 16


def plain(problem: Problem) -> Iterator[Entry]:
    """About 60 pipelines that a newcomer would try."""
    _prepare(problem)
    for key in ("pixels", "gradients", "statistics", "half size", "brightness"):
        yield from _linear(key)
        yield from _neighbours(key)
    for key in ("pixels", "gradients", "statistics"):
        yield from _forests(key)
    for key in ("pixels", "gradients"):
        yield from _kernels(problem, key, (1.0, 10.0))
        yield from _probabilistic(problem, key)
        yield from _networks(key)
        yield from _projected(problem, key)
    yield from _few_rows()


def strong(problem: Problem) -> Iterator[Entry]:
    """About 45 pipelines whose settings are drawn at random from sensible ranges."""
    _prepare(problem)
    generator = np.random.default_rng(20240815)
    keys = ("gradients", "fine gradients", "straight", "pixels and gradients", "patterns")
    for index in range(18):
        yield _drawn_kernel(problem, generator, keys[index % len(keys)], index)
    for index in range(6):
        yield _drawn_trees(problem, generator, keys[index % len(keys)], index)
    for index in range(5):
        yield _drawn_network(generator, keys[index % len(keys)], index)
    for index in range(4):
        yield _drawn_neighbours(generator, keys[index % 3], index)
    for index in range(4):
        yield _drawn_boosting(problem, generator, keys[index], index)
    if problem.labels.ndim == 1:
        for index in range(6):
            yield _moved(problem, generator, index)
    if problem.spec.name == "digit-sum":
        yield from _two_pictures()


def _prepare(problem: Problem) -> None:
    """Computes the features once."""
    if problem.cache:
        return
    small = min(problem.train.shape[1:]) < 8
    makers: dict[str, Any] = {
        "pixels": pictures.flat,
        "gradients": lambda x: pictures.gradients(x, 2 if small else 4),
        "fine gradients": lambda x: pictures.gradients(x, 4 if small else 6 if _big(x) else 5, 10),
        "statistics": pictures.statistics,
        "half size": pictures.half_size,
        "brightness": lambda x: x.reshape(len(x), -1).mean(axis=1, keepdims=True),
        "straight": pictures.straight,
        "patterns": lambda x: np.hstack([pictures.patterns(x), pictures.statistics(x) / 10]),
    }
    for key, make in makers.items():
        problem.cache[key] = make(problem.train), make(problem.test)
    pairs = zip(problem.cache["pixels"], problem.cache["fine gradients"], strict=True)
    problem.cache["pixels and gradients"] = tuple(np.hstack([a, 4 * b]) for a, b in pairs)


def _big(images: np.ndarray) -> bool:
    return min(images.shape[1:]) > 16


def _standard(regressor: Any) -> TransformedTargetRegressor:
    return TransformedTargetRegressor(regressor, transformer=StandardScaler())


def _logistic(strength: float = 1.0) -> Any:
    return linear_model.LogisticRegression(C=strength, max_iter=150, tol=1e-3)


def _linear(key: str) -> Iterator[Entry]:
    for strength in (0.01, 1.0):
        yield fitted(
            f"linear on {key}, C={strength:g}",
            _logistic(strength),
            linear_model.Ridge(1 / strength),
            StandardScaler(),
            features=key,
        )


def _neighbours(key: str) -> Iterator[Entry]:
    for count in (1, 5, 15):
        classifier = neighbors.KNeighborsClassifier(count, weights="distance")
        regressor = neighbors.KNeighborsRegressor(count, weights="distance")
        yield fitted(f"{count} neighbours on {key}", classifier, regressor, features=key)


def _forests(key: str) -> Iterator[Entry]:
    for depth in (4, None):
        settings: dict[str, Any] = {"max_depth": depth, "random_state": 0}
        yield fitted(
            f"tree of depth {depth} on {key}",
            tree.DecisionTreeClassifier(**settings),
            tree.DecisionTreeRegressor(**settings),
            features=key,
        )
    forest: dict[str, Any] = {"n_estimators": 60, "max_features": "sqrt", "random_state": 0}
    yield fitted(
        f"forest on {key}",
        ensemble.RandomForestClassifier(**forest),
        ensemble.RandomForestRegressor(**forest),
        features=key,
    )
    yield fitted(
        f"extra trees on {key}",
        ensemble.ExtraTreesClassifier(**forest),
        ensemble.ExtraTreesRegressor(**forest),
        features=key,
    )


def _kernels(problem: Problem, key: str, strengths: tuple[float, ...]) -> Iterator[Entry]:
    for strength in strengths:
        yield fitted(
            f"kernel machine on {key}, C={strength:g}",
            svm.SVC(C=strength),
            _kernel_regressor(problem, strength, "scale"),
            features=key,
        )


def _kernel_regressor(problem: Problem, strength: float, gamma: Any) -> Any:
    """One machine for all targets where there are many."""
    if problem.labels.ndim == 2:
        gamma = 1.0 if gamma == "scale" else gamma
        return _standard(KernelRidge(alpha=0.3 / strength, kernel="rbf", gamma=gamma))
    return _standard(svm.SVR(C=strength, gamma=gamma, epsilon=0.05))


def _probabilistic(problem: Problem, key: str) -> Iterator[Entry]:
    if problem.classifies:
        shrunk = discriminant_analysis.LinearDiscriminantAnalysis(solver="lsqr", shrinkage="auto")
        yield fitted(f"linear discriminant on {key}", shrunk, None, features=key)
        yield fitted(f"naive bayes on {key}", naive_bayes.GaussianNB(), None, features=key)
        wide = naive_bayes.GaussianNB(var_smoothing=0.1)
        yield fitted(f"wide naive bayes on {key}", wide, None, features=key)


def _networks(key: str) -> Iterator[Entry]:
    for hidden in ((32,), (96,)):
        settings: dict[str, Any] = {"max_iter": 40, "random_state": 0}
        yield fitted(
            f"network {hidden} on {key}",
            MLPClassifier(hidden_layer_sizes=hidden, **settings),
            _standard(MLPRegressor(hidden_layer_sizes=hidden, **settings)),
            features=key,
        )


def _projected(problem: Problem, key: str) -> Iterator[Entry]:
    width = problem.cache[key][0].shape[1]
    for count in (5, 15, 40):
        axes = PCA(min(count, width - 1), random_state=0)
        yield fitted(
            f"linear on {count} axes of {key}",
            _logistic(),
            linear_model.Ridge(),
            axes,
            features=key,
        )
        yield fitted(
            f"kernel machine on {count} axes of {key}",
            svm.SVC(C=5),
            _kernel_regressor(problem, 5.0, "scale"),
            axes,
            features=key,
        )


def _few_rows() -> Iterator[Entry]:
    for fraction in (0.05, 0.2, 0.5):
        yield Entry(f"linear on {fraction:.0%} of the rows", _on_part(fraction))


def _on_part(fraction: float) -> Any:
    def predict(problem: Problem) -> np.ndarray:
        part = problem.part(fraction)
        model = _logistic() if problem.classifies else linear_model.Ridge()
        steps = make_pipeline(StandardScaler(), model)
        return fit_predict(part, steps, pictures.flat(part.train), pictures.flat(part.test))

    return predict


def _drawn_kernel(problem: Problem, generator: np.random.Generator, key: str, index: int) -> Entry:
    u = generator.random(2)
    train = problem.cache[key][0]
    gamma = 10 ** (-0.6 + 1.2 * u[0]) / max(float(train.var() * train.shape[1]), 1e-9)
    strength = 10 ** (2 * u[1])
    return fitted(
        f"kernel machine on {key} #{index}",
        svm.SVC(C=strength, gamma=gamma),
        _kernel_regressor(problem, strength, gamma),
        features=key,
    )


def _drawn_trees(problem: Problem, generator: np.random.Generator, key: str, index: int) -> Entry:
    settings: dict[str, Any] = {
        "n_estimators": 150, "max_features": 0.05 + 0.3 * generator.random(),
        "min_samples_leaf": int(generator.integers(1, 4)), "random_state": index,
    }  # fmt: skip
    if problem.labels.ndim == 2:
        settings["n_estimators"] = 60
    return fitted(
        f"extra trees on {key} #{index}",
        ensemble.ExtraTreesClassifier(**settings),
        ensemble.ExtraTreesRegressor(**settings),
        features=key,
    )


def _drawn_network(generator: np.random.Generator, key: str, index: int) -> Entry:
    settings: dict[str, Any] = {
        "hidden_layer_sizes": (int(generator.integers(48, 160)),), "max_iter": 60,
        "alpha": 10 ** (-3 + 3 * generator.random()), "random_state": index,
    }  # fmt: skip
    return fitted(
        f"network on {key} #{index}",
        MLPClassifier(**settings),
        _standard(MLPRegressor(**settings)),
        StandardScaler(),
        features=key,
    )


def _drawn_neighbours(generator: np.random.Generator, key: str, index: int) -> Entry:
    count = int(generator.integers(2, 12))
    return fitted(
        f"{count} neighbours on {key} #{index}",
        neighbors.KNeighborsClassifier(count, weights="distance"),
        neighbors.KNeighborsRegressor(count, weights="distance"),
        features=key,
    )


def _drawn_boosting(
    problem: Problem, generator: np.random.Generator, key: str, index: int
) -> Entry:
    many = len(problem.spec.classes) > 4
    settings: dict[str, Any] = {
        "max_iter": int((25 if many else 80) * (1 + generator.random())),
        "learning_rate": 10 ** (-1.4 + 0.6 * generator.random()), "max_leaf_nodes": 12,
        "early_stopping": False, "random_state": index,
    }  # fmt: skip
    axes = PCA(min(40, problem.cache[key][0].shape[1] - 1), random_state=0)
    regressor: Any = ensemble.HistGradientBoostingRegressor(**settings)
    if problem.labels.ndim == 2:
        regressor = neighbors.KNeighborsRegressor(6 + 4 * index, weights="distance")
    return fitted(
        f"boosting on axes of {key} #{index}",
        ensemble.HistGradientBoostingClassifier(**settings),
        regressor,
        axes,
        features=key,
    )


def _moved(problem: Problem, generator: np.random.Generator, index: int) -> Entry:
    """Trains on the images and on copies moved by one pixel."""
    strength, axes = 10 ** (0.3 + 1.2 * generator.random()), int(generator.integers(25, 60))
    models = [(svm.SVC(C=strength), _standard(svm.SVR(C=strength, epsilon=0.05)))]
    models += [
        (
            neighbors.KNeighborsClassifier(3, weights="distance"),
            neighbors.KNeighborsRegressor(3, weights="distance"),
        )
    ]
    models += [
        (
            ensemble.ExtraTreesClassifier(80, random_state=index),
            ensemble.ExtraTreesRegressor(60, max_features=0.3, random_state=index),
        )
    ]
    kind = (0, 0, 0, 0, 1, 2)[index]
    model = models[kind][0 if problem.classifies else 1]
    name = ("kernel machine", "neighbours", "extra trees")[kind]
    return Entry(f"{name} with moved copies #{index}", _on_moved(model, axes, index % 2 == 1))


def _on_moved(model: Any, axes: int, with_gradients: bool) -> Any:
    def features(images: np.ndarray) -> np.ndarray:
        if with_gradients:
            return pictures.gradients(images, 6 if _big(images) else 4)
        return pictures.flat(images)

    def predict(problem: Problem) -> np.ndarray:
        copies = pictures.shifted(problem.train)
        more = replace(problem, target=np.concatenate([problem.labels] * len(copies)), cache={})
        train = features(np.concatenate(copies))
        steps = make_pipeline(PCA(min(axes, train.shape[1] - 1), random_state=0), model)
        return fit_predict(more, steps, train, features(problem.test))

    return predict


def _two_pictures() -> Iterator[Entry]:
    """Sums of a function of the left and of the right half, as the task is built."""
    for gamma in (0.02, 0.05, 0.1):
        for alpha in (0.1, 1.0):
            yield Entry(
                f"additive kernel, width {gamma:g}, ridge {alpha:g}", _additive(gamma, alpha)
            )


def _additive(gamma: float, alpha: float) -> Any:
    from sklearn.metrics.pairwise import rbf_kernel

    def predict(problem: Problem) -> np.ndarray:
        train, test = (
            [*np.split(pictures.flat(x).reshape(len(x), 8, 16), 2, axis=2)]
            for x in (problem.train, problem.test)
        )
        train, test = ([half.reshape(len(half), -1) for half in both] for both in (train, test))

        def kernel(left: list[np.ndarray]) -> Any:
            return sum(rbf_kernel(a, b, gamma * 5) for a in left for b in train)

        mean = problem.labels.mean()
        model = KernelRidge(alpha=alpha, kernel="precomputed")
        model.fit(kernel(train), problem.labels - mean)
        return np.asarray(model.predict(kernel(test)) + mean)

    return predict
