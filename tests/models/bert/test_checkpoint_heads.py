import numpy as np
import pytest

from keras_attn import models
from tests.models import folders

UNITS = folders.UNITS


def write(folder, name, rows, problem=None, tensor="classifier"):
    return folders.write(
        folder,
        folders.bert,
        settings={"architectures": [name], "problem_type": problem},
        more={f"{tensor}.weight": (rows, UNITS), f"{tensor}.bias": (rows,)},
    )


@pytest.mark.parametrize(
    ("rows", "problem", "head"),
    [
        (1, None, "regression"),
        (1, "regression", "regression"),
        (1, "multi_label_classification", "classification"),
        (3, "single_label_classification", "classification"),
        (3, "multi_label_classification", "classification"),
    ],
)
def test_one_output_is_a_number_unless_said_otherwise(
    rows, problem, head, tmp_path
):
    write(tmp_path, "BertForSequenceClassification", rows, problem)
    assert models.from_huggingface(tmp_path).config["head"] == head


def test_several_numbers_are_refused(tmp_path):
    write(tmp_path, "BertForSequenceClassification", 3, "regression")
    with pytest.raises(ValueError, match=r"config.json has problem_type=.* 3"):
        models.from_huggingface(tmp_path)


def test_both_ends_of_a_span_are_read_from_one_tensor(tmp_path):
    tensors = write(
        tmp_path, "BertForQuestionAnswering", 2, tensor="qa_outputs"
    )
    model = models.from_huggingface(tmp_path)
    assert model.config["head"] == "span"
    for row, name in enumerate(("span_start", "span_end")):
        kernel, bias = model.get_layer(name).weights
        np.testing.assert_array_equal(
            kernel, tensors["qa_outputs.weight"][row, :, None]
        )
        np.testing.assert_array_equal(
            bias, tensors["qa_outputs.bias"][row : row + 1]
        )


def test_a_span_has_two_ends(tmp_path):
    write(tmp_path, "BertForQuestionAnswering", 3, tensor="qa_outputs")
    with pytest.raises(ValueError, match=r"'qa_outputs.weight' .* has 3 rows"):
        models.from_huggingface(tmp_path)


def test_a_span_that_the_folder_lacks_starts_anew(tmp_path):
    folders.write(tmp_path, folders.bert)
    model = models.from_huggingface(tmp_path, head="span")
    assert model.get_layer("span_end").weights[0].numpy().any()
