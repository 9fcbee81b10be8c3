"""Published sizes of SAGAN; tests count their parameters."""

# Zhang et al. 2019, section 4. https://arxiv.org/abs/1805.08318; widths and
# noise are those of the code that they released.
PRESETS = {
    "imagenet-128": dict(
        image_size=128,
        num_classes=1000,
        noise_dim=128,
        generator_width=64,
        discriminator_width=64,
        attention_resolutions=(32,),
    ),
}
