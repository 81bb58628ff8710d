"""One plan for each task of libero_10: what must hold, and the skills that bring it about."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import TypeAlias

import numpy as np

from wmrl_envs.libero.expert.skills import Grasp, Place, Push, Skill, SwingDoor

__all__ = ["PLANS", "Plan", "Step"]

_ALONG_X = np.pi / 2
"""The yaw at which the fingers close along x; at 0 they close along y."""


@dataclass(frozen=True)
class Step:
    """A goal predicate of the task and the skills that make it true."""

    goal: tuple[str, ...]
    skills: Sequence[Skill]


Plan: TypeAlias = tuple[Step, ...]


def _into_basket(what: str, grip: float, side: float) -> Step:
    """Takes an object from above and drops it into one half of the basket."""
    region = "basket_1_contain_region"
    grips = [(along, 0.0, grip) for along in (0.0, 0.02, -0.02)]
    take = Grasp(what, grips, lift=0.17, twists=(0.0, -0.25, 0.25))
    return Step(("in", what, region), [take, Place(what, region, (side, 0.0, 0.03))])


def _mug_onto(what: str, plate: str, wall: float, rim: float) -> Step:
    """Takes a mug by the wall at -y and sets it on a plate."""
    take = Grasp(what, [(0.0, wall, rim)] * 2, lift=0.12)
    return Step(("on", what, plate), [take, Place(what, plate, (0.0, 0.0, 0.006), tolerance=0.006)])


def _moka_pot(what: str, side: float) -> Step:
    """Takes a moka pot by its handle and sets it on the stove."""
    region = "flat_stove_1_cook_region"
    take = Grasp(what, [(0.0, -0.078, 0.045)] * 2, lift=0.14, yaw=_ALONG_X, hover=0.15)
    offset = (side, 0.01, 0.10)
    place = Place(what, region, offset, yaw=_ALONG_X, tolerance=0.006, speed=0.5)
    return Step(("on", what, region), [take, place])


def _soup(side: float) -> Step:
    return _into_basket("alphabet_soup_1", 0.015, side)


def _cream_cheese(side: float) -> Step:
    return _into_basket("cream_cheese_1", 0.0, side)


_WHITE_MUG = _mug_onto("porcelain_mug_1", "plate_1", -0.052, 0.085)
_YELLOW_MUG = _mug_onto("white_yellow_mug_1", "plate_2", -0.060, 0.080)

_PUDDING = Step(
    ("on", "chocolate_pudding_1", "living_room_table_plate_right_region"),
    [
        Grasp("chocolate_pudding_1", [(0.0, 0.0, 0.0)] * 2, lift=0.12),
        Place("chocolate_pudding_1", "living_room_table_plate_right_region", (0.0, 0.0, 0.05)),
    ],
)

# The closed fingers push the bar of the knob from +y to -y.
_STOVE = Step(
    ("turnon", "flat_stove_1"),
    [
        Push(
            "flat_stove_1",
            [(-0.034, 0.065, 0.12), (-0.034, 0.065, 0.023), (-0.034, -0.10, 0.023)],
            tolerance=0.008,
        )
    ],
)

_BOOK = Step(
    ("in", "black_book_1", "desk_caddy_1_back_contain_region"),
    [
        Grasp("black_book_1", [(0.0, 0.0, 0.035)] * 2, lift=0.2, by_box=True),
        Place(
            "black_book_1",
            "desk_caddy_1_back_contain_region",
            (0.0, 0.0, 0.02),
            tolerance=0.008,
            by_box=True,
        ),
    ],
)

# Across the drawer, the hand would be too wide; the tilt lets the fingertips lead.
_BOWL = Step(
    ("in", "akita_black_bowl_1", "white_cabinet_1_bottom_region"),
    [
        Grasp(
            "akita_black_bowl_1",
            [(0.047, 0.0, 0.033), (-0.047, 0.0, 0.033), (0.05, 0.0, 0.028)],
            lift=0.2,
            yaw=_ALONG_X,
        ),
        Place(
            "akita_black_bowl_1", "white_cabinet_1_bottom_region", (0.0, -0.02, 0.0), yaw=_ALONG_X
        ),
    ],
)
_DRAWER = Step(
    ("close", "white_cabinet_1_bottom_region"),
    [
        Push(
            "white_cabinet_1",
            [(0.0, -0.34, 0.215), (0.0, -0.34, 0.05), (0.0, 0.05, 0.05)],
            yaw=_ALONG_X,
            tilt=0.5,
        )
    ],
)

_MUG_INSIDE = Step(
    ("in", "white_yellow_mug_1", "microwave_1_heating_region"),
    [
        Grasp("white_yellow_mug_1", [(0.0, -0.056, 0.055)] * 2, lift=0.1, yaw=_ALONG_X),
        Place(
            "white_yellow_mug_1",
            "microwave_1",
            (0.0, -0.048, 0.036),
            via=[(0.0, -0.19, 0.05), (0.0, -0.17, 0.0)],
            retreat=(0.0, -0.12, 0.03),
            yaw=_ALONG_X,
            speed=0.5,
        ),
    ],
)
_MICROWAVE = Step(
    ("close", "microwave_1"),
    [SwingDoor("microwave_1", "microwave_1_microjoint", (-0.172, -0.088, 0.116), 0.21)],
)

PLANS: Mapping[int, Plan] = MappingProxyType(
    {
        0: (_soup(-0.028), _into_basket("tomato_sauce_1", 0.015, 0.028)),
        1: (_cream_cheese(-0.028), _into_basket("butter_1", 0.0, 0.028)),
        2: (_STOVE, _moka_pot("moka_pot_1", 0.0)),
        3: (_BOWL, _DRAWER),
        4: (_WHITE_MUG, _YELLOW_MUG),
        5: (_BOOK,),
        6: (_WHITE_MUG, _PUDDING),
        7: (_soup(-0.028), _cream_cheese(0.028)),
        8: (_moka_pot("moka_pot_2", 0.042), _moka_pot("moka_pot_1", -0.045)),
        9: (_MUG_INSIDE, _MICROWAVE),
    }
)
"""The plans by task id."""
