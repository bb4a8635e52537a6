"""`uomp handoff`, `inbox` and `why`: packets that go out, come in, and their traces."""

from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from uomp.errors import Code, LocalError
from uomp.node.cli.options import Keys, Reshare, Tags, reshare_of
from uomp.node.cli.output import (
    HomeOption,
    JsonOption,
    call,
    emit,
    plain,
    safe,
    say,
    short,
    table,
)
from uomp.node.home import write_private

handoff_app = typer.Typer(no_args_is_help=True, help="Packets you hand to others.")
inbox_app = typer.Typer(no_args_is_help=True, help="Packets others handed to you.")

PacketArgument = Annotated[str, typer.Argument(help="A packet's id or hash.")]
ConflictOption = Annotated[
    Literal["keep-both", "skip", "replace"],
    typer.Option(help="What to do where your value differs."),
]


def register(app: typer.Typer) -> None:
    """Add these commands."""
    app.add_typer(handoff_app, name="handoff")
    app.add_typer(inbox_app, name="inbox")
    app.command()(why)


@handoff_app.command("send")
def handoff_send(
    peer: Annotated[str, typer.Argument(help="A DID, or a contact's name.")],
    packet: Annotated[
        str | None,
        typer.Option(help="Hand on this packet of the inbox, unaltered, in our own."),
    ] = None,
    key: Keys = None,
    tag: Tags = None,
    intent: Annotated[str, typer.Option(help="What it is for.")] = "",
    reshare: Reshare = None,
    home: HomeOption = None,
    as_json: JsonOption = False,
) -> None:
    """Hand memory to a peer as a signed packet."""
    found = call(
        home,
        "handoff.send",
        to=peer,
        packet=packet,
        keys=key or [],
        tags=tag or [],
        intent=intent,
        reshare=reshare_of(reshare),
    )
    emit(found, as_json=as_json, human=_print_sent)


def _print_sent(found: dict[str, Any]) -> None:
    say(f"Packet {found['packet_id']} is on its way to", short(found["peer"]))
    say(f"  {found['packet_hash']}")
    say("  its receipt: uomp handoff show", found["packet_id"])


@handoff_app.command("list")
def handoff_list(home: HomeOption = None, as_json: JsonOption = False) -> None:
    """List what was handed over, with the receipts."""
    emit(call(home, "handoff.list"), as_json=as_json, human=_print_handoffs)


# What a receipt says is what the peer's node did, not what its owner thinks of it.
_OUTCOMES = {
    "queued": "on its way",
    "accepted": "verified, in its inbox",
    "stored_opaque": "verified, not understood",
}


def _print_handoffs(found: list[dict[str, Any]]) -> None:
    table(
        "Handed over",
        ("packet", "to", "type", "items", "bytes", "receipt"),
        (
            (
                one["packet_id"],
                short(one["peer"]),
                one["memory_type"],
                one["items"],
                one["size"],
                _OUTCOMES.get(one["status"], one["status"]),
            )
            for one in found
        ),
    )


@handoff_app.command("show")
def handoff_show(
    packet: PacketArgument,
    home: HomeOption = None,
    as_json: JsonOption = False,
) -> None:
    """Show a packet that was handed over, and its signed receipt."""
    found = call(home, "handoff.show", packet=packet)
    emit(found, as_json=as_json, human=_print_handoff)


def _print_handoff(found: list[dict[str, Any]]) -> None:
    for one in found:
        for name, value in one.items():
            say(f"{name}:", safe(plain(value), 4000))


@inbox_app.command("list")
def inbox_list(
    every: Annotated[
        bool, typer.Option("--all", help="Those already decided on too.")
    ] = False,
    home: HomeOption = None,
    as_json: JsonOption = False,
) -> None:
    """List verified packets that wait for you."""
    found = call(home, "inbox.list", every=every)
    emit(found, as_json=as_json, human=_print_inbox)


def _print_inbox(found: list[dict[str, Any]]) -> None:
    table(
        "Inbox",
        ("packet", "type", "signed by", "handed over by", "status", "received"),
        (
            (
                one["packet_id"],
                one["memory_type"],
                short(one["issuer"]),
                short(one["sender"]),
                one["status"],
                one["received_at"],
            )
            for one in found
        ),
    )


