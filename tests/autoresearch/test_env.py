"""Tests of the single AutoResearch environment, most of them with a fake sandbox."""

import gc
import warnings
import weakref

import gymnasium as gym
import numpy as np
import pytest
from gymnasium.error import ClosedEnvironmentError, ResetNeeded
from gymnasium.utils.env_checker import check_env, data_equivalence
from testing_autoresearch import BAD_SYNTAX, NO_CODE, FakeSandbox, fake_tasks, program

from wmrl_envs.autoresearch.env import AutoResearchEnv
from wmrl_envs.autoresearch.sandbox import Limits

ID = "wmrl_envs:WMRL/AutoResearch-v0"
NASTY = [
    "",
    " \n\t",
    "\x00",
    "\ud800 = 1",
    "```python\n\x00\n```",
    "```python\nx = '\udfff'\n```",
    "```python\n" + "(" * 5000 + "\n```",
    "```python\n" + "-" * 50_000 + "1\n```",
    "```python\n" + "x" * 300_000,
    "```" * 1000,
]


@pytest.fixture
def sandbox():
    return FakeSandbox()


@pytest.fixture
def make(sandbox):
    def make_env(**kwargs):
        kwargs = {"tasks": fake_tasks(), "sandbox": sandbox, **kwargs}
        return AutoResearchEnv(**kwargs)

    return make_env


def play(env, *actions, seed=0, options=None):
    """Plays one episode; returns the last transition."""
    env.reset(seed=seed, options=options)
    for action in actions:
        transition = env.step(action)
    return transition


class TestRewards:
    @pytest.mark.parametrize(
        ("action", "status", "reward"),
        [
            (NO_CODE, "malformed", 0.0),
            (BAD_SYNTAX, "syntax_error", 0.0),
            (program("error"), "runtime_error", 0.1),
            (program("killed"), "runtime_error", 0.1),
            (program("output"), "runtime_error", 0.1),
            (program("timeout"), "timeout", 0.1),
            (program("cpu"), "timeout", 0.1),
            (program("memory"), "memory", 0.1),
            (program("nothing"), "no_submission", 0.2),
            (program("ok -1"), "invalid_submission", 0.2),
            (program("ok 0.6"), "valid", 0.8),
        ],
    )
    def test_every_status_has_its_rung_on_the_ladder(self, make, action, status, reward):
        _, paid, terminated, truncated, info = play(make(), action)
        assert paid == pytest.approx(reward)
        assert info == {"graded": True, "measured_reward": paid, "grade_status": status}
        assert (terminated, truncated) == (True, False)

    def test_the_position_alone_can_be_the_reward(self, make):
        assert play(make(reward="position"), program("ok 0.6"))[1] == pytest.approx(0.6)
        assert play(make(reward="position"), program("error"))[1] == 0.0

    def test_the_raw_score_can_be_the_reward(self, make):
        assert play(make(reward="score"), program("ok 12.5"))[1] == pytest.approx(12.5)

    def test_without_a_score_there_is_no_raw_score_to_pay(self, make):
        _, reward, _, _, info = play(make(reward="score"), program("error"))
        assert reward == 0.0
        assert info == {"graded": False, "grade_status": "runtime_error"}

    def test_rewards_and_flags_are_plain_python_values(self, make):
        _, reward, terminated, truncated, info = play(make(), program("ok 0.6"))
        assert type(reward) is float
        assert type(terminated) is bool
        assert type(truncated) is bool
        assert {key: type(value) for key, value in info.items()} == {
            "graded": bool,
            "measured_reward": float,
            "grade_status": str,
        }


