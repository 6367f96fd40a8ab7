"""A suite that does not prove itself is named file by file; of the one that comes with coldwarm: `make selftest`."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.e2e.conftest import SMALL, Cli, only


@pytest.mark.slow
def test_a_private_suite_begins_with_a_new_scenario_and_is_judged(cli: Cli, tmp_path: Path) -> None:
    tasks = tmp_path / "own"
    for name in ("rename/sound", "preference/fooled"):
        assert cli("new", "scenario", name, "--tasks", tasks, "--fixture", "storefront").returncode == 0
    assert "2 scenarios, 0 problems" in cli("validate", "--tasks", tasks).stdout
    good = cli("selftest", "suite", "--tasks", tasks)
    assert (good.returncode, good.stderr) == (0, "") and "2 scenarios, 0 breaches" in good.stdout

    fooled, dead = tasks / "preference" / "fooled.toml", tasks / "rename" / "dead.toml"
    text = fooled.read_text()
    fooled.write_text(
        "\n".join('check = ["echo", "x"]' if line.startswith("check =") else line for line in text.split("\n"))
    )
    dead.write_text("schema = 1\ncolour = 3\n")
    bad = cli("selftest", "suite", "--tasks", tasks)
    assert bad.returncode == 1 and "3 scenarios, " in bad.stdout
    for line in (f"{fooled}: jobs.request.reviewer.check: prints 'x' before the job", f"{dead}: colour: unknown key"):
        assert any(said.startswith(f"coldwarm: {line}") for said in bad.stderr.splitlines())
    assert cli("new", "scenario", "rename/sound", "--tasks", tasks, "--fixture", "storefront").returncode == 2

    dead.unlink()
    fooled.write_text(text.replace("schema = 1", 'schema = 1\nneeds = ["no-such-node"]', 1))
    part = cli("selftest", "suite", "--tasks", tasks)
    assert part.returncode == 3 and part.stdout.splitlines()[-1] == (
        "1 scenario, 0 breaches, 1 left out: preference/fooled (no-such-node is missing)"
    )


@pytest.mark.slow
def test_list_counts_what_a_suite_holds_by_split(cli: Cli) -> None:
    whole, held, dev = (cli("list", "--split", split).stdout for split in ("all", "held", "dev"))

    def ids(shown: str, split: str) -> set[str]:
        return {line.split()[0] for line in shown.splitlines() if f" {split} " in line and "/" in line.split()[0]}

    assert ids(whole, "held") == ids(held, "held") and ids(whole, "dev") == ids(dev, "dev")
    assert ids(held, "dev") == ids(dev, "held") == set() and len(ids(whole, "held")) >= 1
    assert {each.partition("/")[0] for each in ids(held, "held")} >= {
        each.partition("/")[0] for each in ids(dev, "dev")
    }
    total = next(line for line in whole.splitlines() if " in all " in line).split()
    assert int(total[0]) == len(ids(whole, "held") | ids(whole, "dev")) and f"{total[3]} held".split()[1] == total[4]


@pytest.mark.slow
def test_a_run_says_which_suite_and_split_it_played(cli: Cli, tmp_path: Path) -> None:
    done = cli("run", "-b", "none", *SMALL, "--split", "dev", "--out", tmp_path)
    assert done.returncode == 0, done.stderr
    folder = only(tmp_path)
    file, results = (json.loads((folder / name).read_text()) for name in ("run.json", "results.json"))
    assert file["selection"]["split"] == "dev" and file["suite"] == results["run"]["suite"]
    assert file["suite"]["version"] and len(file["suite"]["digest"]) == 64
    assert file["suite"]["split"] == "dev" and file["suite"]["held"] == []
    assert cli("run", "-b", "none", *SMALL, "--split", "held", "--out", tmp_path / "held").returncode == 2
