import pathlib
import warnings

import pytest
import tensorflow as tf

from keras_attn.training.callbacks.periodic import Periodic
from tests.training.callbacks.runs import run


class Note(Periodic):
    def __init__(self, every=1):
        super().__init__(every)
        self.epochs = []

    def report(self, epoch, logs):
        self.epochs.append(epoch)
        logs["noted"] = float(epoch)


def test_it_reports_at_the_end_of_every_kth_epoch():
    every, second, third = Note(1), Note(2), Note(3)
    run(every, second, third, epochs=5)
    assert every.epochs == [1, 2, 3, 4, 5]
    assert second.epochs == [2, 4]
    assert third.epochs == [3]


def test_epochs_before_a_resumed_run_count():
    note = Note(2)
    run(note, epochs=4, initial_epoch=1)
    assert note.epochs == [2, 4]


def test_history_sees_what_is_put_into_the_logs():
    assert run(Note(2), epochs=5)["noted"] == [2.0, 4.0]


@pytest.mark.parametrize("every", [0, -1, 1.5, True, "1"])
def test_every_must_be_a_number_of_epochs(every):
    with pytest.raises(ValueError, match="`every` must be an integer"):
        Note(every)


def test_text_is_added_to_a_file_in_a_new_folder(tmp_path):
    path = tmp_path / "new" / "notes.txt"
    Note().append(path, "première\n")
    Note().append(path, "deuxième\n")
    assert path.read_bytes().decode() == "première\ndeuxième\n"


def test_what_cannot_be_written_is_warned_of_once(tmp_path):
    note = Note()
    # A folder cannot be appended to.
    with pytest.warns(UserWarning, match="Note could not write .*goes on"):
        note.append(tmp_path, "a")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        note.append(tmp_path, "b")


def test_tensorflows_errors_of_files_are_warned_of_too():
    path = pathlib.Path("events")
    with pytest.warns(UserWarning, match="could not write events: no space"):
        with Note().may_fail(path):
            raise tf.errors.ResourceExhaustedError(None, None, "no space")


def test_other_errors_are_not_hidden():
    with pytest.raises(KeyError), Note().may_fail(pathlib.Path("x")):
        raise KeyError("x")


def test_a_subclass_says_what_is_reported():
    with pytest.raises(NotImplementedError):
        Periodic(1).on_epoch_end(0, {})
