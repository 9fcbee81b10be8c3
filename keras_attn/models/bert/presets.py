"""Published sizes of BERT; tests count their parameters."""

# Devlin et al. 2019, section 3. https://arxiv.org/abs/1810.04805
PRESETS = {
    "base": dict(vocabulary_size=30522, num_layers=12, num_heads=12, units=768),
    "large": dict(
        vocabulary_size=30522, num_layers=24, num_heads=16, units=1024
    ),
}
