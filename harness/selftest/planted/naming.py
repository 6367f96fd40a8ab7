"""Faults of scope names as teams have them: forks, mail addresses, releases, one name written in several ways."""

from __future__ import annotations

import posixpath
import re
import unicodedata
from contextlib import suppress
from dataclasses import fields

from harness.adapter import Scope
from harness.selftest.planted.base import Planted
from harness.selftest.planted.scopes import Keyed


class Renamed(Keyed):
    """Scopes are compared part by part, each by another name than it was given."""

    def key(self, scope: Scope) -> str:
        parts = {each.name: getattr(scope, each.name) for each in fields(Scope)}
        return repr({part: None if name is None else self.rename(part, name) for part, name in parts.items()})

    def rename(self, part: str, name: str) -> str | None:
        raise NotImplementedError


class DropsTheOwner(Planted):
    """A repository is called by the last part of its path: a fork is the same as what it was forked from."""

    must = ("leaks_by_path",)

    class Memory(Renamed):
        def rename(self, part: str, name: str) -> str:
            return name.rsplit("/", 1)[-1] if part == "repo" else name


class KeepsTheOwnerOnly(Planted):
    """Repositories are kept apart by who owns them: all of one owner are one."""

    must = ("leaks_by_path",)

    class Memory(Renamed):
        def rename(self, part: str, name: str) -> str:
            return name.split("/", 1)[0] if part == "repo" else name


class DropsTheBranchFolder(Planted):
    """Of a branch, what stands before its last slash is left out: feature/login is fix/login."""

    must = ("leaks_by_path",)

    class Memory(Renamed):
        def rename(self, part: str, name: str) -> str:
            return name.rsplit("/", 1)[-1] if part == "branch" else name


class TidiesNames(Planted):
    """Names are paths, and are tidied as such: a double slash and a dot between slashes are nothing."""

    must = ("leaks_by_path",)

    class Memory(Renamed):
        def rename(self, part: str, name: str) -> str:
            return posixpath.normpath(name)


class CutsAddresses(Planted):
    """A user is what stands before the at sign of a mail address."""

    must = ("leaks_by_address",)

    class Memory(Renamed):
        def rename(self, part: str, name: str) -> str:
            return name.partition("@")[0] if part == "user" else name


class KnowsTheDomainOnly(Planted):
    """Users are kept apart by the domain of their mail address."""

    must = ("leaks_by_address",)

    class Memory(Renamed):
        def rename(self, part: str, name: str) -> str:
            return name.rpartition("@")[2] if part == "user" else name


class DropsAddressTags(Planted):
    """Of a mail address, what follows a plus sign is left out, as a mail server does."""

    must = ("leaks_by_address",)

    class Memory(Renamed):
        def rename(self, part: str, name: str) -> str:
            return re.sub(r"\+[^@]*(?=@)", "", name) if part == "user" else name


class ReadsReleasesAsNumbers(Planted):
    """Branches are read as YAML reads them: 1.10 is the number 1.1."""

    must = ("leaks_by_number",)

    class Memory(Renamed):
        def rename(self, part: str, name: str) -> str:
            if part == "branch":
                with suppress(ValueError):
                    return str(float(name))
            return name


class ReadsNamesAsNumbers(Planted):
    """A user's number is stored as one: 007 is 7."""

    must = ("leaks_by_number",)

    class Memory(Renamed):
        def rename(self, part: str, name: str) -> str:
            # ASCII, as `isdigit` also takes superscripts, which `int` refuses
            return str(int(name)) if name.isascii() and name.isdigit() else name


class CutsReleases(Planted):
    """Of a release, the first two numbers count: 1.1.2 is 1.1."""

    must = ("leaks_by_number",)

    class Memory(Renamed):
        def rename(self, part: str, name: str) -> str:
            found = re.match(r"\d+\.\d+", name)
            return found[0] if found and part == "branch" else name


class TakesMainForNone(Planted):
    """What is learnt on the main branch is taken to hold on every branch."""

    must = ("leaks_by_word",)

    class Memory(Renamed):
        def rename(self, part: str, name: str) -> str | None:
            return None if part == "branch" and name in ("main", "master") else name


class TakesNoneForMain(Planted):
    """What names no branch is stored under main, and sought there."""

    must = ("leaks_by_word",)

    class Memory(Keyed):
        def key(self, scope: Scope) -> str:
            # only with a repository, as nothing else has a main branch
            return repr((scope.repo, scope.org, scope.branch or ("main" if scope.repo else None), scope.user))


class ComposesNames(Planted):
    """Names are stored in the composed form of Unicode (NFC)."""

    must = ("leaks_by_lookalike",)

    class Memory(Renamed):
        def rename(self, part: str, name: str) -> str:
            return unicodedata.normalize("NFC", name)


