"""Tests of the LIBERO environment as a Gymnasium environment."""

import warnings

import gymnasium as gym
import numpy as np
import pytest
from gymnasium.error import ClosedEnvironmentError, ResetNeeded
from gymnasium.utils.env_checker import check_env
from gymnasium.utils.env_checker import data_equivalence as same
from testing_libero import clumsy_actions

from wmrl_envs.libero.env import LiberoEnv

pytestmark = pytest.mark.sim


def episode(env, actions, **reset):
    """Everything that an environment says in an episode."""
    said = [env.reset(**reset)]
    for action in actions:
        said.append(env.step(action))
        if said[-1][2] or said[-1][3]:
            break
    return said


def chunks(n):
    return clumsy_actions(4 * n).reshape(n, 4, 7).astype(np.float32)


def finish(env):
    """Moves the objects to the goal: knob turned, pot on the stove."""
    simulation = env.unwrapped.simulation
    data = simulation.data
    data.joint("flat_stove_1_button").qpos[0] = 1.5
    pot = data.joint("moka_pot_1_joint0").qpos
    pot[:3] = data.site("flat_stove_1_cook_region").xpos + np.array([0.0, 0.0, 0.06])


def test_gymnasium_finds_no_fault(env, blind_env):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        check_env(env, skip_close_check=True)
        check_env(blind_env, skip_close_check=True)


def test_stable_baselines_finds_no_fault_without_the_text(blind_env):
    checker = pytest.importorskip("stable_baselines3.common.env_checker")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        checker.check_env(blind_env)


def test_equal_seeds_and_actions_say_the_same_whatever_came_between(env):
    first = episode(env, clumsy_actions(5), seed=3)
    episode(env, clumsy_actions(5, seed=1), seed=4)
    assert same(episode(env, clumsy_actions(5), seed=3), first)


def test_the_seed_chooses_the_initial_state_and_options_overrule_it(blind_env):
    chosen = {blind_env.reset(seed=seed)[1]["init_state_id"] for seed in range(50)}
    assert chosen == set(range(50))
    assert blind_env.reset(seed=0, options={"init_state_id": 5})[1]["init_state_id"] == 5


def test_an_unseeded_reset_continues_the_generator(env):
    def two():
        env.reset(seed=9)
        return [env.reset()[1]["init_state_id"] for _ in range(3)]

    assert two() == two()


def test_objects_rest_when_an_episode_starts(env):
    info = env.reset(seed=0)[1]
    assert info["settle_steps"] >= 10
    assert env.simulation.still(0.01)


def test_the_reset_says_what_it_chose(env):
    observation, info = env.reset(seed=0, options={"task_id": 2})
    assert observation["task"] == "turn on the stove and put the moka pot on it"
    assert info["task_id"] == 2
    assert info["task"].startswith("KITCHEN_SCENE3_turn_on_the_stove")


def test_reaching_the_goal_ends_the_episode_with_the_reward(env):
    env.reset(seed=0)
    said = env.step(np.zeros(7))
    assert said[1:] == (0.0, False, False, {"is_success": False})
    finish(env)
    for _ in range(20):
        _, reward, terminated, truncated, info = env.step(np.array([0, 0, 0, 0, 0, 0, -1.0]))
        if terminated:
            break
    assert (reward, terminated, truncated, info) == (1.0, True, False, {"is_success": True})
    assert env.progress().fraction == 1.0
    with pytest.raises(ResetNeeded, match="call reset"):
        env.step(np.zeros(7))


def test_a_chunk_is_its_steps_one_after_the_other(env, blind_env):
    actions = clumsy_actions(8)
    start = {"init_state_id": 0}
    blind_env.reset(options=start)
    for chunk in actions.reshape(2, 4, 7):
        blind_env.step(chunk)
    env.simulation.start(env.simulation.task.initial_states()[0])
    for _ in range(2):
        env.simulation.step(np.array([0, 0, 0, 0, 0, 0, -1.0]))
    for action in actions:
        env.simulation.step(action)
    assert np.array_equal(env.simulation.data.qpos, blind_env.simulation.data.qpos)


def test_the_horizon_counts_control_steps_and_cuts_a_chunk_short(blind_env):
    said = episode(blind_env, chunks(5), seed=0)
    assert len(said) == 1 + 3
    assert said[-1][2:4] == (False, True)
    moments = blind_env.simulation.data.time
    blind_env.reset(seed=0)
    assert moments - blind_env.simulation.data.time == pytest.approx(10 * 0.05)


def test_a_snapshot_leads_to_the_same_future(env):
    actions = clumsy_actions(12)
    episode(env, actions[:6], seed=1)
    moment = env.snapshot()
    future = [env.step(action) for action in actions[6:]]
    episode(env, clumsy_actions(3, seed=5), seed=2)
    env.restore(moment)
    assert same([env.step(action) for action in actions[6:]], future)


