"""ZIP files as a hostile world makes them."""

import io
import json
import struct
import zipfile
from datetime import UTC, datetime
from pathlib import Path

import pytest

from uomp.adapters.archives import MAX_ENTRIES, MAX_RATIO, list_members, safe_name
from uomp.adapters.base import (
    ImportedItem,
    ImportOptions,
    Outcome,
    Problem,
    no_progress,
)
from uomp.adapters.detect import open_source
from uomp.errors import Code, LocalError

OPTIONS = ImportOptions(
    now=datetime(2026, 12, 1, tzinfo=UTC), tags=("chats",), sensitivity="low"
)
CENTRAL = b"PK\x01\x02"
LOCAL = b"PK\x03\x04"


def shard(*names: str) -> bytes:
    text = {"content_type": "text", "parts": ["hi"]}
    made = {"author": {"role": "user"}, "content": text, "create_time": 1786000000}
    mapping = {"a": {"parent": None, "message": made}}
    records = [{"id": name, "current_node": "a", "mapping": mapping} for name in names]
    return json.dumps(records).encode()


def packed(members: dict[str, bytes], method: int = zipfile.ZIP_DEFLATED) -> bytes:
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w", method) as archive:
        for name, data in members.items():
            archive.writestr(name, data)
    return made.getvalue()


def read(folder: Path, data: bytes) -> list[Outcome]:
    path = folder / "export.zip"
    path.write_bytes(data)
    return list(open_source(path, None).read(OPTIONS, no_progress))


def keys(outcomes: list[Outcome]) -> list[str]:
    return [each.item.key for each in outcomes if isinstance(each, ImportedItem)]


def patched(data: bytes, signature: bytes, offset: int, value: bytes) -> bytes:
    """Overwrite a member's header, `offset` bytes after its signature's start."""
    at = data.index(signature) + offset
    return data[:at] + value + data[at + len(value) :]


def refused(folder: Path, data: bytes) -> str:
    with pytest.raises(LocalError) as caught:
        read(folder, data)
    assert caught.value.code is Code.IMPORT_REFUSED
    return str(caught.value)


def test_shards_are_read_in_numeric_order(tmp_path: Path) -> None:
    data = packed(
        {
            "conversations-10.json": shard("c"),
            "conversations-9.json": shard("b"),
            "conversations-000.json": shard("a"),
            "chat.html": b"<html>",
            "user.json": b"{}",
        }
    )
    assert keys(read(tmp_path, data)) == ["chatgpt.a", "chatgpt.b", "chatgpt.c"]


@pytest.mark.parametrize("folder", ["", "export/", "a/b/"])
def test_the_export_may_lie_in_a_folder_of_the_zip(tmp_path: Path, folder: str) -> None:
    data = packed({f"{folder}conversations.json": shard("a"), "__MACOSX/x": b"x"})
    assert keys(read(tmp_path, data)) == ["chatgpt.a"]


def test_a_stored_zip_is_read_as_well(tmp_path: Path) -> None:
    data = packed({"conversations.json": shard("a")}, zipfile.ZIP_STORED)
    assert keys(read(tmp_path, data)) == ["chatgpt.a"]


@pytest.mark.parametrize(
    "name",
    [
        "../conversations.json",
        "a/../../conversations.json",
        "/conversations.json",
        "C:/conversations.json",
        "a\\conversations.json",
        "a/b/c/d/conversations.json",
    ],
)
def test_names_that_leave_the_zip_are_not_looked_at(tmp_path: Path, name: str) -> None:
    assert safe_name(name) is None
    assert "Looked for" in refused(tmp_path, packed({name: shard("bad")}))
    data = packed({name: shard("bad"), "conversations.json": shard("good")})
    assert keys(read(tmp_path, data)) == ["chatgpt.good"]
    assert sorted(each.name for each in tmp_path.iterdir()) == ["export.zip"]


def test_an_encrypted_zip_is_refused(tmp_path: Path) -> None:
    data = packed({"conversations.json": shard("a")})
    data = patched(data, CENTRAL, 8, b"\x01\x00")
    assert "encrypted" in refused(tmp_path, patched(data, LOCAL, 6, b"\x01\x00"))


