"""`uomp import`: reads the file here and hands its items to the node in batches.

What is handed over is staged; the store changes in one transaction at the end. An
import that is cut off goes on where it was when the same command is given again.
"""

import hashlib
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import msgspec
import orjson
from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn

from uomp.adapters.base import ImportedItem, ImportOptions, Source
from uomp.adapters.detect import open_source
from uomp.adapters.report import Summary, check
from uomp.errors import Code, LocalError
from uomp.node.cli.output import stderr
from uomp.node.control_client import ControlClient

BATCH_ITEMS = 200
BATCH_BYTES = 4 << 20  # a batch is one request to the node


def run_import(
    node: ControlClient,
    path: Path,
    options: ImportOptions,
    *,
    format_name: str | None,
    dry_run: bool,
) -> dict[str, Any]:
    """Import a file and return what came of it.

    Raises:
        LocalError: `IMPORT_REFUSED`; the store is then as before.
    """
    node.call("status")  # before an hour of reading: is there a node at all?
    source = open_source(path, format_name, mapped="key" in options.map)
    with _bar() as bar:
        checked = None
        if source.atomic or dry_run:
            checked = check(source, options, _teller(bar, "checking"))
        if dry_run and checked is not None:
            return _report(source, checked, {}, dry_run=True)
        if checked is not None and checked.problems:
            raise _refused(checked)
        summary, done = _store(node, source, options, bar)
    return _report(source, summary, done, dry_run=False)


def _store(
    node: ControlClient, source: Source, options: ImportOptions, bar: Progress
) -> tuple[Summary, dict[str, int]]:
    begun = node.call("import.begin", digest=_digest(source, options))
    import_id, staged = begun["import_id"], begun["outcomes"]
    summary = Summary.of(source)
    outcomes = source.read(options, _teller(bar, "importing"))
    batch: list[dict[str, Any]] = []
    size = first = 0
    for outcome in outcomes:
        summary.add(outcome)
        if summary.read <= staged:
            first = summary.read
            continue
        if isinstance(outcome, ImportedItem):
            batch.append(outcome.item.to_json())
            size += len(orjson.dumps(batch[-1]))
        if len(batch) >= BATCH_ITEMS or size >= BATCH_BYTES:
            _stage(node, import_id, first, summary.read, batch)
            batch, size, first = [], 0, summary.read
    if summary.read > max(first, staged):
        _stage(node, import_id, first, summary.read, batch)
    if summary.verdict == "failed":
        node.call("import.drop", import_id=import_id)
        raise _refused(summary)
    done = node.call(
        "import.finish",
        import_id=import_id,
        replace=options.replace,
        same_ok=not source.atomic,
    )
    return summary, done


def _stage(
    node: ControlClient,
    import_id: str,
    first: int,
    read: int,
    items: list[dict[str, Any]],
) -> None:
    node.call(
        "import.stage",
        import_id=import_id,
        first=first,
        outcomes=read - first,
        items=items,
    )


def _digest(source: Source, options: ImportOptions) -> str:
    """Name this input with these options, so that a resumed import is the same one."""
    chosen = msgspec.structs.replace(options, now=datetime.min.replace(tzinfo=UTC))
    named = msgspec.json.encode([source.format, source.digest, chosen], order="sorted")
    return hashlib.sha256(named).hexdigest()


def _refused(summary: Summary) -> LocalError:
    first = summary.to_json()["problems"][:20]
    lines = [f"  {each['ref']}: {each['reason']}" for each in first]
    more = summary.problems - len(first)
    if more > 0:
        lines.append(f"  and {more} more")
    if not summary.imported and not first:
        lines.append("  nothing in it can be used")
    return LocalError(
        Code.IMPORT_REFUSED,
        "The import was refused and nothing was changed:\n" + "\n".join(lines),
    )


def _report(
    source: Source, summary: Summary, done: dict[str, int], *, dry_run: bool
) -> dict[str, Any]:
    return {
        "format": source.format,
        "taken_for": source.describe(),
        "dry_run": dry_run,
        "stored": done,
        **summary.to_json(),
    }


def _bar() -> Progress:
    return Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        DownloadColumn(),
        console=stderr,
        transient=True,
        disable=not stderr.is_terminal,
    )


def _teller(bar: Progress, what: str) -> Callable[[int, int], None]:
    task = bar.add_task(what, total=None)

    def tell(done: int, total: int) -> None:
        bar.update(task, completed=done, total=total)

    return tell
