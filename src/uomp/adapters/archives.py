"""Members of a ZIP, read as streams and never unpacked to disk.

A member is opened only if its name was asked for, so a name such as `../x` can do no
harm. The declared sizes are held against the limits; `zipfile` gives no byte more than
was declared and checks the CRC there, so a size that lies ends in a refusal.
"""

import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from io import BufferedIOBase
from pathlib import Path, PurePosixPath
from typing import IO, cast

from uomp.adapters.base import refuse
from uomp.adapters.files import Input, Opener, Part

MAX_ENTRIES = 200_000  # an export holds one entry per uploaded picture
MAX_TOTAL_BYTES = 8 * 1024**3  # uncompressed; the largest exports known are below 2 GiB
MAX_RATIO = 200  # exports deflate about 6 to 10 times, deflate itself stops at 1032
RATIO_FREE_BYTES = 1024**2  # short members may repeat themselves
MAX_FOLDERS = 3  # export/2026/conversations.json

_METHODS = frozenset({zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED})
_ENCRYPTED = 0x1
_BROKEN = (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError)


def safe_name(name: str) -> PurePosixPath | None:
    """Return the path of a member, or None if it is absolute or leaves the ZIP."""
    if "\\" in name or ":" in name or name.startswith("/") or not name.isprintable():
        return None
    path = PurePosixPath(name)
    return None if ".." in path.parts or len(path.parts) > MAX_FOLDERS + 1 else path


def list_members(path: Path) -> dict[PurePosixPath, zipfile.ZipInfo]:
    """Return the members with safe names.

    Raises:
        LocalError: `IMPORT_REFUSED`, if the ZIP is broken, has too many entries, or
            names a member twice.
    """
    members: dict[PurePosixPath, zipfile.ZipInfo] = {}
    try:
        with zipfile.ZipFile(path) as archive:
            infos = archive.infolist()
    except (*_BROKEN, OSError, ValueError) as error:
        raise refuse("The ZIP is broken.") from error
    if len(infos) > MAX_ENTRIES:
        raise refuse(f"The ZIP has over {MAX_ENTRIES} entries.")
    for info in infos:
        # `orig_filename` still shows what `filename` was cut or rewritten from.
        name = safe_name(info.orig_filename)
        if name is None or info.is_dir():
            continue
        if name in members:
            raise refuse("The ZIP names a member twice.")
        members[name] = info
    return members


def zip_input(path: Path, infos: list[zipfile.ZipInfo]) -> Input:
    """Return chosen members of a ZIP in the order given.

    Raises:
        LocalError: `IMPORT_REFUSED`, if a member is encrypted, packed by a method
            other than deflate, or the declared sizes are those of a bomb.
    """
    for info in infos:
        if info.flag_bits & _ENCRYPTED:
            raise refuse("The ZIP is encrypted: unpack it first.")
        if info.compress_type not in _METHODS:
            raise refuse("The ZIP uses a compression other than deflate.")
        _check_ratio(info.file_size, info.compress_size)
    if sum(info.file_size for info in infos) > MAX_TOTAL_BYTES:
        raise refuse(f"The ZIP holds over {MAX_TOTAL_BYTES // 1024**3} GiB.")
    parts = tuple(
        Part(name=info.filename, size=info.file_size, open=_opener(path, info))
        for info in infos
    )
    return Input(parts=parts, files=(path,))


def _check_ratio(size: int, packed: int) -> None:
    if size > RATIO_FREE_BYTES and size > packed * MAX_RATIO:
        raise refuse(f"The ZIP inflates over {MAX_RATIO} times: it looks like a bomb.")


class _Member(BufferedIOBase):
    """A member whose faults are ours."""

    def __init__(self, stream: IO[bytes]) -> None:
        self._stream = stream

    def read(self, size: int | None = -1, /) -> bytes:
        try:
            return self._stream.read(-1 if size is None else size)
        except _BROKEN as error:
            raise refuse("The ZIP is broken: a member cannot be read.") from error


def _opener(path: Path, info: zipfile.ZipInfo) -> Opener:
    @contextmanager
    def opened() -> Iterator[IO[bytes]]:
        try:
            archive = zipfile.ZipFile(path)
        except (*_BROKEN, OSError, ValueError) as error:
            raise refuse("The ZIP is broken.") from error
        with archive:
            try:
                stream = archive.open(info)
            except (*_BROKEN, OSError, ValueError) as error:
                raise refuse("The ZIP is broken: a member cannot be read.") from error
            with stream:
                yield cast("IO[bytes]", _Member(stream))

    return opened
