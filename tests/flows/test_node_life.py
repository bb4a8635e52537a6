"""A node's life from the outside: made, started, ended, broken, started again."""

import os
import signal
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from support.nodes import PASSPHRASE, UOMP, Failed, Node, people


@pytest.mark.requirement("SYS-1")
def test_the_command_prints_its_version() -> None:
    done = subprocess.run([*UOMP, "--version"], capture_output=True, check=True)
    assert done.stdout.startswith(b"uomp 0.")


@pytest.mark.requirement("SYS-2", "DER-24")
def test_a_new_node_has_a_did_with_both_keys_and_private_files(tmp_path: Path) -> None:
    node = Node(tmp_path / "home").init()
    assert node.did.startswith("did:peer:4")
    shown = node.uomp("did", "show")
    document = shown["document"]
    kinds = {
        method["id"].rpartition("#")[2]: method["publicKeyMultibase"][:4]
        for method in document["verificationMethod"]
    }
    assert kinds == {"key-1": "z6Mk", "key-2": "z6LS"}
    assert document["keyAgreement"]
    assert document["assertionMethod"]
    assert shown["did"] == node.did
    assert node.home.stat().st_mode & 0o777 == 0o700
    for path in node.home.iterdir():
        assert path.stat().st_mode & 0o777 == 0o600, path


@pytest.mark.requirement("SYS-3")
def test_no_private_key_and_no_memory_is_readable_at_rest(tmp_path: Path) -> None:
    with people(tmp_path, "Alice") as (alice,):
        put = ["memory", "put", "secret.canary", '"canary-value-91"', "--tag", "canary"]
        alice.uomp(*put, "--sensitivity", "low")
        alice.end()
        for path in alice.home.iterdir():
            data = path.read_bytes()
            assert b"canary" not in data, path
            assert PASSPHRASE.encode() not in data, path
            if path.name not in ("config.toml", "wallet.kdf.json", "operator.token"):
                assert b"did:peer" not in data, path
                assert b"key-1" not in data, path


def test_a_wrong_passphrase_is_refused_in_one_sentence(tmp_path: Path) -> None:
    node = Node(tmp_path / "home").init()
    done = node.run("serve", UOMP_PASSPHRASE="something else")
    assert (done.returncode, done.stderr) == (1, "The passphrase is wrong.\n")
    done = node.run("did", "show", "--json", UOMP_PASSPHRASE="something else")
    assert done.returncode == 1
    assert '"WRONG_PASSPHRASE"' in done.stdout


def test_init_does_not_overwrite_a_node(tmp_path: Path) -> None:
    node = Node(tmp_path / "home").init()
    before = (node.home / "wallet.db").read_bytes()
    with pytest.raises(Failed) as refused:
        node.uomp("init", "--unattended")
    assert refused.value.code == "ALREADY_INITIALISED"
    assert (node.home / "wallet.db").read_bytes() == before


def test_an_init_that_was_cut_off_can_be_done_again(tmp_path: Path) -> None:
    node = Node(tmp_path / "home").init()
    (node.home / "config.toml").unlink()  # it is written last
    assert node.run("serve").returncode == 1
    assert Node(node.home).init().did != node.did


def test_init_unattended_needs_a_passphrase_of_some_length(tmp_path: Path) -> None:
    node = Node(tmp_path / "home")
    assert node.run("init", "--unattended", UOMP_PASSPHRASE="short").returncode == 1
    assert not (node.home / "wallet.db").exists()


@pytest.mark.requirement("DER-25")
def test_a_second_process_on_the_same_home_is_refused(tmp_path: Path) -> None:
    with people(tmp_path, "Alice") as (alice,):
        done = alice.run("serve", "--port", "1")
        assert done.returncode == 1
        assert "Another process already runs the node" in done.stderr
        assert alice.is_up()


def test_commands_say_plainly_when_no_node_runs(tmp_path: Path) -> None:
    node = Node(tmp_path / "home")
    assert "uomp init" in node.run("memory", "list").stderr
    node.init()
    done = node.run("memory", "list")
    assert (done.returncode, done.stdout) == (1, "")
    assert "No node runs" in done.stderr
    assert node.run("status", "--json").returncode == 1


def test_wrong_use_ends_with_2(tmp_path: Path) -> None:
    node = Node(tmp_path / "home")
    assert node.run("no-such-command").returncode == 2
    assert node.run("request").returncode == 2
    assert node.run("init", "--port", "99999").returncode == 2


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_ends_a_node_cleanly(tmp_path: Path, number: int) -> None:
    with people(tmp_path, "Alice") as (alice,):
        assert alice.end(number) == 0
        assert not (alice.home / "control.sock").exists()
        assert "Traceback" not in alice.log()


