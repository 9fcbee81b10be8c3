"""From a step function to whole sequences, in one loop of the graph.

generate        for any model that writes, by the name of a search
greedy          the most probable token at every step
sample          a token drawn at every step
beam            the most probable sequences

search_settings of a generation_config.json, in the words of these

GenerativeModel what a model needs to be generated from
State           what it keeps from step to step
"""

from keras_attn.base.state import State
from keras_attn.decoding.beam_search import beam
from keras_attn.decoding.generation import generate
from keras_attn.decoding.generation_config import search_settings
from keras_attn.decoding.greedy_search import greedy
from keras_attn.decoding.protocol import GenerativeModel
from keras_attn.decoding.sampling import sample

__all__ = [
    "GenerativeModel",
    "State",
    "beam",
    "generate",
    "greedy",
    "sample",
    "search_settings",
]
