"""From an observation with its history to the prompt of a conversation that fits."""

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from wmrl_envs.agents.history import HISTORY
from wmrl_envs.agents.policies.chat_template import ChatFrame
from wmrl_envs.agents.policies.prompts import Tokens, cut_middle, observation_text

__all__ = ["AUTORESEARCH_CONTRACT", "ChatEncoder"]

AUTORESEARCH_CONTRACT = """You solve machine-learning tasks by writing Python programs. Answer \
with one complete program in a fenced Python block:

```python
# your program
```

The program runs without network access, in a folder with the task's public files, and has to \
write `submission.csv` in the form of the sample submission. It is graded by the place of its \
score on the task's leaderboard. You may be told what became of it and asked for a better one; \
the best program counts."""
"""The contract of ``WMRL/AutoResearch-v0``, as a system prompt."""

_LEAST_TASK = 8


class _Turn(NamedTuple):
    answer: Tokens
    feedback: Tokens


class ChatEncoder:
    """Encodes an observation and its history as a conversation of at most ``max_tokens`` tokens.

    The system prompt and the task stay; the oldest turns are dropped first, whole. If the newest
    alone is too long, its feedback keeps its end, where errors stand, and its answer its two ends.
    A task that is too long itself loses its middle, as soon as it takes more than half of the room.

    Args:
        frame: What the chat template puts around messages.
        written: Token ids of an answer, without the token that ended it.
        max_tokens: The longest prompt, in tokens; None means no limit.

    Raises:
        ValueError: The system prompt leaves no room for a task.
    """

    def __init__(
        self, frame: ChatFrame, written: Callable[[str], Tokens], max_tokens: int | None = None
    ) -> None:
        self._frame, self._written, self._max_tokens = frame, written, max_tokens
        fixed = len(frame.before) + len(frame.after)
        if max_tokens is not None and max_tokens < fixed + _LEAST_TASK:
            raise ValueError(
                f"max_prompt_tokens must leave room for a task beside the system prompt of {fixed} "
                f"tokens, got {max_tokens!r}"
            )

    def __call__(self, observation: Any) -> Tokens:
        """Returns the prompt's token ids.

        Raises:
            TypeError: The observation holds no task text.
            ValueError: There is feedback, but no history.
        """
        task, feedback = observation_text(observation)
        history = observation.get(HISTORY, ()) if isinstance(observation, Mapping) else ()
        if feedback and not history:
            raise ValueError(
                "the observation has feedback, but no history: wrap the environments in "
                "wmrl_envs.agents.HistoryObservation"
            )
        encode = self._frame.plain
        turns = [_Turn(self._written(answer), encode(told)) for answer, told in history]
        return self._fitted(encode(task), turns)

    def _fitted(self, task: Tokens, turns: list[_Turn]) -> Tokens:
        frame, limit = self._frame, self._max_tokens
        if limit is None:
            return frame.before + task + frame.after + self._joined(turns)
        newest = self._length(turns[-1]) if turns else 0
        room = limit - len(frame.before) - len(frame.after)
        task = cut_middle(task, max(room - newest, (room + 1) // 2))
        kept = self._newest(turns, room - len(task))
        return frame.before + task + frame.after + self._joined(kept)

    def _newest(self, turns: list[_Turn], room: int) -> list[_Turn]:
        """As many of the last turns as there is room for; the last one, cut, if for none."""
        kept: list[_Turn] = []
        for turn in reversed(turns):
            if self._length(turn) > room:
                break
            room -= self._length(turn)
            kept.insert(0, turn)
        if turns and not kept:
            return self._cut(turns[-1], room)
        return kept

    def _cut(self, turn: _Turn, room: int) -> list[_Turn]:
        room -= len(self._frame.middle) + len(self._frame.end)
        if room < 2:
            return []
        for_answer = min(len(turn.answer), max(room // 2, room - len(turn.feedback)))
        told = turn.feedback[max(0, len(turn.feedback) - (room - for_answer)) :]
        return [_Turn(cut_middle(turn.answer, for_answer), told)]

    def _length(self, turn: _Turn) -> int:
        return sum(map(len, (turn.answer, self._frame.middle, turn.feedback, self._frame.end)))

    def _joined(self, turns: list[_Turn]) -> Tokens:
        frame = self._frame
        parts = (t.answer + frame.middle + t.feedback + frame.end for t in turns)
        return tuple(token for part in parts for token in part)
