"""The page as text: complete, safe, and honest about what is missing."""

import json
import re
from pathlib import Path

import pytest
from testing_reports import ATTACK, write_arm, write_lines

from wmrl_envs.benchmarks.report.browser import script_json
from wmrl_envs.benchmarks.report.media import films
from wmrl_envs.benchmarks.report.page import build_page
from wmrl_envs.benchmarks.report.runs import find_runs
from wmrl_envs.benchmarks.report.summaries import arms


def said(page: str) -> str:
    """The page's words without markup."""
    return " ".join(re.sub(r"<[^>]+>", " ", page).split())


def test_the_page_loads_nothing_and_runs_no_script_but_its_own(html: str) -> None:
    assert not re.search(r"""(src|href)=["'](?!data:|#)""", html)
    assert "default-src 'none'" in html and "script-src 'sha256-" in html


def test_hostile_text_appears_only_escaped(html: str) -> None:
    assert "<script>window.hacked" not in html and "<img src=x" not in html
    assert html.count("&lt;script&gt;window.hacked") > 3
    block = re.search(r'id="episodes-data">(.*?)</script>', html, re.DOTALL)
    assert block is not None and "<" not in block[1] and "&" not in block[1]
    assert any(ATTACK in text for text in json.loads(block[1])["solutions"])


def test_every_section_is_there(html: str) -> None:
    keys = re.findall(r'<h2 id="([a-z-]+)"', html)
    assert keys == [
        "learning",
        "cost",
        "calibration",
        "world-model",
        "spending",
        "outcomes",
        "films",
        "episodes",
        "again",
    ]


def test_command_versions_and_seeds_are_named(html: str) -> None:
    words = said(html)
    assert "wmrl demo --seeds 2" in words and "Versions at the time of the runs: numpy" in words
    assert "seeds 0, 1" in words


def test_an_order_that_may_be_chance_is_called_so(tmp_path: Path) -> None:
    for arm in ("real", "wmrl"):
        write_arm(tmp_path / arm, arm, 0)
    words = said(build_page(find_runs([tmp_path]), "x"))
    assert "may be chance" in words and "One seed: another may turn out otherwise" in words


def test_an_unfinished_run_is_said_to_be_one(tmp_path: Path) -> None:
    write_arm(tmp_path / "real", "real", 0, last=2)
    write_arm(tmp_path / "wmrl", "wmrl", 0)
    words = said(build_page(find_runs([tmp_path]), "x"))
    assert "Unfinished: step 2 of 4 (real, seed 0)" in words
    assert "Not at the same step: real execution (step 2)" in words
    assert "fewer solutions" not in words


def test_a_lone_run_and_an_empty_one_make_a_page(tmp_path: Path) -> None:
    run = write_arm(tmp_path / "one", "wmrl", 3)
    assert "WMRL went from" in said(build_page(find_runs([run]), "x"))
    write_lines(tmp_path / "steps.jsonl", [])
    words = said(build_page(find_runs([tmp_path]), "x"))
    assert "No score has been measured yet" in words and "No step has been recorded" in words


def test_runs_of_another_track_show_with_their_own_words(tmp_path: Path) -> None:
    folder = tmp_path / "sparse"
    folder.mkdir()
    write_lines(folder / "config.json", [{"method": "sparse <b>", "seed": 0, "steps": 2}])
    write_lines(folder / "metrics.jsonl", [{"step": 1, "costs": {"executions": 4}}, {"step": 2}])
    episode = {"task": 3, "is_success": True, "predicted_reward": 0.7}
    record = {"step": 2, "in_domain": [episode] * 3, "out_of_distribution": [episode]}
    write_lines(folder / "evaluations.jsonl", [record, {"nonsense": 1}, {"step": "two"}])
    words = said(build_page(find_runs([folder]), "x"))
    assert "held-out initial states" in words and "sparse &lt;b&gt; scores 1.00" in words


def test_libero_runs_show_success_before_and_after_training(tmp_path: Path) -> None:
    states = [
        {"task": 5, "state": n, "split": split, "successes": successes}
        for n, (split, successes) in enumerate([("train", [1, 1]), ("heldout", [1, 0])])
    ]
    failures = [{**state, "successes": [0, 0]} for state in states]
    run = tmp_path / "seed-0" / "wmrl"
    for folder, found in ((run, states), (tmp_path / "sft-success", failures)):
        folder.mkdir(parents=True)
        write_lines(folder / "evaluation.json", [{"overall": 0.5, "states": found}])
    write_lines(run / "steps.jsonl", [{"step": s, "rollout/success": 0.4} for s in (1, 2)])
    words = said(build_page(find_runs([tmp_path]), "x"))
    assert "WMRL went from 0.00 to 0.50 on held-out initial states" in words
    assert "100.0 100.0 100.0 50.0 100.0 0.0" in words
    assert "Success of training rollouts" in words


def test_means_without_episodes_are_drawn(tmp_path: Path) -> None:
    write_lines(tmp_path / "evaluations.jsonl", [{"step": s, "test": 0.1 * s} for s in (0, 5)])
    words = said(build_page(find_runs([tmp_path]), "x"))
    assert "went from 0.00 to 0.50 on held-out tasks" in words and "no interval" in words


def test_a_page_of_no_runs_is_refused() -> None:
    with pytest.raises(ValueError, match="runs must hold a run"):
        build_page([], "x")


def test_films_beyond_the_limit_are_counted(comparison: Path) -> None:
    found = arms(find_runs([comparison]))
    assert films(found, most_bytes=10) == ("", 1)
    shown, left_out = films(found)
    assert left_out == 0 and 'src="data:image/png;base64,' in shown and "lift the pot" in shown


def test_data_for_scripts_reads_back() -> None:
    value = {"a": ["</script>&amp;", "\u2028", None, 0.5]}
    assert json.loads(script_json(value)) == value
