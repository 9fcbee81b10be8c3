import keras
import numpy as np
import pytest

from keras_attn.models import RNNSeq2Seq

# Of the papers' sizes, without biases. A part is named by what its weights'
# paths contain.
COUNTS = {
    "sutskever2014": {
        "embedding": 240_000_000,
        "lstm": 64_000_000,
        "logits": 80_000_000,
    },
    "bahdanau2015": {
        "embedding": 37_200_000,
        "encoder/": 9_720_000,
        "additive_attention": 3_001_000,
        "attention_cell/gru": 10_860_000,
        "initial_state": 1_000_000,
        "maxout": 3_620_000,
        "logits": 15_000_000,
    },
    "luong2015": {
        "embedding": 100_000_000,
        "encoder/": 32_000_000,
        "stacked_rnn_cells": 36_000_000,
        "multiplicative_attention": 1_000_000,
        "attentional/": 2_000_000,
        "logits": 50_000_000,
    },
}
TOTALS = {
    "sutskever2014": 384_000_000,
    "bahdanau2015": 80_401_000,
    "luong2015": 221_000_000,
}


@pytest.mark.parametrize("name", RNNSeq2Seq.presets)
def test_every_part_has_its_published_number_of_parameters(name):
    # Weights that are described, and never made.
    with keras.StatelessScope(initialize_variables=False):
        model = RNNSeq2Seq.from_preset(name)
    found = {
        part: sum(
            int(np.prod(weight.shape))
            for weight in model.weights
            if part in weight.path
        )
        for part in COUNTS[name]
    }
    assert found == COUNTS[name]
    assert model.count_params() == sum(found.values()) == TOTALS[name]
