"""BLEU of what a model writes, at the end of epochs."""

from collections.abc import Callable
from collections.abc import Sequence

from keras_attn.extras import require
from keras_attn.training.callbacks import texts
from keras_attn.training.callbacks.periodic import Periodic


class BLEU(Periodic):
    """Corpus BLEU of what the model writes, at the end of epochs.

        BLEU = 100 · min(1, exp(1 - r / h)) · (p1 · p2 · p3 · p4)^(1/4)

    by sacrebleu: p are precisions of n-grams, h and r the numbers of words
    written and of the references. `EarlyStopping(monitor="bleu", mode="max")`
    and `ModelCheckpoint` that come after it, History and TensorBoard see it in
    `logs`; with `every` above 1 there is nothing in the epochs between. It
    costs one `decode` of all sources. What `decode` raises ends the training.

    Args:
        decode: A function from `sources` to a list of as many strings, by the
            model as it is then: `lambda x: servable.translate(x)["text"]`.
        sources: What `decode` takes, with one for each text.
        references: A string for each source, or a list of strings for each.
        every: At the end of how many epochs it is measured once.
        name: Its name in `logs`; "val_bleu" if you keep to Keras' prefix.
        tokenize: sacrebleu's name of how words are split, such as "zh".
        verbose: 1 prints the score with its parts, 0 nothing.

    Reference:
        Papineni et al. 2002. https://aclanthology.org/P02-1040/
        Post 2018 (sacrebleu). https://aclanthology.org/W18-6319/
    """

    def __init__(
        self,
        decode: Callable,
        sources: Sequence,
        references: Sequence,
        *,
        every: int = 1,
        name: str = "bleu",
        tokenize: str = "13a",
        verbose: int = 1,
    ):
        super().__init__(every)
        self.decode = decode
        self.sources = sources
        self.references = references
        self.name = name
        self.tokenize = tokenize
        self.verbose = verbose
        self._number = texts.check_sources(sources)
        lists = texts.read_references(references, self._number)
        # sacrebleu takes the first references of all sources, then the second;
        # None where a source has no more.
        most = max(map(len, lists))
        filled = [each + [None] * (most - len(each)) for each in lists]
        self._streams = [list(stream) for stream in zip(*filled, strict=True)]
        # Here and not after the first epoch: it may be missing.
        sacrebleu = require("sacrebleu", extra="bleu")
        self._metric = sacrebleu.BLEU(tokenize=tokenize)

    def report(self, epoch, logs):
        written = texts.write_texts(self.decode, self.sources, self._number)
        score = self._metric.corpus_score(written, self._streams)
        logs[self.name] = score.score
        if self.verbose:
            print(f"\nEpoch {epoch}: {score}", flush=True)
