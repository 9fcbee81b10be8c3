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


# Our heads, by the ends of the names of classes.
_TASKS = {
    "Model": None,
    "ForMaskedLM": "masked_lm",
    "ForNextSentencePrediction": "next_sentence",
    "ForPreTraining": "pretraining",
    "ForSequenceClassification": "classification",
    "ForTokenClassification": "token_classification",
}

# Heads of other tasks than the one asked for, and a buffer.
_UNUSED = r"(cls|classifier|qa_outputs|pooler)\..*|embeddings\.position_ids"


def head_of(checkpoint: Checkpoint) -> str | None:
    """Our head of the model that a folder was saved from."""
    # Of several, transformers takes the first.
    name, *_ = checkpoint.config.get("architectures") or ["Model"]
    endings = [ending for ending in _TASKS if name.endswith(ending)]
    if not endings:
        raise ValueError(
            f"{checkpoint.folder / 'config.json'} has architectures="
            f"{[name]}; supported are those that end with {list(_TASKS)}."
        )
    head = _TASKS[endings[0]]
    classes = f"{_HEADS['classification']}.weight"
    if head == "classification" and checkpoint.shape(classes)[0] == 1:
        return "regression"
    return head


def read(
    cls: type,
    checkpoint: Checkpoint,
    *,
    head: str | None = None,
    num_classes: int | None = None,
    **overrides,
):
    """Make a `BERT` with the weights of a folder.

    Args:
        cls: The class to make.
        checkpoint: Written by `save_pretrained` of a BERT model.
        head: The head to read; where the folder has none, as for a task that
            it was not trained for, the head keeps its random weights.
        num_classes: As for the constructor; those of the folder if not
            given.
        overrides: Further arguments of the constructor.
    """
    checkpoint.prefix = "bert."
    if head in ("masked_lm", "pretraining"):
        checkpoint.expect(tie_word_embeddings=True)
    checkpoint.expect(
        position_embedding_type="absolute",
        is_decoder=False,
        add_cross_attention=False,
    )
    classes = f"{_HEADS['classification']}.weight"
    if num_classes is None and head in _COUNTING and checkpoint.has(classes):
        num_classes = checkpoint.shape(classes)[0]
    settings = dict(
        vocabulary_size=checkpoint.setting("vocab_size"),
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
    model = checkpoint.make(cls, **settings | overrides)
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
    checkpoint.finish(model, fresh=fresh, unused=_UNUSED)
    return model


def _plan_masked_lm(checkpoint, layer, bias):
    name = "cls.predictions"
    checkpoint.dense(layer.dense, f"{name}.transform.dense")
    checkpoint.norm(layer.normalize, f"{name}.transform.LayerNorm")
    checkpoint.table(bias.bias, f"{name}.bias")
