"""Features of small grey pictures: gradients, statistics, straightened copies."""

import numpy as np
from scipy import ndimage

__all__ = ["flat", "gradients", "half_size", "patterns", "shifted", "statistics", "straight"]


def flat(images: np.ndarray) -> np.ndarray:
    """(N, height * width), scaled to about [0, 1]."""
    scale = 255.0 if images.max() > 17 else 16.0
    return images.reshape(len(images), -1) / scale


def gradients(images: np.ndarray, cells: int, directions: int = 8) -> np.ndarray:
    """Histograms of gradient directions in a grid of cells x cells, (N, cells² * directions)."""
    pixels = images.astype(float)
    down, right = np.gradient(pixels, axis=(1, 2))
    strength = np.hypot(down, right)
    angle = (np.arctan2(down, right) % (2 * np.pi)) / (2 * np.pi) * directions
    n, height, width = pixels.shape
    rows, columns = (np.linspace(0, size, cells + 1).astype(int) for size in (height, width))
    parts = []
    for direction in range(directions):
        distance = np.abs((angle - direction + directions / 2) % directions - directions / 2)
        energy = strength * np.clip(1 - distance, 0, None)
        sums = np.add.reduceat(np.add.reduceat(energy, rows[:-1], axis=1), columns[:-1], axis=2)
        parts.append(sums.reshape(n, -1))
    histogram = np.concatenate(parts, axis=1)
    return np.sqrt(histogram / (histogram.sum(axis=1, keepdims=True) + 1e-6))


def statistics(images: np.ndarray) -> np.ndarray:
    """Brightness, contrast, gradients and the spectrum averaged over rings."""
    pixels = images.astype(float)
    down, right = np.gradient(pixels, axis=(1, 2))
    parts = [pixels.mean((1, 2)), pixels.std((1, 2)), down.std((1, 2)), right.std((1, 2))]
    parts += [np.abs(down).mean((1, 2)), np.abs(right).mean((1, 2))]
    centred = pixels - pixels.mean((1, 2), keepdims=True)
    spectrum = np.log1p(np.abs(np.fft.fft2(centred)))
    axes = [np.minimum(np.arange(size), size - np.arange(size)) for size in pixels.shape[1:]]
    ring = np.hypot(axes[0][:, None], axes[1][None, :]).astype(int)
    parts += [spectrum[:, ring == radius].mean(axis=1) for radius in range(ring.max() + 1)]
    return np.stack(parts, axis=1)


def patterns(images: np.ndarray) -> np.ndarray:
    """Histograms of local patterns: which of the eight neighbours are brighter, (N, 256 * 2)."""
    parts = []
    for sigma in (0.0, 1.0):
        pixels = ndimage.gaussian_filter(images.astype(float), (0, sigma, sigma))
        parts.append(_local_patterns(pixels))
    return np.sqrt(np.concatenate(parts, axis=1))


def _local_patterns(pixels: np.ndarray) -> np.ndarray:
    centre = pixels[:, 1:-1, 1:-1]
    height, width = centre.shape[1:]
    code = np.zeros(centre.shape, dtype=int)
    around = [(0, 0), (0, 1), (0, 2), (1, 2), (2, 2), (2, 1), (2, 0), (1, 0)]
    for bit, (top, left) in enumerate(around):
        code |= (pixels[:, top : top + height, left : left + width] > centre) << bit
    counts = [np.bincount(image.ravel(), minlength=256) for image in code]
    return np.array(counts) / (height * width)


def half_size(images: np.ndarray) -> np.ndarray:
    """Means of 2 x 2 pixels, flat."""
    n, height, width = images.shape
    cut = images[:, : height // 2 * 2, : width // 2 * 2].astype(float)
    means = cut.reshape(n, height // 2, 2, width // 2, 2).mean((2, 4))
    return means.reshape(n, -1) / max(float(images.max()), 1.0)


def straight(images: np.ndarray) -> np.ndarray:
    """Undoes the slant of strokes, by the second moments; flat."""
    return flat(np.stack([_unslant(image.astype(float)) for image in images]))


def _unslant(image: np.ndarray) -> np.ndarray:
    total = image.sum()
    if total == 0:
        return image
    rows, columns = np.indices(image.shape)
    row, column = (rows * image).sum() / total, (columns * image).sum() / total
    spread = (((rows - row) ** 2) * image).sum() / total
    slant = ((rows - row) * (columns - column) * image).sum() / total / max(spread, 1e-6)
    matrix = np.array([[1.0, 0.0], [slant, 1.0]])
    middle = (np.array(image.shape) - 1) / 2
    offset = np.array([row, column]) - matrix @ middle
    return np.asarray(ndimage.affine_transform(image, matrix, offset=offset, order=1))


def shifted(images: np.ndarray) -> list[np.ndarray]:
    """The images and four copies moved by one pixel."""
    moves = ((0, 0), (1, 0), (-1, 0), (0, 1), (0, -1))
    return [np.roll(images, move, axis=(1, 2)) for move in moves]
