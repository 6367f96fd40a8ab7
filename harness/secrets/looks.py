"""What is a secret by its looks alone: tokens with the head that their service gives them, keys, links that let in."""

# ruff: noqa: SIM905  lists of words, as a person reads them

from __future__ import annotations

import re
from collections.abc import Iterator

from ahocorasick_rs import AhoCorasick, MatchKind

from harness.gateway.chat.normaliser import SECRETS
from harness.secrets.values import is_random

_OWN = (
    # models, and what is built on them
    "gsk_ xai- pplx- nvapi- tvly- pcsk_ jina_ lsv2_pt_ lsv2_sk_ e2b_ pk-lf- api_org_ tgp_v1_ ops_eyJ sk_test_ "
    "rk_test_ "
    # code hosts, registries and what is beside them
    "dckr_pat_ dckr_oat_ rubygems_ glpat- gldt- glft- glsoat- glrt- glrtr- glcbt- glptt- glagent- gloas- glimt- "
    "glffct- "
    "GR1348941 ATATT3 ATCTT3 bkua_ CCIPAT_ CFPAT- sgp_ slk_ figd_ PMAK- lin_api_ lin_oauth_ pat-na1- pat-eu1- "
    "CLOJARS_ "
    # clouds and what runs there
    "dop_v1_ doo_v1_ dor_v1_ hvs. hvb. hvr. HRKU- NRAK- NRJS- NRII- NRAL- glc_ glsa_ pscale_tkn_ pscale_pw_ "
    "pscale_oauth_ "
    "sntrys_ sntryu_ tskey- sb_secret_ dp.pt. dp.st. dp.ct. dp.sa. dt0c01. sha256~ shpat_ shpca_ shppa_ shpss_ "
    # money, mail, messages and identities
    "whsec_ sq0atp- sq0csp- SG. xkeysib- xsmtpsib- xapp- shippo_live_ shippo_test_ duffel_live_ duffel_test_ "
    "FLWSECK- "
    "FLWSECK_TEST- access-sandbox- access-development- access-production- sm_pat_ sm_aat_ sm_sat_ ya29. GOCSPX- 1//0 "
    "sk_prod_ rk_prod_ AQVN pypi-AgE"
).split()
"""Heads that begin nothing else."""
_WORDS = (
    "npm_ r8_ csk- fw_ fc- ABSK cio oy2 ATBB ATTA ntn_ tfp_ rdme_ squ_ sqp_ sqa_ codecov_ snyk_ dapi pul- pnu_ "
    "nfp_ nfc_ "
    "sbp_ fo1_ fm1a_ fm1r_ LTAI AKCp cmVmd ico- API- YCAJE YCM rnd_ vcp_ vck_ vci_ cfut_ cfat_ scw_ SCW phx_ "
    "EAAA EAAC EAAM EZAK EZTK key- live_ re_ p8e- ttpat_ secret_ pat_ st. mfa. eyJrIjoi ddp_ ddw_ akab- "
    "infisical_ pypi- zpka_ cfk_ "
    "scauth_ together_ voyage- wandb_ cohere- render_ vercel_ supabase_ linear_ notion_ auth0_ okta_ 4b1d"
).split()
"""Heads that may begin a name: what follows them has no break, and a digit."""


