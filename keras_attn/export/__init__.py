"""From a trained model to one SavedModel that TF Serving runs."""

from keras_attn.export.exporting import export_model as export_model
from keras_attn.export.inspection import inspect as inspect
from keras_attn.export.serving import serve as serve
from keras_attn.export.verification import verify as verify
