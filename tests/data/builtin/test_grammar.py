import pytest

from keras_attn.data.builtin import grammar
from keras_attn.data.builtin.grammar import translate


def row(table, english):
    (found,) = (row for row in table if row[0] == english)
    return found


def noun_phrase(plural, determiner, noun, adjective=None):
    articles = grammar.PLURAL if plural else grammar.SINGULAR
    nouns = grammar.ANIMATE + grammar.THINGS
    return (
        plural,
        row(articles, determiner),
        row(nouns, noun),
        adjective and row(grammar.ADJECTIVES, adjective),
    )


def verb(english):
    return row(grammar.VERBS, english)


def negation(english):
    return row(grammar.NEGATIONS, english)


def links(alignment):
    """For each target word, the places of its source words."""
    return [
        [place for place, on in enumerate(line) if on] for line in alignment
    ]


def test_verb_comes_last_and_negation_is_two_words():
    source, target, alignment = translate(
        noun_phrase(False, "the", "cat", "small"),
        verb("see"),
        noun_phrase(True, "two", "lemon"),
        negation=negation("not"),
        circumstance=grammar.CIRCUMSTANCES[0][0],
    )
    assert source == "the small cat does not see two lemons tonight"
    assert target == "ce soir le chat petit deux citrons ne voit pas"
    assert links(alignment) == [
        [8],
        [8],
        [0],
        [2],
        [1],
        [6],
        [7],
        [4],
        [3, 5],
        [4],
    ]


def test_words_become_one_or_three():
    source, target, alignment = translate(
        noun_phrase(True, "my", "firefly", "old"),
        verb("look for"),
        noun_phrase(False, "a", "potato"),
        negation=negation("no longer"),
        future=True,
        circumstance=grammar.CIRCUMSTANCES[1][0],
    )
    assert source == (
        "my old fireflies will no longer look for a potato on monday"
    )
    assert target == (
        "lundi mes mouches à feu vieilles une pomme de terre "
        "ne chercheront plus"
    )
    assert links(alignment) == [
        [10, 11],
        [0],
        [2],
        [2],
        [2],
        [1],
        [8],
        [9],
        [9],
        [9],
        [4, 5],
        [3, 6, 7],
        [4, 5],
    ]


@pytest.mark.parametrize(
    ("subject", "options", "source", "target"),
    [
        (
            (False, "the", "cow", "new"),
            {},
            "the new cow sees the hat",
            "la vache nouvelle le chapeau voit",
        ),
        (
            (True, "these", "horse", "new"),
            {},
            "these new horses see the hat",
            "ces chevaux nouveaux le chapeau voient",
        ),
        (
            (False, "a", "king", "old"),
            {"negation": negation("never")},
            "an old king never sees the hat",
            "un roi vieux le chapeau ne voit jamais",
        ),
        (
            (True, "the", "mouse"),
            {"negation": negation("not")},
            "the mice do not see the hat",
            "les souris le chapeau ne voient pas",
        ),
        (
            (False, "this", "queen"),
            {"future": True},
            "this queen will see the hat",
            "cette reine le chapeau verra",
        ),
    ],
)
def test_words_agree(subject, options, source, target):
    found = translate(
        noun_phrase(*subject),
        verb("see"),
        noun_phrase(False, "the", "hat"),
        **options,
    )
    assert found[:2] == (source, target)


def test_a_repeated_word_keeps_its_own_link():
    source, target, alignment = translate(
        noun_phrase(False, "the", "dog", "red"),
        verb("follow"),
        noun_phrase(False, "the", "car", "red"),
        circumstance=grammar.CIRCUMSTANCES[3][0],
    )
    assert source == "the red dog follows the red car in the garden"
    assert target == "dans le jardin le chien rouge la voiture rouge suit"
    assert links(alignment) == [
        [7],
        [8],
        [9],
        [0],
        [2],
        [1],
        [4],
        [6],
        [5],
        [3],
    ]


def test_the_longest_sentence_has_the_documented_length():
    source, target, alignment = translate(
        noun_phrase(False, "the", "firefly", "red"),
        verb("look at"),
        noun_phrase(False, "the", "potato", "red"),
        negation=negation("no longer"),
        future=True,
        circumstance=grammar.CIRCUMSTANCES[3][0],
    )
    assert len(source.split()) == grammar.MAX_SOURCE == 14
    assert len(target.split()) == grammar.MAX_TARGET == 16
    assert alignment.shape == (16, 14)


def test_clauses_are_joined_with_their_links():
    clauses = [
        translate(
            noun_phrase(False, "the", "cat"),
            verb("see"),
            noun_phrase(False, "a", "hat"),
        ),
        translate(
            noun_phrase(False, "my", "dog", "old"),
            verb("follow"),
            noun_phrase(False, "the", "king"),
        ),
    ]
    source, target, alignment = grammar.join(clauses, [("but", "mais")])
    assert source == "the cat sees a hat but my old dog follows the king"
    assert target == "le chat un chapeau voit mais mon chien vieux le roi suit"
    assert links(alignment) == [
        *([0], [1], [3], [4], [2], [5]),
        *([6], [8], [7], [10], [11], [9]),
    ]
    one = grammar.join(clauses[:1], [])
    assert one[:2] == clauses[0][:2]
    assert (one[2] == clauses[0][2]).all()


def test_no_french_word_would_lose_a_vowel_before_it():
    nouns = [
        word for row in grammar.ANIMATE + grammar.THINGS for word in row[2:4]
    ]
    verbs = [word for row in grammar.VERBS for word in row[2:]]
    assert not [word for word in nouns + verbs if word[0] in "aâeéèêioôuhy"]
