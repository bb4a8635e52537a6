"""`config.toml`: what is written can be read, and what is wrong is named."""

from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from uomp.errors import Code, LocalError
from uomp.node.config import (
    Config,
    DidcommConfig,
    NodeConfig,
    read_config,
    write_config,
)
from uomp.node.home import Home


@example(name='\x7f\x00"\\\n', port=1, presence=True, size=65536)
@settings(max_examples=40)
@given(
    name=st.text(st.characters(codec="utf-8"), max_size=200),
    port=st.integers(1, 65535),
    presence=st.booleans(),
    size=st.integers(65536, 64 << 20),
)
def test_settings_survive_being_written(
    tmp_path_factory: pytest.TempPathFactory,
    name: str,
    port: int,
    presence: bool,  # noqa: FBT001
    size: int,
) -> None:
    home = Home(tmp_path_factory.mktemp("home"))
    config = Config(
        node=NodeConfig(port=port, name=name, presence=presence),
        didcomm=DidcommConfig(
            endpoint="https://example.org/didcomm",
            listen="[::1]:9000",
            max_message_bytes=size,
        ),
    )
    write_config(home, config)
    assert read_config(home) == config
    assert home.config.stat().st_mode & 0o777 == 0o600


def test_what_is_missing_has_its_default(tmp_path: Path) -> None:
    home = Home(tmp_path)
    home.config.write_text("")
    config = read_config(home)
    assert config == Config()
    assert config.node.presence is True
    assert config.endpoint() == "http://127.0.0.1:9374/didcomm"


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("[node]\nprot = 1", "prot"),
        ("[nod]", "nod"),
        ("[node]\nport = 0", "port"),
        ("[node]\nport = 65536", "port"),
        ('[node]\nport = "1"', "port"),
        ("[node]\npresence = 1", "presence"),
        (f'[node]\nname = "{"x" * 201}"', "name"),
        ("[didcomm]\nmax_message_bytes = 1", "max_message_bytes"),
        ('[didcomm]\nlisten = "9000"', "listen"),
        ('[didcomm]\nlisten = "0.0.0.0:"', "listen"),
        ('[didcomm]\nlisten = "0.0.0.0:99999"', "listen"),
        ('[didcomm]\nlisten = "0.0.0.0:http"', "listen"),
        ('[didcomm]\nendpoint = "example.org"', "endpoint"),
        ('[didcomm]\nendpoint = "file:///etc"', "endpoint"),
        ("[node", "config.toml"),
        ("[node]\nport = 1\nport = 2", "config.toml"),
    ],
)
def test_a_setting_that_is_wrong_is_named(
    tmp_path: Path, text: str, named: str
) -> None:
    home = Home(tmp_path)
    home.config.write_text(text)
    with pytest.raises(LocalError, match=named) as refused:
        read_config(home)
    assert refused.value.code is Code.INVALID_REQUEST


def test_a_file_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    home = Home(tmp_path)
    home.config.write_bytes(b"\xff\xfe")
    with pytest.raises(LocalError, match=r"config\.toml"):
        read_config(home)
    home.config.unlink()
    with pytest.raises(LocalError, match=r"config\.toml"):
        read_config(home)
