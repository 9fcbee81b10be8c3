import pytest

from keras_attn.export.tasks.labelled_task import LabelledTask
from keras_attn.export.tasks.text_classification import TextClassification
from keras_attn.export.tasks.token_classification import TokenClassification
from tests.export import texts


@pytest.mark.parametrize("task", [TextClassification, TokenClassification])
def test_there_is_a_name_for_each_class(task):
    assert issubclass(task, LabelledTask)
    model = texts.bert(task.HEADS[0], num_classes=3)
    with pytest.raises(ValueError, match=r"2 `labels`"):
        task(model, tokenizer=texts.tokenizer(), labels=["a", "b"])
