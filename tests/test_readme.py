"""The README and the guides cannot lie: their commands and links exist."""

import re
import shlex
from pathlib import Path

import pytest
from typer.testing import CliRunner

from uomp.node.cli import app

ROOT = Path(__file__).parent.parent
PAGES = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")])


def commands() -> list[list[str]]:
    """Return every `uomp` command of the README's blocks, as words."""
    text = (ROOT / "README.md").read_text("utf-8")
    blocks = re.findall(r"```sh\n(.*?)```", text, re.DOTALL)
    lines = "\n".join(blocks).replace("\\\n", " ").split("\n")
    return [
        shlex.split(line, comments=True)[1:]
        for line in lines
        if line.startswith("uomp ")
    ]


def help_for(words: list[str]) -> tuple[list[str], str]:
    """Return the command's own words, and its help."""
    path: list[str] = []
    for word in words:
        if not re.fullmatch(r"[a-z]+", word):
            break
        path.append(word)
    while path:
        shown = CliRunner().invoke(app, [*path, "--help"], env={"COLUMNS": "200"})
        if shown.exit_code == 0:
            return path, re.sub(r"\x1b\[[0-9;]*m", "", shown.output)
        path.pop()
    raise AssertionError(f"there is no command {words}")


@pytest.mark.parametrize("words", commands(), ids=" ".join)
def test_a_command_of_the_readme_exists_with_its_options(words: list[str]) -> None:
    path, text = help_for([word for word in words if word != "&"])
    assert path
    for option in (word for word in words if word.startswith("--")):
        assert option in text, f"uomp {' '.join(path)} has no {option}"


def test_the_readme_has_commands() -> None:
    assert len(commands()) > 15


def test_a_command_that_does_not_exist_is_seen() -> None:
    with pytest.raises(AssertionError):
        help_for(["forgive", "everything"])


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_the_links_of_a_page_lead_somewhere(page: Path) -> None:
    for target in re.findall(r"\]\(([^)#]+)[^)]*\)", page.read_text("utf-8")):
        if "://" not in target:
            assert (page.parent / target).exists(), f"{page.name}: {target}"
