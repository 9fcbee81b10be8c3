"""Vocabularies learned from texts."""

import collections
import json
from collections.abc import Mapping
from collections.abc import Sequence

import tensorflow as tf

from keras_attn.base import argument_checks
from keras_attn.extras import require
from keras_attn.text import tables
from keras_attn.text.segmentation.byte_letters import BYTE_LETTERS
from keras_attn.text.segmentation.normalize import Normalizer
from keras_attn.text.segmentation.split import split_words
from keras_attn.text.special_tokens import DEFAULT
from keras_attn.text.text_batches import text_batches
from keras_attn.text.text_batches import with_progress

_CONTINUES = "##"
_SPLITS = ("punctuation", "whitespace")
_KINDS = ("word", "wordpiece", "bpe", "character")


def learn_vocabulary(
    texts,
    size: int,
    *,
    kind: str = "word",
    min_frequency: int = 1,
    lowercase: bool = False,
    strip_accents: bool = False,
    split: str = "punctuation",
    special_tokens: Sequence[str] | Mapping[str, str] = DEFAULT,
    verbose: int = 1,
) -> list[str] | tuple[list[str], list[str]]:
    """Learn the tokens of a tokenizer from texts.

        vocabulary = special tokens + commonest tokens

    The same texts give the same vocabulary, in whatever order they come.

    Args:
        texts: `tf.data.Dataset` of strings, list of strings, or `pathlib.Path`
            of a text file or a list of them, of which each line is a text.
        size: How many tokens there may be, special tokens included. There are
            fewer if the texts do not hold as many.
        kind: "word", "wordpiece" (extra `text`), "bpe" (extra `text`) or
            "character".
        min_frequency: How often a token must occur in the texts; what occurs
            less often is left out, and unknown. The bytes of "bpe" and the
            single characters of "wordpiece" stay, so that every word has its
            pieces: of "bpe" it is the frequency of a merge.
        lowercase: As for the tokenizer, which splits the same way.
        strip_accents: As for the tokenizer.
        split: As for `WordTokenizer`: "punctuation" or "whitespace".
        special_tokens: What the vocabulary opens with; or those of another
            tokenizer, `tokenizer.special_tokens`.
        verbose: Whether progress is shown.

    Returns:
        The tokens in order of their ids. For "bpe" the pair (tokens, merges),
        so that `BytePairTokenizer(*learn_vocabulary(...))` works.
    """
    _check_options(kind, lowercase or strip_accents, split)
    argument_checks.integer(min_frequency, "min_frequency", at_least=1)
    if isinstance(special_tokens, Mapping):
        special_tokens = special_tokens.values()
    # GPT-2 has one token for several parts.
    special_tokens = list(dict.fromkeys(special_tokens))
    if size <= len(special_tokens):
        raise ValueError(
            f"`size` must leave room beside {len(special_tokens)} special "
            f"tokens. Received: size={size}"
        )
    batches = text_batches(texts)
    if verbose:
        batches = with_progress(batches)
    if kind == "bpe":
        return _learn_byte_pairs(batches, size, special_tokens, min_frequency)
    if kind == "character":
        counts = _count(batches, _characters)
        return _commonest(counts, size, special_tokens, min_frequency)
    owner = tf.Module()  # of the normalizer's files
    normalize = Normalizer(
        lowercase=lowercase,
        strip_accents=strip_accents,
        folder=tables.AssetFolder(owner),
    )

    def words(texts):
        texts = normalize(texts)
        return split_words(texts, punctuation=split == "punctuation").values

    counts = _count(batches, words)
    if kind == "word":
        return _commonest(counts, size, special_tokens, min_frequency)
    return _learn_pieces(counts, size, special_tokens, min_frequency)


def _check_options(kind, changes_letters, split):
    if kind not in _KINDS:
        raise ValueError(f"`kind` is one of {_KINDS}. Received: {kind!r}")
    if changes_letters and kind in ("bpe", "character"):
        raise ValueError(
            f"The tokenizer for kind={kind!r} takes text as it is. Change the "
            "texts themselves, not `lowercase` or `strip_accents`."
        )
    if split not in _SPLITS or (split != _SPLITS[0] and kind != "word"):
        raise ValueError(
            f"`split` must be one of {_SPLITS} for kind='word', and is not "
            f"for other kinds. Received: kind={kind!r}, split={split!r}"
        )


