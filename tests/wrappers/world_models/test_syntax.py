"""Walking a syntax tree finds what ``ast.walk`` finds."""

import ast
from pathlib import Path

import pytest
import source_tree

from wmrl_envs.wrappers.world_models.syntax import children, descendants

SOURCES = ["names.py", "syntax.py", "robometer.py"]


@pytest.mark.parametrize("name", SOURCES)
def test_all_nodes_with_fields_are_found_once(name: str) -> None:
    path = Path(source_tree.ROOT) / "wrappers" / "world_models" / name
    tree = ast.parse(path.read_text(encoding="utf-8"))
    expected = [node for node in ast.walk(tree) if node._fields]
    found = descendants(tree)
    assert len(found) == len(expected) > 100
    assert {id(node) for node in found} == {id(node) for node in expected}


def test_children_come_in_the_order_of_the_source() -> None:
    (statement,) = ast.parse("f(a, b, key=c)").body
    call = next(children(statement))
    assert [ast.unparse(child) for child in children(call)] == ["f", "a", "b", "key=c"]
