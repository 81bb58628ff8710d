"""Runs the untrusted script as ``__main__``, as ``python solution.py`` would; ends the process."""

import atexit
import os
import signal
import sys
import threading
import traceback
import types
from typing import Any, NoReturn

from .seeding import seed_generators

__all__ = ["run_script"]

_STREAMS = ((0, "r", "stdin"), (1, "w", "stdout"), (2, "w", "stderr"))


def run_script(path: str, seed: int, threads: int) -> NoReturn:
    """Runs the file at ``path``, numeric libraries on ``threads`` threads; does not return.

    The forked interpreter carries one state of every generator, so ``random``, numpy and torch
    (where loaded) are seeded anew: the same code and seed give the same output.
    """
    seed_generators(seed)
    if threads > 1:
        _allow_threads(threads)
    _open_streams()
    _restore_interpreter(path)
    code = _execute(path)
    _finish_threads_and_handlers()
    _flush()
    os._exit(code)


def _allow_threads(threads: int) -> None:
    """The server loaded BLAS and OpenMP with one thread; the environment is read no more."""
    try:
        import threadpoolctl
    except ImportError:
        return
    threadpoolctl.threadpool_limits(threads)


def _open_streams() -> None:
    for descriptor, mode, name in _STREAMS:
        buffering = 1 if name == "stderr" else -1
        stream = open(
            descriptor, mode, buffering, encoding="utf-8", errors="replace", closefd=False
        )
        setattr(sys, name, stream)
        setattr(sys, f"__{name}__", stream)


def _restore_interpreter(path: str) -> None:
    signal.signal(signal.SIGINT, signal.default_int_handler)
    sys.argv = [path]
    sys.path.insert(0, os.path.dirname(path))


def _execute(path: str) -> int:
    main: Any = types.ModuleType("__main__")
    main.__file__ = path
    main.__builtins__ = __builtins__
    sys.modules["__main__"] = main
    try:
        with open(path, "rb") as file:
            source = file.read()
        exec(compile(source, path, "exec"), main.__dict__)
    except SystemExit as request:
        return _exit_code(request.code)
    except BaseException as error:
        _print_error(error, path)
        return 1
    return 0


def _exit_code(code: Any) -> int:
    if code is None:
        return 0
    if isinstance(code, int):
        return code & 255
    sys.stderr.write(f"{code}\n")
    return 1


def _print_error(error: BaseException, path: str) -> None:
    """The traceback from the script's first frame on; none if it did not even compile."""
    trace = error.__traceback__
    while trace is not None and trace.tb_frame.f_code.co_filename != path:
        trace = trace.tb_next
    try:
        traceback.print_exception(type(error), error, trace)
    except BaseException:  # an exception whose own __str__ raises must still be an error
        os.write(2, f"{type(error).__name__}\n".encode())


def _finish_threads_and_handlers() -> None:
    try:
        threading._shutdown()  # type: ignore[attr-defined]
        atexit._run_exitfuncs()
    except BaseException:
        traceback.print_exc()


def _flush() -> None:
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except Exception:  # the script may have closed or replaced it
            continue
