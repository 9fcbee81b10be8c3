"""Hugging Face's RoBERTa and XLM-RoBERTa as our BERT."""

import dataclasses

from keras_attn.models.bert import checkpoint_heads
from keras_attn.models.bert import from_bert
from keras_attn.models.bert.checkpoint_heads import HeadNames
from keras_attn.models.checkpoint import Checkpoint

_NAMES = HeadNames(
    pooler="pooler.dense",
    classes="classifier.out_proj",
    masked_lm=("lm_head.dense", "lm_head.layer_norm", "lm_head.bias"),
)
# Its classifier has a map of its own, and the model no pooler then.
_OWN_POOLER = "classifier.dense"

# Heads of other tasks, copies of tied weights, and a buffer.
_UNUSED = r"(lm_head|classifier|qa_outputs|pooler)\..*|embeddings\.position_ids"


def read(
    cls: type,
    checkpoint: Checkpoint,
    *,
    head: str | None = None,
    num_classes: int | None = None,
    **overrides,
):
    """Make a `BERT` with the weights of a RoBERTa.

    It differs from BERT in its positions, which begin after the id of
    padding: the rows before are never looked up, and left out here.

    Args:
        cls: The class to make.
        checkpoint: Written by `save_pretrained` of a RoBERTa or an
            XLM-RoBERTa.
        head: As in `from_bert.read`.
        num_classes: As for the constructor; those of the folder if not
            given.
        overrides: Further arguments of the constructor.

    Reference:
        Liu et al. 2019, section 3. https://arxiv.org/abs/1907.11692
    """
    checkpoint.prefix = "roberta."
    if head == "masked_lm":
        # Its head has GELU whatever the blocks have; ours has what they have.
        checkpoint.expect(hidden_act="gelu")
    if num_classes is None:
        num_classes = checkpoint_heads.num_classes(checkpoint, _NAMES, head)
    pad_id = checkpoint.setting("pad_token_id", 1)
    skip = pad_id + 1
    settings = dict(
        max_length=checkpoint.setting("max_position_embeddings") - skip,
        pad_id=pad_id,
        pooler_activation=from_bert.pooler_activation(checkpoint, head),
        head=head,
        num_classes=num_classes,
    )
    model = from_bert.make(cls, checkpoint, **settings | overrides)
    from_bert.plan_encoder(checkpoint, model, skip=skip)
    names = _NAMES
    if head is not None and checkpoint.has(f"{_OWN_POOLER}.weight"):
        names = dataclasses.replace(names, pooler=_OWN_POOLER)
    fresh = checkpoint_heads.plan(checkpoint, model, names)
    checkpoint.finish(model, fresh=fresh, unused=_UNUSED)
    return model
