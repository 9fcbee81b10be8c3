"""Strategies of tf.distribute by name, and what they miss."""

import json
import os

import tensorflow as tf

NAMES = ("auto", "cpu", "mirrored", "multi_worker", "tpu")


def strategy(name: str = "auto") -> tf.distribute.Strategy:
    """Make the `tf.distribute` strategy that trains on what a machine has.

    Make and compile the model within its scope; `fit` is as ever:

        with training.strategy("auto").scope():
            model = models.GPT.from_preset("gpt2")
            model.compile("adam", loss=training.MaskedCrossentropy())
        model.fit(dataset)

    Args:
        name:
            - "auto": a TPU if this machine has one; "multi_worker" if
              TF_CONFIG names several workers; "mirrored" if there are several
              GPUs; one device otherwise.
            - "cpu": one CPU, whatever else there is.
            - "mirrored": all GPUs of this machine, or all logical CPUs.
            - "multi_worker": the machines of the environment variable
              TF_CONFIG, each of which runs the same script.
            - "tpu": the TPU of this machine; "tpu:NAME" one elsewhere.

    Returns:
        A strategy, with a scope to make models in.

    Raises:
        ValueError: If there is no such name.
        RuntimeError: If what it needs is not there, and how to get it.
    """
    kind, _, address = name.partition(":")
    if kind not in NAMES or (address and kind != "tpu"):
        raise ValueError(
            f"`name` must be one of {NAMES}, or 'tpu:NAME'. Received: {name!r}"
        )
    makers = {
        "auto": _auto,
        "cpu": _cpu,
        "mirrored": _mirrored,
        "multi_worker": _multi_worker,
    }
    return _tpu(address) if kind == "tpu" else makers[kind]()


def _auto():
    if tf.config.list_physical_devices("TPU"):
        return _tpu("")
    if len(_workers()) > 1:
        return _multi_worker()
    if len(tf.config.list_physical_devices("GPU")) > 1:
        return _mirrored()
    return tf.distribute.get_strategy()


def _cpu():
    if tf.config.list_physical_devices("GPU"):
        return tf.distribute.OneDeviceStrategy("/cpu:0")
    return tf.distribute.get_strategy()


def _mirrored():
    if tf.config.list_physical_devices("GPU"):
        return tf.distribute.MirroredStrategy()
    cpus = [device.name for device in tf.config.list_logical_devices("CPU")]
    if len(cpus) == 1:
        raise RuntimeError(
            "'mirrored' needs GPUs, or several logical CPUs. TensorFlow sees "
            "no GPU and one CPU: take 'cpu', or call "
            "`tf.config.set_logical_device_configuration` first."
        )
    return tf.distribute.MirroredStrategy(cpus)


def _multi_worker():
    workers = _workers()
    if not workers:
        raise RuntimeError(
            "'multi_worker' needs the environment variable TF_CONFIG on each "
            "machine, the same but for the index, such as "
            '{"cluster": {"worker": ["host1:12345", "host2:12345"]}, '
            '"task": {"type": "worker", "index": 0}}.'
        )
    return tf.distribute.MultiWorkerMirroredStrategy()


def _tpu(address):
    try:
        resolver = tf.distribute.cluster_resolver.TPUClusterResolver(
            tpu=address or "local"
        )
        if address:
            tf.config.experimental_connect_to_cluster(resolver)
        tf.tpu.experimental.initialize_tpu_system(resolver)
    except (ValueError, tf.errors.OpError, RuntimeError) as error:
        raise RuntimeError(
            f"There is no TPU {address or 'of this machine'} that TensorFlow "
            "can use. On a Cloud TPU VM install tensorflow-tpu of this "
            "version and its libtpu instead of tensorflow, and see that no "
            f"other process holds the chips. TensorFlow says: {error}"
        ) from error
    return tf.distribute.TPUStrategy(resolver)


def _workers():
    """Addresses of the workers that TF_CONFIG names."""
    given = os.environ.get("TF_CONFIG", "")
    try:
        config = json.loads(given) if given else {}
        cluster = config.get("cluster", {})
        return [*cluster.get("chief", []), *cluster.get("worker", [])]
    except (ValueError, AttributeError) as error:
        raise RuntimeError(
            "TF_CONFIG must be JSON with a cluster and a task. Received: "
            f"{given!r}"
        ) from error
