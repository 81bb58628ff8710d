"""Pretrains the embedded policy: tokenizer and causal language model, from the grammar alone.

Run ``python -m wmrl_envs.agents.embedded.pretrain --out DIR``; the weights that ship with the
package are what its defaults give.
"""

import json
import math
import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import torch
import tyro
from torch.nn.functional import cross_entropy
from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast

from wmrl_envs.agents.embedded.cards import random_card
from wmrl_envs.agents.embedded.grammar import solution
from wmrl_envs.agents.embedded.tokenizer import SOLUTION, train_tokenizer

_IGNORED = -100


@dataclass(frozen=True)
class PretrainConfig:
    """Everything that decides the weights."""

    out: Path
    """Folder for the model and the tokenizer."""
    scripts: int = 40_000
    """Number of scripts, each seen once."""
    slips: float = 0.8
    """Factor on the grammar's slips: about half of the scripts are to fail."""
    vocab_size: int = 2048
    """Largest vocabulary."""
    hidden_size: int = 160
    """Width of the model."""
    layers: int = 4
    """Number of transformer layers."""
    heads: int = 4
    """Attention heads a layer."""
    batch_size: int = 32
    """Scripts an optimisation step."""
    learning_rate: float = 3e-3
    """Peak learning rate, reached after 50 steps and decayed by a cosine."""
    seed: int = 0
    """Seed of the corpus, the initial weights and the order."""
    threads: int = 1
    """CPU threads of torch; the weights are reproducible for a given number."""


def corpus(scripts: int, seed: int, slips: float) -> list[tuple[str, str]]:
    """Draws (prompt, script) pairs for random cards."""
    rng = random.Random(seed)
    pairs = []
    for _ in range(scripts):
        card = random_card(rng)
        pairs.append((card.text, solution(card, rng, slips)))
    return pairs


def build_model(config: PretrainConfig, vocab_size: int) -> LlamaForCausalLM:
    """A Llama-style model with tied embeddings and random weights."""
    return LlamaForCausalLM(
        LlamaConfig(
            vocab_size=vocab_size,
            hidden_size=config.hidden_size,
            intermediate_size=3 * config.hidden_size,
            num_hidden_layers=config.layers,
            num_attention_heads=config.heads,
            num_key_value_heads=config.heads,
            max_position_embeddings=512,
            tie_word_embeddings=True,
            pad_token_id=0,
            bos_token_id=None,
            eos_token_id=1,
        )
    )


def encode(
    pairs: Sequence[tuple[str, str]], tokenizer: PreTrainedTokenizerFast
) -> list[tuple[list[int], list[int]]]:
    """Token ids of every (prompt + ``<sol>``, script + ``<eos>``)."""
    start, end = tokenizer.get_vocab()[SOLUTION], tokenizer.eos_token_id
    prompts = tokenizer([prompt for prompt, _ in pairs], add_special_tokens=False).input_ids
    scripts = tokenizer([script for _, script in pairs], add_special_tokens=False).input_ids
    return [([*p, start], [*s, end]) for p, s in zip(prompts, scripts, strict=True)]


def collate(rows: Sequence[tuple[list[int], list[int]]]) -> tuple[torch.Tensor, torch.Tensor]:
    """Right-padded ids (B, T) and labels (B, T) that score the script alone."""
    length = max(len(prompt) + len(script) for prompt, script in rows)
    ids = torch.zeros(len(rows), length, dtype=torch.long)
    labels = torch.full((len(rows), length), _IGNORED)
    for i, (prompt, script) in enumerate(rows):
        row = torch.tensor(prompt + script)
        ids[i, : len(row)] = row
        labels[i, len(prompt) : len(row)] = row[len(prompt) :]
    return ids, labels


def train(
    model: LlamaForCausalLM,
    rows: Sequence[tuple[list[int], list[int]]],
    config: PretrainConfig,
    progress: Callable[[int, int, float], None] = lambda step, steps, loss: None,
) -> list[float]:
    """One epoch of next-token training on the scripts.

    Args:
        model: The model, trained in place.
        rows: What :func:`encode` returned.
        config: Batch size, learning rate and seed.
        progress: Called with (step, steps, loss) after every step.

    Returns:
        The loss of every step, in nats a token.
    """
    optimizer = torch.optim.AdamW(
        model.parameters(), config.learning_rate, (0.9, 0.98), weight_decay=0.01
    )
    steps = len(rows) // config.batch_size
    losses = []
    for step, batch in enumerate(_batches(rows, config)):
        for group in optimizer.param_groups:
            group["lr"] = config.learning_rate * _schedule(step, steps)
        ids, labels = collate(batch)
        logits = model(input_ids=ids, attention_mask=(ids != 0).long()).logits[:, :-1]
        loss = cross_entropy(logits.flatten(0, 1), labels[:, 1:].flatten(), ignore_index=_IGNORED)
        optimizer.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        losses.append(loss.item())
        progress(step + 1, steps, losses[-1])
    return losses


def _batches(
    rows: Sequence[tuple[list[int], list[int]]], config: PretrainConfig
) -> Iterator[list[tuple[list[int], list[int]]]]:
    order = list(range(len(rows)))
    random.Random(config.seed).shuffle(order)
    for start in range(0, len(rows) - config.batch_size + 1, config.batch_size):
        yield [rows[i] for i in order[start : start + config.batch_size]]


def _schedule(step: int, steps: int) -> float:
    return min(1.0, (step + 1) / 50) * max(0.03, 0.5 * (1 + math.cos(math.pi * step / steps)))


def pretrain(
    config: PretrainConfig, progress: Callable[[int, int, float], None] = lambda *_: None
) -> LlamaForCausalLM:
    """Trains and saves the embedded policy.

    Args:
        config: What to train and where to put it.
        progress: Called with (step, steps, loss) after every step.

    Returns:
        The trained model; ``config.out`` holds it with its tokenizer and ``pretrain.json``.

    Raises:
        ValueError: There are fewer scripts than one batch.
    """
    if config.scripts < config.batch_size:
        raise ValueError(
            f"scripts must be at least batch_size={config.batch_size}, got {config.scripts!r}"
        )
    torch.set_num_threads(config.threads)
    torch.manual_seed(config.seed)
    pairs = corpus(config.scripts, config.seed, config.slips)
    tokenizer = train_tokenizer((a + b for a, b in pairs[:5000]), config.vocab_size)
    model = build_model(config, len(tokenizer))
    losses = train(model, encode(pairs, tokenizer), config, progress)
    model.half().save_pretrained(config.out)
    tokenizer.save_pretrained(config.out)
    record = {**asdict(config), "out": None, "loss": sum(losses[-50:]) / len(losses[-50:])}
    (config.out / "pretrain.json").write_text(json.dumps(record, indent=2) + "\n")
    return model.float()


def main(config: PretrainConfig) -> None:
    """Pretrains with a progress bar."""
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

    columns = (
        TextColumn("pretraining"),
        BarColumn(),
        TextColumn("loss {task.fields[loss]:.3f}"),
        TimeElapsedColumn(),
    )
    with Progress(*columns) as bar:
        task = bar.add_task("", total=None, loss=float("nan"))
        pretrain(
            config,
            lambda step, steps, loss: bar.update(task, completed=step, total=steps, loss=loss),
        )


if __name__ == "__main__":
    main(tyro.cli(PretrainConfig))
