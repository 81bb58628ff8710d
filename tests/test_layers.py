"""Imports point one way: benchmarks -> {agents, wrappers} -> wmrl_envs."""

import ast
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
import source_tree

ALLOWED = {
    "wmrl_envs": {"wmrl_envs"},
    "wrappers": {"wmrl_envs", "wrappers"},
    "agents": {"wmrl_envs", "agents"},
    "benchmarks": {"wmrl_envs", "wrappers", "agents", "benchmarks"},
}
MAPPED = {"wrappers", "agents", "benchmarks"}
OPTIONAL = ("accelerate", "hypothesis", "libero", "mujoco", "peft", "pytest", "ray", "robosuite")
OPTIONAL += ("stable_baselines3", "trl", "verl")
ADAPTERS = {
    "wmrl_envs.agents.trl": "trl",
    "wmrl_envs.autoresearch.sandbox.ray": "ray",
    "wmrl_envs.ray_vector": "ray",
}
"""Modules that subclass what an optional package offers, and that nothing else imports early."""
TESTS = sorted(path.relative_to(source_tree.ROOT) for path in Path(__file__).parent.rglob("*.py"))


def imported_names(path: Path) -> Iterator[str]:
    """Absolute names of all that a Python file imports, ``import_module("...")`` included."""
    package = source_tree.package_of(path)
    for node in ast.walk(ast.parse((source_tree.ROOT / path).read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = package[: len(package) - node.level + 1] if node.level else []
            module = ".".join([*base, *([node.module] if node.module else [])])
            yield from (f"{module}.{alias.name}" for alias in node.names)
        elif isinstance(node, ast.Call) and ast.unparse(node.func).endswith("import_module"):
            yield from (arg.value for arg in node.args if is_text(arg))


def is_text(node: ast.AST) -> bool:
    return isinstance(node, ast.Constant) and isinstance(node.value, str)


def layer(name: str) -> str | None:
    """The folder that an import name belongs to; None outside this package."""
    first, *rest = name.split(".")
    if first != "wmrl_envs":
        return None
    return rest[0] if rest and rest[0] in ALLOWED else "wmrl_envs"


@pytest.mark.parametrize("path", source_tree.sources(), ids=str)
def test_a_module_imports_only_its_own_layer_and_those_beneath(path: Path) -> None:
    allowed = ALLOWED[path.parts[0]]
    wrong = [name for name in imported_names(path) if layer(name) not in {None, *allowed}]
    assert wrong == [], f"{path} may import only {sorted(allowed)} of this package"


@pytest.mark.parametrize("path", [*source_tree.sources(), *TESTS], ids=str)
def test_nobody_imports_a_mapped_folder_by_its_bare_name(path: Path) -> None:
    wrong = [name for name in imported_names(path) if name.split(".")[0] in MAPPED]
    assert wrong == [], f"{path} should say wmrl_envs.<folder>"


@pytest.mark.slow
def test_every_module_imports_without_the_optional_packages() -> None:
    program = "\n".join(
        [
            "import importlib, sys",
            f"sys.modules.update(dict.fromkeys({OPTIONAL!r}))",  # None: the import fails
            f"for name in {sorted({*source_tree.modules()} - {*ADAPTERS})!r}:",
            "    importlib.import_module(name)",
            f"for name, package in {ADAPTERS!r}.items():",
            "    try: importlib.import_module(name)",
            "    except ImportError as error: assert package in str(error), error",
            "    else: raise AssertionError(f'{name} is no adapter of {package}')",
        ]
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