@inbox_app.command("show")
def inbox_show(
    packet: PacketArgument,
    output: Annotated[
        Path | None, typer.Option(help="Write the packet itself to this file.")
    ] = None,
    home: HomeOption = None,
    as_json: JsonOption = False,
) -> None:
    """Show a packet: who signed it, each check, and its text."""
    found = call(home, "inbox.show", packet=packet)
    if output is not None:
        write_private(output, found["packet"].encode())
    emit(found, as_json=as_json, human=_print_packet)


def _print_packet(found: dict[str, Any]) -> None:
    for name in ("packet_id", "packet_hash", "memory_type", "status"):
        say(f"{name}:", found[name])
    for report in found["reports"]:
        print_report(report)
    for warning in found["warnings"]:
        say("Note:", warning)
    say("")
    say(safe(found["text"], 4000, lines=True))


def print_report(report: dict[str, Any], *, verbose: bool = False) -> None:
    """Print a verification: one line where all is well, else every check."""
    if verbose or report["verdict"] != "OK":
        marks = {True: "ok", False: "FAILED", None: "-"}
        table(
            f"Checks of {report['packet_id'] or 'this file'}",
            ("no.", "check", "result", ""),
            (
                (step["number"], step["name"], marks[step["ok"]], step["detail"])
                for step in report["steps"]
            ),
        )
    else:
        say(f"{report['packet_id']}: {len(report['steps'])} checks ok")
    if report["signer"]:
        say("  signed by", report["signer"])


@inbox_app.command("plan")
def inbox_plan(
    packet: PacketArgument,
    on_conflict: ConflictOption = "keep-both",
    home: HomeOption = None,
    as_json: JsonOption = False,
) -> None:
    """Show what accepting would do; changes nothing."""
    found = call(home, "inbox.plan", packet=packet, on_conflict=on_conflict)
    emit(found, as_json=as_json, human=_print_plan)


def _print_plan(found: dict[str, Any]) -> None:
    table(
        f"Accepting {found['packet_id']}",
        ("key", "as", "what", "sensitivity"),
        (
            (one["key"], one["as"] or "", one["what"], one["sensitivity"])
            for one in found["items"]
        ),
    )


@inbox_app.command("accept")
def inbox_accept(
    packet: PacketArgument,
    on_conflict: ConflictOption = "keep-both",
    home: HomeOption = None,
    as_json: JsonOption = False,
) -> None:
    """Take a packet's items into your memory, all or none."""
    found = call(home, "inbox.accept", packet=packet, on_conflict=on_conflict)
    emit(found, as_json=as_json, human=_print_accepted)


def _print_accepted(found: dict[str, Any]) -> None:
    say(f"Accepted {found['packet_id']}: {found['written']} items written.")
    _print_plan(found)


@inbox_app.command("reject")
def inbox_reject(
    packet: PacketArgument,
    home: HomeOption = None,
    as_json: JsonOption = False,
) -> None:
    """Turn a packet down; nothing of it enters your memory."""
    found = call(home, "inbox.reject", packet=packet)
    emit(found, as_json=as_json, human=lambda _: say("Rejected."))


@inbox_app.command("add")
def inbox_add(
    file: Annotated[Path, typer.Argument(help="A packet that came by another way.")],
    home: HomeOption = None,
    as_json: JsonOption = False,
) -> None:
    """Put a packet from a file into the inbox, after the same checks."""
    try:
        data = file.read_bytes()
    except OSError as error:
        message = f"{file} cannot be read: {error.strerror}."
        raise LocalError(Code.INVALID_REQUEST, message) from error
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        message = f"{file} is not UTF-8."
        raise LocalError(Code.SCHEMA_VIOLATION, message) from error
    found = call(home, "inbox.add", packet=text)
    emit(
        found,
        as_json=as_json,
        human=lambda one: say(f"In the inbox: {one['packet_id']}"),
    )


def why(
    key: Annotated[str, typer.Argument(help="The key of an item.")],
    home: HomeOption = None,
    as_json: JsonOption = False,
) -> None:
    """Say where an item came from."""
    emit(call(home, "why", key=key), as_json=as_json, human=_print_why)


def _print_why(found: dict[str, Any]) -> None:
    say(f"{found['key']}: {found['origin']}")
    for one in found["lineage"]:
        say(f"  packet {one['packet_hash']}, item {one['position']}")
        say("    signed by:     ", one["issuer"])
        say("    handed over by:", one["sender"])
        say(f"    as:             {one['original_key']}, accepted {one['accepted_at']}")
