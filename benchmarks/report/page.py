"""The page: what was found, the charts, the episodes, and how to make it all again."""

import html
from base64 import b64encode
from collections.abc import Iterable, Sequence
from datetime import date
from hashlib import sha256
from importlib.resources import files

from wmrl_envs.benchmarks.report import bars, charts
from wmrl_envs.benchmarks.report.browser import episode_data, script_json
from wmrl_envs.benchmarks.report.calibration import calibration_cards, calibration_steps
from wmrl_envs.benchmarks.report.charts import Card
from wmrl_envs.benchmarks.report.headline import headline, tiles
from wmrl_envs.benchmarks.report.media import films
from wmrl_envs.benchmarks.report.runs import RunData
from wmrl_envs.benchmarks.report.settings import settings_section
from wmrl_envs.benchmarks.report.summaries import Arm, arms, split_title, splits

__all__ = ["build_page"]

_POLICY = (
    "default-src 'none'; style-src 'unsafe-inline'; script-src 'sha256-{}'; "
    "img-src data:; media-src data:"
)
"""The page's own script may run, and no other, even where an escape were forgotten."""
_TIP = (
    '<svg width="0" height="0" style="position:absolute" aria-hidden="true"><defs><marker id="tip" '
    'viewBox="0 0 10 10" refX="7" refY="5" markerWidth="6.5" markerHeight="6.5" orient="auto">'
    '<path d="M0 0.8L9 5L0 9.2z" fill="context-stroke"/></marker></defs></svg>'
)


def build_page(runs: Sequence[RunData], title: str) -> str:
    """Writes one self-contained page about some runs.

    Everything that comes from a run is escaped; the page's own policy forbids the network.

    Args:
        runs: At least one.
        title: The page's name.

    Returns:
        HTML.

    Raises:
        ValueError: There are no runs.
    """
    if not runs:
        raise ValueError("runs must hold a run, got none")
    found = arms(runs)
    measured = splits(runs)
    sections = [s for s in _sections(found, measured) if s is not None]
    links = "".join(f'<a href="#{s.key}">{html.escape(s.name)}</a>' for s in sections)
    safe, script = html.escape(title), _part("page.js")
    policy = _POLICY.format(b64encode(sha256(script.encode()).digest()).decode())
    return (
        f'<!doctype html><html lang="en"><head><meta charset="utf-8"><title>{safe}</title>'
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f'<link rel="icon" href="data:,"><style>{_part("style.css")}</style></head><body>{_TIP}'
        f'<header><div class="wide"><div class="top"><p class="over">{_over(runs, found)}</p>'
        '<button id="theme" class="bare" type="button" hidden>Dark</button></div>'
        f"<h1>{safe}</h1>{headline(found, measured)}{tiles(found, measured)}{_notes(runs)}</div>"
        f'<nav aria-label="Sections"><div>{links}</div></nav></header><main>'
        f"{''.join(s.html() for s in sections)}</main>"
        f"<footer>Made by wmrl report on {date.today().isoformat()}. The page holds all of its "
        'data and loads nothing.</footer><div id="tooltip" role="status"></div>'
        f"<script>{script}</script></body></html>"
    )


class _Section:
    """A heading, a sentence and what stands below."""

    def __init__(self, key: str, name: str, said: str, body: str) -> None:
        self.key, self.name, self._said, self._body = key, name, said, body

    def html(self) -> str:
        said = f'<p class="say">{html.escape(self._said)}</p>' if self._said else ""
        return f'<h2 id="{self.key}">{html.escape(self.name)}</h2>{said}{self._body}'


def _sections(found: Sequence[Arm], measured: Sequence[str]) -> Iterable[_Section | None]:
    curves = [charts.learning_chart(found, split) for split in measured]
    curves += [_training_success(found), bars.success_table(found)]
    yield _grid("learning", "Learning", "What real execution says of the policy.", curves)
    yield _costs(found, measured)
    yield _calibration(found)
    yield _grid("world-model", "World model", _WORLD_MODEL, _world_model(found))
    yield _grid("spending", "Spending", "What was executed, and where time went.", _spent(found))
    outcomes = [bars.status_chart(found, last) for last in (False, True)]
    yield _grid(
        "outcomes", "Outcomes", "Episodes that fail count, with their low rewards.", outcomes
    )
    shown, left_out = films(found)
    if shown:
        said = f"{left_out} further files found no room." if left_out else ""
        yield _Section("films", "Pictures", said, shown)
    yield _episodes(found)
    yield _Section("again", "Make it again", "", settings_section(found))


_WORLD_MODEL = (
    "How far predictions are from measurements, whether they keep the order that GRPO needs, and "
    "what the correction does about it."
)


def _training_success(found: Sequence[Arm]) -> Card | None:
    return charts.step_chart(
        found,
        "Success of training rollouts",
        "Share of a step's rollouts that reach the goal, whatever the arm was paid for.",
        ("rollout/success",),
        "success rate",
        zero=True,
    )


def _grid(key: str, name: str, said: str, cards: Iterable[Card | None]) -> _Section | None:
    body = "".join(card.html() for card in cards if card is not None)
    return _Section(key, name, said, f'<div class="grid">{body}</div>') if body else None


