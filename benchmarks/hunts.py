"""Which planted faults random sequences find, and how soon: `python -m benchmarks.hunts [--seconds 20] [FAULT]...`.

Writes a JSON object a line, so that two runs compare; `docs/promises.md` has the newest figures.
"""

import argparse
import json
from dataclasses import asdict

from harness import paths
from harness.conformance import detection
from harness.selftest.faults import list_planted
from harness.selftest.out_of_reach import OUT_OF_REACH


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", metavar="FAULT", help="Default: all that sequences can reach.")
    parser.add_argument("--seconds", type=float, default=20, help="Of each hunt, up to its first difference.")
    parser.add_argument("--shorten", type=float, default=0, help="Seconds for making a sequence shorter.")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--jobs", type=int)
    asked = parser.parse_args()
    planted = {each.name: each.adapter for each in list_planted(asked.names) if each.name not in OUT_OF_REACH}
    found = detection.find_all(
        planted, paths.cache_root(), asked.seconds, asked.seed, asked.shorten, asked.jobs,
        lambda each: print(json.dumps(asdict(each)), flush=True),
    )  # fmt: skip
    there = [each for each in found if each.says]
    print(f"{len(there)} of {len(found)} found in {asked.seconds:g} s each")


if __name__ == "__main__":
    main()
