import tensorflow as tf

from keras_attn.ops import attend
from keras_attn.ops.fused import target
from keras_attn.ops.fused.target import lowered_for


def test_without_a_tpu_there_are_core_ops():
    assert target.kernel_target() == "core"
    assert not target.is_preferred()


def test_a_strategy_of_a_tpu_is_known(monkeypatch):
    class TPU(tf.distribute.OneDeviceStrategy):
        pass

    monkeypatch.setattr(tf.distribute, "TPUStrategy", TPU)
    monkeypatch.setattr(target, "reason_against_jax", lambda: "")
    with TPU("/cpu:0").scope():
        assert target.kernel_target() == "tpu"
        assert target.is_preferred()
        with lowered_for("core"):
            assert not target.is_preferred()
    assert target.kernel_target() == "core"


def test_a_gpu_is_known_and_has_no_kernel(monkeypatch):
    monkeypatch.setattr(
        tf.config, "list_physical_devices", lambda kind: [f"{kind}:0"]
    )
    assert target.kernel_target() == "gpu"
    assert not target.has_kernel() and not target.is_preferred()
    with lowered_for("interpreter"):
        assert target.has_kernel()


def test_auto_takes_the_kernel_on_a_tpu_for_long_sequences(monkeypatch):
    monkeypatch.setattr(target, "reason_against_jax", lambda: "")
    with lowered_for("tpu"):
        assert attend._choose(2048, 2048, return_weights=False) == "fused"
        assert attend._choose(64, 2048, return_weights=False) == "dense"
        assert attend._choose(2048, 2048, return_weights=True) == "dense"
    assert attend._choose(2048, 2048, return_weights=False) == "tiled"
    monkeypatch.setattr(target, "reason_against_jax", lambda: "no jax")
    with lowered_for("tpu"):
        assert attend._choose(2048, 2048, return_weights=False) == "tiled"
