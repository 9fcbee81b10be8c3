"""A small grammar: English, and a French that puts its verb last."""

import numpy as np

# English, then French before a masculine and a feminine noun.
SINGULAR = [
    ("the", "le", "la"),
    ("a", "un", "une"),
    ("my", "mon", "ma"),
    ("this", "ce", "cette"),
]
PLURAL = [
    ("the", "les", "les"),
    ("two", "deux", "deux"),
    ("my", "mes", "mes"),
    ("these", "ces", "ces"),
]

# English and French, singular and plural; gender.
ANIMATE = [
    ("cat", "cats", "chat", "chats", "m"),
    ("dog", "dogs", "chien", "chiens", "m"),
    ("fox", "foxes", "renard", "renards", "m"),
    ("cow", "cows", "vache", "vaches", "f"),
    ("king", "kings", "roi", "rois", "m"),
    ("queen", "queens", "reine", "reines", "f"),
    ("mouse", "mice", "souris", "souris", "f"),
    ("horse", "horses", "cheval", "chevaux", "m"),
    ("firefly", "fireflies", "mouche à feu", "mouches à feu", "f"),
]
THINGS = [
    ("house", "houses", "maison", "maisons", "f"),
    ("car", "cars", "voiture", "voitures", "f"),
    ("book", "books", "livre", "livres", "m"),
    ("hat", "hats", "chapeau", "chapeaux", "m"),
    ("flower", "flowers", "fleur", "fleurs", "f"),
    ("lemon", "lemons", "citron", "citrons", "m"),
    ("potato", "potatoes", "pomme de terre", "pommes de terre", "f"),
]

# English; French masculine and feminine, singular then plural.
ADJECTIVES = [
    ("small", "petit", "petite", "petits", "petites"),
    ("big", "grand", "grande", "grands", "grandes"),
    ("red", "rouge", "rouge", "rouges", "rouges"),
    ("green", "vert", "verte", "verts", "vertes"),
    ("blue", "bleu", "bleue", "bleus", "bleues"),
    ("grey", "gris", "grise", "gris", "grises"),
    ("old", "vieux", "vieille", "vieux", "vieilles"),
    ("new", "nouveau", "nouvelle", "nouveaux", "nouvelles"),
    ("strange", "bizarre", "bizarre", "bizarres", "bizarres"),
    ("quiet", "calme", "calme", "calmes", "calmes"),
]

# English they, he; French he, they, he will, they will. No French verb or noun
# starts with a vowel, before which "ne", "le" and "la" would change.
VERBS = [
    ("see", "sees", "voit", "voient", "verra", "verront"),
    ("follow", "follows", "suit", "suivent", "suivra", "suivront"),
    ("find", "finds", "trouve", "trouvent", "trouvera", "trouveront"),
    ("carry", "carries", "porte", "portent", "portera", "porteront"),
    ("draw", "draws", "dessine", "dessinent", "dessinera", "dessineront"),
    ("lose", "loses", "perd", "perdent", "perdra", "perdront"),
    (
        "look for",
        "looks for",
        "cherche",
        "cherchent",
        "cherchera",
        "chercheront",
    ),
    ("look at", "looks at", "regarde", "regardent", "regardera", "regarderont"),
]

# English; French before and after the verb.
NEGATIONS = [
    ("not", "ne", "pas"),
    ("never", "ne", "jamais"),
    ("no longer", "ne", "plus"),
]

# At the end in English and in front in French; word groups that correspond.
# Those of a kind differ in every group, so that none follows from another.
CIRCUMSTANCES = [
    [[("tonight", "ce soir")]],
    [[("on monday", "lundi")]],
    [
        [("every", "chaque"), noun]
        for noun in (("day", "jour"), ("night", "nuit"), ("week", "semaine"))
    ],
    [
        [preposition, determiner, noun]
        for preposition in (("in", "dans"), ("behind", "derrière"))
        for determiner in (("the", "le"), ("my", "mon"))
        for noun in (("garden", "jardin"), ("park", "parc"))
    ],
]

# Between clauses, in both languages.
CONJUNCTIONS = [("and", "et"), ("but", "mais"), ("because", "car")]

# The most words of a clause.
MAX_SOURCE = 14
MAX_TARGET = 16


