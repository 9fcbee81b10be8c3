import numpy as np
import tensorflow as tf

from keras_attn.ops.adversarial.row_noise import row_noise


def test_a_row_depends_on_its_seed_alone():
    several = row_noise(np.array([7, 3, 7, 2**62]), 5)
    np.testing.assert_array_equal(several[0], several[2])
    assert np.abs(several[0] - several[1]).min() > 1e-4
    for number, seed in enumerate([7, 3, 7, 2**62]):
        alone = row_noise(np.array([seed]), 5)[0]
        np.testing.assert_array_equal(several[number], alone)


def test_it_is_standard_normal():
    noise = tf.function(row_noise)(np.arange(1000), 20).numpy()
    assert abs(noise.mean()) < 0.03
    assert abs(noise.std() - 1) < 0.03
    # Neither across rows nor within one is anything shared.
    assert np.abs(np.corrcoef(noise[:20])[0, 1:]).max() < 0.8
    assert np.abs(np.corrcoef(noise.T) - np.eye(20)).max() < 0.15


def test_it_is_the_same_in_a_graph_and_of_an_empty_batch():
    seeds = np.array([1, 2, 3])
    spec = tf.TensorSpec([None], tf.int64)
    graph = tf.function(lambda x: row_noise(x, 4), input_signature=[spec])
    np.testing.assert_allclose(graph(seeds), row_noise(seeds, 4), rtol=1e-5)
    assert row_noise(seeds[:0], 4).shape == (0, 4)
