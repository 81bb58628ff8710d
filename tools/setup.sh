#!/usr/bin/env bash
# Sets up .venv in the root of the repository: pinned packages, this package editable.
#
#   tools/setup.sh [EXTRA...]     for example: tools/setup.sh dev libero
#
# With the extra libero (or all) it also looks for the libraries that draw without a screen, and with
# dev for bubblewrap and Chromium; as root on Debian it installs what is missing, otherwise it says
# what to do.
#
#   PYTHON       the interpreter, 3.11 or newer (the pins of constraints.txt ask for that)
#   TORCH_INDEX  a pip index that holds the wanted build of torch, such as the small CPU build
#
# A second call does nothing until pyproject.toml, constraints.txt or the interpreter changes.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

venv=.venv
python=$venv/bin/python
say() { printf '\033[1m==> %s\033[0m\n' "$*" >&2; }
die() { printf 'setup: %s\n' "$*" >&2; exit 1; }

fits() { "$1" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; }

find_python() {
    local candidate
    for candidate in ${PYTHON:-python3 python3.11 python3.12 python3.13}; do
        if fits "$candidate"; then
            command -v "$candidate"
            return
        fi
    done
}

# Installs Debian packages, as root; fails where that cannot be.
install_system_packages() {
    if [[ $(id -u) -ne 0 ]] || ! command -v apt-get >/dev/null; then
        return 1
    fi
    say "Installing $*"
    apt-get update -qq </dev/null
    DEBIAN_FRONTEND=noninteractive apt-get install -y -qq "$@" </dev/null >&2
}

# What the extras need that pip does not bring. The package works without, and says what it misses.
ensure_system_libraries() {
    local extras=" $* " missing=()
    if [[ $extras == *" libero "* || $extras == *" all "* ]]; then
        ldconfig -p | grep -q libOSMesa || missing+=(libosmesa6)
        ldconfig -p | grep -q libEGL_mesa || missing+=(libegl1 libgl1 libegl-mesa0 libgl1-mesa-dri)
    fi
    if [[ $extras == *" dev "* ]]; then
        command -v bwrap >/dev/null || missing+=(bubblewrap)
        command -v chromium chromium-browser google-chrome >/dev/null || missing+=(chromium)
    fi
    [[ ${#missing[@]} -eq 0 ]] || install_system_packages "${missing[@]}" ||
        say "Missing, but not needed at once; on Debian: sudo apt-get install ${missing[*]}"
}

create_venv() {
    local base
    base=$(find_python)
    if [[ -z $base ]] || ! "$base" -c 'import ensurepip, venv' 2>/dev/null; then
        # Debian parts python3 from its venv module.
        install_system_packages python3 python3-venv || die \
            "Python 3.11 or newer with venv is needed; on Debian: sudo apt-get install python3-venv"
        base=$(find_python)
        [[ -n $base ]] || die "no Python 3.11 or newer found; set PYTHON"
    fi
    say "Creating $venv with $base"
    rm -rf "$venv"
    "$base" -m venv "$venv"
    pwd >"$venv/.root"
}

# The scripts of a virtual environment hold its path: a repository that moved needs a new one.
ensure_venv() {
    [[ ! -f $venv/.root || $(<"$venv/.root") == "$PWD" ]] || rm -rf "$venv"
    "$python" -m pip --version >/dev/null 2>&1 || create_venv
}

pip_install() { "$python" -m pip install -qq --constraint constraints.txt "$@" </dev/null; }

# torch comes first and by itself: a range, or a requirement of another package, could take a CUDA
# build of several GB.
install_packages() {
    local extras=$1 torch
    torch=$(grep -E '^torch==' constraints.txt)
    say "Installing $torch"
    pip_install ${TORCH_INDEX:+--index-url "$TORCH_INDEX"} "$torch"
    say "Installing wmrl-envs${extras:+[$extras]} and what it needs (a few minutes)"
    pip_install setuptools
    pip_install --no-build-isolation --editable ".${extras:+[$extras]}"
}

fingerprint() { { cat pyproject.toml constraints.txt tools/setup.sh; pwd; } | sha256sum; }

# An installation with extras serves who asks for none.
is_installed() {
    local stamp
    for stamp in "$@"; do
        if [[ -x $python && -f $stamp && $(fingerprint) == "$(<"$stamp")" ]]; then
            return 0
        fi
    done
    return 1
}

main() {
    local extras stamp
    extras=$(IFS=,; echo "$*")
    stamp=$venv/.installed-$extras
    if is_installed "$stamp" || { [[ -z $extras ]] && is_installed "$venv"/.installed-*; }; then
        return
    fi
    ensure_system_libraries "$@"
    ensure_venv
    install_packages "$extras"
    fingerprint >"$stamp"
}

main "$@"
