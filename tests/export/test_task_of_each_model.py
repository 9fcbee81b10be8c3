import keras
import pytest

from keras_attn.export.tasks import registry
from keras_attn.models.bert.heads import HEADS
from tests.export import texts

TASKS_BY_HEAD = {
    None: "TextEmbedding",
    "masked_lm": "MaskFilling",
    "next_sentence": "TextClassification",
    "pretraining": "MaskFilling",
    "classification": "TextClassification",
    "regression": "TextRegression",
    "token_classification": "TokenClassification",
    "span": "QuestionAnswering",
}


@pytest.mark.parametrize("head", HEADS)
def test_a_bert_is_served_by_its_head(head):
    needs_classes = head in ("classification", "token_classification")
    model = texts.bert(head, num_classes=3 if needs_classes else None)
    task = registry.for_model(model, tokenizer=texts.tokenizer(), max_length=8)
    assert type(task).__name__ == TASKS_BY_HEAD[head]


def test_a_functional_model_is_served_by_its_input():
    image = keras.Input((4, 3, 1))
    flat = keras.layers.Flatten()(image)
    task = registry.for_model(keras.Model(image, flat), value_range=(0, 255))
    assert type(task).__name__ == "ImageClassification"
    task = registry.for_model(keras.Model(image, image + 1))
    assert type(task).__name__ == "FunctionalPrediction"
