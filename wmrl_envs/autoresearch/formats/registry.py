"""What is known of the other benchmarks' tasks: metric, split, reference scores."""

import functools
import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

__all__ = ["Facts", "facts", "known_tasks"]

_FILE: Final = Path(__file__).with_name("registry.json")


@dataclass(frozen=True)
class Facts:
    """What is known of one task.

    Attributes:
        name: The competition's name.
        family: The metric, in words; empty for a task that nothing is known of.
        metric: Its name in the metric registry; None where that holds no such metric.
        dsbench_metric: The metric that DSBench uses in its place, if it does.
        split: WMRL's (``train``, ``test`` or ``dsbench``); empty for the other tasks.
        block: WMRL's category within the split: ``Tab``, ``Text``, ``Img``, ``BinCls``, ….
        gap: DSBench's reference and baseline scores.
        extra: The column of the answers that holds weights or groups.
        weights: Cell of that column -> weight.
        keep: Column and cell of the rows that count, where the answers hold that column.
        constant: Which of MLE-Dojo's boards (``public``, ``private``) hold one score throughout.
        issue: What users found wrong with the task.
    """

    name: str
    family: str = ""
    metric: str | None = None
    dsbench_metric: str | None = None
    split: str = ""
    block: str = ""
    gap: tuple[float, float] | None = None
    extra: str = ""
    weights: tuple[tuple[str, float], ...] = ()
    keep: tuple[str, str] | None = None
    constant: tuple[str, ...] = ()
    issue: str = ""

    def metric_for(self, layout: str) -> str | None:
        """The metric's name by the rules of ``mle_dojo``, ``mle_bench`` or ``dsbench``."""
        own = self.dsbench_metric if layout == "dsbench" else None
        return own or self.metric


def facts(name: str) -> Facts:
    """Looks a task up; one that is not known has facts without content.

    Example:
        >>> facts("titanic").metric, facts("titanic").gap
        ('accuracy', (1.0, 0.4972067039106145))
    """
    entry = _entries().get(name)
    return Facts(name) if entry is None else _parse(name, entry)


def known_tasks(split: str | None = None) -> tuple[str, ...]:
    """The names of all known tasks, or of those of one of WMRL's splits, sorted."""
    entries = _entries()
    return tuple(n for n in sorted(entries) if split in (None, entries[n].get("split")))


def _parse(name: str, entry: Mapping[str, Any]) -> Facts:
    return Facts(
        name=name,
        family=entry["family"],
        metric=entry["metric"],
        dsbench_metric=entry.get("dsbench_metric"),
        split=entry.get("split", ""),
        block=entry.get("block", ""),
        gap=tuple(entry["gap"]) if "gap" in entry else None,
        extra=entry.get("extra", ""),
        weights=tuple(entry.get("weights", {}).items()),
        keep=tuple(entry["keep"]) if "keep" in entry else None,
        constant=tuple(entry.get("constant", ())),
        issue=entry.get("issue", ""),
    )


@functools.cache
def _entries() -> dict[str, dict[str, Any]]:
    entries: dict[str, dict[str, Any]] = json.loads(_FILE.read_text(encoding="utf-8"))["tasks"]
    return entries
