"""Task cards: the three lines that tell a small language model what a task asks for.

A card is what ``AutoResearchEnv(observation="card")`` shows as the task. The embedded policy is
pretrained on random cards, never on the card of a task that ships with the package.
"""

import random
from dataclasses import dataclass

_METRICS = {
    "binary": (
        ("logloss", "probability"),
        ("auc", "probability"),
        ("accuracy", "label"),
        ("mcc", "label"),
    ),
    "multiclass": (("accuracy", "label"), ("macro_f1", "label"), ("mlogloss", "probability")),
    "regression": (("rmse", "value"), ("mae", "value"), ("rmsle", "value")),
    "other": (
        ("mcrmse", "value"),
        ("qwk", "label"),
        ("avg_precision", "probability"),
        ("map3", "probability"),
        ("rmsle", "value"),
    ),
}
_PIXELS = (32, 36, 49, 64, 100, 128, 144, 256, 400, 784, 900, 1024)


@dataclass(frozen=True)
class Card:
    """What a task card says.

    Attributes:
        modality: ``tabular``, ``text`` or ``image``.
        category: ``binary``, ``multiclass``, ``regression`` or ``other``.
        metric: The metric's name.
        rows: Number of training rows.
        num: Number of numeric features (pixels of an image, 0 for text).
        cat: Number of string columns (1 for text).
        missing: Whether training features have missing values.
        mixed_scale: Whether the numeric features differ much in scale.
        outputs: Number of columns to submit besides the id.
        kind: ``label``, ``probability`` or ``value``: what the metric wants to be given.
    """

    modality: str
    category: str
    metric: str
    rows: int
    num: int
    cat: int
    missing: bool
    mixed_scale: bool
    outputs: int
    kind: str

    @property
    def text(self) -> str:
        """The card without the names of its columns, which is the embedded policy's prompt."""
        return (
            f"{self.modality} {self.category} {self.metric}\n"
            f"rows {self.rows} num {self.num} cat {self.cat} "
            f"missing {'yes' if self.missing else 'no'} "
            f"scale {'mixed' if self.mixed_scale else 'even'}\n"
            f"outputs {self.outputs} kind {self.kind}\n"
        )

    @property
    def is_regression(self) -> bool:
        """Whether a regressor fits the task."""
        return self.kind == "value"


def prompt_of(card: str) -> str:
    """The prompt for a card's text: the card up to its column names.

    Raises:
        ValueError: ``card`` is not the three lines of a task card.
    """
    lines = card.splitlines()
    if len(lines) != 3 or not lines[1].startswith("rows ") or not lines[2].startswith("outputs "):
        raise ValueError(f"card must be the three lines of a task card, got {card!r}")
    return "\n".join((lines[0], lines[1], lines[2].partition(" names ")[0])) + "\n"


def random_card(rng: random.Random) -> Card:
    """Draws a card that no real task has to have."""
    modality = rng.choice(("tabular", "tabular", "text", "image"))
    category = rng.choice(tuple(_METRICS))
    metric, kind = rng.choice(_METRICS[category])
    many = metric in ("mlogloss", "map3", "mcrmse")
    tabular = modality == "tabular"
    return Card(
        modality=modality,
        category=category,
        metric=metric,
        rows=int(10 ** rng.uniform(2.1, 4.2)),
        num={
            "tabular": rng.choice((1, 2, 4, 6, 8, 12, 20, 30, 60, 100)) + rng.randint(0, 3),
            "text": 0,
        }.get(modality, rng.choice(_PIXELS)),
        cat=rng.choice((0, 0, 0, 1, 2, 3, 6, 30)) if tabular else int(modality == "text"),
        missing=tabular and rng.random() < 0.35,
        mixed_scale=tabular and rng.random() < 0.6,
        outputs=rng.choice((3, 5, 6, 9, 12, 15, 32)) if many else 1,
        kind=kind,
    )
