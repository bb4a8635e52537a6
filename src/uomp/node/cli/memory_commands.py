"""`uomp import` and `uomp memory`: the owner's own memory."""

import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Any, Literal

import orjson
import typer

from uomp.errors import Code, LocalError
from uomp.node.cli.output import (
    HomeOption,
    JsonOption,
    call,
    client,
    emit,
    safe,
    say,
    table,
)
from uomp.node.home import write_private

memory_app = typer.Typer(no_args_is_help=True, help="Your memory.")

Level = Literal["low", "medium", "high"]
Sensitivity = Annotated[
    Level | None, typer.Option(help="For records that state none: low, medium, high.")
]


def register(app: typer.Typer) -> None:
    """Add these commands."""
    app.command("import")(import_)
    app.add_typer(memory_app, name="memory")


def import_(
    file: Annotated[Path, typer.Argument(help="A file, a ZIP or a folder.")],
    sensitivity: Sensitivity = None,
    tag: Annotated[
        list[str] | None, typer.Option("--tag", help="For every record; may repeat.")
    ] = None,
    format_name: Annotated[
        str | None, typer.Option("--format", help="chatgpt, uomp-csv or uomp-json.")
    ] = None,
    map_: Annotated[
        list[str] | None,
        typer.Option("--map", metavar="FIELD=COLUMN", help="For example key=symbol."),
    ] = None,
    delimiter: Annotated[str | None, typer.Option(help="Of a CSV file.")] = None,
    types: Annotated[
        bool, typer.Option("--types", help="Read CSV cells as numbers and so on.")
    ] = False,
    replace: Annotated[
        bool, typer.Option("--replace", help="Change items that are there already.")
    ] = False,
    include_branches: Annotated[
        bool, typer.Option("--include-branches", help="Abandoned branches too.")
    ] = False,
    include_instructions: Annotated[
        bool, typer.Option("--include-instructions", help="Custom instructions too.")
    ] = False,
    include_thoughts: Annotated[
        bool, typer.Option("--include-thoughts", help="The model's thoughts too.")
    ] = False,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Check and report; change nothing.")
    ] = False,
    home: HomeOption = None,
    as_json: JsonOption = False,
) -> None:
    """Import memory: ChatGPT exports, UOMP CSV and UOMP JSON."""
    # These read many formats; no other command needs them.
    from uomp.adapters.base import ImportOptions  # noqa: PLC0415
    from uomp.node.cli.importing import run_import  # noqa: PLC0415

    options = ImportOptions(
        now=datetime.now(UTC),
        tags=tuple(tag or ()),
        sensitivity=sensitivity,
        replace=replace,
        map=_mapping(map_ or []),
        delimiter=delimiter,
        types=types,
        include_branches=include_branches,
        include_instructions=include_instructions,
        include_thoughts=include_thoughts,
    )
    node = client(home)
    try:
        found = run_import(
            node, file, options, format_name=format_name, dry_run=dry_run
        )
    finally:
        node.close()
    emit(found, as_json=as_json, human=_print_import)
    if found["verdict"] == "failed":
        raise typer.Exit(1)


def _mapping(given: list[str]) -> dict[str, str]:
    made: dict[str, str] = {}
    for one in given:
        field, mark, column = one.partition("=")
        if not (field and mark and column):
            raise LocalError(Code.INVALID_REQUEST, "--map takes FIELD=COLUMN.")
        made[field] = column
    return made


def _print_import(found: dict[str, Any]) -> None:
    say(f"Read as {found['taken_for']}.")
    if found["dry_run"]:
        say(f"Dry run: {found['imported']} items would be imported.")
    else:
        stored = found["stored"]
        say(
            f"{stored['added']} added, {stored['replaced']} replaced, "
            f"{stored['unchanged']} there already."
        )
    for record in found["skipped_records"]:
        say(f"  skipped {record['ref']}: {record['reason']}")
    for reason, count in found["left_out_reasons"].items():
        say(f"  left out {count} x {reason}")
    for one in found["problems"]:
        say(f"  problem {one['ref']}: {one['reason']}")
    for one in found["warnings"]:
        say(f"  note {one['ref']}: {one['text']}")


