"""Tests of the batched AutoResearch environment, most of them with a fake sandbox."""

import warnings

import gymnasium as gym
import numpy as np
import pytest
from gymnasium.error import ClosedEnvironmentError, ResetNeeded
from gymnasium.utils.env_checker import data_equivalence
from gymnasium.vector import AsyncVectorEnv, AutoresetMode, SyncVectorEnv
from testing_autoresearch import BAD_SYNTAX, NO_CODE, FakeSandbox, fake_tasks, program

from wmrl_envs.autoresearch.env import AutoResearchEnv
from wmrl_envs.autoresearch.vector_env import AutoResearchVectorEnv

ID = "wmrl_envs:WMRL/AutoResearch-v0"
MENU = [
    NO_CODE,
    BAD_SYNTAX,
    program("ok 0.2"),
    program("ok 0.9"),
    program("ok -1"),
    program("nothing"),
    program("error"),
    program("timeout"),
    program("crash"),
]
KWARGS = {"tasks": fake_tasks(), "max_turns": 2}


@pytest.fixture
def sandbox():
    return FakeSandbox()


@pytest.fixture
def make(sandbox):
    def make_envs(num_envs=3, **kwargs):
        return AutoResearchVectorEnv(num_envs, **{**KWARGS, "sandbox": sandbox, **kwargs})

    return make_envs


def draw(rng, num_envs):
    return tuple(MENU[i] for i in rng.integers(len(MENU), size=num_envs))


def assert_equal(ours, theirs):
    """Equal in values, types of arrays and, up to the arrays' items, in structure."""
    assert data_equivalence(ours, theirs, exact=True)


def single(max_episode_steps=None, sandbox=None):
    return gym.make(
        ID, sandbox=sandbox or FakeSandbox(), max_episode_steps=max_episode_steps, **KWARGS
    )


class TestEqualsSyncVectorEnv:
    @pytest.mark.parametrize("max_episode_steps", [None, 1, 2, 3])
    @pytest.mark.parametrize("mode", [AutoresetMode.NEXT_STEP, AutoresetMode.SAME_STEP])
    @pytest.mark.parametrize("num_envs", [1, 2, 5])
    @pytest.mark.parametrize("options", [None, {"execute": {3, 5}}, {"task": "task-1"}])
    def test_with_autoreset(self, make, num_envs, mode, max_episode_steps, options):
        ours = make(num_envs, autoreset_mode=mode, max_episode_steps=max_episode_steps)
        theirs = SyncVectorEnv([lambda: single(max_episode_steps)] * num_envs, autoreset_mode=mode)
        assert_equal(ours.reset(seed=3, options=options), theirs.reset(seed=3, options=options))
        rng = np.random.default_rng(0)
        for _ in range(12):
            actions = draw(rng, num_envs)
            assert_equal(ours.step(actions), theirs.step(actions))
        assert_equal(ours.reset(), theirs.reset())

    @pytest.mark.parametrize("num_envs", [1, 2, 5])
    def test_without_autoreset(self, make, num_envs):
        ours = make(num_envs)
        theirs = SyncVectorEnv([single] * num_envs, autoreset_mode=AutoresetMode.DISABLED)
        rng = np.random.default_rng(1)
        for seed in (4, [7] * num_envs, None):
            assert_equal(ours.reset(seed=seed), theirs.reset(seed=seed))
            for _ in range(2):
                actions = draw(rng, num_envs)
                assert_equal(ours.step(actions), theirs.step(actions))

    def test_resetting_some_sub_environments(self, make):
        ours = make(3)
        theirs = SyncVectorEnv([single] * 3, autoreset_mode=AutoresetMode.DISABLED)
        for envs in (ours, theirs):
            envs.reset(seed=0)
            envs.step(tuple(MENU[:3]))
        mask = np.array([True, False, True])
        options = {"task": "task-2"}
        assert_equal(
            ours.reset(seed=[5, 6, 7], options={**options, "reset_mask": mask}),
            theirs.reset(seed=[5, 6, 7], options={**options, "reset_mask": mask}),
        )
        ours_next, theirs_next = (envs.step((NO_CODE,) * 3) for envs in (ours, theirs))
        assert_equal(ours_next, theirs_next)

    def test_spaces_metadata_and_generators(self, make):
        ours = make(2, autoreset_mode="NextStep")
        theirs = SyncVectorEnv([single] * 2)
        assert ours.observation_space == theirs.observation_space
        assert ours.action_space == theirs.action_space
        assert ours.single_observation_space == theirs.single_observation_space
        assert ours.metadata == theirs.metadata
        for envs in (ours, theirs):
            envs.reset(seed=[3, 9])
        assert ours.np_random_seed == theirs.np_random_seed == (3, 9)
        draws = [[rng.random() for rng in envs.np_random] for envs in (ours, theirs)]
        assert draws[0] == draws[1]

    def test_observations_are_members_of_the_batched_space(self, make):
        envs = make(3)
        assert envs.reset(seed=0)[0] in envs.observation_space
        assert envs.step(tuple(MENU[:3]))[0] in envs.observation_space


