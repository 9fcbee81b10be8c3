"""Hugging Face's ViT or DeiT with a GPT-2 as our captioner."""

from keras_attn.models.checkpoint import Checkpoint
from keras_attn.models.gpt import from_gpt2
from keras_attn.models.vit import from_vit
from keras_attn.models.vit.model import ViT

# The encoder's pooler, buffers of causal masks, and the logits' tied matrix.
_UNUSED = (
    r"encoder\.pooler\.dense\.(weight|bias)"
    r"|decoder\.transformer\.h\.\d+\.(attn|crossattention)\.(masked_)?bias"
    r"|decoder\.lm_head\.weight"
)


def read(cls: type, checkpoint: Checkpoint, **overrides):
    """Make a `TransformerCaptioner` with the weights of a folder.

    Args:
        cls: The class to make.
        checkpoint: Written by `save_pretrained` of a VisionEncoderDecoder
            model of a ViT or a DeiT and a GPT-2.
        overrides: Arguments of the constructor; `dtype` is the encoder's too.
    """
    seeing = checkpoint.part("encoder", "encoder.")
    writing = checkpoint.part("decoder", "decoder.transformer.")
    writing.choose("model_type", {"gpt2": "GPT-2"}, "gpt2")
    writing.expect(add_cross_attention=True)
    settings = from_gpt2.settings_of(writing)
    settings |= dict(
        encoder=checkpoint.make(
            ViT,
            **from_vit.settings_of(seeing),
            pooling=None,
            dtype=overrides.get("dtype"),
        ),
        position="learned",
        scale_embedding=False,
        pad_id=_pad_id(checkpoint, settings["vocabulary_size"]),
    )
    model = checkpoint.make(cls, **settings | overrides)
    from_vit.plan(seeing, model.encoder)
    if model.project_memory is not None:
        checkpoint.dense(model.project_memory, "enc_to_dec_proj")
    from_gpt2.plan(writing, model.target_embedding, model.decoder)
    for number, block in enumerate(model.decoder.blocks):
        _plan_cross_attention(writing, block, f"h.{number}")
    if model.project is not None:
        checkpoint.dense(model.project, "decoder.lm_head")
    checkpoint.finish(model, unused=_UNUSED)
    return model


def _plan_cross_attention(checkpoint, block, name):
    attention, within = block.cross_attention, f"{name}.crossattention"
    checkpoint.convolution(attention.query_dense, f"{within}.q_attn")
    from_gpt2.plan_side_by_side(
        checkpoint,
        (attention.key_dense, attention.value_dense),
        f"{within}.c_attn",
    )
    checkpoint.convolution(attention.output_dense, f"{within}.c_proj")
    checkpoint.norm(block.cross_residual.normalize, f"{name}.ln_cross_attn")


def _pad_id(checkpoint, vocabulary_size):
    """The padding of captions, unless that is what they start with too."""
    pad_id = checkpoint.config.get("pad_token_id")
    # GPT-2 has no padding, and many a captioner takes its only special token
    # for that. As the start it is read, and must not be hidden.
    if pad_id is None or pad_id == checkpoint.config.get(
        "decoder_start_token_id"
    ):
        return None
    if pad_id not in range(vocabulary_size):
        raise ValueError(
            f"{checkpoint.says('pad_token_id')}, which is none of the "
            f"decoder's {vocabulary_size} ids."
        )
    return pad_id