class TestTurns:
    def test_the_best_turn_is_paid_once_at_the_end(self, make):
        env = make(max_turns=3)
        env.reset(seed=0)
        first = env.step(program("ok 0.2"))
        second = env.step(program("ok 0.8"))
        third = env.step(program("error"))
        assert [first[1], second[1], third[1]] == [0.0, 0.0, pytest.approx(0.9)]
        assert [first[2], second[2], third[2]] == [False, False, True]
        assert third[4]["grade_status"] == "valid"

    def test_before_the_last_turn_an_episode_is_not_graded(self, make):
        info = play(make(max_turns=2), program("ok 0.2"))[4]
        assert info == {"graded": False, "grade_status": "valid"}

    def test_turns_are_counted_in_the_observation(self, make):
        env = make(max_turns=2)
        turns = [env.reset(seed=0)[0]["turn"]]
        turns += [env.step(program("ok"))[0]["turn"] for _ in range(2)]
        assert turns == [0, 1, 2]

    def test_the_feedback_shows_the_feedback_half_and_never_the_score_half(self, make):
        feedback = play(make(max_turns=2), program("ok 0.8125"))[0]["feedback"]
        assert feedback.startswith("turn 1 of 2: valid\n")
        assert "accuracy 0.08125\nbetter than 8.1% of the leaderboard" in feedback
        assert "0.8125" not in feedback
        assert "hello from ok" in feedback

    def test_after_a_single_turn_the_feedback_holds_no_score(self, make):
        feedback = play(make(), program("ok 0.8125"))[0]["feedback"]
        assert feedback == "turn 1 of 1: valid\nstdout, its end:\nhello from ok\n"

    def test_the_feedback_shows_what_is_wrong_with_a_submission(self, make):
        assert "a bad row" in play(make(), program("ok -1"))[0]["feedback"]

    def test_the_feedback_shows_the_exception(self, make):
        feedback = play(make(max_turns=2), program("error"))[0]["feedback"]
        assert "runtime_error" in feedback
        assert "ValueError: oh no" in feedback

    def test_the_feedback_shows_what_is_wrong_with_the_syntax(self, make):
        assert "never closed" in play(make(max_turns=2), BAD_SYNTAX)[0]["feedback"]

    def test_the_feedback_can_be_the_status_alone(self, make):
        observation = play(make(max_turns=2, feedback="status"), program("ok 0.8"))[0]
        assert observation["feedback"] == "turn 1 of 2: valid\n"

    def test_the_feedback_can_be_switched_off(self, make):
        assert play(make(max_turns=2, feedback="none"), program("ok"))[0]["feedback"] == ""

    def test_a_reset_forgets_the_last_episode(self, make):
        env = make(max_turns=2)
        play(env, program("ok 0.9"))
        observation, _ = env.reset(seed=0)
        assert (observation["turn"], observation["feedback"]) == (0, "")
        assert play(env, program("error"), program("error"))[1] == pytest.approx(0.1)

    def test_a_time_limit_leaves_the_episode_ungraded(self, sandbox):
        env = gym.make(ID, tasks=fake_tasks(), sandbox=sandbox, max_turns=3, max_episode_steps=2)
        _, reward, terminated, truncated, info = play(env, program("ok"), program("ok"))
        assert (reward, terminated, truncated) == (0.0, False, True)
        assert info["graded"] is False


class TestReset:
    def test_consecutive_seeds_visit_every_task_before_any_repeats(self, make):
        env = make()
        names = [env.reset(seed=seed)[1]["task"] for seed in range(40)]
        blocks = [names[i : i + 4] for i in range(0, 40, 4)]
        assert all(len(set(block)) == 4 for block in blocks)
        assert len({tuple(block) for block in blocks}) > 1

    def test_equal_seeds_start_equally_in_every_environment(self, make):
        assert [make().reset(seed=s) for s in range(9)] == [make().reset(seed=s) for s in range(9)]

    def test_unseeded_resets_follow_from_the_last_seed(self, make):
        runs = []
        for _ in range(2):
            env = make()
            env.reset(seed=3)
            runs.append([env.reset()[1]["task"] for _ in range(12)])
        assert runs[0] == runs[1]
        assert len(set(runs[0])) > 1

    def test_an_option_chooses_the_task(self, make):
        for seed in range(5):
            _, info = make().reset(seed=seed, options={"task": "task-2"})
            assert info == {"task": "task-2"}

    def test_an_unknown_task_is_refused_by_name(self, make):
        with pytest.raises(ValueError, match=r"task-0, task-1.*'titanic'"):
            make().reset(options={"task": "titanic"})

    def test_the_card_or_the_overview_is_shown(self, make):
        options = {"task": "task-1"}
        assert make().reset(options=options)[0]["task"] == "Overview of task-1."
        card = make(observation="card").reset(options=options)[0]["task"]
        assert card.count("\n") == 3

    @pytest.mark.parametrize("options", ["task-1", ["task"], 3])
    def test_options_that_are_no_dictionary_are_refused(self, make, options):
        with pytest.raises(TypeError, match="options"):
            make().reset(options=options)

    def test_other_options_are_left_to_the_wrappers(self, make):
        make().reset(seed=0, options={"group": 7, "something": "else"})


