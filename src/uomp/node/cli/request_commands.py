"""`uomp request`, `requests`, `sessions`: asking, deciding, ending."""

from typing import Annotated, Any

import typer

from uomp.node.cli.options import Keys, Reshare, Tags, reshare_of
from uomp.node.cli.output import (
    HomeOption,
    JsonOption,
    call,
    emit,
    safe,
    say,
    short,
    table,
)
from uomp.node.cli.waiting import wait_for_answer

requests_app = typer.Typer(no_args_is_help=True, help="What others ask of you.")
sessions_app = typer.Typer(no_args_is_help=True, help="What you have granted.")


def register(app: typer.Typer) -> None:
    """Add these commands."""
    app.command()(request)
    app.add_typer(requests_app, name="requests")
    app.add_typer(sessions_app, name="sessions")


def request(
    peer: Annotated[str, typer.Argument(help="The owner's DID, or a contact's name.")],
    key: Keys = None,
    tag: Tags = None,
    minutes: Annotated[int, typer.Option(help="For how long.", min=1, max=10_080)] = 30,
    purpose: Annotated[str, typer.Option(help="What for; the owner sees it.")] = "",
    session: Annotated[
        str | None,
        typer.Option(help="Read within this session instead of asking for a new one."),
    ] = None,
    wait: Annotated[
        int, typer.Option(help="Wait this many seconds for the answer.", min=0)
    ] = 0,
    home: HomeOption = None,
    as_json: JsonOption = False,
) -> None:
    """Ask a peer for memory, or read with what it has granted."""
    if session is None:
        sent = call(
            home,
            "request.ask",
            to=peer,
            keys=key or [],
            tags=tag or [],
            minutes=minutes,
            purpose=purpose,
        )
    else:
        sent = call(
            home,
            "request.read",
            to=peer,
            session_id=session,
            keys=key or [],
            tags=tag or [],
        )
    if wait:
        sent = wait_for_answer(home, sent["request_id"], wait)
    emit(sent, as_json=as_json, human=_print_sent)
    if sent.get("status") in ("refused", "failed", "denied"):
        raise typer.Exit(1)


def _print_sent(sent: dict[str, Any]) -> None:
    answer = sent.get("answer") or {}
    say(f"Request {sent['request_id']}: {sent['status']}")
    if sent["status"] == "waiting":
        say("  its answer: uomp requests list --sent; what comes: uomp inbox list")
    for name in ("code", "comment", "reason", "session_id", "expires_at"):
        if answer.get(name):
            say(f"  {name}: {answer[name]}")
    if answer.get("granted_scopes"):
        say("  granted:", _scope(answer["granted_scopes"].get("read", {})))
    if answer.get("packet_hash"):
        say(f"  packet: {answer['packet_hash']} (see: uomp inbox list)")


def _scope(read: dict[str, Any]) -> str:
    names = {
        "keys": "key",
        "tags": "tag",
        "deny_keys": "not key",
        "deny_tags": "not tag",
    }
    parts = [f"{names[name]} {one}" for name in names for one in read.get(name, ())]
    return ", ".join(parts) or "nothing"


@requests_app.command("list")
def requests_list(
    every: Annotated[
        bool, typer.Option("--all", help="Those already answered too.")
    ] = False,
    sent: Annotated[
        bool, typer.Option("--sent", help="What this node has asked of others.")
    ] = False,
    home: HomeOption = None,
    as_json: JsonOption = False,
) -> None:
    """List requests that wait for you: who, what, how much, how long."""
    if sent:
        found = call(home, "requests.asked")
        emit(found, as_json=as_json, human=_print_asked)
    else:
        found = call(home, "requests.list", every=every)
        emit(found, as_json=as_json, human=_print_requests)


def _print_asked(found: list[dict[str, Any]]) -> None:
    table(
        "Asked of others",
        ("request", "of", "kind", "status"),
        ((a["request_id"], short(a["to"]), a["kind"], a["status"]) for a in found),
    )


def _print_requests(found: list[dict[str, Any]]) -> None:
    if not found:
        say("No request waits for you.")
    for one in found:
        exposes = one["exposes"]
        say(safe(one["request_id"], 80), f"({one['status']})")
        say("  from:   ", one["contact"] or one["from"])
        if one["contact"]:
            say("          ", one["from"])
        say("  agent:  ", one["agent_name"] or "(no name)", "/", one["agent_id"])
        say("  sure of:", one["identity"])
        say("  wants:  ", _scope(one["requested"].get("read", {})))
        say("  for:    ", f"{one['minutes']} minutes.", one["purpose"])
        say("  exposes:", f"{exposes['items']} of your items now", _counts(exposes))
        if exposes["high"]:
            say("  HIGH SENSITIVITY:", ", ".join(exposes["high"]))
        if one["status"] == "pending":
            say(f"  yes:     uomp requests approve {one['request_id']}")
            say("           (--key, --tag or --minutes grant less)")
            say(f"  no:      uomp requests deny {one['request_id']}")


