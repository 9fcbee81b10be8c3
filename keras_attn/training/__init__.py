"""What training needs: for now, whether a step fits an accelerator."""

from keras_attn.training.accelerator import (
    accelerator_check as accelerator_check,
)