_HEADS = AhoCorasick([*_OWN, *_WORDS], matchkind=MatchKind.LeftmostLongest)
_BEHIND = re.compile(r"[\w-]{16,2000}(?:[.~][\w-]{2,2000}){0,4}")
_BEHIND_WORD = re.compile(r"(?=[A-Za-z]{0,200}\d)[A-Za-z0-9]{20,2000}[\w.~-]{0,2000}(?<![.-])")
_SIGNS = ("sk-", "", "A", "AIza", "eyJ", "earer ")
"""What stands in each of SECRETS; its last one, a private key, is the first of these, and wants an end."""
_OTHER = (
    (
        "PRIVATE KEY",
        (
            r"-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----.*?(?:-----END [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOC"
            r"K)?-----|\Z)"
        ),
    ),
    ("SSH2", r"---- BEGIN SSH2 ENCRYPTED PRIVATE KEY ----.*?(?:---- END[^\n]{0,60}|\Z)"),
    ("PuTTY", r"PuTTY-User-Key-File-.*?(?:Private-MAC: \w+|\Z)"),
    ("OpenVPN", r"-----BEGIN OpenVPN Static key V1-----.*?(?:-----END OpenVPN Static key V1-----|\Z)"),
    ("$ANSIBLE_VAULT", r"\$ANSIBLE_VAULT;[^\n]{3,40}(?:\s{1,40}[0-9a-f]{2,80}){1,2000}"),
    ("prv", r"\b[xyzt]prv[1-9A-HJ-NP-Za-km-z]{100,112}\b"),
    ("nsec1", r"\bnsec1[0-9a-z]{58}\b"),
    ("WIF", r"\b[5KL][1-9A-HJ-NP-Za-km-z]{50,51}\b"),
    ("AGE-", r"AGE-SECRET-KEY-1[0-9A-Z]{20,80}"),
    ("A", r"\b(?:A3T[A-Z0-9]|AKIA|ASIA|ABIA|ACCA)[A-Z0-9]{12,}"),
    ("A3-", r"\bA3-[A-Z0-9]{6}-[A-Z0-9]{5,11}(?:-[A-Z0-9]{5,6}){3,4}"),
    # one that is bound to numbers: of Telegram, Twilio, Mailchimp, Discord, Azure, Square, Databricks, Slack's old one
    (":A", r"(?<!\d)\d{8,10}:A[\w-]{34,}"),
    ("SK", r"\b(?:SK|AC)[0-9a-f]{32}\b"),
    ("AC", r"\b(?:SK|AC)[0-9a-f]{32}\b"),
    ("-us", r"\b[0-9a-f]{32}-us\d{1,2}\b"),
    (".", r"\b[MNO][A-Za-z\d_-]{22,27}\.[\w-]{6}\.[\w-]{25,}"),
    ("Q~", r"(?<![\w~.-])[\w~.-]{3}\dQ~[\w~.-]{30,40}"),
    ("pat", r"\bpat[A-Za-z0-9]{14}\.[0-9a-f]{32,}"),
    ("atlasv1", r"\b[A-Za-z0-9]{14}\.atlasv1\.[\w-]{30,}"),
    ("v1.0-", r"\bv1\.0-[a-f0-9]{24}-[a-f0-9]{100,}"),
    ("gAAAAA", r"\bgAAAAA[\w-]{60,4000}={0,2}"),
    ("sl.", r"\bsl\.[\w-]{100,2000}"),
    ("dp.", r"\bdp\.(?:pt|st|ct|sa|scim|audit)\.(?:[\w-]{2,35}\.)?[A-Za-z0-9]{40,44}\b"),
    ("amzn.mws.", r"\bamzn\.mws\.[\w-]{20,80}"),
    ("s.", r"\bs\.[A-Za-z0-9]{24}\b"),
    (".eyJ", r"(?:sk|pk)\.eyJ[\w.-]{20,}"),
    # of passwords what is kept in their place
    ("$", r"\$(?:1|2[abxy]|5|6|7|y|apr1|argon2(?:id|i|d)|scrypt|pbkdf2[\w-]{0,20})\$[^\s:\"'\\]{16,400}"),
    ("pbkdf2_", r"\bpbkdf2_sha\d{1,3}\$\d+\$[^\s:\"'\\]{16,400}"),
    (":", r"\b(?:scrypt|pbkdf2):[\w:]{3,30}\$[^\s:\"'\\]{16,400}"),
    ("{", r"\{(?:S?SHA|S?MD5|CRYPT)\d{0,3}\}[\w+/=$.]{16,400}"),
    ("SCRAM-SHA-", r"SCRAM-SHA-\d{1,3}\$\d+:[^\s\"'\\]{16,400}"),
    # one that has breaks, or that only its length and its letters tell from a name
    ("re_", r"\bre_(?=[A-Za-z]{0,40}\d|[A-Za-z]{6,10}_[A-Za-z]{0,40}\d)[A-Za-z0-9]{6,10}_[A-Za-z0-9]{20,40}\b"),
    ("fm2_", r"\bfm2_[\w+/=-]{20,4000}"),
    ("sk_", r"\bsk_[0-9a-f]{32,128}\b"),
    ("key_", r"\bkey_[0-9a-f]{32,128}\b"),
    ("eyJ", r"\beyJ[\w-]{8,2000}\.[\w-]{0,2000}\.[\w-]{8,200}\.[\w-]{8,8000}\.[\w-]{8,200}"),
    ("AQ.", r"\bAQ\.Ab8[\w-]{20,200}"),
    ("access_token$", r"\baccess_token\$\w{4,20}\$[A-Za-z0-9]{8,40}\$[0-9a-f]{20,64}"),
    # a private key without its head
    (
        "b3BlbnNzaC1rZXk",
        r"b3BlbnNzaC1rZXk[A-Za-z0-9+/]{8,8000}={0,2}(?:\s{1,40}[A-Za-z0-9+/]{40,80})*(?:\s{1,40}[A-Za-z0-9+/]{4,80}=)?",
    ),
    ("pypi-", r"(?<![A-Za-z0-9])pypi-(?=[\w-]{0,200}\d)[\w-]{30,1000}"),
    # a head of a token without an end takes its square
    *((sign, each.replace("{8,}", "{8,1000}", 1)) for sign, each in zip(_SIGNS, SECRETS[:-1], strict=True)),
)
"""What else is one, each with what such a text holds."""
_LOOKS = tuple((sign, re.compile(each, re.DOTALL)) for sign, each in _OTHER)
_END = re.compile(r"-----END [A-Z0-9 ]{0,40}PRIVATE KEY")
_ROW = re.compile(r"[^\n]{0,12}?[A-Za-z0-9+/]{16,80}={0,2}[ \t\"',\\]{0,4}")
"""A line of a private key, as it stands in a listing, a patch or a list of texts."""
_ROWS, _WIDEST = 100, 100
"""Lines of a private key, and characters of one, that are taken for it where its begin is not there."""
_GENERIC = re.compile(
    r"(?<![A-Za-z0-9_./+-])[A-Za-z][A-Za-z0-9]{1,11}[_-](?:[a-z0-9]{1,8}[_-]){0,2}([A-Za-z0-9]{20,400})(?![A-Za-"
    r"z0-9])"
)
"""A token of a service that is not in the list: a head, and what no word and no hash is."""
_IDS = re.compile(
    r"sha\d+-|(?:toolu|call|msg|req|resp|rs|fc|run|thread|chatcmpl|item|gen|ses|prt)[_-]|commit-|b"
    r"uild-"
)
_LINKS = (
    re.compile(r"hooks\.slack(?:-gov)?\.com/((?:services|workflows|triggers)/[\w/-]{8,200})"),
    re.compile(r"api\.telegram\.org/(?:file/)?bot([\w:-]{10,200})"),
    # an address for one person
    re.compile(
        r"/(?:[a-z]{0,12}[-_]?)(?:reset|magic|invite|verify|confirm|activate|signin)(?:[-_][a-z]{1,12})?/(?:[A-Za-z0-9]{1,8}/)?"
        r"((?=[\w-]{0,100}\d)[\w-]{20,200})"
    ),
    re.compile(r"(?:infura|alchemy|quiknode|ankr)[\w.-]{0,60}/(?:[\w-]{1,20}/){0,3}([\w-]{24,100})"),
    re.compile(r"/private-([0-9a-f]{16,64})/"),
    re.compile(r"maker\.ifttt\.com/[^\s\"'<>\\]{0,100}/key/([\w-]{10,100})"),
    # what signs or opens a link
    re.compile(
        r"(?i)[?&;](?:x-amz-(?:signature|credential|security-token)|x-goog-(?:signature|credential)|sig|signatur"
        r"e|sign|s|key|code|auth|"
        r"pass|pwd|pw|jwt|sid|session|state|nonce|assertion|hmac|otp|ticket|invite|t|k|api[_-]?key|[\w-]{0,30}(?"
        r":token|secret|password)[\w-]{0,10})"
        r"=((?=[^\s\"'<>&#]{0,300}\d)[^\s\"'<>&#\\]{10,2000})"
    ),
    # a name that stands alone in the place of a login
    re.compile(r"://((?=[\w-]{0,200}\d)[\w-]{16,200})@"),
)  # fmt: skip


