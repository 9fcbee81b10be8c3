"""Processes that need not import TensorFlow: it is imported once and forked.

TensorFlow starts no thread before it is used, so it may be forked until then.
"""

import json
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import time
import traceback

ROOT = pathlib.Path(__file__).parents[3]


class Program:
    """A module that answers every line of JSON, such as by forking.

    Args:
        module: Its `__main__` calls `serve`.
    """

    def __init__(self, module):
        self._process = subprocess.Popen(
            [sys.executable, "-m", module.__name__],
            cwd=ROOT,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self._process.stdin.close()
        self._process.stdout.close()
        self._process.wait()

    def __call__(self, *request):
        self._process.stdin.write(json.dumps(request, default=str) + "\n")
        self._process.stdin.flush()
        return json.loads(self._process.stdout.readline())


class Forked:
    """A function in a process of its own.

    Args:
        function: What it runs.
        *args: With what.
    """

    def __init__(self, function, *args):
        self._out = tempfile.TemporaryFile("w+")
        self._err = tempfile.TemporaryFile("w+")
        self.process = os.fork()
        if self.process == 0:
            os.dup2(self._out.fileno(), 1)
            os.dup2(self._err.fileno(), 2)
            _run(function, args)

    def wait(self, timeout=120):
        """Wait for its end: exit code, output, errors, seconds."""
        start = time.monotonic()
        while True:
            process, status = os.waitpid(self.process, os.WNOHANG)
            seconds = time.monotonic() - start
            if process:
                break
            if seconds > timeout:
                os.kill(self.process, signal.SIGKILL)
            time.sleep(0.02)
        texts = []
        for file in (self._out, self._err):
            file.seek(0)
            texts.append(file.read())
            file.close()
        return os.waitstatus_to_exitcode(status), *texts, seconds


def serve(answer):
    """Answer the lines of JSON that come."""
    for line in sys.stdin:
        print(json.dumps(answer(*json.loads(line))), flush=True)


def _run(function, args):
    """End as any program does, with all that Python has to do then."""
    try:
        function(*args)
    except Exception:
        traceback.print_exc()
        sys.exit(1)
    sys.exit(0)
