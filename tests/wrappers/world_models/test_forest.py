"""The stacked forest predicts what scikit-learn's forest predicts."""

import numpy as np
import pytest
from sklearn.ensemble import ExtraTreesRegressor, RandomForestRegressor

from wmrl_envs.wrappers.world_models.forest import StackedForest


@pytest.mark.parametrize("kind", [ExtraTreesRegressor, RandomForestRegressor])
@pytest.mark.parametrize("rows", [1, 2, 7, 300])
def test_it_equals_scikit_learn(kind: type, rows: int) -> None:
    rng = np.random.default_rng(rows)
    x = rng.integers(0, 3, (rows, 5)).astype(np.float32)
    x[:, 0] = rng.random(rows)
    y = x[:, 0] + x[:, 1] * x[:, 2] + rng.normal(size=rows)
    forest = kind(20, random_state=0).fit(x, y)
    asked = np.r_[x, rng.random((50, 5)).astype(np.float32) * 4]
    np.testing.assert_allclose(StackedForest(forest).predict(asked), forest.predict(asked))


def test_a_forest_of_stumps_without_a_split_is_its_mean() -> None:
    x = np.zeros((9, 2), np.float32)
    forest = ExtraTreesRegressor(3, random_state=0).fit(x, np.full(9, 0.25))
    assert StackedForest(forest).predict(x[:4]).tolist() == [0.25] * 4
    assert StackedForest(forest).predict(x[:0]).shape == (0,)
