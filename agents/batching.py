"""Cuts a batch of samples into parts that fit in memory, and spares work that is done twice."""

from collections.abc import Hashable, Sequence


def merge_duplicates(keys: Sequence[Hashable]) -> tuple[list[int], list[int]]:
    """Finds the first row of each key and how often the key stands.

    As a policy sharpens, its groups repeat themselves; equal rows have equal gradients.

    Returns:
        U row numbers in order of appearance, and U counts.
    """
    first: dict[Hashable, int] = {}
    counts: dict[Hashable, int] = {}
    for row, key in enumerate(keys):
        first.setdefault(key, row)
        counts[key] = counts.get(key, 0) + 1
    return list(first.values()), list(counts.values())


def token_chunks(lengths: Sequence[int], budget: int) -> list[list[int]]:
    """Cuts rows, sorted by length, into chunks of at most ``budget`` padded tokens.

    A row that is longer than the budget stands alone.

    Args:
        lengths: N lengths, in tokens.
        budget: Rows times the longest row, at most.

    Returns:
        Lists of row numbers; each row in exactly one.
    """
    chunks: list[list[int]] = []
    for row in sorted(range(len(lengths)), key=lambda i: lengths[i]):
        if chunks and (len(chunks[-1]) + 1) * lengths[row] <= budget:
            chunks[-1].append(row)
        else:
            chunks.append([row])
    return chunks


def split_evenly(rows: Sequence[int], parts: int) -> list[list[int]]:
    """Deals rows into at most ``parts`` lists whose lengths differ by one at most."""
    return [list(rows[i::parts]) for i in range(min(parts, len(rows)))]
