"""Writes constraints.txt: the versions, in this environment, of all that `.[dev,all]` pulls in.

Run it in an environment where the test suite passes::

    .venv/bin/python tools/constraints.py
"""

from importlib import metadata
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from packaging.version import Version

ROOT = Path(__file__).resolve().parent.parent
HEADER = """\
# What `make demo`, `make test` and continuous integration install. Written by tools/constraints.py.
# Versions without a local part: `torch==2.13.0` admits the CPU and the CUDA builds alike.
"""


def closure(name: str, extras: frozenset[str], found: dict[str, str]) -> None:
    """Adds the version of every installed distribution that one needs, directly or not."""
    for text in metadata.requires(name) or []:
        requirement = Requirement(text)
        key = canonicalize_name(requirement.name)
        marker = requirement.marker
        wanted = marker is None or any(marker.evaluate({"extra": e}) for e in extras | {""})
        if wanted and key not in found:
            try:
                found[key] = Version(metadata.version(key)).public
            except metadata.PackageNotFoundError:
                continue
            closure(key, frozenset(requirement.extras), found)


def main() -> None:
    """Writes the file."""
    found: dict[str, str] = {}
    closure("wmrl-envs", frozenset({"dev", "all"}), found)
    del found["wmrl-envs"]  # the extra `all` names the package itself
    pins = "".join(f"{name}=={version}\n" for name, version in sorted(found.items()))
    (ROOT / "constraints.txt").write_text(HEADER + pins, encoding="utf-8")


if __name__ == "__main__":
    main()