def _costs(found: Sequence[Arm], measured: Sequence[str]) -> _Section | None:
    cards = [
        card
        for split in measured
        for card in (
            charts.cost_chart(found, split, lambda p: p.executions, "executions"),
            charts.cost_chart(found, split, charts.cpu_seconds, "CPU seconds"),
        )
        if card is not None
    ]
    if not cards:
        return None
    options = "".join(
        f'<label><input type="radio" name="split" value="{html.escape(split, quote=True)}" '
        f"{'checked' if i == 0 else ''}>{html.escape(split_title(split).capitalize())}</label>"
        for i, split in enumerate(measured)
    )
    switch = f'<fieldset class="switch"><legend>Shown tasks</legend>{options}</fieldset>'
    body = "".join(card.html() for card in cards)
    said = "What a score has cost in training. The world model's log counts; evaluation does not."
    return _Section(
        "cost",
        "Cost",
        said,
        f'{switch if len(measured) > 1 else ""}<div class="grid">{body}</div>',
    )


def _calibration(found: Sequence[Arm]) -> _Section | None:
    steps = calibration_steps(found)
    if not steps:
        return None
    slider = (
        '<div class="slide" hidden><label for="step">Policy after</label>'
        f'<input id="step" type="range" min="0" max="{len(steps) - 1}" value="{len(steps) - 1}">'
        f'<output for="step">step {steps[-1]}</output></div>'
        f'<script type="application/json" id="steps">{script_json(steps)}</script>'
    )
    cards = "".join(card.html() for card in calibration_cards(found))
    said = "The policy moves, and the world model must keep up: drag to see it over training."
    return _Section(
        "calibration",
        "Calibration",
        said,
        f'{slider if len(steps) > 1 else ""}<div class="grid">{cards}</div>',
    )


def _world_model(found: Sequence[Arm]) -> list[Card | None]:
    return [
        charts.bias_chart(found),
        charts.order_chart(found),
        charts.step_chart(
            found,
            "Residual bias on anchors",
            "Measured − corrected prediction of fresh anchors, before the map learned from them.",
            ("correction/mean_residual",),
            "reward",
            zero=True,
        ),
        charts.step_chart(
            found,
            "Weight of an anchor group",
            "How much more an anchor group counts than a predicted one.",
            ("correction/anchor_weight", "correction/rectify"),
            "weight",
        ),
        charts.step_chart(
            found,
            "Rank agreement within anchor groups",
            "Mean rank correlation of predicted and measured rewards, recent groups first; "
            "0 is chance. GRPO learns from this order alone.",
            ("correction/agreement",),
            "correlation",
            zero=True,
        ),
    ]


def _spent(found: Sequence[Arm]) -> list[Card | None]:
    return [
        charts.step_chart(
            found,
            "Real executions spent",
            "Cumulative, in training alone; the world model's log comes on top.",
            ("costs/executions", "costs/measurements", "costs/episodes"),
            "executions",
            zero=True,
        ),
        bars.time_chart(found),
        charts.step_chart(
            found,
            "What the policy was paid",
            "Mean reward of a step's episodes, from whatever graded them. It is not the score: a "
            "world model may overpay.",
            ("rollout/reward_mean",),
            "mean reward",
        ),
    ]


def _episodes(found: Sequence[Arm]) -> _Section | None:
    data = episode_data(found)
    if not data["episodes"]:
        return None
    names = {"arm": "Arm", "split": "Tasks", "task": "Task", "step": "Step"}
    names |= {"seed": "Seed", "status": "Status"}
    selects = "".join(
        f'<label>{name}<select data-field="{field}"></select></label>'
        for field, name in names.items()
    )
    left_out = f"{data['left_out']:,} further episodes found no room." if data["left_out"] else ""
    body = (
        "<noscript><p>The browser of episodes needs JavaScript.</p></noscript>"
        f'<div id="browser" hidden><div class="filters" id="filters">{selects}<label>Order'
        '<select id="sort"><option value="gap">largest error first</option><option value="best">'
        'best first</option><option value="worst">worst first</option><option value="order">as '
        'recorded</option></select></label></div><p class="say" id="episode-count" role="status">'
        '</p><div class="browse"><div class="card list" id="episode-list" role="listbox" '
        'aria-label="Episodes"></div><article class="card detail" id="episode" aria-live="polite">'
        "</article></div></div>"
        f'<script type="application/json" id="episodes-data">{script_json(data)}</script>'
    )
    return _Section("episodes", "Episodes", left_out, body)


def _over(runs: Sequence[RunData], found: Sequence[Arm]) -> str:
    seeds = sorted({run.seed for run in runs if run.seed is not None})
    last = max((int(s["step"]) for run in runs for s in run.steps), default=0)
    parts = [_count(len(found), "arm"), _count(len(runs), "run"), _count(last, "policy update")]
    parts += [f"{'seeds' if len(seeds) > 1 else 'seed'} {_list(seeds)}"] if seeds else []
    return html.escape(" · ".join(parts))


def _list(seeds: Sequence[int]) -> str:
    if len(seeds) > 2 and seeds[-1] - seeds[0] == len(seeds) - 1:
        return f"{seeds[0]}–{seeds[-1]}"
    return ", ".join(map(str, seeds))


def _count(number: int, word: str) -> str:
    return f"{number:,} {word}{'' if number == 1 else 's'}"


def _notes(runs: Sequence[RunData]) -> str:
    """What is missing, each sentence with the runs that it is true of."""
    said: dict[str, list[str]] = {}
    for run in runs:
        for note in run.notes:
            said.setdefault(note, []).append(run.name)
    if not said:
        return ""
    items = "".join(
        f"<li>{html.escape(note[0].upper() + note[1:])}"
        f" ({html.escape('all runs' if len(names) == len(runs) > 1 else '; '.join(names))})</li>"
        for note, names in said.items()
    )
    return f'<div class="missing">What is missing<ul>{items}</ul></div>'


def _part(name: str) -> str:
    return files("wmrl_envs.benchmarks.report").joinpath(name).read_text(encoding="utf-8")