def test_frames_rendered_afterwards_are_those_rendered_on_the_way(env):
    env.reset(seed=0)
    frames = [env.render()]
    for action in clumsy_actions(6):
        env.step(action)
        frames.append(env.render())
    assert np.array_equal(env.render_frames(4), [frames[i] for i in (0, 2, 4, 6)])
    assert env.render_frames(3, camera="robot0_eye_in_hand").shape == (3, 64, 64, 3)


def test_an_observed_picture_is_upright_as_the_rendered_one(env):
    observation, _ = env.reset(seed=0)
    assert np.array_equal(observation["agentview_image"], env.render())


@pytest.mark.parametrize(
    ("action", "words"),
    [
        (np.zeros(6), r"shape \(7,\), got \(6,\)"),
        (np.full(7, np.nan), "finite"),
        (np.array([0, 0, 0, np.inf, 0, 0, 0]), "finite"),
    ],
)
def test_an_impossible_action_is_refused(env, action, words):
    env.reset(seed=0)
    with pytest.raises(ValueError, match=words):
        env.step(action)


def test_an_action_beyond_the_bounds_is_clipped(env):
    def hand(action):
        env.reset(seed=0)
        env.step(action)
        return env.progress().hand

    assert np.array_equal(hand(np.full(7, 5.0)), hand(np.ones(7)))


@pytest.mark.parametrize(
    ("options", "words"),
    [({"task_id": 3}, r"task_id.*\[2\], got 3"), ({"init_state_id": 16}, "init_state_id.*got 16")],
)
def test_an_option_outside_the_environment_is_refused(env, options, words):
    with pytest.raises(ValueError, match=words):
        env.reset(options=options)


@pytest.mark.parametrize(
    ("arguments", "error", "words"),
    [
        ({"task_id": 10}, ValueError, "within 0 to 9, got 10"),
        ({"task_id": "one"}, ValueError, "'all', got 'one'"),
        ({"task_id": [1, 1]}, ValueError, "none twice"),
        ({"suite": "libero_11"}, ValueError, "libero_10.*got 'libero_11'"),
        ({"observation": "smell"}, ValueError, "'pixels_state', got 'smell'"),
        ({"orientation": "left"}, ValueError, "'rot180', got 'left'"),
        ({"action_chunk": 0}, ValueError, "at least 1"),
        ({"image_size": (64,)}, ValueError, "height, width"),
        ({"cameras": ()}, ValueError, "at least one"),
        ({"settle": "quick"}, TypeError, "settle"),
        ({"horizon": 0}, ValueError, "horizon"),
        ({"render_mode": "human"}, ValueError, "'rgb_array' or None, got 'human'"),
    ],
)
def test_a_wrong_argument_is_refused_before_a_simulator_starts(arguments, error, words):
    with pytest.raises(error, match=words):
        LiberoEnv(**arguments)


def test_nothing_works_before_the_reset_or_after_the_close():
    env = LiberoEnv(observation="state")
    with pytest.raises(ResetNeeded):
        env.step(np.zeros(7))
    with pytest.raises(ResetNeeded):
        env.progress()
    env.close()
    env.close()
    with pytest.raises(ClosedEnvironmentError):
        env.reset()


def test_the_registered_ids_make_it_with_a_time_limit():
    for name in ("WMRL/LiberoLong-v0", "WMRL/Libero-v0"):
        env = gym.make(name, observation="state")
        assert env.spec.max_episode_steps == 520
        assert isinstance(env.unwrapped, LiberoEnv)
    spatial = gym.make("WMRL/Libero-v0", suite="libero_spatial", observation="state", task_id=1)
    assert spatial.action_space.shape == (7,)


def test_a_spec_survives_json():
    env = gym.make("WMRL/LiberoLong-v0", task_id=1, observation="state", action_chunk=8)
    again = gym.make(gym.envs.registration.EnvSpec.from_json(env.spec.to_json()))
    assert again.observation_space == env.observation_space
    assert again.action_space == env.action_space


@pytest.mark.slow
def test_several_tasks_share_a_space_and_take_turns():
    env = LiberoEnv(task_id=[2, 8], observation="state", settle=1)
    for task_id in (2, 8, 2):
        observation, info = env.reset(options={"task_id": task_id, "init_state_id": 0})
        assert info["task_id"] == task_id
        assert observation in env.observation_space
    env.close()


def test_a_video_is_recorded(env, tmp_path):
    pytest.importorskip("moviepy")
    recorded = gym.wrappers.RecordVideo(env, str(tmp_path), disable_logger=True)
    episode(recorded, clumsy_actions(3), seed=0)
    recorded.stop_recording()
    assert [path.suffix for path in tmp_path.iterdir()] == [".mp4"]
