"""The built archives hold every module, under one name."""

import shutil
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
LINKS = ("node", "packets", "protocol", "transports")


def built(tree: Path, out: Path) -> Path:
    cmd = [sys.executable, "-m", "build", "--no-isolation", "-o", str(out), "."]
    subprocess.run(cmd, cwd=tree, check=True, capture_output=True)
    return out


def wheel_names(archives: Path) -> set[str]:
    (wheel,) = archives.glob("*.whl")
    with zipfile.ZipFile(wheel) as opened:
        return set(opened.namelist())


def sdist_names(archives: Path) -> set[str]:
    (sdist,) = archives.glob("*.tar.gz")
    with tarfile.open(sdist) as opened:
        return {name.partition("/")[2] for name in opened.getnames()}


@pytest.fixture(scope="module")
def archives(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return built(ROOT, tmp_path_factory.mktemp("dist"))


@pytest.fixture(scope="module")
def in_wheel(archives: Path) -> set[str]:
    return wheel_names(archives)


@pytest.fixture(scope="module")
def in_sdist(archives: Path) -> set[str]:
    return sdist_names(archives)


def modules() -> set[str]:
    paths = (ROOT / "src" / "uomp").rglob("*.py")
    return {path.relative_to(ROOT / "src").as_posix() for path in paths}


def test_the_wheel_holds_every_module_and_nothing_else(in_wheel: set[str]) -> None:
    assert modules() | {"uomp/py.typed"} <= in_wheel
    tops = {name.partition("/")[0] for name in in_wheel if "dist-info" not in name}
    assert tops == {"uomp"}


def test_the_sdist_holds_every_module_and_what_a_build_needs(
    in_sdist: set[str],
) -> None:
    assert {f"src/{name}" for name in modules()} <= in_sdist
    assert {"pyproject.toml", "LICENSE", "README.md", "Makefile"} <= in_sdist


def test_the_links_at_the_root_are_not_packed(in_sdist: set[str]) -> None:
    tops = {name.partition("/")[0] for name in in_sdist}
    assert tops.isdisjoint(LINKS)


def test_a_build_that_walks_the_links_loses_modules_and_is_seen(
    tmp_path: Path,
) -> None:
    shutil.copytree(ROOT / "src", tmp_path / "src")
    for name in ("LICENSE", "README.md"):
        shutil.copy(ROOT / name, tmp_path)
    for link in LINKS:
        (tmp_path / link).symlink_to(Path("src", "uomp", link))
    text = (ROOT / "pyproject.toml").read_text("utf-8")
    guard = "skip-excluded-dirs = true\n"
    assert guard in text
    (tmp_path / "pyproject.toml").write_text(text.replace(guard, ""), "utf-8")
    names = sdist_names(built(tmp_path, tmp_path / "dist"))
    assert not {f"src/{name}" for name in modules()} <= names