def test_stop_ends_a_node(tmp_path: Path) -> None:
    with people(tmp_path, "Alice") as (alice,):
        alice.uomp("stop")
        assert alice.process is not None
        assert alice.process.wait(timeout=20) == 0


@pytest.mark.requirement("DER-25")
def test_what_was_acknowledged_is_there_after_a_kill(tmp_path: Path) -> None:
    with people(tmp_path, "Alice") as (alice,):
        put = [
            "memory",
            "put",
            "theme",
            '"dark"',
            "--tag",
            "ui",
            "--sensitivity",
            "low",
        ]
        alice.uomp(*put)
        alice.end(signal.SIGKILL)
        alice.start()
        assert alice.uomp("memory", "get", "theme")["value"] == "dark"
        assert alice.uomp("audit", "verify")["wrong"] == []
        assert alice.uomp("audit", "list")[0]["action"] == "write"


def test_a_port_in_use_is_refused(tmp_path: Path) -> None:
    node = Node(tmp_path / "home").init()
    with socket.socket() as squatter:
        squatter.bind(("127.0.0.1", node.port))
        squatter.listen()
        done = node.run("serve")
    assert done.returncode == 1
    assert f"Port {node.port}" in done.stderr


def test_files_that_others_may_read_stop_the_start(tmp_path: Path) -> None:
    node = Node(tmp_path / "home").init()
    (node.home / "wallet.db").chmod(0o644)
    done = node.run("serve")
    assert done.returncode == 1
    assert "chmod 600" in done.stderr


@pytest.mark.parametrize("name", ["wallet.db", "memory.db", "ledger.db", "audit.db"])
def test_a_damaged_file_is_named_and_nothing_is_lost(tmp_path: Path, name: str) -> None:
    with people(tmp_path, "Alice") as (alice,):
        alice.end()
        path = alice.home / name
        good = path.read_bytes()
        path.write_bytes(b"\x00" * 100 + good[100:])
        done = alice.run("serve")
        assert done.returncode == 1
        assert name in done.stderr
        assert "Traceback" not in done.stderr
        path.write_bytes(good)
        alice.start()


def test_settings_that_make_no_sense_are_named(tmp_path: Path) -> None:
    node = Node(tmp_path / "home").init()
    config = node.home / "config.toml"
    config.write_text(config.read_text().replace("[node]", "[node]\nprot = 1"))
    done = node.run("serve")
    assert done.returncode == 1
    assert "prot" in done.stderr


@pytest.mark.requirement("SYS-18")
def test_a_node_listens_on_this_machine_only(tmp_path: Path) -> None:
    with people(tmp_path, "Alice") as (alice,):
        with socket.socket() as probe:
            probe.settimeout(5)
            probe.connect(("127.0.0.1", alice.port))
        table = Path("/proc/net/tcp")
        if table.exists():
            listening = f":{alice.port:04X} 00000000:0000 0A"
            lines = [
                line for line in table.read_text().split("\n") if listening in line
            ]
            assert all("0100007F:" in line for line in lines)
            assert lines


def test_serve_on_another_port_tells_it_in_the_did(tmp_path: Path) -> None:
    node = Node(tmp_path / "home").init()
    node.port = 0
    other = Node(tmp_path / "unused").port
    try:
        node.start("--port", str(other))
        status = node.uomp("status")
        assert status["port"] == other
        assert status["endpoint"] == f"http://127.0.0.1:{other}/didcomm"
        assert status["did"] != node.did
    finally:
        node.end(signal.SIGKILL)


def test_a_key_file_opens_the_wallet_if_it_is_private(tmp_path: Path) -> None:
    node = Node(tmp_path / "home").init()
    key_file = tmp_path / "key"
    key_file.write_text(PASSPHRASE + "\n")
    key_file.chmod(0o600)
    environment = {
        k: v for k, v in node.environment().items() if k != "UOMP_PASSPHRASE"
    }
    words = [sys.executable, "-m", "uomp", "did", "show", "--key-file", str(key_file)]
    done = subprocess.run(
        words,
        env=environment,
        capture_output=True,
        check=False,
        stdin=subprocess.DEVNULL,
    )
    assert done.returncode == 0
    key_file.chmod(0o644)
    done = subprocess.run(words, env=environment, capture_output=True, check=False)
    assert done.returncode == 1
    assert os.fsencode(key_file) in done.stderr
