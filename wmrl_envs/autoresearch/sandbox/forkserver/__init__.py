"""The fork server's own process: standard library and ctypes only.

The package is loaded under the bare name ``forkserver`` by a fresh interpreter, so that the
process imports neither ``wmrl_envs`` nor anything that belongs to the trainer. Hence its imports
are relative or from the standard library, and nothing here knows of tasks, labels or grades.
"""
