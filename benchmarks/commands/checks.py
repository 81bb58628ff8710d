"""What ``wmrl doctor`` checks: each check looks at the machine and answers in one line."""

import ctypes.util
import importlib.metadata
import platform
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from packaging.requirements import Requirement

if TYPE_CHECKING:
    from wmrl_envs.autoresearch.sandbox import SandboxReport

__all__ = ["Check", "accelerator", "core_packages", "extras", "rendering", "sandbox", "system"]

_DISTRIBUTION = "wmrl-envs"
_GL_LIBRARIES = {
    "EGL": ("EGL", "libegl1", "on GPUs, and on CPUs with Mesa"),
    "OSMesa": ("OSMesa", "libosmesa6", "on CPUs"),
    "GLFW": ("glfw", "libglfw3", "in a window"),
}


@dataclass(frozen=True)
class Check:
    """One finding.

    Attributes:
        name: What was looked at.
        state: ``ok``; ``missing`` for what is optional; ``failed`` for what the package needs.
        detail: What was found.
        remedy: What to do about it; "" where nothing needs doing.
    """

    name: str
    state: Literal["ok", "missing", "failed"]
    detail: str
    remedy: str = ""


def system() -> Iterator[Check]:
    """Python and the operating system."""
    enough = sys.version_info >= (3, 10)
    yield Check(
        "Python",
        "ok" if enough else "failed",
        f"{platform.python_version()} ({sys.executable})",
        "" if enough else "use Python 3.10 or newer",
    )
    linux = sys.platform == "linux"
    yield Check(
        "system",
        "ok" if linux else "failed",
        f"{platform.system()} {platform.release()} {platform.machine()}",
        "" if linux else "the sandbox needs a Linux kernel; a virtual machine will do",
    )


def core_packages() -> Iterator[Check]:
    """The packages that every installation needs."""
    for requirement in _requirements():
        if requirement.marker is None or requirement.marker.evaluate({"extra": ""}):
            fault = _fault(requirement)
            yield Check(
                requirement.name,
                "failed" if fault else "ok",
                fault or _version(requirement.name) or "",
                _install([requirement] if fault else []),
            )


def extras() -> Iterator[Check]:
    """The optional packages, one finding an extra."""
    requirements = _requirements()
    for extra in importlib.metadata.metadata(_DISTRIBUTION).get_all("Provides-Extra") or []:
        wanted = [
            requirement
            for requirement in requirements
            if requirement.marker is not None
            and requirement.marker.evaluate({"extra": extra})
            and not requirement.marker.evaluate({"extra": ""})
        ]
        lacking = [requirement for requirement in wanted if _fault(requirement)]
        found = ", ".join(f"{r.name} {_version(r.name)}" for r in wanted)
        yield Check(
            extra,
            "missing" if lacking else "ok",
            "; ".join(map(_fault, lacking)) or found,
            _install(lacking),
        )


def accelerator() -> Iterator[Check]:
    """Where torch computes."""
    try:
        import torch
    except ImportError as error:
        yield Check("torch", "failed", str(error), "pip install torch")
        return
    if torch.cuda.is_available():
        names = {torch.cuda.get_device_name(i) for i in range(torch.cuda.device_count())}
        yield Check(
            "torch", "ok", f"{torch.cuda.device_count()} GPU(s): {', '.join(sorted(names))}"
        )
    else:
        yield Check("torch", "ok", f"CPU, {torch.get_num_threads()} threads")


def sandbox() -> Iterator[Check]:
    """The isolation layers and what enters them, all tried for real; Ray is only looked for."""
    report = _try_sandbox()
    if isinstance(report, str):
        yield Check("default sandbox", "failed", report, "see the message; then run this again")
        yield from _weaker_sandbox()
    else:
        yield Check("default sandbox", "ok", f"{report.backend}, level {report.level}")
        yield Check("layers", "ok", ", ".join(report.layers))
    yield _bubblewrap()
    yield _ray()


def _try_sandbox(**arguments: Any) -> "SandboxReport | str":
    """The report of a started sandbox, or why there is none."""
    from wmrl_envs.autoresearch.sandbox import Sandbox
    from wmrl_envs.errors import WMRLError

    try:
        with Sandbox(preload=(), **arguments) as tried:
            return tried.report()
    except WMRLError as error:
        return str(error)


def _weaker_sandbox() -> Iterator[Check]:
    report = _try_sandbox(min_level="landlock")
    if isinstance(report, str):
        yield Check("weaker sandbox", "missing", report)
    else:
        yield Check(
            "weaker sandbox",
            "ok",
            f"level {report.level}: {', '.join(report.layers)}",
            f'pass min_level="{report.level}" if what it lacks does not matter to you',
        )


def _bubblewrap() -> Check:
    report = _try_sandbox(backend="bubblewrap")
    if isinstance(report, str):
        return Check(
            "bubblewrap", "missing", report, "needed for Sandbox(python=...), or as a fallback"
        )
    return Check("bubblewrap", "ok", f"level {report.level}")


def _ray() -> Check:
    version = _version("ray")
    if version is None:
        return Check(
            "RaySandbox", "missing", "ray is not installed", "pip install 'wmrl-envs[ray]'"
        )
    return Check("RaySandbox", "ok", f"ray {version}; call ray.init() before the first job")


def rendering() -> Iterator[Check]:
    """The OpenGL back ends that a simulator can render with."""
    for name, (library, package, where) in _GL_LIBRARIES.items():
        found = ctypes.util.find_library(library)
        yield Check(
            name,
            "ok" if found else "missing",
            f"{found or 'not found'}, renders {where}",
            "" if found else f"apt-get install {package}",
        )


def _requirements() -> list[Requirement]:
    return [Requirement(text) for text in importlib.metadata.requires(_DISTRIBUTION) or []]


def _fault(requirement: Requirement) -> str:
    """What is wrong with a requirement; "" if it is met."""
    version = _version(requirement.name)
    if version is None:
        return f"{requirement.name} is not installed"
    if not requirement.specifier.contains(version, prereleases=True):
        return f"{requirement.name} {version} does not satisfy {requirement.specifier}"
    return ""


def _install(lacking: list[Requirement]) -> str:
    """The pip command for some requirements; by name, since this package may be a checkout."""
    quoted = (f"'{_without_marker(requirement)}'" for requirement in lacking)
    return f"pip install {' '.join(quoted)}" if lacking else ""


def _without_marker(requirement: Requirement) -> str:
    extras = f"[{','.join(sorted(requirement.extras))}]" if requirement.extras else ""
    return f"{requirement.name}{extras}{requirement.specifier}"


def _version(name: str) -> str | None:
    try:
        return importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        return None
