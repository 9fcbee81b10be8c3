"""Folders of the real libraries, by the command to a server that answers."""

import base64
import contextlib
import io
import json

import numpy as np
import pytest

from keras_attn.export.command_line import main
from keras_attn.export.server.loopback_server import serve
from tests.export import echo
from tests.export import hub
from tests.models import peers

pytestmark = pytest.mark.peers

TEXTS = [
    "Return the list of names",
    "is it a file, or a folder?",
    "x",
    "Sort every key by the value that a function returns, then print it.",
]


@contextlib.contextmanager
def exported(folder, tmp_path, capsys, *options):
    """Export by the command, try its printed request, and serve.

    Yields:
        A function from inputs by name to the outputs of the first verb.
    """
    destination = tmp_path / "models" / "model"
    arguments = ["huggingface", str(folder), str(destination), *options]
    assert main(arguments) == 0, capsys.readouterr().err
    line = capsys.readouterr().out.splitlines()[-1]

    with serve(destination, grpc_port=0, rest_port=0) as server:

        def ask(inputs, signature="serving_default"):
            status, answer = echo.http(
                server.rest_port,
                "/v1/models/model:predict",
                {"inputs": inputs, "signature_name": signature},
            )
            assert status == 200, answer
            return answer["outputs"]

        if "image.jpg" not in line:
            body = json.loads(line[line.index("{") : line.rindex("}") + 1])
            assert ask(body["inputs"])["valid"] == [True]
        yield ask


def bert_config(tokenizer, **settings):
    sizes = {"hidden_size": 12, "num_attention_heads": 3}
    sizes |= {"num_hidden_layers": 2, "intermediate_size": 10}
    return peers.transformers().BertConfig(
        # Padded, as published ones are.
        vocab_size=len(tokenizer) + 5,
        max_position_embeddings=128,
        **sizes,
        **settings,
    )


def rows_of(tokenizer, *texts):
    return dict(tokenizer(*texts, padding=True, return_tensors="np"))


def softmax(logits):
    odds = np.exp(logits - logits.max(-1, keepdims=True))
    return odds / odds.sum(-1, keepdims=True)


def test_a_classifier(tmp_path, capsys):
    folder = tmp_path / "bert"
    tokenizer = hub.word_piece(folder)
    names = {0: "bad", 1: "good", 2: "neither"}
    config = bert_config(tokenizer, id2label=names)
    peer = peers.make("BertForSequenceClassification", config, folder)
    with exported(folder, tmp_path, capsys) as ask:
        found = ask({"text": TEXTS})
        pairs = {"text": TEXTS, "text_pair": TEXTS[::-1]}
        found_pairs = ask(pairs, "classify_pairs")
    logits = peers.ask(peer, **rows_of(tokenizer, TEXTS))["logits"]
    assert found["label"] == [names[i] for i in logits.argmax(-1)]
    assert np.ptp(found["scores"], axis=0).max() > 0.05
    np.testing.assert_allclose(found["scores"], softmax(logits), atol=1e-4)
    rows = rows_of(tokenizer, TEXTS, TEXTS[::-1])
    logits = peers.ask(peer, **rows)["logits"]
    scores = found_pairs["scores"]
    np.testing.assert_allclose(scores, softmax(logits), atol=1e-4)


def test_a_sentence_embedder(tmp_path, capsys):
    library = peers.sentence_transformers()
    tokenizer = hub.word_piece(tmp_path / "bert")
    peers.make("BertModel", bert_config(tokenizer), tmp_path / "bert")
    words = library.models.Transformer(str(tmp_path / "bert"))
    pooling = library.models.Pooling(words.get_embedding_dimension())
    peer = library.SentenceTransformer(
        modules=[words, pooling, library.models.Normalize()], device="cpu"
    )
    peer.save(str(tmp_path / "sentences"))
    with exported(tmp_path / "sentences", tmp_path, capsys) as ask:
        found = ask({"text": TEXTS})["embedding"]
    wanted = peer.encode(TEXTS, show_progress_bar=False)
    np.testing.assert_allclose(found, wanted, atol=1e-4)


