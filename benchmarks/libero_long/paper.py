"""The LIBERO-Long table of WMRL (arXiv 2608.12564), to print beside one's own."""

from typing import Final, NamedTuple

__all__ = ["ROWS", "PaperRow"]


class PaperRow(NamedTuple):
    """One method; success rates in percent.

    Attributes:
        method: Its name.
        in_domain: Avg, Best@8 and All@8 on initial states that training starts from.
        held_out: The same on the others, which the paper calls out-of-distribution.
        overall: Avg over all initial states.
    """

    method: str
    in_domain: tuple[float, float, float]
    held_out: tuple[float, float, float]
    overall: float


ROWS: Final = (
    PaperRow("MiniVLA-1B", (5.6, 5.6, 5.6), (2.9, 2.9, 2.9), 3.8),
    PaperRow("MiniVLA-1B-SFT", (37.3, 41.3, 33.1), (37.5, 44.7, 32.1), 37.4),
    PaperRow("MiniVLA-1B-GRPO", (39.3, 48.8, 34.4), (37.8, 45.3, 31.2), 38.3),
    PaperRow("MiniVLA-1B-WM", (39.1, 45.6, 34.4), (39.3, 45.6, 34.1), 39.2),
    PaperRow("MiniVLA-1B-WMRL", (41.2, 47.5, 37.5), (41.2, 48.8, 37.1), 41.2),
)
