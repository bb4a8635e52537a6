"""The architecture's contracts catch what they forbid."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
LAYERS = ("node", "transports", "protocol", "packets")
LINT = Path(sys.executable).with_name("lint-imports")

LAYERING = "Each layer imports only those below it"
PURITY = "The core does no I/O"
KEYLESS = "Transports know no keys and no store"
SQLITE = "Nobody uses the stdlib's SQLite, which has the WAL-reset bug"


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """Return a bare twin of the package, under the project's own contracts."""
    package = tmp_path / "uomp"
    for layer in LAYERS:
        (package / layer).mkdir(parents=True)
        (package / layer / "__init__.py").touch()
    (package / "__init__.py").touch()
    (package / "errors.py").touch()
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    return tmp_path


def broken(tree: Path) -> set[str]:
    """Return the names of the contracts that the tree breaks."""
    done = subprocess.run(
        [LINT, "--no-cache"], cwd=tree, capture_output=True, text=True, check=False
    )
    found = {
        name
        for name in (LAYERING, PURITY, KEYLESS, SQLITE)
        if f"{name} BROKEN" in " ".join(done.stdout.split())
    }
    assert (done.returncode != 0) == bool(found), done.stdout + done.stderr
    return found


def test_an_innocent_tree_breaks_nothing(tree: Path) -> None:
    code = "from uomp.packets import errors\n"
    (tree / "uomp/packets/errors.py").touch()
    (tree / "uomp/node/main.py").write_text(f"import asyncio, apsw\n{code}")
    assert broken(tree) == set()


@pytest.mark.parametrize(
    ("place", "code", "contract"),
    [
        ("packets", "import uomp.protocol", LAYERING),
        ("protocol", "from uomp.node import main", LAYERING),
        ("transports", "import uomp.node", LAYERING),
        ("packets", "import time", PURITY),
        ("protocol", "from secrets import token_bytes", PURITY),
        ("transports", "import cryptography.x509", KEYLESS),
        ("node", "import sqlite3", SQLITE),
    ],
)
def test_a_planted_import_is_caught(
    tree: Path, place: str, code: str, contract: str
) -> None:
    (tree / "uomp/node/main.py").touch()
    (tree / "uomp" / place / "planted.py").write_text(code)
    assert broken(tree) == {contract}
