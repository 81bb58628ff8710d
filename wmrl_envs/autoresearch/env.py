"""The AutoResearch environment: write programs that solve machine-learning tasks."""

from collections.abc import Mapping, Sequence
from typing import Any

import gymnasium as gym
from gymnasium.error import ClosedEnvironmentError, ResetNeeded

from wmrl_envs import info as keys
from wmrl_envs.autoresearch import catalog
from wmrl_envs.autoresearch.episode import Episode, Observation, Transition, begin
from wmrl_envs.autoresearch.execution import Executor
from wmrl_envs.autoresearch.outcome_cache import CacheSpecifier
from wmrl_envs.autoresearch.rules import Rules
from wmrl_envs.autoresearch.sandbox import JobRunner, Limits
from wmrl_envs.autoresearch.task import Task

__all__ = ["AutoResearchEnv"]


class AutoResearchEnv(gym.Env[Observation, str]):
    """Write a Python program that solves a machine-learning task; its score is the reward.

    ## Description

    Each episode shows a task: a description, its files and the form of a submission. The agent
    answers with a program, which a sandbox executes next to the task's public files and which
    writes ``submission.csv``. The environment grades that file against answers that never enter
    the sandbox. With ``max_turns`` above 1 the agent sees what became of its program and may try
    again; the best turn counts. This is the machine-learning research setting of MLE-Dojo and
    MLE-bench, with the reward of WMRL (arXiv 2608.12564).

    ## Action Space

    ``UnicodeText(0, 200000)``: an answer whose last fenced Python block is the program, or bare
    code. Every string is a valid action; one without code ends the turn with the status
    ``malformed``, without an execution.

    ## Observation Space

    A ``Dict``:

    | Key        | Space                    | Meaning                                                |
    |------------|--------------------------|--------------------------------------------------------|
    | `task`     | `UnicodeText(0, 100000)` | the task's overview or card, the same in every turn    |
    | `feedback` | `UnicodeText(0, 20000)`  | what became of the last action; "" after a reset       |
    | `turn`     | `Discrete(max_turns+1)`  | turns taken                                            |

    Full feedback holds the status, the ends of the program's output streams and, if there is more
    than one turn, the score and the leaderboard position on the *feedback half* of the answers.
    The reward comes from the other half, so that an agent cannot climb on its test score.

    ## Rewards

    0.0 in every turn but the last, which pays for the episode's best turn. With
    ``reward="ladder"``:

    | Reward               | Status (``info["grade_status"]``)                |
    |----------------------|--------------------------------------------------|
    | 0.0                  | `malformed`, `syntax_error`                      |
    | 0.1                  | `runtime_error`, `timeout`, `memory`             |
    | 0.2                  | `no_submission`, `invalid_submission`            |
    | 0.5 + 0.5 · position | `valid`; position in [0, 1] on the leaderboard   |

    ``reward="position"`` pays the position alone (0.0 unless valid). ``reward="score"`` pays the
    metric's raw value, whose direction depends on the task: it is meant for evaluation, and an
    episode without a valid turn is then ungraded.

    The last step's info holds ``graded`` (bool), ``measured_reward`` (float, where graded) and
    ``grade_status`` (str, of the best turn). An episode is ungraded, with reward 0.0, where one of
    its programs was not executed (``options["execute"]``) or the sandbox itself failed on it
    twice. Before the last step ``graded`` is False, so that a truncated episode is ungraded too.

    ## Starting State

    The task is a function of the reset seed alone: consecutive seeds visit every task once, in a
    shuffled order, before any repeats, and equal seeds start from the same state. Without a seed
    it is drawn from ``np_random``. ``reset``'s info holds the task's name under ``task``.
    Reset options:

    | Option    | Type                      | Meaning                                              |
    |-----------|---------------------------|------------------------------------------------------|
    | `task`    | str                       | the name of the task to start                        |
    | `execute` | bool or set of reset seeds | may programs be executed (if a set: for these seeds)? |
    | `group`   | int                       | left to the wrappers                                 |

    With ``execute=False`` the sandbox never starts; what needs no execution (``malformed``,
    ``syntax_error``) is graded all the same.

    ## Episode End

    Terminates after ``max_turns`` turns. ``gym.make(..., max_episode_steps=n)`` truncates.

    ## Arguments

    | Argument         | Default      | Meaning                                                     |
    |------------------|--------------|-------------------------------------------------------------|
    | `tasks`          | `"train"`    | a split, `"all"`, a name, a `Task`, or a sequence of these  |
    | `max_turns`      | `1`          | turns of an episode                                         |
    | `reward`         | `"ladder"`   | `"ladder"`, `"position"` or `"score"`                       |
    | `observation`    | `"overview"` | `"overview"`, or `"card"` (three lines for small models)    |
    | `feedback`       | `"full"`     | `"full"`, `"status"` or `"none"`                            |
    | `limits`         | `None`       | `Limits` of one execution, or a dict of its fields; None: the defaults, with the task's time limit |
    | `sandbox`        | `None`       | a `Sandbox` to share, or a dict of an own one's arguments; None: an own one, started by the first execution |
    | `cache`          | `True`       | execute equal programs once: `True` remembers in memory, a path also in a SQLite file that later runs and other processes share, `False` executes every time |
    | `execution_seed` | `0`          | the seed that every program starts with                     |
    | `render_mode`    | `None`       | `"ansi"`: `render` returns the episode so far as text       |
    | `cache_dir`      | `None`       | where bundled tasks are laid out; None: the user's cache folder |

    Under ``AsyncVectorEnv`` pass ``shared_memory=False`` and no shared sandbox; prefer
    ``gym.make_vec``, which executes the programs of all sub-environments as one batch.

    ## Example

    >>> import gymnasium as gym
    >>> env = gym.make("wmrl_envs:WMRL/AutoResearch-v0", tasks="concrete", observation="card")
    >>> observation, info = env.reset(seed=0)
    >>> observation["task"].splitlines()[0], info
    ('tabular regression rmse', {'task': 'concrete'})
    >>> _, reward, terminated, truncated, info = env.step("I would rather not.")
    >>> reward, terminated, info["grade_status"]
    (0.0, True, 'malformed')
    >>> env.close()

    ## Version History

    * v0: initial version
    """  # noqa: E501

    metadata: dict[str, Any] = {"render_modes": ["ansi"], "render_fps": 1}  # noqa: RUF012

    def __init__(
        self,
        tasks: str | Task | Sequence[str | Task] = "train",
        max_turns: int = 1,
        reward: str = "ladder",
        observation: str = "overview",
        feedback: str = "full",
        limits: Limits | Mapping[str, Any] | None = None,
        sandbox: JobRunner | Mapping[str, Any] | None = None,
        cache: CacheSpecifier = True,
        execution_seed: int = 0,
        render_mode: str | None = None,
        cache_dir: catalog.CacheDir = None,
    ) -> None:
        self.tasks = catalog.resolve(tasks, cache_dir=cache_dir)
        self.max_turns = max_turns
        self.render_mode = checked_render_mode(render_mode)
        self._rules = Rules(self.tasks, max_turns, reward, observation, feedback)
        self._executor = Executor(
            sandbox, limits, cache, execution_seed, feedback=self._rules.shows_scores
        )
        self.observation_space = self._rules.observation_space()
        self.action_space = self._rules.action_space()
        self._episode: Episode | None = None
        self._closed = False

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Observation, dict[str, Any]]:
        """Starts an episode; see the class for the options.

        Raises:
            ClosedEnvironmentError: The environment was closed.
            TypeError: ``options["execute"]`` has the wrong type.
            ValueError: ``options["task"]`` names no task of this environment.
        """
        super().reset(seed=seed)
        self._refuse_if_closed()
        self._episode = begin(self._rules, self.np_random, seed, options)
        return self._episode.observation(), {keys.TASK: self._episode.task.name}

    def step(self, action: str) -> Transition:
        """Executes and grades one program.

        Raises:
            ClosedEnvironmentError: The environment was closed.
            ResetNeeded: There is no episode, or it is over.
            SandboxUnavailable: The machine lacks a layer of isolation that the sandbox insists on.
            TypeError: The action is no string.
        """
        self._refuse_if_closed()
        if self._episode is None or self._episode.over:
            raise ResetNeeded("there is no running episode: call reset before step")
        [outcome] = self._executor.resolve([self._episode.propose(action)])
        return self._episode.advance(action, outcome)

    def render(self) -> str | None:
        """The episode so far, as text (``render_mode="ansi"``); None without a render mode."""
        if self.render_mode is None or self._episode is None:
            return None
        return self._episode.render()

    def metrics(self) -> dict[str, int | float]:
        """Executions, those answered by the cache and their part, those that failed, seconds."""
        return self._executor.metrics()

    def close(self) -> None:
        """Stops the sandbox, unless it was passed in; may be called twice."""
        self._closed = True
        self._executor.close()

    def _refuse_if_closed(self) -> None:
        if self._closed:
            raise ClosedEnvironmentError("the environment is closed: make a new one")


def checked_render_mode(render_mode: str | None) -> str | None:
    """Returns a render mode that the environment has.

    Raises:
        ValueError: It has none of this name.
    """
    if render_mode not in (None, "ansi"):
        raise ValueError(f"render_mode must be 'ansi' or None, got {render_mode!r}")
    return render_mode
