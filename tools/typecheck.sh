#!/usr/bin/env bash
# Runs mypy on the unpacked wheel: from the root it does not see the folders that are mapped into
# the package. Paths in the messages are those of the wheel: wmrl_envs/agents/... is agents/...
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

root=$PWD
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

mkdir "$work/source" "$work/tree"
cp -r pyproject.toml README.md LICENSE wmrl_envs wrappers agents benchmarks "$work/source"
.venv/bin/python -m build --wheel --no-isolation --outdir "$work" "$work/source" >"$work/log" 2>&1 ||
    { cat "$work/log"; exit 1; }
.venv/bin/python -m zipfile --extract "$work"/*.whl "$work/tree"
cd "$work/tree"
"$root/.venv/bin/python" -m mypy --config-file "$root/pyproject.toml" \
    --cache-dir "$root/.mypy_cache" "$@"
