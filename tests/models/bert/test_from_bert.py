import numpy as np
import pytest

from keras_attn.models.bert.model import BERT
from tests.models import folders
from tests.models import peers

SETTINGS = {
    "plain": {},
    "relu_eps": {"hidden_act": "relu", "layer_norm_eps": 0.01},
    "one_head_more_segments": {
        "num_attention_heads": 1,
        "type_vocab_size": 4,
        "hidden_act": "gelu_new",
        "intermediate_size": 5,
    },
}
HEADS = {
    None: ("BertModel", {"sequence": "last_hidden_state", "pooled": None}),
    "masked_lm": ("BertForMaskedLM", "logits"),
    "next_sentence": ("BertForNextSentencePrediction", "logits"),
    "pretraining": (
        "BertForPreTraining",
        {
            "masked_lm": "prediction_logits",
            "next_sentence": "seq_relationship_logits",
        },
    ),
    "classification": ("BertForSequenceClassification", "logits"),
    "token_classification": ("BertForTokenClassification", "logits"),
    "regression": ("BertForSequenceClassification", "logits"),
    "span": (
        "BertForQuestionAnswering",
        {"start": "start_logits", "end": "end_logits"},
    ),
}


def config_of(**settings):
    return peers.transformers().BertConfig(
        **{
            "vocab_size": 13,
            "hidden_size": 8,
            "num_hidden_layers": 2,
            "num_attention_heads": 2,
            "intermediate_size": 10,
            "max_position_embeddings": 9,
            **settings,
        }
    )


@pytest.mark.peers
@pytest.mark.parametrize("head", HEADS)
@pytest.mark.parametrize("settings", SETTINGS.values(), ids=SETTINGS)
def test_outputs_equal_hugging_face(head, settings, rng, tmp_path):
    name, fields = HEADS[head]
    labels = {"num_labels": {"regression": 1, "span": 2}.get(head, 3)}
    shards = {"max_shard_size": "2KB"} if head == "pretraining" else {}
    config = config_of(**settings, **labels)
    peer = peers.make(name, config, tmp_path, **shards)
    tokens = rng.integers(1, 13, size=(3, 7))
    tokens[1, 4:] = 0
    real = tokens != 0
    segments = rng.integers(0, settings.get("type_vocab_size", 2), size=(3, 7))
    expected = peers.ask(
        peer,
        input_ids=tokens,
        token_type_ids=segments,
        attention_mask=real.astype("int64"),
    )
    model = BERT.from_huggingface(tmp_path, head=head)
    outputs = model({"tokens": tokens, "segments": segments})
    if isinstance(fields, str):
        outputs, fields = {head: outputs}, {head: fields}
    assert outputs.keys() == fields.keys()
    for name, field in fields.items():
        one = outputs[name].numpy()
        two = expected[field or "pooler_output"]
        if one.shape[1] == 7:
            one, two = one[real], two[real]
        np.testing.assert_allclose(one, two, rtol=1e-4, atol=1e-4)


def test_a_head_that_the_folder_has_is_read(tmp_path):
    tensors = folders.write(tmp_path, folders.bert)
    model = BERT.from_huggingface(tmp_path, head="pretraining")
    head = model.get_layer("next_sentence")
    np.testing.assert_array_equal(
        head.kernel, tensors["cls.seq_relationship.weight"].T
    )
    np.testing.assert_array_equal(
        model.get_layer("masked_lm_bias").bias, tensors["cls.predictions.bias"]
    )
    np.testing.assert_array_equal(
        model.encoder.blocks[1].self_attention.key_dense.bias,
        tensors["bert.encoder.layer.1.attention.self.key.bias"].reshape(3, 2),
    )


def test_a_head_that_the_folder_lacks_starts_anew(tmp_path):
    tensors = folders.write(tmp_path, folders.bert)
    model = BERT.from_huggingface(
        tmp_path, head="classification", num_classes=4
    )
    assert not model.get_layer("classification").bias.numpy().any()
    np.testing.assert_array_equal(
        model.pooler.bias, tensors["bert.pooler.dense.bias"]
    )


def test_classes_are_counted_in_the_folder(tmp_path):
    more = {"classifier.weight": (5, 6), "classifier.bias": (5,)}
    folders.write(tmp_path, folders.bert, more=more)
    for head in ("classification", "token_classification"):
        model = BERT.from_huggingface(tmp_path, head=head)
        assert model.get_config()["num_classes"] == 5
    with pytest.raises(ValueError, match=r"'classifier.weight' .* not fit"):
        BERT.from_huggingface(tmp_path, head="classification", num_classes=4)
    with pytest.raises(ValueError, match=r"'classifier.weight' .* not fit"):
        BERT.from_huggingface(tmp_path, head="regression")


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"model_type": "bort"}, "model_type='bort'; BERT reads"),
        ({"hidden_act": "mish9"}, "hidden_act='mish9'"),
        (
            {"position_embedding_type": "relative_key"},
            "position_embedding_type='relative_key'",
        ),
        ({"is_decoder": True}, "is_decoder=True"),
        ({"add_cross_attention": True}, "add_cross_attention=True"),
        ({"tie_word_embeddings": False}, "tie_word_embeddings=False"),
        ({"intermediate_size": None}, "no field 'intermediate_size'"),
        ({"type_vocab_size": 3}, "token_type_embeddings.* does not fit"),
        ({"pad_token_id": 11}, "`pad_id` must be"),
    ],
    ids=lambda value: next(iter(value)) if isinstance(value, dict) else "",
)
def test_what_is_not_supported_is_named(settings, message, tmp_path):
    folders.write(tmp_path, folders.bert, settings=settings)
    with pytest.raises(ValueError, match=message):
        BERT.from_huggingface(tmp_path, head="masked_lm")


@pytest.mark.parametrize(
    ("head", "name"),
    [
        (None, "bert.pooler.dense.weight"),
        (None, "bert.encoder.layer.1.output.dense.bias"),
        ("masked_lm", "cls.predictions.bias"),
        ("next_sentence", "cls.seq_relationship.bias"),
    ],
)
def test_a_missing_tensor_is_named(head, name, tmp_path):
    folders.write(tmp_path, folders.bert, drop=[name])
    short = name.removeprefix("bert.")
    with pytest.raises(ValueError, match=f"holds no tensor '{short}'"):
        BERT.from_huggingface(tmp_path, head=head)
