"""Cuts a batch of samples into parts that fit in memory, and spares work that is done twice."""

from collections.abc import Hashable, Sequence

__all__ = ["merge_duplicates", "split_evenly", "token_chunks"]


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


def token_chunks(
    prompts: Sequence[Sequence[int]], responses: Sequence[Sequence[int]], budget: int
) -> list[list[int]]:
    """Cuts rows into chunks of at most ``budget`` padded tokens.

    Tokens are counted as a forward pass meets them: a prompt that rows of a chunk share counts
    once. Rows are ordered by the length of the response (less padding) or by the prompt (more
    sharing), whichever costs fewer tokens in all. A row longer than the budget stands alone.

    Args:
        prompts: N token sequences.
        responses: N token sequences.
        budget: Padded tokens of a chunk, at most.

    Returns:
        Lists of row numbers; each row in exactly one.
    """
    names: dict[tuple[int, ...], int] = {}
    prompt_of = [names.setdefault(tuple(p), len(names)) for p in prompts]
    sizes = [(prompt_of[i], len(prompts[i]), len(responses[i])) for i in range(len(prompts))]
    orders = [
        sorted(range(len(sizes)), key=lambda i: sizes[i][2]),
        sorted(range(len(sizes)), key=lambda i: sizes[i]),
    ]
    cuts = [_cut(order, sizes, budget) for order in orders]
    return min(cuts, key=lambda chunks: sum(_cost(chunk, sizes) for chunk in chunks))


def split_evenly(rows: Sequence[int], parts: int) -> list[list[int]]:
    """Deals rows into at most ``parts`` lists whose lengths differ by one at most."""
    return [list(rows[i::parts]) for i in range(min(parts, len(rows)))]


def _cut(
    order: Sequence[int], sizes: Sequence[tuple[int, int, int]], budget: int
) -> list[list[int]]:
    chunks: list[list[int]] = []
    for row in order:
        if chunks and _cost([*chunks[-1], row], sizes) <= budget:
            chunks[-1].append(row)
        else:
            chunks.append([row])
    return chunks


def _cost(rows: Sequence[int], sizes: Sequence[tuple[int, int, int]]) -> int:
    prompts = {sizes[i][0] for i in rows}
    longest_prompt = max(sizes[i][1] for i in rows)
    longest_response = max(sizes[i][2] for i in rows)
    return len(prompts) * longest_prompt + len(rows) * longest_response
