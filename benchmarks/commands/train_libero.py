"""``wmrl train libero``: GRPO of a vision-language-action policy under one reward arm."""

from dataclasses import dataclass, field
from pathlib import Path

from rich.console import Console
from tyro.conf import Positional

from wmrl_envs.benchmarks.commands.base import setting_errors, stopped_by_signals, usage_errors
from wmrl_envs.benchmarks.commands.config_file import as_yaml
from wmrl_envs.benchmarks.libero_long.config import LiberoConfig

__all__ = ["TrainLibero"]


@dataclass(frozen=True)
class TrainLibero:
    """Train a vision-language-action policy on LIBERO-Long with GRPO, under one reward arm.

    Starts from a cloned policy (`wmrl sft vla`). The run folder holds the settings, a line a step,
    TensorBoard events, the checkpoint, the evaluation, films of rollouts and the trained policy.
    Called again, a killed run goes on from its last checkpoint.
    """

    out: Positional[Path]
    """The run folder."""
    config: Path | None = None
    """A YAML file of options, such as a run folder's `config.yaml`; the command line overrides."""
    print_config: bool = False
    """Print all options as YAML and end."""
    settings: LiberoConfig = field(default_factory=LiberoConfig)
    """The settings of the run."""

    def run(self, console: Console) -> int:
        """Trains, evaluates and prints the success rates."""
        if self.print_config:
            console.print(as_yaml(self), end="", markup=False, highlight=False, soft_wrap=True)
            return 0
        import json

        from wmrl_envs.benchmarks.autoresearch.progress import follow_in_thread
        from wmrl_envs.benchmarks.libero_long.train import train

        with usage_errors():
            self.settings.check_same(self.out / "config.json")
        bars = {self.settings.arm: self.out}
        with (
            setting_errors(),
            stopped_by_signals(),
            follow_in_thread(console, bars, self.settings.steps),
        ):
            train(self.settings, self.out)
        found = json.loads((self.out / "evaluation.json").read_text(encoding="utf-8"))
        for split in ("train", "heldout"):
            rates = ", ".join(f"{name} {100 * found[split][name]:.1f} %" for name in _RATES)
            console.print(f"{split} initial states: {rates}", highlight=False)
        console.print(f"overall success {100 * found['overall']:.1f} %", highlight=False)
        console.print(f"Wrote {self.out}", markup=False, highlight=False, soft_wrap=True)
        return 0


_RATES = ("avg", "best", "all")
