"""A thread that writes files while training goes on."""

import concurrent.futures
import warnings


class BackgroundWriter:
    """Runs one function at a time in a thread of its own.

    A disk that is full does not end the training: hours of it may be in
    memory. It is warned about each time, from the caller's thread.

    Args:
        consequence: A function that says what a failed write means.
    """

    def __init__(self, consequence):
        self._consequence = consequence
        self._executor = concurrent.futures.ThreadPoolExecutor(1)
        self._future = None

    def __enter__(self):
        return self

    def __exit__(self, *error):
        self.wait()
        self._executor.shutdown()

    def submit(self, write, *args, **kwargs) -> None:
        """Write, once the last write has ended."""
        self.wait()
        self._future = self._executor.submit(write, *args, **kwargs)

    def poll(self) -> None:
        """Warn if the last write has failed by now."""
        if self._future is not None and self._future.done():
            self.wait()

    def wait(self) -> None:
        """Wait for the last write to end."""
        future, self._future = self._future, None
        if future is None:
            return
        try:
            future.result()
        except OSError as error:
            warnings.warn(
                f"A checkpoint could not be written: {error}. "
                f"{self._consequence()}",
                stacklevel=2,
            )
