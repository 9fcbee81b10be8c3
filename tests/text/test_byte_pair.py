import json
import random
import unicodedata

import pytest
import tensorflow as tf
from hypothesis import given
from hypothesis import settings
from hypothesis import strategies as st

from keras_attn.text.byte_pair import BytePairTokenizer
from keras_attn.text.segmentation.byte_letters import BYTE_LETTERS
from keras_attn.text.segmentation.byte_letters import spell
from keras_attn.text.segmentation.pattern_split import split_words
from keras_attn.text.special_tokens import DEFAULT
from tests.text import textbook_bpe
from tests.text.contract import ODD_TEXTS
from tests.text.contract import check_tokenizer

TEXTS = [
    "The sun rose over the hills, and the birds didn't sing.",
    "  Two  spaces\nand\n\n lines;\ttabs, it's 1234 o'clock!!!",
    "Él niño — naïve café: œuvre, Straße, ñandú",
    "привет мир, שלום עולם, 你好,世界 👩🏽\u200d🚀 ok",
    "aaaaaaa bananas hissing bookkeeper",
]
# Every kind of white space, contractions, digits, scripts, joiners, and what
# was in Unicode long ago: versions of Unicode differ between libraries.
ODD_CHARACTERS = (
    "'streldvm 'S  1½²\t\n\x0b\r\x1c\x85\xa0\u1680\u180e\u2003\u2028"
)
FUZZED = st.lists(
    st.text(
        st.sampled_from(ODD_CHARACTERS + "aé漢ש👩🏽\u200d🚀")
        | st.characters(exclude_categories=["Cs"]).filter(
            lambda sign: unicodedata.ucd_3_2_0.category(sign) != "Cn"
        ),
        max_size=15,
    ),
    min_size=1,
    max_size=40,
)
MERGES = ["h u", "hu g", "Ġ hug", "u n", "\u010a \u010a"]


def made_by(merges):
    return [*BYTE_LETTERS, *(merge.replace(" ", "") for merge in merges)]


@pytest.fixture(scope="module")
def learned():
    """A tokenizer with merges learned from TEXTS, and its merges."""
    words = split_words(tf.constant(TEXTS * 2)).values.numpy()
    merges = textbook_bpe.learn([spell(word) for word in words], 150)
    tokens = [*DEFAULT, *BYTE_LETTERS, *("".join(pair) for pair in merges)]
    return BytePairTokenizer(list(dict.fromkeys(tokens)), merges), merges


def by_the_book(merges, tokens, text):
    """Tokens of a text, word by word and rank by rank."""
    triples = [(left, right, left + right) for left, right in merges]
    return [
        tokens.index(token)
        for word in split_words(tf.constant([text])).values.numpy()
        for token in textbook_bpe.encode(spell(word), triples)
    ]


def test_contract(learned, tmp_path):
    check_tokenizer(learned[0], TEXTS, tmp_path)


def test_contract_without_special_tokens(tmp_path):
    tokenizer = BytePairTokenizer(made_by(MERGES), MERGES)
    assert tokenizer.unknown_id is None
    check_tokenizer(tokenizer, [" hug hug"], tmp_path)


def test_pairs_are_merged_in_the_order_of_the_list(learned):
    tokenizer, merges = learned
    texts = [*map(str.encode, TEXTS), *ODD_TEXTS, b"sing the naive hills's"]
    expected = [
        by_the_book(merges, tokenizer.vocabulary, text) for text in texts
    ]
    assert tokenizer(texts).to_list() == expected


def test_an_id_is_a_place_or_what_the_dictionary_says():
    tokens = made_by(MERGES)
    backwards = {token: i for i, token in enumerate(reversed(tokens))}
    for vocabulary in (tokens, backwards):
        tokenizer = BytePairTokenizer(vocabulary, MERGES)
        ids = [tokenizer.id_of(token) for token in ("hug", "Ġhug", "s")]
        assert tokenizer(["hug hugs"]).to_list() == [ids]
    assert ids[0] == len(tokens) - 1 - tokens.index("hug")


def test_any_string_comes_back_byte_for_byte(learned):
    rng = random.Random(0)
    texts = [rng.randbytes(length) for length in range(60)]
    texts += [*ODD_TEXTS, *map(str.encode, TEXTS), bytes(range(256))]
    back = learned[0].detokenize(learned[0](texts))
    assert back.numpy().tolist() == texts


@settings(deadline=None, derandomize=True, max_examples=25)
@given(st.lists(st.text() | st.binary(), min_size=1, max_size=30))
def test_fuzzed_strings_come_back(learned, texts):
    texts = [tf.compat.as_bytes(text) for text in texts]
    back = learned[0].detokenize(learned[0](texts))
    assert back.numpy().tolist() == texts


