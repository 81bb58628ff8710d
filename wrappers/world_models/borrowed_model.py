"""A language model that belongs to somebody else: loaded, or lent by the policy that trains it."""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from pathlib import Path
from typing import Any

__all__ = ["Lent", "load_language_model", "undisturbed", "unwrapped"]

Lent = Callable[[], AbstractContextManager[Any]]
"""Makes the context in which a model is the frozen one, such as ``peft_model.disable_adapter``."""


def load_language_model(
    name_or_path: str | Path, tokenizer: Any = None, **kwargs: Any
) -> tuple[Any, Any]:
    """Loads a causal language model and its tokenizer from a folder or the Hugging Face Hub.

    Args:
        name_or_path: A folder with ``config.json``, or a Hub id such as "org/model".
        tokenizer: A tokenizer to use instead of the model's own.
        **kwargs: Further arguments of ``AutoModelForCausalLM.from_pretrained``, such as ``dtype``.

    Raises:
        OSError: It is neither a local model nor reachable on the Hub.
    """
    from transformers import AutoModelForCausalLM, AutoTokenizer

    source = str(name_or_path)
    try:
        found = tokenizer if tokenizer is not None else AutoTokenizer.from_pretrained(source)
        model = AutoModelForCausalLM.from_pretrained(source, **kwargs).requires_grad_(False)
    except OSError as error:
        raise OSError(
            f"model {source!r} is neither a local folder with a language model nor reachable on "
            f"the Hugging Face Hub ({error})"
        ) from error
    return model.eval(), found


def unwrapped(model: Any) -> Any:
    """The transformers model inside a PEFT model (its LoRA layers stay); any other as it is."""
    inner = getattr(model, "get_base_model", None)
    return inner() if callable(inner) else model


@contextmanager
def undisturbed(model: Any, lent: Lent = nullcontext) -> Iterator[None]:
    """Uses a model in evaluation mode and in its owner's context; leaves it as it was.

    Switching an adapter off and on again resets which parameters require gradients, and an owner
    may have frozen some: both that and every module's training mode are put back.

    Args:
        model: A torch module.
        lent: Makes a context to enter as well.
    """
    training = {module: module.training for module in model.modules()}
    gradients = {parameter: parameter.requires_grad for parameter in model.parameters()}
    try:
        with lent():
            model.eval()
            yield
    finally:
        for module, mode in training.items():
            module.training = mode
        for parameter, wanted in gradients.items():
            parameter.requires_grad_(wanted)
