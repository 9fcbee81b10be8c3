import pytest
import tensorflow as tf

from keras_attn.data.pipeline.caching import keep


def numbers_in(path):
    lines = tf.data.TextLineDataset(str(path))
    return lines.map(lambda line: tf.strings.to_number(line, tf.int32))


def read(dataset):
    return list(dataset.as_numpy_iterator())


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "numbers.txt"
    path.write_text("1\n2\n")
    return path


@pytest.mark.parametrize("cache", [None, False])
def test_without_a_cache_examples_are_made_again(cache, file):
    examples = keep(numbers_in(file), cache)
    assert read(examples) == [1, 2]
    file.write_text("3\n4\n")
    assert read(examples) == [3, 4]


def test_memory_keeps_what_was_read_first(file):
    examples = keep(numbers_in(file), True)
    assert read(examples) == [1, 2]
    file.write_text("3\n4\n")
    assert read(examples) == [1, 2]


@pytest.mark.parametrize("kind", [str, lambda path: path], ids=["str", "Path"])
def test_files_are_complete_at_once_and_outlive_the_pipeline(kind, file):
    path = kind(file.parent / "folder" / "cache")
    examples = keep(numbers_in(file), path)
    file.write_text("3\n4\n")
    assert read(examples) == [1, 2]
    assert read(keep(numbers_in(file), path)) == [1, 2]
    names = sorted(f.name for f in (file.parent / "folder").iterdir())
    assert names == ["cache.data-00000-of-00001", "cache.index"]


def test_a_name_alone_is_a_path(file, monkeypatch):
    monkeypatch.chdir(file.parent)
    assert read(keep(numbers_in(file), "cache")) == [1, 2]
    assert (file.parent / "cache.index").exists()


def test_what_is_left_of_a_killed_run_is_not_taken_for_a_cache(file):
    path = file.parent / "cache"
    iterator = iter(numbers_in(file).cache(f"{path}.unfinished"))
    next(iterator)
    (file.parent / "cache.data-00000-of-00001").write_text("half")
    assert read(keep(numbers_in(file), path)) == [1, 2]


def test_no_examples_are_kept_too(tmp_path):
    examples = tf.data.Dataset.range(3).take(0)
    assert read(keep(examples, tmp_path / "cache")) == []


def test_nothing_is_left_of_examples_that_fail(tmp_path):
    wrong = tf.data.Dataset.from_tensor_slices(["1", "x"]).map(
        lambda text: tf.strings.to_number(text, tf.int32)
    )
    with pytest.raises(tf.errors.InvalidArgumentError, match="x"):
        keep(wrong, tmp_path / "cache")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("kind", ["memory", "files"])
def test_examples_without_end_are_refused(kind, tmp_path):
    cache = {"memory": True, "files": tmp_path / "cache"}[kind]
    with pytest.raises(ValueError, match="`repeat` after"):
        keep(tf.data.Dataset.range(3).repeat(), cache)
