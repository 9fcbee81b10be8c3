import os
import stat
import subprocess
import sys
import threading

import numpy as np
import pytest

from keras_attn.export.bundle import versions
from keras_attn.export.bundle.versions import find_version
from keras_attn.export.bundle.versions import list_versions
from keras_attn.export.bundle.versions import new_version
from keras_attn.export.bundle.versions import newest_version


def write(folder, version=None, text="text"):
    writer = new_version(folder, version)
    with writer as partial:
        (partial / "variables").mkdir()
        (partial / "variables" / "weights").write_text(text)
        (partial / "saved_model.pb").write_text(text)
    return writer.path


def names(folder):
    return sorted(path.name for path in folder.iterdir())


def test_versions_count_up_from_one(tmp_path):
    folder = tmp_path / "models" / "translator"
    assert write(folder) == folder / "1"
    assert write(folder, 7) == folder / "7"
    assert write(folder) == folder / "8"
    assert names(folder) == ["1", "7", "8"]
    assert (folder / "8" / "variables" / "weights").read_text() == "text"


def test_nothing_has_a_number_before_the_block_ends(tmp_path):
    with new_version(tmp_path) as partial:
        (partial / "saved_model.pb").touch()
        assert not list_versions(tmp_path)
        (name,) = names(tmp_path)
        assert partial == tmp_path / name
        with pytest.raises(ValueError):
            int(name)
    assert names(tmp_path) == ["1"]


def test_everything_is_on_the_disk_before_the_rename(tmp_path, monkeypatch):
    order = []
    fsync, rename = os.fsync, versions._rename
    monkeypatch.setattr(
        os,
        "fsync",
        lambda file: (
            order.append(os.readlink(f"/proc/self/fd/{file}")),
            fsync(file),
        ),
    )
    monkeypatch.setattr(
        versions,
        "_rename",
        lambda *paths: (order.append("rename"), rename(*paths)),
    )
    write(tmp_path)
    order = [place.rpartition("/")[2] for place in order]
    before = order[: order.index("rename")]
    assert {"weights", "variables", "saved_model.pb"} < set(before)
    assert before[-1].startswith(".partial-")
    assert order[-2:] == ["rename", tmp_path.name]


def test_a_version_is_never_overwritten(tmp_path):
    write(tmp_path, 3, "old")
    with pytest.raises(FileExistsError, match=r"has a version 3 .* get 4"):
        with new_version(tmp_path, 3):
            pytest.fail("it should not have begun")
    assert (tmp_path / "3" / "saved_model.pb").read_text() == "old"
    assert names(tmp_path) == ["3"]


@pytest.mark.parametrize("can_rename_safely", [True, False])
@pytest.mark.parametrize("kind", ["full", "empty", "file"])
def test_a_version_that_appears_meanwhile_is_not_overwritten(
    tmp_path, monkeypatch, can_rename_safely, kind
):
    if not can_rename_safely:
        monkeypatch.setattr(versions.ctypes, "CDLL", lambda *_, **__: object())
    with pytest.raises(FileExistsError, match="has a version 3"):
        with new_version(tmp_path, 3) as partial:
            (partial / "saved_model.pb").write_text("late")
            if kind == "file":
                (tmp_path / "3").write_text("quick")
            else:
                (tmp_path / "3").mkdir()
            if kind == "full":
                (tmp_path / "3" / "saved_model.pb").write_text("quick")
    assert names(tmp_path) == ["3"]
    if kind == "empty":
        assert not names(tmp_path / "3")


@pytest.mark.parametrize("can_rename_safely", [True, False])
def test_without_a_number_the_later_writer_gets_the_next(
    tmp_path, monkeypatch, can_rename_safely
):
    if not can_rename_safely:
        monkeypatch.setattr(versions.ctypes, "CDLL", lambda *_, **__: object())
    late = new_version(tmp_path)
    with late:
        assert write(tmp_path).name == "1"
    assert late.path.name == "2"


def test_a_file_in_the_way_is_an_error_and_not_a_loop(tmp_path):
    (tmp_path / "1").touch()
    with pytest.raises(FileExistsError):
        write(tmp_path)
    assert names(tmp_path) == ["1"]


def test_writers_at_once_get_a_version_each(tmp_path):
    barrier = threading.Barrier(8)

    def work():
        with new_version(tmp_path) as partial:
            (partial / "saved_model.pb").touch()
            barrier.wait(timeout=30)

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert list(list_versions(tmp_path)) == list(range(1, 9))
    assert len(names(tmp_path)) == 8