@pytest.mark.parametrize("method", [zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
def test_other_compressions_are_refused(tmp_path: Path, method: int) -> None:
    data = packed({"conversations.json": shard("a")}, method)
    assert "deflate" in refused(tmp_path, data)


def test_a_bomb_is_refused_before_it_is_read(tmp_path: Path) -> None:
    blank = b"[" + b" " * (4 * 1024**2) + b"]"
    assert f"{MAX_RATIO} times" in refused(
        tmp_path, packed({"conversations.json": blank})
    )


def test_a_bomb_that_lies_about_its_size_is_stopped_at_the_lie(tmp_path: Path) -> None:
    blank = b"[" + b" " * (4 * 1024**2) + b"]"
    data = packed({"conversations.json": blank})
    told: list[int] = []
    path = tmp_path / "export.zip"
    path.write_bytes(patched(data, CENTRAL, 24, struct.pack("<I", 1000)))
    source = open_source(path, None)
    outcomes = list(source.read(OPTIONS, lambda done, _: told.append(done)))
    assert isinstance(outcomes[0], Problem)
    assert "broken" in outcomes[0].reason
    assert max(told, default=0) <= 1000


def test_a_zip_that_declares_too_much_is_refused(tmp_path: Path) -> None:
    members = {f"conversations-{n}.json": shard("a") * 100 for n in range(3)}
    data = packed(members, zipfile.ZIP_STORED)
    huge = struct.pack("<II", 2**32 - 2, 2**32 - 2)
    for _ in members:
        data = patched(data, CENTRAL, 20, huge).replace(CENTRAL, b"PK\xff\xff", 1)
    assert "GiB" in refused(tmp_path, data.replace(b"PK\xff\xff", CENTRAL))


def test_a_zip_with_too_many_entries_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "many.zip"
    with zipfile.ZipFile(path, "w") as archive:
        info = zipfile.ZipInfo("a")
        archive.writestr(info, b"")
        archive.filelist *= MAX_ENTRIES + 1
    with pytest.raises(LocalError, match="entries"):
        list_members(path)


def test_a_member_named_twice_is_refused(tmp_path: Path) -> None:
    data = packed({"conversations.json": shard("a"), "conversationz.json": shard("b")})
    twice = data.replace(b"conversationz", b"conversations")
    assert "twice" in refused(tmp_path, twice)


def test_two_exports_in_one_zip_are_refused(tmp_path: Path) -> None:
    data = packed({f"{name}/conversations.json": shard(name) for name in "ab"})
    assert "one by one" in refused(tmp_path, data)


def test_the_whole_file_beside_its_shards_is_refused(tmp_path: Path) -> None:
    names = ("conversations.json", "conversations-000.json")
    assert "keep one" in refused(tmp_path, packed({name: shard("a") for name in names}))


def test_one_shard_under_two_numbers_is_refused(tmp_path: Path) -> None:
    names = ("conversations-1.json", "conversations-001.json")
    assert "same shard" in refused(
        tmp_path, packed({name: shard("a") for name in names})
    )


def test_a_zip_that_breaks_off_is_refused(tmp_path: Path) -> None:
    data = packed({"conversations.json": shard("a", "b")})
    assert "broken" in refused(tmp_path, data[:-30])


def test_a_damaged_member_never_passes_as_whole(tmp_path: Path) -> None:
    data = packed({"conversations.json": shard("a", "b")})
    assert not any(isinstance(each, Problem) for each in read(tmp_path, data))
    outcomes = read(tmp_path, patched(data, LOCAL, 60, b"\xff\xff\xff"))
    assert any(isinstance(each, Problem) for each in outcomes)


def test_a_zip_that_vanishes_or_changes_is_a_problem(tmp_path: Path) -> None:
    path = tmp_path / "export.zip"
    path.write_bytes(packed({"conversations.json": shard("a")}))
    source = open_source(path, None)
    assert keys(list(source.read(OPTIONS, no_progress))) == ["chatgpt.a"]
    path.write_bytes(packed({"conversationz.json": shard("b")}))
    outcomes = list(source.read(OPTIONS, no_progress))
    assert [type(each) for each in outcomes] == [Problem, Problem]
    path.unlink()
    outcomes = list(source.read(OPTIONS, no_progress))
    assert [type(each) for each in outcomes] == [Problem, Problem]


def test_a_good_shard_is_kept_when_the_next_one_is_damaged(tmp_path: Path) -> None:
    data = packed(
        {"conversations-0.json": shard("a"), "conversations-1.json": shard("b")[:-5]}
    )
    outcomes = read(tmp_path, data)
    assert keys(outcomes)[:1] == ["chatgpt.a"]
    assert isinstance(outcomes[-1], Problem)
    assert outcomes[-1].ref == "conversations-1.json"


def test_a_zip_without_an_export_is_refused(tmp_path: Path) -> None:
    assert "Looked for" in refused(tmp_path, packed({"memories.txt": b"x"}))
    assert "Looked for" in refused(tmp_path, packed({}))
