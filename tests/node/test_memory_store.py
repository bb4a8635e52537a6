"""Items by key and by tag, and imports that are whole or absent (UOMP section 11)."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from uomp.errors import Code, LocalError
from uomp.node.database import Database
from uomp.node.stores.memory import Imports, MemoryStore, item_from_json
from uomp.node.stores.schema import MEMORY
from uomp.packets.items import MemoryItem

NOW, LATER = "2026-07-12T10:00:00Z", "2026-07-12T11:00:00Z"


def item(key: str, value: Any = 1, *tags: str, **members: Any) -> MemoryItem:
    made: dict[str, Any] = {
        "key": key,
        "value": value,
        "tags": tags or ("t",),
        "sensitivity": "low",
        "source": "user",
        "created_at": NOW,
        "updated_at": NOW,
    }
    return MemoryItem(**(made | members))


@pytest.fixture
def store(tmp_path: Path) -> Iterator[MemoryStore]:
    database = Database(tmp_path / "memory.db", bytes(32), MEMORY)
    yield MemoryStore(database)
    database.close()


def put(store: MemoryStore, *items: MemoryItem) -> list[int]:
    with store.database.transaction():
        return [store.put(one) for one in items]


@pytest.mark.requirement("UOMP-11.2-1", "UOMP-11.2-2", "UOMP-11.2-8")
def test_an_item_comes_back_as_it_was_put(store: MemoryStore) -> None:
    values: list[Any] = [{"a": [1, {}]}, [], "ü😀", 0, -1.5, 2**53 - 1, False, None]
    for number, value in enumerate(values):
        one = item(f"k{number}", value, "b", "a", description="about it")
        put(store, one)
        found = store.get(one.key)
        assert found == one
        assert found is not None
        assert type(found.value) is type(value)
    assert store.get("nothing") is None
    assert store.existing(["k0", "x", "k1"]) == {"k0", "k1"}


@pytest.mark.requirement("UOMP-11.2-1", "UOMP-11.2-7")
def test_a_key_is_there_once_and_a_replacement_keeps_its_beginning(
    store: MemoryStore,
) -> None:
    (first,) = put(store, item("k", 1, "old", "both"))
    new = item(
        "k", 2, "new", "both", created_at=LATER, updated_at=LATER, source="agent"
    )
    (second,) = put(store, new)
    assert first == second
    found = store.get("k")
    assert found == msgspec.structs.replace(new, created_at=NOW)
    assert [one.key for one in store.by_tag("old")] == []
    assert [one.value for one in store.by_tag("both")] == [2]
    assert store.counts() == {"low": 1}
    # Keys and tags are compared by code point, whatever they look like.
    put(store, item("K"), item("k "), item("e\u0301"), item("\u00e9"))
    assert sum(store.counts().values()) == 5


def test_pages_tags_and_counts(store: MemoryStore) -> None:
    put(store, *(item(f"k{n}", n, f"t{n % 2}", "all") for n in range(7)))
    put(store, item("h", 1, "all", sensitivity="high"))
    assert [one.key for one in store.page("", 3)] == ["h", "k0", "k1"]
    assert [one.key for one in store.page("k1", 2)] == ["k2", "k3"]
    assert store.page("k6", 9) == []
    assert [one.key for one in store.all()] == ["h", *(f"k{n}" for n in range(7))]
    assert [one.value for one in store.by_tag("t1")] == [1, 3, 5]
    assert store.tags() == [("all", 8), ("t0", 4), ("t1", 3)]
    assert store.counts() == {"low": 7, "high": 1}


@pytest.mark.requirement("UOMP-11.2-4", "UOMP-11.2-5")
def test_a_removed_item_is_known_again_by_key_and_value(store: MemoryStore) -> None:
    put(store, item("k", {"a": 1, "b": 2}, "t"))
    with store.database.transaction():
        assert store.remove("k", LATER).key == "k"
    assert store.get("k") is None
    assert store.by_tag("t") == []
    assert store.is_forgotten(item("k", {"b": 2, "a": 1}, "other tag"))
    assert not store.is_forgotten(item("k", {"a": 1}))
    assert not store.is_forgotten(item("other", {"a": 1, "b": 2}))
    with pytest.raises(LocalError) as refused, store.database.transaction():
        store.remove("k", LATER)
    assert refused.value.code is Code.NOT_FOUND
    put(store, item("k", {"a": 1, "b": 2}))
    assert not store.is_forgotten(item("k", {"a": 1, "b": 2}))
    for wrong in ({"sensitivity": "none"}, {"source": "peer"}, {"tags": "t"}):
        with pytest.raises(LocalError) as refused:
            item_from_json({**item("k").to_json(), **wrong})
        assert refused.value.code is Code.INVALID_REQUEST


# ---- imports -----------------------------------------------------------------


@pytest.fixture
def imports(store: MemoryStore) -> Imports:
    return Imports(store)


def begin(store: MemoryStore, imports: Imports, name: str, digest: str) -> Any:
    with store.database.transaction():
        return imports.begin(name, digest, NOW)


def stage(
    store: MemoryStore, imports: Imports, name: str, first: int, *items: MemoryItem
) -> None:
    with store.database.transaction():
        imports.stage(name, first, len(items), items)


def finish(
    store: MemoryStore,
    imports: Imports,
    name: str,
    *,
    replace: bool = False,
    same_ok: bool = False,
) -> dict[str, int]:
    with store.database.transaction():
        return imports.finish(name, replace=replace, same_ok=same_ok)


def test_an_import_goes_on_where_it_was(store: MemoryStore, imports: Imports) -> None:
    assert begin(store, imports, "imp_1", "d") == ("imp_1", 0)
    stage(store, imports, "imp_1", 0, item("a"), item("b"))
    # The same input and options: the same import, as far as it got.
    assert begin(store, imports, "imp_2", "d") == ("imp_1", 2)
    assert begin(store, imports, "imp_3", "other") == ("imp_3", 0)
    for wrong in (0, 1, 3):
        with pytest.raises(LocalError) as refused:
            stage(store, imports, "imp_1", wrong, item("c"))
        assert refused.value.code is Code.STATE_CONFLICT
    assert store.get("a") is None  # nothing can be read before the end
    stage(store, imports, "imp_1", 2, item("c"))
    done = finish(store, imports, "imp_1")
    assert done == {"added": 3, "replaced": 0, "unchanged": 0}
    assert sum(store.counts().values()) == 3
    assert begin(store, imports, "imp_4", "d") == ("imp_4", 0)
    for name in ("imp_1", "imp_x"):
        with pytest.raises(LocalError) as refused:
            finish(store, imports, name)
        assert refused.value.code is Code.NOT_FOUND


def test_an_import_refuses_what_is_there_unless_told(
    store: MemoryStore, imports: Imports
) -> None:
    put(store, item("same", 1), item("true", 1), item("differs", "mine"))
    begin(store, imports, "imp_1", "d")
    new = [item("same", 1), item("new"), item("differs", "theirs")]
    stage(store, imports, "imp_1", 0, *new)
    with pytest.raises(LocalError, match="2 items") as refused:
        finish(store, imports, "imp_1")
    assert refused.value.code is Code.IMPORT_REFUSED
    with pytest.raises(LocalError, match=r"1 items.*differs"):
        finish(store, imports, "imp_1", same_ok=True)
    assert store.get("new") is None
    done = finish(store, imports, "imp_1", same_ok=True, replace=True)
    assert done == {"added": 1, "replaced": 1, "unchanged": 1}
    found = store.get("differs")
    assert found is not None
    assert found.value == "theirs"
    # The same text with other tags, or JSON's `true` for 1, is not the same.
    begin(store, imports, "imp_2", "e")
    one = json_true()
    stage(store, imports, "imp_2", 0, item("true", one), item("same", 1, "u"))
    with pytest.raises(LocalError, match="2 items"):
        finish(store, imports, "imp_2", same_ok=True)


def json_true() -> Any:
    return 1 == 1  # noqa: PLR0133 - a boolean that is equal to the number


def test_a_dropped_import_leaves_nothing(store: MemoryStore, imports: Imports) -> None:
    begin(store, imports, "imp_1", "d")
    stage(store, imports, "imp_1", 0, item("a"))
    with store.database.transaction():
        imports.drop("imp_1")
    assert store.database.rows("SELECT * FROM import_items") == []
    assert begin(store, imports, "imp_2", "d") == ("imp_2", 0)
