"""`uomp init`, `serve`, `status`, `stop`, `did`."""

import asyncio
from typing import Annotated, Any

import typer

from uomp.errors import Code, LocalError, UompError
from uomp.node.cli.output import (
    HomeOption,
    JsonOption,
    KeyFileOption,
    call,
    emit,
    open_home,
    say,
    table,
)
from uomp.node.config import DEFAULT_PORT, Config, DidcommConfig, NodeConfig
from uomp.node.home import Home, HomeLock
from uomp.node.passphrase import (
    ask_passphrase,
    check_new,
    derive_key,
    find_passphrase,
    read_parameters,
)

did_app = typer.Typer(no_args_is_help=True, help="This node's DID.")


def register(app: typer.Typer) -> None:
    """Add these commands."""
    app.command()(init)
    app.command()(serve)
    app.command()(status)
    app.command()(stop)
    app.add_typer(did_app, name="did")


def init(
    home: HomeOption = None,
    key_file: KeyFileOption = None,
    port: Annotated[
        int, typer.Option(help="The port on 127.0.0.1.", min=1, max=65535)
    ] = DEFAULT_PORT,
    name: Annotated[str, typer.Option(help="What peers are told you are called.")] = "",
    endpoint: Annotated[
        str, typer.Option(help="The URL that peers reach this node at.")
    ] = "",
    unattended: Annotated[
        bool,
        typer.Option(
            "--unattended",
            help="Ask nothing (passphrase from UOMP_PASSPHRASE) and turn off the "
            "passphrase for grants: for servers and tests.",
        ),
    ] = False,
    as_json: JsonOption = False,
) -> None:
    """Make a node: a wallet with its keys, and its DID."""
    from uomp.node.setup import create_node  # noqa: PLC0415

    place = open_home(home)
    if place.exists():
        raise LocalError(
            Code.ALREADY_INITIALISED, f"There is a node in {place.root} already."
        )
    passphrase = _new_passphrase(find_passphrase(key_file), unattended=unattended)
    config = Config(
        node=NodeConfig(port=port, name=name, presence=not unattended),
        didcomm=DidcommConfig(endpoint=endpoint),
    )
    did = asyncio.run(create_node(place, config, passphrase))
    emit({"home": str(place.root), "did": did}, as_json=as_json, human=_print_made)


def _new_passphrase(found: str | None, *, unattended: bool) -> str:
    if found is not None:
        return check_new(found)
    if unattended:
        raise LocalError(
            Code.INVALID_REQUEST,
            "--unattended needs the passphrase in UOMP_PASSPHRASE.",
        )
    first = check_new(ask_passphrase("New passphrase: "))
    if ask_passphrase("The same again: ") != first:
        raise LocalError(Code.INVALID_REQUEST, "The two passphrases differ.")
    return first


def _print_made(made: dict[str, Any]) -> None:
    say(f"A node was made in {made['home']}")
    say("Its DID, which others use to ask you for memory:")
    typer.echo(made["did"])
    say("Start it with: uomp serve")


def serve(
    home: HomeOption = None,
    key_file: KeyFileOption = None,
    port: Annotated[
        int | None, typer.Option(help="Another port on 127.0.0.1.", min=1, max=65535)
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Run the node until it is stopped."""
    from uomp.node.serve import run_node  # noqa: PLC0415

    place = open_home(home)
    place.require()
    passphrase = find_passphrase(key_file)
    if passphrase is None:
        passphrase = ask_passphrase()
    asyncio.run(
        run_node(
            place,
            passphrase,
            port,
            lambda facts: emit(facts, as_json=as_json, human=_print_running),
        )
    )


def _print_running(facts: dict[str, Any]) -> None:
    typer.echo(f"The node listens on 127.0.0.1:{facts['port']}")
    typer.echo(f"DID: {facts['did']}")
    for notice in facts["notices"]:
        typer.echo(notice)


def status(home: HomeOption = None, as_json: JsonOption = False) -> None:
    """Say whether the node runs, and what waits for you."""
    try:
        found = call(home, "status")
    except UompError as error:
        if error.code is not Code.NODE_NOT_RUNNING or not as_json:
            raise
        found = {"running": False, "home": str(open_home(home).root)}
    emit(found, as_json=as_json, human=_print_status)
    if not found["running"]:
        raise typer.Exit(1)


def _print_status(found: dict[str, Any]) -> None:
    table("Node", ("", ""), ((name, value) for name, value in found.items()))


def stop(home: HomeOption = None, as_json: JsonOption = False) -> None:
    """End the running node cleanly."""
    emit(call(home, "stop"), as_json=as_json, human=lambda _: say("The node ends."))


@did_app.command("show")
def did_show(
    home: HomeOption = None,
    key_file: KeyFileOption = None,
    as_json: JsonOption = False,
) -> None:
    """Print this node's DID and DID document."""
    try:
        found = call(home, "did.show")
    except UompError as error:
        if error.code is not Code.NODE_NOT_RUNNING:
            raise
        passphrase = find_passphrase(key_file) or ask_passphrase()
        found = asyncio.run(_read_did(open_home(home), passphrase))
    emit(found, as_json=as_json, human=_print_did)


async def _read_did(home: Home, passphrase: str) -> dict[str, Any]:
    from uomp.node.wallet import Wallet  # noqa: PLC0415
    from uomp.protocol.did.resolve import resolve_static, short_form  # noqa: PLC0415

    with HomeLock(home):
        key = derive_key(passphrase, read_parameters(home))
        wallet = await Wallet.open(home, key)
        await wallet.close()
    did = wallet.identity.did
    document = resolve_static(did, {})
    return {"did": did, "short_did": short_form(did), "document": document.raw}


def _print_did(found: dict[str, Any]) -> None:
    typer.echo(found["did"])
    say("")
    say("Short form:", found["short_did"])
    table(
        "Keys",
        ("key", "use", "public key"),
        (
            (method["id"], _uses(found["document"], method), _public(method))
            for method in found["document"]["verificationMethod"]
        ),
    )
    for service in found["document"].get("service", ()):
        say("Endpoint:", service["serviceEndpoint"].get("uri", ""))


def _uses(document: dict[str, Any], method: dict[str, Any]) -> str:
    fragment = "#" + str(method["id"]).rpartition("#")[2]
    names = ("authentication", "assertionMethod", "keyAgreement")
    return ", ".join(
        name
        for name in names
        if any(str(one).endswith(fragment) for one in document.get(name, ()))
    )


def _public(method: dict[str, Any]) -> str:
    return str(method.get("publicKeyMultibase", ""))