def _counts(exposes: dict[str, Any]) -> str:
    parts = [f"tag {tag}: {count}" for tag, count in exposes["tags"].items()]
    parts += [
        f"key {key}: {'there' if there else 'not there'}"
        for key, there in exposes["keys"].items()
    ]
    return f"({', '.join(parts)})"


@requests_app.command("approve")
def requests_approve(
    request_id: str,
    key: Keys = None,
    tag: Tags = None,
    deny_key: Annotated[
        list[str] | None, typer.Option(help="Leave this key out; may repeat.")
    ] = None,
    deny_tag: Annotated[
        list[str] | None, typer.Option(help="Leave this tag out; may repeat.")
    ] = None,
    minutes: Annotated[int | None, typer.Option(help="A shorter time.", min=1)] = None,
    max_reads: Annotated[
        int | None, typer.Option(help="At most this many reads by message.", min=1)
    ] = None,
    reshare: Reshare = None,
    widen: Annotated[
        bool, typer.Option("--widen", help="Allow more than was asked for.")
    ] = False,
    no_packet: Annotated[
        bool, typer.Option("--no-packet", help="Send the token only.")
    ] = False,
    home: HomeOption = None,
    as_json: JsonOption = False,
) -> None:
    """Grant a request, whole or narrowed; the packet goes out at once."""
    found = call(
        home,
        "requests.approve",
        request_id=request_id,
        selection={
            "keys": key or [],
            "tags": tag or [],
            "deny_keys": deny_key or [],
            "deny_tags": deny_tag or [],
            "minutes": minutes,
            "max_reads": max_reads,
            "reshare": reshare_of(reshare),
            "widen": widen,
            "packet": not no_packet,
        },
    )
    emit(found, as_json=as_json, human=_print_granted)


def _print_granted(found: dict[str, Any]) -> None:
    session = found["session"]
    say(f"Granted. Session {session['session_id']} until {session['expires_at']}.")
    say("  granted:", _scope(session["granted_scopes"]["read"]))
    packet = found.get("packet")
    if packet and packet.get("too_large"):
        say(f"  {packet['items']} items do not fit into one packet; it can read them")
    elif packet:
        say(
            f"  packet {packet['packet_id']} with {packet['items']} items is on its way"
        )
    say(f"  undo:    uomp sessions revoke {session['session_id']}")


@requests_app.command("deny")
def requests_deny(
    request_id: str,
    reason: Annotated[str, typer.Option(help="The peer sees it.")] = "",
    home: HomeOption = None,
    as_json: JsonOption = False,
) -> None:
    """Answer a request with no."""
    found = call(home, "requests.deny", request_id=request_id, reason=reason)
    emit(found, as_json=as_json, human=lambda _: say("Denied."))


@sessions_app.command("list")
def sessions_list(home: HomeOption = None, as_json: JsonOption = False) -> None:
    """List sessions: those you granted, and those others granted to you."""
    emit(call(home, "sessions.list"), as_json=as_json, human=_print_sessions)


def _print_sessions(found: list[dict[str, Any]]) -> None:
    table(
        "Sessions",
        ("session", "granted", "peer", "status", "until", "reads"),
        (
            (
                one["session_id"],
                "by you" if one["role"] == "owner" else "to you",
                short(one.get("agent_did") or one.get("issuer")),
                one["status"],
                one["expires_at"],
                one.get("reads", ""),
            )
            for one in found
        ),
    )


@sessions_app.command("show")
def sessions_show(
    session_id: str,
    home: HomeOption = None,
    as_json: JsonOption = False,
) -> None:
    """Show one session."""
    found = call(home, "sessions.show", session_id=session_id)
    emit(found, as_json=as_json, human=_print_session)


def _print_session(found: dict[str, Any]) -> None:
    table("Session", ("", ""), found.items())


@sessions_app.command("revoke")
def sessions_revoke(
    session_id: str,
    reason: Annotated[str, typer.Option(help="The peer sees it.")] = "",
    home: HomeOption = None,
    as_json: JsonOption = False,
) -> None:
    """End a session at once; its token is void from then on."""
    found = call(home, "sessions.revoke", session_id=session_id, reason=reason)
    emit(found, as_json=as_json, human=_print_ended)


@sessions_app.command("close")
def sessions_close(
    session_id: str,
    home: HomeOption = None,
    as_json: JsonOption = False,
) -> None:
    """Close a session that has served its purpose."""
    found = call(home, "sessions.close", session_id=session_id)
    emit(found, as_json=as_json, human=_print_ended)


def _print_ended(found: dict[str, Any]) -> None:
    say(f"Session {found['session_id']} is {found['status']}.")
