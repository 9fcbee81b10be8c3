import pytest

from keras_attn.export.graph.labels import Labels

SCORES = [[[0.1, 0.7, 0.2], [0.5, 0.2, 0.3]]]


def test_the_likeliest_class_is_named():
    labels = Labels(["no", "yes", "é"], num_classes=3)
    assert labels(SCORES).numpy().tolist() == [[b"yes", b"no"]]


def test_without_names_it_is_a_number():
    labels = Labels(None, num_classes=3)
    assert labels(SCORES).numpy().tolist() == [[1, 0]]
    assert labels(SCORES).dtype == "int64"


def test_names_must_be_as_many_as_classes():
    with pytest.raises(ValueError, match=r"3 classes .* 2 `labels`"):
        Labels(["no", "yes"], num_classes=3)
    with pytest.raises(ValueError, match="a list of names"):
        Labels("abc", num_classes=3)