def translate(
    subject: tuple,
    verb: tuple,
    object: tuple,
    *,
    negation: tuple | None = None,
    future: bool = False,
    circumstance: list | None = None,
) -> tuple[str, str, np.ndarray]:
    """Say a sentence in both languages, and which word comes from which.

    English, whose verb is second, becomes French with adjectives after their
    nouns, the circumstance first and the verb last:

        the small cat does not see two lemons tonight
        ce soir le chat petit deux citrons ne voit pas

    Articles and adjectives agree with their noun, the verb with its subject.
    "not" becomes two words, "potato" three, and "does see" or "looks for" one.

    Args:
        subject: (plural, determiner, noun, adjective or None), rows of the
            tables above; `plural` is a truth value.
        verb: A row of `VERBS`.
        object: As `subject`.
        negation: A row of `NEGATIONS`.
        future: Whether it is yet to come.
        circumstance: One of a kind of `CIRCUMSTANCES`.

    Returns:
        The English, the French, and booleans (target, source) that are True
        where a French word comes from an English one.
    """
    circumstance = circumstance or []
    source = [
        *_english_noun("subject", *subject),
        *_english_verb(subject[0], verb, negation, future),
        *_english_noun("object", *object),
        *((english, group) for group, (english, _) in enumerate(circumstance)),
    ]
    target = [
        *((french, group) for group, (_, french) in enumerate(circumstance)),
        *_french_noun("subject", *subject),
        *_french_noun("object", *object),
        *_french_verb(subject[0], verb, negation, future),
    ]
    source = [(word, key) for words, key in source for word in words.split()]
    target = [(word, key) for words, key in target for word in words.split()]
    alignment = [[key == other for _, other in source] for _, key in target]
    return (
        " ".join(word for word, _ in source),
        " ".join(word for word, _ in target),
        np.array(alignment),
    )


def join(
    clauses: list[tuple[str, str, np.ndarray]], conjunctions: list[tuple]
) -> tuple[str, str, np.ndarray]:
    """Make one sentence of clauses, which keep their order in both languages.

        the cat sees a hat and my dog follows the king
        le chat un chapeau voit et mon chien le roi suit

    Args:
        clauses: What `translate` returned of each.
        conjunctions: A row of `CONJUNCTIONS` for each place between two.

    Returns:
        The English, the French and the alignment, as from `translate`.
    """
    source, target, alignment = clauses[0]
    for (english, french), clause in zip(
        conjunctions, clauses[1:], strict=True
    ):
        for words, other, aligned in (
            (english, french, np.ones((1, 1), bool)),
            clause,
        ):
            source, target = f"{source} {words}", f"{target} {other}"
            rows, columns = alignment.shape
            alignment = np.pad(alignment, [(0, size) for size in aligned.shape])
            alignment[rows:, columns:] = aligned
    return source, target, alignment


def longest(num_clauses: int) -> tuple[int, int]:
    """The most words of a French and of an English sentence."""
    between = num_clauses - 1
    return (
        num_clauses * MAX_TARGET + between,
        num_clauses * MAX_SOURCE + between,
    )


def _english_noun(role, plural, determiner, noun, adjective):
    words = [(adjective[0], f"{role} adjective")] if adjective else []
    words.append((noun[plural], f"{role} noun"))
    article = determiner[0]
    if article == "a" and words[0][0][0] in "aeiou":
        article = "an"
    return [(article, f"{role} determiner"), *words]


def _french_noun(role, plural, determiner, noun, adjective):
    feminine = noun[-1] == "f"
    words = [
        (determiner[1 + feminine], f"{role} determiner"),
        (noun[2 + plural], f"{role} noun"),
    ]
    if adjective:
        form = adjective[1 + 2 * plural + feminine]
        words.append((form, f"{role} adjective"))
    return words


def _english_verb(plural, verb, negation, future):
    plain, third_person = verb[:2]
    negating = [(negation[0], "negation")] if negation else []
    if future:
        return [("will", "verb"), *negating, (plain, "verb")]
    if negation and negation[0] == "not":
        helper = "do" if plural else "does"
        return [(helper, "verb"), *negating, (plain, "verb")]
    return [*negating, (plain if plural else third_person, "verb")]


def _french_verb(plural, verb, negation, future):
    words = [(verb[2 + 2 * future + plural], "verb")]
    if negation:
        _, before, after = negation
        words = [(before, "negation"), *words, (after, "negation")]
    return words
