"""One-pass grading beside grading without the shared prefix and beside generated JSON."""

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from wmrl_envs.agents.embedded.cards import random_card
from wmrl_envs.agents.embedded.grammar import solution
from wmrl_envs.autoresearch import catalog
from wmrl_envs.benchmarks.provenance import provenance
from wmrl_envs.benchmarks.throughput.report import Comparison
from wmrl_envs.benchmarks.throughput.side_by_side import Samples, interleave
from wmrl_envs.wrappers.world_models import Episode, Generation, LanguageModelWorldModel

__all__ = ["Workload", "compare_grading"]

_KEPT, _FIRST, _OWN = "one pass, prefix kept", "one pass, prefix read once", "one pass, own prefix"


@dataclass(frozen=True)
class Workload:
    """Programs that answer one bundled task.

    Attributes:
        task: The bundled task.
        programs: How many programs there are.
        seed: Seed of the programs.
    """

    task: str = "concrete"
    programs: int = 16
    seed: int = 0

    def episodes(self) -> list[Episode]:
        """One episode a program, as the embedded policy's grammar writes them; no two alike."""
        rng, text = random.Random(self.seed), catalog.load(self.task).overview()
        card = random_card(rng)
        found: dict[str, Episode] = {}
        while len(found) < self.programs:
            code = solution(card, rng)
            found[code] = Episode(text, (code,))
        return list(found.values())


def compare_grading(
    model: Any,
    tokenizer: Any,
    workload: Workload,
    *,
    lengths: Sequence[int],
    rounds: int,
    command: Sequence[str],
    name: str,
) -> Comparison:
    """Grades the same programs with the same weights in several ways, interleaved.

    Args:
        model: A causal language model; used in single precision on one thread.
        tokenizer: Its tokenizer.
        workload: The programs.
        lengths: Tokens of the generated JSON; every answer is written to exactly that length.
        rounds: Interleaved rounds.
        command: The arguments after ``wmrl``, for the record.
        name: The model's name, for the record.
    """
    import torch

    torch.set_num_threads(1)
    episodes = workload.episodes()
    found = interleave(_contenders(model, tokenizer, episodes, lengths), rounds, warmup=0)
    rates = {contender: 1 / samples.cpu_per_unit for contender, samples in found.items()}
    rows = [(c, rate, rates[_KEPT] / rate) for c, rate in rates.items()]
    return Comparison(
        title=f"Grading {workload.programs} programs of the task {workload.task} with {name}",
        columns=("how", "predictions a CPU-second", "one pass, prefix kept: times as many"),
        rows=rows,
        findings=[_difference(model, tokenizer, episodes), *_ratios(rates)],
        record=_record(found, workload, name, rounds, command),
    )


def _contenders(
    model: Any, tokenizer: Any, episodes: Sequence[Episode], lengths: Sequence[int]
) -> dict[str, Callable[[], int]]:
    def grades(**settings: Any) -> Callable[[], int]:
        return _graded(LanguageModelWorldModel(model, tokenizer, **settings), episodes)

    kept = LanguageModelWorldModel(model, tokenizer, min_mass=0.0)
    kept.predict([Episode(episodes[0].task, ("pass",))])
    contenders = {
        _KEPT: _graded(kept, episodes, forget_prefix=False),
        _FIRST: grades(),
        _OWN: grades(share_prefix=False),
    }
    for length in lengths:
        written = Generation(max_new_tokens=length, min_new_tokens=length)
        json: dict[str, Any] = {"answer": "outcome", "generation": written}
        contenders[_json(length, "own prefix")] = grades(share_prefix=False, **json)
        contenders[_json(length, "prefix read once")] = grades(**json)
    return contenders


def _json(length: int, prefix: str) -> str:
    return f"JSON of {length} tokens, {prefix}"


def _graded(
    grader: LanguageModelWorldModel, episodes: Sequence[Episode], forget_prefix: bool = True
) -> Callable[[], int]:
    def grade() -> int:
        grader.forget(prefixes=forget_prefix)
        return len(grader.predict(episodes))

    return grade


def _difference(model: Any, tokenizer: Any, episodes: Sequence[Episode]) -> str:
    graders = [
        LanguageModelWorldModel(model, tokenizer, min_mass=0.0, share_prefix=share)
        for share in (True, False)
    ]
    shared, own = ([p.reward or 0.0 for p in g.predict(episodes[:4])] for g in graders)
    largest = max(abs(a - b) for a, b in zip(shared, own, strict=True))
    return f"Grades with and without the shared prefix differ by at most {largest:.1e}."


def _ratios(rates: dict[str, float]) -> list[str]:
    against = [name for name in rates if name not in (_KEPT, _FIRST)]
    return [
        f"One pass makes {rates[_KEPT] / rates[name]:.1f} times the predictions a CPU-second of "
        f"{name!r} with the prefix kept, {rates[_FIRST] / rates[name]:.1f} times with the prefix "
        "read in the same round."
        for name in against
    ]


def _record(
    found: dict[str, Samples],
    workload: Workload,
    name: str,
    rounds: int,
    command: Sequence[str],
) -> dict[str, Any]:
    figures = {contender: samples.record() for contender, samples in found.items()}
    settings = {"model": name, "rounds": rounds, **vars(workload)}
    return {**provenance(command), **settings, "figures": figures}
