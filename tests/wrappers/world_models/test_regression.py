"""The regression on an execution log: what it learns, and what it leaves open."""

import json
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import pytest

from wmrl_envs.errors import WorldModelError
from wmrl_envs.wrappers.world_models import Episode, LoggedEpisode, RegressionWorldModel

BROKEN = "x = = 1"


def log(count: int = 40, offset: int = 0) -> list[LoggedEpisode]:
    """Scripts that call ``good`` or ``bad``, rewarded by that."""
    return [
        LoggedEpisode(f"rows {i % 4}", (f"{'bad' if i % 2 else 'good'}({i})",), 0.9 - 0.8 * (i % 2))
        for i in range(offset, offset + count)
    ]


@pytest.fixture(scope="module")
def fitted() -> RegressionWorldModel:
    return RegressionWorldModel().fit(log())


def rewards(model: RegressionWorldModel, *actions: object) -> list[float | None]:
    """Predictions for one-turn episodes."""
    return [p.reward for p in model.predict([Episode("rows 1", (a,)) for a in actions])]


def test_it_tells_good_scripts_from_bad_ones(fitted: RegressionWorldModel) -> None:
    good, bad = rewards(fitted, "good(99)", "bad(99)")
    assert good is not None and bad is not None
    assert good > 0.7 > 0.3 > bad


def test_texts_that_do_not_compile_are_worth_nothing(fitted: RegressionWorldModel) -> None:
    assert rewards(fitted, BROKEN, "I would rather not.") == [0.0, 0.0]


@pytest.mark.parametrize("actions", [(), (np.zeros(3),), (1,), (BROKEN, np.zeros(3))])
def test_without_a_script_it_has_no_opinion(
    fitted: RegressionWorldModel, actions: tuple[object, ...]
) -> None:
    assert fitted.predict([Episode("rows 1", actions)])[0].reward is None


def test_several_turns_are_answered_with_the_best(fitted: RegressionWorldModel) -> None:
    good, bad = (Episode("rows 1", (f"{word}(9)",)) for word in ("good", "bad"))
    both = Episode("rows 1", ("bad(9)", "good(9)", "bad(9)", BROKEN))
    best, alone, worst = (p.reward for p in fitted.predict([both, good, bad]))
    assert best == alone != worst


def test_predictions_do_not_depend_on_their_company(fitted: RegressionWorldModel) -> None:
    together = rewards(fitted, "good(1)", BROKEN, np.zeros(2), "bad(2)", "unheard_of()")
    alone = [rewards(fitted, a)[0] for a in ("good(1)", BROKEN)]
    assert together[:2] == alone and len(together) == 5


def test_unknown_words_and_tasks_are_answered_within_the_range() -> None:
    model = RegressionWorldModel(low=0.2, high=0.8).fit(log())
    answers = rewards(model, "unheard_of()", "good(1)", "bad(1)")
    assert all(a is not None and 0.2 <= a <= 0.8 for a in answers)
    assert model.predict([]) == []


def test_equal_rewards_are_predicted_everywhere() -> None:
    model = RegressionWorldModel().fit([LoggedEpisode("t", (f"x = {i}",), 0.3) for i in range(9)])
    assert rewards(model, "x = 1", "y = 2") == pytest.approx([0.3, 0.3])


def test_a_single_episode_is_enough_to_predict_and_gives_no_pairs() -> None:
    model = RegressionWorldModel().fit([LoggedEpisode("t", ("x = 1",), 0.3)])
    assert rewards(model, "x = 1") == pytest.approx([0.3])
    predicted, measured, tasks = model.out_of_fold()
    assert predicted.shape == measured.shape == (0,) and tasks == []


@pytest.mark.parametrize("broken", [[], [LoggedEpisode("t", (BROKEN,), 0.0)] * 3])
def test_a_log_without_a_script_that_compiles_teaches_nothing(
    broken: Sequence[LoggedEpisode],
) -> None:
    with pytest.raises(ValueError, match=f"whose code compiles, got {len(broken)} without"):
        RegressionWorldModel().fit(broken)


def test_scripts_that_do_not_compile_do_not_change_what_is_learned() -> None:
    mixed = [*log(), *[LoggedEpisode("rows 1", (BROKEN,), 0.0)] * 20]
    scripts = [f"{word}({i})" for word in ("good", "bad", "new") for i in range(5)]
    plain = RegressionWorldModel().fit(log())
    assert rewards(RegressionWorldModel().fit(mixed), *scripts) == rewards(plain, *scripts)


def test_further_episodes_are_added_to_what_it_knew() -> None:
    grown = RegressionWorldModel().fit(log(20)).partial_fit(log(20, offset=20))
    whole = RegressionWorldModel().fit(log(40))
    assert rewards(grown, "good(3)", "new()") == rewards(whole, "good(3)", "new()")
    assert grown.log == whole.log


def test_fitting_anew_forgets() -> None:
    model = RegressionWorldModel().fit([LoggedEpisode("t", (f"x = {i}",), 0.1) for i in range(9)])
    model.fit(log())
    assert rewards(model, "good(3)") == rewards(RegressionWorldModel().fit(log()), "good(3)")


def test_a_failed_fit_leaves_the_model_as_it_was() -> None:
    model = RegressionWorldModel().fit(log())
    before = rewards(model, "good(3)")
    with pytest.raises(ValueError):
        model.fit([])
    assert rewards(model, "good(3)") == before


