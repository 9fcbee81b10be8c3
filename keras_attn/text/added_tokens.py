"""Tokens that stand in a text by name, such as <|im_start|>."""

from collections.abc import Callable
from collections.abc import Iterable
from collections.abc import Mapping

import tensorflow as tf

from keras_attn.text import tables

# What Unicode calls white space; `\s` of RE2 is ASCII alone.
_SPACE = r"[\s\x0b\x{85}\p{Z}]+"
# No valid text holds this byte.
_MARK = b"\xff"
_DEFAULTS = {
    "special": False,
    "lstrip": False,
    "rstrip": False,
    "normalized": False,
}


class AddedTokens(tf.Module):
    """Finds tokens in texts before these are tokenized.

        text = part, token, part, ... token, part

    The leftmost token is taken, and of several that begin there the longest,
    as `tokenizers` does. Tokens are found in UTF-8 alone: any other string is
    one part.

    Args:
        tokens: For each its "content", and whether it is "special" (stands
            for no text), takes the white space before it ("lstrip") or after
            it ("rstrip"), and is looked for in prepared text ("normalized").
        ids: Id by token.
        prepare: The tokenizer's normalisation of (strings,) strings.
    """

    def __init__(
        self,
        tokens: Iterable[Mapping],
        ids: Mapping[str, int],
        prepare: Callable,
    ):
        super().__init__()
        tokens = [_checked(token, ids) for token in tokens]
        # A plain object: TensorFlow would wrap and track a list's entries.
        self._tokens = lambda: tokens
        self.special_ids = tuple(
            ids[token["content"]] for token in tokens if token["special"]
        )
        groups = {False: {}, True: {}}
        for token in tokens:
            content, number = token["content"], ids[token["content"]]
            if token["normalized"]:
                with tf.init_scope():
                    content = prepare(tf.constant([content])).numpy()[0]
                    content = content.decode()
            if content:
                groups[token["normalized"]].setdefault(content, (number, token))
        self._raw, self._prepared = (
            _Finder(group) if group else None for group in groups.values()
        )

    @property
    def tokens(self) -> list[dict]:
        """What was given."""
        return [dict(token) for token in self._tokens()]

    def tokenize(self, strings, prepare: Callable, tokenize: Callable):
        """Ids of strings, those of the tokens that stand in them among them.

        Args:
            strings: (batch,) strings.
            prepare: As above.
            tokenize: Takes (parts,) prepared strings and whether each is the
                first of its string, and returns ragged (parts, tokens) ids.

        Returns:
            Ragged (batch, tokens) int32 ids.
        """
        parts, added, splits = self.split(strings, prepare)
        is_first = tf.scatter_nd(
            splits[:-1, tf.newaxis],
            tf.ones_like(strings, tf.bool),
            tf.shape(parts, tf.int64),
        )
        ids = tokenize(parts, is_first)
        is_added = added >= 0
        ids = tf.cond(
            tf.reduce_any(is_added),
            lambda: _with_added(ids, added, is_added),
            lambda: ids,
        )
        return tf.RaggedTensor.from_row_splits(
            ids.values, tf.gather(ids.row_splits, splits), validate=False
        )

    def split(self, strings, prepare: Callable):
        """Take the tokens out of strings, and prepare the rest.

        Args:
            strings: (batch,) strings.
            prepare: As above.

        Returns:
            (parts,) prepared strings, "" for a token; (parts,) int32 ids, -1
            for a string; and int64 row splits, of batch + 1 rows.
        """
        ids = tf.fill(tf.shape(strings), -1)
        splits = tf.range(tf.size(strings, tf.int64) + 1)
        if self._raw is not None:
            strings, ids, splits = self._raw(strings, ids)
        strings = prepare(strings)
        if self._prepared is not None:
            strings, ids, inner = self._prepared(strings, ids)
            splits = tf.gather(inner, splits)
        return strings, ids, splits


class _Finder(tf.Module):
    """Finds one group of tokens: (id, token) by what is looked for."""

    def __init__(self, tokens):
        super().__init__()
        # RE2 takes the first alternative that fits.
        contents = sorted(tokens, key=lambda text: len(text.encode()))[::-1]
        any_token = "|".join(map(_literal, contents))
        self._token = f"(?:{any_token})"
        self._somewhere = f"(?s).*(?:{any_token}).*"
        self._ids = tables.constants(
            {content.encode(): tokens[content][0] for content in contents}
        )
        self._strips = {
            side: tuple(
                number for number, token in tokens.values() if token[side]
            )
            for side in ("lstrip", "rstrip")
        }

    def __call__(self, strings, ids):
        there = tf.strings.regex_full_match(strings, self._somewhere)
        return tf.cond(
            tf.reduce_any(there),
            lambda: self._split(strings, ids, there),
            lambda: (strings, ids, tf.range(tf.size(ids, tf.int64) + 1)),
        )

    def _split(self, strings, ids, there):
        marked = tf.strings.regex_replace(
            tf.where(there, strings, ""), self._token, _MARK + rb"\0" + _MARK
        )
        places, parts, _ = tf.raw_ops.StringSplitV2(input=marked, sep=_MARK)
        row = places[:, 0]
        # Every other part is a token.
        is_token = places[:, 1] % 2 == 1
        found = tf.where(
            is_token, tf.cast(self._ids.lookup(parts), tf.int32), -1
        )
        # Other rows have one part, which is what came.
        is_old = ~tf.gather(there, row)
        parts = tf.where(is_old, tf.gather(strings, row), parts)
        found = tf.where(is_old, tf.gather(ids, row), found)
        parts = tf.where(is_token, "", parts)
        # The first and the last part of a row are no tokens.
        for side, step, pattern in (
            ("rstrip", 1, f"^{_SPACE}"),
            ("lstrip", -1, f"{_SPACE}$"),
        ):
            if self._strips[side]:
                strips = tf.reduce_any(
                    found[:, tf.newaxis] == tf.constant(self._strips[side]), 1
                )
                parts = tf.where(
                    tf.roll(strips & is_token, step, 0),
                    tf.strings.regex_replace(parts, pattern, ""),
                    parts,
                )
        splits = tf.searchsorted(row, tf.range(tf.size(ids, tf.int64) + 1))
        return parts, found, tf.cast(splits, tf.int64)


def _with_added(ids, added, is_added):
    """Ragged ids with an id in each row that is an added token."""
    added = tf.RaggedTensor.from_row_lengths(
        tf.boolean_mask(added, is_added),
        tf.cast(is_added, tf.int64),
        validate=False,
    )
    return tf.concat([ids, added], axis=1)


def _checked(token, ids):
    """A token with all its settings, which must be ones that are known."""
    content = token.get("content")
    if not content or content not in ids:
        raise ValueError(
            f"The added token {content!r} is not in the vocabulary."
        )
    if token.get("single_word"):
        raise ValueError(
            f"The added token {content!r} has single_word, which is not "
            "supported: clear the setting."
        )
    chosen = {
        name: bool(token.get(name, _DEFAULTS[name])) for name in _DEFAULTS
    }
    return {"content": content, **chosen}


def _literal(text):
    """A pattern of RE2 for this text and no other."""
    return "".join(
        sign if sign.isalnum() else rf"\x{{{ord(sign):x}}}" for sign in text
    )
