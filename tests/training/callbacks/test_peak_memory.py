import resource
import types

import numpy as np
import pytest
import tensorflow as tf

from keras_attn.training.callbacks import peak_memory


def test_the_systems_account_is_read(monkeypatch, tmp_path):
    status = tmp_path / "status"
    status.write_text("VmPeak:\t  9 kB\nVmHWM:\t   123 kB\nVmRSS:\t 5 kB\n")
    monkeypatch.setattr(peak_memory, "_STATUS", status)
    assert peak_memory.process_peak() == 123 * 1024


def test_the_peak_never_falls():
    before = peak_memory.process_peak()
    block = np.ones(20_000_000, "uint8")
    during = peak_memory.process_peak()
    del block
    # Linux does not count every page at once.
    pages = 2_000_000
    assert before - pages < during < peak_memory.process_peak() + pages
    # TensorFlow alone takes more.
    assert before > 50_000_000


def test_without_proc_the_system_is_asked(monkeypatch, tmp_path):
    by_proc = peak_memory.process_peak()
    monkeypatch.setattr(peak_memory, "_STATUS", tmp_path / "none")
    assert peak_memory.process_peak() == pytest.approx(by_proc, rel=0.05)
    # macOS counts in bytes.
    kilobytes = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    monkeypatch.setattr(peak_memory.sys, "platform", "darwin")
    assert peak_memory.process_peak() == pytest.approx(kilobytes, rel=0.05)


def test_the_fullest_accelerator_tells(monkeypatch):
    peaks = {"GPU:0": 5, "GPU:1": 7}

    def devices(kind):
        names = [f"{kind}:{n}" for n in range(2)]
        return [types.SimpleNamespace(name=name) for name in names]

    def info(name):
        if name not in peaks:
            raise ValueError("no allocator")
        return {"current": 1, "peak": peaks[name]}

    monkeypatch.setattr(tf.config, "list_logical_devices", devices)
    monkeypatch.setattr(tf.config.experimental, "get_memory_info", info)
    assert peak_memory.accelerator_peak() == 7
    peaks.clear()
    assert peak_memory.accelerator_peak() is None
