"""Unigram segmentation as the paper has it, one position at a time."""

import numpy as np


def by_the_book(text, scores, dtype=np.float64):
    """Pieces of the highest total score; None for an unknown character.

    Args:
        text: The text.
        scores: Log-probability by piece.
        dtype: In which sums are rounded.
    """
    best = [(dtype(0.0), None)] + [(None, None)] * len(text)
    unknown = min(scores.values()) - 10.0
    for start in range(len(text)):
        for end in range(start + 1, len(text) + 1):
            piece = text[start:end]
            score = scores.get(piece)
            if score is None and end == start + 1:
                score = unknown
            if score is not None:
                total = dtype(float(best[start][0]) + score)
                # Of equal ones the first, whose last piece is the longest.
                if best[end][0] is None or total > best[end][0]:
                    best[end] = (total, start)
    pieces, end = [], len(text)
    while end:
        start = best[end][1]
        piece = text[start:end]
        pieces.append(piece if piece in scores else None)
        end = start
    return pieces[::-1]


def random_scores(rng, letters, count, longest=4, digits=None):
    """Scores of random pieces; few digits give many equal sums."""
    pieces = {
        "".join(rng.choices(letters, k=rng.randint(1, longest)))
        for _ in range(count)
    }
    return {
        piece: round(-rng.random() * 9 - 0.5 * len(piece), digits)
        if digits is not None
        else -rng.random() * 9 - 0.5 * len(piece)
        for piece in sorted(pieces)
    }
