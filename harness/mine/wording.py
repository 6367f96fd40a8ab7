"""Questions and sentences as a person would say them, from templates by kind of value."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

from harness.mine.shapes import ChangeKind, is_command
from tasks.short import speak


class Wording(NamedTuple):
    """How a value is asked for and told.

    Attributes:
        asks, again: The question, plain and in other words.
        tells, says: A sentence, plain and in other words; {value} stands for the value.
    """

    asks: str
    again: str
    tells: str
    says: str

    def ask(self, what: str, path: str) -> dict[str, str]:
        """The question in each stratum."""
        plain = f"{self.asks} now{_place(path, self.asks)}?"
        return {"identifier": f"{what} ({path})", "plain": plain, "paraphrase": f"{self.again}?"}

    def tell(self, value: str, path: str) -> dict[str, str]:
        """The sentence in the strata in which it does not follow from what the fact is of."""
        # not format(): a value may hold braces
        plain, other = (each.replace("{value}", value) for each in (self.tells, self.says))
        return {"plain": f"{plain[0].upper()}{plain[1:]}{_place(path, plain)}.", "paraphrase": other}


def _place(path: str, text: str) -> str:
    return "" if path in text else f" ({path})"


_NAMED: tuple[tuple[re.Pattern[str], Wording], ...] = tuple(
    (re.compile(pattern), Wording(*texts))
    for pattern, *texts in (
        (r"the module from which (.+) comes", "From which module do we import {0}", "Where does {0} come from by now",
         "we import {0} from {value}", "{0} comes from {value}"),
        (r"the default of (.+) in (.+)", "Which default does {0} of {1} have",
         "What does {1} take for {0} by default",
         "the default of {0} of {1} is {value}", "By default {1} takes {value} for {0}"),
        (r"the base image of (.+)", "Which base image does {0} build on", "From which image do we build {0}",
         "{0} builds on {value}", "We build {0} from {value}"),
        (r"the command (.+) under “(.+)”", "Which {0} command do we run for “{1}”", "How do we call {0} for “{1}”",
         "for “{1}” we run {value}", "To do “{1}” with {0}, call {value}"),
        (r"the (.+) package in (.+)", "Which {0} package do we depend on",
         "Which library do we take as the {0} package", "our {0} package is {value}",
         "We take {value} as the {0} package"),
        (r"what (\S+) says to (.+)", "What does {0} tell us to {1}", "By {0}, what are we to {1}",
         "{0} tells us to {1}: {value}", "By {0} we are to {1}: {value}"),
        (r"what (.+) (must|should) (.+)", "What {1} {0} {2}", "By now, what {1} {0} {2}",
         "{0} {1} {2} {value}", "By now {0} {1} {2} {value}"),
        (r"the (\S+) version", "Which {0} version do we use", "On which {0} are we by now",
         "we use {0} {value}", "By now we are on {0} {value}"),
        (r"the thing that (.+?) (is|are) (.+)", "What {1} {0} {2}", "By now, what {1} {0} {2}",
         "{0} {1} {2}: {value}", "By now {0} {1} {2}: {value}"),
        (r"the file that “(.+)” links to", "Which file does “{0}” link to", "Where does the link “{0}” lead",
         "“{0}” links to {value}", "The link “{0}” leads to {value}"),
        (r"the status of the record (.+)", "Which status does the record {0} have", "Where does the decision {0} stand",
         "the record {0} is {value}", "The decision {0} stands at {value}"),
        (r"the flag of (\S+) ((?:to|for|in|when|if) .+)", "Which flag of {0} do we pass {1}",
         "With which option do we call {0} {1}", "we pass {value} to {0} {1}", "We call {0} with {value} {1}"),
        (r"the function in (\S+) that takes (.+)", "Which function of {0} takes {1}",
         "In {0}, what do we call with {1}", "{value} of {0} takes {1}", "In {0} we call {value} with {1}"),
        (r"the script (.+)", "What does the script {0} run", "Which command is behind the script {0}",
         "the script {0} runs {value}", "Behind the script {0} is {value}"),
        (r"the (user|port|working folder) of (.+)", "Which {0} does {1} set", "Which {0} do we have in {1} by now",
         "the {0} of {1} is {value}", "In {1} the {0} is {value}"),
        (r"the version in (.+)", "Which version does {0} name", "On which version are we by {0}",
         "{0} names the version {value}", "By {0} we are on {value}"),
    )
)  # fmt: skip
"""By what the value is called; of what the line says of it: {0}, {1}, {2}."""
_UNASKED = re.compile(r"the thing that |the flag of ")
"""Names that have no natural question, unless a template above has one."""
_RUNTIME = "go|golang|python|node|ruby|rust|java|php"
_NOUNS: tuple[tuple[re.Pattern[str], str], ...] = tuple(
    (re.compile(pattern, re.IGNORECASE), noun)
    for pattern, noun in (
        (rf"version$|^(?:{_RUNTIME}|edition|toolchain)$|requires.python", "version"),
        (r"(?<![a-z])port$", "port"), (r"image$", "image"), (r"branch$", "branch"), (r"user(?:name)?$", "user"),
        (r"^runs-on|^os$|platform$", "platform"),
        (r"(?:host|url|uri|registry|endpoint|address)$", "address"),
    )
)  # fmt: skip
"""What a key holds, by how it is called."""
# a media type has a slash, too, and is no path
_PATH = re.compile(r"(?!(?:application|audio|font|image|text|video)/[\w.+-]+$)\.{0,2}/?[\w.-]+(?:/[\w.*-]+)+/?")


def find(kind: ChangeKind, what: str, key: str, values: Sequence[str]) -> Wording | None:
    """None: nobody would ask for it so."""
    for pattern, wording in _NAMED:
        if found := pattern.fullmatch(what):
            # the place of the value stays, for tell() to fill
            return Wording(*(text.format(*found.groups(), value="{value}") for text in wording))
    if _UNASKED.match(what):
        return None
    noun = next((noun for pattern, noun in _NOUNS if pattern.search(key)), "")
    # a port without a digit is the name of a setting, such as `qos.port`
    if noun == "port" and not all(re.search(r"\d", value) for value in values):
        noun = ""
    if not noun and all(_PATH.fullmatch(value) for value in values):
        noun = "path"
    if not noun and kind in ("setting", "command") and all(map(is_command, values)):
        noun = "command"
    spoken = speak(what)
    if noun == "version" and re.fullmatch(_RUNTIME, what):
        return Wording(
            f"Which version of {what} do we use", f"On which {what} are we by now",
            f"we use version {{value}} of {what}", f"By now we are on {what} {{value}}",
        )  # fmt: skip
    if noun:
        noun += "s" if all(value.startswith("[") for value in values) else ""
        return Wording(
            f"Which {noun} does {what} name", f"Which {noun} do we have by now for {spoken}",
            f"{what} names the {noun} {{value}}", f"By now the {noun} for {spoken} is {{value}}",
        )  # fmt: skip
    return Wording(
        f"What is {what} set to", f"What do we go with by now for {spoken}",
        f"{what} is set to {{value}}", f"For {spoken} we go with {{value}}",
    )  # fmt: skip
