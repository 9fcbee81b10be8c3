import os

import numpy as np
import pytest

from keras_attn.training.resuming import checkpoint_file
from keras_attn.training.resuming.folder import CheckpointFolder


def names(folder):
    return sorted(path.name for path in folder.path.iterdir())


def save(folder, step, **options):
    folder.save(step, {"step": step}, [np.ones(2)], **options)


@pytest.fixture
def folder(tmp_path):
    folder = CheckpointFolder(tmp_path / "new" / "folder", keep=2)
    folder.prepare()
    return folder


def test_the_last_ones_are_kept(folder):
    # By number: as text 10 is less than 9.
    for step in (8, 9, 10**8, 10**8 + 1):
        save(folder, step)
    assert names(folder) == ["step-100000000.state", "step-100000001.state"]
    assert folder.newest()[1] == {"step": 10**8 + 1}


@pytest.mark.parametrize("can_link", [True, False])
def test_the_best_is_kept_beside_them(folder, can_link, monkeypatch):
    def fail(*_):
        raise OSError("no links here")

    if not can_link:
        monkeypatch.setattr(os, "link", fail)
    for step in range(5):
        save(folder, step, is_best=step in (0, 1))
    assert names(folder) == [
        "best.state",
        "step-00000003.state",
        "step-00000004.state",
    ]
    header, _ = checkpoint_file.read(folder.path / "best.state")
    assert header == {"step": 1}


def test_a_step_may_be_saved_twice(folder):
    save(folder, 3, is_best=True)
    folder.save(3, {"step": "later"}, [], is_best=True)
    assert names(folder) == ["best.state", "step-00000003.state"]
    assert folder.newest()[1] == {"step": "later"}


def test_a_damaged_one_is_reported_and_passed_over(folder):
    for step in (1, 2):
        save(folder, step)
    folder.path_of(2).write_bytes(b"")
    with pytest.warns(UserWarning, match="00000002.state is not a checkpoint"):
        path, header, arrays = folder.newest()
    assert (path, header) == (folder.path_of(1), {"step": 1})
    np.testing.assert_array_equal(arrays, [np.ones(2)])


def test_it_does_not_begin_anew_if_all_are_damaged(folder):
    save(folder, 1)
    folder.path_of(1).write_bytes(b"")
    with (
        pytest.warns(UserWarning, match="passed over"),
        pytest.raises(ValueError, match=r"No checkpoint in .* can be read"),
    ):
        folder.newest()


def test_an_empty_folder_has_none(folder):
    assert folder.newest() is None


def test_what_a_killed_run_has_left_is_removed(folder):
    save(folder, 1)
    (folder.path / "step-00000002.state.part").write_bytes(b"half")
    assert folder.newest()[1] == {"step": 1}
    folder.prepare()
    assert names(folder) == ["step-00000001.state"]
