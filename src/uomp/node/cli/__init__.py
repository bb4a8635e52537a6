"""The `uomp` command. Exit 0: done; 1: refused or failed; 2: wrong use."""

import sys

import orjson
import typer

import uomp
from uomp.errors import UompError
from uomp.node.cli import (
    audit_commands,
    contact_commands,
    handoff_commands,
    memory_commands,
    node_commands,
    packet_commands,
    request_commands,
)
from uomp.node.cli.output import JSON_FLAG, complain

app = typer.Typer(
    name="uomp",
    help="A UOMP node: your memory stays with you, and agents read it with your leave.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


@app.callback(invoke_without_command=True)
def _main(
    version: bool = typer.Option(
        False,
        "--version",
        help="Print the version.",
    ),
) -> None:
    if version:
        typer.echo(f"uomp {uomp.__version__}")
        raise typer.Exit


node_commands.register(app)
memory_commands.register(app)
request_commands.register(app)
packet_commands.register(app)
handoff_commands.register(app)
contact_commands.register(app)
audit_commands.register(app)


def run() -> None:
    """Run the command line and end the process with its exit code."""
    try:
        app()
    except UompError as error:
        if JSON_FLAG in sys.argv:
            made = {"error": {"code": error.code, "message": str(error)}}
            sys.stdout.write(orjson.dumps(made).decode() + "\n")
        complain(str(error))
        sys.exit(1)
    except OSError as error:
        complain(f"The system refuses: {error}")
        sys.exit(1)
    except KeyboardInterrupt:
        complain("Interrupted.")
        sys.exit(130)