class TestExecuteOption:
    @pytest.mark.parametrize("execute", [False, np.False_, set(), {4, 5}, [1], (), frozenset({9})])
    def test_without_permission_nothing_is_executed_or_graded(self, make, sandbox, execute):
        options = {"execute": execute}
        observation, reward, terminated, _, info = play(make(), program("ok"), options=options)
        assert (reward, terminated, info) == (0.0, True, {"graded": False})
        assert "not executed" in observation["feedback"]
        assert sandbox.batches == []

    @pytest.mark.parametrize("execute", [True, np.True_, {0}, [0, 3], range(2), np.array([0])])
    def test_with_permission_it_is(self, make, execute):
        assert play(make(), program("ok"), options={"execute": execute})[4]["graded"] is True

    @pytest.mark.parametrize("action", [NO_CODE, BAD_SYNTAX])
    def test_what_needs_no_execution_is_graded_without_permission(self, make, action):
        info = play(make(), action, options={"execute": False})[4]
        assert (info["graded"], info["measured_reward"]) == (True, 0.0)

    def test_one_turn_that_was_not_executed_leaves_the_episode_ungraded(self, make):
        env = make(max_turns=2)
        info = play(env, program("ok"), NO_CODE, options={"execute": False})[4]
        assert info == {"graded": False}

    def test_an_unseeded_episode_is_in_no_set_of_seeds(self, make):
        env = make()
        env.reset(options={"execute": {0, 1, 2}})
        assert env.step(program("ok"))[4]["graded"] is False

    @pytest.mark.parametrize("execute", ["yes", b"yes", 1, 0.5, None])
    def test_anything_else_is_refused(self, make, execute):
        with pytest.raises(TypeError, match="execute"):
            make().reset(options={"execute": execute})


