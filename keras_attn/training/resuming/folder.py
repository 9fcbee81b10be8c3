"""The checkpoints of a run: the last few, and the best."""

import os
import pathlib
import shutil
import warnings

from keras_attn.base import argument_checks
from keras_attn.training.resuming import checkpoint_file

BEST = "best.state"


class CheckpointFolder:
    """A folder that holds the last `keep` checkpoints, and the best one.

        step-00000150.state
        step-00000200.state
        best.state

    Args:
        path: The folder, which `prepare` makes.
        keep: How many of the last; at least 2 leave one to fall back to.
    """

    def __init__(self, path: str | os.PathLike, keep: int = 3):
        self.path = pathlib.Path(path)
        self.keep = argument_checks.integer(keep, "keep", at_least=1)

    def prepare(self) -> None:
        """Make the folder; remove what a killed run has left half-written."""
        self.path.mkdir(parents=True, exist_ok=True)
        for partial in self.path.glob(f"*{checkpoint_file.PARTIAL}"):
            partial.unlink(missing_ok=True)

    def save(
        self, step: int, header: dict, arrays: list, *, is_best: bool = False
    ) -> None:
        """Write a checkpoint, then remove those that are no longer kept.

        Raises:
            OSError: If it cannot be written. The others are still there.
        """
        path = self.path_of(step)
        checkpoint_file.write(path, header, arrays)
        if is_best:
            self._name_best(path)
        for old in self.files()[self.keep :]:
            old.unlink(missing_ok=True)

    def path_of(self, step: int) -> pathlib.Path:
        """The checkpoint after so many steps."""
        return self.path / f"step-{step:08d}.state"

    def files(self) -> list:
        """The checkpoints by step, the newest first."""
        found = self.path.glob("step-*.state")
        return sorted(found, key=_step_of, reverse=True)

    def newest(self):
        """Read the newest checkpoint that can be read.

        Damaged ones are warned about and passed over.

        Returns:
            Its path, header and arrays; or None if the folder has none.

        Raises:
            ValueError: If it has some and none can be read.
        """
        files = self.files()
        for path in files:
            try:
                return path, *checkpoint_file.read(path)
            except checkpoint_file.DamagedCheckpointError as error:
                warnings.warn(
                    f"{error} It is passed over; the one before it is used.",
                    stacklevel=2,
                )
        if files:
            raise ValueError(
                f"No checkpoint in {self.path} can be read. Remove them to "
                "begin anew."
            )
        return None

    def _name_best(self, path):
        best = self.path / BEST
        partial = best.with_name(BEST + checkpoint_file.PARTIAL)
        try:
            # Takes no space while the checkpoint is among the last.
            os.link(path, partial)
        except OSError:
            shutil.copyfile(path, partial)
        os.replace(partial, best)
        # Renaming does nothing if both names were of the same file.
        partial.unlink(missing_ok=True)
        checkpoint_file.flush_folder(self.path)


def _step_of(path):
    digits = path.stem.removeprefix("step-")
    return int(digits) if digits.isdecimal() else -1
