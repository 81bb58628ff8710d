"""Tests that our simulation is stock LIBERO's, bit for bit."""

import numpy as np
import pytest
from testing_libero import clumsy_actions, state_of, stock_env

from wmrl_envs.libero.simulation import Simulation
from wmrl_envs.libero.suites import LiberoTask, suite

pytestmark = pytest.mark.sim

ROBOT_KEYS = ("robot0_joint_pos", "robot0_joint_vel", "robot0_gripper_qpos", "robot0_gripper_qvel")


def rollout(simulation: Simulation, state: int, actions: np.ndarray) -> np.ndarray:
    """(n, 1 + nq + nv) states after each action."""
    simulation.start(simulation.task.initial_states()[state])
    found = []
    for action in actions:
        simulation.step(action)
        found.append(state_of(simulation))
    return np.array(found)


def assert_equals_stock(task: LiberoTask, simulation: Simulation, steps: int) -> None:
    """Compares states, success and observations of an episode with those of a fresh stock one."""
    stock = stock_env(task)
    stock.set_init_state(task.initial_states()[3])
    simulation.start(task.initial_states()[3])
    for action in clumsy_actions(steps, seed=task.task_id):
        observation, _, success, _ = stock.step(action)
        assert simulation.step(action) == success
        assert np.array_equal(state_of(simulation), stock.get_sim_state())
        assert_observes(simulation, observation)
    stock.close()


def assert_observes(simulation: Simulation, expected: dict[str, np.ndarray]) -> None:
    sample, data = simulation.scene.sample, simulation.posed(simulation.scene)
    found = (sample.positions[:7], sample.velocities[:7])
    found += (sample.positions[7:9], sample.velocities[7:9])
    for key, value in zip(ROBOT_KEYS, found, strict=True):
        assert np.array_equal(value, expected[key]), key
    hand = simulation.domain.robots[0].eef_site_id
    assert np.array_equal(data.site_xpos[hand], expected["robot0_eef_pos"])
    for name in simulation.task.objects:
        body = simulation.domain.obj_body_id[name]
        assert np.array_equal(data.xpos[body], expected[f"{name}_pos"]), name


def test_an_episode_equals_that_of_a_fresh_stock_environment(simulation):
    assert_equals_stock(simulation.task, simulation, steps=60)


@pytest.mark.slow
@pytest.mark.parametrize("task_id", range(10))
def test_every_long_task_equals_stock_before_and_after_other_episodes(task_id):
    task = suite("libero_10")[task_id]
    simulation = Simulation(task)
    assert_equals_stock(task, simulation, steps=200 if task_id == 2 else 60)
    first = rollout(simulation, 3, clumsy_actions(30))
    rollout(simulation, 5, clumsy_actions(30, seed=1))
    assert np.array_equal(rollout(simulation, 3, clumsy_actions(30)), first)
    simulation.close()


def test_two_simulations_in_one_process_do_not_disturb_each_other(simulation):
    other = Simulation(simulation.task)
    actions = clumsy_actions(20)
    alone = rollout(simulation, 0, actions)
    states = simulation.task.initial_states()
    simulation.start(states[0])
    other.start(states[1])
    for expected, action in zip(alone, actions, strict=True):
        other.step(-action)
        simulation.step(action)
        assert np.array_equal(state_of(simulation), expected)
    other.close()
    other.close()


def test_what_follows_a_restored_moment_is_what_followed_it(simulation):
    actions = clumsy_actions(40)
    rollout(simulation, 1, actions[:20])
    moment = simulation.snapshot()
    poses = np.array(simulation.data.xpos)
    expected = [(simulation.step(action), state_of(simulation)) for action in actions[20:]]
    rollout(simulation, 2, actions)
    simulation.restore(moment)
    assert np.array_equal(simulation.data.xpos, poses)
    for action, (success, state) in zip(actions[20:], expected, strict=True):
        assert simulation.step(action) == success
        assert np.array_equal(state_of(simulation), state)


def test_the_callers_random_numbers_are_left_alone(simulation):
    np.random.seed(5)
    expected = np.random.random(3)
    np.random.seed(5)
    Simulation(simulation.task).close()
    assert np.array_equal(np.random.random(3), expected)


def test_another_fixture_seed_places_the_fixtures_elsewhere(simulation):
    other = Simulation(simulation.task, fixture_seed=1)
    stove = simulation.domain.obj_body_id["flat_stove_1"]
    assert not np.array_equal(simulation.model.body_pos[stove], other.model.body_pos[stove])
    other.close()
