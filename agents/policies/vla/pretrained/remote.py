"""Models of the Hugging Face Hub that bring their own code."""

from pathlib import Path
from typing import Any

__all__ = ["load_remote"]

_AUTO_CLASSES = ("AutoModelForVision2Seq", "AutoModelForImageTextToText")


def load_remote(folder: Path, *, trust_remote_code: bool, dtype: Any = None) -> tuple[Any, Any]:
    """Loads a model that sees and speaks, and its processor, with the code in their folder.

    Args:
        folder: The model's folder.
        trust_remote_code: May that code run on this machine?
        dtype: The weights' type; None: the stored one.

    Returns:
        The model, in evaluation mode, and the processor.

    Raises:
        ValueError: The code may not run, or the folder names no class of model.
    """
    if trust_remote_code is not True:
        raise ValueError(
            f"{str(folder)!r} brings Python code that would run on this machine: read it, then "
            "pass trust_remote_code=True"
        )
    from transformers import AutoConfig, AutoProcessor
    from transformers.dynamic_module_utils import get_class_from_dynamic_module

    config = AutoConfig.from_pretrained(folder, trust_remote_code=True)
    classes = getattr(config, "auto_map", None) or {}
    found = [classes[name] for name in _AUTO_CLASSES if name in classes]
    if not found:
        raise ValueError(
            f"config.json of {str(folder)!r} must name a class for one of {_AUTO_CLASSES} in "
            f"auto_map, got {sorted(classes)}"
        )
    # Through the class itself: transformers 5 has no AutoModelForVision2Seq any more.
    kind: Any = get_class_from_dynamic_module(found[0], folder)
    model = kind.from_pretrained(folder, config=config, dtype=dtype or "auto")
    return model.eval(), AutoProcessor.from_pretrained(folder, trust_remote_code=True)
