"""Ask the compilers of chips what one tile of attention costs there.

    python -m benchmarks.tiles
    python -m benchmarks.tiles --targets a100 --tiles 512x256 1024x512

One tile of 8 rows with 8 heads of depth 64, forward and backward, in bfloat16:
it has no loop, so all of it is counted. Bytes are moved between the chip and
its memory; "temporary" is what the tile needs there, 0 if the chip itself holds
it. `ops/attend.py` has the tiles that were chosen by it.
"""

import argparse

import tensorflow as tf

from keras_attn.ops import masks
from keras_attn.ops.scores import Rules
from keras_attn.ops.tiling.tiled import tiled_attention
from keras_attn.training import accelerator_check

TARGETS = ("v5e", "a100", "h100")
TILES = ("256x256", "512x256", "512x512", "1024x512", "1024x1024", "2048x1024")
ROWS, HEADS, DEPTH = 8, 8, 64


def check(target: str, queries: int, keys: int):
    """What the compiler says of attention that is one tile."""
    rules = Rules(scale=DEPTH**-0.5, causal=False, window=None, modifiers=())

    def step(query, key, value, upstream):
        with tf.GradientTape() as tape:
            tape.watch((query, key, value))
            output = tiled_attention(
                rules,
                query,
                key,
                value,
                masks.consecutive(0, queries),
                masks.consecutive(0, keys),
                tile=(queries, keys),
            )
        return output, tape.gradient(output, (query, key, value), upstream)

    query, key = (
        tf.TensorSpec((ROWS, length, HEADS, DEPTH), "bfloat16")
        for length in (queries, keys)
    )
    return accelerator_check(step, query, key, key, query, target=target)


def row(target: str, queries: int, keys: int, found) -> str:
    """One line of the table."""
    scores = ROWS * HEADS * queries * keys
    cells = [target, f"{queries} × {keys}", "does not fit", "–"]
    if found.fits:
        cells[2:] = (
            f"{found.bytes_moved / scores:.1f}",
            f"{found.temporary_bytes / 2**20:,.0f}",
        )
    return f"| {' | '.join(cells)} |"


def main(arguments=None):
    """Compile and print the table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--targets", nargs="+", default=TARGETS)
    parser.add_argument("--tiles", nargs="+", default=TILES)
    args = parser.parse_args(arguments)
    print("| chip | queries × keys | bytes for each score | temporary, MiB |")
    print("| --- | --- | --- | --- |")
    for target in args.targets:
        for tile in args.tiles:
            queries, keys = map(int, tile.split("x"))
            found = check(target, queries, keys)
            print(row(target, queries, keys, found), flush=True)


if __name__ == "__main__":
    main()
