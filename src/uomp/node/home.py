"""The folder that holds a node: paths, permissions and the lock."""

import contextlib
import fcntl
import os
import stat
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Self

from uomp.errors import Code, LocalError, UnavailableError

# Linux and macOS take 108 and 104 bytes for a socket's path.
MAX_SOCKET_PATH = 100


@dataclass(frozen=True, slots=True)
class Home:
    """The paths of one node. Folders are 0700 and files 0600 (DER-24)."""

    root: Path

    @property
    def config(self) -> Path:
        """The settings, TOML."""
        return self.root / "config.toml"

    @property
    def wallet(self) -> Path:
        """The Askar wallet: every private key and the stores' keys."""
        return self.root / "wallet.db"

    @property
    def kdf(self) -> Path:
        """The Argon2id parameters and salt that open the wallet. Not secret."""
        return self.root / "wallet.kdf.json"

    @property
    def memory(self) -> Path:
        """Items, inbox, lineage and tombstones."""
        return self.root / "memory.db"

    @property
    def ledger(self) -> Path:
        """Requests, sessions, revocations and the outbox."""
        return self.root / "ledger.db"

    @property
    def audit(self) -> Path:
        """The audit log."""
        return self.root / "audit.db"

    @property
    def operator_token(self) -> Path:
        """The owner's credential for control routes over TCP."""
        return self.root / "operator.token"

    @property
    def lock(self) -> Path:
        """Held by the one process that has the stores open."""
        return self.root / "node.lock"

    @property
    def control_socket(self) -> Path:
        """Where the owner's commands reach the running node.

        It lies in the home, or under `$XDG_RUNTIME_DIR/uomp` where the home's path
        is too long for a socket.
        """
        here = self.root / "control.sock"
        if len(os.fsencode(here)) <= MAX_SOCKET_PATH:
            return here
        runtime = os.environ.get("XDG_RUNTIME_DIR")
        if not runtime:
            raise LocalError(
                Code.INVALID_REQUEST,
                f"The path {self.root} is too long for a socket; choose a shorter "
                "one or set XDG_RUNTIME_DIR.",
            )
        name = "-".join(self.root.absolute().parts[1:])[-40:]
        return Path(runtime) / "uomp" / f"{name}.sock"

    def exists(self) -> bool:
        """Say whether `uomp init` has finished here."""
        return self.config.is_file() and self.wallet.is_file()

    def require(self) -> None:
        """Refuse a folder that holds no node or is open to other users.

        Raises:
            LocalError: `NOT_INITIALISED` or `PERMISSION_REFUSED`.
        """
        if not self.exists():
            raise LocalError(
                Code.NOT_INITIALISED,
                f"There is no node in {self.root}. Make one with: uomp init",
            )
        for path in (self.root, self.wallet, self.kdf, self.config):
            self._check_mode(path)

    def _check_mode(self, path: Path) -> None:
        mode = stat.S_IMODE(path.stat().st_mode)
        if mode & 0o077:
            wanted = "700" if path.is_dir() else "600"
            raise LocalError(
                Code.PERMISSION_REFUSED,
                f"{path} can be read by other users (mode {mode:o}). "
                f"Close it with: chmod {wanted} {path}",
            )

    def create(self) -> None:
        """Make the folder with mode 0700.

        Raises:
            UnavailableError: `STORE_UNAVAILABLE`, if it cannot be made.
        """
        try:
            self.root.mkdir(mode=0o700, parents=True, exist_ok=True)
            self.root.chmod(0o700)
        except OSError as error:
            raise UnavailableError(
                Code.STORE_UNAVAILABLE, f"{self.root} cannot be made: {error.strerror}."
            ) from error


def default_home() -> Path:
    """Return `$UOMP_HOME`, or `~/.uomp`."""
    return Path(os.environ.get("UOMP_HOME") or Path.home() / ".uomp").expanduser()


def write_private(path: Path, data: bytes) -> None:
    """Write a file of mode 0600 so that it is there whole or not at all.

    Raises:
        UnavailableError: `STORE_UNAVAILABLE`, if it cannot be written.
    """
    part = path.with_name(path.name + ".part")
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW
    try:
        part.unlink(missing_ok=True)
        with os.fdopen(os.open(part, flags, 0o600), "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        part.replace(path)
        _sync_folder(path.parent)
    except OSError as error:
        with contextlib.suppress(OSError):
            part.unlink(missing_ok=True)
        raise UnavailableError(
            Code.STORE_UNAVAILABLE, f"{path} cannot be written: {error.strerror}."
        ) from error


def _sync_folder(path: Path) -> None:
    folder = os.open(path, os.O_RDONLY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)


class HomeLock:
    """Held while a process has the stores open; released by the system at its end."""

    def __init__(self, home: Home) -> None:
        self._path = home.lock
        self._fd = -1

    def __enter__(self) -> Self:
        """Take the lock.

        Raises:
            LocalError: `NODE_ALREADY_RUNNING`.
            UnavailableError: `STORE_UNAVAILABLE`, if the home cannot be written.
        """
        flags = os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW
        try:
            self._fd = os.open(self._path, flags, 0o600)
        except OSError as error:
            raise UnavailableError(
                Code.STORE_UNAVAILABLE,
                f"{self._path.parent} cannot be written: {error.strerror}.",
            ) from error
        try:
            fcntl.flock(self._fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            os.close(self._fd)
            raise LocalError(
                Code.NODE_ALREADY_RUNNING,
                f"Another process already runs the node in {self._path.parent}.",
            ) from error
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Release the lock."""
        os.close(self._fd)
