"""The settings in `config.toml`."""

import tomllib
from typing import Annotated

import msgspec

from uomp.errors import Code, LocalError
from uomp.node.home import Home, write_private

DEFAULT_PORT = 9374  # UOMP section 14.1
MAX_NAME = 200  # characters; peers show it to a person
LOOPBACK = "127.0.0.1"

_PORTS = range(1, 65536)
Port = Annotated[int, msgspec.Meta(ge=1, le=65535)]


class NodeConfig(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """`[node]`: the listener on this machine and how the owner shows presence."""

    port: Port = DEFAULT_PORT
    name: Annotated[str, msgspec.Meta(max_length=MAX_NAME)] = ""
    presence: bool = True
    """Whether grants and owner reads need the passphrase again."""


class DidcommConfig(
    msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True
):
    """`[didcomm]`: where peers send messages."""

    endpoint: Annotated[str, msgspec.Meta(pattern=r"^(https?://\S+)?$")] = ""
    """The URL in our DID document; empty: the node's own port on this machine."""
    listen: Annotated[str, msgspec.Meta(pattern=r"^(\S+:[0-9]{1,5})?$")] = ""
    """`HOST:PORT` of a second listener that serves nothing but messages."""
    max_message_bytes: Annotated[int, msgspec.Meta(ge=65536, le=64 << 20)] = 32 << 20

    def __post_init__(self) -> None:
        """Refuse a port that there is not."""
        if self.listen and int(self.listen.rpartition(":")[2]) not in _PORTS:
            raise ValueError("listen names no port from 1 to 65535")


class Config(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """All settings; a missing table or member has its default."""

    node: NodeConfig = NodeConfig()
    didcomm: DidcommConfig = DidcommConfig()

    def endpoint(self) -> str:
        """Return the URL that peers post messages to."""
        return self.didcomm.endpoint or f"http://{LOOPBACK}:{self.node.port}/didcomm"


def read_config(home: Home) -> Config:
    """Read the settings.

    Raises:
        LocalError: `INVALID_REQUEST`, if the file is not TOML or holds a member that
            is unknown or out of range; the text names it.
    """
    try:
        return msgspec.convert(tomllib.loads(home.config.read_text("utf-8")), Config)
    except (OSError, ValueError) as e:  # ValueError: not TOML, not UTF-8, not valid
        message = f"{home.config} cannot be used: {e}"
        raise LocalError(Code.INVALID_REQUEST, message) from e


def check_config(config: Config) -> None:
    """Refuse settings that `read_config` would refuse later.

    Raises:
        LocalError: `INVALID_REQUEST`.
    """
    try:
        msgspec.convert(msgspec.to_builtins(config), Config)
    except msgspec.ValidationError as error:
        message = f"A setting cannot be used: {error}"
        raise LocalError(Code.INVALID_REQUEST, message) from error


def write_config(home: Home, config: Config) -> None:
    """Write the settings with a comment for each."""
    text = f"""\
# Settings of this UOMP node.

[node]
# The port on 127.0.0.1 (UOMP section 14.1).
port = {config.node.port}
# What peers are told you are called; may be empty.
name = {_quoted(config.node.name)}
# Ask for the passphrase again before grants, acceptance, export and owner reads.
presence = {str(config.node.presence).lower()}

[didcomm]
# The URL that peers use; empty: http://127.0.0.1:PORT/didcomm
endpoint = {_quoted(config.didcomm.endpoint)}
# A second listener that serves nothing but messages, as HOST:PORT; empty: none.
listen = {_quoted(config.didcomm.listen)}
# The largest message taken, in bytes.
max_message_bytes = {config.didcomm.max_message_bytes}
"""
    write_private(home.config, text.encode())


def _quoted(text: str) -> str:
    made = msgspec.json.encode(text).decode()  # almost a TOML basic string
    return made.replace("\x7f", "\\u007f")
