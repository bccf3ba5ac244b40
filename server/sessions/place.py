"""A folder of files on the local disk or behind any URL that fsspec knows."""

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO, cast

import fsspec
from fsspec.implementations.local import LocalFileSystem

from server.recording.whole_files import PART, PRIVATE_FOLDER, settle

READ_BLOCK = 1 << 18  # what one range request brings from an object store


class StorageFailed(OSError):
    """The storage cannot be used; the message is a sentence for people."""


@dataclass(frozen=True, slots=True)
class Stat:
    size: int
    mark: str  # differs once the file was written again


@dataclass(frozen=True, slots=True)
class Place:
    """Names in it are relative, with slashes; whoever makes one has checked its parts."""

    files: Any  # an fsspec file system
    root: str
    local: Path | None  # the folder, if it is on this machine

    @classmethod
    def at(cls, url: str | Path) -> "Place":
        try:
            # Others write there, too: a remembered listing would be wrong.
            files, root = fsspec.url_to_fs(str(url), use_listings_cache=False)
        except ImportError as error:  # fsspec says which
            raise StorageFailed(f"'{_shown(url)}' needs one more package: {error}") from None
        except ValueError as error:
            raise StorageFailed(f"'{_shown(url)}' is no place for sessions: {error}") from None
        local = Path(root) if isinstance(files, LocalFileSystem) else None
        return cls(files, root.rstrip("/"), local)

    def read(self, name: str) -> bytes:
        """All of a small file; FileNotFoundError where there is none."""
        with _failures_named():
            return cast(bytes, self.files.cat_file(self._path(name)))

    def write(self, name: str, data: bytes) -> None:
        """The whole file at once: a reader sees the old one or the new one."""
        with _failures_named():
            if self.local is None:
                self.files.pipe_file(self._path(name), data)
            else:
                _replace(self.local / name, data)

    def open(self, name: str) -> BinaryIO:
        """For reading, seekable; from an object store only the ranges that are read come over."""
        with _failures_named():
            if self.local is not None:
                return (self.local / name).open("rb")
            how = {"block_size": READ_BLOCK, "cache_type": "blockcache"}
            return cast(BinaryIO, self.files.open(self._path(name), "rb", **how))

    def remove(self, name: str) -> bool:
        """Whether there was such a file."""
        with _failures_named():
            try:
                if self.local is not None:
                    (self.local / name).unlink()
                    return True
                there = bool(self.files.exists(self._path(name)))
                if there:
                    self.files.rm_file(self._path(name))
                return there
            except FileNotFoundError:
                return False

    def exists(self, name: str) -> bool:
        with _failures_named():
            return bool(self.files.exists(self._path(name)))

    def stats(self, under: str) -> dict[str, Stat]:
        """All files below a folder, by their names in it."""
        with _failures_named():
            if self.local is not None:
                return dict(_local_stats(self.local / under))
            folder = self._path(under)
            # What tells two versions apart goes by several names.
            found = self.files.find(folder, detail=True)
            return {
                name[len(folder) + 1 :]: Stat(
                    info["size"] or 0,
                    str(info.get("ETag") or info.get("mtime") or info.get("created") or ""),
                )  # fmt: skip
                for name, info in found.items()
            }

    def folders(self, under: str = "") -> list[str]:
        """The names of the folders directly in one."""
        with _failures_named():
            try:
                found = self.files.ls(self._path(under), detail=True)
            except (FileNotFoundError, NotADirectoryError):
                return []
            return sorted(
                each["name"].rstrip("/").rsplit("/", 1)[-1]
                for each in found
                if each["type"] == "directory"
            )

    def take(self, path: Path, name: str) -> None:
        """Copy a local file here."""
        with _failures_named():
            self.files.put_file(str(path), self._path(name))

    def give(self, name: str, path: Path) -> None:
        """Copy a file from here to a local path."""
        with _failures_named():
            self.files.get_file(self._path(name), str(path))

    def forget_versions(self, folder: str) -> bool:
        """Remove what a bucket that keeps versions still has of files overwritten or removed.

        False if it would not say whether there is any.
        """
        if "s3" not in self.files.protocol:
            return True
        bucket, key, _ = self.files.split_path(self._path(folder))
        try:
            with _failures_named():
                while stale := _stale_versions(self.files, bucket, f"{key}/"):
                    for each in stale:
                        self.files.call_s3("delete_object", Bucket=bucket, **each)
        except (PermissionError, NotImplementedError, StorageFailed):
            return False
        return True

    def prune(self, folder: str) -> None:
        """Remove a folder that is empty; an object store has none."""
        if self.local is not None:
            with suppress(OSError):
                (self.local / folder).rmdir()

    def shown(self, name: str) -> str:
        """Where a file lies, as one would tell a person."""
        if self.local is not None:
            return str(self.local / name)
        return cast(str, self.files.unstrip_protocol(self._path(name)))

    def _path(self, name: str) -> str:
        return f"{self.root}/{name}".rstrip("/")


def _shown(url: str | Path) -> str:
    """Without what may be a password before an @."""
    head, at, tail = str(url).rpartition("@")
    return f"{head.split('://', 1)[0]}://…@{tail}" if at and "://" in head else str(url)


@contextmanager
def _failures_named() -> Iterator[None]:
    """Each storage has its own errors: for callers they are OSErrors all."""
    try:
        yield
    except OSError:
        raise
    except Exception as error:
        raise StorageFailed(f"the storage of sessions failed: {type(error).__name__}") from error


def _stale_versions(files: Any, bucket: str, prefix: str) -> list[dict[str, str]]:
    """The next of them: one page of what the store tells."""
    told = files.call_s3("list_object_versions", Bucket=bucket, Prefix=prefix)
    versions = [each for each in told.get("Versions", []) if not each["IsLatest"]]
    markers = told.get("DeleteMarkers", [])  # that a file was removed: where versions are kept
    return [{"Key": each["Key"], "VersionId": each["VersionId"]} for each in versions + markers]


def _local_stats(folder: Path) -> Iterator[tuple[str, Stat]]:
    for place, _, names in os.walk(folder):
        for name in names:
            path = Path(place, name)
            with suppress(FileNotFoundError):
                found = path.lstat()
                mark = f"{found.st_mtime_ns}.{found.st_ino}"
                yield path.relative_to(folder).as_posix(), Stat(found.st_size, mark)


def _replace(path: Path, data: bytes) -> None:
    path.parent.mkdir(mode=PRIVATE_FOLDER, parents=True, exist_ok=True)
    handle, temporary = tempfile.mkstemp(PART, f".{path.name}.", path.parent)  # mode 0600
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
        settle(Path(temporary), path)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise
