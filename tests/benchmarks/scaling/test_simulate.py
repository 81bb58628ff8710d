"""The simulated cluster agrees with what can be computed by hand."""

import pytest
import simpy

from wmrl_envs.benchmarks.scaling.gpus import SharedGpus
from wmrl_envs.benchmarks.scaling.simulate import simulate
from wmrl_envs.benchmarks.scaling.workload import Arm, Workload

ALIKE = Workload(
    turn_spread=0.0, execution_spread=0.0, execution_seconds=20.0, stream_share=1.0, staleness=0
)


def test_saturated_slots_take_the_work_over_the_slots() -> None:
    busy = Workload(execution_seconds=100.0, execution_spread=0.0)
    found = simulate(busy, "real", measured=30)
    work = busy.trajectories * busy.turns * busy.execution_seconds
    assert found.step_seconds == pytest.approx(work / busy.slots, rel=0.05)
    assert found.slot_use == pytest.approx(1.0, abs=0.03)


def test_without_contention_a_synchronous_step_takes_the_longest_trajectory() -> None:
    roomy = ALIKE.with_(gpus=64, update_gpu_seconds=6.4)
    found = simulate(roomy, "real", measured=3, slots=64)
    turn = roomy.turn_gpu_seconds + roomy.execution_seconds
    assert found.step_seconds == pytest.approx(roomy.turns * turn + 6.4)
    assert found.wait_seconds == 0


def test_without_waiting_gpus_bound_a_step() -> None:
    bound = Workload()
    found = simulate(bound.with_(in_order=False), "world-model", measured=30)
    assert found.step_seconds == pytest.approx(bound.gpu_seconds("world-model") / 8, rel=0.05)
    assert found.gpu_use == pytest.approx(1.0, abs=0.01)


def test_an_execution_ends_at_the_limit() -> None:
    long = ALIKE.with_(gpus=64, execution_seconds=1e4, time_limit=50.0)
    short = long.with_(execution_seconds=50.0)
    results = [simulate(w, "real", measured=2, slots=64).step_seconds for w in (long, short)]
    assert results[0] == pytest.approx(results[1])


def test_all_anchors_execute_as_much_as_real_execution_and_none_nothing() -> None:
    load = Workload(execution_seconds=60.0)
    real = simulate(load, "real", measured=20)
    every = simulate(load.with_(anchors=1.0, anchor_cap=1000), "wmrl", measured=20)
    none = simulate(load.with_(anchors=0.0), "wmrl", measured=20)
    assert every.step_seconds == pytest.approx(real.step_seconds, rel=0.1)
    assert none == simulate(load, "world-model", measured=20)


def test_the_cap_on_anchors_holds_executions_back() -> None:
    load = Workload(execution_seconds=60.0)
    free, capped = (
        simulate(load.with_(anchor_cap=cap), "wmrl", measured=20).step_seconds for cap in (24, 2)
    )
    assert capped > 1.5 * free


@pytest.mark.parametrize("arm", ["real", "wmrl", "world-model"])
def test_groups_in_order_stay_within_the_staleness_bound(arm: Arm) -> None:
    found = simulate(Workload(staleness=3), arm, measured=20)
    assert found.staleness <= 3


def test_running_ahead_hides_executions() -> None:
    load = Workload(execution_seconds=5.0)
    ahead, at_once = (
        simulate(load.with_(staleness=s), "real", measured=20).step_seconds for s in (9, 0)
    )
    assert ahead < at_once


def test_the_same_seed_gives_the_same_run() -> None:
    load = Workload(staleness=1)
    first, again, other = (simulate(load, "wmrl", measured=2, seed=s) for s in (0, 0, 1))
    assert first == again != other


def test_streams_share_gpus_evenly_and_stop_while_paused() -> None:
    env = simpy.Environment()
    gpus = SharedGpus(env, gpus=1, stream_share=0.8)
    ends = {}

    def stream(name: str, work: float) -> simpy.events.ProcessGenerator:
        yield gpus.work(work)
        ends[name] = env.now

    env.process(stream("short", 1.0))
    env.process(stream("long", 3.0))
    env.run(until=1.0)
    gpus.pause()
    env.run(until=6.0)
    gpus.resume()
    env.run()
    # Both at 0.5 until the short one ends at 2 + 5, then the long one alone at 0.8.
    assert ends == {"short": pytest.approx(7.0), "long": pytest.approx(7.0 + 2.0 / 0.8)}
    assert gpus.busy == pytest.approx(4.0)


@pytest.mark.parametrize(
    ("name", "value"),
    [("groups", 0), ("execution_seconds", 0.0), ("staleness", -1), ("anchors", 1.5)],
)
def test_a_number_out_of_range_is_named(name: str, value: float) -> None:
    with pytest.raises(ValueError, match=name):
        Workload(**{name: value})  # type: ignore[arg-type]
