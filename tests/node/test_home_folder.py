"""The folder of a node: who may read it, who runs it, and how files come into it."""

from pathlib import Path

import pytest

from uomp.errors import Code, LocalError, UnavailableError
from uomp.node.home import MAX_SOCKET_PATH, Home, HomeLock, default_home, write_private


def made(root: Path) -> Home:
    home = Home(root)
    home.create()
    for path in (home.config, home.wallet, home.kdf):
        write_private(path, b"x")
    return home


@pytest.mark.requirement("DER-24")
def test_a_folder_that_others_may_read_is_no_home(tmp_path: Path) -> None:
    home = made(tmp_path / "home")
    home.require()
    assert home.root.stat().st_mode & 0o777 == 0o700
    for path in (home.root, home.wallet, home.kdf, home.config):
        for mode in (0o704, 0o740, 0o701):
            before = path.stat().st_mode
            path.chmod(mode)
            with pytest.raises(LocalError, match=r"chmod [67]00") as refused:
                home.require()
            assert refused.value.code is Code.PERMISSION_REFUSED
            path.chmod(before)
    home.require()


def test_a_folder_without_settings_or_wallet_holds_no_node(tmp_path: Path) -> None:
    for missing in ("config", "wallet"):
        home = made(tmp_path / missing)
        getattr(home, missing).unlink()
        with pytest.raises(LocalError, match="uomp init") as refused:
            home.require()
        assert refused.value.code is Code.NOT_INITIALISED
        assert not home.exists()


def test_create_closes_a_folder_that_is_there_and_says_where_it_cannot(
    tmp_path: Path,
) -> None:
    open_one = tmp_path / "open"
    open_one.mkdir(mode=0o755)
    Home(open_one).create()
    assert open_one.stat().st_mode & 0o777 == 0o700
    (tmp_path / "file").write_bytes(b"")
    with pytest.raises(UnavailableError, match="cannot be made"):
        Home(tmp_path / "file" / "home").create()


@pytest.mark.requirement("DER-24")
def test_a_private_file_is_written_whole_over_whatever_was_there(
    tmp_path: Path,
) -> None:
    path = tmp_path / "f"
    path.write_bytes(b"old and open")
    path.chmod(0o644)
    (tmp_path / "f.part").write_bytes(b"left by a crash")
    write_private(path, b"new")
    assert path.read_bytes() == b"new"
    assert path.stat().st_mode & 0o777 == 0o600
    assert [one.name for one in tmp_path.iterdir()] == ["f"]
    # A link in the place of the file or of its draft is replaced, never followed.
    target = tmp_path / "target"
    target.write_bytes(b"untouched")
    for name in ("f", "f.part"):
        link = tmp_path / name
        link.unlink(missing_ok=True)
        link.symlink_to(target)
        write_private(path, b"again")
        assert target.read_bytes() == b"untouched"
        assert not path.is_symlink()


def test_one_process_at_a_time_has_the_home(tmp_path: Path) -> None:
    home = made(tmp_path / "home")
    with HomeLock(home):
        with pytest.raises(LocalError) as refused, HomeLock(home):
            pass
        assert refused.value.code is Code.NODE_ALREADY_RUNNING
    with HomeLock(home):  # it is free again
        assert home.lock.stat().st_mode & 0o777 == 0o600
    home.lock.unlink()
    home.lock.symlink_to(tmp_path / "elsewhere")
    with pytest.raises(UnavailableError), HomeLock(home):
        pass
    with pytest.raises(UnavailableError), HomeLock(Home(tmp_path / "nowhere")):
        pass


def test_a_path_too_long_for_a_socket_goes_to_the_runtime_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_RUNTIME_DIR", "/run/user/7")
    near = Home(Path("/h"))
    assert near.control_socket == Path("/h/control.sock")
    far = Home(tmp_path / ("x" * MAX_SOCKET_PATH))
    assert far.control_socket.parent == Path("/run/user/7/uomp")
    assert len(str(far.control_socket)) < MAX_SOCKET_PATH
    monkeypatch.delenv("XDG_RUNTIME_DIR")
    with pytest.raises(LocalError, match="XDG_RUNTIME_DIR"):
        _ = far.control_socket


def test_the_default_home_is_the_environments(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("UOMP_HOME", "/a/b")
    assert default_home() == Path("/a/b")
    monkeypatch.setenv("UOMP_HOME", "")
    assert default_home() == Path.home() / ".uomp"
