"""Every benchmark in turn, each in a process of its own."""

import subprocess
import sys

for name in ("probes", "share", "scoring", "noise", "gateway", "scan", "page"):
    print(f"--- {name}", flush=True)
    subprocess.run([sys.executable, "-m", f"benchmarks.{name}"], check=True)
