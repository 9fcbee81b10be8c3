"""The newest complete version of a model, kept up to date."""

import contextlib
import dataclasses
import logging
import pathlib
import threading
import time
from collections.abc import Iterator

import tensorflow as tf

from keras_attn.export.bundle.versions import list_versions
from keras_attn.export.bundle.warmup import read_warmup
from keras_attn.export.loader.loaded_model import LoadedModel
from keras_attn.export.server.statuses import status_of

# As TF Serving: a version that does not load may still be on its way here.
RETRY_SECONDS = 60.0

log = logging.getLogger(__name__)


class ServedModel:
    """A folder of versions, of which the newest answers.

    Another version takes over once it is loaded and has answered its warm-up
    requests; the one before it is freed after its last answer. If it fails,
    all stays as it is, and it is tried again a minute later.

    Args:
        folder: Holds the versions, folders with whole numbers as names.
        name: What clients call the model.
        poll_seconds: How often to look for another version.
        disable_xla: Whether to switch XLA off, as TF Serving does, for this
            whole process.

    Raises:
        FileNotFoundError: If there is no version.
        Exception: What the loader says, if the newest does not load.
    """

    def __init__(
        self,
        folder: str | pathlib.Path,
        name: str,
        *,
        poll_seconds: float = 1.0,
        disable_xla: bool = False,
    ):
        self.folder = pathlib.Path(folder)
        self.name = name
        self._disable_xla = disable_xla
        self._changed = threading.Condition()
        self._states = {}
        self._retry_times = {}
        versions = list_versions(self.folder)
        if not versions:
            raise FileNotFoundError(
                f"{self.folder} holds no version of a model, which would be a "
                "folder with a whole number as its name. Give the folder that "
                "`export_model` wrote to."
            )
        self._current = self._load(*max(versions.items()))
        self._stopped = threading.Event()
        self._poller = threading.Thread(
            target=self._poll, args=(poll_seconds,), daemon=True
        )
        self._poller.start()

    @contextlib.contextmanager
    def use(
        self, name: str, version: int | None = None
    ) -> Iterator[tuple[int, LoadedModel]]:
        """Keep a version loaded while it answers.

        Args:
            name: What the client calls the model.
            version: The version wanted; None for the newest.

        Returns:
            The version's number, and the version.

        Raises:
            tf.errors.NotFoundError: If that is not loaded.
        """
        with self._changed:
            used = self._current
            if name != self.name or version not in (None, used.number):
                wanted = f"Latest({name})"
                if version is not None:
                    wanted = f"Specific({name}, {version})"
                raise tf.errors.NotFoundError(
                    None, None, f"Servable not found for request: {wanted}"
                )
            used.users += 1
        try:
            yield used.number, used.loaded
        finally:
            with self._changed:
                used.users -= 1
                self._changed.notify_all()

    def states(self) -> dict[int, tuple[str, int, str]]:
        """Tell how each version is: its state, error code and message."""
        with self._changed:
            return dict(self._states)

    def refresh(self):
        """Serve the newest version of the folder, if that is another one."""
        versions = list_versions(self.folder)
        newest = max(versions, default=self._current.number)
        if newest == self._current.number:
            return
        if time.monotonic() < self._retry_times.get(newest, 0.0):
            return
        try:
            loaded = self._load(newest, versions[newest])
        except Exception as error:
            log.warning("Version %s does not load: %s", newest, error)
            self._retry_times[newest] = time.monotonic() + RETRY_SECONDS
            return
        with self._changed:
            before, self._current = self._current, loaded
        self._free(before)

    def close(self):
        """Stop looking for versions, and free the memory."""
        self._stopped.set()
        self._poller.join()
        self._free(self._current)

    def _poll(self, seconds):
        while not self._stopped.wait(seconds):
            try:
                self.refresh()
            except OSError as error:
                log.warning("Cannot look for versions: %s", error)

    def _load(self, number, path):
        self._set_state(number, "LOADING")
        try:
            loaded = LoadedModel(path, disable_xla=self._disable_xla)
            try:
                _warm_up(loaded)
            except Exception:
                loaded.close()
                raise
        except Exception as error:
            self._set_state(number, "END", *status_of(error))
            raise
        self._set_state(number, "AVAILABLE")
        return _Version(number, loaded)

    def _free(self, version):
        self._set_state(version.number, "UNLOADING")
        with self._changed:
            self._changed.wait_for(lambda: not version.users)
        version.loaded.close()
        self._set_state(version.number, "END")

    def _set_state(self, number, state, code=tf.errors.OK, message=""):
        with self._changed:
            self._states[number] = (state, code, message)


@dataclasses.dataclass
class _Version:
    number: int
    loaded: LoadedModel
    users: int = 0


def _warm_up(loaded):
    """Run the recorded requests; one that fails, fails the version."""
    for signature, inputs in read_warmup(loaded.folder):
        loaded.run(signature or "serving_default", inputs)
