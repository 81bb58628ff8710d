"""The world model behind a real server: ``transformers serve`` with a tiny model."""

import os
import re
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from transformers import PreTrainedTokenizerFast

from wmrl_envs.errors import WorldModelError
from wmrl_envs.wrappers.world_models import EndpointWorldModel, Episode

pytestmark = [pytest.mark.slow, pytest.mark.model]

EPISODES = [Episode("Predict prices.", (f"x = {n}",)) for n in range(4)]


class Server:
    """A running ``transformers serve``; its output is read until it ends."""

    def __init__(self, folder: Path) -> None:
        command = [sys.executable, "-c", "from transformers.cli.transformers import main; main()"]
        command += ["serve", str(folder), "--host", "127.0.0.1", "--port", "0", "--device", "cpu"]
        self.process = subprocess.Popen(
            command,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            env={**os.environ, "HF_HUB_OFFLINE": "1", "OMP_NUM_THREADS": "1"},
        )
        self.url, self.lines, self.told = "", [], threading.Event()  # type: ignore[var-annotated]
        self.reader = threading.Thread(target=self.read)
        self.reader.start()

    def read(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            self.lines.append(line)
            if found := re.search(r"running on (http://[\d.:]+)", line):
                self.url = f"{found[1]}/v1"
                self.told.set()
        self.told.set()

    def stop(self) -> None:
        self.process.terminate()
        self.process.wait(30)
        self.reader.join(30)


@pytest.fixture(scope="module")
def server(
    make_model: Callable[..., Any],
    tokenizer: PreTrainedTokenizerFast,
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[Server]:
    """A server of a tiny model that this test makes."""
    for package in ("fastapi", "uvicorn", "openai"):
        pytest.importorskip(package, reason="transformers serve needs it")
    folder = tmp_path_factory.mktemp("served")
    make_model().save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    running = Server(folder)
    try:
        assert running.told.wait(120) and running.url, "".join(running.lines)[-2000:]
        yield running
    finally:
        running.stop()


def test_typed_questions_are_answered_by_a_real_server(server: Server) -> None:
    asked = EndpointWorldModel(server.url, mode="systemone", transport={"concurrency": 4})
    rewards = [p.reward for p in asked.predict([*EPISODES, Episode("", ("x = = 1",))])]
    assert rewards[-1] == 0.0
    assert all(reward is not None and 0.3 < reward < 0.7 for reward in rewards[:-1])
    assert len(set(rewards)) == len(rewards)
    alone = EndpointWorldModel(server.url, mode="systemone").predict(EPISODES[2:3])
    assert alone[0].reward == pytest.approx(rewards[2], abs=1e-6)


@pytest.mark.parametrize(
    ("settings", "field"),
    [
        ({"mode": "completions"}, "logprobs"),
        ({"mode": "chat"}, "logprobs"),
        ({"mode": "json", "generation": {"max_new_tokens": 8}, "samples": 2}, "n"),
    ],
)
def test_fields_that_a_real_server_ignores_are_noticed(
    server: Server, settings: dict[str, Any], field: str
) -> None:
    with pytest.raises(WorldModelError, match=f"ignores '{field}'"):
        EndpointWorldModel(server.url, **settings).predict(EPISODES[:2])
    forgiving = EndpointWorldModel(server.url, on_ignored="fallback", **settings)
    with pytest.warns(RuntimeWarning, match=f"ignores '{field}'"):
        found = forgiving.predict(EPISODES[:2])
    # A random model hardly ever draws a grade or JSON: then there is no opinion, not a reward.
    assert all(p.reward is None or 0.0 <= p.reward <= 1.0 for p in found)


def test_a_model_that_a_real_server_does_not_have_is_refused(server: Server) -> None:
    asked = EndpointWorldModel(server.url, model="no/such-model", on_error="ungraded")
    with pytest.raises(WorldModelError, match="HTTP status 4"):
        asked.predict(EPISODES[:1])
