"""The report of 1,000 cells: seconds and memory to render it, its size, and how fast it is in a real browser.

`python -m benchmarks.page` plays tapes; `python -m benchmarks.page FOLDER` takes the run in a folder.
"""

from __future__ import annotations

import gc
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from harness import regress
from harness.log.folder import Folder
from harness.report import write
from harness.report.model import evidence
from tests.browser.chromium import Chromium, Page, program
from tests.support.runs import run

STORIES, TIMES = 63, 5
TABLE = "document.getElementById('all-cells')"


def main() -> None:
    match sys.argv[1:]:
        case ["--render", folder]:
            render(Path(folder))
        case [folder]:
            measure(Path(folder))
        case _:
            with tempfile.TemporaryDirectory() as name:
                run(Path(name), stories=STORIES)
                measure(Path(name))


def measure(folder: Path) -> None:
    """In a process of its own, so that the peak is that of one report."""
    subprocess.run([sys.executable, "-m", "benchmarks.page", "--render", str(folder)], check=True)
    if not (chromium := program()):
        print("no chromium here: nothing measured in a browser")
        return
    with tempfile.TemporaryDirectory() as profile:
        browser = Chromium(chromium, Path(profile) / "profile")
        try:
            shown([browser.page().open(folder / "report.html") for _ in range(TIMES)])
        finally:
            browser.close()


def render(root: Path) -> None:
    gc.set_threshold(100_000, 50, 50)  # as the command line sets it
    folder = Folder.open(root)
    results, parts = evidence.read(folder)
    results = regress.judge_run(results, folder)
    scored, start = peak(), time.perf_counter()
    page = write(folder, results, parts).page
    took, size = time.perf_counter() - start, page.stat().st_size / 1e6
    told = f"peak {peak():.0f} MB (goal 300), {scored:.0f} MB of it when scored"
    print(f"{len(results.cells):,} cells: rendered in {took:.1f} s (goal 10), {told}")
    print(f"report.html: {size:.2f} MB (goal 3)")


def peak() -> float:
    """Of this process so far, in MB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def shown(pages: list[Page]) -> None:
    """Medians over pages that were opened anew; a change counts until it is laid out."""
    for name, goal, script in (
        ("first paint", 1000, "performance.getEntriesByName('first-contentful-paint')[0].startTime"),
        ("sort", 100, _until_laid_out(f"{TABLE}.querySelectorAll('.sort')[9].click()")),
        ("sort again", 100, _until_laid_out(f"{TABLE}.querySelectorAll('.sort')[9].click()")),
        ("filter", 100, _until_laid_out("field.value = 'story'; field.dispatchEvent(typed)")),
        ("filter off", 100, _until_laid_out("field.value = ''; field.dispatchEvent(typed)")),
    ):
        took = [page.until(script) for page in pages]
        print(f"{name}: {statistics.median(took):.0f} ms, at most {max(took):.0f} (goal {goal})")


def _until_laid_out(action: str) -> str:
    return f"""(() => {{
        const field = document.forms.filter.elements.has, typed = new Event("input", {{bubbles: true}});
        {TABLE}.scrollIntoView();
        {TABLE}.offsetHeight;
        const start = performance.now();
        {action};
        {TABLE}.offsetHeight;
        return performance.now() - start;
    }})()"""


if __name__ == "__main__":
    main()
