"""Where a script does not fit its task: what a reviewer who knows both would ask about.

The task's side is read off its card (see ``Task.card``); other texts give no such facts.
"""

import re
from collections.abc import Mapping

__all__ = ["CALLED", "MISMATCHES", "mismatches"]

CALLED = {
    "encodes": (
        "get_dummies",
        "OneHotEncoder",
        "OrdinalEncoder",
        "TargetEncoder",
        "LabelEncoder",
        "factorize",
        "select_dtypes",
    ),
    "imputes": ("fillna", "dropna", "SimpleImputer", "KNNImputer", "IterativeImputer"),
    "vectorizes": ("CountVectorizer", "TfidfVectorizer", "HashingVectorizer"),
    "densifies": ("toarray", "todense", "TruncatedSVD"),
    "asks_probabilities": ("predict_proba", "decision_function"),
}
"""What a script does, and the names of the calls (or their first letters) that do it."""

MISMATCHES = (
    "unencoded",
    "unimputed",
    "regressor_for_labels",
    "classifier_for_values",
    "labels_for_probabilities",
    "sparse_unfit",
)

_CATEGORIES = re.compile(r"\bcat [1-9]")


def mismatches(task: str, facts: Mapping[str, float]) -> dict[str, float]:
    """Reasons why a script may fail, or score badly, on a task.

    Args:
        task: The task's text.
        facts: What :func:`~wmrl_envs.wrappers.world_models.features.script_facts` says.

    Returns:
        For each of :data:`MISMATCHES` 0.0 or 1.0: string columns that nothing encodes (a
        vectorizer does), missing values that nothing fills in and the estimator does not take, an
        estimator of the wrong kind, labels where probabilities are asked for, a vectorizer's sparse
        matrix for an estimator that takes none.
    """
    reads_text = facts["vectorizes"] > 0
    gaps = "missing yes" in task and not facts["imputes"] and not facts["missing_values"]
    found = (
        bool(_CATEGORIES.search(task)) and not facts["encodes"] and not reads_text,
        gaps,
        "kind label" in task and facts["regressor"] > 0,
        "kind value" in task and facts["classifier"] > 0,
        "kind probability" in task and not facts["asks_probabilities"],
        reads_text and not facts["sparse_input"] and not facts["densifies"],
    )
    return {name: float(value) for name, value in zip(MISMATCHES, found, strict=True)}
