"""One run for each folder of checkpoints."""

import contextlib
import fcntl
import os
import pathlib
import socket


@contextlib.contextmanager
def only_run(folder: pathlib.Path):
    """Hold a folder; it is free again when the process ends, however.

    Args:
        folder: It exists.

    Raises:
        RuntimeError: If another run holds it.
    """
    with (folder / "lock").open("a+", encoding="utf-8") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            file.seek(0)
            raise RuntimeError(
                f"Another run ({file.read().strip() or 'unknown'}) writes its "
                f"checkpoints to {folder}. Wait for it to end, or give this "
                "one another folder."
            ) from None
        except OSError:
            # This file system has no locks.
            yield
            return
        file.seek(0)
        file.truncate()
        file.write(f"process {os.getpid()} on {socket.gethostname()}\n")
        file.flush()
        yield
