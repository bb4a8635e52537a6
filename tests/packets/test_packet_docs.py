"""docs/packets.md says what the code does, and the recipe beside it verifies."""

import importlib.util
import json
import re
import subprocess
import sys
from base64 import b64decode
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from support.packets import ALICE, VECTORS, WEB, Json, data_of, key_of, text_packet
from uomp.errors import Code
from uomp.packets import encodings, header, strict
from uomp.packets.multibase import encode_multikey
from uomp.packets.nesting import MAX_DEPTH
from uomp.packets.steps import MAX_FUTURE
from uomp.packets.verify import MAX_PACKET_BYTES, STEPS

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs/packets.md").read_text("utf-8")
RECIPE = ROOT / "examples/verify_packet.py"


def rows(heading: str) -> list[list[str]]:
    """Return the cells of the first table under a heading."""
    section = PAGE.partition(f"\n## {heading}\n")[2].partition("\n## ")[0]
    lines = [line for line in section.splitlines() if line.startswith("| ")]
    return [[cell.strip() for cell in line.strip("|").split(" | ")] for line in lines][
        2:
    ]


def vectors() -> list[Json]:
    folder = VECTORS / "packets"
    files = [path for path in folder.glob("*.json") if path.name != "keys.json"]
    return [json.loads(path.read_bytes()) for path in files]


def test_the_numbered_checks_are_those_of_the_code() -> None:
    told = [(int(number), name) for number, name, _, _ in rows("The checks")]
    assert told == list(enumerate((name for name, _ in STEPS), start=1))


def test_each_verdict_of_a_vector_is_in_the_row_of_its_check() -> None:
    told = {
        int(number): set(re.findall("`([A-Z_]+)`", codes))
        for number, _, _, codes in rows("The checks")
    }
    assert set().union(*told.values()) <= set(Code)
    steps = [one for one in vectors() if (one["expected"] or {}).get("step")]
    assert len(steps) > 50
    for one in steps:
        assert one["code"] in told[one["expected"]["step"]], one["id"]


def test_the_limits_are_those_of_the_code() -> None:
    assert [int(value) for _, value in rows("Limits")] == [
        MAX_PACKET_BYTES,
        encodings.MAX_UNPACKED_BYTES,
        encodings.MAX_RATIO,
        strict.MAX_DEPTH,
        strict.MAX_VALUES,
        header.MAX_DID,
        MAX_DEPTH,
        MAX_FUTURE.total_seconds(),
    ]
    assert str(encodings.FREE_BYTES) in PAGE


def test_every_header_member_is_told() -> None:
    table = "\n".join(cells[0] for cells in rows("Members"))
    assert set(re.findall("`([a-z_]+)`", table)) == header.KNOWN


def test_every_encoding_and_type_is_told() -> None:
    for name in (*encodings.ENCODINGS, *(cells[0] for cells in rows("Memory types"))):
        assert name.strip("`") in PAGE


def test_the_links_lead_somewhere() -> None:
    for place in re.findall(r"\]\((\.\./[^)]+)\)", PAGE):
        assert (ROOT / "docs" / place).exists(), place


# ---- the recipe -------------------------------------------------------------


@pytest.fixture(scope="module")
def recipe() -> ModuleType:
    spec = importlib.util.spec_from_file_location("verify_packet_recipe", RECIPE)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def documents(value: Json) -> list[Json]:
    """Return the documents that could have the key of this packet."""
    key_id = str(value.get("signature", {}).get("public_key_id"))
    did, _, fragment = key_id.partition("#")
    keys = json.loads((VECTORS / "packets/keys.json").read_bytes())["keys"]
    methods = [
        {
            "id": key["key_id"],
            "publicKeyMultibase": encode_multikey(
                key["algorithm"], bytes.fromhex(key["public_hex"])
            ),
        }
        for key in keys
        if key["key_id"] == key_id
    ]
    if did.startswith("did:key:"):
        methods = [{"id": f"#{fragment}", "publicKeyMultibase": did[8:]}]
    return [{"id": did, "verificationMethod": methods}]


def verdict(recipe: ModuleType, vector: Json) -> bool:
    text = vector.get("input")
    data = text.encode() if text is not None else b64decode(vector["input_base64"])
    try:
        for document in documents(json.loads(data)):
            recipe.verify(data, document)
    except Exception:  # noqa: BLE001 - the recipe stops at whatever is wrong
        return False
    return True


def test_the_recipe_shares_no_code_with_the_program() -> None:
    assert not re.search(r"^\s*(from|import) uomp", RECIPE.read_text(), re.MULTILINE)


@pytest.mark.requirement("SYS-19", "PAM-2.2-10")
def test_the_recipe_accepts_every_good_packet(recipe: ModuleType) -> None:
    good = [one for one in vectors() if one["kind"] == "packet" and not one["code"]]
    assert len(good) > 15
    assert [one["id"] for one in good if not verdict(recipe, one)] == []


@pytest.mark.requirement("PAM-2.2-2", "PAM-2.2-7", "PAM-2.2-8")
def test_the_recipe_refuses_whatever_is_not_authentic(recipe: ModuleType) -> None:
    bad = [
        one
        for one in vectors()
        if one["kind"] == "packet" and one["expected"].get("step") in (6, 7, 9, 10)
    ]
    assert len(bad) > 15
    assert [one["id"] for one in bad if verdict(recipe, one)] == []


def run(*files: Path) -> Any:
    return subprocess.run(
        [sys.executable, str(RECIPE), *map(str, files)],
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.requirement("SYS-19")
def test_the_recipe_works_on_files(tmp_path: Path) -> None:
    packet, did = tmp_path / "packet.json", tmp_path / "did.json"
    packet.write_bytes(data_of(text_packet()))
    multikey = ALICE.did.removeprefix("did:key:")
    method = {"id": f"#{multikey}", "publicKeyMultibase": multikey}
    did.write_text(json.dumps({"id": ALICE.did, "verificationMethod": [method]}))
    done = run(packet, did)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("Good: mem_1 of did:key:")
    packet.write_bytes(data_of(text_packet()).replace(b"Hello", b"Hallo"))
    assert run(packet, did).returncode == 1


def test_a_key_of_the_document_that_was_not_named_is_not_taken(
    recipe: ModuleType,
) -> None:
    other = encode_multikey("Ed25519", key_of(ALICE).public)
    document = {
        "id": WEB.did,
        "verificationMethod": [{"id": "#other", "publicKeyMultibase": other}],
    }
    with pytest.raises(ValueError, match="no such key"):
        recipe.verify(data_of(text_packet(WEB)), document)
