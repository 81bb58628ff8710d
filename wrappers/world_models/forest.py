"""A fitted forest's predictions, all trees at once.

Scikit-learn asks its trees one by one, which takes milliseconds however few rows there are.
"""

from typing import Any

import numpy as np

__all__ = ["StackedForest"]


class StackedForest:
    """The trees of a fitted scikit-learn forest in one set of arrays.

    Args:
        forest: A fitted forest of regression trees with one output, such as
            ``ExtraTreesRegressor``, fitted without missing values.

    Example:
        >>> from sklearn.ensemble import ExtraTreesRegressor
        >>> x = np.random.default_rng(0).random((50, 3), dtype=np.float32)
        >>> forest = ExtraTreesRegressor(5, random_state=0).fit(x, x[:, 0])
        >>> bool(np.allclose(StackedForest(forest).predict(x), forest.predict(x)))
        True
    """

    def __init__(self, forest: Any) -> None:
        trees = [estimator.tree_ for estimator in forest.estimators_]
        sizes = [tree.node_count for tree in trees]
        self._roots = np.cumsum([0, *sizes[:-1]])
        self._depth = max(tree.max_depth for tree in trees)
        self._feature = np.concatenate([tree.feature for tree in trees])
        self._threshold = np.concatenate([tree.threshold for tree in trees])
        self._value = np.concatenate([tree.value[:, 0, 0] for tree in trees])
        leaf = self._feature < 0
        own = np.arange(len(leaf))
        # A leaf is its own child, so that all trees may be descended equally far.
        children = [
            np.concatenate([side[i] + root for i, root in enumerate(self._roots)])
            for side in zip(
                *((tree.children_right, tree.children_left) for tree in trees), strict=True
            )
        ]
        self._child = np.stack([np.where(leaf, own, side) for side in children])
        self._feature[leaf] = 0

    def predict(self, features: np.ndarray) -> np.ndarray:
        """The mean of the trees' predictions, (N,) float64, for (N, F) float32 features."""
        rows = np.arange(len(features))[:, None]
        node = np.broadcast_to(self._roots, (len(features), len(self._roots)))
        for _ in range(self._depth):
            left = features[rows, self._feature[node]] <= self._threshold[node]
            node = self._child[left.astype(np.intp), node]
        return self._value[node].mean(axis=1)
