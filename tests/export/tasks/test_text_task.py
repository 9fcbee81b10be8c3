import keras
import numpy as np
import pytest
import tensorflow as tf

from keras_attn.export.tasks.mask_filling import MaskFilling
from keras_attn.export.tasks.question_answering import QuestionAnswering
from keras_attn.export.tasks.text_classification import TextClassification
from keras_attn.export.tasks.text_embedding import TextEmbedding
from tests.export import texts


def test_a_signature_takes_strings_and_has_examples_for_them():
    task = TextEmbedding(texts.bert(), tokenizer=texts.tokenizer())
    for signature, names in zip(
        task.signatures(), (["text"], ["text", "text_pair"]), strict=True
    ):
        assert list(signature.inputs) == names
        for name, spec in signature.inputs.items():
            assert spec == tf.TensorSpec([None], tf.string, name)
        one, several = signature.examples
        assert one.keys() == several.keys() == set(names)
        answer = signature.function(**one)
        assert answer["valid"].numpy().tolist() == [True]
        answer = signature.function(**several)
        assert set(answer["valid"].numpy()) == {True, False}
        assert True in answer["truncated"].numpy()


def test_fewer_tokens_are_read_if_asked_for():
    task = TextEmbedding(
        texts.bert(), tokenizer=texts.tokenizer(), max_length=5
    )
    embed, _ = task.signatures()
    answer = embed.function(text=tf.constant(["a a a", "a a a a"]))
    assert answer["truncated"].numpy().tolist() == [False, True]


@pytest.mark.slow
@pytest.mark.parametrize("head", ["classification", "masked_lm", "span"])
def test_compiled_twins_answer_the_same(head):
    kind = {
        "classification": TextClassification,
        "masked_lm": MaskFilling,
        "span": QuestionAnswering,
    }[head]
    options = {"num_classes": 3} if head == "classification" else {}
    task = kind(
        texts.bert(head, **options), tokenizer=texts.tokenizer(), xla=True
    )
    signatures = task.signatures()
    plain, twins = signatures[::2], signatures[1::2]
    for signature, twin in zip(plain, twins, strict=True):
        assert twin.name == f"{signature.name}_xla"
        assert twin.compiled and not signature.compiled
        for example in signature.examples:
            expected = signature.function(**example)
            answer = tf.function(twin.function)(**example)
            assert answer.keys() == expected.keys()
            for name, output in answer.items():
                if output.dtype.is_floating:
                    np.testing.assert_allclose(
                        output, expected[name], atol=1e-5
                    )
                else:
                    np.testing.assert_array_equal(output, expected[name])


def test_weights_are_kept_once():
    model = texts.bert()
    task = TextEmbedding(model, tokenizer=texts.tokenizer())
    assert len(task.variables) == len(model.variables)


@pytest.mark.parametrize(
    ("model", "settings", "complaint"),
    [
        ({}, {"tokenizer": None}, "tokenizer that it was trained with"),
        ({"vocabulary_size": 15}, {}, "15 ids, and the tokenizer one of 16"),
        ({"pad_id": None}, {}, "pad_id=None"),
        ({"pad_id": 1}, {}, "pad_id=1 in the model, 0 in the tokenizer"),
        ({}, {"max_length": 10}, "learned 9 positions"),
        ({"head": "masked_lm"}, {}, "head='masked_lm'"),
    ],
)
def test_what_does_not_fit_is_refused(model, settings, complaint):
    settings = {"tokenizer": texts.tokenizer(), **settings}
    with pytest.raises(ValueError, match=complaint):
        TextEmbedding(texts.bert(**model), **settings)


def test_another_model_is_refused():
    model = keras.Sequential([keras.Input((2,)), keras.layers.Dense(3)])
    assert not TextEmbedding.accepts(model)
    with pytest.raises(ValueError, match="Received: Sequential"):
        TextEmbedding(model, tokenizer=texts.tokenizer())


def test_a_model_may_have_more_ids_than_its_tokenizer():
    model = texts.bert(vocabulary_size=18)
    task = TextEmbedding(model, tokenizer=texts.tokenizer())
    assert task.pairs.tokenizer.vocabulary_size == 16
