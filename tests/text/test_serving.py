"""Tokenizers in a SavedModel, as TF Serving runs it."""

import numpy as np
import pytest
import tensorflow as tf

from keras_attn.text import BytePairTokenizer
from keras_attn.text import ByteTokenizer
from keras_attn.text import CharacterTokenizer
from keras_attn.text import WordPieceTokenizer
from keras_attn.text import WordTokenizer
from keras_attn.text.segmentation.byte_letters import BYTE_LETTERS
from keras_attn.text.special_tokens import DEFAULT
from tests import cpp_loader
from tests.text.contract import ODD_TEXTS

PIECES = ["un", "##aff", "##able", "cafe", "'", "!", "##s", "hug", "don", "t"]
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
}


class Served(tf.Module):
    """Text to ids, to rows of one length, and back."""

    def __init__(self, tokenizer):
        super().__init__()
        self.tokenizer = tokenizer

    @tf.function
    def both_ways(self, text):
        ids = self.tokenizer(text)
        return {
            "values": ids.values,
            "lengths": ids.row_lengths(),
            "rows": self.tokenizer.to_dense(text, 9, truncate=True),
            "text": self.tokenizer.detokenize(ids),
        }


@pytest.mark.parametrize("name", TOKENIZERS)
def test_a_tokenizer_is_served_with_core_ops_alone(name, tmp_path):
    module = Served(TOKENIZERS[name]())
    signature = module.both_ways.get_concrete_function(
        tf.TensorSpec([None], tf.string, "text")
    )
    folder = tmp_path / "model"
    tf.saved_model.save(module, str(folder), {"both_ways": signature})
    # `tf.raw_ops` lists what every TensorFlow server has.
    functions = cpp_loader.function_names(folder)
    ops = cpp_loader.op_names(folder) - functions
    assert {op for op in ops if not hasattr(tf.raw_ops, op)} == set()
    assert not any(op.startswith("Xla") for op in ops)

    text = np.array(
        [b"unaffable Caf\xc3\xa9s, don't hug!", *ODD_TEXTS], dtype=object
    )
    expected = module.both_ways(tf.constant(text))
    # The server has nothing of the folder it was written in.
    moved = folder.rename(tmp_path / "moved")
    del module, signature
    outputs = cpp_loader.run(moved, "both_ways", {"text": text})
    for key, tensor in expected.items():
        assert outputs[key].tolist() == tensor.numpy().tolist(), key
