"""Versions of a model: written aside, then published whole by one rename."""

import ctypes
import errno
import fcntl
import operator
import os
import pathlib
import re
import secrets
import shutil
import time

_PARTIAL = ".partial-"
# TF Serving keeps a version's number as an int64.
_MOST = 2**63 - 1
# Where there are no locks, only age tells that a writer is gone.
_SECONDS_OF_A_WRITER = 24 * 60 * 60
_RENAME_NOREPLACE = 1
_AT_CURRENT_FOLDER = -100


def new_version(
    folder: str | pathlib.Path, version: int | None = None
) -> "_NewVersion":
    """Write a version that appears whole or not at all.

        writer = new_version(folder)
        with writer as partial:
            ...  # write files into the folder `partial`
        print(writer.path)

    TF Serving takes each folder with a number for its name at once. So the
    files are written to a hidden folder beside it, brought to the disk when
    the block ends, and renamed in one step that never replaces anything. If
    the block raises, what it wrote is removed. What a killed writer left is
    removed by the next one.

    Args:
        folder: Where the versions of the model are; made if missing.
        version: The number, from 0 to 2⁶³ - 1; None for one more than the
            newest, or than the one that another writer publishes meanwhile.

    Returns:
        A context manager that gives the folder to write to, and has the
        published folder as `path` afterwards.

    Raises:
        TypeError: If `version` is no whole number; True and False are none.
        ValueError: If it is none that TF Serving can have.
        FileExistsError: If there is such a version, at once or, if another
            writer was quicker, at the end.
    """
    return _NewVersion(pathlib.Path(folder), version)


def list_versions(folder: str | pathlib.Path) -> dict[int, pathlib.Path]:
    """Find the folders that TF Serving would take for versions, by number."""
    folder = pathlib.Path(folder)
    if not folder.is_dir():
        return {}
    return dict(
        sorted(
            (int(path.name), path)
            for path in folder.iterdir()
            if re.fullmatch("[0-9]+", path.name)
            and int(path.name) <= _MOST
            and path.is_dir()
        )
    )


def newest_version(folder: str | pathlib.Path) -> int | None:
    """The highest version's number, or None if there is none."""
    return max(list_versions(folder), default=None)


def find_version(path: str | pathlib.Path) -> pathlib.Path:
    """Find a version's folder from it or from the folder above.

    Args:
        path: A SavedModel, or a folder of versions, of which the newest is
            taken.

    Raises:
        FileNotFoundError: If there is neither.
    """
    path = pathlib.Path(path)
    if (path / "saved_model.pb").is_file():
        return path
    found = list_versions(path)
    if not found:
        raise FileNotFoundError(
            f"{path} is neither a SavedModel nor a folder of versions "
            "(1, 2, ...). Give the folder that `export_model` wrote to."
        )
    return found[max(found)]


class _NewVersion:
    """The context manager of `new_version`."""

    def __init__(self, folder, version):
        self.folder = folder
        self.version = None if version is None else _number(version)
        self.path = None

    def __enter__(self):
        self.folder.mkdir(parents=True, exist_ok=True)
        if self.version in list_versions(self.folder):
            raise self._taken()
        if self.version is None:
            self._next()  # fails before anything is written
        _remove_abandoned(self.folder)
        self._partial, self._lock = _make_partial(self.folder)
        return self._partial

    def __exit__(self, kind, error, trace):
        try:
            if kind is None:
                _flush(self._partial)
                self.path = self._publish()
                _flush_one(self.folder)
        finally:
            if self.path is None:
                shutil.rmtree(self._partial, ignore_errors=True)
            os.close(self._lock)

    def _publish(self):
        while True:
            number = self.version
            if number is None:
                number = self._next()
            path = self.folder / str(number)
            try:
                _rename(self._partial, path)
                return path
            except FileExistsError:
                if self.version is not None:
                    raise self._taken() from None
                # Another writer was quicker, or a file has that name.
                if (newest_version(self.folder) or 0) < number:
                    raise

    def _next(self):
        newest = newest_version(self.folder) or 0
        if newest == _MOST:
            raise ValueError(
                f"{self.folder} has the highest version that there can be, "
                f"{newest}. Export to another folder."
            )
        return newest + 1

    def _taken(self):
        newest = newest_version(self.folder) or 0
        return FileExistsError(
            f"{self.folder} has a version {self.version} already, and a "
            "version is never overwritten: a server may be using it. "
            f"Pass `version=None` to get {newest + 1}."
        )


def _number(version):
    """The number of a version that was asked for."""
    try:
        # Python takes True for 1.
        number = None if isinstance(version, bool) else operator.index(version)
    except TypeError:
        number = None
    if number is None:
        raise TypeError(
            "`version` must be a whole number, or None for the next one. "
            f"Received: version={version!r}"
        )
    if not 0 <= number <= _MOST:
        raise ValueError(
            f"`version` must be from 0 to {_MOST}, because TF Serving keeps "
            f"it as an int64. Received: version={number}"
        )
    return number


def _make_partial(folder):
    """Make a folder that is locked as long as this process lives."""
    while True:
        # Not `tempfile`, whose folders other users may not read: the server
        # often is another user.
        path = folder / f"{_PARTIAL}{secrets.token_hex(8)}"
        path.mkdir()
        try:
            lock = os.open(path, os.O_RDONLY)
        except FileNotFoundError:
            continue
        _lock(lock, fcntl.LOCK_EX)
        # Before it was locked, another writer may have taken it for abandoned.
        if path.exists():
            return path, lock
        os.close(lock)


def _remove_abandoned(folder):
    for path in folder.glob(f"{_PARTIAL}*"):
        try:
            lock = os.open(path, os.O_RDONLY)
        except FileNotFoundError:
            continue
        try:
            age = time.time() - os.fstat(lock).st_mtime
            if (
                _lock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                or age > _SECONDS_OF_A_WRITER
            ):
                shutil.rmtree(path, ignore_errors=True)
        except BlockingIOError:
            pass  # its writer lives
        finally:
            os.close(lock)


def _lock(file, kind):
    """Lock a file; say whether its file system has locks."""
    try:
        fcntl.flock(file, kind)
    except BlockingIOError:
        raise
    except OSError:
        return False
    return True


def _flush(folder):
    """Bring all that is in a folder to the disk."""
    for place, _, names in os.walk(folder, topdown=False):
        for name in (*names, ""):
            _flush_one(os.path.join(place, name))


def _flush_one(path):
    file = os.open(path, os.O_RDONLY)
    try:
        os.fsync(file)
    finally:
        os.close(file)


def _rename(source, target):
    """Rename a folder, or raise FileExistsError."""
    # `os.rename` would replace an empty folder, perhaps one that another
    # program is about to fill.
    libc = ctypes.CDLL(None, use_errno=True)
    if hasattr(libc, "renameat2"):
        failed = libc.renameat2(
            *(_AT_CURRENT_FOLDER, os.fsencode(source)),
            *(_AT_CURRENT_FOLDER, os.fsencode(target)),
            _RENAME_NOREPLACE,
        )
        code = ctypes.get_errno()
        if not failed:
            return
        # These say that the system or the file system cannot do it.
        if code not in (errno.ENOSYS, errno.EINVAL):
            raise OSError(code, os.strerror(code), os.fspath(target))
    folder = os.open(os.path.dirname(target), os.O_RDONLY)
    try:
        _lock(folder, fcntl.LOCK_EX)  # against our own kind, at least
        if os.path.lexists(target):
            raise FileExistsError(errno.EEXIST, "It exists", os.fspath(target))
        os.rename(source, target)
    finally:
        os.close(folder)
