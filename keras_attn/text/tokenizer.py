"""What every tokenizer does: ids of any rank, special tokens, files."""

import pathlib

import tensorflow as tf

from keras_attn.text import files
from keras_attn.text import layouts
from keras_attn.text.added_tokens import AddedTokens
from keras_attn.text.huggingface import folder as huggingface
from keras_attn.text.special_tokens import SpecialTokens
from keras_attn.text.template import Template
from keras_attn.text.vocabulary import Vocabulary


class Tokenizer(tf.Module):
    """Strings to ids and back, in core TensorFlow ops.

        ids = tokenizer(strings),    strings ~ tokenizer.detokenize(ids)

    The base of all tokenizers. It runs eagerly, in `tf.function`, in `tf.data`
    and in a SavedModel, which takes the vocabulary along as an asset and needs
    no further library to serve. Ids lie below `vocabulary_size`; `pad_id`,
    `start_id`, `end_id`, `unknown_id` and `mask_id` are those of the special
    tokens, None where the vocabulary has no such token. Subclasses define
    `_tokenize` (`_tokenize_parts`, if it matters what opens a text),
    `_detokenize`, `get_config` and, if they normalise, `_prepare`, and register
    with `files.register`. A tokenizer from Hugging Face may have
    `added_tokens`, which are taken out of a text first, and a `template`, the
    special tokens that `layouts` puts around texts.

    Args:
        vocabulary: Tokens in order of their ids.
        special_tokens: Token by part ("pad", "start", "end", "unknown",
            "mask"). The usual names are found without being given.
        unknown_token: The "unknown" one, where a tokenizer must have it.

    Call arguments:
        strings: UTF-8 strings of any shape, dense or ragged.

    Returns:
        int32 ids, ragged, with one axis more: (batch,) strings give
        (batch, tokens). A scalar string gives a dense (tokens,) vector. No
        special token is added; `to_dense` adds them.
    """

    def __init__(self, vocabulary, *, special_tokens=None, unknown_token=None):
        super().__init__()
        if unknown_token is not None:
            own = {"unknown": unknown_token}
            special_tokens = {**(special_tokens or {}), **own}
        self._vocabulary = Vocabulary(vocabulary)
        ids = self._vocabulary.ids
        self._special = SpecialTokens.find(ids, special_tokens)
        self.vocabulary_size = len(self._vocabulary)
        self.pad_id = ids.get(self._special.pad)
        self.start_id = ids.get(self._special.start)
        self.end_id = ids.get(self._special.end)
        self.unknown_id = ids.get(self._special.unknown)
        self.mask_id = ids.get(self._special.mask)
        self.template: Template | None = None
        self._added = None

    def __call__(self, strings):
        if isinstance(strings, tf.RaggedTensor):
            return strings.with_flat_values(self(strings.flat_values))
        strings = tf.convert_to_tensor(strings)
        if strings.dtype != tf.string:
            if strings.shape.num_elements() != 0:
                raise ValueError(
                    "A tokenizer takes strings. Received a tensor of dtype "
                    f"{strings.dtype.name}: `detokenize` takes ids."
                )
            # An empty Python list comes as floating-point numbers.
            strings = tf.zeros(strings.shape, tf.string)
        _require_known_rank(strings)
        ids = self._read(tf.reshape(strings, [-1]))
        if strings.shape.rank == 0:
            return ids.values
        lengths = tf.shape(strings, tf.int64)
        for axis in reversed(range(1, strings.shape.rank)):
            ids = tf.RaggedTensor.from_uniform_row_length(
                ids, lengths[axis], nrows=tf.reduce_prod(lengths[:axis])
            )
        return ids

    def detokenize(self, ids, *, keep_special: bool = False):
        """Turn ids back into text.

        Args:
            ids: Integers, (batch, tokens) or of any rank from 1, dense or
                ragged. An id outside the vocabulary reads as the unknown
                token; where there is none, as U+FFFD.
            keep_special: Whether PAD, START, END, MASK and the special ones of
                `added_tokens` are written too.

        Returns:
            Strings with the last axis gone: (batch,).
        """
        if isinstance(ids, tf.RaggedTensor) and ids.ragged_rank > 1:
            return ids.with_values(
                self.detokenize(ids.values, keep_special=keep_special)
            )
        if not isinstance(ids, tf.RaggedTensor):
            ids = tf.convert_to_tensor(ids)
            _require_known_rank(ids)
            if ids.shape.rank == 0:
                raise ValueError(
                    "`ids` must have an axis of tokens. Received a scalar: "
                    "write [id] for a text of one token."
                )
            shape = tf.shape(ids)
            rows = tf.reshape(ids, [tf.reduce_prod(shape[:-1]), shape[-1]])
            strings = self.detokenize(
                tf.RaggedTensor.from_tensor(rows), keep_special=keep_special
            )
            return tf.reshape(strings, shape[:-1])
        ids = tf.cast(ids, tf.int64)
        if not keep_special:
            ids = tf.ragged.boolean_mask(ids, ~self._is_special(ids))
        return self._detokenize(ids)

    def to_dense(
        self,
        texts,
        max_length: int,
        *,
        start: bool = True,
        end: bool = True,
        truncate: bool = False,
    ):
        """Make rows of one length: START, the ids, END, then PAD.

        Args:
            texts: (batch,) strings or ragged (batch, tokens) ids; a scalar
                string or (tokens,) ids give one row without the batch axis.
            max_length: Length of the rows, special tokens included.
            start: Whether START comes first.
            end: Whether END comes last.
            truncate: Whether a row that is too long loses its last tokens (END
                is kept). By default it is an error: nothing is lost in silence.

        Returns:
            (batch, max_length) int32 ids.
        """
        room = max_length - start - end
        if room < 0:
            raise ValueError(
                f"`max_length` must leave room for START and END. Received: "
                f"max_length={max_length}"
            )
        ids = self._as_ids(texts)
        if not isinstance(ids, tf.RaggedTensor) and ids.shape.rank == 1:
            options = {"start": start, "end": end, "truncate": truncate}
            return self.to_dense(ids[tf.newaxis], max_length, **options)[0]
        if not isinstance(ids, tf.RaggedTensor):
            ids = tf.RaggedTensor.from_tensor(ids)
        if ids.shape.rank != 2:
            raise ValueError(
                "`to_dense` takes (batch,) strings or (batch, tokens) ids. "
                f"Received ids of {ids.shape.rank} axes: reshape them first."
            )
        if truncate:
            ids = ids[:, :room]
        else:
            tf.debugging.assert_less_equal(
                ids.row_lengths(),
                tf.cast(room, ids.row_splits.dtype),
                "A text has more tokens than `max_length` has room for. "
                "Raise `max_length`, or pass truncate=True to lose its end.",
            )
        if start:
            ids = layouts.with_start(self, ids)
        if end:
            ids = layouts.with_end(self, ids)
        pad_id = layouts.special_id(self, "pad")
        return ids.to_tensor(pad_id, shape=(None, max_length))

    @property
    def vocabulary(self) -> list[str]:
        """The tokens in order of their ids."""
        return list(self._vocabulary.tokens)

    def id_of(self, token: str) -> int:
        """The id of a token of the vocabulary."""
        return self._vocabulary.id_of(token)

    @property
    def special_tokens(self) -> SpecialTokens:
        """The tokens that stand for no text, by part: `{"pad": "[PAD]"}`."""
        return self._special

    @property
    def added_tokens(self) -> list[dict]:
        """Tokens that stand in texts by name, as `AddedTokens` takes them."""
        return [] if self._added is None else self._added.tokens

    @added_tokens.setter
    def added_tokens(self, tokens):
        ids = self._vocabulary.ids
        self._added = AddedTokens(tokens, ids, self._prepare)

    def get_config(self) -> dict:
        """The keyword arguments of the constructor, as plain values."""
        return {"special_tokens": vars(self._special).copy()}

    def save(self, folder) -> None:
        """Write the tokenizer to a folder, as plain text files."""
        files.save(self, pathlib.Path(folder))

    @classmethod
    def from_huggingface(cls, folder) -> "Tokenizer | dict[str, Tokenizer]":
        """Read a folder of a Hugging Face tokenizer from disk.

        Args:
            folder: Holds `tokenizer.json`, or else `vocab.txt` (BERT), or
                `vocab.json` and `merges.txt` (GPT-2), or a unigram model of
                SentencePiece such as `spiece.model` (T5); with
                `tokenizer_config.json` for what these do not say. Or
                `source.spm`, `target.spm` and `vocab.json` (Marian).

        Returns:
            A tokenizer of the kind that the files describe; of a Marian
            folder two, `{"source": ..., "target": ...}`.
        """
        return huggingface.read(cls, pathlib.Path(folder))

    @classmethod
    def load(cls, folder) -> "Tokenizer":
        """Read what `save` wrote; `Tokenizer.load` reads every kind."""
        return files.load(cls, pathlib.Path(folder))

    def write_vocabulary(self, folder: pathlib.Path) -> None:
        """Write the positional arguments of the constructor to files."""
        files.write_lines(folder / "vocabulary.txt", self._vocabulary.tokens)

    @classmethod
    def read_vocabulary(cls, folder: pathlib.Path) -> tuple:
        """Read the positional arguments of the constructor from files."""
        return (files.read_lines(folder / "vocabulary.txt"),)

    def _read(self, strings):
        """(batch,) strings to ragged (batch, tokens) ids."""
        if self._added is None:
            is_first = tf.ones_like(strings, tf.bool)
            return self._tokenize_parts(self._prepare(strings), is_first)
        return self._added.tokenize(
            strings, self._prepare, self._tokenize_parts
        )

    def _prepare(self, strings):
        """Normalise (strings,) strings; added tokens are found before."""
        return strings

    def _tokenize_parts(self, strings, is_first):
        """Ids of prepared strings; `is_first`: whether one opens a text."""
        return self._tokenize(strings)

    def _is_special(self, ids):
        numbers = {self.pad_id, self.start_id, self.end_id, self.mask_id}
        if self._added is not None:
            numbers |= {*self._added.special_ids}
        numbers = tf.constant(sorted(numbers - {None}), tf.int64)
        special = tf.reduce_any(ids.flat_values[:, tf.newaxis] == numbers, 1)
        return ids.with_flat_values(special)

    def _known_or(self, ids, number):
        """Ragged ids with `number` for those outside the vocabulary."""
        values = ids.values
        known = (values >= 0) & (values < self.vocabulary_size)
        return ids.with_values(
            tf.where(known, values, tf.cast(number, tf.int64))
        )

    def _as_ids(self, texts):
        if not isinstance(texts, tf.RaggedTensor):
            texts = tf.convert_to_tensor(texts)
        if texts.dtype == tf.string:
            return self(texts)
        return tf.cast(texts, tf.int32)


def _require_known_rank(tensor):
    if tensor.shape.rank is None:
        raise ValueError(
            "The number of axes must be known when the graph is made. Give "
            "the tensor a shape, such as (None,), with `tf.ensure_shape`."
        )
