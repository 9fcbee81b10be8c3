"""Hugging Face's BERT as ours."""

from keras_attn.models.checkpoint import Checkpoint

# Our layers on top of the encoder, and what tells that a folder has them.
_HEADS = {
    "pooler": "pooler.dense",
    "masked_lm": "cls.predictions.transform.dense",
    "next_sentence": "cls.seq_relationship",
    "classification": "classifier",
    "regression": "classifier",
    "token_classification": "classifier",
}

_COUNTING = ("classification", "token_classification")


def read(cls: type, folder, *, head=None, num_classes=None):
    """Make a `BERT` with the weights of a folder.

    Args:
        cls: The class to make.
        folder: Written by `save_pretrained` of a BERT model.
        head: The head to read; where the folder has none, as for a task that
            it was not trained for, the head keeps its random weights.
        num_classes: As for the constructor; those of the folder if not
            given.
    """
    checkpoint = Checkpoint(folder, prefix="bert.")
    if head in ("masked_lm", "pretraining"):
        checkpoint.expect(tie_word_embeddings=True)
    checkpoint.expect(
        model_type="bert",
        position_embedding_type="absolute",
        is_decoder=False,
        add_cross_attention=False,
    )
    classes = f"{_HEADS['classification']}.weight"
    if num_classes is None and head in _COUNTING and checkpoint.has(classes):
        num_classes = len(checkpoint.tensor(classes))
    model = cls(
        checkpoint.setting("vocab_size"),
        num_layers=checkpoint.setting("num_hidden_layers"),
        num_heads=checkpoint.setting("num_attention_heads"),
        units=checkpoint.setting("hidden_size"),
        hidden_dim=checkpoint.setting("intermediate_size"),
        max_length=checkpoint.setting("max_position_embeddings"),
        num_segments=checkpoint.setting("type_vocab_size", 2),
        epsilon=checkpoint.setting("layer_norm_eps", 1e-12),
        activation=checkpoint.activation("hidden_act", "gelu"),
        dropout=checkpoint.setting("hidden_dropout_prob", 0.1),
        pad_id=checkpoint.config.get("pad_token_id", 0),
        head=head,
        num_classes=num_classes,
    )
    encoder, name = model.encoder, "embeddings"
    for variable, table in (
        (model.embedding.embeddings, "word_embeddings"),
        (encoder.position_embedding.embeddings, "position_embeddings"),
        (model.segment_embedding.embeddings, "token_type_embeddings"),
    ):
        checkpoint.table(variable, f"{name}.{table}.weight")
    checkpoint.norm(encoder.first_norm, f"{name}.LayerNorm")
    for number, block in enumerate(encoder.blocks):
        checkpoint.encoder_block(
            block,
            f"encoder.layer.{number}",
            attention="attention.self",
            norms=("attention.output.LayerNorm", "output.LayerNorm"),
        )
    fresh = []
    for layer_name, name in _HEADS.items():
        if layer_name not in {layer.name for layer in model.layers}:
            continue
        layer = model.get_layer(layer_name)
        if head is not None and not checkpoint.has(f"{name}.weight"):
            fresh.append(layer)
            if layer_name == "masked_lm":
                fresh.append(model.get_layer("masked_lm_bias"))
        elif layer_name == "masked_lm":
            bias = model.get_layer("masked_lm_bias")
            _plan_masked_lm(checkpoint, layer, bias)
        else:
            checkpoint.dense(layer, name)
    checkpoint.finish(model, fresh=fresh)
    return model


def _plan_masked_lm(checkpoint, layer, bias):
    name = "cls.predictions"
    checkpoint.dense(layer.dense, f"{name}.transform.dense")
    checkpoint.norm(layer.normalize, f"{name}.transform.LayerNorm")
    checkpoint.table(bias.bias, f"{name}.bias")
