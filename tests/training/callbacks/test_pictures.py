import pathlib
import sys

import keras
import pytest
import tensorflow as tf
from matplotlib.figure import Figure

from keras_attn.training import Pictures
from tests.training.callbacks.runs import run

PNG = b"\x89PNG\r\n\x1a\n"


def draw(model):
    """The kernel of the model, 2 × 1, as 20 × 40 pixels."""
    figure = Figure(figsize=(0.2, 0.4), dpi=100)
    axes = figure.add_axes((0, 0, 1, 1))
    axes.imshow(model.layers[-1].kernel.numpy())
    return figure


def names(folder):
    return sorted(path.name for path in folder.iterdir())


def read_events(folder):
    """(step, tag, strings, plugin) of all that TensorBoard would read."""
    (path,) = folder.glob("events.*")
    found = []
    for record in tf.data.TFRecordDataset(str(path)).as_numpy_iterator():
        event = tf.compat.v1.Event.FromString(record)
        for value in event.summary.value:
            plugin = value.metadata.plugin_data.plugin_name
            strings = list(value.tensor.string_val)
            found.append((event.step, value.tag, strings, plugin))
    return found


def test_each_kth_epoch_leaves_a_png(tmp_path):
    folder = tmp_path / "new" / "folder"
    run(Pictures(draw, folder, every=2), epochs=5)
    assert names(folder) == ["epoch_0002.png", "epoch_0004.png"]
    for path in folder.iterdir():
        assert path.read_bytes().startswith(PNG)
        assert tf.io.decode_png(path.read_bytes()).shape == (40, 20, 4)


def test_several_figures_have_their_names(tmp_path):
    def both(model):
        return {"kernel": draw(model), "again": draw(model)}

    run(Pictures(both, tmp_path))
    wanted = ["again_epoch_0001.png", "kernel_epoch_0001.png"]
    assert names(tmp_path) == wanted


def test_it_draws_the_model_that_is_trained(tmp_path):
    models = []
    noting = keras.callbacks.LambdaCallback()
    run(Pictures(lambda m: models.append(m) or draw(m), tmp_path), noting)
    assert models == [noting.model]


def test_tensorboard_gets_the_same_pictures(tmp_path):
    run(Pictures(draw, tmp_path, tensorboard=True), epochs=2)
    events = read_events(tmp_path)
    assert [event[0] for event in events] == [0, 1]
    for epoch, (_, tag, strings, plugin) in enumerate(events, 1):
        file = tmp_path / f"epoch_{epoch:04}.png"
        assert (tag, plugin) == ("picture", "images")
        assert strings == [b"20", b"40", file.read_bytes()]


def test_tensorboard_may_have_a_folder_of_its_own(tmp_path):
    logs = tmp_path / "logs"
    named = Pictures(
        lambda model: {"kernel": draw(model)},
        tmp_path / "files",
        tensorboard=str(logs),
    )
    run(named)
    assert [event[1] for event in read_events(logs)] == ["kernel"]
    assert names(tmp_path / "files") == ["kernel_epoch_0001.png"]


def test_pyplots_figures_are_closed(tmp_path, monkeypatch):
    monkeypatch.setenv("MPLBACKEND", "agg")
    from matplotlib import pyplot

    before = pyplot.get_fignums()
    run(Pictures(lambda model: pyplot.figure(figsize=(1, 1)), tmp_path))
    assert names(tmp_path) == ["epoch_0001.png"]
    assert pyplot.get_fignums() == before


def test_figures_are_emptied(tmp_path):
    figures = []
    run(Pictures(lambda m: figures.append(draw(m)) or figures[-1], tmp_path))
    assert figures[0].axes == []


def test_an_interrupted_save_leaves_no_file(tmp_path, monkeypatch):
    def half(path, content):
        with path.open("wb") as file:
            file.write(content[: len(content) // 2])
        raise KeyboardInterrupt

    monkeypatch.setattr(pathlib.Path, "write_bytes", half)
    with pytest.raises(KeyboardInterrupt):
        run(Pictures(draw, tmp_path))
    assert names(tmp_path) == []


def test_a_failed_save_keeps_the_older_picture(tmp_path, monkeypatch):
    (tmp_path / "epoch_0001.png").write_bytes(b"older")

    def full(path, content):
        path.touch()
        raise OSError("no space left")

    monkeypatch.setattr(pathlib.Path, "write_bytes", full)
    with pytest.warns(UserWarning, match="Pictures could not write .*no space"):
        losses = run(Pictures(draw, tmp_path), epochs=3)["loss"]
    assert len(losses) == 3
    assert names(tmp_path) == ["epoch_0001.png"]
    assert (tmp_path / "epoch_0001.png").read_bytes() == b"older"


def test_a_folder_that_cannot_be_ends_no_training(tmp_path):
    (tmp_path / "file").touch()
    callback = Pictures(draw, tmp_path / "file" / "x", tensorboard=True)
    with pytest.warns(UserWarning, match="could not write"):
        assert len(run(callback, epochs=2)["loss"]) == 2


@pytest.mark.parametrize(
    ("drawn", "complaint"),
    [
        (None, "a matplotlib figure"),
        ({"a": None}, "a matplotlib figure"),
        ({"a/b": Figure()}, "a file's name"),
        ({"..\\b": Figure()}, "a file's name"),
        ({"": Figure()}, "a file's name"),
        ({1: Figure()}, "a file's name"),
    ],
)
def test_what_is_no_named_figure_is_refused(tmp_path, drawn, complaint):
    with pytest.raises(ValueError, match=complaint):
        run(Pictures(lambda model: drawn, tmp_path))


def test_what_draw_raises_is_not_hidden(tmp_path):
    def fails(model):
        raise ArithmeticError("of its own")

    with pytest.raises(ArithmeticError, match="of its own"):
        run(Pictures(fails, tmp_path))


def test_it_imports_no_matplotlib_of_its_own():
    module = sys.modules["keras_attn.training.callbacks.pictures"]
    assert not any(name.startswith("matplotlib") for name in vars(module))