_LINK = re.compile(r"https?://[^\s\"'<>\\]{8,2000}")
_TO_READ = re.compile(r"/(?:blob|tree|raw|commit|docs?|wiki|guides?)/|://(?:docs?|developers?)\.")
"""What a link has that leads to a document."""
_LONG_NAME = re.compile(r"/((?=\w{0,200}\d)\w{16,}|[0-9a-f]{8}-[0-9a-f]{4}-)[^\s]*")


def find(text: str) -> Iterator[tuple[int, int]]:
    """Where something stands that looks like a secret."""
    yield from _find_headed(text)
    for sign, pattern in _LOOKS:
        if sign in text:
            yield from (found.span() for found in pattern.finditer(text))
    for found in _GENERIC.finditer(text):
        if _is_random(found[1]) and not _IDS.match(found[0]):
            yield found.span()
    yield from _find_last_rows(text)
    if "://" in text or "?" in text:
        yield from _find_links(text)


def _find_last_rows(text: str) -> Iterator[tuple[int, int]]:
    """The last lines of a private key, whose first ones are not there: from its end backwards, each looked at once."""
    for found in _END.finditer(text):
        first = last = text.rfind("\n", 0, found.start()) + 1
        for _ in range(_ROWS):
            above = text.rfind("\n", max(0, first - 1 - _WIDEST), max(0, first - 1)) + 1
            if not first or not _ROW.fullmatch(text, above, first - 1):
                break
            first = above
        if first < last:
            yield first, found.start()


def _find_headed(text: str) -> Iterator[tuple[int, int]]:
    for number, start, end in _HEADS.find_matches_as_indexes(text):
        if start == 0 or not (text[start - 1].isascii() and text[start - 1].isalnum()):
            behind = (_BEHIND if number < len(_OWN) else _BEHIND_WORD).match(text, end)
            if behind:
                yield start, behind.end()


def _find_links(text: str) -> Iterator[tuple[int, int]]:
    for pattern in _LINKS:
        yield from (found.span(1) for found in pattern.finditer(text))
    for link in _LINK.finditer(text):
        # A webhook of anybody lets in whoever knows the long name in its path.
        hook = link[0].lower().find("hook", 7)
        if hook > 0 and not _TO_READ.search(link[0]) and (long := _LONG_NAME.search(link[0], hook)):
            yield link.start() + long.start() + 1, link.end()


def _is_random(text: str) -> bool:
    digits = sum(letter.isdigit() for letter in text)
    several = digits > 2 and digits * 10 >= len(text) and text.lower() != text != text.upper()
    return several or is_random(text, 50)
