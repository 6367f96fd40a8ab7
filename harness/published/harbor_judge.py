"""Judges a work tree in a container of Harbor as coldwarm's own checks do, and writes the reward, by itself.

It is exported as it stands, beside a `job.json` that says what runs and which values are right, and a folder of hidden
tests if the job has them: they are laid into the tree last, in the place of whatever has their folder's name there. A
value is the last line that a check prints; a check that fails, or that prints nothing, has seen none.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
TREE = Path(os.environ.get("COLDWARM_TREE", "/app"))
LOGS = Path(os.environ.get("COLDWARM_LOGS", "/logs/verifier"))
SECONDS = 60
HIDDEN = "hidden"
OUTCOMES = ("right", "stale", "lure", "other", "unresolved", "failed")


def run(words: list[str]) -> tuple[int, str, str]:
    """Runs a check: its exit code, the value that it printed, and all that it said."""
    env = {"PATH": os.environ.get("PATH", "/usr/bin:/bin"), "HOME": str(TREE), "LC_ALL": "C.UTF-8", "TZ": "UTC",
           "PYTHONDONTWRITEBYTECODE": "1", "PYTHONHASHSEED": "0"}  # fmt: skip
    try:
        done = subprocess.run(words, cwd=TREE, env=env, capture_output=True, timeout=SECONDS, check=False)
    except (OSError, subprocess.TimeoutExpired) as error:
        return 127, "", str(error)
    out, err = (text.decode("utf-8", "replace") for text in (done.stdout, done.stderr))
    lines = out.strip().splitlines()
    return done.returncode, lines[-1].strip() if lines else "", out + err


def lay_hidden() -> None:
    ours, place = HERE / HIDDEN, TREE / HIDDEN
    if not ours.is_dir():
        return
    # only the link itself goes: what it leads to is not the job's, and rmtree refuses it
    if place.is_dir() and not place.is_symlink():
        shutil.rmtree(place)
    else:
        place.unlink(missing_ok=True)
    shutil.copytree(ours, place)


def judge(decision: dict[str, Any]) -> str:
    code, value, output = run(decision["check"])
    seen: str = decision["verdicts"].get(value, "other") if value else "unresolved"
    outcome = "failed" if code else seen
    print(f"{decision['id']}: {outcome} ({value or 'no value'})\n{output}")  # noqa: T201
    return outcome


def main() -> None:
    job = json.loads((HERE / "job.json").read_text("utf-8"))
    for words in job["run"]:
        code, _, output = run(words)
        print(f"{' '.join(words)}: exit {code}\n{output}")  # noqa: T201
    # only now: the job's own commands must neither read nor change them
    lay_hidden()
    outcomes = [judge(each) for each in job["decisions"]]
    reward = {"reward": int(all(each == "right" for each in outcomes))}
    reward.update((name, outcomes.count(name)) for name in OUTCOMES)
    LOGS.mkdir(parents=True, exist_ok=True)
    (LOGS / "reward.json").write_text(json.dumps(reward), "utf-8")


if __name__ == "__main__":
    main()
