"""What the drill of keeping writes and asks: questions and answers, odd texts, and texts that are nearly alike."""

from __future__ import annotations

from typing import NamedTuple


class QuestionKind(NamedTuple):
    """A kind of question. `look_alike` says in its words what `answer` says in others."""

    question: str
    answer: str
    look_alike: str


FAMILIES = (
    QuestionKind(
        "How many days does the {part} keep its logs before they are deleted?",
        "Old output of the {part} is thrown away after {n} nights",
        "The {part} keeps its logs for {n} days before they are deleted",
    ),
    QuestionKind(
        "Who has to approve a schema change of the {part}?",
        "{person} signs off every migration of the {part}, rule {n}",
        "A schema change of the {part} has to be approved by {person}, rule {n}",
    ),
    QuestionKind(
        "Which port does the {part} listen on in local development?",
        "On a laptop the {part} is reachable at localhost:{n}",
        "The {part} listens on port {n} in local development",
    ),
    QuestionKind(
        "What is the time limit for one request to the {part}?",
        "Calls into the {part} are given up after {n} ms",
        "The time limit for one request to the {part} is {n} ms",
    ),
    QuestionKind(
        "Which command runs only the tests of the {part}?",
        "To check nothing but the {part}: make check-{n}",
        "The command that runs only the tests of the {part} is make test-{n}",
    ),
)
UNKNOWN = (
    "Which spice goes into the lentil soup of the harbour canteen?",
    "Who won the chess final on the island in 1962?",
    "How high does the glacier above the monastery reach in August?",
    "What did the violinist wear at the funeral of her uncle?",
    "Why do herons sleep on one leg in shallow rivers?",
    "blorptang quizzlefrem vostrigal umplethorn",
)
LONG = "The build log said, and nobody read to its end: " + " ".join(
    f"step {n} took {n * 7 % 97} s;" for n in range(700)
)
ODD = (
    """He said "keep 'both' `kinds` of \\"quotes\\"" and C:\\temp\\new, 5'10" or so""",
    "Robert'); DROP TABLE memories; -- was typed into the voucher form",
    "Indented snippet:\n\n\tif ready:  \n\t\treturn  'two  spaces'\n   # end",
    "Line ends of three kinds:\r\nsecond\rthird\nlast",
    (
        "\N{ROCKET} ship it \N{WOMAN}\N{ZERO WIDTH JOINER}\N{PERSONAL COMPUTER} said yes \N{THUMBS UP SIGN}"
        "\N{EMOJI MODIFIER FITZPATRICK TYPE-5} \N{REGIONAL INDICATOR SYMBOL LETTER P}"
        "\N{REGIONAL INDICATOR SYMBOL LETTER T}"
    ),
    "The terminal rang \x07 and turned \x1b[31mred\x1b[0m at unit \x1f separator \x01, delete \x7f",
    LONG[:10_000],
    (
        "\N{RIGHT-TO-LEFT MARK}\u0641\u0631\u0639 \u0627\u0644\u0625\u0635\u062f\u0627\u0631 main "
        "\u05e2\u05e0\u05e3 \N{RIGHT-TO-LEFT OVERRIDE}abc\N{POP DIRECTIONAL FORMATTING}"
    ),
    "?! ... --- *** /// ;;; ((( )))",
    "{{ user.name }} ${HOME} %(path)s %s {0} {part} <%= x %> {% raw %} $(id) `id`",
    '{"text": null, "id": "1", "metadata": {"deleted": true}}',
    (
        "cafe\N{COMBINING ACUTE ACCENT} and caf\N{LATIN SMALL LETTER E WITH ACUTE}, \N{LATIN SMALL LIGATURE FI}le, "
        "non\N{NO-BREAK SPACE}breaking, zero\N{ZERO WIDTH SPACE}width"
    ),
    "<script>alert('note')</script> &amp; <!-- 100% of _rows_ match *?[a-z] -->",
)
"""Texts that some part of a stack escapes, strips, normalises, cuts, fills in or runs."""
SHARED = (
    "In the release notes of the storefront, below the heading about deployments and rollbacks, the second list says "
    "in the third line of the paragraph that the shift on call added after the outage of the payment service: "
)
"""The beginning of texts that differ only behind it."""
ALIKE = (
    *(f"{SHARED[:shared]}{end}" for shared in (40, 80, 200) for end in ("ring Ada", "page the whole team")),
    "Retry the nightly export 3 times before you page anybody",
    "Retry the nightly export 8 times before you page anybody",
    "Rotate the STAGING key on Mondays",
    "rotate the staging key on mondays",
    "The price table is rebuilt in two steps:\n  first the rates,\n  then the rules",
    "The price table is rebuilt in two steps: first the rates, then the rules",
    "Resume the caf\N{LATIN SMALL LETTER E WITH ACUTE} import by hand",
    "Resume the cafe\N{COMBINING ACUTE ACCENT} import by hand",
)
"""Pairs that differ by their end, a digit, case, white space, or the way a letter is put together."""
TWICE = "Ask the warehouse before you change the label format"
"""Written more than once: each time with a date and a source of its own, here and in narrower scopes."""