def test_a_saved_model_predicts_the_same(tmp_path: Path) -> None:
    model = RegressionWorldModel(low=0.1, high=0.7, folds=3, seed=5).fit(log())
    model.save(tmp_path)
    again = RegressionWorldModel.load(tmp_path)
    scripts = ("good(3)", "bad(8)", "new()", BROKEN)
    assert rewards(again, *scripts) == rewards(model, *scripts)
    assert np.array_equal(again.out_of_fold()[0], model.out_of_fold()[0])


@pytest.mark.parametrize(
    "settings",
    [
        "{",
        "[]",
        '{"low": 0.0, "high": 1.0}',
        '{"format": "wmrl-envs regression 2", "settings": {}}',
        '{"format": "wmrl-envs regression 1", "settings": 3}',
    ],
)
def test_a_foreign_settings_file_is_named(tmp_path: Path, settings: str) -> None:
    RegressionWorldModel().fit(log()).save(tmp_path)
    (tmp_path / "regression.json").write_text(settings)
    with pytest.raises(ValueError, match=r"regression\.json: not the settings of a regression"):
        RegressionWorldModel.load(tmp_path)


@pytest.mark.parametrize("change", [{"lower": 1}, {"low": 2}, {"folds": "many"}])
def test_settings_that_are_none_are_refused(tmp_path: Path, change: dict[str, object]) -> None:
    RegressionWorldModel().fit(log()).save(tmp_path)
    record = json.loads((tmp_path / "regression.json").read_text())
    record["settings"] |= change
    (tmp_path / "regression.json").write_text(json.dumps(record))
    with pytest.raises(ValueError, match="not a saved regression"):
        RegressionWorldModel.load(tmp_path)


@pytest.mark.parametrize("damage", [lambda b: b[: len(b) // 2], lambda b: b + b, lambda b: b""])
def test_a_damaged_or_changed_log_is_refused(
    tmp_path: Path, damage: Callable[[bytes], bytes]
) -> None:
    """Half of a log is a log: only the digest tells that a part is missing."""
    RegressionWorldModel().fit(log()).save(tmp_path)
    path = tmp_path / "execution_log.jsonl"
    lines = path.read_bytes()
    path.write_bytes(damage(lines))
    with pytest.raises(ValueError, match=r"execution_log\.jsonl is not the log .* saved with"):
        RegressionWorldModel.load(tmp_path)


@pytest.mark.parametrize("name", ["regression.json", "execution_log.jsonl"])
def test_a_missing_file_is_a_missing_file(tmp_path: Path, name: str) -> None:
    RegressionWorldModel().fit(log()).save(tmp_path)
    (tmp_path / name).unlink()
    with pytest.raises(FileNotFoundError, match=name):
        RegressionWorldModel.load(tmp_path)


def test_settings_are_plain_json(tmp_path: Path) -> None:
    RegressionWorldModel(seed=3).fit(log()).save(tmp_path)
    assert json.loads((tmp_path / "regression.json").read_text())["settings"]["seed"] == 3


@pytest.mark.parametrize("action", ["predict", "out_of_fold", "save"])
def test_before_a_fit_there_is_nothing(tmp_path: Path, action: str) -> None:
    arguments = {"predict": ([],), "out_of_fold": (), "save": (tmp_path,)}[action]
    with pytest.raises(WorldModelError, match=f"must be fitted .* before {action}"):
        getattr(RegressionWorldModel(), action)(*arguments)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [({"low": 1.0}, "low must be below high"), ({"folds": 1}, "folds must be at least 2, got 1")],
)
def test_impossible_settings_are_refused(arguments: dict[str, float], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        RegressionWorldModel(**arguments)  # type: ignore[arg-type]


def test_out_of_fold_pairs_are_of_the_episodes_that_compile() -> None:
    model = RegressionWorldModel().fit([*log(20), LoggedEpisode("t", (BROKEN,), 0.0)])
    predicted, measured, tasks = model.out_of_fold()
    assert measured.tolist() == [e.reward for e in log(20)]
    assert tasks == [e.task for e in log(20)] and predicted.shape == (20,)


def test_out_of_fold_predictions_have_not_seen_the_reward() -> None:
    """Rewards are noise: in sample they are remembered, out of fold they cannot be known."""
    noise = np.random.default_rng(0).random(60)
    episodes = [LoggedEpisode("t", (f"x{i} = {i}",), r) for i, r in enumerate(noise)]
    model = RegressionWorldModel().fit(episodes)
    predicted, measured, _ = model.out_of_fold()
    seen = np.array([p.reward for p in model.predict([e.episode for e in episodes])])
    assert abs(np.corrcoef(predicted, measured)[0, 1]) < 0.4
    assert np.abs(seen - measured).mean() < np.abs(predicted - measured).mean()


def test_equal_episodes_share_a_fold() -> None:
    """Otherwise a twin in the other folds would tell the reward."""
    noise = np.random.default_rng(0).random(30)
    once = [LoggedEpisode("t", (f"x{i} = {i}",), r) for i, r in enumerate(noise)]
    predicted, measured, _ = RegressionWorldModel().fit([*once, *once, *once]).out_of_fold()
    assert np.abs(predicted - measured).mean() > 0.15
    assert np.array_equal(predicted[:30], predicted[30:60])


def test_a_log_shorter_than_the_folds_leaves_out_one_at_a_time() -> None:
    predicted, measured, _ = RegressionWorldModel(folds=5).fit(log(3)).out_of_fold()
    assert predicted.shape == measured.shape == (3,)
    assert np.isfinite(predicted).all()
