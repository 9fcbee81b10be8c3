"""Files, TFDS or built-in data in, fixed-shape batches out.

    examples = translation(tab_separated("pairs.tsv"), tokenizer)
    dataset = batches(examples, 64, lengths=[16, 32], cache=True)

Sources of texts    text_lines, text_documents, parallel_lines, tab_separated,
                    tfds_translate_folder, phrases, emoji_phrases
Sources of images   image_folder, class_names, captions, idx, decode_image,
                    tfds_image_folder, digits, digit_scenes,
                    scene_questions, scene_answers, Preprocessing
Any source          arrays, from_tfds, load
Tasks               translation, language_model, masked_language_model,
                    text_classification, question_answering,
                    image_classification, captioning, sequence_regression,
                    image_text, visual_questions
Batches             batches, auto_lengths, bucket_specs, count_too_long
Changes to batches  mask_tokens, hide_pairs, augment, three_augment,
                    rand_augment, mixup, cutmix, mixup_or_cutmix
"""

from keras_attn.data.augment.augmentation import augment
from keras_attn.data.augment.mixup import cutmix
from keras_attn.data.augment.mixup import mixup
from keras_attn.data.augment.mixup import mixup_or_cutmix
from keras_attn.data.augment.rand_augment import rand_augment
from keras_attn.data.augment.three_augment import three_augment
from keras_attn.data.builtin.digit_images import digits
from keras_attn.data.builtin.emoji_names import emoji_phrases
from keras_attn.data.builtin.phrase_pairs import phrases
from keras_attn.data.builtin.scene_questions import scene_answers
from keras_attn.data.builtin.scene_questions import scene_questions
from keras_attn.data.builtin.scenes import digit_scenes
from keras_attn.data.by_name import load
from keras_attn.data.pipeline.auto_lengths import auto_lengths
from keras_attn.data.pipeline.batching import batches
from keras_attn.data.pipeline.batching import bucket_specs
from keras_attn.data.pipeline.lengths import count_too_long
from keras_attn.data.sources.arrays import arrays
from keras_attn.data.sources.caption_files import captions
from keras_attn.data.sources.idx_files import idx
from keras_attn.data.sources.image_files import class_names
from keras_attn.data.sources.image_files import image_folder
from keras_attn.data.sources.lines import parallel_lines
from keras_attn.data.sources.lines import text_documents
from keras_attn.data.sources.lines import text_lines
from keras_attn.data.sources.tfds_folders import tfds_image_folder
from keras_attn.data.sources.tfds_folders import tfds_translate_folder
from keras_attn.data.sources.tfds_names import from_tfds
from keras_attn.data.sources.tsv import tab_separated
from keras_attn.data.tasks.captioning import captioning
from keras_attn.data.tasks.hide_pairs import hide_pairs
from keras_attn.data.tasks.image_classification import image_classification
from keras_attn.data.tasks.image_text import image_text
from keras_attn.data.tasks.language_model import language_model
from keras_attn.data.tasks.masked_language_model import mask_tokens
from keras_attn.data.tasks.masked_language_model import masked_language_model
from keras_attn.data.tasks.question_answering import question_answering
from keras_attn.data.tasks.sequence_regression import sequence_regression
from keras_attn.data.tasks.text_classification import text_classification
from keras_attn.data.tasks.translation import translation
from keras_attn.data.tasks.visual_questions import visual_questions
from keras_attn.image.decode import decode_image
from keras_attn.image.preprocessing import Preprocessing

__all__ = [
    "Preprocessing",
    "arrays",
    "augment",
    "auto_lengths",
    "batches",
    "bucket_specs",
    "captioning",
    "captions",
    "class_names",
    "count_too_long",
    "cutmix",
    "decode_image",
    "digit_scenes",
    "digits",
    "emoji_phrases",
    "from_tfds",
    "hide_pairs",
    "idx",
    "image_classification",
    "image_folder",
    "image_text",
    "language_model",
    "load",
    "mask_tokens",
    "masked_language_model",
    "mixup",
    "mixup_or_cutmix",
    "parallel_lines",
    "phrases",
    "question_answering",
    "rand_augment",
    "scene_answers",
    "scene_questions",
    "sequence_regression",
    "tab_separated",
    "text_classification",
    "text_documents",
    "text_lines",
    "tfds_image_folder",
    "tfds_translate_folder",
    "three_augment",
    "translation",
    "visual_questions",
]