@pytest.mark.parametrize("error", [OSError(28, "No space"), KeyboardInterrupt])
def test_what_a_failing_writer_wrote_is_removed(tmp_path, error):
    write(tmp_path, text="old")
    with pytest.raises((OSError, KeyboardInterrupt)):
        with new_version(tmp_path) as partial:
            (partial / "saved_model.pb").touch()
            raise error
    assert names(tmp_path) == ["1"]
    assert (tmp_path / "1" / "saved_model.pb").read_text() == "old"


def test_a_disk_that_fails_at_the_end_leaves_nothing(tmp_path, monkeypatch):
    def fail(file):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", fail)
    with pytest.raises(OSError, match="No space left"):
        write(tmp_path)
    assert not names(tmp_path)


def other_writer(folder):
    """A process that writes until its standard input ends."""
    script = (
        "import runpy, sys\n"
        f"versions = runpy.run_path({versions.__file__!r})\n"
        "with versions['new_version'](sys.argv[1]) as partial:\n"
        "    (partial / 'saved_model.pb').touch()\n"
        "    print('writing', flush=True); sys.stdin.read()\n"
    )
    process = subprocess.Popen(
        [sys.executable, "-c", script, str(folder)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    assert process.stdout.readline() == b"writing\n"
    return process


def test_only_what_killed_writers_left_is_removed(tmp_path):
    with other_writer(tmp_path) as living, other_writer(tmp_path) as killed:
        assert len(names(tmp_path)) == 2
        killed.kill()
        killed.wait()
        assert len(names(tmp_path)) == 2
        assert write(tmp_path).name == "1"
        kept, published = names(tmp_path)
        assert kept.startswith(".partial-") and published == "1"
        living.stdin.close()
        assert living.wait(timeout=60) == 0
    assert names(tmp_path) == ["1", "2"]


def test_without_locks_only_old_leftovers_are_removed(tmp_path, monkeypatch):
    def fail(*_):
        raise OSError(95, "Operation not supported")

    monkeypatch.setattr(versions.fcntl, "flock", fail)
    for name, time in ((".partial-old", 0), (".partial-new", None)):
        (tmp_path / name).mkdir()
        if time is not None:
            os.utime(tmp_path / name, (time, time))
    assert write(tmp_path).name == "1"
    assert names(tmp_path) == [".partial-new", "1"]


@pytest.mark.parametrize("mask", [0o022, 0o027])
def test_the_folder_may_be_read_as_the_umask_says(tmp_path, mask):
    before = os.umask(mask)
    try:
        path = write(tmp_path)
    finally:
        os.umask(before)
    assert stat.S_IMODE(path.stat().st_mode) == 0o777 & ~mask


def test_only_folders_with_numbers_are_versions(tmp_path):
    for name in ("2", "010", "1.5", "-3", "latest", ".partial-1"):
        (tmp_path / name).mkdir()
    (tmp_path / "99").touch()
    assert list_versions(tmp_path) == {2: tmp_path / "2", 10: tmp_path / "010"}
    assert newest_version(tmp_path) == 10
    assert newest_version(tmp_path / "nowhere") is None


@pytest.mark.parametrize(
    "version", [True, False, np.True_, 1.5, np.float32(2), "3", b"3", [4]]
)
def test_a_version_is_a_whole_number(tmp_path, version):
    with pytest.raises(TypeError, match="`version` must be a whole number"):
        new_version(tmp_path, version)


@pytest.mark.parametrize("version", [-1, 2**63, np.uint64(2**63), 10**30])
def test_a_version_fits_in_the_servers_int64(tmp_path, version):
    with pytest.raises(ValueError, match=f"from 0 to {2**63 - 1}"):
        new_version(tmp_path, version)


@pytest.mark.parametrize(
    "version", [0, 2**63 - 1, np.int32(7), np.uint8(200), np.array(5)]
)
def test_a_version_may_be_any_number_that_the_server_has(tmp_path, version):
    assert write(tmp_path, version).name == str(int(version))


def test_after_the_highest_version_comes_none(tmp_path):
    write(tmp_path, 2**63 - 1)
    with pytest.raises(ValueError, match=r"highest version .* another folder"):
        write(tmp_path)
    assert names(tmp_path) == [str(2**63 - 1)]


def test_a_number_that_no_server_can_read_is_no_version(tmp_path):
    (tmp_path / str(2**63)).mkdir()
    assert not list_versions(tmp_path)
    assert write(tmp_path).name == "1"


def test_a_version_is_found_from_itself_or_from_above(tmp_path):
    path = write(tmp_path)
    newest = write(tmp_path, 12)
    assert find_version(tmp_path) == newest
    assert find_version(path) == path
    with pytest.raises(FileNotFoundError, match="neither a SavedModel nor"):
        find_version(path / "variables")
