"""Undefined names: none in scripts that run, the right ones in scripts that do not."""

import ast
import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from wmrl_envs.agents.embedded.cards import random_card
from wmrl_envs.agents.embedded.grammar import solution
from wmrl_envs.wrappers.world_models.names import undefined_names

RUNS = {
    "comprehension": "print([i for i in range(3)], {i: j for i in 'ab' for j in i if j})",
    "walrus": "if (n := 3) > 2:\n    print(n)\nprint([m := i for i in range(n)], m)",
    "lambda": "f = lambda a, *b, c=1, **d: (a, b, c, d, later)\nlater = 1\nf(2)",
    "function that reads what follows": "def f():\n    return x\nx = 1\nf()",
    "closure": "def f():\n    def g():\n        return v\n    v = 1\n    return g()",
    "global": "def f():\n    global m\n    m = 1\nf()\nprint(m)",
    "import that may fail": "try:\n    import a\nexcept ImportError as e:\n    a = e\nprint(a)",
    "branches": "import sys\nif sys.argv:\n    a = 1\nelse:\n    a = 2\nprint(a)",
    "decorator and defaults": "import functools as ft\n@ft.cache\ndef f(x, y=ft): return x, y",
    "class": "class A:\n    x = 1\n    y = x + 1\n    def f(self): return __class__, self.x\nA()",
    "star import": "from os.path import *\nprint(join('a'))\ndef f(): return splitext",
    "rebound after del": "x = 1\ndel x\nx = 2\nprint(x)",
    "function called before del": "x = 1\ndef f(): return x\nf()\ndel x",
    "del of an item": "x = {1: 2}\ndel x[1]\nprint(x)",
    "earlier round of a loop": "for i in range(3):\n    if i:\n        print(p)\n    p = i",
    "while": "n = 3\nwhile n:\n    n -= 1\nelse:\n    print(n)",
    "with": "with open('a') as f, open('b') as (g, h):\n    print(f, g, h)",
    "match": "match [1]:\n    case [a, *b]: print(a, b)\n    case {'k': c, **d}: print(c, d)",
    "unpacking": "(a, [b, *c]), d = (1, [2, 3]), 4\nprint(a, b, c, d)",
    "annotation": "x: 'Anything' = 3\ndef f(a: int) -> 'Nothing': return a, x",
    "module's own": "print(__name__, __file__, __doc__)",
    "async": "async def f(y):\n    async for x in y: print(x)\n    return [z async for z in y]",
}
FAILS = {
    "forgotten import": ("print(pd.read_csv('a'))", {"pd"}),
    "used in its own assignment": ("x = x + 1", {"x"}),
    "augmented": ("x += 1", {"x"}),
    "deleted twice": ("x = 1\ndel x\ndel x", {"x"}),
    "used after del": ("x = 1\ndel x\nprint(x)", {"x"}),
    "used before it is bound": ("print(x)\nx = 1", {"x"}),
    "in a function": ("def f():\n    return q", {"q"}),
    "in a lambda": ("f = lambda a: a + b", {"b"}),
    "variable of a comprehension": ("[i for i in range(3)]\nprint(i)", {"i"}),
    "class variable in a method": ("class A:\n    x = 1\n    def f(self): return x", {"x"}),
    "first round of a loop": ("for i in 'ab':\n    s = s + i", {"s"}),
    "default": ("def f(a=b): return a", {"b"}),
    "decorator": ("@cached\ndef f(): pass", {"cached"}),
    "base class": ("class A(B): pass", {"B"}),
    "formatted string": ("print(f'{x:.{n}f}')", {"x", "n"}),
    "before a star import": ("print(join)\nfrom os.path import *\nprint(split)", {"join"}),
    "several": ("a.fit(b)\nprint(a, b)", {"a", "b"}),
}


@pytest.mark.parametrize("code", RUNS.values(), ids=RUNS)
def test_scripts_that_run_have_no_undefined_name(code: str) -> None:
    assert undefined_names(ast.parse(code)) == set()


@pytest.mark.parametrize(("code", "missing"), FAILS.values(), ids=FAILS)
def test_what_is_loaded_unbound_is_named(code: str, missing: set[str]) -> None:
    assert undefined_names(ast.parse(code)) == missing


@settings(max_examples=300)
@given(st.integers())
def test_scripts_of_the_grammar_miss_exactly_the_import_that_is_taken_out(seed: int) -> None:
    rng = random.Random(seed)
    lines = solution(random_card(rng), rng, slips=0).splitlines()
    assert undefined_names(ast.parse("\n".join(lines))) == set()
    gone = rng.choice([line for line in lines if line.startswith(("import ", "from "))])
    lines.remove(gone)
    names = gone.split("import ")[1].split(" as ")[-1].split(", ")
    assert undefined_names(ast.parse("\n".join(lines))) == set(names)
