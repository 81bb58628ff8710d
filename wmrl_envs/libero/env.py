"""The LIBERO environment: a robot arm, a household scene, an instruction."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import gymnasium as gym
import numpy as np
from gymnasium import spaces
from gymnasium.error import ClosedEnvironmentError, ResetNeeded
from numpy.typing import NDArray

from wmrl_envs import info as keys
from wmrl_envs.libero.cameras import oriented
from wmrl_envs.libero.initial_states import choose_start
from wmrl_envs.libero.observations import Observation, observation_space, observe
from wmrl_envs.libero.progress import Progress, progress
from wmrl_envs.libero.settings import Settings, checked_cameras, checked_size, chosen_tasks
from wmrl_envs.libero.simulation import Scene, Simulation, Snapshot
from wmrl_envs.libero.stage import Stage, Stages
from wmrl_envs.libero.suites import LiberoTask

__all__ = ["EpisodeSnapshot", "LiberoEnv"]

_ACTION_SIZE = 7
_CHUNKED_HORIZON = 520
_SEEDS = 2**31


@dataclass(frozen=True)
class EpisodeSnapshot:
    """One moment of an episode, see ``LiberoEnv.snapshot``.

    Attributes:
        start: The episode's (task id, initial state).
        simulation: The simulation's snapshot.
        scenes: The scenes of the control steps so far, the first one included.
        over: Is the episode over?
    """

    start: tuple[int, int]
    simulation: Snapshot
    scenes: tuple[Scene, ...]
    over: bool


class LiberoEnv(gym.Env[Observation, NDArray[Any]]):
    """A robot arm follows an instruction in a household scene; reaching the goal is the reward.

    ## Description

    LIBERO (arXiv 2306.03310), on which WMRL (arXiv 2608.12564) trains its embodied agent:
    ``WMRL/LiberoLong-v0`` is the suite ``libero_10`` of ten long tasks, ``WMRL/Libero-v0`` takes
    any suite. The physics, scenes, initial states and goals are LIBERO's own; trajectories are
    bitwise those of a fresh stock environment (seeded with ``fixture_seed``, reset, set to the
    initial state, settled by the same number of idle steps), at a third of its CPU time, and so
    are observations (pictures with ``multisampling=4``).

    ## Action Space

    ``Box(-1, 1, (7,), float32)``, or ``(action_chunk, 7)``. A control step lasts 0.05 s.

    | Index | Meaning                                                              | Unit of 1.0  |
    |-------|----------------------------------------------------------------------|--------------|
    | 0-2   | displacement of the hand's goal along x, y, z of the world           | 0.05 m       |
    | 3-5   | rotation of the hand's goal, axis-angle in the world                 | 0.5 rad      |
    | 6     | gripper: positive closes, negative opens, 0 stays; 8 steps of travel | (sign only)  |

    Finite values beyond the bounds are clipped, as in stock LIBERO. The steps of a chunk are taken
    one after the other until the goal is reached or the horizon is.

    ## Observation Space

    A ``Dict``. Values are clipped to their bounds; with several tasks, entries that a task does not
    have are zero.

    | Key                   | Shape, type        | Bounds  | Meaning (``observation``)            |
    |-----------------------|--------------------|---------|--------------------------------------|
    | `task`                | `UnicodeText`      |         | the instruction (``instruction=True``) |
    | `<camera>_image`      | (H, W, 3), uint8   | 0 - 255 | RGB (pixels, pixels_state)           |
    | `robot0_joint_pos`    | (7,), float32      | ±4      | rad (state, pixels_state; and below) |
    | `robot0_joint_vel`    | (7,), float32      | ±20     | rad/s                                |
    | `robot0_eef_pos`      | (3,), float32      | -2 - 2, z 0 - 3 | m, between the fingertips    |
    | `robot0_eef_quat`     | (4,), float32      | ±1      | quaternion x, y, z, w of the hand    |
    | `robot0_gripper_qpos` | (2,), float32      | ±0.05   | m, the fingers                       |
    | `robot0_gripper_qvel` | (2,), float32      | ±1      | m/s                                  |
    | `object_poses`        | (7n,), float32     | ±10, ±1 | m and x, y, z, w of each object, then fixture |
    | `fixture_joints`      | (m,), float32      | ±4      | rad or m: drawers, doors, knobs; if m > 0 |

    ## Rewards

    1.0 in the step that reaches the goal, 0.0 in every other. ``info["is_success"]`` (bool) says
    the same.

    ## Starting State

    Task and initial state are a function of the reset seed alone: consecutive seeds visit every
    start of the split once, in a shuffled order, before any repeats, so episodes of one seed form a
    GRPO group. Without a seed it is drawn from ``np_random``. Poses of fixtures, which LIBERO's
    initial states do not hold, are those of ``fixture_seed``. The episode begins when the objects
    are at rest. Reset options:

    | Option          | Type | Meaning                                                        |
    |-----------------|------|----------------------------------------------------------------|
    | `task_id`       | int  | one of the environment's tasks                                 |
    | `init_state_id` | int  | an initial state of the split                                  |
    | `execute`, `group` |   | left to the wrappers: simulating is how an episode comes about |

    ``reset``'s info holds `task` (str, LIBERO's name), `task_id`, `init_state_id` and
    `settle_steps` (int, idle control steps before the episode).

    The splits `train` (initial states 0-15) and `heldout` (16-49) are draws from one distribution;
    shifted worlds are the suites ``libero_10_swap``, ``_object``, ``_task`` and ``_lan``.

    ## Episode End

    Terminates when the goal is reached. ``max_episode_steps`` (520) of ``gym.make`` truncates after
    so many calls of ``step``; `horizon` truncates after so many control steps.

    ## Arguments

    | Argument        | Default          | Meaning                                                |
    |-----------------|------------------|--------------------------------------------------------|
    | `suite`         | `"libero_10"`    | see ``wmrl_envs.libero.suites.suite_names()``          |
    | `task_id`       | `0`              | a task's number, several, or `"all"`                   |
    | `observation`   | `"pixels"`       | `"pixels"`, `"state"` or `"pixels_state"`              |
    | `split`         | `"train"`        | `"train"`, `"heldout"`, `"all"`, or numbers            |
    | `action_chunk`  | `1`              | control steps of one action; observed once, at its end |
    | `orientation`   | `"upright"`      | `"upright"`, `"raw"` (OpenGL's, as in stock LIBERO) or `"rot180"` (as OpenVLA expects) |
    | `image_size`    | `128`            | a side or (height, width), pixels                      |
    | `cameras`       | `("agentview",)` | cameras of the pictures; `"robot0_eye_in_hand"` is the other customary one |
    | `settle`        | `"still"`        | idle until the objects rest (10 to 60 steps), or for a number of steps |
    | `horizon`       | `None`           | control steps of an episode; None: 520 with chunks, else unlimited |
    | `instruction`   | `True`           | is the instruction observed? Stable-Baselines3 knows no text |
    | `multisampling` | `0`              | samples a pixel; stock LIBERO's 4 take twice the time  |
    | `fixture_seed`  | `0`              | seed of the fixtures' poses                            |
    | `simulators`    | `1`              | tasks whose simulators are kept (about 1 GB each)      |
    | `render_mode`   | `None`           | `"rgb_array"`: `render` returns the first camera's picture, upright |

    The simulator starts with the first ``reset``; the first picture makes the OpenGL context.
    Under ``AsyncVectorEnv`` pass ``context="spawn"`` and ``shared_memory=False`` (or
    ``instruction=False``).

    ## Example

    >>> import gymnasium as gym
    >>> env = gym.make("wmrl_envs:WMRL/LiberoLong-v0", task_id=3)       # doctest: +SKIP
    >>> observation, info = env.reset(seed=0)                           # doctest: +SKIP
    >>> observation["task"]                                             # doctest: +SKIP
    'put the black bowl in the bottom drawer of the cabinet and close it'

    ## Version History

    * v0: initial version
    """  # noqa: E501

    metadata: dict[str, Any] = {"render_modes": ["rgb_array"], "render_fps": 20}  # noqa: RUF012

    def __init__(
        self,
        suite: str = "libero_10",
        task_id: int | str | Iterable[int] = 0,
        observation: str = "pixels",
        split: str | Iterable[int] = "train",
        action_chunk: int = 1,
        orientation: str = "upright",
        image_size: int | Sequence[int] = 128,
        cameras: str | Iterable[str] = ("agentview",),
        settle: str | int = "still",
        horizon: int | None = None,
        instruction: bool = True,
        multisampling: int = 0,
        fixture_seed: int = 0,
        simulators: int = 1,
        render_mode: str | None = None,
    ) -> None:
        if render_mode not in (None, "rgb_array"):
            raise ValueError(f"render_mode must be 'rgb_array' or None, got {render_mode!r}")
        self.render_mode = render_mode
        self._settings = Settings(
            tasks=chosen_tasks(suite, task_id),
            split=split if isinstance(split, str) else tuple(split),
            observation=observation,
            action_chunk=action_chunk,
            orientation=orientation,
            image_size=checked_size(image_size),
            cameras=checked_cameras(cameras),
            settle=settle,
            horizon=_CHUNKED_HORIZON if horizon is None and action_chunk != 1 else horizon,
            instruction=instruction,
            multisampling=multisampling,
            fixture_seed=fixture_seed,
            simulators=simulators,
        )
        self._starts = self._settings.starts
        shape = (_ACTION_SIZE,) if action_chunk == 1 else (action_chunk, _ACTION_SIZE)
        self.action_space = spaces.Box(-1.0, 1.0, shape, np.float32)
        self.observation_space: spaces.Dict = observation_space(self._settings)
        self._stages = Stages(self._settings)
        self._stage: Stage | None = None
        self._start = (-1, -1)
        self._scenes: list[Scene] = []
        self._over = self._closed = False

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Observation, dict[str, Any]]:
        """Starts an episode; see the class for the options.

        Raises:
            ClosedEnvironmentError: The environment was closed.
            RenderingUnavailable: There are pictures to observe and no OpenGL.
            ValueError: An option names no task or initial state of this environment.
        """
        super().reset(seed=seed)
        self._refuse_if_closed()
        task_id, state = self._start = self._chosen_start(seed, options or {})
        self._stage = self._stages.of(task_id)
        settled = self._stage.start(state)
        self._scenes, self._over = [self.simulation.scene], False
        name = self.simulation.task.name
        chosen = {keys.TASK: name, "task_id": task_id, "init_state_id": state}
        return self._observe(), {**chosen, "settle_steps": settled}

    def step(self, action: NDArray[Any]) -> tuple[Observation, float, bool, bool, dict[str, Any]]:
        """Takes one action, or one chunk of them.

        Raises:
            ClosedEnvironmentError: The environment was closed.
            ResetNeeded: There is no episode, or it is over.
            ValueError: The action has another shape than its space, or a value is not finite.
        """
        self._refuse_if_closed()
        if self._stage is None or self._over:
            raise ResetNeeded("there is no running episode: call reset before step")
        success = truncated = False
        for single in self._checked(action):
            success = self.simulation.step(single)
            self._scenes.append(self.simulation.scene)
            truncated = not success and len(self._scenes) - 1 == self._settings.horizon
            if success or truncated:
                break
        self._over = success or truncated
        return self._observe(), float(success), success, truncated, {keys.IS_SUCCESS: success}

    def render(self) -> NDArray[np.uint8] | None:
        """The first camera's picture, (H, W, 3), upright; None without a render mode."""
        if self.render_mode is None or self._stage is None:
            return None
        return self._picture(self._scenes[-1], self._settings.cameras[0])

    def render_frames(self, n: int = 8, camera: str | None = None) -> NDArray[np.uint8]:
        """Pictures of moments of the episode so far, evenly spaced, the first and last included.

        They are rendered now, from the stored states of every control step, and equal those that
        ``render`` would have given then. The next ``reset`` forgets them.

        Args:
            n: How many; moments repeat where the episode has fewer.
            camera: The camera; None stands for the first of the environment's.

        Returns:
            (n, H, W, 3), uint8, upright.

        Raises:
            RenderingUnavailable: There is no OpenGL.
            ResetNeeded: There is no episode.
            ValueError: ``n`` is not positive, or there is no such camera.
        """
        if n < 1:
            raise ValueError(f"n must be at least 1, got {n}")
        if self._stage is None:
            raise ResetNeeded("there is no episode to render: call reset first")
        chosen = np.linspace(0, len(self._scenes) - 1, n).round().astype(int)
        camera = camera or self._settings.cameras[0]
        return np.stack([self._picture(self._scenes[i], camera) for i in chosen])

    @property
    def tasks(self) -> tuple[LiberoTask, ...]:
        """The environment's tasks."""
        return self._settings.tasks

    @property
    def starts(self) -> list[tuple[int, int]]:
        """The (task id, initial state) pairs that episodes start from."""
        return list(self._starts)

    @property
    def simulation(self) -> Simulation:
        """The running simulation, privileged: for experts and tests.

        Raises:
            ResetNeeded: There is none before the first ``reset``.
        """
        if self._stage is None:
            raise ResetNeeded("the simulator starts with the first reset")
        return self._stage.simulation

    def progress(self) -> Progress:
        """Goal predicates, distances and poses, privileged: for experts and progress models.

        Raises:
            ResetNeeded: There is no simulator before the first ``reset``.
        """
        return progress(self.simulation)

    def snapshot(self) -> EpisodeSnapshot:
        """The present moment of the episode, to be given to :meth:`restore`.

        Raises:
            ResetNeeded: There is no episode.
        """
        moment = self.simulation.snapshot()
        return EpisodeSnapshot(self._start, moment, tuple(self._scenes), self._over)

    def restore(self, snapshot: EpisodeSnapshot) -> Observation:
        """Goes back to a moment; what follows is bitwise what followed then.

        A ``TimeLimit`` around the environment does not know of it and counts on.

        Returns:
            The observation of that moment.

        Raises:
            ClosedEnvironmentError: The environment was closed.
            ValueError: The snapshot is of a task that this environment does not have.
        """
        self.resume(snapshot)
        return self._observe()

    def resume(self, snapshot: EpisodeSnapshot) -> None:
        """Goes back to a moment as :meth:`restore` does, and looks at nothing.

        Raises:
            ClosedEnvironmentError: The environment was closed.
            ValueError: The snapshot is of a task that this environment does not have.
        """
        self._refuse_if_closed()
        self._stage = self._stages.of(snapshot.start[0])
        self.simulation.restore(snapshot.simulation)
        self._start, self._over = snapshot.start, snapshot.over
        self._scenes = list(snapshot.scenes)

    def close(self) -> None:
        """Frees simulators and OpenGL contexts; may be called twice."""
        self._closed = True
        self._stage = None
        self._stages.close()

    def _observe(self) -> Observation:
        assert self._stage is not None
        return observe(self._settings, self.observation_space, self.simulation, self._stage.cameras)

    def _picture(self, scene: Scene, camera: str) -> NDArray[np.uint8]:
        assert self._stage is not None
        image = self._stage.cameras.render(scene, camera, *self._settings.image_size)
        return oriented(image, "upright")

    def _chosen_start(self, seed: int | None, options: dict[str, Any]) -> tuple[int, int]:
        candidates = self._starts
        for key, place in (("task_id", 0), ("init_state_id", 1)):
            if options.get(key) is not None:
                candidates = [start for start in candidates if start[place] == options[key]]
                if not candidates:
                    possible = sorted({start[place] for start in self._starts})
                    raise ValueError(
                        f"options[{key!r}] must be in {possible}, got {options[key]!r}"
                    )
        number = int(self.np_random.integers(_SEEDS)) if seed is None else seed
        return choose_start(number, candidates)

    def _checked(self, action: Any) -> NDArray[np.float64]:
        actions = np.asarray(action, dtype=np.float64)
        if actions.shape != self.action_space.shape:
            raise ValueError(
                f"action must have the shape {self.action_space.shape}, got {actions.shape}"
            )
        if not np.all(np.isfinite(actions)):
            raise ValueError(f"action must be finite, got {actions.tolist()}")
        return actions.reshape(-1, _ACTION_SIZE)

    def _refuse_if_closed(self) -> None:
        if self._closed:
            raise ClosedEnvironmentError("the environment is closed: make a new one")
