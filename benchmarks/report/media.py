"""Pictures and films of episodes that lie in a run folder, put into the page itself."""

import base64
import html
from collections.abc import Iterator, Sequence
from pathlib import Path

from wmrl_envs.benchmarks.report.summaries import Arm

__all__ = ["films"]

_KINDS = {
    ".png": "image/png",
    ".jpg": "image/jpeg",
    ".jpeg": "image/jpeg",
    ".gif": "image/gif",
    ".mp4": "video/mp4",
    ".webm": "video/webm",
}
_FOLDERS = ("episodes", "videos", "strips")
MOST_BYTES = 24_000_000


def films(found: Sequence[Arm], most_bytes: int = MOST_BYTES) -> tuple[str, int]:
    """The runs' pictures and films.

    Args:
        found: The arms.
        most_bytes: What all files may take; further ones are left out.

    Returns:
        HTML, "" where there are none, and how many files found no room.
    """
    shown, left_out, used = [], 0, 0
    for arm, name, path in _files(found):
        size = path.stat().st_size
        if used + size > most_bytes:
            left_out += 1
            continue
        used += size
        shown.append(_figure(arm, name, path))
    return (f'<div class="films">{"".join(shown)}</div>' if shown else ""), left_out


def _files(found: Sequence[Arm]) -> Iterator[tuple[Arm, str, Path]]:
    for arm in found:
        for run in arm.runs:
            for folder in _FOLDERS:
                paths = (run.folder / folder).glob("*")
                for path in sorted(paths, key=lambda p: (p.suffix != ".png", p.name)):
                    if path.suffix.lower() in _KINDS and path.is_file():
                        yield arm, run.name, path


def _figure(arm: Arm, name: str, path: Path) -> str:
    kind = _KINDS[path.suffix.lower()]
    data = f"data:{kind};base64,{base64.b64encode(path.read_bytes()).decode('ascii')}"
    strip = " strip" if kind == "image/png" else ""  # frames side by side, which want the width
    said = html.escape(f"{name}: {path.stem.replace('_', ' ')}", quote=True)
    if kind.startswith("video"):
        picture = (
            f'<video controls muted loop playsinline aria-label="{said}" src="{data}"></video>'
        )
    else:
        picture = f'<img decoding="async" alt="{said}" src="{data}">'
    return (
        f'<figure class="{arm.css}{strip}">{picture}<figcaption><span class="key" '
        f'style="display:inline-block;margin-right:.4rem"></span>{said}</figcaption></figure>'
    )
