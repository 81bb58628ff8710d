"""What runs in each Ray actor: one sandbox, and the public data of its machine."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from wmrl_envs.autoresearch.sandbox import parcels
from wmrl_envs.autoresearch.sandbox.jobs import Execution, Job
from wmrl_envs.autoresearch.sandbox.report import SandboxReport
from wmrl_envs.autoresearch.sandbox.sandbox import Sandbox
from wmrl_envs.errors import SandboxError, SandboxUnavailable

__all__ = ["RayWorker"]


class RayWorker:
    """Runs jobs, one after the other; made into an actor by :class:`RaySandbox`.

    Its methods return what went wrong, because an exception would come back as a text of Ray's.

    Args:
        arguments: The arguments of the worker's :class:`Sandbox`.
        shelf: Where the machine keeps public data; None for a folder of the user's.
    """

    def __init__(self, arguments: Mapping[str, Any], shelf: str | None) -> None:
        self._sandbox = Sandbox(workers=1, **arguments)
        self._shelf = shelf
        self._verified: dict[str, Path] = {}

    def report(self) -> SandboxReport | SandboxUnavailable | SandboxError:
        """Starts the sandbox."""
        try:
            return self._sandbox.report()
        except (SandboxUnavailable, SandboxError) as error:
            return error

    def run(
        self, job: Job, data: Mapping[str, tuple[str, Any]]
    ) -> Execution | SandboxUnavailable | SandboxError:
        """Runs a job whose data is there by digest.

        Args:
            job: The job, without ``ro_data``.
            data: Place -> digest and reference of the packed content, which is fetched only if this
                machine lacks it.
        """
        try:
            shown = {str(self._folder(*parcel)): place for place, parcel in data.items()}
            [execution] = self._sandbox.run_many([replace(job, ro_data=shown)])
        except (SandboxUnavailable, SandboxError) as error:
            return error
        except Exception as error:  # of this machine: a full disk, say
            return SandboxError(f"the worker failed: {type(error).__name__}: {error}")
        return replace(execution, backend=f"ray/{execution.backend}")

    def _folder(self, digest: str, reference: Any) -> Path:
        if digest not in self._verified:
            self._verified[digest] = self._fetch(digest, reference)
        return self._verified[digest]

    def _fetch(self, digest: str, reference: Any) -> Path:
        import ray

        shelf = parcels.open_shelf(self._shelf)
        if not (shelf / digest).is_dir():
            return parcels.unpack(ray.get(reference), digest, shelf)
        if parcels.digest_of(parcels.pack(shelf / digest)) != digest:
            raise SandboxError(f"{shelf / digest} was changed since it was laid out; remove it")
        return shelf / digest
