"""The audit log: nothing twice, nothing lost, and what was touched shows."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from uomp.node.database import Database, from_json
from uomp.node.stores.audit import AuditLog, Entry, record
from uomp.node.stores.schema import LEDGER
from uomp.packets import canonical
from uomp.packets.merkle import leaf_hash

KEY = bytes(32)
NOW = "2026-07-12T10:00:00Z"


class Log:
    """A store that changes and the log that follows it."""

    def __init__(self, folder: Path) -> None:
        self.ledger = Database(folder / "ledger.db", KEY, LEDGER)
        self.database = Database(folder / "audit.db", KEY, AuditLog.migrations())
        self.audit = AuditLog(self.database)

    def happens(self, *actions: str) -> None:
        for action in actions:
            with self.ledger.transaction():
                record(self.ledger, NOW, Entry(action=action, allowed=True, reason="x"))

    def collect(self) -> None:
        self.audit.collect("ledger", self.ledger)

    def actions(self) -> list[str]:
        return [one["action"] for one in self.audit.entries(limit=100)][::-1]

    def tamper(self, sql: str, *values: object) -> None:
        with self.database.transaction():
            self.database.run(sql, *values)


@pytest.fixture
def log(tmp_path: Path) -> Iterator[Log]:
    made = Log(tmp_path)
    yield made
    made.audit.close()
    made.ledger.close()


def test_entries_are_collected_in_their_order_and_once(log: Log) -> None:
    log.happens("a", "b")
    assert log.actions() == []
    log.collect()
    log.collect()
    log.happens("c")
    log.collect()
    assert log.actions() == ["a", "b", "c"]
    assert log.audit.count() == 3
    assert log.audit.verify() == []


def test_a_crash_between_copying_and_clearing_copies_nothing_twice(log: Log) -> None:
    log.happens("a", "b")
    waiting = log.ledger.rows("SELECT seq, entry FROM audit_outbox")
    log.collect()
    with log.ledger.transaction():  # the clearing was lost
        for seq, entry in waiting:
            log.ledger.run("INSERT INTO audit_outbox VALUES (?, ?)", seq, entry)
    log.happens("c")
    log.collect()
    assert log.actions() == ["a", "b", "c"]
    assert log.audit.verify() == []
    # Numbers are never given again, though the outbox has been empty.
    log.happens("d")
    log.collect()
    assert log.actions() == ["a", "b", "c", "d"]


def test_two_sources_may_have_the_same_numbers(log: Log, tmp_path: Path) -> None:
    (tmp_path / "more").mkdir()
    other = Log(tmp_path / "more")
    log.happens("a")
    other.happens("b")
    log.collect()
    log.audit.collect("memory", other.ledger)
    assert log.actions() == ["a", "b"]
    assert log.audit.verify() == []
    other.audit.close()
    other.ledger.close()


def test_what_is_undone_leaves_no_entry(log: Log) -> None:
    def undone() -> None:
        with log.ledger.transaction():
            record(log.ledger, NOW, Entry(action="a", allowed=True, reason="x"))
            raise RuntimeError

    with pytest.raises(RuntimeError):
        undone()
    log.collect()
    assert log.actions() == []


def test_an_entry_says_everything_and_keeps_its_salt_to_itself(log: Log) -> None:
    entry = Entry(
        action="read",
        allowed=False,
        reason="r",
        session_id="sess_1",
        agent_id="agent",
        tags=("t",),
        query_count_remaining=3,
        detail={"n": 1},
    )
    with log.ledger.transaction():
        record(log.ledger, NOW, entry)
    log.collect()
    (shown,) = log.audit.entries(limit=1)
    assert shown["id"].startswith("log_")
    assert (shown["timestamp"], shown["allowed"], shown["tags"]) == (NOW, False, ["t"])
    assert shown["query_count_remaining"] == 3
    assert "salt" not in shown
    stored = log.database.rows("SELECT entry, leaf FROM log")
    (raw, leaf) = stored[0]
    assert len(bytes.fromhex(from_json(raw)["salt"])) == 16
    assert leaf == leaf_hash(raw)
    assert raw == canonical.encode(from_json(raw))


def test_entries_are_found_by_session_and_action(log: Log) -> None:
    for session, action in (("s1", "read"), ("s2", "read"), ("s1", "write")):
        made = Entry(action=action, allowed=True, reason="x", session_id=session)
        with log.ledger.transaction():
            record(log.ledger, NOW, made)
    log.collect()

    def found(**query: str) -> list[tuple[str, str]]:
        entries = log.audit.entries(**query, limit=10)
        return [(one["session_id"], one["action"]) for one in entries]

    assert found(session_id="s1") == [("s1", "write"), ("s1", "read")]
    assert found(action="read") == [("s2", "read"), ("s1", "read")]
    assert found(session_id="s2", action="write") == []
    assert len(log.audit.entries(limit=2)) == 2


def edit(log: Log) -> None:
    row = log.database.row("SELECT entry FROM log WHERE number = 3")
    assert row is not None
    value = from_json(row[0])
    value["reason"] = "another"
    log.tamper("UPDATE log SET entry = ? WHERE number = 3", canonical.encode(value))


def edit_with_a_new_leaf(log: Log) -> None:
    edit(log)
    row = log.database.row("SELECT entry FROM log WHERE number = 3")
    assert row is not None
    log.tamper("UPDATE log SET leaf = ? WHERE number = 3", leaf_hash(row[0]))


def hide_from_a_search(log: Log) -> None:
    log.tamper("UPDATE log SET session_id = 'other' WHERE number = 3")


def rename(log: Log) -> None:
    log.tamper("UPDATE log SET action = 'other', allowed = 0 WHERE number = 3")


def delete_in_the_middle(log: Log) -> None:
    log.tamper("DELETE FROM log WHERE number = 3")


def delete_and_close_the_gap(log: Log) -> None:
    delete_in_the_middle(log)
    log.tamper("UPDATE log SET number = number - 1 WHERE number > 3")


def swap(log: Log) -> None:
    log.tamper("UPDATE log SET number = 99 WHERE number = 3")
    log.tamper("UPDATE log SET number = 3 WHERE number = 4")
    log.tamper("UPDATE log SET number = 4 WHERE number = 99")


def insert(log: Log) -> None:
    log.tamper("UPDATE log SET number = number + 100 WHERE number >= 3")
    log.tamper("UPDATE log SET number = number - 99 WHERE number >= 100")
    log.tamper(
        "INSERT INTO log SELECT 3, 'x', 1, 'log_x', timestamp, session_id, agent_id,"
        " action, allowed, entry, leaf, chain FROM log WHERE number = 2"
    )


@pytest.mark.parametrize(
    "touch",
    [
        edit,
        edit_with_a_new_leaf,
        hide_from_a_search,
        rename,
        delete_in_the_middle,
        delete_and_close_the_gap,
        swap,
        insert,
    ],
)
def test_what_was_touched_is_found(log: Log, touch: Callable[[Log], None]) -> None:
    log.happens("a", "b", "c", "d", "e")
    log.collect()
    assert log.audit.verify() == []  # the control
    touch(log)
    assert log.audit.verify() != []
