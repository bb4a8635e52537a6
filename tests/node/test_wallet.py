"""The Askar wallet: what is in it, and who can open it."""

import asyncio
from pathlib import Path

import pytest

from uomp.errors import Code, LocalError, UnavailableError
from uomp.node.config import Config
from uomp.node.home import Home
from uomp.node.passphrase import derive_key, read_parameters
from uomp.node.setup import create_node, new_did
from uomp.node.wallet import STORES, DidRecord, Identity, Wallet
from uomp.protocol.did.resolve import resolve_static, short_form

KEY, OTHER = bytes(range(32)), bytes(32)
PASSPHRASE = "correct horse battery staple"


def made(tmp_path: Path) -> Home:
    home = Home(tmp_path / "home")
    home.create()
    return home


async def opened(home: Home, key: bytes = KEY) -> Identity:
    wallet = await Wallet.open(home, key)
    await wallet.close()
    return wallet.identity


@pytest.mark.requirement("SYS-3")
def test_keys_come_back_as_they_were_made_and_rest_encrypted(tmp_path: Path) -> None:
    home = made(tmp_path)

    async def scene() -> None:
        wallet = await Wallet.create(home, KEY)
        record = new_did(wallet.identity.keys, "http://127.0.0.1:1/didcomm")
        await wallet.add_did(record)
        first = wallet.identity
        await wallet.close()
        again = await opened(home)
        secrets = []
        for one, other in (
            (first.keys.signing, again.keys.signing),
            (first.keys.agreement, again.keys.agreement),
            (first.keys.token, again.keys.token),
        ):
            assert one.private_bytes_raw() == other.private_bytes_raw()
            secrets.append(one.private_bytes_raw())
        assert first.keys.stores == again.keys.stores
        assert set(again.keys.stores) == set(STORES)
        secrets += again.keys.stores.values()
        assert len(set(secrets)) == 6
        assert {len(secret) for secret in secrets} == {32}
        assert again.dids == (record,)
        assert again.short_did == short_form(record.long)
        for shown in (repr(again), repr(again.keys)):
            assert not any(secret.hex() in shown for secret in secrets)
            assert "bytes" not in shown
        data = b"".join(path.read_bytes() for path in home.root.iterdir())
        for secret in secrets:
            assert secret not in data
            assert secret.hex().encode() not in data
        assert home.wallet.stat().st_mode & 0o777 == 0o600

    asyncio.run(scene())


def test_another_key_a_damaged_file_and_no_file_are_told_apart(tmp_path: Path) -> None:
    home = made(tmp_path)

    async def scene() -> None:
        await (await Wallet.create(home, KEY)).close()
        with pytest.raises(LocalError, match="passphrase is wrong") as wrong:
            await opened(home, OTHER)
        assert wrong.value.code is Code.WRONG_PASSPHRASE
        await opened(home)  # a wrong try has done no harm
        good = home.wallet.read_bytes()
        home.wallet.write_bytes(bytes(100) + good[100:])
        with pytest.raises(UnavailableError, match=r"wallet\.db") as damaged:
            await opened(home)
        assert damaged.value.code is Code.STORE_UNAVAILABLE
        home.wallet.unlink()
        with pytest.raises(UnavailableError, match=r"wallet\.db"):
            await opened(home)
        assert not home.wallet.exists()

    asyncio.run(scene())


def test_a_wallet_that_cannot_be_made_is_said_so(tmp_path: Path) -> None:
    async def scene() -> None:
        nowhere = Home(tmp_path / "nowhere")
        with pytest.raises(UnavailableError, match="cannot be made"):
            await Wallet.create(nowhere, KEY)

    asyncio.run(scene())


def test_the_newest_did_is_the_one_that_speaks(tmp_path: Path) -> None:
    home = made(tmp_path)

    async def scene() -> None:
        wallet = await Wallet.create(home, KEY)
        keys = wallet.identity.keys
        first, second, third = (
            new_did(keys, f"http://127.0.0.1:{port}/didcomm") for port in (1, 2, 3)
        )
        await wallet.add_did(first)
        await wallet.replace_did(second)
        assert wallet.identity.dids == (second,)
        await wallet.add_did(third)
        await wallet.close()
        identity = await opened(home)
        assert identity.dids == (second, third)
        assert identity.did == third.long
        document = resolve_static(third.long, {})
        key = document.signing_key(f"{third.long}#key-1")
        assert key.public_bytes_raw() == keys.signing.public_key().public_bytes_raw()
        assert isinstance(third, DidRecord)
        assert third.endpoint == "http://127.0.0.1:3/didcomm"

    asyncio.run(scene())


def test_making_a_node_leaves_one_and_only_one(tmp_path: Path) -> None:
    home = Home(tmp_path / "home")

    async def scene() -> None:
        did = await create_node(home, Config(), PASSPHRASE)
        key = derive_key(PASSPHRASE, read_parameters(home))
        assert (await opened(home, key)).did == did
        with pytest.raises(LocalError) as refused:
            await create_node(home, Config(), PASSPHRASE)
        assert refused.value.code is Code.ALREADY_INITIALISED
        assert (await opened(home, key)).did == did
        token = home.operator_token.read_text()
        assert token.startswith("uomp_op_")
        assert len(token) == len("uomp_op_") + 43
        # A folder whose settings were not written yet holds no node: made again.
        home.config.unlink()
        assert await create_node(home, Config(), PASSPHRASE) != did
        assert home.operator_token.read_text() != token
        # One that has run has memory to lose: its keys are never replaced.
        home.memory.touch()
        for lost in (home.config, home.wallet):
            kept = lost.read_bytes()
            wallet = home.wallet.read_bytes()
            lost.unlink()
            with pytest.raises(LocalError, match=lost.name) as refused:
                await create_node(home, Config(), PASSPHRASE)
            assert refused.value.code is Code.ALREADY_INITIALISED
            assert lost == home.wallet or home.wallet.read_bytes() == wallet
            lost.write_bytes(kept)

    asyncio.run(scene())
