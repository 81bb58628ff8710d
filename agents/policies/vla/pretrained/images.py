"""Pictures as OpenVLA, MiniVLA and their kin were trained on them."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["CROP_AREA", "prepared"]

Image = NDArray[np.uint8]

CROP_AREA = 0.9
"""The share of the picture that models trained with random crops see in evaluation."""


def prepared(image: Image, size: int, *, crop: bool = False) -> Image:
    """Scales one picture to the size that the vision towers see.

    The recipe of openvla-mini's LIBERO evaluation: Lanczos to a square (Pillow's, which first
    averages where it shrinks), then, for models trained with image augmentation, the middle 90 % of
    the area, scaled back bilinearly.

    How the picture must be turned is the model's affair. The renderer hands it over upside down.
    MiniVLA saw it flipped vertically, nothing more: ``orientation="upright"`` of the LIBERO
    environment (:func:`wmrl_envs.libero.cameras.oriented`), in which left and right are the
    scene's own. OpenVLA saw it turned by 180 degrees, ``"rot180"``.

    Args:
        image: (H, W, 3), uint8, turned as the model wants it.
        size: The side, pixels.
        crop: Take the middle?

    Returns:
        (size, size, 3), uint8.

    Raises:
        ValueError: The picture is no (H, W, 3) array of uint8.

    Example:
        >>> prepared(np.full((256, 256, 3), 7, np.uint8), 224, crop=True).shape
        (224, 224, 3)
    """
    from PIL.Image import Resampling, fromarray

    if image.dtype != np.uint8 or image.ndim != 3 or image.shape[-1] != 3:
        raise ValueError(
            f"image must be (H, W, 3), uint8, got shape {image.shape}, {image.dtype.name}"
        )
    picture: Any = fromarray(np.ascontiguousarray(image))
    picture = picture.resize((size, size), Resampling.LANCZOS)
    if crop:
        inner = int(CROP_AREA**0.5 * size)
        edge = (size - inner) // 2
        picture = picture.crop((edge, edge, edge + inner, edge + inner))
        picture = picture.resize((size, size), Resampling.BILINEAR)
    return np.asarray(picture).copy()