class TestExecution:
    def test_equal_programs_are_executed_once_and_charged_twice(self, make, sandbox):
        env = make()
        rewards = [play(env, program("ok 0.4"))[1] for _ in range(3)]
        assert len(set(rewards)) == 1
        assert len(sandbox.jobs) == 1
        assert env.metrics() == {
            "executions": 3,
            "cached_executions": 2,
            "failed_executions": 0,
            "execution_cpu_s": 0.75,
            "execution_wall_s": 1.5,
            "cache_hit_rate": pytest.approx(2 / 3),
        }

    def test_the_cache_can_be_switched_off(self, make, sandbox):
        env = make(cache=False)
        for _ in range(3):
            play(env, program("ok 0.4"))
        assert len(sandbox.jobs) == 3
        assert env.metrics()["cached_executions"] == 0

    def test_the_cache_forgets_the_program_used_longest_ago(self, make, sandbox, monkeypatch):
        monkeypatch.setattr("wmrl_envs.autoresearch.outcome_cache._SIZE", 2)
        env = make()
        for score in (0.1, 0.2, 0.1, 0.3, 0.1, 0.2):
            play(env, program(f"ok {score}"))
        executed = [job.code.split()[2] for job in sandbox.jobs]
        assert executed == ["0.1", "0.2", "0.3", "0.2"]

    def test_equal_programs_for_different_tasks_are_both_executed(self, make, sandbox):
        env = make()
        for name in ("task-0", "task-1"):
            play(env, program("ok 0.4"), options={"task": name})
        assert len(sandbox.jobs) == 2

    @pytest.mark.parametrize("what", ["timeout", "cpu", "memory", "killed", "output"])
    def test_what_depends_on_the_machine_is_tried_again(self, make, sandbox, what):
        env = make()
        for _ in range(2):
            play(env, program(what))
        assert len(sandbox.jobs) == 2

    def test_a_program_gets_the_tasks_time_its_data_and_the_seed(self, make, sandbox):
        play(make(execution_seed=11), program("ok"))
        [job] = sandbox.jobs
        assert job.seed == 11
        assert job.limits == Limits(wall_s=5.0, cpu_s=5.0, memory_mb=777)
        assert dict(job.ro_data) == {str(fake_tasks()[0].public_dir): "/data"}

    @pytest.mark.parametrize(
        ("limits", "used"),
        [
            (Limits(wall_s=9.0), Limits(wall_s=9.0)),
            ({"wall_s": 9.0}, Limits(wall_s=9.0, cpu_s=5.0, memory_mb=777)),
            ({"processes": 4}, Limits(wall_s=5.0, cpu_s=5.0, memory_mb=777, processes=4)),
        ],
    )
    def test_limits_or_some_of_them_can_be_given(self, make, sandbox, limits, used):
        play(make(limits=limits), program("ok"))
        assert sandbox.jobs[0].limits == used

    def test_a_sandbox_that_fails_once_is_asked_again(self, make):
        env = make()
        info = play(env, program("crash 1"))[4]
        assert info["graded"] is True
        assert env.metrics()["failed_executions"] == 0

    def test_a_sandbox_that_fails_twice_leaves_the_episode_ungraded(self, make):
        env = make()
        observation, reward, terminated, _, info = play(env, program("crash"))
        assert (reward, terminated, info) == (0.0, True, {"graded": False})
        assert "not graded (the sandbox failed)" in observation["feedback"]
        assert env.metrics()["failed_executions"] == 1
        assert env.metrics()["executions"] == 0

    def test_a_failure_of_the_sandbox_is_not_remembered(self, make):
        env = make()
        graded = [play(env, program("crash 3"))[4]["graded"] for _ in range(2)]
        assert graded == [False, True]

    @pytest.mark.parametrize("action", NASTY, ids=range(len(NASTY)))
    def test_any_string_is_survivable(self, make, sandbox, action):
        _, reward, terminated, _, info = play(make(), action)
        assert (reward, terminated) == (0.0, True)
        assert info["grade_status"] in ("malformed", "syntax_error")
        assert sandbox.batches == []


