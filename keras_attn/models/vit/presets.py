"""Published sizes of ViT; tests count their parameters."""

# Dosovitskiy et al. 2021, table 1. https://arxiv.org/abs/2010.11929; Ti and S:
# Steiner et al. 2022, table 2. https://arxiv.org/abs/2106.10270
_TINY = dict(num_layers=12, num_heads=3, units=192)
_SMALL = dict(num_layers=12, num_heads=6, units=384)
_MEDIUM = dict(num_layers=12, num_heads=8, units=512)
_BASE = dict(num_layers=12, num_heads=12, units=768)
_LARGE = dict(num_layers=24, num_heads=16, units=1024)
_HUGE = dict(num_layers=32, num_heads=16, units=1280)


def _image_net(size, patch_size):
    return dict(image_size=224, patch_size=patch_size, num_classes=1000, **size)


def _deit3(size, patch_size):
    # Touvron et al. 2022, section 3. https://arxiv.org/abs/2204.07118
    # The class token comes after the positions have been added.
    return _image_net(size, patch_size) | dict(
        layer_scale=1e-4, class_position=False
    )


def _small_data(image_size, patch_size, num_classes):
    # Lee et al. 2021, section 4.1. https://arxiv.org/abs/2112.13492
    return dict(
        image_size=image_size,
        patch_size=patch_size,
        num_classes=num_classes,
        num_layers=9,
        num_heads=12,
        units=192,
        hidden_dim=384,
        epsilon=1e-5,
        stochastic_depth=0.1,
        shifted_patches=True,
        attention=dict(
            modifiers=["locality"], use_bias=False, use_output_bias=True
        ),
    )


PRESETS = {
    "ti16": _image_net(_TINY, 16),
    "s16": _image_net(_SMALL, 16),
    "b16": _image_net(_BASE, 16),
    "b32": _image_net(_BASE, 32),
    "l16": _image_net(_LARGE, 16),
    "l32": _image_net(_LARGE, 32),
    "h14": _image_net(_HUGE, 14),
    "deit3-s16": _deit3(_SMALL, 16),
    "deit3-m16": _deit3(_MEDIUM, 16),
    "deit3-b16": _deit3(_BASE, 16),
    "deit3-l16": _deit3(_LARGE, 16),
    "deit3-h14": _deit3(_HUGE, 14),
    "small-cifar10": _small_data(32, 4, 10),
    "small-cifar100": _small_data(32, 4, 100),
    "small-tiny-imagenet": _small_data(64, 8, 200),
}
