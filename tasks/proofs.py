"""What a scenario proves against its fixture: commits, cited lines, edits, and that no question tells its answer."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping
from pathlib import PurePosixPath

from harness.model.facts import CANARY, Fact
from harness.model.job import HIDDEN, Job
from harness.model.scenario import Learn, Probe, Remember, Scenario, Session
from harness.repo.checkout import FixtureError, Repo
from harness.text.classify import holds
from tasks import spoken

Forms = tuple[tuple[str, ...], ...]


def add_hashes(scenario: Scenario, repo: Repo) -> tuple[Scenario, list[str]]:
    """The scenario with the hashes of its commits, and one problem for each that the fixture lacks.

    A scenario with problems is returned as it was.
    """
    problems: list[str] = []

    def look(key: str, number: str) -> str:
        try:
            return repo.resolve(number)
        except FixtureError as error:
            problems.append(f"{key}: {error}")
            return number

    facts = tuple(_cite_commit(fact, look(f"facts.{fact.id}.source.commit", fact.source.commit))
                  if fact.source and fact.source.commit is not None else fact for fact in scenario.facts)  # fmt: skip
    sessions = tuple(session.model_copy(update={"commit": look(f"sessions.{session.id}.commit", session.commit)})
                     for session in scenario.sessions)  # fmt: skip
    if problems:
        return scenario, problems
    # Validated anew: a copy would carry the old one's cached properties along.
    same = {name: getattr(scenario, name) for name in Scenario.model_fields if name != "schema_"}
    return Scenario.model_validate({**same, "schema": scenario.schema_, "facts": facts, "sessions": sessions}), []


def _cite_commit(fact: Fact, commit: str) -> Fact:
    assert fact.source is not None
    return fact.model_copy(update={"source": dataclasses.replace(fact.source, commit=commit)})


def problems(scenario: Scenario, repo: Repo) -> Iterator[str]:
    """Everything that does not hold of a scenario whose commits are hashes, as `key: reason`."""
    if (folder := scenario.id.partition("/")[0]) != scenario.kind:
        yield f"kind: is '{scenario.kind}', but the file lies in the folder '{folder}'"
    yield from _check_learning(scenario)
    yield from _find_shared_forms(scenario)
    for fact in scenario.facts:
        if fact.source is not None:
            yield from _check_source(scenario, fact, repo)
        elif not _carries_canary(fact.forms):
            yield from _check_told_only(scenario, fact, repo)
    for session, job in scenario.jobs():
        yield from _check_work(session, job, repo)
    yield from _check_places(scenario, repo)
    yield from _leaks(scenario)
    yield from spoken.problems(scenario)


def _carries_canary(forms: Forms) -> bool:
    return any(CANARY in form for part in forms for form in part)


def _find_learning_sessions(scenario: Scenario) -> Mapping[str, Session]:
    """Fact -> the session that first learns it."""
    first: dict[str, Session] = {}
    for session, step in scenario.steps():
        for name in step.facts if isinstance(step, Learn) else ():
            first.setdefault(name, session)
    return first


def _check_learning(scenario: Scenario) -> Iterator[str]:
    for session, step in scenario.steps():
        for name in step.facts if isinstance(step, Learn) else ():
            if session.at < scenario.by_id[name].since:
                yield f"sessions.{session.id}.learn: fact '{name}' holds only since {scenario.by_id[name].since}"
    told = {
        name
        for _, step in scenario.steps()
        if isinstance(step, Remember)
        for text in step.texts
        for name in text.asserts
    }
    gold = {name for _, probe in scenario.probes() for name in probe.gold}
    options = {option.fact for _, job in scenario.jobs() for decision in job.decisions for option in decision.options}
    for name in scenario.by_id.keys() - _find_learning_sessions(scenario).keys() - told - gold - options:
        yield f"facts.{name}: is never learnt, no probe's gold and no option's fact"


def _find_shared_forms(scenario: Scenario) -> Iterator[str]:
    """Two facts that one text would prove at once, by the same forms."""

    def within(these: list[set[str]], those: list[set[str]]) -> bool:
        return all(any(part & other for other in those) for part in these)

    folded = {
        fact.id: [{" ".join(form.casefold().split()) for form in part} for part in fact.forms]
        for fact in scenario.facts
    }
    told_apart = [fact for fact in scenario.facts if not _carries_canary(fact.forms)]  # each canary is unique
    for at, one in enumerate(told_apart):
        for other in told_apart[at + 1 :]:
            if within(folded[one.id], folded[other.id]) and within(folded[other.id], folded[one.id]):
                yield f"facts.{other.id}.forms: prove fact '{one.id}' as well"


def _check_source(scenario: Scenario, fact: Fact, repo: Repo) -> Iterator[str]:
    source, key = fact.source, f"facts.{fact.id}.source"
    assert source is not None
    if source.commit is None or source.path is None or source.line is None:
        yield f"{key}: needs commit, path and line; a told-only fact has no source"
        return
    if source.session is not None and source.session not in {session.id for session in scenario.sessions}:
        yield f"{key}.session: unknown session '{source.session}'"
    line = repo.line(source.commit, source.path, source.line)
    if line is None:
        yield f"{key}: {source.path}:{source.line} is not there at that commit"
    elif missing := [part[0] for part in fact.forms if not holds(line, (part,))]:
        yield f"{key}: {source.path}:{source.line} says '{line.strip()}', no form of '{missing[0]}'"
    first = _find_learning_sessions(scenario).get(fact.id)
    if first is not None and first.commit != source.commit and repo.contains(source.commit, first.commit):
        yield f"{key}.commit: is later than the commit of session '{first.id}', which learns the fact"


def _check_told_only(scenario: Scenario, fact: Fact, repo: Repo) -> Iterator[str]:
    told = False
    for session, step in scenario.steps():
        if isinstance(step, Learn):
            told |= fact.id in step.facts
        elif isinstance(step, Remember):
            told |= any(fact.id in text.asserts for text in step.texts)
        elif _is_elsewhere(scenario, fact, session):
            continue
        elif isinstance(step, Job) and told and (place := _find_line_of(fact.forms, repo, session.commit)):
            yield f"facts.{fact.id}: has no source, but {place} says it at the commit of session '{session.id}'"
            return


def _is_elsewhere(scenario: Scenario, fact: Fact, session: Session) -> bool:
    """Whether a session works beside the repository that a fact is about: who works there does not see it."""
    own, place = scenario.scope.repo, scenario.place(session).repo
    return place in scenario.beside and scenario.home(fact).repo == own


def _find_line_of(forms: Forms, repo: Repo, commit: str) -> str | None:
    """The first path:line that carries a fact. A file that does not hold its forms anywhere has no such line."""
    for path, text in repo.files(commit).items():
        if holds(text, forms):
            for at, line in enumerate(text.split("\n"), 1):
                if holds(line, forms):
                    return f"{path}:{at}"
    return None


def _check_work(session: Session, job: Job, repo: Repo) -> Iterator[str]:
    files, links, key = repo.files(session.commit), repo.links(session.commit), f"jobs.{job.id}"
    for path in job.relevant:
        if path not in files:
            yield f"{key}.relevant: no text file '{path}' at the commit of session '{session.id}'"
    if job.hidden and any(path == HIDDEN or path.startswith(f"{HIDDEN}/") for path in files):
        yield f"{key}.hidden: a folder '{HIDDEN}' is there at the commit of session '{session.id}'"
    for decision in job.decisions:
        reasons: dict[str, str] = {}
        for value in decision.list_values():
            where = f"{key}.{decision.id}.{value}.edits" if decision.in_code else f"{key}.{decision.id}.edits"
            for at, edit in enumerate(decision.list_edits(value)):
                if (reason := _explain_uneditable(edit.path, edit.old, files, links)) is not None:
                    reasons.setdefault(f"{where}.{at}", reason)
        yield from (f"{where}: {reason}" for where, reason in reasons.items())


def _check_places(scenario: Scenario, repo: Repo) -> Iterator[str]:
    for session in scenario.sessions if scenario.beside else ():
        played, place = repo.find(session.commit).name, scenario.place(session).repo
        wanted = played if played in scenario.beside else scenario.scope.repo
        if place != wanted:
            yield f"sessions.{session.id}.scope: its repo is '{place}', but its commit is one of '{wanted}'"


def _explain_uneditable(path: str, old: str | None, files: Mapping[str, str], links: frozenset[str]) -> str | None:
    """Why an edit cannot be made in these files, with an option's value in its path."""
    if old is not None:
        if path not in files:
            return f"no text file '{path}' at the commit of the session; leave `old` out to make one"
        times = files[path].count(old)
        return None if times == 1 else f"`old` occurs {times} times in '{path}', not once"
    plain = PurePosixPath(path)
    if (
        str(plain) != path
        or plain.is_absolute()
        or not path.isprintable()
        or {".", "..", ".git"} & {*(part.casefold() for part in plain.parts), path}
    ):
        return f"'{path}' is not a plain path inside the work tree"
    if links & {path, *map(str, plain.parents)}:
        return f"'{path}' is a link at the commit of the session, or lies behind one"
    taken = path in files or any(str(folder) in files for folder in plain.parents)
    if taken or any(name.startswith(f"{path}/") for name in files):
        return f"'{path}' is there at the commit of the session; say which `old` text is replaced"
    return None


