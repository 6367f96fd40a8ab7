"""How likely an agent is to need a fact: what it runs, installs or deploys by first, what a tool is set to last."""

from __future__ import annotations

import re
from pathlib import PurePosixPath
from typing import Literal

from harness.mine import exclusions
from harness.mine.shapes import ChangeKind

Worth = Literal[1, 2, 3]
ACTS: Worth = 3
USES: Worth = 2
SETS: Worth = 1
"""An agent that has it wrong does something wrong; writes something wrong; or hardly ever meets it."""
_DEPLOYED = re.compile(
    r"(?:^|/)(?:[\w.-]*\.)?(?:Dockerfile|Containerfile)|(?:^|/)(?:docker-)?compose[\w.-]*\.ya?ml$|(?:^|/)(?:deploy\w*|k8s|kubernetes|helm|"
    r"charts?|infra|ops|terraform|ansible)/|(?:^|/)(?:Procfile|fly\.toml|vercel\.json|netlify\.toml|app\.ya?ml)$|\.env",
    re.IGNORECASE,
)
_DECIDES = re.compile(
    r"(?:^|[._ -])(?:port|host|image|platform|registry|region|cluster|endpoint|url|runs-on|os|node|python|go|ruby|rust|"
    r"java|php|edition|toolchain|package-?manager|database|driver|engine|entrypoint|command|script|test|build|lint|start|main|"
    r"schema|protocol|branch(?:es)?|timeout|replicas|requires-python|python_requires|rust-version)(?:$|[._ -])",
    re.IGNORECASE,
)
_TOOLS = re.compile(
    r"(?:^|/)\.(?:eslintrc|oxlintrc|prettierrc|editorconfig|clang-format|stylelintrc|golangci|flake8|pylintrc|rubocop|markdownlint|"
    r"codecov|coveragerc|pre-commit-config|yamllint|vscode/|idea/|zed/)[\w.-]*$|(?:^|/)(?:tsconfig[\w.-]*\.json|typedoc\.json|renovate\.json5?|"
    r"mkdocs\.ya?ml|tslint\.json|\.?codecov\.ya?ml|deny\.toml|cliff\.toml|_config\.ya?ml|\.?cspell[\w.-]*|i18n-tasks\.ya?ml|biome\.json)$",
    re.IGNORECASE,
)
_SIDE = re.compile(r"(?:^|/)(?:scripts?|hack|\.speakeasy)/")
"""Folders of what a person calls once in a while."""
_RUNNERS = re.compile(r"runs-on|timeout-minutes|os", re.IGNORECASE)
_OWN: dict[str, re.Pattern[str]] = {
    **dict.fromkeys((".js", ".jsx", ".ts", ".tsx", ".mjs", ".cjs"), re.compile(r"(?!.*\bexport\b)")),
    **dict.fromkeys((".java", ".kt", ".cs", ".php", ".scala", ".swift"), re.compile(r".*\bprivate\b")),
    **dict.fromkeys((".py", ".pyi"), re.compile(r"\s*_")),
    ".rs": re.compile(r"(?!.*\bpub\b)"),
    ".go": re.compile(r"\s*(?:(?:const|var)\s+)?(?!const\b|var\b)[a-z_]"),
}
"""What stands before a value that only its own file may read."""
_PROGRAM = re.compile(r"^(?:(?:\w+=\S+|cross-env|dotenv(?:\s+-\S+(?:\s+[^-\s]\S*)?)*\s+--)\s+)+")
"""What is said before the program of a command."""
_WRAPPERS = re.compile(r"node|npm|npx|pnpm|yarn|bun|run-[ps]|turbo|rimraf|(?:ba)?sh|concurrently|echo|cd|\./\S*")
_SETTLED = re.compile(r"settings?|config\w*|constants?|defaults?", re.IGNORECASE)
_ROOT = re.compile(r"(?:[\w-]+\.(?:com|org|dev|io|net)/[^/]+/|(?:com|org|io|net|dev)\.)?[^/.:]*")
AGENT_FILE = re.compile(
    r"(?:^|/)(?:AGENTS|CLAUDE|GEMINI|CONVENTIONS|WARP)(?:\.local)?\.md$|(?:^|/)\.(?:cursorrules|windsurfrules|clinerules)$|"
    r"(?:^|/)\.cursor/rules/|(?:^|/)\.github/(?:copilot-instructions\.md|instructions/)",
)
"""Where a repository tells agents what to do: a line of these that was wrong, misled them."""


def judge_worth(kind: ChangeKind, file: str, key: str, old: str = "", new: str = "", before: str = "") -> Worth:
    """Args:
    old, new: The last two values, by which a module that only moved is told from another one.
    before: What stands before the value in its line.
    """
    if AGENT_FILE.search(file) or kind in ("command", "dependency", "record", "flag"):
        return ACTS
    if _TOOLS.search(file) or (exclusions.HOSTED.search(file) and _RUNNERS.fullmatch(key)):
        return SETS
    if kind == "constant" and exclusions.NUMBER.fullmatch(new) and _is_own(file, key, before):
        return SETS
    if kind == "setting" and file.endswith("package.json") and not _is_other_program(old, new):
        return SETS
    if kind in ("constant", "setting") and _SIDE.search(file) and not _DEPLOYED.search(file):
        return SETS
    if kind in ("name", "text") or (kind == "place" and _is_moved(old, new)):
        return SETS
    if kind == "setting":
        if _DEPLOYED.search(file) or _DECIDES.search(key):
            return ACTS
        return SETS if exclusions.HOSTED.search(file) else USES
    return USES


def _is_other_program(old: str, new: str) -> bool:
    """Whether a script, which people call by its name, runs another program by now; also of what is no script."""
    if " " not in old + new or not re.match(r"[A-Za-z./]", new):
        return True
    was, now = (_PROGRAM.sub("", each).split()[:1] for each in (old, new))
    return was != now and not _WRAPPERS.fullmatch("".join(now))


def _is_own(file: str, key: str, before: str) -> bool:
    """Whether a value is the business of one file, which it tunes."""
    private = _OWN.get(PurePosixPath(file).suffix)
    return bool(private and private.match(before) and not (_DECIDES.search(key) or _SETTLED.search(file)))


def _is_moved(old: str, new: str) -> bool:
    """Whether a module of the repository's own has another folder: by its name it is found all the same."""
    last = [re.split(r"[/.:]", each)[-1] for each in (old, new)]
    # a path that begins with a dot lies within the repository
    return last[0] == last[1] or "." in (old[:1], new[:1]) or _find_root(old) == _find_root(new)


def _find_root(module: str) -> str:
    """The project that a module belongs to: the first part of its name, more of one that begins with a domain."""
    return _ROOT.match(module)[0]  # type: ignore[index]  # it matches nothing, too
