"""Folders that the real libraries write: tiny models with real tokenizers."""

import io
import json
import warnings

from tests.models import peers
from tests.text import real_text

SPECIAL = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]


def lines():
    """Text to learn tokenizers from."""
    return real_text.sentences(2000)


def word_piece(folder):
    """BERT's tokenizer, of 300 word pieces."""
    import tokenizers

    made = tokenizers.BertWordPieceTokenizer(lowercase=True)
    made.train_from_iterator(
        lines(), vocab_size=300, show_progress=False, special_tokens=SPECIAL
    )
    made = peers.transformers().BertTokenizerFast(
        tokenizer_object=made._tokenizer, model_max_length=128
    )
    made.save_pretrained(folder)
    return made


def byte_pair(folder, *, start=False, **tokens):
    """GPT-2's kind of tokenizer, or Llama 3's, which begins each text."""
    import tokenizers
    from tokenizers import decoders
    from tokenizers import pre_tokenizers
    from tokenizers import processors

    made = tokenizers.Tokenizer(tokenizers.models.BPE())
    made.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    made.decoder = decoders.ByteLevel()
    trainer = tokenizers.trainers.BpeTrainer(
        vocab_size=400,
        show_progress=False,
        special_tokens=["<s>", "</s>", "<pad>", "<end>"],
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
    )
    made.train_from_iterator(lines(), trainer)
    if start:
        made.post_processor = processors.TemplateProcessing(
            single="<s> $A", pair="<s> $A $B", special_tokens=[("<s>", 0)]
        )
    made = peers.transformers().PreTrainedTokenizerFast(
        tokenizer_object=made,
        bos_token="<s>",
        eos_token="</s>",
        additional_special_tokens=["<end>"],
        **tokens,
    )
    made.save_pretrained(folder)
    return made


def sentence_piece(folder, name, **options):
    """Train a model of 600 unigrams, of SentencePiece's own."""
    import sentencepiece

    model = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(lines()),
        model_writer=model,
        vocab_size=600,
        character_coverage=0.98,
        hard_vocab_limit=False,
        minloglevel=2,
        **options,
    )
    (folder / name).write_bytes(model.getvalue())
    return sentencepiece.SentencePieceProcessor(model_proto=model.getvalue())


def marian_tokenizer(folder):
    """Marian's, one vocabulary for two models of SentencePiece."""
    folder.mkdir(exist_ok=True)
    made = sentence_piece(folder, "source.spm")
    (folder / "target.spm").write_bytes((folder / "source.spm").read_bytes())
    pieces = [made.id_to_piece(i) for i in range(len(made))]
    pieces = ["</s>", "<unk>", *(x for x in pieces if x[0] != "<"), "<pad>"]
    vocabulary = {piece: number for number, piece in enumerate(pieces)}
    (folder / "vocab.json").write_text(json.dumps(vocabulary))
    made = peers.transformers().MarianTokenizer(
        source_spm=str(folder / "source.spm"),
        target_spm=str(folder / "target.spm"),
        vocab=str(folder / "vocab.json"),
    )
    made.save_pretrained(folder)
    return made


def t5_tokenizer(folder):
    """T5's unigrams, with SentencePiece's own normalisation."""
    import tokenizers
    from tokenizers import decoders
    from tokenizers import normalizers
    from tokenizers import pre_tokenizers
    from tokenizers import processors

    library = peers.transformers()
    folder.mkdir(exist_ok=True)
    path = folder / "spiece.model"
    made = sentence_piece(
        folder, path.name, pad_id=0, eos_id=1, unk_id=2, bos_id=-1
    )
    pieces = [
        (made.id_to_piece(i), made.get_score(i)) for i in range(len(made))
    ]
    fast = tokenizers.Tokenizer(tokenizers.models.Unigram(pieces, unk_id=2))
    fast.normalizer = normalizers.Precompiled(_map_of(path.read_bytes()))
    path.unlink()
    fast.pre_tokenizer = pre_tokenizers.Sequence(
        [pre_tokenizers.WhitespaceSplit(), pre_tokenizers.Metaspace()]
    )
    fast.decoder = decoders.Metaspace()
    fast.post_processor = processors.TemplateProcessing(
        single="$A </s>", pair="$A </s> $B </s>", special_tokens=[("</s>", 1)]
    )
    made = library.PreTrainedTokenizerFast(
        tokenizer_object=fast,
        eos_token="</s>",
        unk_token="<unk>",
        pad_token="<pad>",
    )
    made.save_pretrained(folder)
    return made


def _map_of(model):
    """The precompiled map of a model of SentencePiece."""
    with warnings.catch_warnings():
        # Its messages were made by an older protobuf.
        warnings.simplefilter("ignore")
        from sentencepiece import sentencepiece_model_pb2
    proto = sentencepiece_model_pb2.ModelProto()
    proto.ParseFromString(model)
    return proto.normalizer_spec.precompiled_charsmap
