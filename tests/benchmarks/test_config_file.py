"""Options from a YAML file: what they override, what overrides them, and what is no option."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
import tyro
from tyro.conf import OmitArgPrefixes, Positional

from wmrl_envs.benchmarks.autoresearch.config import RunConfig
from wmrl_envs.benchmarks.commands.base import UsageError
from wmrl_envs.benchmarks.commands.config_file import Given, as_yaml, expanded, to_yaml
from wmrl_envs.benchmarks.commands.train import TrainAutoResearch


@dataclass(frozen=True)
class Oven:
    """A nested dataclass."""

    heat: float = 1.0
    trays: tuple[str, ...] = ("upper",)
    fan: bool = False


@dataclass(frozen=True)
class Bake:
    """A command of any kind."""

    out: Positional[Path]
    config: Path | None = None
    print_config: bool = False
    minutes: int | None = 10
    oven: Oven = field(default_factory=Oven)

    @staticmethod
    def preset(given: Given) -> dict[str, Any]:
        return {"heat": 0.5, "minutes": 3} if given("fan") else {}


def bake(*arguments: str) -> Bake:
    """Parses as the program does."""
    words = expanded(("bake", *arguments), {("bake",): Bake})
    assert words[0] == "bake"
    return tyro.cli(Bake, args=words[1:], config=(OmitArgPrefixes,))


@pytest.fixture
def write(tmp_path: Path) -> Any:
    def written(text: str) -> str:
        (tmp_path / "run.yaml").write_text(text)
        return str(tmp_path / "run.yaml")

    return written


def test_the_file_overrides_defaults_and_the_command_line_the_file(write: Any) -> None:
    path = write("minutes: 20\nheat: 2.5e-1\ntrays: [a, b]\nfan: true\n")
    found = bake("bread", "--config", path)
    assert (found.minutes, found.oven) == (20, Oven(0.25, ("a", "b"), True))
    found = bake("bread", "--minutes", "5", "--no-fan", f"--config={path}", "--trays", "c")
    assert (found.minutes, found.oven) == (5, Oven(0.25, ("c",), False))
    assert bake("--heat", "3", "bread", "--config", path).oven.heat == 3.0


def test_presets_yield_to_the_file_and_to_the_command_line(write: Any) -> None:
    assert bake("bread").minutes == 10
    assert (bake("bread", "--fan").minutes, bake("bread", "--fan").oven.heat) == (3, 0.5)
    assert bake("bread", "--fan", "--minutes", "7").minutes == 7
    found = bake("bread", "--config", write("fan: true\nminutes: 8\n"))
    assert (found.minutes, found.oven.heat) == (8, 0.5)
    assert bake("--no-fan", "bread").minutes == 10 and bake("--fan", "bread").minutes == 3


def test_what_is_printed_is_read_back(write: Any) -> None:
    chosen = Bake(Path("bread"), minutes=None, oven=Oven(1e-9, (), True))
    again = bake("bread", "--config", write(as_yaml(chosen)))
    assert (again.minutes, again.oven) == (chosen.minutes, chosen.oven)
    assert "out" not in as_yaml(chosen) and "config" not in as_yaml(chosen)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("minuts: 3", "no option 'minuts'; did you mean 'minutes'"),
        ("colour: red", "no option 'colour'; there are minutes, heat, trays, fan"),
        ("out: bread", "no option 'out'"),
        ("oven: {heat: 3}", "no option 'oven'"),
        ("heat: {a: 3}", "heat must be one value or a list"),
        ("- 3", "must hold options"),
        ("{", "cannot be read"),
    ],
)
def test_what_is_no_option_is_named(write: Any, text: str, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        bake("bread", "--config", write(text))


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"nothing\.yaml cannot be read"):
        bake("bread", "--config", str(tmp_path / "nothing.yaml"))


def test_other_commands_are_left_alone() -> None:
    assert expanded(["eval", "--config", "x"], {("bake",): Bake}) == ["eval", "--config", "x"]


def test_the_settings_of_a_run_come_back_from_yaml(write: Any) -> None:
    config = RunConfig(arm="real", learning_rate=1e-5, train_tasks=("digits", "concrete"))
    path = write(to_yaml(vars(config)))
    words = ("train", "autoresearch")
    line = expanded([*words, "out", "--config", path], {words: TrainAutoResearch})
    command = tyro.cli(TrainAutoResearch, args=line[2:], config=(OmitArgPrefixes,))
    assert command.settings == config


def test_a_policys_preset_is_taken_from_the_file_as_well(write: Any) -> None:
    words = ("train", "autoresearch")
    path = write("policy: smollm2\nsteps: 3\n")
    line = expanded([*words, "out", "--config", path, "--quick"], {words: TrainAutoResearch})
    command = tyro.cli(TrainAutoResearch, args=line[2:], config=(OmitArgPrefixes,))
    assert command.settings.world_model == "policy" and command.settings.steps == 3
    assert command.settings.log_episodes == 24