class TestMisuse:
    @pytest.mark.parametrize("action", [None, 3, b"print()", ["print()"], {"code": "print()"}])
    def test_an_action_that_is_no_string_is_refused(self, make, action):
        env = make()
        env.reset(seed=0)
        with pytest.raises(TypeError, match="str"):
            env.step(action)

    def test_a_refused_action_costs_no_turn(self, make):
        env = make()
        env.reset(seed=0)
        with pytest.raises(TypeError):
            env.step(None)
        assert env.step(program("ok 0.6"))[1] == pytest.approx(0.8)

    def test_a_step_before_the_reset_is_refused(self, make):
        with pytest.raises(ResetNeeded):
            make().step(NO_CODE)

    def test_a_step_after_the_end_is_refused(self, make):
        env = make()
        play(env, NO_CODE)
        with pytest.raises(ResetNeeded):
            env.step(NO_CODE)

    def test_a_closed_environment_refuses_to_go_on(self, make):
        env = make()
        env.reset(seed=0)
        env.close()
        env.close()
        with pytest.raises(ClosedEnvironmentError):
            env.step(NO_CODE)
        with pytest.raises(ClosedEnvironmentError):
            env.reset()

    def test_closing_leaves_a_shared_sandbox_open(self, make, sandbox):
        env = make()
        play(env, program("ok"))
        env.close()
        assert not sandbox.closed

    @pytest.mark.parametrize(
        ("kwargs", "error", "match"),
        [
            ({"tasks": "titanik"}, ValueError, "titanik.*titanic"),
            ({"tasks": ()}, ValueError, "tasks"),
            ({"tasks": fake_tasks(1) * 2}, ValueError, "repeat.*task-0"),
            ({"max_turns": 0}, ValueError, "max_turns.*0"),
            ({"max_turns": 1.5}, TypeError, "max_turns.*1.5"),
            ({"max_turns": True}, TypeError, "max_turns"),
            ({"reward": "medal"}, ValueError, "reward.*'ladder'.*'medal'"),
            ({"observation": "all"}, ValueError, "observation.*'all'"),
            ({"feedback": "loud"}, ValueError, "feedback.*'loud'"),
            ({"limits": 60}, TypeError, "limits.*60"),
            ({"limits": {"hours": 3}}, TypeError, "hours"),
            ({"limits": {"wall_s": -3}}, ValueError, "wall_s.*-3"),
            ({"sandbox": {"cores": 3}}, TypeError, "cores"),
            ({"sandbox": "docker"}, TypeError, "sandbox.*docker"),
            ({"cache": 1}, TypeError, "cache.*1"),
            ({"execution_seed": -1}, ValueError, "execution_seed.*-1"),
            ({"execution_seed": None}, TypeError, "execution_seed"),
            ({"render_mode": "human"}, ValueError, "render_mode.*human"),
        ],
    )
    def test_an_impossible_argument_is_refused_by_name(self, make, kwargs, error, match):
        with pytest.raises(error, match=match):
            make(**kwargs)


class TestGymnasium:
    def test_it_passes_gymnasiums_checker_without_a_warning(self, sandbox):
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            env = gym.make(ID, tasks=fake_tasks(), sandbox=sandbox, max_turns=3)
            check_env(env.unwrapped)

    def test_the_specification_survives_json(self):
        kwargs = {"tasks": "train", "max_turns": 2, "limits": {"wall_s": 3.0}, "reward": "position"}
        env = gym.make(ID, **kwargs)
        spec = gym.envs.registration.EnvSpec.from_json(env.spec.to_json())
        again = gym.make(spec)
        assert again.unwrapped.max_turns == 2
        assert again.reset(seed=5) == env.reset(seed=5)

    def test_copies_of_the_specification_share_the_sandbox(self, sandbox):
        env = gym.make(ID, tasks=fake_tasks(), sandbox=sandbox)
        play(gym.make(env.spec), program("ok"))
        assert len(sandbox.jobs) == 1

    def test_observations_are_members_of_the_space(self, make):
        env = make(max_turns=2)
        observations = [env.reset(seed=0)[0]]
        observations += [env.step(action)[0] for action in (program("error"), NO_CODE)]
        assert all(observation in env.observation_space for observation in observations)

    def test_equal_seeds_and_actions_give_equal_episodes(self, make):
        actions = [program("ok 0.3"), program("error"), NO_CODE, program("ok 0.9")]
        runs = []
        for _ in range(2):
            env = make(max_turns=2)
            steps = [env.reset(seed=8), *map(env.step, actions[:2])]
            runs.append([*steps, env.reset(), *map(env.step, actions[2:])])
        assert data_equivalence(runs[0], runs[1], exact=True)

    def test_rendering_tells_the_episode(self, make):
        env = make(max_turns=2, render_mode="ansi")
        play(env, program("ok 0.3"), options={"task": "task-3"})
        text = env.render()
        assert text.startswith("Overview of task-3.")
        assert "salt = ''" in text
        assert "turn 1 of 2: valid" in text
        env.step(program("ok 0.6"))
        assert "reward 0.8" in env.render()

    def test_without_a_render_mode_nothing_is_rendered(self, make):
        env = make()
        env.reset()
        assert env.render() is None

    def test_a_dropped_environment_is_collected(self, make):
        env = make()
        play(env, program("ok"))
        reference = weakref.ref(env)
        del env
        gc.collect()
        assert reference() is None
