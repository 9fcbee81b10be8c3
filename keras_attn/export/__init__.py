"""From a trained model to one SavedModel that TF Serving runs.

servable        makes of a model what is served, to be asked in Python, as a
                Servable
export_model    writes a version of a model
export_huggingface
                writes one of a folder that Hugging Face's libraries wrote
verify          loads it as a server does, and asks it
inspect         tells what it can be asked
serve           answers requests on this machine, for trying it out, as a
                LoopbackServer
LoadedModel     answers requests in this process

register_task   says which task a class of models has

Tasks, of which `export_model` takes the one that fits the model:
Translation, Captioning, TextGeneration, MaskFilling, QuestionAnswering,
TextClassification, TextEmbedding, TextRegression, TokenClassification,
ImageClassification, ImageGeneration, VisionLanguage, SequencePrediction and
FunctionalPrediction.
One of your own is a Task with a Signature for each verb.
"""

from keras_attn.export.bundle.inspection import inspect
from keras_attn.export.exporting import export_model
from keras_attn.export.graph.signature import Signature
from keras_attn.export.huggingface import export_huggingface
from keras_attn.export.loader.loaded_model import LoadedModel
from keras_attn.export.servables import Servable
from keras_attn.export.servables import servable
from keras_attn.export.server.loopback_server import LoopbackServer
from keras_attn.export.server.loopback_server import serve
from keras_attn.export.tasks.functional import FunctionalPrediction
from keras_attn.export.tasks.images.captioning import Captioning
from keras_attn.export.tasks.images.image_classification import (
    ImageClassification,
)
from keras_attn.export.tasks.images.image_generation import ImageGeneration
from keras_attn.export.tasks.images.vision_language import VisionLanguage
from keras_attn.export.tasks.mask_filling import MaskFilling
from keras_attn.export.tasks.question_answering import QuestionAnswering
from keras_attn.export.tasks.registry import register_task
from keras_attn.export.tasks.sequence_prediction import SequencePrediction
from keras_attn.export.tasks.task import Task
from keras_attn.export.tasks.text_classification import TextClassification
from keras_attn.export.tasks.text_embedding import TextEmbedding
from keras_attn.export.tasks.text_generation import TextGeneration
from keras_attn.export.tasks.text_regression import TextRegression
from keras_attn.export.tasks.token_classification import TokenClassification
from keras_attn.export.tasks.translation import Translation
from keras_attn.export.verify.verification import verify

__all__ = [
    "Captioning",
    "FunctionalPrediction",
    "ImageClassification",
    "ImageGeneration",
    "LoadedModel",
    "LoopbackServer",
    "MaskFilling",
    "QuestionAnswering",
    "SequencePrediction",
    "Servable",
    "Signature",
    "Task",
    "TextClassification",
    "TextEmbedding",
    "TextGeneration",
    "TextRegression",
    "TokenClassification",
    "Translation",
    "VisionLanguage",
    "export_huggingface",
    "export_model",
    "inspect",
    "register_task",
    "servable",
    "serve",
    "verify",
]
