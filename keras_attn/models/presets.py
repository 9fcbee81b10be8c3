"""Sizes of published models; tests count their parameters."""

# Vaswani et al. 2017, table 3. https://arxiv.org/abs/1706.03762
TRANSFORMER = {
    "base": dict(num_layers=6, num_heads=8, units=512, hidden_dim=2048),
    "big": dict(
        num_layers=6, num_heads=16, units=1024, hidden_dim=4096, dropout=0.3
    ),
}

# Radford et al. 2019, table 2.
# https://cdn.openai.com/better-language-models/language_models_are_unsupervised_multitask_learners.pdf
GPT = {
    name: dict(
        vocabulary_size=50257,
        num_layers=num_layers,
        num_heads=num_heads,
        units=units,
        max_length=1024,
        pad_id=None,
    )
    for name, num_layers, num_heads, units in (
        ("gpt2", 12, 12, 768),
        ("gpt2-medium", 24, 16, 1024),
        ("gpt2-large", 36, 20, 1280),
        ("gpt2-xl", 48, 25, 1600),
    )
}

# Devlin et al. 2019, section 3. https://arxiv.org/abs/1810.04805
BERT = {
    "base": dict(vocabulary_size=30522, num_layers=12, num_heads=12, units=768),
    "large": dict(
        vocabulary_size=30522, num_layers=24, num_heads=16, units=1024
    ),
}
