"""What is a secret by its looks alone: tokens with the head that their service gives them, private keys, links."""

# ruff: noqa: SIM905  lists of words, as a person reads them

from __future__ import annotations

import re
from collections.abc import Iterator

from ahocorasick_rs import AhoCorasick, MatchKind

from harness.gateway.chat.normaliser import SECRETS
from harness.secrets import keys, links
from harness.secrets.patterns import Patterns, pattern
from harness.secrets.values import is_random

_OWN = (
    # models, and what is built on them
    *"gsk_ xai- pplx- nvapi- tvly- pcsk_ jina_ lsv2_pt_ lsv2_sk_ e2b_ pk-lf- api_org_ tgp_v1_ ops_eyJ".split(),
    *"sk_test_ rk_test_".split(),
    # code hosts, registries and what is beside them
    *"dckr_pat_ dckr_oat_ rubygems_ glpat- gldt- glft- glsoat- glrt- glrtr- glcbt- glptt- glagent-".split(),
    *"gloas- glimt- glffct- GR1348941 ATATT3 ATCTT3 bkua_ CCIPAT_ CFPAT- sgp_ slk_ figd_ PMAK-".split(),
    *"lin_api_ lin_oauth_ pat-na1- pat-eu1- CLOJARS_".split(),
    # clouds and what runs there
    *"dop_v1_ doo_v1_ dor_v1_ hvs. hvb. hvr. HRKU- NRAK- NRJS- NRII- NRAL- glc_ glsa_ pscale_tkn_".split(),
    *"pscale_pw_ pscale_oauth_ sntrys_ sntryu_ tskey- sb_secret_ dt0c01.".split(),
    *"sha256~ shpat_ shpca_ shppa_ shpss_".split(),
    # money, mail, messages and identities
    *"whsec_ sq0atp- sq0csp- SG. xkeysib- xsmtpsib- xapp- shippo_live_ shippo_test_ duffel_live_".split(),
    *"duffel_test_ FLWSECK- FLWSECK_TEST- access-sandbox- access-development- access-production-".split(),
    *"sm_pat_ sm_aat_ sm_sat_ ya29. GOCSPX- 1//0 sk_prod_ rk_prod_ AQVN".split(),
)
"""Heads that begin nothing else."""
_WORDS = (
    *"npm_ r8_ csk- fw_ fc- ABSK cio oy2 ATBB ATTA ntn_ tfp_ rdme_ squ_ sqp_ sqa_ codecov_ snyk_ dapi".split(),
    *"pul- pnu_ nfp_ nfc_ sbp_ fo1_ fm1a_ fm1r_ LTAI AKCp cmVmd ico- API- YCAJE YCM rnd_ vcp_ vck_".split(),
    *"vci_ cfut_ cfat_ scw_ SCW phx_ EAAA EAAC EAAM EZAK EZTK key- live_ re_ p8e- ttpat_ secret_ pat_".split(),
    *"st. mfa. eyJrIjoi ddp_ ddw_ akab- infisical_ zpka_ cfk_ scauth_ together_ voyage- wandb_".split(),
    *"cohere- render_ vercel_ supabase_ linear_ notion_ auth0_ okta_ 4b1d".split(),
)
"""Heads that may begin a name: what follows them has no break, and a digit."""


