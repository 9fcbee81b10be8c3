"""How ids of texts become rows of a model: START, END, pairs, segments."""

import tensorflow as tf

from keras_attn.text.template import column


def special_id(tokenizer, part: str) -> int:
    """The id of a special token, such as "end", that must be there."""
    number = getattr(tokenizer, f"{part}_id")
    if number is None:
        raise ValueError(
            f"The vocabulary of `tokenizer` has no {part.upper()} token, which "
            "is needed here. Choose one of its tokens: "
            f'special_tokens={{"{part}": ...}}.'
        )
    return number


def check_special(tokenizer, *parts: str) -> None:
    """Raise ValueError unless a tokenizer has these special tokens."""
    for part in parts:
        special_id(tokenizer, part)


def with_start(tokenizer, ids):
    """START, ids: what a decoder reads."""
    start = column(special_id(tokenizer, "start"), ids)
    return tf.concat([start, ids], axis=-1)


def with_end(tokenizer, ids):
    """ids, END: what a decoder predicts, and a document in a stream."""
    end = column(special_id(tokenizer, "end"), ids)
    return tf.concat([ids, end], axis=-1)


def prompt_row(tokenizer, ids):
    """What a decoder goes on from: ids, and what the template puts around.

        prompt = ids    or, of Llama's template,    prompt = START, ids

    Args:
        tokenizer: Of the prompt.
        ids: Ragged (batch, tokens), or (tokens,).
    """
    if tokenizer.template is None:
        return ids
    return tokenizer.template.lay_out(ids)["tokens"]


def prompt_special(tokenizer) -> int:
    """How many tokens `prompt_row` adds."""
    template = tokenizer.template
    return 0 if template is None else template.num_special()


def source_row(tokenizer, ids, *, start: bool = False, reverse: bool = False):
    """What an encoder of translation reads.

        source = [START,] ids, END    or what the tokenizer's template says

    Args:
        tokenizer: Of the source.
        ids: Ragged (batch, tokens), or (tokens,).
        start: Whether there is a START, as in BART's sources; a template
            says so itself.
        reverse: Whether the ids are in reverse order, END still last.

    Reference:
        Sutskever et al. 2014, section 3.3. https://arxiv.org/abs/1409.3215
    """
    if reverse:
        ids = tf.reverse(ids, axis=[ids.shape.rank - 1])
    if tokenizer.template is not None:
        return tokenizer.template.lay_out(ids)["tokens"]
    row = with_end(tokenizer, ids)
    return with_start(tokenizer, row) if start else row


def source_special(tokenizer, *, start: bool = False) -> int:
    """How many tokens `source_row` adds."""
    template = tokenizer.template
    return 1 + start if template is None else template.num_special()


def join_pair(tokenizer, first, second=None) -> dict:
    """Put one text, or two, between START and END, as BERT reads them.

        tokens = START, first, END                 segments = 0 ... 0
        tokens = START, first, END, second, END    segments = 0 ... 0, 1 ... 1

    Where the tokenizer has a template, that says what stands around them.

    Args:
        tokenizer: Its START and END are BERT's [CLS] and [SEP].
        first: Ragged (batch, tokens) ids.
        second: The same, or None.

    Returns:
        `{"tokens", "segments"}`, ragged int32 (batch, tokens).

    Reference:
        Devlin et al. 2019, section 3. https://arxiv.org/abs/1810.04805
    """
    if tokenizer.template is not None:
        return tokenizer.template.lay_out(first, second)
    tokens = with_start(tokenizer, with_end(tokenizer, first))
    segments = tf.zeros_like(tokens)
    if second is not None:
        second = with_end(tokenizer, second)
        tokens = tf.concat([tokens, second], axis=1)
        segments = tf.concat([segments, tf.ones_like(second)], axis=1)
    return {"tokens": tokens, "segments": segments}


def pair_special(tokenizer, texts: int) -> int:
    """How many tokens `join_pair` adds to one text, or to two."""
    template = tokenizer.template
    return 1 + texts if template is None else template.num_special(texts)


def truncate_pair(first, second, room: int):
    """Shorten two texts to `room` tokens together; the longer loses first.

    Args:
        first, second: Ragged (batch, tokens) ids; `second` may be None.
        room: The most tokens of a row.

    Returns:
        Both, and (batch,) booleans: whether a row has lost tokens.
    """
    lengths = first.row_lengths()
    if second is None:
        return first[:, :room], None, lengths > room
    seconds = second.row_lengths()
    # Half of the room, or what the other text leaves.
    share = tf.maximum(room - lengths, room // 2)
    kept_second = tf.minimum(seconds, share)
    kept = tf.minimum(lengths, room - kept_second)
    first, second = _prefix(first, kept), _prefix(second, kept_second)
    return first, second, lengths + seconds > room


def _prefix(ids, lengths):
    """The first tokens of each row of ragged ids, `lengths` of them."""
    starts = ids.row_starts()
    places = tf.ragged.range(starts, starts + lengths)
    return places.with_values(tf.gather(ids.values, places.values))
