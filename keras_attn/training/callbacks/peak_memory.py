"""The most memory that a process and its accelerators have used."""

import pathlib
import re
import sys

import tensorflow as tf

_STATUS = pathlib.Path("/proc/self/status")


def process_peak() -> int | None:
    """Bytes of the process' largest resident set; None if no one knows."""
    if _STATUS.exists():
        found = re.search(r"VmHWM:\s*(\d+) kB", _STATUS.read_text())
        if found:
            return int(found[1]) * 1024
    try:
        import resource
    except ModuleNotFoundError:  # Windows
        return None
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    # macOS counts bytes, all others kB.
    return peak if sys.platform == "darwin" else peak * 1024


def accelerator_peak() -> int | None:
    """Bytes of the fullest GPU or TPU, or None if there is none that tells."""
    peaks = []
    for kind in ("GPU", "TPU"):
        for device in tf.config.list_logical_devices(kind):
            try:
                info = tf.config.experimental.get_memory_info(device.name)
            except (ValueError, tf.errors.OpError):
                continue  # this kind of device keeps no account
            peaks.append(int(info["peak"]))
    return max(peaks, default=None)
