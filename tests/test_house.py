"""What must not stand in any file of the repository, and how long one may be."""

import os
import re
from collections.abc import Iterator
from fnmatch import fnmatch
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent

MAX_LINES = 450  # of a Python file; what is longer is two things

# Brackets keep the patterns from finding themselves.
BANNED = {
    "a registry's host": re.compile(
        r"pyp[i]\.org|python[h]osted\.org|registry\.np[m]js\.org|crate[s]\.io"
        r"|proxy\.gola[n]g\.org|--(extra-)?inde[x]-url"
    ),
    "a path of one machine": re.compile(
        r"(?<![\w.~-])/(wor[k]|roo[t]|far[m])/|/op[t]/(pypi|wheels)"
        r"|/tm[p]/(bash_jobs|contract)"
    ),
}
# Working papers that the code was written from and that no reader has.
PAPERS = re.compile(
    r"(?<![\w-])(desig[n]|styl[e]|requirement[s]|securit[y]|didcom[m]"
    r"|memory-lan[d]scape|uomp-core-wir[e])\.md\b"
)
# A lock names its hashes; nothing else in it may look like a place.
PLACE = re.compile(r"(?:https?|file)[:]//")


def files() -> Iterator[Path]:
    """Yield the files a clone would hold: all but git's own and the ignored ones."""
    lines = (ROOT / ".gitignore").read_text("utf-8").split()
    ignored = [".git", *(line.strip("/") for line in lines)]
    for folder, names, leaves in os.walk(ROOT):
        names[:] = [n for n in names if not any(fnmatch(n, i) for i in ignored)]
        for leaf in leaves:
            path = Path(folder, leaf)
            if not any(fnmatch(leaf, i) for i in ignored) and not path.is_symlink():
                yield path


def text_of(path: Path) -> str:
    return path.read_bytes().decode("utf-8", "replace")


def banned_in(text: str) -> set[str]:
    return {name for name, pattern in BANNED.items() if pattern.search(text)}


def missing_papers(text: str, present: set[str]) -> set[str]:
    return {found.group() for found in PAPERS.finditer(text)} - present


def too_long(text: str) -> bool:
    return len(text.splitlines()) > MAX_LINES


def test_no_file_names_a_registry_or_a_machine() -> None:
    faults = {
        f"{path.relative_to(ROOT)}: {what}"
        for path in files()
        for what in banned_in(text_of(path))
    }
    assert faults == set()


def test_no_file_sends_the_reader_to_a_page_that_is_not_here() -> None:
    present = {path.name for path in files()}
    faults = {
        f"{path.relative_to(ROOT)}: {page}"
        for path in files()
        for page in missing_papers(text_of(path), present)
    }
    assert faults == set()


def test_no_python_file_is_too_long() -> None:
    long = {
        path.relative_to(ROOT).as_posix()
        for path in files()
        if path.suffix == ".py" and too_long(path.read_text("utf-8"))
    }
    assert long == set()


def test_the_locks_name_no_place() -> None:
    for path in ROOT.glob("*.lock"):
        assert not PLACE.search(path.read_text("utf-8"))
        assert "--hash=sha256:" in path.read_text("utf-8")


# ---- negative controls -----------------------------------------------------


@pytest.mark.parametrize(
    ("parts", "what"),
    [
        (("https://", "py", "pi.org/simple"), "a registry's host"),
        (("files.python", "hosted.org"), "a registry's host"),
        (("pip install --index", "-url X"), "a registry's host"),
        (("open('", "/work", "/main/x')"), "a path of one machine"),
        (("see ", "/root", "/.cache"), "a path of one machine"),
        (("file://", "/farm", "/lib"), "a path of one machine"),
    ],
)
def test_what_is_banned_is_seen(parts: tuple[str, ...], what: str) -> None:
    assert banned_in("".join(parts)) == {what}


def test_a_page_that_is_not_here_is_seen() -> None:
    first, second = (f"{stem}.md" for stem in ("design", "memory-landscape"))
    text = f"see {first}, section 4, and {second}"
    assert missing_papers(text, set()) == {first, second}
    assert missing_papers(text, {first}) == {second}
    assert missing_papers("SECURITY.md, redesigned.md, CLAUDE.md", set()) == set()


def test_what_only_looks_alike_is_left_alone() -> None:
    harmless = f"a/work/b, https://example.org/root/x, ~/{'work'}/x, workshop"
    assert banned_in(harmless) == set()


def test_a_long_file_is_seen() -> None:
    assert not too_long("x = 1\n" * MAX_LINES)
    assert too_long("x = 1\n" * (MAX_LINES + 1))


def test_the_walk_meets_this_file_and_no_ignored_one() -> None:
    found = {path.relative_to(ROOT).as_posix() for path in files()}
    assert {"tests/test_house.py", "src/uomp/__init__.py", ".ci/run"} <= found
    assert not any(name.startswith((".venv/", ".git/", "node/")) for name in found)


def test_every_choice_and_threat_that_is_cited_is_explained() -> None:
    cited = {
        name
        for path in files()
        if path.suffix == ".py" and not path.is_relative_to(ROOT / "tests/vectors")
        for name in re.findall(r"\b(?:A-\d{2,3}|T\d{1,2})\b", path.read_text("utf-8"))
    }
    page = (ROOT / "spec/ambiguities.md").read_text("utf-8")
    explained = set(re.findall(r"^\| (A-\d{2,3}|T\d{1,2}) \|", page, re.MULTILINE))
    assert cited - explained == set()
    assert "A-05" in cited, "the search finds nothing"
