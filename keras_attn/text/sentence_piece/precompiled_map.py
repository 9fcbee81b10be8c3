"""SentencePiece's compiled rules of normalisation, taken apart."""

import numpy as np

# Bits of a unit of the double array.
_LEAF, _VALUE, _WIDE = 1 << 8, (1 << 31) - 1, 1 << 9
_LABEL = 1 << 31 | 0xFF


def entries(compiled: bytes) -> dict[str, str]:
    """List what a `precompiled_charsmap` replaces, and by what.

    The map is a double-array trie (of the library darts-clone) over the bytes
    of what is replaced. From a node, byte c leads to

        goal = node ^ offset(node) ^ c,    if label(goal) = c

    and a node that ends a key has the place of its replacement at
    node ^ offset(node). All nodes of one depth are gone through at once.

    Args:
        compiled: The size of the trie in bytes, the trie, and the replacements,
            each ended by a zero.
    """
    if not compiled:
        return {}
    size = int.from_bytes(compiled[:4], "little")
    if size % 4 or not 4 <= size <= len(compiled) - 4:
        raise ValueError(
            "A precompiled character map tells the size of its trie first. "
            f"Received: {size} of {len(compiled)} bytes."
        )
    units = np.frombuffer(compiled, "<u4", size // 4, offset=4).astype("int64")
    texts = compiled[4 + size :]
    labels = units & _LABEL
    # Each unit that can be a goal, in order of node ^ offset(node).
    goals = np.flatnonzero((labels > 0) & (labels < 256))
    origins = goals ^ labels[goals]
    goals = goals[np.argsort(origins, kind="stable")]
    origins = np.sort(origins)
    found = {}
    nodes, keys = np.zeros(1, "int64"), [b""]
    while len(nodes):
        offsets = nodes ^ _offset(units[nodes])
        for place in np.flatnonzero(units[nodes] & _LEAF):
            start = units[offsets[place]] & _VALUE
            end = texts.index(b"\0", start)
            found[keys[place].decode()] = texts[start:end].decode()
        first = np.searchsorted(origins, offsets)
        count = np.searchsorted(origins, offsets, side="right") - first
        parents = np.repeat(np.arange(len(nodes)), count)
        within = np.arange(len(parents)) - np.repeat(
            np.cumsum(count) - count, count
        )
        nodes = goals[first[parents] + within]
        keys = [
            keys[parent] + bytes([label])
            for parent, label in zip(parents, labels[nodes], strict=True)
        ]
    return found


def _offset(units):
    return (units >> 10) << np.where(units & _WIDE, 8, 0)
