import json

import numpy as np
import pytest
import tensorflow as tf

from keras_attn import models
from keras_attn.export.tasks.text_embedding import TextEmbedding
from keras_attn.models.huggingface import sentence_folder
from tests.export import served
from tests.export import texts


@pytest.fixture(scope="module")
def model():
    return texts.bert()


@pytest.fixture(scope="module")
def folder(model, tmp_path_factory):
    task = TextEmbedding(model, tokenizer=texts.tokenizer())
    folder = tmp_path_factory.mktemp("embedding")
    return served.save(task, folder, "embed", "embed_pairs")


@pytest.fixture(scope="module")
def answers(folder):
    requests = texts.text_requests("embed")
    answers = served.ask(folder, requests + texts.pair_requests("embed_pairs"))
    return answers[:5], answers[5:]


def test_the_server_embeds_like_python(model, answers):
    empty, *others, _ = answers[0]
    assert empty["embedding"].shape == empty["pooled"].shape == (0, 8)
    for rows, answer in zip(texts.BATCHES[1:], others, strict=True):
        for number, text in enumerate(rows):
            # One by one, so that there is no padding to leave out.
            vectors = texts.call_as_trained(model, [text])
            np.testing.assert_allclose(
                answer["pooled"][number], vectors["pooled"][0], atol=1e-5
            )
            mean = np.mean(vectors["sequence"], axis=(0, 1))
            np.testing.assert_allclose(
                answer["embedding"][number], mean, atol=1e-5
            )


def test_the_server_embeds_pairs_like_python(model, answers):
    _, *others = answers[1]
    for pair, answer in zip(texts.PAIRS[1:], others, strict=True):
        expected = texts.call_as_trained(model, *pair)["pooled"]
        np.testing.assert_allclose(answer["pooled"], expected, atol=1e-5)


def test_bad_rows_are_flagged(answers):
    *_, bad = answers[0]
    assert bad["valid"].tolist() == texts.BAD_VALID
    assert bad["truncated"].tolist() == texts.BAD_TRUNCATED
    assert bad["embedding"].any(axis=1).tolist() == texts.BAD_VALID
    assert bad["pooled"].any(axis=1).tolist() == texts.BAD_VALID


def test_only_core_ops_are_used(folder):
    assert not served.other_ops(folder)


@pytest.mark.parametrize("normalize", [False, True])
@pytest.mark.parametrize("pooling", ["mean", "first"])
def test_vectors_are_pooled_as_asked_for(pooling, normalize, model):
    task = TextEmbedding(
        model,
        tokenizer=texts.tokenizer(),
        pooling=pooling,
        normalize=normalize,
    )
    rows = ["the cat sat", "é"]
    answer = task.signatures()[0].function(text=tf.constant(rows))
    for text, vector in zip(rows, answer["embedding"].numpy(), strict=True):
        sequence = texts.call_as_trained(model, [text])["sequence"].numpy()[0]
        expected = sequence.mean(0) if pooling == "mean" else sequence[0]
        if normalize:
            expected = expected / np.linalg.norm(expected)
        np.testing.assert_allclose(vector, expected, atol=1e-5)


def test_a_wrong_pooling_gets_the_right_ones(model):
    with pytest.raises(ValueError, match=r"'mean', 'first'.*'max'"):
        TextEmbedding(model, tokenizer=texts.tokenizer(), pooling="max")


@pytest.mark.parametrize("num_segments", [0, 1])
def test_pairs_are_read_without_segments_too(num_segments):
    model = texts.bert(num_segments=num_segments, pooler_activation=None)
    task = TextEmbedding(model, tokenizer=texts.tokenizer())
    _, pairs = task.signatures()
    answer = pairs.function(
        text=tf.constant(["the cat"]), text_pair=tf.constant(["a mat"])
    )
    ids = texts.tokenizer()(["the cat", "a mat"]).to_list()
    row = [2, *ids[0], 3, *ids[1], 3]
    inputs = {"tokens": np.array([row]), "segments": np.zeros((1, len(row)))}
    expected = model(inputs)["sequence"].numpy()[0].mean(0)
    np.testing.assert_allclose(answer["embedding"][0], expected, atol=1e-5)
    assert answer.keys() == {"embedding", "valid", "truncated"}


@pytest.mark.peers
@pytest.mark.parametrize(
    ("kind", "pooling", "normalize"),
    [("Bert", "mean", True), ("DistilBert", "cls", False)],
)
def test_vectors_are_those_of_sentence_transformers(
    kind, pooling, normalize, tmp_path
):
    from tests.models import peers

    library = peers.sentence_transformers()
    sizes = {
        "Bert": {
            "hidden_size": 8,
            "num_hidden_layers": 2,
            "num_attention_heads": 2,
            "intermediate_size": 10,
        },
        "DistilBert": {"dim": 8, "n_layers": 2, "n_heads": 2, "hidden_dim": 10},
    }[kind]
    folder = tmp_path / "transformer"
    tokenizer = texts.tokenizer(lowercase=True, strip_accents=True)
    config = getattr(peers.transformers(), f"{kind}Config")(
        vocab_size=tokenizer.vocabulary_size,
        max_position_embeddings=11,
        **sizes,
    )
    peers.make(f"{kind}Model", config, folder)
    names = dict(zip(("pad", "unk", "cls", "sep"), range(4), strict=True))
    peer = peers.transformers().BertTokenizer(
        vocab={word: n for n, word in enumerate(tokenizer.vocabulary)},
        model_max_length=9,
        **{f"{k}_token": tokenizer.vocabulary[n] for k, n in names.items()},
    )
    peer.save_pretrained(folder)
    parts = [
        library.models.Transformer(str(folder)),
        library.models.Pooling(8, pooling_mode=pooling),
        library.models.Normalize(),
    ]
    modules = parts if normalize else parts[:2]
    saved = tmp_path / "sentences"
    sentences = library.SentenceTransformer(modules=modules, device="cpu")
    sentences.save(str(saved))
    rows = ["The cats sat", "É!", "the " * 20, "a cat, on a mat"]
    settings = sentence_folder.settings(saved)
    assert settings == {
        "pooling": {"mean": "mean", "cls": "first"}[pooling],
        "normalize": normalize,
        "max_length": 9,
    }
    task = TextEmbedding(
        models.from_huggingface(saved), tokenizer=tokenizer, **settings
    )
    answer = task.signatures()[0].function(text=tf.constant(rows))
    np.testing.assert_allclose(
        answer["embedding"], sentences.encode(rows), atol=1e-5
    )
    assert answer["truncated"].numpy().tolist() == [False, False, True, False]
    kinds = json.loads((saved / "modules.json").read_text())
    assert len(kinds) == 2 + normalize
