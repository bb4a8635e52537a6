"""No library is older than its floor in security/floors.toml."""

import tomllib
from collections.abc import Mapping
from importlib.metadata import version
from pathlib import Path

import apsw
from packaging.requirements import Requirement
from packaging.version import Version

ROOT = Path(__file__).parent.parent


def too_old(floors: Mapping[str, str], found: Mapping[str, str]) -> set[str]:
    """Return a line for each name whose found version is below its floor."""
    return {
        f"{name} {found[name]} is older than {floor}"
        for name, floor in floors.items()
        if Version(found[name]) < Version(floor)
    }


def table() -> dict[str, str]:
    data = tomllib.loads((ROOT / "security" / "floors.toml").read_text("utf-8"))
    rows = data["package"] | {"sqlite": data["sqlite"]}
    assert all(row["reason"] for row in rows.values())
    return {name: row["floor"] for name, row in rows.items()}


def installed(names: Mapping[str, str]) -> dict[str, str]:
    packages = {name: version(name) for name in names if name != "sqlite"}
    return packages | {"sqlite": apsw.sqlite_lib_version()}


def test_what_is_installed_is_new_enough() -> None:
    floors = table()
    assert too_old(floors, installed(floors)) == set()


def test_the_sqlite_floor_is_past_the_wal_reset_bug() -> None:
    assert Version(table()["sqlite"]) >= Version("3.51.3")


def test_the_floors_are_those_of_the_project_file() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    declared = {
        (requirement := Requirement(line)).name: next(
            str(one) for one in requirement.specifier if one.operator == ">="
        )
        for line in project["dependencies"]
    }
    floors = {name: f">={floor}" for name, floor in table().items() if name != "sqlite"}
    assert declared == floors


def test_an_old_library_is_seen() -> None:
    floors = table()
    found = installed(floors)
    assert too_old(floors, found | {"sqlite": "3.51.2"}) == {
        "sqlite 3.51.2 is older than 3.51.3"
    }
    assert too_old(floors, found | {"orjson": "3.11.0"}) == {
        "orjson 3.11.0 is older than 3.13.0"
    }
    assert too_old({"orjson": "999"}, found) != set()