def test_no_letter_is_taken_for_the_byte_it_spells():
    tokenizer = BytePairTokenizer(made_by(MERGES), MERGES)
    (ids,) = tokenizer(["Ġhug\u010a\u010a"]).to_list()
    tokens = [tokenizer.vocabulary[number] for number in ids]
    assert "".join(tokens) == spell("Ġhug\u010a\u010a".encode())
    assert "Ġhug" not in tokens and "\u010a\u010a" not in tokens


def test_words_with_line_breaks_and_tabs_are_merged_too():
    tokenizer = BytePairTokenizer(made_by(MERGES), MERGES)
    assert tokenizer(["\n\n"]).to_list() == [[tokenizer.id_of("\u010a\u010a")]]


def test_the_name_of_a_special_token_in_a_text_is_text():
    tokens = [*made_by(MERGES), "<|endoftext|>"]
    tokenizer = BytePairTokenizer(tokens, MERGES)
    text = b"hug<|endoftext|>"
    ids = tokenizer([text])
    assert tokenizer.end_id == len(tokens) - 1
    assert tokenizer.end_id not in ids.to_list()[0]
    assert tokenizer.detokenize(ids).numpy() == [text]


def test_a_token_that_no_merge_makes_is_not_used():
    merges = ["u g", "h u"]
    tokens = [*made_by(merges), "hug", "s!"]
    tokenizer = BytePairTokenizer(tokens, merges)
    assert tokenizer(["hug"]).to_list() == [
        [tokenizer.id_of("h"), tokenizer.id_of("ug")]
    ]
    assert tokenizer.detokenize([[tokenizer.id_of("hug")]]).numpy() == [b"hug"]


@pytest.mark.parametrize("pad", ["▁ pad", "Ġpad", "<pad>"])
def test_special_tokens_are_written_as_they_are_named(pad):
    tokens = [pad, "[UNK]", *made_by(MERGES)]
    tokenizer = BytePairTokenizer(tokens, MERGES, special_tokens={"pad": pad})
    ids = [[0, tokenizer.id_of("Ġhug"), 10**6]]
    assert tokenizer.detokenize(ids).numpy() == [b" hug[UNK]"]
    kept = tokenizer.detokenize(ids, keep_special=True).numpy()
    assert kept == [f"{pad} hug[UNK]".encode()]


def test_bytes_that_the_vocabulary_lacks_are_unknown():
    tokenizer = BytePairTokenizer(["[UNK]", *"hug", "hu"], ["h u"])
    assert tokenizer(["hug hé"]).to_list() == [[4, 3, 0, 1, 0, 0]]
    with pytest.raises(ValueError, match="lacks the byte spelled"):
        BytePairTokenizer([*"hug", "hu"], ["h u"])


def test_of_a_merge_listed_twice_the_last_counts():
    merges = ["a b", "b c", "a b"]
    tokenizer = BytePairTokenizer([*made_by(merges[:2])], merges)
    assert tokenizer(["abc"]).to_list() == [
        [tokenizer.id_of("a"), tokenizer.id_of("bc")]
    ]


def test_files_are_read_where_paths_are_given(tmp_path):
    tokens = made_by(MERGES)
    ids = {token: number for number, token in enumerate(tokens)}
    (tmp_path / "vocab.json").write_text(json.dumps(ids))
    lines = "\n".join(["#version: 0.2", *MERGES, ""])
    (tmp_path / "merges.txt").write_text(lines, encoding="utf-8")
    for kind in (str, lambda path: path):
        tokenizer = BytePairTokenizer(
            kind(tmp_path / "vocab.json"), kind(tmp_path / "merges.txt")
        )
        assert tokenizer.vocabulary == tokens
        assert tokenizer.merges == MERGES


def test_what_is_saved_is_what_others_read(learned, tmp_path):
    tokenizer, merges = learned
    tokenizer.save(tmp_path)
    ids = json.loads((tmp_path / "vocab.json").read_text(encoding="utf-8"))
    assert list(ids) == tokenizer.vocabulary
    lines = (tmp_path / "merges.txt").read_text(encoding="utf-8").split("\n")
    assert lines == ["#version: 0.2", *map(" ".join, merges), ""]


def test_an_interrupted_iterator_goes_on(learned, tmp_path):
    dataset = tf.data.Dataset.from_tensor_slices([*ODD_TEXTS, *TEXTS])
    dataset = dataset.map(learned[0])
    iterator = iter(dataset)
    next(iterator)
    path = tf.train.Checkpoint(iterator=iterator).write(tmp_path / "state")
    rest = [ids.numpy().tolist() for ids in iterator]
    resumed = iter(dataset)
    tf.train.Checkpoint(iterator=resumed).read(path)
    assert [ids.numpy().tolist() for ids in resumed] == rest


