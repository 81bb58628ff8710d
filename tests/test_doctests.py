"""The examples in the docstrings run.

They run under the installed import names: pytest's own doctest collection would import the folder
``wrappers/`` as a second top-level module of that name.
"""

import doctest
import importlib
import re
from pathlib import Path
from typing import Any

import pytest
import source_tree

OPTIONS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE


def case(path: Path) -> Any:
    """A module's name, marked ``sandbox`` if one of its examples starts a sandbox."""
    text = (source_tree.ROOT / path).read_text(encoding="utf-8")
    marks = [pytest.mark.sandbox] if re.search(r">>>.*\bSandbox\(", text) else []
    return pytest.param(source_tree.import_name(path), marks=marks)


@pytest.mark.parametrize("name", [case(path) for path in source_tree.sources()])
def test_examples_print_what_they_say(name: str) -> None:
    result = doctest.testmod(importlib.import_module(name), optionflags=OPTIONS)
    assert result.failed == 0, f"{result.failed} of {result.attempted} examples fail, see stdout"
