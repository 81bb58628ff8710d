"""A first use of the imported libraries, so that no job pays for it.

Libraries import a good part of themselves, scan what else is installed and fill caches when they
are first used: two fifths of what a small script costs. Nothing here knows of a task; it is what
scripts of this kind have in common.
"""

import atexit
import sys
import warnings
from collections.abc import Callable
from contextlib import suppress
from io import StringIO
from typing import Any

__all__ = ["rehearse"]


def rehearse() -> None:
    """Uses pandas, scikit-learn and torch once, as far as they are imported."""
    rehearsals: dict[str, Callable[[], None]] = {
        "pandas": _use_pandas,
        "sklearn.linear_model": _use_pipeline,
        "sklearn.ensemble": _use_ensembles,
        "sklearn.feature_extraction.text": _use_text,
        "torch": _use_torch,
    }
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for module, use in rehearsals.items():
            if module in sys.modules:
                with suppress(Exception):  # another version; its jobs are slower, not wrong
                    use()


def _table() -> Any:
    import pandas

    rows = [f"{i},{i % 3},{i / 7},{'uvw'[i % 3]},{i % 2}" for i in range(40)]
    return pandas.read_csv(StringIO("\n".join(["id,a,b,c,target", *rows])))


def _use_pandas() -> None:
    import pandas

    table = _table()
    table.loc[3, "b"] = None
    filled = table.fillna({"b": table["b"].median()})
    means = filled.groupby("c")["b"].mean().rename("mean")
    merged = filled.merge(means, left_on="c", right_index=True, how="left").sort_values("id")
    pandas.concat([pandas.get_dummies(merged, columns=["c"]), merged[["c"]]], axis=1).describe()
    result = pandas.DataFrame({"id": merged["id"], "target": merged["mean"].map(float)})
    result.to_csv(StringIO(), index=False)
    repr(result)


def _use_pipeline() -> None:
    from sklearn.compose import ColumnTransformer
    from sklearn.impute import SimpleImputer
    from sklearn.linear_model import LogisticRegression, Ridge
    from sklearn.model_selection import cross_val_score, train_test_split
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import OneHotEncoder, StandardScaler

    table = _table()
    numbers = make_pipeline(SimpleImputer(), StandardScaler())
    columns = ColumnTransformer([("n", numbers, ["a", "b"]), ("c", OneHotEncoder(), ["c"])])
    train, test = train_test_split(table, random_state=0)
    for estimator in (LogisticRegression(), Ridge()):
        model = make_pipeline(columns, estimator).fit(train, train["target"])
        model.predict(test)
        cross_val_score(model, table, table["target"], cv=2)
    LogisticRegression().fit(table[["a", "b"]], table["a"]).predict_proba(table[["a", "b"]])


def _use_ensembles() -> None:
    from sklearn import ensemble

    table = _table()
    for name in ("RandomForest", "HistGradientBoosting", "GradientBoosting"):
        size = {"max_iter" if name.startswith("Hist") else "n_estimators": 2}
        for kind in ("Classifier", "Regressor"):
            model = getattr(ensemble, name + kind)(**size, random_state=0)
            model.fit(table[["a", "b"]], table["target"]).predict(table[["a", "b"]])


def _use_text() -> None:
    from sklearn.feature_extraction.text import TfidfVectorizer
    from sklearn.linear_model import LogisticRegression

    texts = ["one two three", "two three four", "four five", "five one"]
    LogisticRegression().fit(TfidfVectorizer().fit_transform(texts), [0, 0, 1, 1])


def _use_torch() -> None:
    """No backward pass: after the first one, autograd refuses to work in a forked process."""
    import torch
    from torch.utils.data import DataLoader, TensorDataset

    network = torch.nn.Sequential(torch.nn.Linear(2, 4), torch.nn.ReLU(), torch.nn.Linear(4, 2))
    optimizer = torch.optim.Adam(network.parameters())
    data = TensorDataset(torch.zeros(8, 2), torch.zeros(8, dtype=torch.long))
    for inputs, targets in DataLoader(data, batch_size=4, shuffle=True):
        torch.nn.functional.cross_entropy(network(inputs), targets)
    optimizer.zero_grad()
    with torch.no_grad():
        network(data.tensors[0]).argmax(1).numpy()
    if "torch._dynamo.utils" in sys.modules:  # nobody reads at exit what it has not compiled
        atexit.unregister(sys.modules["torch._dynamo.utils"].dump_compile_times)
