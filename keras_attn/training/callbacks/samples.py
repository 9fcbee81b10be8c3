"""What a model writes, to read at the end of epochs."""

import os
import pathlib
from collections.abc import Callable
from collections.abc import Sequence

from keras_attn.training.callbacks import texts
from keras_attn.training.callbacks.periodic import Periodic


class Samples(Periodic):
    """Prints what the model writes for a few sources, at the end of epochs.

    Reading shows what no score does: words said twice, an end that comes too
    early, the same answer to every source. It costs one `decode` of these
    sources. What `decode` raises ends the training; a file that cannot be
    written does not, and is warned of once.

    Args:
        decode: A function from `sources` to a list of as many strings.
        sources: What `decode` takes, with one for each text. Strings are
            printed; of images and the like, their place in the list.
        every: At the end of how many epochs it prints once.
        references: None, or what the model should write: a string for each
            source, or a list of strings for each.
        file: A text file that the same lines are added to, or None.
    """

    def __init__(
        self,
        decode: Callable,
        sources: Sequence,
        *,
        every: int = 1,
        references: Sequence | None = None,
        file: str | os.PathLike | None = None,
    ):
        super().__init__(every)
        self.decode = decode
        self.sources = sources
        self.references = references
        self.file = None if file is None else pathlib.Path(file)
        number = texts.check_sources(sources)
        self._wanted = [[]] * number
        if references is not None:
            self._wanted = texts.read_references(references, number)

    def report(self, epoch, logs):
        number = len(self._wanted)
        written = texts.write_texts(self.decode, self.sources, number)
        lines = [f"Epoch {epoch}"]
        for place in range(number):
            source = self.sources[place]
            shown = source if isinstance(source, str) else f"number {place}"
            lines.append(f"  source:    {shown}")
            lines += [f"  reference: {text}" for text in self._wanted[place]]
            lines.append(f"  model:     {written[place]}")
        text = "\n".join(lines) + "\n"
        # The progress bar leaves its line open.
        print(f"\n{text}", end="", flush=True)
        if self.file is not None:
            self.append(self.file, text)
