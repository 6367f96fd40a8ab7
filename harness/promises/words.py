"""A sequence as steps that a reader follows."""

from __future__ import annotations

from harness.adapter import Scope
from harness.model.sequence import UNKNOWN, Form, Step, Steps, number_steps

FORMS: dict[Form, str] = {
    "plain": "",
    "again": " with the text of {twin}",
    "capitals": " with the text of {twin} in capitals",
    "spaces": " with the text of {twin} and wider spaces",
    "long": " of 400 characters",
    "longer": " of 4,000 characters",
    "odd": " with quotes, signs and emoji",
    "expired": " that ended in the year 2000",
    "bare": " without source and confidence",
    "cited": " that cites a line of a file",
    "blank": " that is blank",
    "filed": " with a kind, a file and a confidence",
}
TWINS: tuple[Form, ...] = ("again", "capitals", "spaces")
"""Without another memory to repeat they are plain."""


def name_memory(of: int) -> str:
    return "an unknown id" if of == UNKNOWN else f"m{of + 1}"


def name_scope(scope: Scope) -> str:
    """`repo=api user=ana`; a name is quoted if it would be misread, and cut if it is long."""
    told = [f"{part}={_cut(name)}" for part, name in vars(scope).items() if name is not None]
    return " ".join(told) or "the scope that names nothing"


def quote(text: str) -> str:
    return f'"{text[:60]}..."' if len(text) > 60 else f'"{text}"'


def _cut(name: str) -> str:
    if len(name) > 40:
        return f'"{name[:12]}...{name[-4:]}" ({len(name)} characters)'
    return name if name and name.isascii() and name.isprintable() and " " not in name else f'"{name}"'


def tell(steps: Steps) -> list[str]:
    """One line a step."""
    return [_tell(step, stored) for step, stored in number_steps(steps)]


def _tell(step: Step, stored: range) -> str:
    by = "by a second process, " if step.who == "b" else ""
    about = step.of[:1] if step.op == "update" else step.of  # a second one is that whose text it is given
    at, of = name_scope(step.scope), ", ".join(map(name_memory, about)) or "nothing"
    twin = name_memory(step.of[-1]) if step.of else ""
    form = "" if step.form in TWINS and not step.of else FORMS[step.form].format(twin=twin)
    # the forms of twins begin with it: `update m2 to the text of m1`
    text = form.removeprefix(" with") if step.form in TWINS else f" another text{form}"
    if step.op == "remember":
        names = name_memory(stored[0]) + (f" to {name_memory(stored[-1])}" if len(stored) > 1 else "")
        many = f"{len(stored):,} memories{form.replace(' that is', ' that are')} in one call ({names})"
        what = f"a memory{form} ({names})" if len(stored) == 1 else many
        return f"{by}remember {what} in {at}"
    if step.op == "supersede":
        return f"{by}supersede {of} by a memory{form} ({name_memory(stored[0])}), asked in {at}"
    told = {
        "update": f"update {of} to{text}, asked in {at}",
        "forget": f"forget {of}, asked in {at}",
        "forget_scope": f"forget the scope {at}",
        "entries": f"list {at}",
        "get": f"get {of}, asked in {at}",
        "history": f"ask for the history of {of}, asked in {at}",
        "recall": f"recall the text of {of} in {at}",
        "recall_where": f"recall the text of {of} in {at}, at most {step.k} with its {' and its '.join(step.where)}",
        "deprecate": f"mark {of} as ended{' later' if step.later else ''}, asked in {at}",
        "reopen": "close and open again, in a new process",
        "kill": "kill the process (SIGKILL) and open again",
        "snapshot": "make a snapshot",
        "restore": f"restore snapshot {step.of[0] + 1 if step.of else 1}",
    }
    return by + told[step.op]


def shorten(steps: Steps) -> str:
    """The sequence in a few words, for a table."""
    verbs = [f"{step.op.replace('_', ' ')}{f' {step.count:,}' if step.count > 1 else ''}" for step in steps]
    return " → ".join(verbs)
