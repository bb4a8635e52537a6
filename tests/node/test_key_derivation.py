"""From the passphrase to the wallet's key."""

import json
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.kdf.argon2 import Argon2id

from uomp.errors import Code, LocalError
from uomp.node.home import Home
from uomp.node.passphrase import (
    KEY_BYTES,
    KdfParameters,
    check_new,
    derive_key,
    find_passphrase,
    new_parameters,
    read_parameters,
    same_key,
)

SALT = "02" * 16
SMALL = {"salt": SALT, "iterations": 3, "lanes": 4, "memory_kib": 8192}


def test_the_parameters_stand_beside_the_wallet_with_a_fresh_salt(
    tmp_path: Path,
) -> None:
    home = Home(tmp_path)
    first = new_parameters(home)
    kept = json.loads(home.kdf.read_bytes())
    assert kept == {
        "salt": first.salt,
        "algorithm": "argon2id",
        "iterations": 3,
        "lanes": 1,
        "memory_kib": 65536,
    }
    assert read_parameters(home) == first
    assert home.kdf.stat().st_mode & 0o777 == 0o600
    assert new_parameters(home).salt != first.salt


def test_the_key_is_argon2id_of_the_passphrase() -> None:
    parameters = KdfParameters(**SMALL)  # type: ignore[arg-type]
    made = derive_key("pässphrase", parameters)
    expected = Argon2id(
        salt=bytes.fromhex(SALT), length=32, iterations=3, lanes=4, memory_cost=8192
    ).derive("pässphrase".encode())
    assert made == expected
    assert len(made) == KEY_BYTES
    assert made == derive_key("pässphrase", parameters)
    assert made != derive_key("passphrase", parameters)
    salted = KdfParameters(**{**SMALL, "salt": "03" * 16})  # type: ignore[arg-type]
    assert made != derive_key("pässphrase", salted)
    assert same_key(made, bytes(made))
    assert not same_key(made, bytes(32))


@pytest.mark.parametrize(
    "text",
    [
        b"",
        b"{",
        b"\xff",
        b"[]",
        b"{}",
        json.dumps({**SMALL, "salt": "00"}).encode(),
        json.dumps({**SMALL, "salt": "zz" * 16}).encode(),
        json.dumps({**SMALL, "algorithm": "scrypt"}).encode(),
        json.dumps({**SMALL, "iterations": 0}).encode(),
        json.dumps({**SMALL, "iterations": 1000}).encode(),
        json.dumps({**SMALL, "lanes": 0}).encode(),
        json.dumps({**SMALL, "lanes": 1 << 20}).encode(),
        json.dumps({**SMALL, "memory_kib": 1 << 30}).encode(),
        json.dumps({**SMALL, "memory_kib": 1}).encode(),
        json.dumps({**SMALL, "more": 1}).encode(),
    ],
)
def test_a_damaged_file_is_refused_before_it_costs_anything(
    tmp_path: Path, text: bytes
) -> None:
    home = Home(tmp_path)
    home.kdf.write_bytes(json.dumps(SMALL).encode())
    read_parameters(home)  # the control
    home.kdf.write_bytes(text)
    with pytest.raises(LocalError, match=r"wallet\.kdf\.json") as refused:
        read_parameters(home)
    assert refused.value.code is Code.INVALID_REQUEST


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(LocalError, match=r"wallet\.kdf\.json"):
        read_parameters(Home(tmp_path))


@pytest.mark.requirement("DER-24")
def test_a_key_file_must_be_the_owners_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "key"
    file.write_text("a good passphrase \n")
    file.chmod(0o600)
    assert find_passphrase(file) == "a good passphrase "
    for mode in (0o640, 0o604, 0o610):
        file.chmod(mode)
        with pytest.raises(LocalError, match="chmod 600"):
            find_passphrase(file)
    file.chmod(0o600)
    file.write_bytes(b"\xff")
    with pytest.raises(LocalError, match="cannot be read"):
        find_passphrase(file)
    with pytest.raises(LocalError, match="cannot be read"):
        find_passphrase(tmp_path / "nothing")
    monkeypatch.setenv("UOMP_PASSPHRASE", "from the environment")
    assert find_passphrase() == "from the environment"
    monkeypatch.delenv("UOMP_PASSPHRASE")
    assert find_passphrase() is None


def test_a_new_passphrase_has_eight_characters() -> None:
    assert check_new("12345678") == "12345678"
    with pytest.raises(LocalError, match="at least 8") as refused:
        check_new("1234567")
    assert "1234567" not in str(refused.value)
