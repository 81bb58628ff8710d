"""The learners of the GRPO comparison, each in a process of its own, one step at a time."""

import tempfile
import time
from collections.abc import Callable
from multiprocessing import get_context
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any, NamedTuple

from wmrl_envs.benchmarks.throughput.grpo_workload import PromptEnv, Workload, even_share
from wmrl_envs.benchmarks.throughput.side_by_side import Cost

__all__ = ["CONTENDERS", "Contender", "Memory"]

Wait = Callable[[], bool]
Tell = Callable[[Cost], None]

OURS, TRL, TRL_PARTS = "wmrl-envs GRPO", "TRL GRPOTrainer", "TRL, four micro-batches"


class Memory(NamedTuple):
    """Resident memory of a contender's process in MiB.

    Attributes:
        before: With all imports done and the model built, before the learner is.
        peak: The highest until the last step.
    """

    before: float
    peak: float


class Contender:
    """A learner in its own process, which makes a step each time it is called.

    Args:
        name: One of ``CONTENDERS``.
        workload: What a step consists of.
        steps: How many steps there will be, at most.
    """

    def __init__(self, name: str, workload: Workload, steps: int) -> None:
        context = get_context("spawn")  # a fork would inherit this process's memory
        self._pipe, theirs = context.Pipe()
        self._process = context.Process(
            target=_serve, args=(name, workload, steps, theirs), daemon=True
        )
        self._process.start()
        theirs.close()
        self._pipe.recv()  # ready

    def __call__(self) -> Cost:
        """Makes a step; its units are the completions' tokens."""
        self._pipe.send("step")
        cost: Cost = self._pipe.recv()
        return cost

    def close(self) -> Memory:
        """Ends the process and says how much memory it took."""
        self._pipe.send("end")
        memory: Memory = self._pipe.recv()
        self._process.join()
        return memory


def _serve(name: str, workload: Workload, steps: int, pipe: Connection) -> None:
    import torch

    torch.set_num_threads(1)
    parts = CONTENDERS[name](workload, steps)
    before = _resident("VmRSS")
    pipe.send("ready")
    parts(lambda: pipe.recv() == "step", pipe.send)
    pipe.send(Memory(before, _resident("VmHWM")))


def _ours(workload: Workload, steps: int) -> Callable[[Wait, Tell], None]:
    from wmrl_envs.agents import GRPO, LanguageModelPolicy

    model, tokenizer = workload.model(), workload.tokenizer()

    def run(wait: Wait, tell: Tell) -> None:
        policy = LanguageModelPolicy(
            model, tokenizer, max_new_tokens=workload.completion_tokens, stop_ids=[1]
        )
        envs = PromptEnv(workload.prompts(), workload.episodes)
        learner = GRPO(policy, envs, group_size=workload.group_size, learning_rate=1e-6)
        while wait():
            wall, cpu = time.perf_counter(), time.process_time()
            before = learner.metrics["sampled_tokens"]
            learner.learn(learner.step + 1)
            tokens = learner.metrics["sampled_tokens"] - before
            tell(Cost(time.perf_counter() - wall, time.process_time() - cpu, tokens))

    return run


def _trl(workload: Workload, steps: int, parts: int = 1) -> Callable[[Wait, Tell], None]:
    from datasets import Dataset
    from transformers import PrinterCallback, TrainerCallback
    from trl import GRPOConfig, GRPOTrainer

    model, tokenizer = workload.model(), workload.tokenizer()
    tokens: list[int] = []

    def reward(completions: list[str], completion_ids: list[Any], **_: Any) -> list[float]:
        tokens.append(sum(map(len, completion_ids)))
        return even_share(completions)

    class StepByStep(TrainerCallback):
        """Waits before each step and tells what it cost."""

        def __init__(self, wait: Wait, tell: Tell) -> None:
            self._wait, self._tell = wait, tell
            self._begun = (0.0, 0.0)

        def on_step_begin(self, args: Any, state: Any, control: Any, **_: Any) -> None:
            self._begun = (time.perf_counter(), time.process_time())

        def on_step_end(self, args: Any, state: Any, control: Any, **_: Any) -> Any:
            wall, cpu = self._begun
            self._tell(Cost(time.perf_counter() - wall, time.process_time() - cpu, tokens[-1]))
            control.should_training_stop = not self._wait()
            return control

    def run(wait: Wait, tell: Tell) -> None:
        with tempfile.TemporaryDirectory() as folder:
            trainer = GRPOTrainer(
                model,
                reward_funcs=reward,
                args=GRPOConfig(folder, **_settings(workload, steps, parts)),
                train_dataset=Dataset.from_dict({"prompt": workload.prompts()}),
                processing_class=tokenizer,
                callbacks=[StepByStep(wait, tell)],
            )
            trainer.remove_callback(PrinterCallback)
            if wait():
                trainer.train()

    return run


def _trl_in_parts(workload: Workload, steps: int) -> Callable[[Wait, Tell], None]:
    return _trl(workload, steps, parts=4)


def _settings(workload: Workload, steps: int, parts: int) -> dict[str, Any]:
    """TRL's settings for the update that ours makes."""
    from trl import GRPOConfig

    # Transformers 5.24 renamed it; both learners keep activations, which is faster.
    new = "activation_checkpointing"
    return {
        new if hasattr(GRPOConfig, new) else "gradient_checkpointing": False,
        "per_device_train_batch_size": workload.episodes // parts,
        "gradient_accumulation_steps": parts,
        "num_generations": workload.group_size,
        "max_completion_length": workload.completion_tokens,
        "max_steps": steps,
        "learning_rate": 1e-6,
        "beta": 0.0,
        "epsilon_high": 0.28,
        "loss_type": "grpo",
        "scale_rewards": "batch",
        "shuffle_dataset": False,
        "use_cpu": True,
        "bf16": False,
        "report_to": "none",
        "save_strategy": "no",
        "logging_strategy": "no",
        "disable_tqdm": True,
    }


def _resident(name: str) -> float:
    lines = Path("/proc/self/status").read_text().splitlines()
    return float(next(line for line in lines if line.startswith(f"{name}:")).split()[1]) / 1024


CONTENDERS: dict[str, Callable[[Workload, int], Callable[[Wait, Tell], None]]] = {
    OURS: _ours,
    TRL: _trl,
    TRL_PARTS: _trl_in_parts,
}
