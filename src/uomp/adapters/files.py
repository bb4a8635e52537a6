"""The bytes of an input: one file, a folder of shards, or members of a ZIP."""

import hashlib
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import IO

import msgspec

from uomp.adapters.base import Progress, refuse

CHUNK_BYTES = 64 * 1024

Opener = Callable[[], AbstractContextManager[IO[bytes]]]


class Part(msgspec.Struct, frozen=True, kw_only=True):
    """One stretch of bytes to read in order; `size` is in bytes, uncompressed."""

    name: str
    size: int
    open: Opener


class Input(msgspec.Struct, frozen=True, kw_only=True):
    """The parts of an import in order. `files` are what the digest is taken over."""

    parts: tuple[Part, ...]
    files: tuple[Path, ...]

    @property
    def size(self) -> int:
        """The bytes of all parts."""
        return sum(part.size for part in self.parts)


def file_part(path: Path) -> Part:
    """Return a plain file as a part.

    Raises:
        LocalError: `IMPORT_REFUSED`, if it is not a regular file or cannot be read.
    """
    try:
        if not path.is_file():
            raise refuse("This is not a regular file.")
        size = path.stat().st_size
    except OSError as error:
        raise refuse("The file cannot be read.") from error
    return Part(name=path.name, size=size, open=lambda: _opened(path))


@contextmanager
def _opened(path: Path) -> Iterator[IO[bytes]]:
    try:
        stream = path.open("rb")
    except OSError as error:
        raise refuse("The file cannot be read.") from error
    with stream:
        yield stream


def file_input(*paths: Path) -> Input:
    """Return one file, or the shards of a folder in the order given."""
    return Input(parts=tuple(file_part(path) for path in paths), files=paths)


def digest(files: tuple[Path, ...]) -> str:
    """Return SHA-256 in hex: of the bytes of one file, or of a run of files.

    A run is hashed as name, size and bytes of each, so that moving a byte from one
    shard to the next shows.

    Raises:
        LocalError: `IMPORT_REFUSED`, if a file cannot be read.
    """
    total = hashlib.sha256()
    try:
        for path in files:
            if len(files) > 1:
                total.update(f"{path.name}\n{path.stat().st_size}\n".encode())
            with path.open("rb") as stream:
                while chunk := stream.read(CHUNK_BYTES):
                    total.update(chunk)
    except OSError as error:
        raise refuse("The file cannot be read.") from error
    return total.hexdigest()


class Meter:
    """Adds up the bytes read over all parts and tells the owner."""

    def __init__(self, total: int, progress: Progress) -> None:
        self._done = 0
        self._total = total
        self._progress = progress

    def add(self, count: int) -> None:
        """Count bytes just read."""
        self._done += count
        self._progress(min(self._done, self._total), self._total)


def chunks(stream: IO[bytes], meter: Meter) -> Iterator[bytes]:
    """Yield a part in pieces of at most `CHUNK_BYTES`, counting them.

    Raises:
        LocalError: `IMPORT_REFUSED`, if the medium fails.
    """
    while True:
        try:
            chunk = stream.read(CHUNK_BYTES)
        except OSError as error:
            raise refuse("The file cannot be read to its end.") from error
        if not chunk:
            return
        meter.add(len(chunk))
        yield chunk