def best_answer(peer, tokenizer, question, context):
    """The likeliest span of at most 15 tokens, by the definition."""
    rows = tokenizer(question, context, return_tensors="np")
    places = [i for i, x in enumerate(rows.sequence_ids()) if x == 1]
    inputs = {name: rows[name] for name in rows}
    logits = peers.ask(peer, **inputs)
    # The first token stands for no answer, and is no part of one.
    kept = [0, *places]
    start, end = (
        softmax(logits[f"{side}_logits"][0, kept]) for side in ("start", "end")
    )
    score, first, last = max(
        (start[i + 1] * end[j + 1], i, j)
        for i in range(len(places))
        for j in range(i, min(i + 15, len(places)))
    )
    words = rows.word_ids()
    begin = rows.word_to_chars(0, words[places[first]], 1).start
    stop = rows.word_to_chars(0, words[places[last]], 1).end
    return context[begin:stop], score


def test_question_answering(tmp_path, capsys):
    folder = tmp_path / "bert"
    tokenizer = hub.word_piece(folder)
    config = bert_config(tokenizer)
    peer = peers.make("BertForQuestionAnswering", config, folder)
    questions, contexts = TEXTS[1::-1], TEXTS[2:] + TEXTS[:2]
    questions = [*questions, *questions]
    with exported(folder, tmp_path, capsys) as ask:
        found = ask({"question": questions, "context": contexts})
    wanted = [
        best_answer(peer, tokenizer, *pair)
        for pair in zip(questions, contexts, strict=True)
    ]
    assert found["text"] == [text for text, _ in wanted]
    scores = [score for _, score in wanted]
    np.testing.assert_allclose(found["score"], scores, atol=1e-4)


def written_by(peer, tokenizer, texts, **options):
    """What transformers' `generate` writes to each text."""
    import torch

    answers = []
    for text in texts:
        rows = tokenizer(text, return_tensors="pt")
        rows.pop("token_type_ids", None)
        with torch.no_grad():
            ids = peer.generate(**rows, **options)[0]
        if not peer.config.is_encoder_decoder:
            ids = ids[rows["input_ids"].shape[1] :]
        answers.append(tokenizer.decode(ids, skip_special_tokens=True))
    return answers


def searched(**settings):
    """A change of a model: how it searches, which is saved with it."""

    def change(model):
        for name, value in settings.items():
            setattr(model.generation_config, name, value)

    return change


def check_written(found, wanted, *, different=3):
    assert found["valid"] == [True] * len(wanted)
    assert found["text"] == wanted
    assert len(set(wanted)) >= different


def test_gpt2(tmp_path, capsys):
    folder = tmp_path / "gpt2"
    tokenizer = hub.byte_pair(folder)
    config = peers.transformers().GPT2Config(
        vocab_size=len(tokenizer) + 3,
        n_layer=2,
        n_head=2,
        n_embd=10,
        n_positions=96,
        bos_token_id=0,
        eos_token_id=1,
    )
    peer = peers.make("GPT2LMHeadModel", config, folder)
    options = ["--max_length", "9"]
    with exported(folder, tmp_path, capsys, *options) as ask:
        found = ask({"text": TEXTS})
    wanted = written_by(
        peer, tokenizer, TEXTS, max_new_tokens=9, pad_token_id=1
    )
    check_written(found, wanted)


def test_llama_with_beams(tmp_path, capsys):
    folder = tmp_path / "llama"
    tokenizer = hub.byte_pair(folder, start=True, pad_token="<pad>")
    config = peers.transformers().LlamaConfig(
        vocab_size=len(tokenizer),
        hidden_size=16,
        intermediate_size=14,
        num_hidden_layers=2,
        num_attention_heads=4,
        num_key_value_heads=2,
        bos_token_id=0,
        eos_token_id=[1, 3],
        pad_token_id=2,
    )
    search = searched(num_beams=3, length_penalty=0.5, max_new_tokens=8)
    peer = peers.make("LlamaForCausalLM", config, folder, change=search)
    with exported(folder, tmp_path, capsys) as ask:
        found = ask({"text": TEXTS})
    check_written(found, written_by(peer, tokenizer, TEXTS))


def test_marian(tmp_path, capsys):
    folder = tmp_path / "marian"
    tokenizer = hub.marian_tokenizer(folder)
    pad = tokenizer.pad_token_id
    config = peers.transformers().MarianConfig(
        vocab_size=len(tokenizer),
        d_model=12,
        encoder_layers=2,
        decoder_layers=2,
        encoder_attention_heads=3,
        decoder_attention_heads=3,
        encoder_ffn_dim=10,
        decoder_ffn_dim=10,
        max_position_embeddings=80,
        pad_token_id=pad,
        eos_token_id=0,
        forced_eos_token_id=0,
        decoder_start_token_id=pad,
        scale_embedding=True,
    )

    def change(model):
        searched(num_beams=4, max_length=9, bad_words_ids=[[pad]])(model)
        # Else it would write the same, whatever it reads.
        for name, weight in model.named_parameters():
            if "encoder_attn." in name:
                weight.mul_(4.0)

    peer = peers.make("MarianMTModel", config, folder, change=change)
    with exported(folder, tmp_path, capsys) as ask:
        found = ask({"text": TEXTS})
    check_written(found, written_by(peer, tokenizer, TEXTS), different=2)


