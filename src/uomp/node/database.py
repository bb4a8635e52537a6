"""Encrypted SQLite files: opening, migrations, transactions.

One connection a file, used by one thread. WAL with `synchronous=FULL`: a change is on
the disk before it is acknowledged.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import apsw
import orjson

from uomp.errors import Code, LocalError, UnavailableError

# SQLite before 3.51.3 can lose committed writes when two connections checkpoint.
MIN_SQLITE = (3, 51, 3)

Row = tuple[Any, ...]


class Database:
    """One encrypted file."""

    def __init__(self, path: Path, key: bytes, migrations: Sequence[str]) -> None:
        """Open or make the file and bring its tables up to date.

        `key` is 32 raw bytes. `migrations` are SQL scripts; the file's `user_version`
        counts those already run.

        Raises:
            UnavailableError: `STORE_UNAVAILABLE`: wrong key, damage, full or
                read-only disk.
            LocalError: `STORE_UNAVAILABLE`: the file is of a newer program, or the
                SQLite library is too old.
        """
        check_sqlite(apsw.sqlite_lib_version())
        self.path = path
        try:
            self.connection = self._open(key)
            self._migrate(migrations)
        except apsw.Error as error:
            raise unavailable(path, error) from error
        except OSError as error:
            message = f"{path} cannot be written: {error.strerror}."
            raise UnavailableError(Code.STORE_UNAVAILABLE, message) from error

    def _open(self, key: bytes) -> apsw.Connection:
        path = self.path
        path.touch(mode=0o600)
        connection = apsw.Connection(str(path))
        connection.pragma("cipher", "chacha20")
        connection.pragma("key", f"raw:{key.hex()}")
        connection.pragma("journal_mode", "wal")
        connection.pragma("synchronous", "full")
        connection.pragma("foreign_keys", True)  # noqa: FBT003
        connection.pragma("trusted_schema", False)  # noqa: FBT003
        connection.pragma("secure_delete", True)  # noqa: FBT003
        connection.set_busy_timeout(5000)
        return connection

    def _migrate(self, migrations: Sequence[str]) -> None:
        version = self.connection.pragma("user_version")
        if version > len(migrations):
            raise LocalError(
                Code.STORE_UNAVAILABLE,
                f"{self.path} was written by a newer version of this program.",
            )
        for number, script in enumerate(migrations[version:], start=version + 1):
            with self.transaction():
                self.connection.execute(script)
                self.connection.pragma("user_version", number)

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """Run the body in one transaction: all of it or nothing.

        Raises:
            UnavailableError: `STORE_UNAVAILABLE`, if the disk is full or fails.
        """
        try:
            self.connection.execute("BEGIN IMMEDIATE")
            try:
                yield
            except BaseException:
                self.connection.execute("ROLLBACK")
                raise
            self.connection.execute("COMMIT")
        except apsw.Error as error:
            if self.connection.in_transaction:
                self.connection.execute("ROLLBACK")
            raise unavailable(self.path, error) from error

    def run(self, sql: str, *values: Any) -> None:  # noqa: ANN401
        """Run one statement."""
        self.connection.execute(sql, values)

    def rows(self, sql: str, *values: Any) -> list[Row]:  # noqa: ANN401
        """Return every row."""
        try:
            return list(self.connection.execute(sql, values))
        except apsw.Error as error:
            raise unavailable(self.path, error) from error

    def row(self, sql: str, *values: Any) -> Row | None:  # noqa: ANN401
        """Return the first row, or None."""
        try:
            return next(iter(self.connection.execute(sql, values)), None)
        except apsw.Error as error:
            raise unavailable(self.path, error) from error

    def changes(self) -> int:
        """Return how many rows the last statement changed."""
        return self.connection.changes()

    def check(self) -> list[str]:
        """Return what SQLite's integrity check complains of; nothing means sound."""
        found = [str(row[0]) for row in self.rows("PRAGMA integrity_check")]
        return [] if found == ["ok"] else found

    def close(self) -> None:
        """Fold the log into the file and close it."""
        self.connection.close()


def check_sqlite(version: str) -> None:
    """Refuse a SQLite library that can lose committed writes.

    Raises:
        LocalError: `STORE_UNAVAILABLE`.
    """
    if tuple(int(part) for part in version.split(".")) < MIN_SQLITE:
        raise LocalError(
            Code.STORE_UNAVAILABLE,
            f"SQLite {version} can lose committed writes; 3.51.3 or newer is needed.",
        )


def unavailable(path: Path, error: apsw.Error) -> UnavailableError:
    """Say in one sentence why a file cannot be used."""
    match error:
        case apsw.FullError():
            why = "the disk is full"
        case apsw.ReadOnlyError() | apsw.CantOpenError() | apsw.PermissionsError():
            why = "it cannot be written"
        case apsw.NotADBError() | apsw.CorruptError():
            why = "it is damaged or belongs to another wallet"
        case apsw.BusyError() | apsw.LockedError():
            why = "another process has it open"
        case _:
            why = "the disk or the file fails"
    return UnavailableError(Code.STORE_UNAVAILABLE, f"{path} cannot be used: {why}.")


def to_json(value: Any) -> bytes:  # noqa: ANN401
    """Return JSON bytes for a column."""
    return orjson.dumps(value)


def from_json(value: bytes | str) -> Any:  # noqa: ANN401
    """Read JSON from a column of ours."""
    return orjson.loads(value)