class TestFreezing:
    def finished(self, make, sandbox, mask):
        """Three sub-environments, those of the mask one turn behind the others."""
        envs = make(3)
        envs.reset(seed=0)
        envs.step((program("ok 0.3"),) * 3)
        envs.reset(seed=10, options={"reset_mask": np.array(mask)})
        return envs, envs.step((program("ok 0.5"),) * 3)

    def test_a_finished_sub_environment_repeats_its_last_observation(self, make, sandbox):
        envs, (before, *_) = self.finished(make, sandbox, [False, True, False])
        after, rewards, terminations, truncations, infos = envs.step((program("ok 0.7"),) * 3)
        for i in (0, 2):
            assert {key: before[key][i] for key in before} == {key: after[key][i] for key in after}
        assert rewards.tolist() == pytest.approx([0.0, 0.85, 0.0])
        assert terminations.tolist() == [True, True, True]
        assert not truncations.any()
        assert infos["_graded"].tolist() == [False, True, False]

    def test_its_actions_are_ignored_whatever_they_are(self, make, sandbox):
        envs, _ = self.finished(make, sandbox, [False, True, False])
        jobs = len(sandbox.jobs)
        envs.step((None, NO_CODE, program("ok 0.77")))
        assert len(sandbox.jobs) == jobs

    def test_when_all_are_finished_a_step_changes_nothing(self, make, sandbox):
        envs = make(2, max_turns=1)
        envs.reset(seed=0)
        before = envs.step((program("ok"), NO_CODE))
        for _ in range(2):
            after = envs.step((program("ok 0.1"), program("ok 0.2")))
            assert_equal(after[0], before[0])
            assert after[1].tolist() == [0.0, 0.0]
            assert after[2].tolist() == [True, True]
            assert after[4] == {}

    def test_a_truncated_sub_environment_stays_truncated(self, make):
        envs = make(2, max_turns=3, max_episode_steps=1)
        envs.reset(seed=0)
        for _ in range(2):
            _, rewards, terminations, truncations, _ = envs.step((program("ok"),) * 2)
            assert rewards.tolist() == [0.0, 0.0]
            assert (terminations.tolist(), truncations.tolist()) == ([False] * 2, [True] * 2)

    def test_a_reset_thaws_all_of_them(self, make):
        envs = make(2, max_turns=1)
        for _ in range(2):
            envs.reset(seed=0)
            rewards = envs.step((program("ok 0.4"),) * 2)[1]
            assert rewards.tolist() == pytest.approx([0.7, 0.7])


