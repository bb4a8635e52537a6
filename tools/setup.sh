#!/bin/sh
# Makes .venv from the hash-locked requirements and installs the program into it.
# Called by make, from the root of the repository. Safe to run again.
set -eu

usable() { # a Python from 3.11 to 3.14 that has the modules $2 asks for
    "$1" -c "import sys, $2
sys.exit(not (3, 11) <= sys.version_info[:2] <= (3, 14))" >/dev/null 2>&1
}

find_python() {
    for name in ${PYTHON:+"$PYTHON"} \
        python3.14 python3.13 python3.12 python3.11 python3 python; do
        if usable "$name" "venv, ensurepip"; then
            printf '%s\n' "$name"
            return
        fi
    done
    return 1
}

# A .venv that works is kept, whoever made it.
if ! usable .venv/bin/python "pip"; then
    python=$(find_python) || {
        echo "Set-up needs Python 3.11, 3.12, 3.13 or 3.14 with its venv module; \
install one, or name it: make PYTHON=/path/to/python3 setup" >&2
        exit 1
    }
    rm -rf .venv
    "$python" -m venv .venv
fi

echo "Setting up .venv with $(.venv/bin/python -V) ..."
.venv/bin/python -m pip install --quiet --disable-pip-version-check \
    --require-hashes --only-binary :all: -r requirements-dev.lock
.venv/bin/python -m pip install --quiet --disable-pip-version-check \
    --no-deps --no-build-isolation -e .
