"""What the drill of keeping writes and asks: questions, answers, odd texts, notes, and texts that are nearly alike."""

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
    # not even its "the" is in a memory: whatever this brings is found by no word
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
    '{"text": null, "id":"1", "score": 1.50, "metadata": {"deleted": true, "deleted": 1e2}}',
    (
        "cafe\N{COMBINING ACUTE ACCENT} and caf\N{LATIN SMALL LETTER E WITH ACUTE}, \N{LATIN SMALL LIGATURE FI}le, "
        "non\N{NO-BREAK SPACE}breaking, zero\N{ZERO WIDTH SPACE}width"
    ),
    "<script>alert('note')</script> &amp; <!-- 100% of _rows_ match *?[a-z] -->",
)
"""Texts that some part of a stack escapes, strips, normalises, cuts, fills in or runs."""
NOTES = (
    (
        "Pin Python 3.10 and numpy 1.20.0, not 1.9; Node stays on v18.04.0-rc.1+build.007 (never v18.4). The tolerance "
        "of 0.50 is meant: 1.00e-05 is too small, and 2.5000 % is the fee."
    ),
    (
        "Deploy by hand, never from CI:  install -D -m 0644 ./conf/../etc/app.ini /etc/app.d/00-base.ini && rsync -avz "
        "--delete --exclude='*.tmp' --bwlimit=0500 -e \"ssh -p 0022\" ../dist/./ <at>:/srv/www/ 2>&1 | tee -a x.log; "
        "chmod u=rw,go-w what is -rw-rw-r--; kill -9 what hangs;"
    ),
    (
        "The line of crontab is `0 04 */2 * 1-5 /usr/local/bin/rotate --keep=007 -v >> /var/log/rotate.log 2>&1`. It "
        "runs at 04:00, first on 29.02.2024 (2024-02-29T04:00:00Z), and did not run yesterday, 03/04/05, at 7:05 pm."
    ),
    (
        "Clocks drift from -40 ms up to +0.250 s; below −5 °C (23 °F) a disk slows to 512 KiB/s of 1.5 MiB/s, ±3 %, "
        "20 µs for 4,096 bytes, 10² × ½ m. It costs $1,299.00 or €0.05 a day; refuse 9007199254740993, 0x00FF and 1e21"
    ),
    (
        r"""Take what matches ^(?!#)\s*([A-Z][\w.-]{2,})\s*=\s*"?(.*?)"?$ and not \bTODO\b(?!:), split it at """
        r"""(?<=\d)[,;]\s+ and write userID, UserId, USERID to C:\Users\dana\.cfg, \\nas01\new$ and ~/.c//a/../b"""
    ),
    (
        "'Do not retry a payment after a 409. It doesn't undo the first, and no alert is raised. Never call it twice! "
        "Isn't there a lock? You cannot go without it, except if a flag is off (it is off on staging, i.e. not here "
        "or in production); that that had had no effect is a colour, not an error: wait ...'"
    ),
    (
        "| step | queue | mode |\n|:-----|------:|:----:|\n| seed | 05432 | 0600 |\n| seed | 05432 | 0600 |\n"
        "| load |  8080 | - |\n\nRead it from the top, and stop at the first gap!"
    ),
    (
        "## Before a release\n\n```sh\nset -euo pipefail\nexport TZ='UTC'  # not local time\nfor f in *.sql; do\n"
        '    psql -X \\\n      -v ON_ERROR_STOP=1 -f "$f" || exit 1\ndone\n```\n\n3. **Tag** it _once_: `v2.10.0`.\n'
        "7. ~~Mail~~ Tell @ops, see [the list](docs/list.md#02), #0815 and :tada:\n   - [ ] then wait\n> and ask?"
    ),
    (
        "Die Größe heißt „Maß“ – nicht ‚Masse‘, höchstens 0,50. Le réglage n’est pas «0,05»… Не меняй! "
        "変更しないでください。 İstanbul’da ısı; दिन — １２ 한국어"
    ),
    (
        "See https://ci.example.com:08443/job/00042/log?from=2026-01-02T03:04:05Z&utm_source=mail&q=a%2Fb+c#L010-L20 "
        "(private; not http://ci.example.com), commit 0123456789abcdef0123456789abcdef01234567, run "
        f"0E3DAD1F-9990-4c1b-8f6a-00e00e00e00e, sha256:{'0badc0de' * 8}"
    ),
    (
        'on: push\nversion: "1.10"\nenabled: no\nmode: 0o755\nempty: ~\nretries: 1_000\nretries: 1_000\n'
        "# stays: this comment\nlist: [01, 02, 3.0]\n\n\nenv:\n  - NULL=null\n  - TRUE='yes'\n# end"
    ),
    "--- a/limits.py\n+++ b/limits.py\n@@ -01,2 +01,2 @@\n-TIMEOUT = 30\n+TIMEOUT = 0.30\n context = '''kept'''",
    "    if attempts >= 03.0:\n        return -1\n",
    (
        "---\nname: depot\n---\numount the share before you fsck; creat() and Referer are spelt so. #urgent #db\n\n"
        "![plan](img/plan.png) and [[ -f run.lock ]] from [[Runbook]]\n\n---\nuser: may I?\nassistant: no, see "
        "https://ci.example.com/job/7/.\n// eslint-disable-next-line\nThe tag <private>is kept</private> as it is."
    ),
    (
        "[ops] \N{WARNING SIGN}\N{VARIATION SELECTOR-16} The export writes \N{LATIN CAPITAL LETTER A WITH TILDE}"
        "\N{COPYRIGHT SIGN} for \N{LATIN SMALL LETTER E WITH ACUTE} and \\u00e9 in JSON; a page ends with \x0c, a line"
        "\N{LINE SEPARATOR}with U+2028 or \x85."
    ),
)
"""What engineers write down: each digit, flag, sign, word and line of it matters."""
GUARDED = (
    (
        "Ask dana.oneill+oncall@mail.example.com or ops@example.co.uk, not root@localhost, phone +49 030 901820; the "
        "hosts are 10.0.12.7, 192.168.1.10, fe80::1%eth0 and 00:1b:44:11:3a:b7"
    ),
    (
        f"None of these is real: AKIAIOSFODNN7EXAMPLE, ghp_{'0aB' * 12}, glpat-{'7yZ' * 7}, xoxb-{'12' * 6}-{'aZ' * 9},"
        f" AIza{'0aB' * 11}a1, sk-test-{'9xY' * 8}, password=hunter2, KEY: '{'c0ffee' * 6}', Bearer "
        "eyJhbGciOiJIUzI1NiJ9.e30.c2lnbmVk, postgres://app:s3cr3t@db:5432/shop, 4111 1111 1111 1111, DE89 3704 0044 "
        f"0532 0130 00, 078-05-1120, {'-' * 5}BEGIN PRIVATE KEY{'-' * 5}"
    ),
)
"""Addresses, and what looks like a credential: a store may say that it masks them."""
REWRITTEN = (
    "Run the importer with --dry-run first. Do not skip row 007, and keep 0.10 as its limit.",
    "Grant 0640 on /var/lib/app/01.db (never 0666). The owner stays svc-app!",
    "Cache rates for 3.10 s, not for 3 min:\n\n```toml\nttl = '03.10'  # seconds\n```",
    "Réessayer n’est pas permis — “jamais” veut dire jamais. Danach: -1 statt +1",
    "Send /v1/users/{id}/ to [::1]:08443; see https://example.com/a?b=1.0#c (TLS 1.20 only).",
    "| flag | since |\n|---|---|\n| ^v?\\d+\\.\\d0$ | 4.20 |\n\nIt takes 512 KiB. Nothing else has to match it.",
)
"""Notes that take another text's place."""
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
