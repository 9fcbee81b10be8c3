"""Ask the compilers of chips how long a sequence one attention layer takes.

    python -m benchmarks.longest
    python -m benchmarks.longest --target v5e --tokens 131072

A layer 512 wide with 8 heads, forward and backward, batch 8, in bfloat16, as it
attends there by itself: with the TPU's kernel, or in tiles.
"""

import argparse

import tensorflow as tf

from keras_attn.attention.multi_head import MultiHeadAttention
from keras_attn.training import accelerator_check

ROWS, WIDTH, HEADS = 8, 512, 8
CASES = [("v5e", 131_072), ("a100", 262_144)]


def check(target: str, tokens: int, *, causal: bool):
    """What the compiler says of the layer and of all its gradients."""
    spec = tf.TensorSpec((ROWS, tokens, WIDTH), "bfloat16")
    layer = MultiHeadAttention(HEADS, WIDTH // HEADS, dtype="mixed_bfloat16")
    layer.build(spec.shape, spec.shape)
    weights = [weight.value for weight in layer.trainable_weights]

    def step(features):
        with tf.GradientTape() as tape:
            tape.watch(features)
            output = layer(features, features, use_causal_mask=causal)
        return output, tape.gradient(output, [features, *weights])

    return accelerator_check(step, spec, target=target)


def row(tokens: int, causal: bool, found) -> str:
    """One line of the table."""
    memory = f"{found.total_bytes / 2**30:.2f}" if found.fits else found.reason
    mask = "causal" if causal else "none"
    return f"| {found.target} | {tokens:,} | {mask} | {memory} |"


def main(arguments=None):
    """Compile and print the table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--target")
    parser.add_argument("--tokens", type=int, default=65_536)
    args = parser.parse_args(arguments)
    print("| chip | tokens | mask | memory, GiB |")
    print("| --- | --- | --- | --- |")
    for target, tokens in (
        [(args.target, args.tokens)] if args.target else CASES
    ):
        for causal in (False, True):
            found = check(target, tokens, causal=causal)
            print(row(tokens, causal, found), flush=True)


if __name__ == "__main__":
    main()
