"""`uomp audit` and `uomp outbox`: what was asked, decided and sent."""

from typing import Annotated, Any

import typer

from uomp.node.cli.output import HomeOption, JsonOption, call, emit, say, short, table

audit_app = typer.Typer(no_args_is_help=True, help="What was asked and decided.")
outbox_app = typer.Typer(no_args_is_help=True, help="Messages not delivered yet.")


def register(app: typer.Typer) -> None:
    """Add these commands."""
    app.add_typer(audit_app, name="audit")
    app.add_typer(outbox_app, name="outbox")


@audit_app.command("list")
def audit_list(
    session: Annotated[str | None, typer.Option(help="Only this session.")] = None,
    action: Annotated[str | None, typer.Option(help="Only this action.")] = None,
    limit: Annotated[int, typer.Option(min=1, max=1000)] = 50,
    home: HomeOption = None,
    as_json: JsonOption = False,
) -> None:
    """List entries, newest first."""
    found = call(home, "audit.list", session_id=session, action=action, limit=limit)
    emit(found, as_json=as_json, human=_print_entries)


def _print_entries(found: list[dict[str, Any]]) -> None:
    table(
        "Audit log",
        ("time", "action", "allowed", "reason", "session", "peer"),
        (
            (
                one["timestamp"],
                one["action"],
                "yes" if one["allowed"] else "NO",
                one["reason"],
                one["session_id"],
                short(one["peer"]),
            )
            for one in found
        ),
    )


@audit_app.command("verify")
def audit_verify(home: HomeOption = None, as_json: JsonOption = False) -> None:
    """Check that no entry was changed, removed or put in."""
    found = call(home, "audit.verify")
    emit(found, as_json=as_json, human=_print_verdict)
    if found["wrong"]:
        raise typer.Exit(1)


def _print_verdict(found: dict[str, Any]) -> None:
    if not found["wrong"]:
        say(f"The chain of {found['entries']} entries holds.")
    for one in found["wrong"]:
        say(one)


@outbox_app.command("list")
def outbox_list(home: HomeOption = None, as_json: JsonOption = False) -> None:
    """List messages that wait or were given up, and why."""
    emit(call(home, "outbox.list"), as_json=as_json, human=_print_outbox)


def _print_outbox(found: list[dict[str, Any]]) -> None:
    table(
        "Outbox",
        ("message", "type", "to", "status", "tries", "last error"),
        (
            (
                one["message_id"],
                one["type"].rpartition("/")[2],
                short(one["peer"]),
                one["status"],
                one["attempts"],
                one["error"],
            )
            for one in found
        ),
    )
