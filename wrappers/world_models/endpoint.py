"""A world model behind an OpenAI-compatible server."""

import hashlib
import threading
import warnings
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, Literal, get_args

from wmrl_envs.errors import WorldModelError
from wmrl_envs.wrappers.world_models.base import Episode, Prediction
from wmrl_envs.wrappers.world_models.endpoint_modes import (
    ChatGrade,
    CompletionGrade,
    FieldIgnored,
    JsonOutcome,
    Mode,
    ScoreQuestion,
    TextRooms,
)
from wmrl_envs.wrappers.world_models.few_shot import Examples, chosen_examples
from wmrl_envs.wrappers.world_models.generation import Generation
from wmrl_envs.wrappers.world_models.grade_scale import DIGITS, GradeScale
from wmrl_envs.wrappers.world_models.grader_prompts import grade_prompt, outcome_prompt
from wmrl_envs.wrappers.world_models.http_json import JsonClient, RequestFailed
from wmrl_envs.wrappers.world_models.resilience import Backoff, CircuitBreaker, Stopped, retried
from wmrl_envs.wrappers.world_models.scripts import Question, ScriptAnswers
from wmrl_envs.wrappers.world_models.settings import made

__all__ = ["EndpointWorldModel", "Transport"]

ModeName = Literal["completions", "chat", "json", "systemone"]
OnIgnored = Literal["raise", "fallback"]
OnError = Literal["raise", "ungraded"]


@dataclass(frozen=True)
class Transport:
    """How requests are sent.

    Attributes:
        concurrency: The most requests under way at once.
        timeout: Seconds to connect, between bytes, and for a whole answer.
        attempts: Tries of a request that fails for a reason that may pass.
        first_pause: Seconds before the second try; each further pause is twice as long, with up to
            half of it taken off at random.
        longest_pause: The longest pause, in seconds.
        breaker_failures: Failed requests in a row (all tries of each) after which the server is
            left alone.
        breaker_cooldown: For so many seconds; then one request tries it again.
        seed: Seed of the pauses.

    Raises:
        ValueError: A value is out of range.
    """

    concurrency: int = 8
    timeout: float = 60.0
    attempts: int = 4
    first_pause: float = 0.5
    longest_pause: float = 30.0
    breaker_failures: int = 5
    breaker_cooldown: float = 30.0
    seed: int = 0

    def __post_init__(self) -> None:
        """Checks what the parts do not check themselves."""
        if self.concurrency < 1:
            raise ValueError(f"concurrency must be at least 1, got {self.concurrency!r}")

    def backoff(self) -> Backoff:
        """When to try again."""
        return Backoff(self.attempts, self.first_pause, self.longest_pause, seed=self.seed)

    def breaker(self) -> CircuitBreaker:
        """A closed circuit breaker."""
        return CircuitBreaker(self.breaker_failures, self.breaker_cooldown)


