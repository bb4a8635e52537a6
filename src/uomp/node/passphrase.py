"""From the owner's passphrase to the key that opens the wallet."""

import getpass
import hmac
import os
import sys
from pathlib import Path
from typing import Annotated, Literal

import msgspec
from msgspec import Meta

from uomp.errors import Code, LocalError
from uomp.node.clock import random_bytes
from uomp.node.home import Home, write_private

MIN_LENGTH = 8  # characters; a floor against typing errors, not a policy
SALT_BYTES = 16
KEY_BYTES = 32
# A damaged file must not stop the machine, and a changed one must not make it easy.
MIN_MEMORY_KIB, MAX_MEMORY_KIB = 1 << 13, 1 << 20
MAX_ITERATIONS, MAX_LANES = 64, 16


class KdfParameters(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """How the passphrase becomes a key: Argon2id, memory in KiB, salt in hex."""

    salt: Annotated[str, Meta(pattern=f"^[0-9a-f]{{{2 * SALT_BYTES}}}$")]
    algorithm: Literal["argon2id"] = "argon2id"
    iterations: Annotated[int, Meta(ge=1, le=MAX_ITERATIONS)] = 3
    lanes: Annotated[int, Meta(ge=1, le=MAX_LANES)] = 1
    memory_kib: Annotated[int, Meta(ge=MIN_MEMORY_KIB, le=MAX_MEMORY_KIB)] = 65536


def new_parameters(home: Home) -> KdfParameters:
    """Make a salt and keep it beside the wallet."""
    parameters = KdfParameters(salt=random_bytes(SALT_BYTES).hex())
    write_private(home.kdf, msgspec.json.encode(parameters))
    return parameters


def read_parameters(home: Home) -> KdfParameters:
    """Read the salt and the cost.

    Raises:
        LocalError: `INVALID_REQUEST`, if the file is damaged or asks for a cost that
            would stop this machine.
    """
    try:
        return msgspec.json.decode(home.kdf.read_bytes(), type=KdfParameters)
    except (OSError, ValueError) as error:  # ValueError: also not UTF-8, not JSON
        raise LocalError(
            Code.INVALID_REQUEST, f"{home.kdf} is missing, damaged or not one of ours."
        ) from error


def derive_key(passphrase: str, parameters: KdfParameters) -> bytes:
    """Return the 32-byte key; takes about a tenth of a second and 64 MiB."""
    # Commands that only ask for the passphrase need no cryptography.
    from cryptography.hazmat.primitives.kdf.argon2 import Argon2id  # noqa: PLC0415

    return Argon2id(
        salt=bytes.fromhex(parameters.salt),
        length=KEY_BYTES,
        iterations=parameters.iterations,
        lanes=parameters.lanes,
        memory_cost=parameters.memory_kib,
    ).derive(passphrase.encode())


def same_key(first: bytes, second: bytes) -> bool:
    """Compare two keys in constant time."""
    return hmac.compare_digest(first, second)


def find_passphrase(key_file: Path | None = None) -> str | None:
    """Return the passphrase from `key_file` or `UOMP_PASSPHRASE`, or None.

    Raises:
        LocalError: `PERMISSION_REFUSED`, if the file can be read by other users.
    """
    if key_file is not None:
        try:
            if key_file.stat().st_mode & 0o077:
                message = f"{key_file} can be read by other users; chmod 600 it."
                raise LocalError(Code.PERMISSION_REFUSED, message)
            return key_file.read_text("utf-8").rstrip("\r\n")
        except (OSError, UnicodeDecodeError) as error:
            message = f"The key file {key_file} cannot be read."
            raise LocalError(Code.INVALID_REQUEST, message) from error
    return os.environ.get("UOMP_PASSPHRASE")


def ask_passphrase(prompt: str = "Passphrase: ") -> str:
    """Ask at the terminal.

    Raises:
        LocalError: `WRONG_PASSPHRASE`, if there is no terminal to ask at.
    """
    if not sys.stdin.isatty():
        raise LocalError(
            Code.WRONG_PASSPHRASE,
            "The passphrase is needed: set UOMP_PASSPHRASE, give --key-file, "
            "or run this at a terminal.",
        )
    return getpass.getpass(prompt)


def check_new(passphrase: str) -> str:
    """Refuse a new passphrase that is too short.

    Raises:
        LocalError: `INVALID_REQUEST`.
    """
    if len(passphrase) < MIN_LENGTH:
        raise LocalError(
            Code.INVALID_REQUEST, f"A passphrase has at least {MIN_LENGTH} characters."
        )
    return passphrase
