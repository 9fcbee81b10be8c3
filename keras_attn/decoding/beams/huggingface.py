"""Beam search as transformers' `generate` does it: a pool for ended beams."""

import math

import numpy as np
import tensorflow as tf

from keras_attn.decoding.answer_mask import is_end
from keras_attn.decoding.beams.expansion import Expansion
from keras_attn.decoding.beams.expansion import only_first


def num_candidates(width: int, num_ends: int) -> int:
    """How many continuations of a row are looked at, so that some go on."""
    return max(2, 1 + num_ends) * width


def search(
    expand: Expansion,
    *,
    length_penalty: float,
    early_stopping: bool | str,
    keep_state: bool,
):
    """Set ended beams aside, and go on with `width` that have not ended.

        score = Σ log p(token[t]) / length^length_penalty

    The length counts new tokens and the end. Of the best max(2, 1 + ends) ·
    `width` continuations by Σ log p, those that end join the pool if they are
    among the first `width`, and the pool keeps its best `width`; the best
    `width` of the others go on. At its limit, all that is left of a row ends.
    A row stops when its best running beam, divided by the length that it has,
    cannot beat the worst of a full pool.

    Args:
        expand: Takes the steps.
        length_penalty: More favours longer answers; it may be negative.
        early_stopping: True stops a row as soon as its pool is full; "never"
            divides by the longest length, if the penalty is above 0.
        keep_state: Whether a beam keeps the state of its end.

    Returns:
        As `textbook.search` does.

    Reference:
        Wolf et al. 2020, section 3. https://arxiv.org/abs/1910.03771
    """
    batch, batch_size = expand.batch, expand.batch_size
    width, last, first_rows = expand.width, expand.last, expand.first_rows
    lengths = np.arange(1.0, expand.max_length + 1)
    penalties = tf.constant(lengths**length_penalty, tf.float32)
    hopes_for_limit = early_stopping == "never" and length_penalty > 0
    at_limit = tf.reshape(tf.gather(penalties, tf.maximum(last, 0)), [-1])

    def unfinished(index, open_rows, *others):
        some = tf.reduce_any(open_rows)
        return tf.logical_and(index < expand.max_length, some)

    def advance(index, open_rows, token, sums, rows, written, leaves, pool):
        leaves = [tf.gather(leaf, rows) for leaf in leaves]
        values, new, after = expand(token, leaves, written, index)
        number = values.shape[-1]
        candidates = tf.expand_dims(sums, 2) + values
        nothing = tf.math.is_nan(candidates)
        candidates = tf.where(nothing, -math.inf, candidates)
        candidates = tf.reshape(candidates, [batch, width * number])
        most = num_candidates(width, len(expand.end_ids))
        best, flat = tf.math.top_k(candidates, min(most, width * number))
        flat += first_rows * number  # (batch, candidates)
        token = tf.gather(tf.reshape(new["tokens"], [-1]), flat)
        ends = is_end(token, expand.end_ids) | (index == last)

        def follow(flat):
            """The beams that candidates come from, and what these add."""
            flat = tf.reshape(flat, [-1])
            return flat // number, {
                name: tf.gather(tf.reshape(each, [-1]), flat)
                for name, each in new.items()
            }

        rows, added = follow(flat[:, :width])
        joins = ends[:, :width] & open_rows[:, None]
        pool = _join(
            pool,
            tf.where(joins, best[:, :width] / penalties[index], -math.inf),
            expand.write(written, rows, added, index),
            [tf.gather(leaf, rows) for leaf in after] if keep_state else [],
            first_rows,
        )
        running = tf.where(ends, -math.inf, best)
        sums, chosen = tf.math.top_k(running, width)  # (batch, width)
        rows, added = follow(tf.gather(flat, chosen, batch_dims=1))
        written = expand.write(written, rows, added, index)

        worst = tf.reduce_min(pool["scores"], axis=-1)
        hope = sums[:, 0] / (at_limit if hopes_for_limit else penalties[index])
        open_rows &= hope > worst
        if early_stopping is True:
            open_rows &= tf.logical_not(worst > -math.inf)
        token = added["tokens"]
        return index + 1, open_rows, token, sums, rows, written, after, pool

    # At first each row has one beam; the others are there to be displaced.
    sums = tf.zeros([batch_size, 1]) + only_first(width)
    open_rows = tf.fill([batch_size], True) & (tf.reshape(last, [-1]) >= 0)
    all_rows = tf.range(batch_size * width)
    leaves = expand.layout.leaves
    pool = {
        # A row that is not to be answered has one answer: none.
        "scores": tf.where(open_rows[:, None], -math.inf, sums),
        "written": expand.blank(),
        "leaves": list(leaves) if keep_state else [],
    }
    start = (tf.constant(0), open_rows, expand.start, sums, all_rows)
    *_, pool = tf.while_loop(
        unfinished, advance, (*start, expand.blank(), leaves, pool)
    )
    return pool["scores"], pool["written"], pool["leaves"], all_rows


def _join(pool, scores, written, leaves, first_rows):
    """Keep the best of a pool and of as many that come to it."""
    width = scores.shape[-1]
    merged = tf.concat([pool["scores"], scores], axis=1)
    scores, chosen = tf.math.top_k(merged, width)  # (batch, width)
    # Those that come stand after all of the pool's rows.
    later = tf.size(first_rows) * width - width
    places = first_rows + chosen + tf.where(chosen < width, 0, later)
    places = tf.reshape(places, [-1])

    def keep(old, new):
        return tf.gather(tf.concat([old, new], axis=0), places)

    return {
        "scores": scores,
        "written": {
            name: keep(old, written[name])
            for name, old in pool["written"].items()
        },
        "leaves": [
            keep(old, new)
            for old, new in zip(pool["leaves"], leaves, strict=True)
        ],
    }
