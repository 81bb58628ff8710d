"""The page on the threat model names tests that exist."""

import re
from pathlib import Path

import source_tree

_HERE = Path(__file__).parent


def test_every_claim_names_a_test_that_exists() -> None:
    page = (source_tree.ROOT / "docs" / "threat-model.md").read_text(encoding="utf-8")
    named = set(re.findall(r"`(test_\w+)`", page))
    source = "\n".join(path.read_text(encoding="utf-8") for path in _HERE.glob("test_*.py"))
    defined = set(re.findall(r"^def (test_\w+)\(", source, re.MULTILINE))
    assert len(named) > 40
    assert named - defined == set()


def test_every_attack_is_named_on_the_page() -> None:
    page = (source_tree.ROOT / "docs" / "threat-model.md").read_text(encoding="utf-8")
    attacks = re.findall(
        r"^def (test_\w+)\(", (_HERE / "test_attacks.py").read_text("utf-8"), re.MULTILINE
    )
    assert [attack for attack in attacks if attack not in page] == []
