"""The list of requirements and the tests say the same about what is done."""

import ast
import tomllib
from collections import Counter
from collections.abc import Mapping
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent

LEVELS = ("MUST", "SHOULD", "MAY", "implied")
# How many there are of each level, in the order of LEVELS: 625 in all.
COUNTS = {
    "SYS": (0, 0, 0, 19),
    "UOMP": (141, 52, 41, 174),
    "PAM": (11, 19, 11, 86),
    "DER": (0, 0, 0, 28),
    "NEW": (1, 2, 7, 33),
}
# What an entry must have beside its level, by its status.
NEEDED: dict[str, tuple[str, ...]] = {
    "open": (),
    "done": ("text",),
    "refused": ("reason",),
}

Entry = Mapping[str, str]


def written(argument: ast.expr) -> str:
    if isinstance(argument, ast.Constant):
        return str(argument.value)
    return ast.unparse(argument)


def ids_in(source: str) -> set[str]:
    """Read the ids in requirement marks off the source, without running it.

    An argument that is no plain string is returned as it is written, so that it
    is met as an unknown id.
    """
    found: set[str] = set()
    for node in ast.walk(ast.parse(source)):
        if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute):
            continue
        if node.func.attr == "requirement":
            found.update(map(written, node.args))
    return found


def entry_faults(entries: Mapping[str, Entry]) -> set[str]:
    faults: set[str] = set()
    for id_, entry in entries.items():
        status = entry.get("status", "")
        if status not in NEEDED:
            faults.add(f"{id_}: {status!r} is no status")
        faults.update(
            f"{id_}: {status} without {member}"
            for member in NEEDED.get(status, ())
            if not entry.get(member)
        )
    return faults


def mark_faults(entries: Mapping[str, Entry], marked: set[str]) -> set[str]:
    done = {id_ for id_, entry in entries.items() if entry.get("status") == "done"}
    untested = {f"{id_}: done, but no test names it" for id_ in done - marked}
    unknown = {
        f"{id_}: a test names it, the list does not" for id_ in marked - set(entries)
    }
    return untested | unknown


def count_faults(entries: Mapping[str, Entry]) -> set[str]:
    got = Counter((i.partition("-")[0], e.get("level", "")) for i, e in entries.items())
    want = {
        (group, level): count
        for group, counts in COUNTS.items()
        for level, count in zip(LEVELS, counts, strict=True)
    }
    return {
        f"{group} {level}: {got[group, level]}, not {want.get((group, level), 0)}"
        for group, level in got.keys() | want.keys()
        if got[group, level] != want.get((group, level), 0)
    }


@pytest.fixture(scope="module")
def entries() -> dict[str, Entry]:
    text = (ROOT / "spec" / "requirements.toml").read_text("utf-8")
    return dict(tomllib.loads(text)["requirement"])


def test_every_entry_has_a_status_and_what_that_status_asks_for(
    entries: dict[str, Entry],
) -> None:
    assert entry_faults(entries) == set()


def test_what_is_done_is_tested_and_what_is_tested_is_listed(
    entries: dict[str, Entry],
) -> None:
    sources = (ROOT / "tests").rglob("test_*.py")
    marked = {id_ for path in sources for id_ in ids_in(path.read_text("utf-8"))}
    assert mark_faults(entries, marked) == set()


def test_no_requirement_was_lost_or_changed_its_level(
    entries: dict[str, Entry],
) -> None:
    assert count_faults(entries) == set()
    assert sum(map(sum, COUNTS.values())) == len(entries) == 625


# ---- negative controls: each fault is seen ---------------------------------

OPEN = {"level": "MUST", "status": "open"}
DONE = {"level": "MUST", "status": "done", "text": "It works."}


@pytest.mark.parametrize(
    ("entry", "fault"),
    [
        (DONE | {"text": ""}, "X-1: done without text"),
        ({"level": "MUST", "status": "done"}, "X-1: done without text"),
        (OPEN | {"status": "refused"}, "X-1: refused without reason"),
        (OPEN | {"status": "almost"}, "X-1: 'almost' is no status"),
        ({"level": "MUST"}, "X-1: '' is no status"),
    ],
)
def test_an_entry_that_lacks_something_is_seen(entry: Entry, fault: str) -> None:
    assert entry_faults({"X-1": entry, "X-2": DONE}) == {fault}


def test_an_entry_that_is_done_without_a_test_is_seen() -> None:
    made_up = {"X-1": DONE, "X-2": OPEN}
    assert mark_faults(made_up, {"X-1"}) == set()
    assert mark_faults(made_up, {"X-2"}) == {"X-1: done, but no test names it"}


def test_a_test_of_an_unlisted_requirement_is_seen() -> None:
    assert mark_faults({"X-1": OPEN}, {"X-1", "X-9"}) == {
        "X-9: a test names it, the list does not"
    }


def test_marks_are_found_wherever_they_stand() -> None:
    source = """
import pytest
from pytest import mark
pytestmark = pytest.mark.requirement("X-1")
@pytest.mark.requirement("X-2", "X-3")
class TestIt:
    @mark.requirement("X-4")
    @pytest.mark.parametrize("n", [pytest.param(1, marks=mark.requirement("X-5"))])
    async def test_it(self, n): "X-6"
@pytest.mark.requirement(*OTHERS)
def test_more(): ...
"""
    assert ids_in(source) == {"X-1", "X-2", "X-3", "X-4", "X-5", "*OTHERS"}


def test_a_lost_entry_and_a_changed_level_are_seen(entries: dict[str, Entry]) -> None:
    lost = {id_: entry for id_, entry in entries.items() if id_ != "SYS-1"}
    assert count_faults(lost) == {"SYS implied: 18, not 19"}
    changed = entries | {"SYS-1": {"level": "MAY", "status": "open"}}
    assert count_faults(changed) == {"SYS implied: 18, not 19", "SYS MAY: 1, not 0"}
    stranger = entries | {"ABC-1": OPEN}
    assert count_faults(stranger) == {"ABC MUST: 1, not 0"}
