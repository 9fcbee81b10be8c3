"""Tokenizers in a SavedModel, as TF Serving runs it."""

import numpy as np
import pytest
import tensorflow as tf

from keras_attn.text import BytePairTokenizer
from keras_attn.text import ByteTokenizer
from keras_attn.text import CharacterPairTokenizer
from keras_attn.text import CharacterTokenizer
from keras_attn.text import UnigramTokenizer
from keras_attn.text import WordPieceTokenizer
from keras_attn.text import WordTokenizer
from keras_attn.text.segmentation.byte_letters import BYTE_LETTERS
from keras_attn.text.segmentation.byte_runs import BYTE_TOKENS
from keras_attn.text.special_tokens import DEFAULT
from tests import cpp_loader
from tests.text.contract import ODD_TEXTS

PIECES = ["un", "##aff", "##able", "cafe", "'", "!", "##s", "hug", "don", "t"]
SIGNS = ["<pad>", "<unk>", "<s>", "</s>"]
SCORES = {
    "▁un": -2.0,
    "aff": -3.0,
    "able": -3.5,
    "a": -4.0,
    "▁": -2.5,
    "f": -5.0,
}
SCORES |= {
    "ca": -4.5,
    "e": -4.0,
    "x": -3.0,
    "xx": -5.0,
    "▁hug": -4.0,
    "!": -2.0,
}

TOKENIZERS = {
    "byte": ByteTokenizer,
    "character": lambda: CharacterTokenizer([*DEFAULT, *"abé\n "]),
    "word": lambda: WordTokenizer([*DEFAULT, *PIECES], lowercase=True),
    "word_tidy": lambda: WordTokenizer([*DEFAULT, *PIECES], tidy=True),
    "word_piece": lambda: WordPieceTokenizer([*DEFAULT, *PIECES]),
    "word_piece_uncased": lambda: WordPieceTokenizer(
        [*DEFAULT, *PIECES], lowercase=True, strip_accents=True
    ),
    "byte_pair": lambda: BytePairTokenizer(
        [*DEFAULT, *BYTE_LETTERS, "hu", "hug", "un", "Ġhug"],
        ["h u", "hu g", "u n", "Ġ hug"],
    ),
    "character_pair": lambda: CharacterPairTokenizer(
        [*SIGNS, *BYTE_TOKENS, *"▁hugn", "hu", "hug", "▁hug"],
        [("h", "u"), ("hu", "g"), ("▁", "hug")],
    ),
    "unigram": lambda: UnigramTokenizer(
        [*SIGNS, *SCORES], SCORES, [{"é": "e", "e\u0301": "e"}], marian=True
    ),
    "unigram_bytes": lambda: UnigramTokenizer(
        [*SIGNS, *SCORES, *BYTE_TOKENS],
        SCORES,
        spaces="collapse",
        arithmetic="tokenizers",
        byte_fallback=True,
    ),
}


TEXT = np.array(
    [b"unaffable Caf\xc3\xa9s, don't hug!", *ODD_TEXTS], dtype=object
)


def both_ways(tokenizer):
    """Text to ids, to rows of one length, and back."""

    def run(text):
        ids = tokenizer(text)
        return {
            "values": ids.values,
            "lengths": ids.row_lengths(),
            "rows": tokenizer.to_dense(text, 9, truncate=True),
            "text": tokenizer.detokenize(ids),
        }

    spec = tf.TensorSpec([None], tf.string, "text")
    return tf.function(run, input_signature=[spec], autograph=False)


@pytest.fixture(scope="module")
def module():
    """Each tokenizer, and its function, by name."""
    module = tf.Module()
    module.tokenizers = {name: make() for name, make in TOKENIZERS.items()}
    module.functions = {
        name: both_ways(tokenizer)
        for name, tokenizer in module.tokenizers.items()
    }
    return module


@pytest.fixture(scope="module")
def folder(module, tmp_path_factory):
    """A SavedModel with a signature for each tokenizer."""
    folder = tmp_path_factory.mktemp("served") / "model"
    tf.saved_model.save(module, str(folder), dict(module.functions))
    # The server has nothing of the folder it was written in.
    return folder.rename(folder.with_name("moved"))


@pytest.fixture(scope="module")
def answers(folder):
    """What each tokenizer says in the C++ loader."""
    requests = [(name, {"text": TEXT}) for name in TOKENIZERS]
    outputs = cpp_loader.run_requests(folder, requests)
    return dict(zip(TOKENIZERS, outputs, strict=True))


def test_tokenizers_are_core_ops_alone(folder):
    # `tf.raw_ops` lists what every TensorFlow server has.
    functions = cpp_loader.function_names(folder)
    ops = cpp_loader.op_names(folder) - functions
    assert {op for op in ops if not hasattr(tf.raw_ops, op)} == set()
    assert not any(op.startswith("Xla") for op in ops)


@pytest.mark.parametrize("name", TOKENIZERS)
def test_a_tokenizer_is_served_as_in_python(name, module, answers):
    expected = module.functions[name](tf.constant(TEXT))
    for key, tensor in expected.items():
        assert answers[name][key].tolist() == tensor.numpy().tolist(), key
