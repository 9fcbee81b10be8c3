"""What a training run needs, apart from models and data.

MaskedCrossentropy         a loss that leaves padding out
MaskedDivergence           a loss beside distributions of classes
MultiLabelCrossentropy     a loss of images that show several classes
DistillationLoss           a loss beside a teacher's logits
Distillation               a model that trains a student beside a teacher
MaskedAccuracy             a metric that leaves padding out
Perplexity                 a metric of language models
F1                         a metric of one class, as in MRPC
MatthewsCorrelation        a metric of classes of unequal sizes, as in CoLA
PearsonCorrelation         a metric of numbers, as in STS-B
SpearmanCorrelation        a metric of orders, as in STS-B
frechet_distance           how far made images are from real ones
WarmupCosine               a schedule of the learning rate
WarmupLinear               the schedule of BERT
WarmupRsqrt                the schedule of the Transformer
AdamW                      an optimizer that decays kernels alone
layer_rates                lower rates for lower layers, for AdamW
Lamb                       an optimizer for large batches
deit3_recipe               how DeiT III trains a ViT
glue_recipe                how BERT is fine-tuned on GLUE
strategy                   one device, several, several machines, or a TPU
distributed                any Keras model, right on any number of replicas
CompileNotice              a callback that says when a step is compiled
BLEU                       a callback that scores what the model writes
Samples                    a callback that prints what the model writes
Pictures                   a callback that draws at the end of epochs
Throughput                 a callback that measures tokens/s and memory
fit                        Keras' fit, which survives a kill
restore                    the weights that it has saved
accelerator_check          whether a step compiles for a TPU or GPU, and fits
accelerator_check_model    the same of a model's training or decode step
"""

from keras_attn.training.accelerator.check import accelerator_check
from keras_attn.training.accelerator.check_model import accelerator_check_model
from keras_attn.training.callbacks.bleu import BLEU
from keras_attn.training.callbacks.compile_notice import CompileNotice
from keras_attn.training.callbacks.pictures import Pictures
from keras_attn.training.callbacks.samples import Samples
from keras_attn.training.callbacks.throughput import Throughput
from keras_attn.training.distillation.model import Distillation
from keras_attn.training.distribution.distributed import distributed
from keras_attn.training.distribution.strategies import strategy
from keras_attn.training.losses.distillation_loss import DistillationLoss
from keras_attn.training.losses.masked_crossentropy import MaskedCrossentropy
from keras_attn.training.losses.masked_divergence import MaskedDivergence
from keras_attn.training.losses.multi_label_crossentropy import (
    MultiLabelCrossentropy,
)
from keras_attn.training.metrics.f1 import F1
from keras_attn.training.metrics.frechet_distance import frechet_distance
from keras_attn.training.metrics.masked_accuracy import MaskedAccuracy
from keras_attn.training.metrics.matthews import MatthewsCorrelation
from keras_attn.training.metrics.pearson import PearsonCorrelation
from keras_attn.training.metrics.perplexity import Perplexity
from keras_attn.training.metrics.spearman import SpearmanCorrelation
from keras_attn.training.optimizers.adamw import AdamW
from keras_attn.training.optimizers.lamb import Lamb
from keras_attn.training.optimizers.layer_rates import layer_rates
from keras_attn.training.recipes.deit3 import deit3_recipe
from keras_attn.training.recipes.glue import glue_recipe
from keras_attn.training.resuming.fit import fit
from keras_attn.training.resuming.restoring import restore
from keras_attn.training.schedules.warmup_cosine import WarmupCosine
from keras_attn.training.schedules.warmup_linear import WarmupLinear
from keras_attn.training.schedules.warmup_rsqrt import WarmupRsqrt

__all__ = [  # noqa: RUF022 (plainly sorted, as all doors)
    "AdamW",
    "BLEU",
    "CompileNotice",
    "Distillation",
    "DistillationLoss",
    "F1",
    "Lamb",
    "MaskedAccuracy",
    "MaskedCrossentropy",
    "MaskedDivergence",
    "MatthewsCorrelation",
    "MultiLabelCrossentropy",
    "PearsonCorrelation",
    "Perplexity",
    "Pictures",
    "Samples",
    "SpearmanCorrelation",
    "Throughput",
    "WarmupCosine",
    "WarmupLinear",
    "WarmupRsqrt",
    "accelerator_check",
    "accelerator_check_model",
    "deit3_recipe",
    "distributed",
    "fit",
    "frechet_distance",
    "glue_recipe",
    "layer_rates",
    "restore",
    "strategy",
]
