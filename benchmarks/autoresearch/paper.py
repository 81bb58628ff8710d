"""The main results of WMRL (arXiv 2608.12564), to print beside one's own.

Leaderboard percentile (%), avg@8 with failures as 0, averaged within each category; Avg is the mean
over the categories. MLE-Dojo's test split is divided by modality, DSBench by category.
"""

from typing import Final, NamedTuple

__all__ = ["ROWS", "PaperRow"]


class PaperRow(NamedTuple):
    """One method of the main table.

    Attributes:
        method: Its name.
        gpu_hours: Total training compute; None for models that were not trained.
        modalities: Percentiles on MLE-Dojo: tabular, text, image, mean.
        categories: Percentiles on DSBench: binary, multi-class, regression, other, mean.
    """

    method: str
    gpu_hours: int | None
    modalities: tuple[float, float, float, float]
    categories: tuple[float, float, float, float, float]


ROWS: Final = (
    PaperRow("Qwen3.5-4B", None, (13.7, 8.0, 0.2, 7.3), (21.9, 11.8, 25.8, 8.8, 17.1)),
    PaperRow("Qwen3.5-9B", None, (17.4, 8.1, 3.4, 9.6), (29.1, 16.0, 36.3, 14.1, 23.9)),
    PaperRow("Kimi-48B-A3B", None, (12.3, 10.1, 2.0, 8.1), (20.3, 10.0, 29.0, 9.8, 17.3)),
    PaperRow("Nemotron-120B-A12B", None, (35.1, 18.8, 7.6, 20.5), (38.7, 26.6, 40.7, 20.6, 31.7)),
    PaperRow("Qwen3.5-4B-GRPO", 883, (24.8, 16.6, 4.3, 15.2), (34.3, 17.8, 28.3, 22.4, 25.7)),
    PaperRow("Qwen3.5-9B-GRPO", 1174, (33.3, 17.1, 5.9, 18.8), (40.9, 26.8, 40.4, 16.7, 31.2)),
    PaperRow("Qwen3.5-4B-WM", 269, (21.2, 14.6, 3.0, 12.9), (27.1, 16.9, 32.5, 16.0, 23.1)),
    PaperRow("Qwen3.5-9B-WM", 330, (28.0, 15.9, 4.5, 16.1), (35.4, 21.8, 37.9, 16.9, 28.0)),
    PaperRow("Qwen3.5-4B-WMRL", 286, (28.0, 16.1, 5.2, 16.4), (35.8, 22.3, 32.3, 24.7, 28.8)),
    PaperRow("Qwen3.5-9B-WMRL", 349, (38.0, 19.4, 7.4, 21.6), (45.4, 26.9, 39.2, 19.8, 32.8)),
)
