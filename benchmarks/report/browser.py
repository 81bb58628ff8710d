"""The episodes that the page lets one browse, as data that cannot break out of a script element."""

import json
from collections.abc import Iterator, Sequence
from typing import Any

from wmrl_envs.benchmarks.report.episodes import Episode
from wmrl_envs.benchmarks.report.runs import RunData
from wmrl_envs.benchmarks.report.summaries import Arm, split_title

__all__ = ["episode_data", "script_json"]

_MOST = 10_000
"""Episodes of a page; beyond, the first and the last evaluations come first."""
_MOST_CHARACTERS = 6_000_000


def script_json(value: Any) -> str:
    r"""JSON for a ``<script type="application/json">``.

    No ``<``, ``>`` or ``&`` is left in it, so that no text of a run can end the element.

    Example:
        >>> script_json("</script>")
        '"\\u003c/script\\u003e"'
    """
    text = json.dumps(value, ensure_ascii=True, allow_nan=False, separators=(",", ":"))
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def episode_data(found: Sequence[Arm]) -> dict[str, Any]:
    """What the page's browser needs.

    Returns:
        ``episodes`` (lists in the order of ``fields``), ``solutions`` (each text once), ``arms``,
        ``splits`` and ``left_out``, the number of episodes that found no room.
    """
    solutions: dict[str, int] = {}
    rows: list[list[Any]] = []
    total = characters = 0
    for number, run, episode in _in_order(found):
        total += 1
        if len(rows) >= _MOST or characters > _MOST_CHARACTERS:
            continue
        if episode.solution not in solutions:
            characters += len(episode.solution)
        index = solutions.setdefault(episode.solution, len(solutions))
        rows.append(_row(number, run, episode, index))
    return {
        "fields": _FIELDS,
        "episodes": rows,
        "solutions": list(solutions),
        "arms": [{"name": arm.name, "title": arm.title, "css": arm.css} for arm in found],
        "splits": {row[3]: _title(row[3]) for row in rows},
        "left_out": total - len(rows),
    }


_FIELDS = (
    "arm",
    "seed",
    "step",
    "split",
    "task",
    "status",
    "solution",
    "measured",
    "predicted",
    "corrected",
)


def _row(number: int, run: RunData, episode: Episode, solution: int) -> list[Any]:
    rewards = (episode.measured, episode.predicted, episode.corrected)
    shown = [None if value is None else round(value, 4) for value in rewards]
    where = [number, run.seed, episode.step, episode.split, episode.task, episode.status]
    return [*where, solution, *shown]


def _title(split: str) -> str:
    return "anchors of training" if split == "anchor" else split_title(split)


def _in_order(found: Sequence[Arm]) -> Iterator[tuple[int, RunData, Episode]]:
    """Last and first evaluations, then those between, then the anchors of training."""
    runs = [(number, run) for number, arm in enumerate(found) for run in arm.runs]
    for pick in (slice(-1, None), slice(0, -1)):
        for number, run in runs:
            for evaluation in run.evaluations[pick]:
                for episode in evaluation.episodes:
                    yield number, run, episode
    for number, run in runs:
        for episode in run.anchors:
            yield number, run, episode
