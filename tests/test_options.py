"""The reset options that environments and wrappers share."""

import numpy as np
import pytest

from wmrl_envs.options import may_execute


@pytest.mark.parametrize("options", [None, {}, {"execute": True}, {"execute": np.bool_(True)}])
def test_execution_is_allowed_unless_an_option_says_otherwise(options):
    assert may_execute(options, seed=None) is True


@pytest.mark.parametrize("seeds", [{3, 4}, [3, 4], range(3, 5), np.array([3, 4]), {3: "a"}])
def test_seeds_that_may_be_executed_are_listed(seeds):
    allowed = [may_execute({"execute": seeds}, seed) for seed in (3, 5, None)]
    assert allowed == [True, False, False]


@pytest.mark.parametrize("execute", ["3", b"3", 1, 0.5, None])
def test_anything_else_is_refused(execute):
    with pytest.raises(TypeError, match="must be a bool or a collection of reset seeds"):
        may_execute({"execute": execute}, seed=300)
