"""Entries for tasks without training labels: how far a test row is from the training rows."""

from collections.abc import Iterator
from typing import Any

import numpy as np
from scipy.stats import rankdata
from sklearn.cluster import KMeans
from sklearn.decomposition import PCA
from sklearn.ensemble import IsolationForest
from sklearn.mixture import GaussianMixture
from sklearn.neighbors import LocalOutlierFactor, NearestNeighbors
from sklearn.svm import OneClassSVM

from task_data import pictures
from task_data.entry import Entry
from task_data.problem import Problem

__all__ = ["plain", "strong"]


def plain(problem: Problem) -> Iterator[Entry]:
    """About 45 pipelines that a newcomer would try."""
    _prepare(problem)
    for key in ("pixels", "gradients", "half size"):
        for count in (3, 10, 30):
            yield _entry(f"projection {count} on {key}", key, _projection(count))
        for count in (1, 5, 20):
            yield _entry(f"{count} neighbours on {key}", key, _distance(count))
            yield _entry(f"outlier factor {count + 4} on {key}", key, _factor(count + 4))
        for count in (30, 100):
            yield _entry(f"isolation forest {count} on {key}", key, _isolation(count))
        for share in (0.05, 0.3):
            yield _entry(f"one-class machine {share:g} on {key}", key, _one_class(share))
        yield _entry(f"distance to the mean on {key}", key, _clusters(1))


def strong(problem: Problem) -> Iterator[Entry]:
    """About 45 pipelines whose settings are drawn at random from sensible ranges."""
    _prepare(problem)
    generator = np.random.default_rng(20240815)
    keys = ("fine gradients", "straight", "pixels", "gradients")
    for index in range(44):
        key = keys[index % len(keys)]
        name, model = _drawn(generator, index // len(keys))
        yield _entry(f"{name} on {key} #{index}", key, model)


def _drawn(generator: np.random.Generator, kind: int) -> tuple[str, Any]:
    axes, count = int(generator.integers(8, 45)), int(generator.integers(1, 9))
    choices = (
        ("projection", _projection(axes)),
        ("neighbours", _distance(count)),
        ("outlier factor", _factor(count + 5)),
        ("mixture", _mixture(int(generator.integers(3, 14)), axes)),
        ("clusters", _clusters(int(generator.integers(6, 40)))),
    )
    return choices[kind % len(choices)]


def _prepare(problem: Problem) -> None:
    if problem.cache:
        return
    makers: dict[str, Any] = {
        "pixels": pictures.flat,
        "gradients": lambda x: pictures.gradients(x, 4),
        "fine gradients": lambda x: pictures.gradients(x, 6, 10),
        "half size": pictures.half_size,
        "straight": pictures.straight,
    }
    for key, make in makers.items():
        problem.cache[key] = make(problem.train), make(problem.test)


def _entry(name: str, key: str, model: Any) -> Entry:
    """Surprises become ranks, so that entries can be averaged."""
    return Entry(name, lambda problem: rankdata(model(*problem.cache[key])))


def _projection(count: int) -> Any:
    def surprise(train: np.ndarray, test: np.ndarray) -> np.ndarray:
        axes = PCA(count, random_state=0).fit(train)
        return np.square(test - axes.inverse_transform(axes.transform(test))).sum(axis=1)

    return surprise


def _distance(count: int) -> Any:
    def surprise(train: np.ndarray, test: np.ndarray) -> np.ndarray:
        near = NearestNeighbors(n_neighbors=count).fit(train)
        return np.asarray(near.kneighbors(test)[0].mean(axis=1))

    return surprise


def _factor(count: int) -> Any:
    return lambda train, test: (
        -LocalOutlierFactor(count, novelty=True).fit(train).score_samples(test)
    )


def _isolation(count: int) -> Any:
    return lambda train, test: (
        -IsolationForest(n_estimators=count, random_state=0).fit(train).score_samples(test)
    )


def _one_class(share: float) -> Any:
    return lambda train, test: -OneClassSVM(nu=share).fit(train).score_samples(test)


def _clusters(count: int) -> Any:
    return lambda train, test: (
        KMeans(count, n_init=3, random_state=0).fit(train).transform(test).min(axis=1)
    )


def _mixture(count: int, axes: int) -> Any:
    def surprise(train: np.ndarray, test: np.ndarray) -> np.ndarray:
        projection = PCA(axes, random_state=0).fit(train)
        model = GaussianMixture(count, covariance_type="full", reg_covar=0.01, random_state=0)
        model.fit(projection.transform(train))
        return -np.asarray(model.score_samples(projection.transform(test)))

    return surprise
