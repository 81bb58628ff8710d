"""The execution sandbox: a warm interpreter, forked once a job and closed off by the kernel.

It stops scripts that read labels, other jobs and the network, outlive their time, fill memory or
disk, or forge their result. It does not stop kernel exploits, GPU access or CPU side channels: for
hostile users put a virtual machine around it. ``docs/threat-model.md`` says what each layer and
backend is worth. Sandboxes on a Ray cluster are in :mod:`wmrl_envs.autoresearch.sandbox.ray`, which
needs the extra ``ray``.
"""

from wmrl_envs.autoresearch.sandbox.base import JobRunner
from wmrl_envs.autoresearch.sandbox.jobs import Execution, ExecutionStatus, Job, Limits
from wmrl_envs.autoresearch.sandbox.paths import DEFAULT_HIDDEN
from wmrl_envs.autoresearch.sandbox.report import SandboxReport
from wmrl_envs.autoresearch.sandbox.sandbox import DEFAULT_PRELOAD, Sandbox

__all__ = [
    "DEFAULT_HIDDEN",
    "DEFAULT_PRELOAD",
    "Execution",
    "ExecutionStatus",
    "Job",
    "JobRunner",
    "Limits",
    "Sandbox",
    "SandboxReport",
]
