"""Every source that has a name, for the flag of a script."""

import tensorflow as tf

from keras_attn.data.builtin.digit_images import digits
from keras_attn.data.builtin.emoji_names import emoji_phrases
from keras_attn.data.builtin.phrase_pairs import phrases
from keras_attn.data.builtin.scene_questions import scene_questions
from keras_attn.data.builtin.scenes import digit_scenes
from keras_attn.data.sources.tfds_names import PREFIX
from keras_attn.data.sources.tfds_names import from_tfds

BUILT_IN = {
    "digit_scenes": digit_scenes,
    "digits": digits,
    "emoji": emoji_phrases,
    "phrases": phrases,
    "scene_questions": scene_questions,
}


def load(name: str, *, split: str = "train", **options) -> tf.data.Dataset:
    """Give the source of that name.

    Args:
        name: `"digits"`, `"digit_scenes"`, `"scene_questions"`, `"emoji"` or
            `"phrases"`, which need no download, or `"tfds:"` and a name of
            TFDS.
        split: Its part.
        **options: Passed on to the source: `digits`, `digit_scenes`,
            `scene_questions`, `emoji_phrases`, `phrases` or `from_tfds`.

    Returns:
        A dictionary for each example, as the source gives it.

    Raises:
        ValueError: There is no source of that name.
    """
    if name.startswith(PREFIX):
        return from_tfds(name, split=split, **options)
    if name not in BUILT_IN:
        raise ValueError(
            f"There is no data named {name!r}. The names are "
            f"{', '.join(sorted(BUILT_IN))}, and {PREFIX}<name> for a dataset "
            f"of TFDS, such as {PREFIX}fashion_mnist."
        )
    return BUILT_IN[name](split=split, **options)
