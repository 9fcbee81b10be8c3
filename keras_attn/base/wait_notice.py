"""A line on standard error that says what one is waiting for."""

import sys
import threading

# Nobody wonders before.
SECONDS = 3.0


class WaitNotice:
    """Says what is being done, once it has taken some seconds.

    Work that is over sooner says nothing. Used in a `with` block.

    Args:
        name: Who says it, such as "keras_attn.export".
        doing: What is done first; `say` tells what comes next.
        verbose: Whether it says anything at all.
        after: Seconds after which lines begin to appear.
    """

    def __init__(
        self,
        name: str,
        doing: str,
        *,
        verbose: bool = True,
        after: float = SECONDS,
    ):
        self._name = name
        self._doing = doing
        self._verbose = verbose
        self._is_long = False
        self._lock = threading.Lock()
        self._timer = threading.Timer(after, self._begin)
        # It must not keep a program alive that has failed.
        self._timer.daemon = True

    def __enter__(self):
        if self._verbose:
            self._timer.start()
        return self

    def __exit__(self, *error):
        self._timer.cancel()
        with self._lock:
            self._is_long = False
            self._doing = None

    def say(self, doing: str) -> None:
        """Tell what is done from now on."""
        with self._lock:
            self._doing = doing
            if self._is_long:
                self._print()

    def _begin(self):
        with self._lock:
            if self._doing is not None:
                self._is_long = True
                self._print()

    def _print(self):
        print(f"{self._name}: {self._doing} ...", file=sys.stderr, flush=True)