@pytest.mark.parametrize(
    ("vocabulary", "merges", "complaint"),
    [
        ({"a": 0, "b": 2}, [], "without a gap.*2 ids"),
        ({"a": 0, "b": 0}, [], "without a gap.*2 ids"),
        (["[UNK]", "a"], ["a b"], "'a b' needs the token 'b'"),
        (["[UNK]", "a", "b"], ["a b"], "'a b' needs the token 'ab'"),
        (["[UNK]", "a", "b"], ["ab"], "two tokens with a space.*'ab'"),
        (["[UNK]", "a", "b"], [("a", "b", "c")], "two tokens.*'a b c'"),
        (["[UNK]", "a", "b"], [""], "two tokens.*''"),
    ],
)
def test_what_does_not_belong_together_is_refused(
    vocabulary, merges, complaint
):
    with pytest.raises(ValueError, match=complaint):
        BytePairTokenizer(vocabulary, merges)


def test_a_missing_file_is_named(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"no\.json"):
        BytePairTokenizer(tmp_path / "no.json", [])


@pytest.fixture(scope="module")
def names():
    """Names of emoji in many languages and scripts: short real phrases."""
    import emoji

    languages = ["en", "fr", "de", "ja", "ko", "ru", "ar", "fa", "tr", "zh"]
    emoji.config.load_language(languages)
    return [
        f"{sign} {data[language].strip(':').replace('_', ' ')}"
        for sign, data in emoji.EMOJI_DATA.items()
        for language in languages
        if language in data
    ]


@pytest.fixture(scope="module")
def peer(names):
    """Hugging Face's tokenizer, trained on a tenth of the names."""
    import tokenizers

    peer = tokenizers.Tokenizer(tokenizers.models.BPE())
    peer.pre_tokenizer = tokenizers.pre_tokenizers.ByteLevel(
        add_prefix_space=False
    )
    trainer = tokenizers.trainers.BpeTrainer(
        vocab_size=2000,
        special_tokens=["<|endoftext|>"],
        initial_alphabet=list(BYTE_LETTERS),
        show_progress=False,
    )
    peer.train_from_iterator([*names[::10], *TEXTS], trainer)
    return peer


@pytest.fixture(scope="module")
def ours(peer, tmp_path_factory):
    """Our tokenizer with the peer's files, and a folder of these alone."""
    folder = tmp_path_factory.mktemp("peer")
    peer.model.save(str(folder))
    tokenizer = BytePairTokenizer.from_huggingface(folder)
    in_graph = tf.function(
        tokenizer.__call__,
        input_signature=[tf.TensorSpec([None], tf.string)],
        autograph=False,
    )
    return tokenizer, in_graph, folder


def peer_ids(peer, texts):
    return [coding.ids for coding in peer.encode_batch(texts)]


@pytest.mark.peers
def test_ids_are_hugging_faces(peer, ours, names):
    tokenizer, _, _ = ours
    texts = [*names, *TEXTS, "\n".join(names[:500]), " ".join(names)]
    assert len(names) > 20_000
    dataset = tf.data.Dataset.from_tensor_slices(texts).batch(1024)
    ids = [row for batch in dataset.map(tokenizer) for row in batch.to_list()]
    assert ids == peer_ids(peer, texts)


@pytest.mark.peers
@pytest.mark.parametrize("letters", ["a", "ab", "the", "aeinrst", None])
def test_long_words_are_hugging_faces(peer, ours, letters):
    rng = random.Random(0)
    letters = letters or "abcdefghijklmnopqrstuvwxyz"
    text = "".join(rng.choices(letters, k=20_000))
    assert ours[0]([text]).to_list() == peer_ids(peer, [text])


@pytest.mark.peers
@settings(deadline=None, derandomize=True, max_examples=60)
@given(FUZZED)
def test_fuzzed_text_is_hugging_faces(peer, ours, texts):
    _, in_graph, _ = ours
    assert in_graph(tf.constant(texts)).to_list() == peer_ids(peer, texts)


@pytest.mark.peers
def test_ids_are_those_of_transformers(ours, names, tmp_path):
    from transformers import GPT2Tokenizer

    tokenizer, _, folder = ours
    texts = [*names[::50], *TEXTS]
    expected = tokenizer(texts).to_list()
    assert GPT2Tokenizer.from_pretrained(folder)(texts)["input_ids"] == expected
    # What we save can be read there too.
    tokenizer.save(tmp_path)
    saved = GPT2Tokenizer(
        vocab=str(tmp_path / "vocab.json"), merges=str(tmp_path / "merges.txt")
    )
    assert saved(texts)["input_ids"] == expected


@pytest.mark.slow
def test_a_megabyte_is_merged_in_seconds(learned):
    tokenizer, merges = learned
    rng = random.Random(0)
    word = "".join(rng.choices("abcdefghijklmnopqrstuvwxyz", k=1_000_000))
    ids = tokenizer([word])
    assert tokenizer.detokenize(ids).numpy() == [word.encode()]
    # The start of a word does not depend on what comes far behind.
    start = by_the_book(merges, tokenizer.vocabulary, word[:5000])
    assert ids.to_list()[0][: len(start) - 20] == start[:-20]
