"""SIGTERM, with which schedulers take a machine away."""

import signal
import sys
import threading


class Termination:
    """Notes a SIGTERM, so that the run can save before it ends.

    Python allows handlers in the main thread alone; elsewhere nothing is
    noted. What handled the signal before does so again afterwards.
    """

    def __init__(self):
        self.requested = False
        self._before = None

    def __enter__(self):
        if threading.current_thread() is threading.main_thread():
            self._before = signal.signal(signal.SIGTERM, self._note)
        return self

    def __exit__(self, *error):
        if self._before is not None:
            signal.signal(signal.SIGTERM, self._before)

    def end(self, last) -> None:
        """End the program as the signal would have.

        Args:
            last: The checkpoint to continue from.

        Raises:
            SystemExit: With the exit code of a terminated program, 143.
        """
        print(
            f"SIGTERM: training ends here. Run the same program to continue "
            f"from {last}.",
            file=sys.stderr,
            flush=True,
        )
        raise SystemExit(128 + signal.SIGTERM)

    def _note(self, *_):
        self.requested = True
