"""`uomp contacts`: names for peers, and who may send uninvited."""

from typing import Annotated, Any

import typer

from uomp.node.cli.output import HomeOption, JsonOption, call, emit, say, short, table
from uomp.node.cli.waiting import wait_for_answer

contacts_app = typer.Typer(no_args_is_help=True, help="Peers you have named.")


def register(app: typer.Typer) -> None:
    """Add these commands."""
    app.add_typer(contacts_app, name="contacts")


@contacts_app.command("list")
def contacts_list(home: HomeOption = None, as_json: JsonOption = False) -> None:
    """List contacts."""
    emit(call(home, "contacts.list"), as_json=as_json, human=_print_contacts)


def _print_contacts(found: list[dict[str, Any]]) -> None:
    table(
        "Contacts",
        ("name", "DID", "may send packets", "endpoint"),
        (
            (one["name"], one["did"], one["may_send"], one["endpoint"] or "")
            for one in found
        ),
    )


@contacts_app.command("add")
def contacts_add(
    did: str,
    name: Annotated[str, typer.Option(help="What you call this peer.")],
    may_send: Annotated[
        bool | None,
        typer.Option(
            "--may-send/--may-not-send",
            help="Whether packets are taken from it without being asked for.",
        ),
    ] = None,
    endpoint: Annotated[
        str | None, typer.Option(help="Use this URL instead of the one in its DID.")
    ] = None,
    home: HomeOption = None,
    as_json: JsonOption = False,
) -> None:
    """Name a peer."""
    found = call(
        home, "contacts.add", did=did, name=name, may_send=may_send, endpoint=endpoint
    )
    emit(found, as_json=as_json, human=_print_named)


def _print_named(found: dict[str, Any]) -> None:
    may = "may send packets" if found["may_send"] else "may not send packets unasked"
    say(f"{found['name']} is {short(found['did'])} and {may}.")


@contacts_app.command("rm")
def contacts_rm(
    who: Annotated[str, typer.Argument(help="A name or a DID.")],
    home: HomeOption = None,
    as_json: JsonOption = False,
) -> None:
    """Take a contact's name and rights away."""
    emit(
        call(home, "contacts.rm", who=who),
        as_json=as_json,
        human=lambda _: say("Removed."),
    )


@contacts_app.command("ping")
def contacts_ping(
    who: Annotated[str, typer.Argument(help="A name or a DID.")],
    wait: Annotated[int, typer.Option(help="Seconds.", min=1)] = 10,
    features: Annotated[
        bool, typer.Option("--features", help="Ask what it can do as well.")
    ] = False,
    home: HomeOption = None,
    as_json: JsonOption = False,
) -> None:
    """See whether a peer answers."""
    sent = call(home, "contacts.ping", who=who, features=features)
    found = wait_for_answer(home, sent["request_id"], wait)
    emit(found, as_json=as_json, human=_print_pong)
    if found["status"] not in ("ping-response", "disclose"):
        raise typer.Exit(1)


def _print_pong(found: dict[str, Any]) -> None:
    if found["status"] == "waiting":
        say("No answer yet.")
        return
    say(f"Answer: {found['status']}")
    for one in (found["answer"] or {}).get("disclosures", ()):
        say(f"  {one.get('feature-type')}: {one.get('id')}")
