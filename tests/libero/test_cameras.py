"""Tests of pictures: stock LIBERO's own, whenever they are made, whoever else renders."""

import numpy as np
import pytest
from testing_libero import clumsy_actions, stock_env

from wmrl_envs.libero.cameras import Cameras, oriented
from wmrl_envs.libero.simulation import Simulation

pytestmark = pytest.mark.sim


@pytest.fixture(scope="module")
def cameras(simulation):
    found = Cameras(simulation)
    yield found
    found.close()
    found.close()


def test_multisampled_pictures_are_those_of_stock_libero(simulation):
    stock = stock_env(simulation.task, cameras=True)
    cameras = Cameras(simulation, samples=4)
    expected = stock.set_init_state(simulation.task.initial_states()[0])
    simulation.start(simulation.task.initial_states()[0])
    for action in (None, *clumsy_actions(3)):
        if action is not None:
            stock.env.sim._render_context_offscreen.gl_ctx.make_current()
            expected = stock.step(action)[0]
            simulation.step(action)
        for name in ("agentview", "robot0_eye_in_hand"):
            picture = cameras.render(simulation.scene, name, 64, 64)
            assert np.array_equal(picture, expected[f"{name}_image"])
    cameras.close()
    stock.env.sim._render_context_offscreen.gl_ctx.make_current()
    stock.close()


def test_a_stored_scene_gives_the_picture_of_its_moment(simulation, cameras):
    simulation.start(simulation.task.initial_states()[0])
    scenes, pictures = [], []
    for action in clumsy_actions(4):
        simulation.step(action)
        scenes.append(simulation.scene)
        pictures.append(cameras.render(simulation.scene, "agentview", 64, 64))
    later = [cameras.render(scene, "agentview", 64, 64) for scene in scenes]
    assert np.array_equal(later, pictures)
    assert not np.array_equal(pictures[0], pictures[-1])


def test_rendering_does_not_change_what_follows(simulation, cameras):
    def after(render: bool) -> np.ndarray:
        simulation.start(simulation.task.initial_states()[0])
        for action in clumsy_actions(10):
            simulation.step(action)
            if render:
                cameras.render(simulation.scene, "robot0_eye_in_hand", 32, 32)
        return np.array(simulation.data.qpos)

    assert np.array_equal(after(render=True), after(render=False))


def test_a_stove_that_burns_is_seen_to_burn(simulation, cameras):
    simulation.start(simulation.task.initial_states()[0])
    dark = cameras.render(simulation.scene, "agentview", 64, 64)
    simulation.data.joint("flat_stove_1_button").qpos[0] = 1.5
    for _ in range(2):
        simulation.step(np.array([0.0, 0.0, 0.0, 0.0, 0.0, 0.0, -1.0]))
    burning = simulation.scene
    simulation.start(simulation.task.initial_states()[0])
    lit = cameras.render(burning, "agentview", 64, 64)
    assert np.mean(lit[..., 0].astype(float)) > np.mean(dark[..., 0].astype(float))
    assert np.array_equal(cameras.render(simulation.scene, "agentview", 64, 64), dark)


def test_two_environments_in_one_process_keep_their_pictures_apart(simulation, cameras):
    other = Simulation(simulation.task, fixture_seed=3)
    simulation.start(simulation.task.initial_states()[0])
    other.start(other.task.initial_states()[1])
    others = Cameras(other)
    mine = cameras.render(simulation.scene, "agentview", 64, 64)
    theirs = others.render(other.scene, "agentview", 64, 64)
    assert np.array_equal(cameras.render(simulation.scene, "agentview", 64, 64), mine)
    others.close()
    other.close()
    assert not np.array_equal(mine, theirs)
    assert np.array_equal(cameras.render(simulation.scene, "agentview", 64, 64), mine)


def test_a_larger_picture_is_rendered_after_a_smaller_one(simulation, cameras):
    simulation.start(simulation.task.initial_states()[0])
    assert cameras.render(simulation.scene, "agentview", 800, 700).shape == (800, 700, 3)


def test_an_unknown_camera_is_refused_with_the_known_ones(simulation, cameras):
    with pytest.raises(ValueError, match=r"agentview.*got 'moonview'"):
        cameras.render(simulation.scene, "moonview", 64, 64)


def test_orientations_are_turns_of_the_raw_picture():
    raw = np.arange(2 * 2 * 3, dtype=np.uint8).reshape(2, 2, 3)
    assert np.array_equal(oriented(raw, "raw"), raw)
    assert np.array_equal(oriented(raw, "upright"), raw[::-1])
    assert np.array_equal(oriented(raw, "rot180"), np.rot90(raw, 2))
