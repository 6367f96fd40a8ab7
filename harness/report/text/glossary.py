"""The words of the page that are ours, each in one sentence. `docs/concepts.md` has all words of the program."""

from __future__ import annotations

from collections.abc import Mapping

WORDS: Mapping[str, str] = {
    "story": "A scripted history of work on a real git repository: what is learned, changed, asked, done and deleted.",
    "suite, split": "All stories of one version; a split is a part of them, one of which is held back for a final run.",
    "cold, warm; arm": "The same jobs without memory (the cold arm) and with it (the warm arm).",
    "append only": "The agent only adds to its memory. On the console and in files: append.",
    "look up first": "Before it writes, the agent asks the memory and replaces what the new fact contradicts: curated.",
    "fact, source": "What a story tells, with the commit, file and line where it stands in its repository.",
    "probe, gold": "A question to the memory, in up to three phrasings (strata); gold is the facts that answer it.",
    "job": "A piece of work in the repository: some decisions, each judged by a check of its own.",
    "right decision": "A job's check found the right value in the work tree. Checks are commands; no model judges.",
    "stale": "A rule that was true and no longer is.",
    "lure": "A rule that looks alike and holds elsewhere: another repository, branch or user.",
    "recalled": "Among the first k memories that came back, within the token budget, one says what was asked for.",
    "k, budget": "How many memories a question asks for, and how many tokens of them count.",
    "noise": "Generated memories beside the story: unrelated ones, look-alikes, rules that hold elsewhere.",
    "seed": "The number that draws the noise and the canaries: equal seeds, equal texts.",
    "reader": "Who turns memories into decisions: fixed rules, unless the run names a model or an agent program.",
    "trusting, newest, verifying, careful, filtered": (
        "Which memory an agent takes: the first, the latest, the one whose cited line still stands in git, the latest "
        "whose cited line is not gone, or the first that the backend's own filter lets through."
    ),
    "scope": "Where a memory holds: organisation, repository, branch, user.",
    "drill": "A test of trust without a story: the store is written to, asked, deleted from, killed and reopened.",
    "promise": "What the contract of a backend says, held against random sequences of operations.",
    "route": "A way to a memory: listing, search, direct read, history.",
    "layer": "A place where a backend keeps bytes: a table, an index, a log, a file.",
    "canary": "A word that stands in one memory only. What still shows it after a deletion still holds that memory.",
    "poison": "Memories that were injected, are doubtful, or have expired.",
    "control": "A row that is never ranked. It shows what the best, the worst, chance and no memory look like here.",
    "oracle, stale oracle": "The best and the worst possible memory: all that comes back is right, or stale.",
    "reference": "A small sound store, which shows that a drill can be passed.",
    "cell": "One trial, or one drill, with all its measures.",
    "receipt": "The line of a log on which a number rests, with the command that repeats it.",
    "gate": "A demand on a measure, made by the team that runs this.",
    "unsupported, n/a, failed, not run": (
        "Why there is no number: declared as lacking; nothing to measure; tried and broken; planned, without a result."
    ),
    "gravity": "The order of the tests in a column: what harms whoever relies on the memory most comes first.",
    "shown": "A difference is shown if its adjusted p is at most .05; its interval then leaves out 0.",
}
