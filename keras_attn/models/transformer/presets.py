"""Published sizes of the Transformer; tests count their parameters."""

# Vaswani et al. 2017, table 3. https://arxiv.org/abs/1706.03762
PRESETS = {
    "base": dict(num_layers=6, num_heads=8, units=512, hidden_dim=2048),
    "big": dict(
        num_layers=6, num_heads=16, units=1024, hidden_dim=4096, dropout=0.3
    ),
}
