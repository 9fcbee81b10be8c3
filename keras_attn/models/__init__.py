"""Whole networks, in their published sizes.

Transformer     encoder and decoder: a text to another
RNNSeq2Seq      the same, recurrent: with attention, or through one vector
GPT             decoder: a text and how it goes on
RNNLanguageModel
                the same with one recurrent state as its memory
BERT            encoder: a text as vectors
SequenceRegressor
                a sequence, of tokens, vectors or frames, to numbers or classes
RNNCaptioner    an image to a text, by a recurrent decoder that attends to it
TransformerCaptioner
                the same without recurrence, on a CNN or on patches of pixels
ViLBERT         a text beside the regions of an image, in two streams
ViT             an image, as patches, to classes or vectors
SAGAN           noise, and a class, to an image

`from_huggingface` reads a published checkpoint, as the class that it is of.
"""

from keras_attn.models.bert.model import BERT
from keras_attn.models.gpt.model import GPT
from keras_attn.models.pretrained import from_huggingface
from keras_attn.models.rnn_captioner.model import RNNCaptioner
from keras_attn.models.rnn_language_model.model import RNNLanguageModel
from keras_attn.models.rnn_seq2seq.model import RNNSeq2Seq
from keras_attn.models.sagan.model import SAGAN
from keras_attn.models.sequence_regressor.model import SequenceRegressor
from keras_attn.models.transformer.model import Transformer
from keras_attn.models.transformer_captioner.model import TransformerCaptioner
from keras_attn.models.vilbert.model import ViLBERT
from keras_attn.models.vit.model import ViT

__all__ = [  # noqa: RUF022 (plainly sorted, as all doors)
    "BERT",
    "GPT",
    "RNNCaptioner",
    "RNNLanguageModel",
    "RNNSeq2Seq",
    "SAGAN",
    "SequenceRegressor",
    "Transformer",
    "TransformerCaptioner",
    "ViLBERT",
    "ViT",
    "from_huggingface",
]
