"""Recurrent layers beside torch's, with torch's weights."""

import keras
import numpy as np
import pytest

from keras_attn.blocks.recurrent import Recurrent

pytestmark = pytest.mark.peers


def in_keras_order(kind, *tensors):
    """torch's (gates · units, features) as Keras has them.

    torch: r, z, n of a GRU and i, f, g, o of an LSTM. Keras: z, r, n.
    """
    order = {"gru": [1, 0, 2], "lstm": [0, 1, 2, 3]}[kind]
    for tensor in tensors:
        parts = np.split(tensor.detach().numpy(), len(order), axis=0)
        yield np.concatenate([parts[i] for i in order], axis=0)


@pytest.mark.parametrize("kind", ["gru", "lstm"])
def test_a_layer_is_torchs_also_backwards(kind, rng):
    torch = pytest.importorskip("torch")
    torch.manual_seed(0)
    kinds = {"gru": torch.nn.GRU, "lstm": torch.nn.LSTM}
    theirs = kinds[kind](3, 4, batch_first=True, bidirectional=True)
    x = rng.normal(size=(2, 5, 3)).astype("float32")
    wanted, _ = theirs(torch.tensor(x))
    wanted = wanted.detach().numpy()
    kinds = {"gru": keras.layers.GRUCell, "lstm": keras.layers.LSTMCell}
    for number, ending in enumerate(("", "_reverse")):
        ours = Recurrent(kinds[kind](4), go_backwards=bool(number))
        ours.build((2, 5, 3))
        names = ("weight_ih", "weight_hh", "bias_ih", "bias_hh")
        given = [getattr(theirs, f"{name}_l0{ending}") for name in names]
        w, u, b, b_h = in_keras_order(kind, *given)
        bias = np.stack([b, b_h]) if kind == "gru" else b + b_h
        ours.cell.set_weights([w.T, u.T, bias])
        outputs, *_ = ours(x)
        half = wanted[:, :, 4 * number : 4 * number + 4]
        np.testing.assert_allclose(outputs, half, atol=1e-5)
