#!/bin/sh
# Pins every dependency, direct or not, in requirements.lock, for Python 3.10 and later.
#
# Versions that are already pinned stay unless they no longer fit; `--upgrade` moves them all. uv resolves
# for all Python versions at once; it comes into a virtual environment that is thrown away.
set -eu
cd "$(dirname "$0")/.."

scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT INT TERM

echo "Locking: fetching uv ..."
"${PYTHON:-python3}" -m venv "$scratch"
"$scratch/bin/python" -m pip install --quiet --disable-pip-version-check uv

echo "Locking: resolving ..."
"$scratch/bin/uv" pip compile --quiet --universal --python-version 3.10 --extra dev \
    --custom-compile-command "make lock" --no-emit-index-url --no-emit-find-links \
    --output-file requirements.lock "$@" pyproject.toml
echo "Locking: done, $(grep -c '==' requirements.lock) packages in requirements.lock"