@memory_app.command("list")
def memory_list(
    tag: Annotated[str | None, typer.Option(help="Only items with this tag.")] = None,
    after: Annotated[str, typer.Option(help="Begin after this key.")] = "",
    limit: Annotated[int, typer.Option(min=1, max=1000)] = 100,
    home: HomeOption = None,
    as_json: JsonOption = False,
) -> None:
    """List items by key."""
    found = call(home, "memory.list", tag=tag, after=after, limit=limit)
    emit(found, as_json=as_json, human=_print_items)


def _print_items(found: list[dict[str, Any]]) -> None:
    table(
        "Memory",
        ("key", "tags", "sensitivity", "source", "updated"),
        (
            (
                item["key"],
                ", ".join(item["tags"]),
                item["sensitivity"],
                item["source"],
                item["updated_at"],
            )
            for item in found
        ),
    )


@memory_app.command("get")
def memory_get(
    key: str,
    home: HomeOption = None,
    as_json: JsonOption = False,
) -> None:
    """Show one item whole."""
    emit(call(home, "memory.get", key=key), as_json=as_json, human=_print_item)


def _print_item(item: dict[str, Any]) -> None:
    for name, value in item.items():
        text = value if isinstance(value, str) else _pretty(value)
        say(f"{name}:", safe(text, 100_000, lines=True))


def _pretty(value: object) -> str:
    return orjson.dumps(value, option=orjson.OPT_INDENT_2).decode()


@memory_app.command("put")
def memory_put(
    key: str,
    value: Annotated[
        str, typer.Argument(help="JSON, or text; - reads JSON from stdin.")
    ],
    tag: Annotated[list[str], typer.Option("--tag", help="May repeat.")],
    sensitivity: Annotated[Level, typer.Option(help="low, medium or high.")],
    description: Annotated[str | None, typer.Option()] = None,
    home: HomeOption = None,
    as_json: JsonOption = False,
) -> None:
    """Write one item."""
    found = call(
        home,
        "memory.put",
        key=key,
        value=_value(value),
        tags=tag,
        sensitivity=sensitivity,
        description=description,
    )
    emit(found, as_json=as_json, human=lambda item: say(f"Written: {item['key']}"))


def _value(text: str) -> object:
    raw = sys.stdin.buffer.read() if text == "-" else text.encode()
    try:
        return orjson.loads(raw)
    except orjson.JSONDecodeError as error:
        if text == "-" or text.lstrip()[:1] in ("{", "[", '"'):
            message = "The value begins like JSON and is none."
            raise LocalError(Code.INVALID_REQUEST, message) from error
        return text


@memory_app.command("rm")
def memory_rm(
    key: str,
    home: HomeOption = None,
    as_json: JsonOption = False,
) -> None:
    """Delete one item."""
    found = call(home, "memory.rm", key=key)
    emit(found, as_json=as_json, human=lambda item: say(f"Deleted: {item['key']}"))


@memory_app.command("stats")
def memory_stats(home: HomeOption = None, as_json: JsonOption = False) -> None:
    """Count items by sensitivity and tag."""
    emit(call(home, "memory.stats"), as_json=as_json, human=_print_stats)


def _print_stats(found: dict[str, Any]) -> None:
    say(f"{found['items']} items")
    table("Sensitivity", ("level", "items"), found["sensitivity"].items())
    table("Tags", ("tag", "items"), found["tags"].items())


@memory_app.command("export")
def memory_export(
    file: Annotated[Path, typer.Argument(help="The file to write, mode 0600.")],
    home: HomeOption = None,
    as_json: JsonOption = False,
) -> None:
    """Write every item as UOMP JSON, which `uomp import` reads."""
    node = client(home)
    items: list[dict[str, Any]] = []
    try:
        while page := node.call(
            "memory.list", tag=None, after=items[-1]["key"] if items else "", limit=1000
        ):
            items += page
    finally:
        node.close()
    write_private(file, orjson.dumps(items, option=orjson.OPT_INDENT_2))
    made = {"file": str(file), "items": len(items)}
    emit(made, as_json=as_json, human=lambda _: say(f"{len(items)} items in {file}"))
