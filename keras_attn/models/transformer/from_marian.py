"""Hugging Face's Marian as our Transformer."""

import numpy as np

from keras_attn.models.checkpoint import Checkpoint
from keras_attn.models.transformer import from_bart
from keras_attn.ops.positions import sinusoidal_encoding

# What Marian's settings mean if they do not name the tokens.
_DEFAULT_END_ID, _DEFAULT_PAD_ID = 0, 58100

# Beside what BART repeats: tables of sines, which the model here works out.
_UNUSED = (
    rf"{from_bart.UNUSED}|shared\.weight|(en|de)coder\.embed_positions\.weight"
)

# What a table of sines in half precision may be off by.
_ROUNDING = 1e-2


def read(cls: type, checkpoint: Checkpoint, **overrides):
    """Make a `Transformer` with the weights of a folder.

    Args:
        cls: The class to make.
        checkpoint: Written by `save_pretrained` of a Marian model.
        overrides: Arguments of the constructor.
    """
    checkpoint.prefix = "model."
    checkpoint.expect(
        is_encoder_decoder=True,
        static_position_embeddings=True,
        normalize_before=False,
        normalize_embedding=False,
        add_final_layer_norm=False,
    )
    _check_positions(checkpoint)
    source, target = _names_of_embeddings(checkpoint)
    pad_id = checkpoint.config.get("pad_token_id", _DEFAULT_PAD_ID)
    start_id = checkpoint.config.get("decoder_start_token_id", pad_id)
    settings = dict(
        **_vocabularies(checkpoint, two=source != target),
        **from_bart.block_settings(checkpoint),
        position="split_sine",
        tie_embeddings=not (
            _is_untied(checkpoint)
            or from_bart.has_own_logits(checkpoint, target)
        ),
        logits_bias=from_bart.has_logits_bias(checkpoint),
        pad_id=pad_id,
        pad_starts=start_id == pad_id,
        forced_end_id=from_bart.forced_end_id(checkpoint, _DEFAULT_END_ID),
    )
    model = checkpoint.make(cls, **settings | overrides)
    checkpoint.table(model.target_embedding.embeddings, target)
    if model.source_embedding is not model.target_embedding:
        checkpoint.table(model.source_embedding.embeddings, source)
    for stack, name in ((model.encoder, "encoder"), (model.decoder, "decoder")):
        for number, block in enumerate(stack.blocks):
            from_bart.plan_block(checkpoint, block, f"{name}.layers.{number}")
    from_bart.plan_logits(checkpoint, model)
    checkpoint.finish(model, unused=_UNUSED)
    return model


def _is_untied(checkpoint):
    return checkpoint.config.get("tie_word_embeddings") is False


def _is_shared(checkpoint):
    shared = checkpoint.config.get("share_encoder_decoder_embeddings")
    return shared is not False


def _names_of_embeddings(checkpoint):
    """Where the source's and the target's embeddings are."""
    own = "encoder.embed_tokens.weight", "decoder.embed_tokens.weight"
    if not _is_shared(checkpoint):
        return own
    # Without a tie of embeddings Hugging Face's are three, even if shared.
    if _is_untied(checkpoint) and all(map(checkpoint.has, own)):
        return own
    return ("shared.weight",) * 2


def _vocabularies(checkpoint, *, two):
    size = checkpoint.setting("vocab_size")
    if not two:
        return {"vocabulary_size": size}
    target_size = size
    if not _is_shared(checkpoint):
        target_size = checkpoint.setting("decoder_vocab_size", size)
    return {
        "source_vocabulary_size": size,
        "target_vocabulary_size": target_size,
    }


def _check_positions(checkpoint):
    """Refuse tables of positions that are no sines."""
    for stack in ("encoder", "decoder"):
        name = f"{stack}.embed_positions.weight"
        if not checkpoint.has(name):
            continue
        table = checkpoint.tensor(name)
        length, units = table.shape
        sines = sinusoidal_encoding(
            np.arange(length)[None], units, interleaved=False
        )[0]
        if not np.allclose(table, sines, rtol=0, atol=_ROUNDING):
            raise ValueError(
                f"The tensor {name!r} of {checkpoint.folder} holds positions "
                "that are not Marian's sines, which are not supported."
            )
