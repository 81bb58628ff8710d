"""One of two processes: six rows each in groups of four, so that one group straddles them."""

import sys
from pathlib import Path

import numpy as np
import torch
from datasets import Dataset
from testing_letters import LETTERS, letter_model, letter_tokenizer
from trl import GRPOConfig

from wmrl_envs.agents.trl import WMRLGRPOTrainer
from wmrl_envs.wrappers.estimators.anchors import AnchorDraw
from wmrl_envs.wrappers.estimators.correction import Correction


def measured(completions: list[str], **_: object) -> list[float]:
    return [len(set(c)) / 8 for c in completions]


def predicted(completions: list[str], **_: object) -> list[float]:
    return [0.2 + 0.5 * (len(set(c)) / 8) ** 2 for c in completions]


def main(folder: Path) -> None:
    torch.set_num_threads(1)
    correction = Correction(fraction=0.5)
    trainer = WMRLGRPOTrainer(
        letter_model(),
        measure=measured,
        predict=predicted,
        anchors=AnchorDraw(0.5, seed=0),
        correction=correction,
        args=GRPOConfig(
            str(folder / "run"),
            per_device_train_batch_size=6,
            num_generations=4,
            max_completion_length=8,
            max_steps=4,
            learning_rate=1e-2,
            use_cpu=True,
            bf16=False,
            gradient_checkpointing=False,
            report_to="none",
            save_strategy="no",
            disable_tqdm=True,
        ),
        train_dataset=Dataset.from_dict({"prompt": [f"{c}>" for c in LETTERS]}),
        processing_class=letter_tokenizer(),
    )
    trainer.train()
    weights = torch.cat([p.detach().flatten() for p in trainer.model.parameters()])
    state = correction.state_dict()
    rank = trainer.accelerator.process_index
    np.savez(folder / f"rank{rank}.npz", weights=weights.numpy(), **state)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