class DropsWhatIsNotShown(Planted):
    """Characters that take no room are left out of names."""

    must = ("leaks_by_lookalike",)

    class Memory(Renamed):
        def rename(self, part: str, name: str) -> str:
            return "".join(each for each in name if unicodedata.category(each) not in ("Cf", "Cc"))


class LowersOrganisations(Planted):
    """Organisations are compared in lower case."""

    must = ("leaks_by_case",)

    class Memory(Renamed):
        def rename(self, part: str, name: str) -> str:
            return name.lower() if part == "org" else name


class MakesSlugs(Planted):
    """A name becomes a slug: whatever is no letter or digit is a dash."""

    must = ("leaks_by_separator",)

    class Memory(Renamed):
        def rename(self, part: str, name: str) -> str:
            return re.sub(r"[\W_]", "-", name)


class TakesUnderscoresForDashes(Planted):
    """A name becomes one of a package, in which an underscore is a dash."""

    must = ("leaks_by_separator",)

    class Memory(Renamed):
        def rename(self, part: str, name: str) -> str:
            return name.replace("_", "-")


class FlattensSlashes(Planted):
    """A name becomes one of a file: a slash is an underscore."""

    must = ("leaks_by_separator",)

    class Memory(Renamed):
        def rename(self, part: str, name: str) -> str:
            return name.replace("/", "_")


class ComparesWords(Planted):
    """Names are indexed by their words, in any order, as a search engine does with a field of text."""

    must = ("leaks_by_separator",)

    class Memory(Renamed):
        def rename(self, part: str, name: str) -> str:
            return " ".join(sorted(re.findall(r"\w+", name)))


class KeepsTheEndOfNames(Planted):
    """Of a name that is too long for a path, the last 64 characters are kept."""

    must = ("leaks_by_length",)

    class Memory(Renamed):
        def rename(self, part: str, name: str) -> str:
            return name[-64:]


class LeavesOutTheMiddle(Planted):
    """Of a name that is too long, the middle is left out."""

    must = ("leaks_by_length",)

    class Memory(Renamed):
        def rename(self, part: str, name: str) -> str:
            return name if len(name) <= 128 else f"{name[:63]}..{name[-63:]}"


class DropsGitSuffix(Planted):
    """A repository is called without .git at its end."""

    must = ("leaks_by_path",)

    class Memory(Renamed):
        def rename(self, part: str, name: str) -> str:
            return name.removesuffix(".git") if part == "repo" else name


class KnowsHeads(Planted):
    """A branch is called without refs/heads/, as Git does."""

    must = ("leaks_by_path",)

    class Memory(Renamed):
        def rename(self, part: str, name: str) -> str:
            return name.removeprefix("refs/heads/") if part == "branch" else name


class KnowsRemotes(Planted):
    """A branch is called without the remote that it was fetched from: origin/main is main."""

    must = ("leaks_by_path",)

    class Memory(Renamed):
        def rename(self, part: str, name: str) -> str:
            return name.removeprefix("origin/") if part == "branch" else name


class DropsBrackets(Planted):
    """A user is known without what stands in brackets: build[bot] is build."""

    must = ("leaks_by_address",)

    class Memory(Renamed):
        def rename(self, part: str, name: str) -> str:
            return re.sub(r"\s*[\[(].*[\])]$", "", name) if part == "user" else name


class StemsNames(Planted):
    """Names are words of a language: services is service."""

    must = ("leaks_by_separator",)

    class Memory(Renamed):
        def rename(self, part: str, name: str) -> str:
            # behind two letters, as the s of `us` makes no plural
            return re.sub(r"(?<=\w\w)s\b", "", name)


class SpellsSharpS(Planted):
    """A sharp s is spelt ss, as in the names of files."""

    must = ("leaks_by_case",)

    class Memory(Renamed):
        def rename(self, part: str, name: str) -> str:
            return name.replace("\N{LATIN SMALL LETTER SHARP S}", "ss")


class DotsEveryI(Planted):
    """The dotless i is written as i, and is no other letter."""

    must = ("leaks_by_lookalike",)

    class Memory(Renamed):
        def rename(self, part: str, name: str) -> str:
            return name.replace("\N{LATIN SMALL LETTER DOTLESS I}", "i")


class DropsTildes(Planted):
    """Names are brought into ASCII by leaving the tilde of an n out."""

    must = ("leaks_by_lookalike",)

    class Memory(Renamed):
        def rename(self, part: str, name: str) -> str:
            return name.replace("\N{LATIN SMALL LETTER N WITH TILDE}", "n")