class EndpointWorldModel:
    """Grades programs with a language model behind an OpenAI-compatible server.

    vLLM, SGLang, llama.cpp, Ollama and ``transformers serve`` are such servers. The prompt is that
    of :class:`~wmrl_envs.wrappers.world_models.language_model.LanguageModelWorldModel`, the task
    before the program, so that a server that caches prefixes reads it once.

    | Mode            | Path                | Answer                                              |
    |-----------------|---------------------|-----------------------------------------------------|
    | `"completions"` | `/completions`      | the expected grade over the next token's            |
    |                 |                     | log-probabilities, the prompt ending in "Grade: "   |
    | `"chat"`        | `/chat/completions` | the same for the first token of a chat answer       |
    | `"json"`        | `/chat/completions` | a structured outcome with feedback, WMRL's form     |
    | `"systemone"`   | `/systemone`        | a typed question of `transformers serve`            |

    A server may ignore a field that it does not know. Log-probabilities that do not come back, too
    few samples, or text where JSON was asked for are noticed and, by default, an error that names
    the field. A request that fails in the end is an error as well, or leaves its episode without an
    opinion; it is never a reward.

    Args:
        base_url: The server's address, with its ``/v1``.
        model: The model's name; None: the only one that the server lists.
        mode: How to ask.
        api_key: Sent as a bearer token.
        on_ignored: What becomes of an answer that ignores a field: "raise", or "fallback", which
            warns once and makes the best of the answer: the grade that was drawn for a missing
            log-probability, fewer samples, whatever JSON there is in a text.
        on_error: What becomes of an episode whose request failed: "raise" or "ungraded". A request
            that the server refuses (an unknown model, say) is raised in any case.
        examples: Executed episodes to show in the prompt, or an execution log's file.
        shots: How many of the examples to show, spread over their rewards; None: all of them.
        scale: The grades, for all modes but "json".
        min_mass: The least probability that the grades among the listed tokens must have together;
            below it the model has no opinion.
        top_logprobs: How many tokens the server lists; vLLM allows 20, OpenAI's completions 5.
        candidates: The most outcomes of an answer, for "json"; the first one is the reward.
        samples: Answers to average, for "json".
        response_format: How to ask for JSON: "json_schema" as OpenAI, vLLM and SGLang, or
            "json_object" with the schema beside it, as llama-cpp-python.
        generation: How outcomes are written, or a mapping of its fields; None: up to 256 tokens at
            temperature 0.
        max_task_chars: The longest task text; a longer one loses its middle, and says so.
        max_code_chars: The longest program, with its line numbers; likewise.
        extra_body: Further fields of every request; None as a value takes a field out.
        transport: How requests are sent, or a mapping of its fields.

    Raises:
        ValueError: An argument is out of range.

    Example:
        >>> model = EndpointWorldModel("http://127.0.0.1:8000/v1", mode="completions")
        >>> model.predict([Episode("Predict prices.", ("x = = 1",))])  # no compiler accepts it
        [Prediction(reward=0.0, feedback='', std=None)]
    """

    def __init__(
        self,
        base_url: str = "http://127.0.0.1:8000/v1",
        model: str | None = None,
        *,
        mode: ModeName = "completions",
        api_key: str | None = None,
        on_ignored: OnIgnored = "raise",
        on_error: OnError = "raise",
        examples: Examples = (),
        shots: int | None = None,
        scale: GradeScale = DIGITS,
        min_mass: float = 0.01,
        top_logprobs: int = 20,
        candidates: int = 2,
        samples: int = 1,
        response_format: Literal["json_schema", "json_object"] = "json_schema",
        generation: Generation | Mapping[str, Any] | None = None,
        max_task_chars: int = 4_000,
        max_code_chars: int = 8_000,
        extra_body: Mapping[str, Any] | None = None,
        transport: Transport | Mapping[str, Any] | None = None,
    ) -> None:
        _check(mode, on_ignored, on_error)
        self.model, self.mode = model, mode
        self.on_ignored, self.on_error = on_ignored, on_error
        self.transport = made(Transport, transport)
        self._extra = dict(extra_body or {})
        self._client = JsonClient(base_url, self.transport.timeout, api_key)
        self._backoff, self.breaker = self.transport.backoff(), self.transport.breaker()
        self._warned: set[str] = set()
        self._answers = ScriptAnswers(self._ask)
        shown = chosen_examples(examples, shots)
        rooms = TextRooms(max_task_chars, max_code_chars)
        if mode == "json":
            prompt, written = outcome_prompt(candidates, shown), made(Generation, generation)
            self._mode: Mode = JsonOutcome(
                prompt, rooms, candidates, samples, written, response_format
            )
        elif mode == "systemone":
            self._mode = ScoreQuestion(grade_prompt(scale, shown), rooms, scale)
        else:
            form = CompletionGrade if mode == "completions" else ChatGrade
            self._mode = form(grade_prompt(scale, shown), rooms, scale, min_mass, top_logprobs)

    def predict(self, episodes: Sequence[Episode]) -> list[Prediction]:
        """Returns one prediction an episode, in the same order.

        Raises:
            WorldModelError: A request was refused, or failed with ``on_error="raise"``; or the
                server ignores a field with ``on_ignored="raise"``.
        """
        return self._answers.predict(episodes)

    def _ask(self, questions: Sequence[Question]) -> list[Prediction]:
        stop = threading.Event()
        with ThreadPoolExecutor(min(self.transport.concurrency, len(questions))) as pool:
            try:
                waiting = [pool.submit(self._answer, question, stop) for question in questions]
                return [future.result() for future in waiting]
            except RequestFailed as error:
                raise WorldModelError(f"{self.mode} request failed: {error}") from error
            finally:
                # Where one failed, the others are not wanted any more.
                stop.set()
                pool.shutdown(wait=False, cancel_futures=True)

    def _answer(self, question: Question, stop: threading.Event) -> Prediction:
        key = hashlib.blake2b(repr(question).encode(), digest_size=8).hexdigest()
        try:
            return self._sent(question, key, stop)
        except RequestFailed as error:
            if error.kind == "refused" or self.on_error == "raise":
                raise
            return Prediction(None)
        except Stopped:
            return Prediction(None)

    def _sent(self, question: Question, key: str, stop: threading.Event) -> Prediction:
        def send() -> Prediction:
            answer = self._client.post(self._mode.path, self._payload(question))
            try:
                return self._mode.read(answer)
            except FieldIgnored as error:
                self._note_ignored(error.field)
                return self._mode.read_anyway(answer)

        with self.breaker.request():
            return retried(send, self._backoff, key, stop.wait)

    def _payload(self, question: Question) -> dict[str, Any]:
        self.model = self.model or self._only_model()
        fields = {"model": self.model, **self._mode.payload(question), **self._extra}
        return {name: value for name, value in fields.items() if value is not None}

    def _note_ignored(self, field: str) -> None:
        said = f"{self._client.base_url} ignores {field!r}, which mode={self.mode!r} needs"
        if self.on_ignored == "raise":
            raise WorldModelError(
                f'{said}: choose another mode, or on_ignored="fallback" for what there is'
            )
        if field not in self._warned:
            self._warned.add(field)
            warnings.warn(f"{said}; making the best of its answers", RuntimeWarning, stacklevel=2)

    def _only_model(self) -> str:
        listed = self._client.get("models").get("data")
        entries = listed if isinstance(listed, list) else []
        names = [entry.get("id") for entry in entries if isinstance(entry, Mapping)]
        if len(names) != 1 or not isinstance(names[0], str):
            raise WorldModelError(
                f"model must be given: {self._client.base_url} lists {len(names)} models {names}"
            )
        return names[0]


def _check(mode: str, on_ignored: str, on_error: str) -> None:
    for name, value, known in (
        ("mode", mode, get_args(ModeName)),
        ("on_ignored", on_ignored, get_args(OnIgnored)),
        ("on_error", on_error, get_args(OnError)),
    ):
        if value not in known:
            raise ValueError(f"{name} must be one of {known}, got {value!r}")
