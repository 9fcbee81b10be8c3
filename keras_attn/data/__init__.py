"""Files, TFDS or built-in data in, fixed-shape batches out."""

from keras_attn.data.augmentation import augment as augment
from keras_attn.data.batching import batches as batches
from keras_attn.data.batching import bucket_specs as bucket_specs
from keras_attn.data.by_name import load as load
from keras_attn.data.caption_files import captions as captions
from keras_attn.data.captioned_images import captioning as captioning
from keras_attn.data.columns import arrays as arrays
from keras_attn.data.decode import decode_image as decode_image
from keras_attn.data.deit_augmentation import three_augment as three_augment
from keras_attn.data.digit_images import digits as digits
from keras_attn.data.emoji_names import emoji_phrases as emoji_phrases
from keras_attn.data.idx_files import idx as idx
from keras_attn.data.image_files import class_names as class_names
from keras_attn.data.image_files import image_folder as image_folder
from keras_attn.data.labelled_images import (
    image_classification as image_classification,
)
from keras_attn.data.labelled_texts import (
    text_classification as text_classification,
)
from keras_attn.data.lengths import count_too_long as count_too_long
from keras_attn.data.lines import parallel_lines as parallel_lines
from keras_attn.data.lines import text_documents as text_documents
from keras_attn.data.lines import text_lines as text_lines
from keras_attn.data.masked_tokens import mask_tokens as mask_tokens
from keras_attn.data.masked_tokens import (
    masked_language_model as masked_language_model,
)
from keras_attn.data.mix import cutmix as cutmix
from keras_attn.data.mix import mixup as mixup
from keras_attn.data.mix import mixup_or_cutmix as mixup_or_cutmix
from keras_attn.data.next_tokens import language_model as language_model
from keras_attn.data.phrase_pairs import phrases as phrases
from keras_attn.data.random_augmentation import rand_augment as rand_augment
from keras_attn.data.scenes import digit_scenes as digit_scenes
from keras_attn.data.sequences import sequence_regression as sequence_regression
from keras_attn.data.tfds_folders import tfds_image_folder as tfds_image_folder
from keras_attn.data.tfds_folders import (
    tfds_translate_folder as tfds_translate_folder,
)
from keras_attn.data.tfds_names import from_tfds as from_tfds
from keras_attn.data.translation_pairs import translation as translation
from keras_attn.data.tsv import tab_separated as tab_separated
