"""Encrypted SQLite files: their keys, their transactions, their versions."""

from pathlib import Path

import apsw
import pytest

from uomp.errors import Code, LocalError, UnavailableError, UompError
from uomp.node.database import MIN_SQLITE, Database, check_sqlite, from_json, to_json
from uomp.node.stores.schema import AUDIT, LEDGER, MEMORY

KEY, OTHER = bytes(range(32)), bytes(32)
TABLE = "CREATE TABLE t (n INTEGER PRIMARY KEY, text TEXT UNIQUE)"


def opened(path: Path, *scripts: str, key: bytes = KEY) -> Database:
    return Database(path, key, scripts or (TABLE,))


def test_a_file_opens_with_its_key_and_with_no_other(tmp_path: Path) -> None:
    path = tmp_path / "x.db"
    first = opened(path)
    with first.transaction():
        first.run("INSERT INTO t VALUES (1, 'canary')")
    first.close()
    assert path.stat().st_mode & 0o777 == 0o600
    assert b"canary" not in path.read_bytes()
    assert not path.read_bytes().startswith(b"SQLite format 3")
    before = path.read_bytes()
    with pytest.raises(UnavailableError, match="another wallet") as refused:
        opened(path, key=OTHER)
    assert refused.value.code is Code.STORE_UNAVAILABLE
    assert KEY.hex() not in str(refused.value)
    assert path.read_bytes() == before
    again = opened(path)
    assert again.rows("SELECT text FROM t") == [("canary",)]
    assert again.check() == []
    again.close()


def insert(database: Database, *texts: str, fail: bool = False) -> None:
    for text in texts:
        database.run("INSERT INTO t (text) VALUES (?)", text)
    if fail:
        raise RuntimeError


def test_a_transaction_is_kept_whole_or_not_at_all(tmp_path: Path) -> None:
    database = opened(tmp_path / "x.db")
    with pytest.raises(RuntimeError), database.transaction():
        insert(database, "a", fail=True)
    assert database.rows("SELECT * FROM t") == []
    with pytest.raises(UnavailableError), database.transaction():
        insert(database, "a", "a")
    assert database.rows("SELECT * FROM t") == []
    # A savepoint inside is undone alone.
    with database.transaction():
        insert(database, "a")
        with pytest.raises(RuntimeError), database.connection:
            insert(database, "b", fail=True)
    assert database.rows("SELECT * FROM t") == [(1, "a")]
    assert database.row("SELECT * FROM t WHERE n = 9") is None
    database.close()


def test_migrations_run_once_and_in_order(tmp_path: Path) -> None:
    path = tmp_path / "x.db"
    more = "ALTER TABLE t ADD COLUMN more TEXT"
    first = opened(path)
    with first.transaction():
        first.run("INSERT INTO t VALUES (1, 'a')")
    first.close()
    for _ in range(2):
        database = opened(path, TABLE, more)
        assert database.rows("SELECT * FROM t") == [(1, "a", None)]
        assert database.connection.pragma("user_version") == 2
        database.close()
    with pytest.raises(LocalError, match="newer version"):
        opened(path)


def test_a_migration_that_fails_leaves_the_file_as_it_was(tmp_path: Path) -> None:
    path = tmp_path / "x.db"
    opened(path).close()
    broken = "CREATE TABLE u (n); INSERT INTO nowhere VALUES (1);"
    with pytest.raises(UompError):
        opened(path, TABLE, broken)
    database = opened(path)
    assert database.rows("SELECT name FROM sqlite_schema WHERE name = 'u'") == []
    database.close()


@pytest.mark.parametrize("scripts", [MEMORY, LEDGER, AUDIT])
def test_our_own_tables_are_made(tmp_path: Path, scripts: tuple[str, ...]) -> None:
    for _ in range(2):
        database = Database(tmp_path / "x.db", KEY, scripts)
        assert database.connection.pragma("journal_mode") == "wal"
        assert database.connection.pragma("synchronous") == 2
        assert database.connection.pragma("foreign_keys") == 1
        assert database.check() == []
        database.close()


def test_an_old_sqlite_is_refused() -> None:
    check_sqlite(apsw.sqlite_lib_version())
    check_sqlite(".".join(map(str, MIN_SQLITE)))
    check_sqlite("4.0.0")
    for version in ("3.51.2", "3.46.1", "3.7.17", "2.99.99"):
        with pytest.raises(LocalError, match=r"3\.51\.3 or newer"):
            check_sqlite(version)


def test_a_place_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    with pytest.raises(UnavailableError, match=r"x\.db cannot"):
        opened(tmp_path / "nowhere" / "x.db")
    (tmp_path / "x.db").mkdir()
    with pytest.raises(UnavailableError, match=r"x\.db cannot"):
        opened(tmp_path / "x.db")


def test_json_columns_give_back_what_was_put_in() -> None:
    value = {"a": [1, None, "ü"], "b": {"c": 1.5}}
    assert from_json(to_json(value)) == value
