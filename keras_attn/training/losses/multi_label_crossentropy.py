"""Binary cross-entropy of images that show several classes."""

import keras
from keras import ops


@keras.saving.register_keras_serializable(package="keras_attn")
class MultiLabelCrossentropy(keras.losses.Loss):
    """Asks of every class whether the image shows it, however little.

        target = 1 if label > 0 else 0
        loss = -mean(target log p + (1 - target) log(1 - p)),  p = σ(logits)

    over the classes. After mixup or CutMix an image shows two classes, and
    both count in full, whatever their shares: Keras' own BinaryCrossentropy
    would ask for the shares.

    Call arguments:
        y_true: (batch, classes) shares from 0 to 1, one-hot where nothing is
            mixed.
        y_pred: (batch, classes) logits.
        sample_weight: (batch,).

    Returns:
        The mean over the batch.

    Reference:
        Wightman et al. 2021, section 3. https://arxiv.org/abs/2110.00476
        Touvron et al. 2022, section 3. https://arxiv.org/abs/2204.07118
    """

    def __init__(self, name: str = "multi_label_crossentropy", **kwargs):
        super().__init__(name=name, **kwargs)

    def call(self, y_true, y_pred):
        if tuple(y_true.shape[1:]) != tuple(y_pred.shape[1:]):
            raise ValueError(
                "Labels must be (batch, classes), as `mixup` and `cutmix` make "
                "them; for others use `tf.one_hot`. Received: labels "
                f"{tuple(y_true.shape)}, logits {tuple(y_pred.shape)}."
            )
        targets = ops.cast(y_true > 0, y_pred.dtype)
        losses = ops.binary_crossentropy(targets, y_pred, from_logits=True)
        return ops.mean(losses, axis=-1)
