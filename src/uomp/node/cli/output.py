"""What every command shares: its two options, and how it prints."""

import sys
import unicodedata
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Annotated, Any, Final

import orjson
import typer
from rich.console import Console
from rich.table import Table
from rich.text import Text

from uomp.node.control_client import ControlClient
from uomp.node.home import Home, default_home

JSON_FLAG: Final = "--json"
MAX_SHOWN = 400  # characters of a foreign text on the screen
MAX_DID = 8192

HomeOption = Annotated[
    Path | None,
    typer.Option("--home", metavar="DIR", help="The node's folder ($UOMP_HOME)."),
]
JsonOption = Annotated[bool, typer.Option(JSON_FLAG, help="Print JSON, for programs.")]
KeyFileOption = Annotated[
    Path | None,
    typer.Option(
        "--key-file", metavar="FILE", help="A file (0600) with the passphrase."
    ),
]

console: Final = Console(highlight=False, soft_wrap=True)
stderr: Final = Console(stderr=True, highlight=False, soft_wrap=True)


def open_home(home: Path | None) -> Home:
    """Return the home that `--home`, `UOMP_HOME` or the default names."""
    return Home((home or default_home()).expanduser().absolute())


def client(home: Path | None) -> ControlClient:
    """Return the road to the node that runs in this home."""
    return ControlClient(open_home(home))


def call(home: Path | None, operation: str, /, **values: Any) -> Any:  # noqa: ANN401
    """Call one operation of the running node."""
    made = client(home)
    try:
        return made.call(operation, **values)
    finally:
        made.close()


def emit(
    result: Any,  # noqa: ANN401
    *,
    as_json: bool,
    human: Callable[[Any], None],
) -> None:
    """Print a result as JSON or for people."""
    if as_json:
        sys.stdout.write(orjson.dumps(result, option=orjson.OPT_INDENT_2).decode())
        sys.stdout.write("\n")
    else:
        human(result)


def complain(sentence: str) -> None:
    """Print one sentence to standard error."""
    stderr.print(safe(sentence, 4000, lines=True), style="red")


def safe(text: object, limit: int = MAX_SHOWN, *, lines: bool = False) -> Text:
    """Return foreign text that cannot command the terminal or deceive the eye.

    Control characters, escape codes and marks that change the writing direction are
    shown as a visible sign, and so are line breaks unless `lines` is set: a text must
    not look like a line of ours. Long text is cut (threat T37).
    """
    whole = str(text)
    if whole.startswith("did:") and len(whole) <= MAX_DID:
        limit = MAX_DID  # it is there to be copied
    kept = "\n" if lines else ""
    shown = "".join(
        char if char in kept or not _commands(char) else "\N{REPLACEMENT CHARACTER}"
        for char in whole[: limit + 1]
    )
    return Text(shown[:limit] + "…" if len(shown) > limit else shown)


def _commands(char: str) -> bool:
    kind = unicodedata.category(char)
    return kind[0] == "C" or kind in ("Zl", "Zp")


def say(*parts: object) -> None:
    """Print a line; foreign parts are made safe."""
    console.print(*(part if isinstance(part, Text) else safe(part) for part in parts))


def table(title: str, heads: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
    """Print a table, or a line that says it is empty."""
    made = Table(title=title, title_justify="left", header_style="bold")
    for number, head in enumerate(heads):
        # The first column is what the next command needs: it stays in one piece.
        made.add_column(head, overflow="fold", no_wrap=number == 0)
    count = 0
    for row in rows:
        made.add_row(*(safe("" if cell is None else cell) for cell in row))
        count += 1
    if count:
        console.print(made)
    else:
        say(f"{title}: none.")


def plain(value: object) -> str:
    """Return a value as a person reads it: text as it is, anything else as JSON."""
    return value if isinstance(value, str) else orjson.dumps(value).decode()


def short(did: str | None) -> str:
    """Return a DID so that a line holds it; its beginning and end are kept."""
    if not did or len(did) <= 40:  # noqa: PLR2004 - shorter needs no cut
        return did or ""
    return f"{did[:22]}…{did[-8:]}"