_HEADS = AhoCorasick([*_OWN, *_WORDS], matchkind=MatchKind.LeftmostLongest)
_BEHIND = re.compile(r"[\w-]{16,2000}(?:[.~][\w-]{2,2000}){0,4}")
_BEHIND_WORD = re.compile(r"(?=[A-Za-z]{0,200}\d)[A-Za-z0-9]{20,2000}[\w.~-]{0,2000}(?<![.-])")
_SIGNS = ("sk-", "gh|glpat|hf|xox|_live", "AKIA|ASIA", "AIza", "eyJ", "earer ")
"""What stands in each of SECRETS; the last one of those is a private key."""
_PATTERNS = Patterns(
    pattern("A3T|AKIA|ASIA|ABIA|ACCA", r"\b(?:A3T[A-Z0-9]|AKIA|ASIA|ABIA|ACCA)[A-Z0-9]{12,}"),
    pattern("A3-", r"\bA3-[A-Z0-9]{6}-[A-Z0-9]{5,11}(?:-[A-Z0-9]{5,6}){3,4}"),
    # one that is bound to numbers: of Telegram, Twilio, Mailchimp, Discord, Azure, Square, Databricks, Slack's old one
    pattern(":A", r"(?<!\d)\d{8,10}:A[\w-]{34,}"),
    pattern("SK|AC", r"\b(?:SK|AC)[0-9a-f]{32}\b"),
    pattern("-us", r"\b[0-9a-f]{32}-us\d{1,2}\b"),
    pattern(".", r"\b[MNO][A-Za-z\d_-]{22,27}\.[\w-]{6}\.[\w-]{25,}"),
    pattern("Q~", r"(?<![\w~.-])[\w~.-]{3}\dQ~[\w~.-]{30,40}"),
    pattern("pat", r"\bpat[A-Za-z0-9]{14}\.[0-9a-f]{32,}"),
    pattern("atlasv1", r"\b[A-Za-z0-9]{14}\.atlasv1\.[\w-]{30,}"),
    pattern("v1.0-", r"\bv1\.0-[a-f0-9]{24}-[a-f0-9]{100,}"),
    pattern("gAAAAA", r"\bgAAAAA[\w-]{60,4000}={0,2}"),
    pattern("sl.", r"\bsl\.[\w-]{100,2000}"),
    pattern("dp.", r"\bdp\.(?:pt|st|ct|sa|scim|audit)\.(?:[\w-]{2,35}\.)?[A-Za-z0-9]{40,44}\b"),
    pattern("amzn.mws.", r"\bamzn\.mws\.[\w-]{20,80}"),
    pattern("s.", r"\bs\.[A-Za-z0-9]{24}\b"),
    pattern(".eyJ", r"(?:sk|pk)\.eyJ[\w.-]{20,}"),
    # of passwords what is kept in their place
    pattern("$", r"\$(?:1|2[abxy]|5|6|7|y|apr1|argon2(?:id|i|d)|scrypt|pbkdf2[\w-]{0,20})\$[^\s:\"'\\]{16,400}"),
    pattern("pbkdf2_", r"\bpbkdf2_sha\d{1,3}\$\d+\$[^\s:\"'\\]{16,400}"),
    pattern("scrypt:", r"\bscrypt:[\d:]{3,30}\$[^\s:\"'\\]{16,400}"),
    pattern("pbkdf2:", r"\bpbkdf2:[\w:]{3,30}\$[^\s:\"'\\]{16,400}"),
    pattern("{", r"\{(?:S?SHA|S?MD5|CRYPT)\d{0,3}\}[\w+/=$.]{16,400}"),
    pattern("*", r"\*[0-9A-F]{40}\b"),
    pattern("md5", r"\bmd5[0-9a-f]{32}\b"),
    pattern("SCRAM-SHA-", r"SCRAM-SHA-\d{1,3}\$\d+:[^\s\"'\\]{16,400}"),
    # one that has breaks, or that only its length and its letters tell from a name
    pattern("re_", r"\bre_(?=[A-Za-z]{0,40}\d|[A-Za-z]{6,10}_[A-Za-z]{0,40}\d)[A-Za-z0-9]{6,10}_[A-Za-z0-9]{20,40}\b"),
    pattern("fm2_", r"\bfm2_[\w+/=-]{20,4000}"),
    pattern("sk_", r"\bsk_[0-9a-f]{32,128}\b"),
    pattern("key_", r"\bkey_[0-9a-f]{32,128}\b"),
    pattern("eyJ", r"\beyJ[\w-]{8,2000}\.[\w-]{0,2000}\.[\w-]{8,200}\.[\w-]{8,8000}\.[\w-]{8,200}"),
    pattern("AQ.", r"\bAQ\.Ab8[\w-]{20,200}"),
    pattern("access_token$", r"\baccess_token\$\w{4,20}\$[A-Za-z0-9]{8,40}\$[0-9a-f]{20,64}"),
    pattern("pypi-", r"(?<![A-Za-z0-9])pypi-(?=[\w-]{0,200}\d)[\w-]{30,1000}"),
    # a head of a token without an end takes its square
    *(pattern(signs, each.replace("{8,}", "{8,1000}", 1)) for signs, each in zip(_SIGNS, SECRETS[:-1], strict=True)),
)
_GENERIC = re.compile(
    r"(?<![A-Za-z0-9_./+-])[A-Za-z][A-Za-z0-9]{1,11}[_-](?:[a-z0-9]{1,8}[_-]){0,2}"
    r"([A-Za-z0-9]{20,400})(?![A-Za-z0-9])"
)
"""A token of a service that is not in the list: a head, and what no word and no hash is."""
_IDS = re.compile(r"sha\d+-|commit-|build-|(?:toolu|call|msg|req|resp|rs|fc|run|thread|chatcmpl|item|gen|ses|prt)[_-]")


def find(text: str) -> Iterator[tuple[int, int]]:
    """Where something stands that looks like a secret."""
    yield from _find_headed(text)
    yield from (found.span() for found in _PATTERNS.find(text, text))
    for found in _GENERIC.finditer(text):
        if _is_no_word(found[1]) and not _IDS.match(found[0]):
            yield found.span()
    yield from keys.find(text)
    yield from links.find(text)


def _find_headed(text: str) -> Iterator[tuple[int, int]]:
    for number, start, end in _HEADS.find_matches_as_indexes(text):
        if start == 0 or not (text[start - 1].isascii() and text[start - 1].isalnum()):
            # the automaton counts heads as they were given, those of _OWN first
            behind = (_BEHIND if number < len(_OWN) else _BEHIND_WORD).match(text, end)
            if behind:
                yield start, behind.end()


def _is_no_word(text: str) -> bool:
    digits = sum(letter.isdigit() for letter in text)
    # letters of both cases
    several = digits > 2 and digits * 10 >= len(text) and text.lower() != text != text.upper()
    return several or is_random(text, 50)