def _characters(texts):
    return tf.strings.unicode_split(texts, "UTF-8").values


def _count(batches, split):
    """How often each token occurs, by token."""

    @tf.function(input_signature=[tf.TensorSpec([None], tf.string)])
    def count(texts):
        tokens, _, counts = tf.unique_with_counts(split(texts))
        return tokens, counts

    counts = collections.Counter()
    for batch in batches:
        found = (part.numpy().tolist() for part in count(batch))
        counts.update(dict(zip(*found, strict=True)))
    # A vocabulary is text: what is not UTF-8 can only be unknown.
    counts = {_decode(token): number for token, number in counts.items()}
    counts.pop(None, None)
    if not counts:
        raise ValueError("`texts` holds no text to learn from.")
    return counts


def _commonest(counts, size, special_tokens, min_frequency):
    _check_some_occur(counts, min_frequency)
    for token in special_tokens:
        counts.pop(token, None)
    frequent = [token for token in counts if counts[token] >= min_frequency]
    ranked = sorted(frequent, key=lambda token: (-counts[token], token))
    return [*special_tokens, *ranked[: size - len(special_tokens)]]


def _check_some_occur(counts, min_frequency):
    most = max(counts.values())
    if most < min_frequency:
        raise ValueError(
            "No word or character occurs as often as `min_frequency` says: "
            f"the commonest occurs {most} times. Received: "
            f"min_frequency={min_frequency}"
        )


def _learn_pieces(counts, size, special_tokens, min_frequency):
    require("tensorflow_text", extra="text")
    from tensorflow_text.tools.wordpiece_vocab import (
        wordpiece_tokenizer_learner_lib as learner,
    )

    _check_some_occur(counts, min_frequency)

    def learn(**thresholds):
        return learner.learn(
            sorted(counts.items()),
            size,
            special_tokens,
            # Its usual 10 would leave small texts without any piece.
            lower_thresh=min_frequency,
            joiner=_CONTINUES,
            **thresholds,
        )

    tokens = learn()
    if min_frequency > 1:
        # Looking for more pieces than there are, it goes below its threshold.
        frequent = learn(upper_thresh=min_frequency)
        tokens = frequent if len(frequent) <= size else tokens
    # Tokens of equal counts come together, so there may be too many. Those
    # of one character are needed: without them words would be unknown.
    special = set(special_tokens)
    needed = [
        token
        for token in tokens
        if token in special or len(token.removeprefix(_CONTINUES)) == 1
    ]
    if len(needed) > size:
        raise ValueError(
            f"The texts need at least {len(needed)} tokens, of which "
            f"{len(special)} are special and the others single characters. "
            f"Received: size={size}"
        )
    others = [token for token in tokens if token not in set(needed)]
    kept = {*needed, *others[: size - len(needed)]}
    return [token for token in tokens if token in kept]


def _learn_byte_pairs(batches, size, special_tokens, min_frequency):
    tokenizers = require("tokenizers", extra="text")
    smallest = len(special_tokens) + len(BYTE_LETTERS)
    if size < smallest:
        raise ValueError(
            f"Byte pairs need at least {smallest} tokens: {len(special_tokens)}"
            f" special ones and 256 bytes. Received: size={size}"
        )
    is_empty = True

    def texts():
        nonlocal is_empty
        for batch in batches:
            for text in batch.numpy():
                is_empty = is_empty and not text
                yield text.decode("utf-8", "replace")

    tokenizer = tokenizers.Tokenizer(tokenizers.models.BPE())
    tokenizer.pre_tokenizer = tokenizers.pre_tokenizers.ByteLevel(
        add_prefix_space=False
    )
    trainer = tokenizers.trainers.BpeTrainer(
        vocab_size=size,
        min_frequency=min_frequency,
        special_tokens=special_tokens,
        initial_alphabet=list(BYTE_LETTERS),
        show_progress=False,
    )
    tokenizer.train_from_iterator(texts(), trainer)
    if is_empty:
        raise ValueError("`texts` holds no text to learn from.")
    model = json.loads(tokenizer.to_str())["model"]
    merges = [
        merge if isinstance(merge, str) else " ".join(merge)
        for merge in model["merges"]
    ]
    return sorted(model["vocab"], key=model["vocab"].get), merges


def _decode(token):
    try:
        return token.decode()
    except UnicodeDecodeError:
        return None