class TestBatching:
    def test_the_programs_of_a_step_are_one_batch(self, make, sandbox):
        envs = make(4)
        envs.reset(seed=0)
        envs.step((program("ok 0.1"), NO_CODE, program("ok 0.2"), program("ok 0.3")))
        assert sandbox.batches == [3]

    def test_equal_programs_of_a_step_are_executed_once(self, make, sandbox):
        envs = make(4)
        envs.reset(seed=[5] * 4)
        envs.step((program("ok 0.1"), program("ok 0.2"), program("ok 0.1"), program("ok 0.1")))
        assert sandbox.batches == [2]
        assert envs.metrics()["executions"] == 4
        assert envs.metrics()["cached_executions"] == 2
        assert envs.metrics()["execution_cpu_s"] == pytest.approx(4 * 0.25)

    def test_without_a_cache_each_is_executed(self, make, sandbox):
        envs = make(4, cache=False)
        envs.reset(seed=[5] * 4)
        envs.step((program("ok 0.1"),) * 4)
        assert sandbox.batches == [4]

    def test_a_program_that_breaks_the_sandbox_costs_the_others_nothing(self, make):
        envs = make(4, max_turns=1)
        envs.reset(seed=0)
        actions = (program("ok 0.1"), program("crash"), program("ok 0.3"), program("crash 1"))
        _, rewards, _, _, infos = envs.step(actions)
        assert infos["graded"].tolist() == [True, False, True, True]
        assert infos["_measured_reward"].tolist() == [True, False, True, True]
        assert rewards.tolist() == pytest.approx([0.55, 0.0, 0.65, 1.0])

    def test_a_dead_sandbox_is_given_up_after_a_few_attempts(self, make, sandbox):
        envs = make(50, max_turns=1)
        envs.reset(seed=0)
        *_, infos = envs.step(tuple(program("crash", salt=i) for i in range(50)))
        assert not infos["graded"].any()
        assert envs.metrics()["failed_executions"] == 50
        assert len(sandbox.batches) <= 4

    def test_a_group_of_equal_seeds_starts_from_one_state(self, make):
        observations, infos = make(4).reset(seed=[3, 3, 4, 4])
        assert infos["task"][0] == infos["task"][1] != infos["task"][2] == infos["task"][3]
        assert len(set(observations["task"])) == 2

    def test_a_set_of_seeds_says_which_sub_environments_execute(self, make, sandbox):
        envs = make(4, max_turns=1)
        envs.reset(seed=[3, 3, 4, 4], options={"execute": {4}})
        *_, infos = envs.step(tuple(program("ok", salt=i) for i in range(4)))
        assert infos["graded"].tolist() == [False, False, True, True]
        assert len(sandbox.jobs) == 2


class TestMisuse:
    @pytest.mark.parametrize(
        ("actions", "error", "match"),
        [
            (program("ok"), TypeError, "3 strings"),
            ((NO_CODE,) * 2, ValueError, "3 strings, got 2"),
            ((NO_CODE, None, NO_CODE), TypeError, "NoneType"),
            ((NO_CODE, 3, NO_CODE), TypeError, "int"),
            (7, TypeError, "actions"),
            (None, TypeError, "actions"),
        ],
    )
    def test_wrong_actions_are_refused_and_change_nothing(self, make, actions, error, match):
        envs = make(3)
        envs.reset(seed=0)
        with pytest.raises(error, match=match):
            envs.step(actions)
        assert envs.step((NO_CODE,) * 3)[0]["turn"].tolist() == [1, 1, 1]

    @pytest.mark.parametrize("kind", [list, np.array, lambda x: np.array(x, dtype=object)])
    def test_lists_and_arrays_of_strings_will_do(self, make, kind):
        envs = make(2, max_turns=1)
        envs.reset(seed=0)
        assert envs.step(kind([program("ok 0.4"), NO_CODE]))[1].tolist() == pytest.approx([0.7, 0])

    @pytest.mark.parametrize("seed", [np.int64(4), [4, np.int64(5)], (4, 5), np.array([4, 5])])
    def test_numpys_integers_are_seeds(self, make, seed):
        assert_equal(make(2).reset(seed=seed), make(2).reset(seed=4))

    def test_the_number_of_seeds_must_fit(self, make):
        with pytest.raises(ValueError, match="3 seeds, got 2"):
            make(3).reset(seed=[1, 2])

    @pytest.mark.parametrize("seed", ["12", 1.5, [1.5, 2.5], ["1", "2"]])
    def test_seeds_that_are_no_integers_are_refused(self, make, seed):
        with pytest.raises(TypeError):
            make(2).reset(seed=seed)

    def test_options_that_are_no_dictionary_are_refused(self, make):
        with pytest.raises(TypeError, match="options"):
            make(2).reset(options=["task"])

    @pytest.mark.parametrize(
        ("mask", "error"),
        [
            ([True, False, True], TypeError),
            (np.array([1, 0, 1]), TypeError),
            (np.array([True]), ValueError),
            (np.zeros(3, dtype=bool), ValueError),
        ],
    )
    def test_a_wrong_reset_mask_is_refused(self, make, mask, error):
        envs = make(3)
        envs.reset(seed=0)
        with pytest.raises(error, match="reset_mask"):
            envs.reset(options={"reset_mask": mask})

    def test_the_callers_options_are_left_alone(self, make):
        envs = make(2)
        envs.reset(seed=0)
        options = {"reset_mask": np.array([True, False])}
        envs.reset(options=options)
        assert list(options) == ["reset_mask"]

    def test_a_step_before_the_reset_is_refused(self, make):
        with pytest.raises(ResetNeeded):
            make(2).step((NO_CODE,) * 2)

    def test_a_first_reset_of_some_is_refused(self, make):
        with pytest.raises(ResetNeeded):
            make(2).reset(options={"reset_mask": np.array([True, False])})

    def test_a_closed_environment_refuses_to_go_on(self, make):
        envs = make(2)
        envs.reset(seed=0)
        envs.close()
        envs.close()
        with pytest.raises(ClosedEnvironmentError):
            envs.step((NO_CODE,) * 2)
        with pytest.raises(ClosedEnvironmentError):
            envs.reset()

    @pytest.mark.parametrize(
        ("kwargs", "error", "match"),
        [
            ({"num_envs": 0}, ValueError, "num_envs.*0"),
            ({"num_envs": "two"}, TypeError, "num_envs.*two"),
            ({"workers": 0}, ValueError, "workers.*0"),
            ({"autoreset_mode": "never"}, ValueError, "autoreset_mode.*'Disabled'.*'never'"),
            ({"max_episode_steps": 0}, ValueError, "max_episode_steps.*0"),
            ({"max_turns": 0}, ValueError, "max_turns.*0"),
            ({"render_mode": "human"}, ValueError, "render_mode.*human"),
        ],
    )
    def test_an_impossible_argument_is_refused_by_name(self, make, kwargs, error, match):
        with pytest.raises(error, match=match):
            make(**kwargs)


