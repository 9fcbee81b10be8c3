"""Published sizes of ViLBERT; tests count their parameters."""

# Lu et al. 2019, section 3.1, with the depths of the released configuration
# `bert_base_6layer_6conect`. https://arxiv.org/abs/1908.02265
PRESETS = {
    "base-6": dict(
        vocabulary_size=30522,
        num_layers=12,
        num_heads=12,
        units=768,
        num_region_layers=6,
        num_region_heads=8,
        region_units=1024,
        region_hidden_dim=1024,
        num_co_heads=8,
        co_units=1024,
        co_attention_at=((6, 0), (7, 1), (8, 2), (9, 3), (10, 4), (11, 5)),
        region_features=2048,
        num_region_classes=1601,
    ),
}