def test_t5(tmp_path, capsys):
    folder = tmp_path / "t5"
    tokenizer = hub.t5_tokenizer(folder)
    config = peers.transformers().T5Config(
        vocab_size=len(tokenizer) + 4,
        d_model=12,
        d_kv=5,
        d_ff=14,
        num_layers=2,
        num_heads=3,
        n_positions=40,
        feed_forward_proj="gated-gelu",
        tie_word_embeddings=False,
        decoder_start_token_id=0,
    )
    search = searched(max_new_tokens=8)
    peer = peers.make(
        "T5ForConditionalGeneration", config, folder, change=search
    )
    with exported(folder, tmp_path, capsys) as ask:
        found = ask({"text": TEXTS})
    check_written(found, written_by(peer, tokenizer, TEXTS))


def images(count):
    """Pictures of several sizes, as PIL has them and as files."""
    from PIL import Image

    rng = np.random.default_rng(0)
    pictures, files = [], []
    for number in range(count):
        small = rng.integers(0, 256, size=(2, 3, 3), dtype="uint8")
        size = (30 + 5 * number, 20 + number)
        picture = Image.fromarray(small).resize(size, Image.Resampling.BILINEAR)
        file = io.BytesIO()
        picture.save(file, "PNG")
        pictures.append(picture)
        files.append(file.getvalue())
    return pictures, files


def as_json(files):
    return [{"b64": base64.b64encode(file).decode()} for file in files]


def vit_config(**settings):
    return peers.transformers().ViTConfig(
        hidden_size=12,
        num_hidden_layers=2,
        num_attention_heads=3,
        intermediate_size=10,
        image_size=16,
        patch_size=4,
        **settings,
    )


def processor(folder):
    made = peers.transformers().ViTImageProcessor(
        size={"height": 16, "width": 16},
        image_mean=[0.4, 0.5, 0.6],
        image_std=[0.2, 0.3, 0.4],
    )
    made.save_pretrained(folder)
    return made


def test_vit(tmp_path, capsys):
    folder = tmp_path / "vit"
    names = {0: "cat", 1: "dog", 2: "bird"}
    config = vit_config(id2label=names)
    peer = peers.make("ViTForImageClassification", config, folder)
    read = processor(folder)
    pictures, files = images(5)
    with exported(folder, tmp_path, capsys) as ask:
        found = ask({"image_bytes": as_json(files)})
    pixels = read(pictures, return_tensors="np")["pixel_values"]
    logits = peers.ask(peer, pixel_values=pixels)["logits"]
    np.testing.assert_allclose(found["scores"], softmax(logits), atol=5e-3)
    assert found["label"] == [names[i] for i in logits.argmax(-1)]


def test_a_captioner(tmp_path, capsys):
    import torch

    library = peers.transformers()
    folder = tmp_path / "captioner"
    tokenizer = hub.byte_pair(folder)
    decoder = library.GPT2Config(
        vocab_size=len(tokenizer),
        n_layer=2,
        n_head=2,
        n_embd=10,
        n_positions=32,
        add_cross_attention=True,
        bos_token_id=0,
        eos_token_id=1,
    )
    cls = library.VisionEncoderDecoderConfig
    config = cls.from_encoder_decoder_configs(vit_config(), decoder)
    config.decoder_start_token_id, config.pad_token_id = 0, 1
    config.eos_token_id = 1
    search = searched(
        max_new_tokens=7,
        decoder_start_token_id=0,
        eos_token_id=1,
        pad_token_id=1,
    )
    peer = peers.make(
        "VisionEncoderDecoderModel", config, folder, change=search
    )
    read = processor(folder)
    pictures, files = images(5)
    with exported(folder, tmp_path, capsys) as ask:
        found = ask({"image_bytes": as_json(files)})
    pixels = read(pictures, return_tensors="pt")["pixel_values"]
    with torch.no_grad():
        ids = peer.generate(pixels)
    check_written(found, tokenizer.batch_decode(ids, skip_special_tokens=True))
