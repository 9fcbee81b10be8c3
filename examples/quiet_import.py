"""Import TensorFlow without its notes on the machine's GPU and CPU."""

import contextlib
import os
import subprocess
import sys

# C++ writes the notes while its libraries are loaded, whatever
# TF_CPP_MIN_LOG_LEVEL says. The filter is another process, so that what is
# written before a crash comes through.
_FILTER = r"""
import re, sys
notes = re.compile(
    rb"WARNING: All log messages before absl::InitializeLog\(\) is called"
    rb"|I\d{4} .*Could not find cuda drivers on your machine"
    rb"|I\d{4} .*oneDNN custom operations are on"
)
for line in sys.stdin.buffer:
    if not notes.match(line):
        sys.stdout.buffer.write(line)
        sys.stdout.buffer.flush()
"""


def import_tensorflow():
    """Import TensorFlow; all but its notes goes to standard error."""
    if "tensorflow" not in sys.modules:
        with without_notes():
            import tensorflow  # noqa: F401


@contextlib.contextmanager
def without_notes():
    """Leave out TensorFlow's notes, and nothing else, of standard error."""
    sys.stderr.flush()
    outside = os.dup(2)
    with subprocess.Popen(
        [sys.executable, "-I", "-S", "-c", _FILTER],
        stdin=subprocess.PIPE,
        stdout=outside,
        # It ends with its input, not with Ctrl+C.
        start_new_session=True,
    ) as process:
        os.dup2(process.stdin.fileno(), 2)
        try:
            yield
        finally:
            sys.stderr.flush()
            os.dup2(outside, 2)
            os.close(outside)
