"""The grades that a language model gives with one token, and the reward that they stand for."""

import math
from collections.abc import Mapping
from dataclasses import dataclass

__all__ = ["DIGITS", "GradeScale"]


@dataclass(frozen=True)
class GradeScale:
    """Labels of one token each, and what they mean.

    Attributes:
        labels: L different labels, from the worst to the best.
        rewards: The reward that each stands for, finite and ascending.
        meanings: What each means, for the prompt; "" where the neighbours say enough.

    Raises:
        ValueError: There are fewer than two labels, one repeats or is blank, the lengths differ,
            or the rewards are not ascending and finite.

    Example:
        >>> scale = GradeScale(("A", "B"), (0.0, 1.0), ("it fails", "it works"))
        >>> scale.expected({"A": 0.25, "B": 0.25})
        0.5
    """

    labels: tuple[str, ...]
    rewards: tuple[float, ...]
    meanings: tuple[str, ...]

    def __post_init__(self) -> None:
        """Checks the columns."""
        lengths = [len(self.labels), len(self.rewards), len(self.meanings)]
        if min(lengths) < 2 or len(set(lengths)) > 1:
            raise ValueError(
                "labels, rewards and meanings must have one length of at least 2, got "
                f"{', '.join(map(str, lengths))}"
            )
        if len({label.strip() for label in self.labels} - {""}) < len(self.labels):
            raise ValueError(f"labels must be different and not blank, got {self.labels!r}")
        ascending = all(a < b for a, b in zip(self.rewards, self.rewards[1:], strict=False))
        if not ascending or not all(map(math.isfinite, self.rewards)):
            raise ValueError(f"rewards must be finite and ascending, got {self.rewards!r}")

    def expected(self, probabilities: Mapping[str, float], min_mass: float = 0.0) -> float | None:
        """The expected reward over the labels that have a probability.

        Args:
            probabilities: Label -> probability, at least 0; the rest of the mass is elsewhere.
            min_mass: The least mass that the labels must have together.

        Returns:
            The expectation under the renormalised probabilities; None if fewer than two labels
            are among them, or they have too little mass.
        """
        known = [
            (probabilities[label], reward)
            for label, reward in zip(self.labels, self.rewards, strict=True)
            if label in probabilities
        ]
        mass = math.fsum(p for p, _ in known)
        if len(known) < 2 or not mass > 0 or mass < min_mass:
            return None
        return math.fsum(p * reward for p, reward in known) / mass

    def reward(self, label: str) -> float | None:
        """The reward of one label, blanks around it left aside; None if there is no such label."""
        found = dict(zip(self.labels, self.rewards, strict=True))
        return found.get(label.strip())

    def nearest(self, reward: float) -> str:
        """The label whose reward is nearest to a measured one."""
        distances = [abs(reward - known) for known in self.rewards]
        return self.labels[distances.index(min(distances))]

    def legend(self) -> str:
        """One line a label that has a meaning."""
        pairs = zip(self.labels, self.meanings, strict=True)
        return "\n".join(f"{label}: {meaning}" for label, meaning in pairs if meaning)


_MEANINGS = {
    0: "it does not start",
    1: "it stops with an error, or takes too long",
    2: "it ends, but writes no valid submission",
    5: "its submission is valid and ranks last on the leaderboard",
    7: "its submission is valid and ranks in the middle of the leaderboard",
    9: "its submission is valid and ranks first on the leaderboard",
}

# A ninth a digit: 1, 2 and 5 to 9 lie within 0.06 of AutoResearch's ladder, which pays 0.1, 0.2
# and 0.5 + 0.5 x position.
DIGITS = GradeScale(
    tuple(map(str, range(10))),
    tuple(digit / 9 for digit in range(10)),
    tuple(_MEANINGS.get(digit, "") for digit in range(10)),
)
"""The ten digits, evenly from 0.0 to 1.0."""
