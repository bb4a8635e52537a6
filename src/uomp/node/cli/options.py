"""Options that several commands share."""

from typing import Annotated

import typer

Keys = Annotated[list[str] | None, typer.Option("--key", help="A key; may repeat.")]
Tags = Annotated[list[str] | None, typer.Option("--tag", help="A tag; may repeat.")]
Reshare = Annotated[
    list[str] | None,
    typer.Option(help="none (default), any, or whom it may be handed to; may repeat."),
]


def reshare_of(given: list[str] | None) -> str | list[str]:
    """Return the wish for the header: `none`, `any`, or DIDs and contacts' names."""
    if not given or given == ["none"]:
        return "none"
    return "any" if given == ["any"] else given
