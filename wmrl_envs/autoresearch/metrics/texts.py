"""Metrics of texts: lists of labels, spans, words, orders; truth and predictions are (N,) str."""

import re
from bisect import bisect_right, insort
from collections.abc import Callable

import numpy as np

__all__ = [
    "jaccard",
    "kendall_orders",
    "levenshtein",
    "map_at_3",
    "map_at_5",
    "map_at_12",
    "mpa3",
    "row_f1",
    "span_f1",
    "tag_f1",
]


def map_at_3(truth: np.ndarray, lists: np.ndarray) -> float:
    """Mean average precision of the first 3 labels of a list; blanks part the labels."""
    return _mean(lambda true, said: _average_precision(true, said, 3), truth, lists)


def map_at_5(truth: np.ndarray, lists: np.ndarray) -> float:
    """Mean average precision of the first 5 labels of a list."""
    return _mean(lambda true, said: _average_precision(true, said, 5), truth, lists)


def map_at_12(truth: np.ndarray, lists: np.ndarray) -> float:
    """Mean average precision of the first 12 labels of a list."""
    return _mean(lambda true, said: _average_precision(true, said, 12), truth, lists)


def mpa3(truth: np.ndarray, lists: np.ndarray) -> float:
    """Share of rows whose label is among the first 3 of a list."""
    return _mean(lambda true, said: float(true.strip() in said.split()[:3]), truth, lists)


def row_f1(truth: np.ndarray, lists: np.ndarray) -> float:
    """F1 of each row's set of labels, averaged over the rows; 1 if both sets are empty."""
    return _mean(lambda true, said: _f1(*_counts(true, said)), truth, lists)


def tag_f1(truth: np.ndarray, lists: np.ndarray) -> float:
    """F1 of the labels of all rows together (micro)."""
    pairs = zip(truth, lists, strict=True)
    return _f1(*np.sum([_counts(true, said) for true, said in pairs], axis=0))


def span_f1(truth: np.ndarray, spans: np.ndarray) -> float:
    """F1 of the characters that the spans of all rows cover (micro).

    A row is ``0 5;10 12``, the end exclusive, or the text of a list of such texts.

    Raises:
        ValueError: A span is not of this form.
    """
    pairs = [(_spans(true), _spans(said)) for true, said in zip(truth, spans, strict=True)]
    true, said = (sum(_covered(side) for side in sides) for sides in zip(*pairs, strict=True))
    either = sum(_covered([*a, *b]) for a, b in pairs)
    return _f1(true + said - either, true, said)


def jaccard(truth: np.ndarray, texts: np.ndarray) -> float:
    """Common words over all words of each pair of texts, averaged; 1 if both are empty."""
    return _mean(_word_overlap, truth, texts)


def levenshtein(truth: np.ndarray, texts: np.ndarray) -> float:
    """Edits from text to text, averaged."""
    return _mean(_edits, truth, texts)


def kendall_orders(truth: np.ndarray, orders: np.ndarray) -> float:
    """1 - 4 (inversions) / sum of n (n - 1), over all rows; each holds n names in an order.

    Raises:
        ValueError: A row does not hold the names of the answer, each once.
    """
    pairs = [(true.split(), said.split()) for true, said in zip(truth, orders, strict=True)]
    possible = sum(len(true) * (len(true) - 1) for true, _ in pairs)
    return 1.0 - 4.0 * sum(_inversions(true, said) for true, said in pairs) / max(possible, 1)


def _mean(score: Callable[[str, str], float], truth: np.ndarray, texts: np.ndarray) -> float:
    return float(np.mean([score(true, said) for true, said in zip(truth, texts, strict=True)]))


def _average_precision(true: str, said: str, k: int) -> float:
    """A label that is said again takes a place and earns nothing, as at Kaggle."""
    wanted, hits, total = set(true.split()), 0, 0.0
    labels = said.split()[:k]
    for place, label in enumerate(labels):
        if label in wanted and label not in labels[:place]:
            hits += 1
            total += hits / (place + 1)
    return total / max(min(len(wanted), k), 1)


def _counts(true: str, said: str) -> tuple[int, int, int]:
    """Labels in common, true ones, predicted ones."""
    a, b = set(true.split()), set(said.split())
    return len(a & b), len(a), len(b)


def _f1(common: int, true: int, said: int) -> float:
    return 2.0 * common / (true + said) if true + said else 1.0


def _spans(text: str) -> list[tuple[int, int]]:
    listed = re.sub(r"""^\[|\]$|["']""", "", text.strip()).replace(",", ";")
    found = []
    for span in filter(None, map(str.strip, listed.split(";"))):
        ends = re.fullmatch(r"(\d{1,7})\s+(\d{1,7})", span)
        if ends is None:
            raise ValueError(f"{span[:40]!r} is no span such as '0 5'")
        found.append((int(ends[1]), int(ends[2])))
    return found


def _covered(spans: list[tuple[int, int]]) -> int:
    """The number of characters in the spans' union, without listing them: spans may be long."""
    count = reached = 0
    for start, end in sorted(spans):
        count += max(end - max(start, reached), 0)
        reached = max(reached, end)
    return count


def _word_overlap(true: str, said: str) -> float:
    a, b = set(true.lower().split()), set(said.lower().split())
    return len(a & b) / len(a | b) if a or b else 1.0


def _edits(true: str, said: str) -> float:
    """The row-wise recurrence of Wagner and Fischer; the running minimum settles insertions."""
    if not true:
        return float(len(said))
    codes = np.array(list(map(ord, true)))
    steps = np.arange(len(true) + 1)
    row = steps.copy()
    for number, letter in enumerate(said, start=1):
        best = np.minimum(row[1:] + 1, row[:-1] + (codes != ord(letter)))
        row = np.minimum.accumulate(np.concatenate(([number], best)) - steps) + steps
    return float(row[-1])


def _inversions(true: list[str], said: list[str]) -> int:
    places = {name: place for place, name in enumerate(true)}
    if sorted(said) != sorted(true):
        raise ValueError("a row does not hold exactly the names that are to be ordered")
    seen: list[int] = []
    count = 0
    for place in (places[name] for name in said):
        count += len(seen) - bisect_right(seen, place)
        insort(seen, place)
    return count