def _leaks(scenario: Scenario) -> Iterator[str]:
    """Questions that hold an accepted form: an echo of the question would then pass for knowledge."""
    asked: list[tuple[str, str]] = []
    for _, step in scenario.steps():
        if isinstance(step, Probe):
            asked += [(f"probes.{step.id}.ask.{stratum}", text) for stratum, text in step.ask.phrasings()]
        elif isinstance(step, Job):
            asked.append((f"jobs.{step.id}.goal", step.goal))
            asked += [(f"jobs.{step.id}.{decision.id}.question", decision.question) for decision in step.decisions]
    telling = {fact.id: _find_telling(scenario, fact) for fact in scenario.facts}
    for key, text in asked:
        for fact in scenario.facts:
            for form in {form for part in telling[fact.id] for form in part if CANARY not in form}:
                if holds(text, ((form,),)):
                    yield f"{key}: holds '{form}', an accepted form of fact '{fact.id}'"


def _find_telling(scenario: Scenario, fact: Fact) -> list[tuple[str, ...]]:
    """The parts without which a text does not tell this fact: all but those that its whole chain shares. These name
    what it is about, as a question does."""
    chain = [scenario.by_id[name] for name in scenario.predecessors(fact.id)]
    chain += [other for other in scenario.facts if fact.id in scenario.predecessors(other.id)]
    shared = [part for part in fact.forms if chain and all(part in other.forms for other in chain)]
    return [part for part in fact.forms if part not in shared] or list(fact.forms)
