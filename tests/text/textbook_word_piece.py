"""Longest match as the paper tells it, one word at a time."""


def pieces(word: bytes, ids: dict, *, unknown: int) -> list[int]:
    """Ids of one word, or the unknown id alone.

    Args:
        word: The word.
        ids: Id by piece; pieces that continue a word start with ##.
        unknown: Id of a word that cannot be put together.
    """
    found, start = [], 0
    while start < len(word):
        for end in range(len(word), start, -1):
            piece = (b"##" if start else b"") + word[start:end]
            if piece in ids:
                break
        else:
            return [unknown]
        found.append(ids[piece])
        start = end
    return found if len(word) <= 100 else [unknown]
