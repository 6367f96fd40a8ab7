"""`on-commit`: a hook that looks, at each new commit, at the memories whose cited line it touched.

A line that moved: the memory cites the new place. A line that was replaced by one that differs in one stretch of words,
and the memory says the old words: they are replaced in it, too. A line that is gone otherwise: the memory is deleted,
and no revert brings it back. What cites no line is never touched. What fails is tried again when the next session
begins.
"""

from __future__ import annotations

import re
from collections.abc import Generator, Iterator, Sequence
from dataclasses import replace
from difflib import SequenceMatcher

from harness.adapter import Source
from harness.log.events import Event
from harness.log.parts import Written
from harness.model.scenario import Session
from harness.play.session import MemorySession
from harness.play.writing.way import Cited, Way, retire_written
from harness.repo.series import MAIN
from harness.repo.traces import split_lines

LIKE = 0.5
"""Tokens in common, of all of both lines, from which a new line is taken for the old one, changed."""
_WORD = re.compile(r"[\w.\-/]+")
_TOKEN = re.compile(rf"{_WORD.pattern}|[^\w\s]")


class OnCommit(Way):
    """Follows the memories that cite a line of the repository.

    Attributes:
        cited: The memories that it looks at, by their names.
        heirs: The names of memories that could not be taken away -> of what was written in their place.
        tips: The commit of each branch of each repository up to which all is done.
        left: Whether something failed at this commit.
    """

    def __init__(self, memory_session: MemorySession) -> None:
        super().__init__(memory_session)
        self.cited: dict[str, Written] = {}
        self.heirs: dict[str, str] = {}
        self.tips: dict[tuple[str, str], str] = {}
        self.left = False
        self._rewritten = 0

    def take(self, session: Session, written: Sequence[Written]) -> Generator[Event, None, list[Written]]:
        self.follow(written)
        # makes it a generator, as callers take its value by `yield from`
        yield from ()
        return list(written)

    def follow(self, written: Sequence[Written]) -> None:
        """Looks, from now on, at the lines that these cite."""
        self.cited |= {each.name: each for each in written if Cited.of(each)}

    def begin(self, session: Session) -> Iterator[Event]:
        repo, here = self.memory_session.tools.repo, self.find_line(session)
        # nothing is new at a commit whose successors were followed already
        if here in self.tips and repo.contains(self.tips[here], session.commit):
            return
        self.left, gone = False, []
        # a list, as `exchange` changes what is cited
        for written in [each for each in self.cited.values() if self.concerns(each, session)]:
            cited = Cited.of(written)
            assert cited is not None, "only these are kept"
            trace = repo.trace(*cited, session.commit)
            if self.is_stored(self.heirs.get(written.name, "")):  # an earlier session ended in the middle
                gone.append(written)
            elif trace.path is not None and (trace.state != "same" or not repo.contains(session.commit, cited.commit)):
                source = Source(session.commit, trace.path, trace.line, _name_session(written))
                moved = replace(written, item=replace(written.item, source=source))
                yield from self.exchange(session, written, moved)
            elif trace.state == "gone" and (changed := self.rewrite(session, written, cited)):
                yield from self.exchange(session, written, changed)
            elif trace.state == "gone":
                gone.append(written)
        yield from self.retire(session, gone)
        if not self.left and not any(self.is_stored(each.name) for each in gone):
            self.tips[here] = session.commit

    def find_line(self, session: Session) -> tuple[str, str]:
        """The repository that is checked out, and the branch."""
        return self.memory_session.tools.repo.find(session.commit).name, self.name_branch(session)

    def name_branch(self, session: Session) -> str:
        """The branch that is checked out, as the story says or as the commit tells."""
        at = self.memory_session.scenario.place(session).branch
        return at or self.memory_session.tools.repo.find(session.commit).history.find_branch(session.commit)

    def retire(self, session: Session, gone: Sequence[Written]) -> Iterator[Event]:
        """Takes away what cites a line that is gone."""
        return retire_written(self.memory_session, session, "gone", gone)

    def concerns(self, written: Written, session: Session) -> bool:
        """Whether it is stored and holds on this branch, and its commit led to this one, or did to the branch before
        a force-push replaced that history."""
        repo, cited, here = self.memory_session.tools.repo, Cited.of(written), self.name_branch(session)
        if cited is None or not self.is_stored(written.name) or here != (written.item.scope.branch or MAIN):
            return False
        before = self.tips.get(self.find_line(session), session.commit)
        replaced = not repo.contains(session.commit, before) and repo.contains(before, cited.commit)
        return replaced or repo.contains(session.commit, cited.commit)

    def exchange(self, session: Session, old: Written, new: Written) -> Iterator[Event]:
        """The memory is replaced; if that fails, the old one is looked at again."""
        # taken out first: a memory that moved keeps its name, and a write adds to the ids of one
        ids = self.memory_session.ids.pop(old.name)
        yield from self.memory_session.write(session, "learn", [new], replaces=ids)
        if self.memory_session.ids.get(new.name):
            del self.cited[old.name]
            self.follow([new])
        else:
            self.memory_session.ids[old.name] = ids
            self.left = True

    def rewrite(self, session: Session, written: Written, cited: Cited) -> Written | None:
        """The memory in the words of the line that stands there now; None: that is not mechanical."""
        repo = self.memory_session.tools.repo
        path = repo.rename(cited.commit, cited.path, session.commit)
        old, before = repo.line(*cited) or "", split_lines(repo.files(cited.commit).get(cited.path, ""))
        now = split_lines(repo.files(session.commit).get(path, ""))
        new = [(at, line) for at, line in enumerate(now, 1) if line not in before]
        near = max(new, key=lambda each: (_compare(old, each[1]), -abs(each[0] - cited.line)), default=None)
        if near is None or _compare(old, near[1]) < LIKE:
            return None
        words = find_change(old, near[1])
        # words that the memory says twice may be meant in one place only
        if words is None or len(re.findall(_match_words(words[0]), written.item.text)) != 1:
            return None
        text = re.sub(_match_words(words[0]), lambda _: words[1], written.item.text)
        source = Source(session.commit, path, near[0], _name_session(written))
        self._rewritten += 1
        item = replace(written.item, text=text, source=source, at=session.at.isoformat())
        return Written(name=f"rewritten:{session.id}:{self._rewritten}", item=item)


def _name_session(written: Written) -> str | None:
    return written.item.source.session if written.item.source else None


def _compare(left: str, right: str) -> float:
    # difflib would leave frequent tokens out of the comparison, if a line has 200 or more
    return SequenceMatcher(None, _TOKEN.findall(left), _TOKEN.findall(right), autojunk=False).ratio()


def find_change(old: str, new: str) -> tuple[str, str] | None:
    """The one stretch of words in which two lines differ, as it stands in each; None: they differ otherwise."""
    left, right = list(_TOKEN.finditer(old)), list(_TOKEN.finditer(new))
    steps = SequenceMatcher(None, [each[0] for each in left], [each[0] for each in right], autojunk=False).get_opcodes()
    changes = [step for step in steps if step[0] != "equal"]
    if len(changes) != 1 or changes[0][0] != "replace":
        return None
    _, a, b, c, d = changes[0]
    if not all(_WORD.fullmatch(each[0]) for each in (*left[a:b], *right[c:d])):
        return None
    return old[left[a].start() : left[b - 1].end()], new[right[c].start() : right[d - 1].end()]


def _match_words(words: str) -> str:
    """Matches these words where they stand alone."""
    # a dot behind them may end a sentence; one before a letter goes on with the word
    return rf"(?<![\w.\-/]){re.escape(words)}(?![\w\-/]|\.\w)"
