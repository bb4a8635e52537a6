"""`uomp packet`: packets as files. `verify`, `show` and `canonical` need no node."""

import base64
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Any

import orjson
import typer

from uomp.errors import Code, LocalError
from uomp.node.cli.handoff_commands import print_report
from uomp.node.cli.options import Keys, Reshare, Tags, reshare_of
from uomp.node.cli.output import (
    HomeOption,
    JsonOption,
    call,
    emit,
    plain,
    safe,
    say,
)
from uomp.node.home import write_private

packet_app = typer.Typer(no_args_is_help=True, help="Packets as files.")

File = Annotated[Path, typer.Argument(help="The file; - reads standard input.")]
Output = Annotated[Path | None, typer.Option(help="Write here (0600), not to stdout.")]


def register(app: typer.Typer) -> None:
    """Add these commands."""
    app.add_typer(packet_app, name="packet")


def _read(path: Path) -> bytes:
    try:
        return sys.stdin.buffer.read() if str(path) == "-" else path.read_bytes()
    except OSError as error:
        message = f"{path} cannot be read: {error.strerror}."
        raise LocalError(Code.INVALID_REQUEST, message) from error


def _text(path: Path) -> str:
    try:
        return _read(path).decode("utf-8")
    except UnicodeDecodeError as error:
        message = f"{path} is not UTF-8."
        raise LocalError(Code.SCHEMA_VIOLATION, message) from error


def _deliver(data: bytes, output: Path | None) -> None:
    if output is None:
        sys.stdout.buffer.write(data)
        sys.stdout.flush()
        return
    write_private(output, data)


def _tell_written(output: Path | None, name: str, *, as_json: bool) -> None:
    """Say where a result was written; one that was printed speaks for itself."""
    if output is not None:
        made = {"file": str(output), "hash": name}
        emit(made, as_json=as_json, human=lambda _: say(f"{output}: {name}"))


@packet_app.command("make")
def packet_make(
    key: Keys = None,
    tag: Tags = None,
    text: Annotated[str | None, typer.Option(help="A plain text instead.")] = None,
    to: Annotated[
        str | None, typer.Option(help="Only for this DID or contact.")
    ] = None,
    intent: Annotated[str, typer.Option(help="What it is for.")] = "",
    reshare: Reshare = None,
    output: Output = None,
    home: HomeOption = None,
    as_json: JsonOption = False,
) -> None:
    """Make and sign a packet; it is printed unless --output is given."""
    made = call(
        home,
        "packet.make",
        keys=key or [],
        tags=tag or [],
        text=text,
        to=to,
        intent=intent,
        reshare=reshare_of(reshare),
    )
    _deliver(orjson.dumps(made["packet"]) + b"\n", output)
    _tell_written(output, made["packet_hash"], as_json=as_json)


@packet_app.command("verify")
def packet_verify(
    file: File,
    did: Annotated[
        Path | None,
        typer.Option(help="The signer's DID document, where its DID does not hold it."),
    ] = None,
    home: HomeOption = None,  # noqa: ARG001 - every command takes it
    as_json: JsonOption = False,
) -> None:
    """Check a packet by the numbered steps; exit 1 if any fails."""
    from uomp.node.offline import verify_file  # noqa: PLC0415

    found = verify_file(_read(file), did, datetime.now(UTC))
    emit(found, as_json=as_json, human=_print_verified)
    if found["verdict"] != "OK":
        raise typer.Exit(1)


def _print_verified(found: dict[str, Any]) -> None:
    for report in (found, *found["inside"]):
        print_report(report, verbose=True)
        for name, value in report["reported"].items():
            say(f"  {name}:", plain(value))
    if found["why"]:
        say(found["why"])
    say("Verdict:", found["verdict"])


@packet_app.command("show")
def packet_show(
    file: File,
    home: HomeOption = None,  # noqa: ARG001 - every command takes it
    as_json: JsonOption = False,
) -> None:
    """Show what a packet says, verified or not."""
    from uomp.node.offline import show_file  # noqa: PLC0415

    emit(show_file(_read(file)), as_json=as_json, human=_print_shown)


def _print_shown(found: dict[str, Any]) -> None:
    say("NOT VERIFIED. This is only what the file says; see: uomp packet verify")
    for name, value in found["header"].items():
        say(f"{name}:", plain(value))
    say("")
    say(safe(found["text"], 4000, lines=True))


@packet_app.command("canonical")
def packet_canonical(
    file: File,
    part: Annotated[
        str, typer.Option(help="signing-input, payload or whole.")
    ] = "signing-input",
    home: HomeOption = None,  # noqa: ARG001 - every command takes it
    as_json: JsonOption = False,
) -> None:
    """Print the canonical bytes that are signed or hashed, and their SHA-256."""
    from uomp.node.offline import canonical_of  # noqa: PLC0415

    found = canonical_of(_read(file))
    if part not in found:
        raise typer.BadParameter("It is signing-input, payload or whole.")
    if as_json:
        emit(found, as_json=True, human=say)
        return
    # Exactly these bytes, so that any tool gives the hash that is said.
    sys.stdout.buffer.write(found[part]["bytes"].encode())
    sys.stdout.flush()
    if sys.stdout.isatty():
        typer.echo()
    typer.echo(found[part]["sha256"], err=True)


@packet_app.command("seal")
def packet_seal(
    file: File,
    to: Annotated[str, typer.Option(help="The receiver's DID, or a contact's name.")],
    media_type: Annotated[
        str, typer.Option("--format", help="The media type of what is sealed.")
    ] = "application/uomp-packet+json",
    output: Output = None,
    home: HomeOption = None,
    as_json: JsonOption = False,
) -> None:
    """Encrypt a file so that only one DID's owner can open it, and sign it outside."""
    data = base64.b64encode(_read(file)).decode()
    made = call(home, "packet.seal", data=data, to=to, format=media_type)
    _deliver(orjson.dumps(made["envelope"]) + b"\n", output)
    _tell_written(output, made["envelope"]["hash"], as_json=as_json)


@packet_app.command("open")
def packet_open(
    file: File,
    output: Output = None,
    allow_uncommitted: Annotated[
        bool,
        typer.Option(
            "--allow-uncommitted", help="Also envelopes without a key commitment."
        ),
    ] = False,
    home: HomeOption = None,
    as_json: JsonOption = False,
) -> None:
    """Open an envelope that was sealed for this node."""
    found = call(
        home,
        "packet.open",
        envelope=_text(file),
        allow_uncommitted=allow_uncommitted,
    )
    if as_json:
        emit(found, as_json=True, human=say)
        return
    _deliver(base64.b64decode(found["data"]), output)
    by = found["signed_by"]
    typer.echo(f"Signed outside by {by}" if by else "NOT SIGNED outside.", err=True)
