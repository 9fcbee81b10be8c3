"""From a step function to whole sequences, in one loop of the graph."""

from keras_attn.decoding.beam_search import beam as beam
from keras_attn.decoding.generation import generate as generate
from keras_attn.decoding.greedy_search import greedy as greedy
from keras_attn.decoding.sampling import sample as sample
