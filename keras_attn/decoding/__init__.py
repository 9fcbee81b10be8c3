"""From a step function to whole sequences, in one loop of the graph.

generate        for any model that writes, by the name of a search
greedy          the likeliest token at every step
sample          a token drawn at every step
beam            the likeliest sequences
"""

from keras_attn.decoding.beam_search import beam
from keras_attn.decoding.generation import generate
from keras_attn.decoding.greedy_search import greedy
from keras_attn.decoding.sampling import sample

__all__ = [
    "beam",
    "generate",
    "greedy",
    "sample",
]
