"""Folders of the Hugging Face Hub."""

from collections.abc import Sequence
from pathlib import Path

__all__ = ["downloaded"]


def downloaded(
    source: str | Path, revision: str | None = None, patterns: Sequence[str] | None = None
) -> Path:
    """Returns the folder of a model, downloaded from the Hugging Face Hub if it is not local.

    Args:
        source: A folder, or a Hub id such as "org/model".
        revision: The Hub's branch, tag or commit.
        patterns: The files to download, ``*`` allowed; None: all.

    Raises:
        OSError: It is neither a local folder nor reachable on the Hub.
    """
    if Path(source).is_dir():
        return Path(source)
    from huggingface_hub import snapshot_download
    from huggingface_hub.errors import HfHubHTTPError, HFValidationError

    files = None if patterns is None else list(patterns)
    try:
        return Path(snapshot_download(str(source), revision=revision, allow_patterns=files))
    except (OSError, HfHubHTTPError, HFValidationError) as error:
        raise OSError(
            f"cannot load a model from {str(source)!r}: there is no such local folder, and the "
            "Hugging Face Hub gave none. Where the Hub cannot be reached, copy the folder "
            f"({'all of it' if files is None else ', '.join(files)}) to this machine and pass its "
            f"path. ({type(error).__name__}: {error})"
        ) from error