class TestMaking:
    def test_make_vec_finds_it(self, sandbox):
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            envs = gym.make_vec(ID, num_envs=3, sandbox=sandbox, **KWARGS)
        assert isinstance(envs.unwrapped, AutoResearchVectorEnv)
        assert envs.metadata["autoreset_mode"] is AutoresetMode.DISABLED

    def test_make_vec_passes_the_time_limit(self, sandbox):
        envs = gym.make_vec(ID, num_envs=2, sandbox=sandbox, max_episode_steps=1, **KWARGS)
        envs.reset(seed=0)
        assert envs.step((NO_CODE,) * 2)[3].tolist() == [True, True]

    def test_make_vec_can_still_make_a_loop_of_single_environments(self, sandbox):
        envs = gym.make_vec(ID, num_envs=2, vectorization_mode="sync", sandbox=sandbox, **KWARGS)
        assert isinstance(envs, SyncVectorEnv)
        envs.reset(seed=0)
        envs.step((program("ok"), NO_CODE))

    def test_the_specification_survives_json(self):
        envs = gym.make_vec(ID, num_envs=2, tasks="train", autoreset_mode="SameStep")
        spec = gym.envs.registration.EnvSpec.from_json(envs.spec.to_json())
        again = gym.make_vec(spec)
        assert again.num_envs == 2
        assert again.metadata["autoreset_mode"] is AutoresetMode.SAME_STEP
        assert_equal(again.reset(seed=5), envs.reset(seed=5))

    def test_statistics_wrappers_fit_around_it(self, make):
        envs = gym.wrappers.vector.RecordEpisodeStatistics(make(2, max_turns=1))
        envs.reset(seed=0)
        *_, infos = envs.step((program("ok 0.4"), NO_CODE))
        assert infos["episode"]["r"].tolist() == pytest.approx([0.7, 0.0])

    def test_rendering_tells_every_episode(self, make):
        envs = make(2, render_mode="ansi")
        envs.reset(seed=0)
        envs.step((program("ok"), NO_CODE))
        assert ["malformed" in text for text in envs.render()] == [False, True]

    def test_without_a_render_mode_nothing_is_rendered(self, make):
        assert make(2).render() is None

    def test_single_environments_work_in_worker_processes(self):
        def make_single():
            return AutoResearchEnv(**KWARGS, sandbox=FakeSandbox())

        envs = AsyncVectorEnv([make_single] * 2, shared_memory=False)
        try:
            theirs = SyncVectorEnv([make_single] * 2)
            assert_equal(envs.reset(seed=0), theirs.reset(seed=0))
            actions = (program("ok 0.4"), NO_CODE)
            assert_equal(envs.step(actions), theirs.step(actions))
        finally:
            envs.close()
