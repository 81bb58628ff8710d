"""A language model that grades programs by reading them."""

import hashlib
from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import Any, Literal, get_args

from wmrl_envs.wrappers.world_models.base import Episode, Prediction
from wmrl_envs.wrappers.world_models.borrowed_model import (
    Lent,
    load_language_model,
    undisturbed,
    unwrapped,
)
from wmrl_envs.wrappers.world_models.execution_log import LoggedEpisode
from wmrl_envs.wrappers.world_models.few_shot import Examples, chosen_examples
from wmrl_envs.wrappers.world_models.generation import Generation
from wmrl_envs.wrappers.world_models.grade_scale import DIGITS, GradeScale
from wmrl_envs.wrappers.world_models.grader_prompts import (
    GraderPrompt,
    grade_prompt,
    outcome_prompt,
)
from wmrl_envs.wrappers.world_models.prompt_tokens import PromptTokens, Tokens, label_tokens
from wmrl_envs.wrappers.world_models.scripts import Question, ScriptAnswers
from wmrl_envs.wrappers.world_models.settings import made
from wmrl_envs.wrappers.world_models.structured_outcome import outcome_prediction

__all__ = ["LanguageModelWorldModel"]

Answer = Literal["grade", "outcome"]


class LanguageModelWorldModel:
    """Grades programs with a causal language model of transformers, without running them.

    ``answer="grade"`` takes one forward pass: the prompt ends where a grade would follow, and the
    reward is the expected one over the grade tokens' probabilities, renormalised. What programs of
    one task share is read once and kept; the programs are batched, and the head is applied at each
    one's last token alone. There is no sampling noise and nothing to parse.

    ``answer="outcome"`` is the form of WMRL (arXiv 2608.12564): the model writes the status, the
    error's class and line, a quality bucket and feedback as JSON. The reward is the ladder's, and
    the feedback stands in for the sandbox's output in an episode of several turns. What cannot be
    parsed is "no opinion".

    A text that does not compile is answered 0.0 without the model, an episode of several turns with
    the best of its programs. Equal programs of a task get the equal answer.

    Args:
        model: A causal language model, or the folder or Hub id of one. It may belong to somebody
            else: training mode and gradients are left as they are, and no weight is copied.
        tokenizer: Its tokenizer; None: the one that is stored with the model.
        answer: "grade" or "outcome".
        lent: Makes a context to use the model in; ``peft_model.disable_adapter`` grades with the
            frozen backbone of a policy in training (see :meth:`from_policy`).
        examples: Executed episodes to show in the prompt, or an execution log's file.
        shots: How many of the examples to show, spread over their rewards; None: all of them.
        scale: The grades, for "grade".
        min_mass: The least probability that the grades must have together, for "grade"; below it
            the model has no opinion: it was about to say something else.
        candidates: The most outcomes to ask for, for "outcome"; the first one is the reward.
        generation: How outcomes are written, or a mapping of its fields; None: the likeliest token
            each time, up to 256.
        max_task_tokens: The longest task text; a longer one loses its middle, and says so.
        max_code_tokens: The longest program, with its line numbers; likewise.
        batch_tokens: The most tokens in a batch, each row's prefix included.
        kept_tasks: The number of tasks whose prefixes are kept in memory.
        share_prefix: False reads the prefix anew for each program: for models without a key-value
            cache, and several times slower.
        template_kwargs: Arguments of the chat template, such as ``{"enable_thinking": False}``.
        model_kwargs: Arguments of ``AutoModelForCausalLM.from_pretrained``, if it is to be loaded.

    Raises:
        OSError: There is no such model.
        TypeError: It is no causal language model, or an object without its tokenizer.
        ValueError: An argument is out of range, the prompt is longer than the model's context, or
            fewer than two grades are single tokens.

    Example:
        >>> model = LanguageModelWorldModel("org/model")  # doctest: +SKIP
        >>> model.predict([Episode("Predict prices.", ("import os",))])  # doctest: +SKIP
        [Prediction(reward=0.18, feedback='')]
    """

    def __init__(
        self,
        model: Any,
        tokenizer: Any = None,
        *,
        answer: Answer = "grade",
        lent: Lent = nullcontext,
        examples: Examples = (),
        shots: int | None = None,
        scale: GradeScale = DIGITS,
        min_mass: float = 0.01,
        candidates: int = 2,
        generation: Generation | Mapping[str, Any] | None = None,
        max_task_tokens: int = 1024,
        max_code_tokens: int = 1024,
        batch_tokens: int = 8192,
        kept_tasks: int = 8,
        share_prefix: bool = True,
        template_kwargs: Mapping[str, Any] | None = None,
        model_kwargs: Mapping[str, Any] | None = None,
    ) -> None:
        from wmrl_envs.wrappers.world_models.shared_prefix import SharedPrefix

        if answer not in get_args(Answer):
            raise ValueError(f"answer must be one of {get_args(Answer)}, got {answer!r}")
        if not 0 <= min_mass <= 1:
            raise ValueError(f"min_mass must be in [0, 1], got {min_mass!r}")
        if isinstance(model, (str, Path)):
            model, tokenizer = load_language_model(model, tokenizer, **(model_kwargs or {}))
        elif tokenizer is None:
            raise TypeError("tokenizer must be given with a model that is an object, got None")
        self.model, self.tokenizer, self.answer = model, tokenizer, answer
        self.scale, self.min_mass, self.candidates = scale, min_mass, candidates
        self.generation = made(Generation, generation)
        self._lent = lent
        self._shared = SharedPrefix(unwrapped(model), kept_tasks, batch_tokens, share_prefix)
        self._answers = ScriptAnswers(self._ask)
        rooms = (max_task_tokens, max_code_tokens)
        self._prepare(chosen_examples(examples, shots), rooms, template_kwargs)

    @classmethod
    def from_policy(cls, policy: Any, **settings: Any) -> "LanguageModelWorldModel":
        """Grades with the frozen backbone of a policy that trains a LoRA adapter on it.

        Args:
            policy: An object with ``model``, a PEFT model, and ``tokenizer``.
            **settings: Arguments of this class.

        Raises:
            TypeError: The policy's model has no adapter to switch off: its weights move in
                training, and grades with them.
        """
        lent = getattr(policy.model, "disable_adapter", None)
        if not callable(lent):
            raise TypeError(
                "policy.model must be a PEFT model, whose adapter can be switched off, got "
                f"{type(policy.model).__name__}; pass a model of its own instead"
            )
        return cls(policy.model, policy.tokenizer, lent=lent, **settings)

    def predict(self, episodes: Sequence[Episode]) -> list[Prediction]:
        """Returns one prediction an episode, in the same order."""
        return self._answers.predict(episodes)

    def forget(self, prefixes: bool = True) -> None:
        """Drops what is kept: needed where the model's weights have changed.

        Args:
            prefixes: Drop the tasks' prefixes as well, and not the answers alone.
        """
        self._answers.forget()
        if prefixes:
            self._shared.forget()

    def _prepare(
        self,
        examples: Sequence[LoggedEpisode],
        rooms: tuple[int, int],
        template_kwargs: Mapping[str, Any] | None,
    ) -> None:
        prompt, cue, written = (
            self._grade_form(examples)
            if self.answer == "grade"
            else (outcome_prompt(self.candidates, examples), (), self.generation.max_new_tokens)
        )
        self._tokens = PromptTokens(self.tokenizer, prompt, cue, *rooms, template_kwargs)
        _check_context(self._shared.model, self._tokens.longest + written, rooms)

    def _grade_form(self, examples: Sequence[LoggedEpisode]) -> tuple[GraderPrompt, Tokens, int]:
        prompt = grade_prompt(self.scale, examples)
        cue, self._labels = label_tokens(self.tokenizer, prompt.cue, self.scale.labels)
        return prompt, cue, 1

    def _ask(self, questions: Sequence[Question]) -> list[Prediction]:
        by_task: dict[str, list[Question]] = {}
        for question in questions:
            by_task.setdefault(question.task, []).append(question)
        answers: dict[Question, Prediction] = {}
        read = self._grades if self.answer == "grade" else self._outcomes
        with undisturbed(self.model, self._lent):
            for task, asked in by_task.items():
                rows = [self._tokens.row(question.code) for question in asked]
                answers |= zip(asked, read(self._tokens.prefix(task), rows), strict=True)
        return [answers[question] for question in questions]

    def _grades(self, prefix: Tokens, rows: Sequence[Tokens]) -> list[Prediction]:
        found = self._shared.log_probs(prefix, rows, list(self._labels.values())).exp().tolist()
        masses = (dict(zip(self._labels, row, strict=True)) for row in found)
        return [Prediction(self.scale.expected(mass, self.min_mass)) for mass in masses]

    def _outcomes(self, prefix: Tokens, rows: Sequence[Tokens]) -> list[Prediction]:
        seeds = [_seed(self.generation.seed, prefix, row) for row in rows]
        written = self._shared.generate(
            prefix,
            rows,
            lambda batch: self.generation.options(
                self._shared.model, self.tokenizer, [seeds[i] for i in batch]
            ),
        )
        texts = self.tokenizer.batch_decode(list(map(list, written)), skip_special_tokens=True)
        return [outcome_prediction(text, self.candidates) for text in texts]


def _seed(seed: int, *parts: Tokens) -> int:
    digest = hashlib.blake2b(repr((seed, parts)).encode(), digest_size=7).digest()
    return int.from_bytes(digest, "big")


def _check_context(model: Any, longest: int, rooms: tuple[int, int]) -> None:
    context: int | None = getattr(model.config, "max_position_embeddings", None)
    if context is not None and longest > context:
        raise ValueError(
            f"max_task_tokens={rooms[0]} and max_code_tokens={rooms[1]} make prompts of up to "
            f"{longest} tokens with instructions, examples and answer; they must fit the model's "
            f"context of {context}"
        )
