"""Words to the pieces of highest total score."""

import numpy as np
import tensorflow as tf

from keras_attn.text.sentence_piece.chain import reached
from keras_attn.text.sentence_piece.trie import END
from keras_attn.text.sentence_piece.trie import Trie


class BestPath(tf.Module):
    """Viterbi's algorithm over the pieces of words, for many words at once.

        best(0) = 0,    best(i) = max over pieces of word[j:i] of
                                  best(j) + score(piece)

    Words take a step together, code point by code point, and leave when they
    end. Of equal sums the one with the longest last piece is taken, as in
    sentencepiece. A code point that is no piece by itself may be unknown.

    Args:
        trie: The pieces; their values are indices of `scores`.
        scores: Log-probabilities, float64.
        unknown_score: Of one unknown code point.
        float32: Whether sums are rounded to float32 after each piece.
        most: The longest word; longer ones are cut there. It bounds the time.

    Call arguments:
        words: Ragged (words, characters) int32 code points.

    Returns:
        `pieces`, ragged (words, pieces) int64 indices, -1 - code point where
        it is unknown; and `margins`, (words,) float64: how much worse a piece
        of the path could have been without losing to another path.
    """

    def __init__(
        self,
        trie: Trie,
        scores: np.ndarray,
        *,
        unknown_score: float,
        float32: bool = False,
        most: int,
    ):
        super().__init__()
        self._trie = trie
        self._scores = scores
        self.unknown_score = unknown_score
        self.float32 = float32
        self.most = most
        vector = tf.TensorSpec([None], tf.int64)
        number = tf.TensorSpec([], tf.int64)
        table = tf.TensorSpec([None, None], tf.float64)
        # Thousands of steps are too slow outside a graph.
        self._in_graph = tf.function(
            self._search,
            input_signature=[table, number, vector, vector, number],
            autograph=False,
        )

    def __call__(self, words):
        codes, starts, counts, ends = self._places(words)
        size = tf.size(codes, tf.int64)
        pieces, scores, width = self._lattice(codes, size)
        goals, gaps = self._in_graph(scores, width, starts, counts, size)
        is_end = codes == END
        path = reached(is_end, goals)
        bounds = tf.where(path)[:, 0]
        opens = tf.where(path & ~is_end)[:, 0]
        # A piece ends at the next place of the path.
        following = tf.searchsorted(bounds, opens, side="right")
        lengths = tf.gather(bounds, following) - opens
        values = tf.gather(pieces, opens * width + lengths - 1)
        values = tf.where(values < 0, -1 - tf.gather(codes, opens), values)
        splits = tf.cast(tf.searchsorted(opens, ends), tf.int64)
        margins = tf.math.unsorted_segment_min(
            tf.gather(gaps, bounds),
            tf.searchsorted(ends[1:], bounds),
            tf.size(ends) - 1,
        )
        values = tf.RaggedTensor.from_row_splits(values, splits, validate=False)
        return values, margins

    def _places(self, words):
        """Code points, `END` behind each part of a word of `most` at most.

        Returns:
            `codes`, (places,); where parts start and how long they are,
            (parts,); and 0, then where words end, (words + 1,).
        """
        lengths = words.row_lengths()
        parts = tf.ragged.range(tf.zeros_like(lengths), lengths, self.most)
        word = tf.gather(words.row_starts(), parts.value_rowids())
        count = tf.size(word, tf.int64)
        total = tf.size(words.values, tf.int64)
        splits = tf.concat([parts.values + word, [total]], 0)
        counts = splits[1:] - splits[:-1]
        part = tf.repeat(tf.range(count), counts)
        codes = tf.tensor_scatter_nd_update(
            tf.fill([total + count], tf.constant(END, tf.int64)),
            (tf.range(total) + part)[:, tf.newaxis],
            tf.cast(words.values, tf.int64),
        )
        starts = splits[:-1] + tf.range(count)
        ends = tf.concat([[0], starts + counts], 0)
        return codes, starts, counts, tf.gather(ends, parts.row_splits)

    def _lattice(self, codes, size):
        """Pieces and scores by place and length: (places * width,)."""
        places, lengths, values = self._trie(codes)
        width = tf.maximum(tf.reduce_max(lengths), 1)
        index = (places * width + lengths - 1)[:, tf.newaxis]
        pieces = tf.tensor_scatter_nd_update(
            tf.fill([size * width], tf.constant(-1, tf.int64)), index, values
        )
        scores = tf.tensor_scatter_nd_update(
            tf.fill([size * width], tf.constant(-np.inf, tf.float64)),
            index,
            tf.gather(tf.constant(self._scores, tf.float64), values),
        )
        scores = tf.reshape(scores, [size, width])
        single = scores[:, :1]
        single = tf.where(
            single == -np.inf, tf.cast(self.unknown_score, tf.float64), single
        )
        return pieces, tf.concat([single, scores[:, 1:]], 1), width

    def _search(self, scores, width, starts, counts, size):
        """Where the best piece to each place starts, and its lead."""
        order = tf.argsort(counts, direction="DESCENDING", stable=True)
        starts_, counts_ = tf.gather(starts, order), tf.gather(counts, order)
        steps = tf.reduce_max(tf.concat([counts, [0]], 0))
        # Words that are longer than each step, which are the first ones.
        alive = tf.size(order) - tf.searchsorted(
            counts_[::-1], tf.range(steps), side="right"
        )
        nothing = tf.constant(-np.inf, tf.float64)
        best = tf.fill([tf.size(order, tf.int64), width], nothing)
        zeros = tf.zeros([tf.size(order, tf.int64), 1], tf.float64)
        lengths = tf.range(1, tf.cast(width, tf.int32) + 1)[tf.newaxis]

        def later(rows, count, fill):
            return tf.pad(
                rows[:count, 1:], [[0, 0], [0, 1]], constant_values=fill
            )

        def step(time, best, second, back, backs, gaps):
            count = alive[time]
            new = best[:count, :1] + tf.gather(
                scores, starts_[:count] + tf.cast(time, tf.int64)
            )
            if self.float32:
                new = tf.cast(tf.cast(new, tf.float32), tf.float64)
            old, second = (
                later(best, count, nothing),
                later(second, count, nothing),
            )
            better = new > old
            back = tf.where(better, lengths, later(back, count, 0))
            second = tf.maximum(second, tf.minimum(new, old))
            best = tf.where(better, new, old)
            backs = backs.write(time + 1, back[:, 0])
            gaps = gaps.write(time + 1, best[:, 0] - second[:, 0])
            return time + 1, best, second, back, backs, gaps

        def array(dtype):
            array = tf.TensorArray(
                dtype,
                tf.cast(steps, tf.int32) + 1,
                element_shape=[None],
                infer_shape=False,
            )
            # There may be no step, and nothing can be made of no rows.
            return array.write(0, tf.zeros([0], dtype))

        rows = tf.TensorShape([None, None])
        *_, backs, gaps = tf.while_loop(
            lambda time, *_: time < tf.cast(steps, tf.int32),
            step,
            (
                0,
                tf.concat([zeros, best[:, 1:]], 1),
                best,
                tf.zeros_like(best, tf.int32),
                array(tf.int32),
                array(tf.float64),
            ),
            shape_invariants=(
                tf.TensorShape([]),
                rows,
                rows,
                rows,
                tf.TensorShape(None),
                tf.TensorShape(None),
            ),
            parallel_iterations=1,
        )
        ranks = tf.ragged.range(alive)
        ends = (tf.gather(starts_, ranks.values) + ranks.value_rowids() + 1)[
            :, tf.newaxis
        ]
        places = tf.range(size)
        goals = tf.tensor_scatter_nd_sub(
            places, ends, tf.cast(backs.concat(), tf.int64)
        )
        lead = tf.fill([size], tf.constant(np.inf, tf.float64))
        return goals, tf.tensor_scatter_nd_update(lead, ends, gaps.concat())
