import pytest

from keras_attn.models.vilbert.region_inputs import region_inputs


def test_regions_are_features_and_boxes_or_pixels():
    inputs = region_inputs(5, None, None)
    shapes = {name: x.shape for name, x in inputs.items()}
    assert shapes == {"features": (None, None, 5), "boxes": (None, None, 4)}
    (image,) = region_inputs(None, (4, 6, 3), 2).values()
    assert image.shape == (None, 4, 6, 3)


@pytest.mark.parametrize(
    "given",
    [
        (None, None, None),
        (5, (4, 6, 3), 2),
        (5, None, 2),
        (None, (4, 6, 3), None),
        (None, None, 2),
    ],
)
def test_what_says_nothing_or_two_things_is_refused(given):
    with pytest.raises(ValueError, match="Regions are features and boxes"):
        region_inputs(*given)


def test_patches_that_do_not_fit_are_refused():
    with pytest.raises(ValueError, match="`patch_size` must divide"):
        region_inputs(None, (4, 6, 3), 5)
    with pytest.raises(ValueError, match="must be"):
        region_inputs(None, (4, 6), 2)
