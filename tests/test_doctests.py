"""The examples in the docstrings run.

They run under the installed import names: pytest's own doctest collection would import the folder
``wrappers/`` as a second top-level module of that name.
"""

import doctest
import importlib

import pytest
import source_tree

OPTIONS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE


@pytest.mark.parametrize("name", source_tree.modules())
def test_examples_print_what_they_say(name: str) -> None:
    result = doctest.testmod(importlib.import_module(name), optionflags=OPTIONS)
    assert result.failed == 0, f"{result.failed} of {result.attempted} examples fail, see stdout"
