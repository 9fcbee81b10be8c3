import random

import pytest

from keras_attn.text.sentence_piece import precompiled_map


def compiled(mapping):
    """A double array, each node's children where there is room first."""
    texts, places = b"", {}
    for key, value in mapping.items():
        places[key.encode()] = len(texts)
        texts += value.encode() + b"\0"
    units, taken = [0] * 4096, {0}
    nodes = [(0, b"")]
    for node, prefix in nodes:
        longer = {key[: len(prefix) + 1] for key in places}
        labels = sorted(
            key[-1]
            for key in longer
            if key.startswith(prefix) and len(key) > len(prefix)
        )
        leaf = prefix in places
        offset = next(
            offset
            for offset in range(1, 2048)
            if not taken & {node ^ offset ^ c for c in [*labels, 0]}
        )
        units[node] |= offset << 10 | leaf << 8
        taken.add(node ^ offset)
        if leaf:
            units[node ^ offset] = places[prefix] | 1 << 31
        for label in labels:
            goal = node ^ offset ^ label
            taken.add(goal)
            units[goal] = label
            nodes.append((goal, prefix + bytes([label])))
    trie = b"".join(unit.to_bytes(4, "little") for unit in units)
    return len(trie).to_bytes(4, "little") + trie + texts


def test_every_entry_is_listed():
    mapping = {"a": "b", "ab": "", "é": "e", "e\u0301": "é", "漢": "xyz"}
    assert precompiled_map.entries(compiled(mapping)) == mapping


def test_no_map_has_no_entries():
    assert precompiled_map.entries(b"") == {}


@pytest.mark.parametrize("data", [b"\xff\xff\0\0abcd", b"\x04", b"\3\0\0\0abc"])
def test_a_damaged_map_is_refused(data):
    with pytest.raises(ValueError, match="size of its trie"):
        precompiled_map.entries(data)


@pytest.mark.peers
@pytest.mark.parametrize("rule", ["nmt_nfkc", "nfkc_cf"])
def test_the_entries_are_those_that_sentencepiece_replaces(rule):
    import sentencepiece
    from sentencepiece import sentencepiece_model_pb2

    normalizer = sentencepiece.SentencePieceNormalizer(
        rule_name=rule,
        add_dummy_prefix=False,
        escape_whitespaces=False,
        remove_extra_whitespaces=False,
    )
    model = sentencepiece_model_pb2.ModelProto.FromString(
        normalizer.serialized_model_proto()
    )
    spec = model.normalizer_spec
    entries = precompiled_map.entries(spec.precompiled_charsmap)
    assert len(entries) > 200_000
    keys = random.Random(0).sample(sorted(entries), 20_000)
    assert [normalizer.normalize(key) for key in keys] == [
        entries[key] for key in keys
    ]
    # What is no entry stays as it is.
    others = {*map(chr, range(1, 0x3000))} - entries.keys()
    assert [*map(normalizer.normalize, others)] == [*others]
