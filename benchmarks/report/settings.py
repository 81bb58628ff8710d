"""Commands, versions, seeds and settings."""

import html
import json
from collections.abc import Sequence
from typing import Any

from wmrl_envs.benchmarks.provenance import provenance
from wmrl_envs.benchmarks.report.charts import table
from wmrl_envs.benchmarks.report.runs import RunData
from wmrl_envs.benchmarks.report.summaries import Arm

__all__ = ["settings_section"]


def settings_section(found: Sequence[Arm]) -> str:
    """How the runs were made, as HTML."""
    runs = [run for arm in found for run in arm.runs]
    return _commands(runs) + _versions(runs) + _seeds(found) + _settings(found)


def _commands(runs: Sequence[RunData]) -> str:
    texts = dict.fromkeys(run.command for run in runs if run.command)
    if not texts:
        return "<p>The command was not recorded.</p>"
    shown = html.escape("\n".join(texts))
    return f'<p>Commands:</p><pre tabindex="0" aria-label="commands">{shown}</pre>'


def _versions(runs: Sequence[RunData]) -> str:
    found = {name: text for run in runs for name, text in run.versions.items()}
    said = "Versions at the time of the runs"
    if not found:
        found = provenance(())["versions"]
        said = "The runs recorded no versions; this page was made with"
    return f"<p>{said}: {html.escape(', '.join(f'{k} {v}' for k, v in found.items()))}.</p>"


def _seeds(found: Sequence[Arm]) -> str:
    rows = [
        (
            arm.title,
            ", ".join("?" if r.seed is None else str(r.seed) for r in arm.runs),
            ", ".join(str(max((int(s["step"]) for s in r.steps), default=0)) for r in arm.runs),
        )
        for arm in found
    ]
    return table(("arm", "seeds", "steps done"), rows)


def _settings(found: Sequence[Arm]) -> str:
    keys = {key: None for arm in found for run in arm.runs for key in run.config}
    rows = [
        (key.replace("_", " "), *(_value(arm.runs[0].config.get(key)) for arm in found))
        for key in keys
        if key not in ("arm", "seed", "versions")
    ]
    if not rows:
        return ""
    inner = table(("setting", *(arm.title for arm in found)), rows)
    return f"<details><summary>All settings</summary>{inner}</details>"


def _value(value: Any) -> str:
    if value is None:
        return "–"
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return text if len(text) < 60 else f"{text[:57]}…"
