"""`report.html` and the files beside it: complete, linked, harmless, the same bytes each time."""

from __future__ import annotations

import base64
import hashlib
import re
from html.parser import HTMLParser
from pathlib import Path

import pytest
from syrupy.assertion import SnapshotAssertion

from harness import compare, metrics
from harness.adapter import Source
from harness.folder import Folder, FolderError
from harness.report import charts, html, receipts, write
from harness.results import Results, Suite
from tests.runs import run

EVIL = "Deploy with alphadeploy <script>alert(1)</script> \u202e\x1b[2J {{ 7 * 7 }} \"' onclick=x"
VOID = {"meta", "br", "use", "path", "rect", "circle"}


class Page(HTMLParser):
    """What a page is made of; fails on a tag that is closed without being open."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.ids: list[str] = []
        self.targets: list[str] = []
        self.attributes: list[tuple[str, str, str]] = []
        self.open: list[str] = []
        self.text: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag not in VOID:
            self.open.append(tag)
        self._attributes(tag, attrs)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self._attributes(tag, attrs)

    def _attributes(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        for name, value in attrs:
            self.attributes.append((tag, name, value or ""))
            if name == "id":
                self.ids.append(value or "")
            if name in ("href", "xlink:href"):
                self.targets.append(value or "")

    def handle_endtag(self, tag: str) -> None:
        if tag not in VOID:
            assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text.append(data)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Folder:
    return run(tmp_path_factory.mktemp("run"))


@pytest.fixture(scope="module")
def results(folder: Folder) -> Results:
    return compare.results(folder)


@pytest.fixture(scope="module")
def text(folder: Folder, results: Results) -> str:
    return write(folder, results).page.read_text("utf-8")


@pytest.fixture(scope="module")
def hostile(tmp_path_factory: pytest.TempPathFactory) -> str:
    source = Source(commit="abcdef1", path="$(reboot);x", line=3)
    made = run(tmp_path_factory.mktemp("evil"), label="<i>$x_1$</i>", stale=EVIL, source=source)
    return write(made, compare.results(made)).page.read_text("utf-8")


# --- the files --------------------------------------------------------------------------------------------------------


def test_writing_again_gives_the_same_bytes_and_no_path_of_this_machine(folder: Folder, text: str) -> None:
    files = sorted(path for path in folder.root.iterdir() if path.is_file() and path.name != "run.json")
    assert [path.name for path in files] == ["report.html", "results.json", "results.schema.json", "summary.md"]
    before = {path: path.read_bytes() for path in files}
    for path in files:
        path.unlink()
    write(Folder.open(folder.root), compare.results(folder))
    assert {path: path.read_bytes() for path in files} == before
    assert not [path for path in files if str(folder.root).encode() in before[path]]


def test_the_run_card_names_the_suite_that_was_played(tmp_path: Path, text: str) -> None:
    """As the run file says it, whatever the suite is today; a run file without it is from before."""
    said = Suite(version="<7>", digest="d1" * 32, split="held", held=("rename/twin",))
    made = run(tmp_path, suite=said)
    page = write(made, compare.results(made)).page.read_text("utf-8")
    assert (
        f"<dt>suite</dt><dd>suite &lt;7&gt;, split held: 1 of 2 scenarios held, digest sha256 {'d1' * 32}</dd>" in page
    )
    assert "coldwarm 9.9, suite &lt;7&gt;, split held, 2 scenarios" in (tmp_path / "summary.md").read_text()
    assert "<dt>suite</dt>" not in text


def test_results_can_be_read_back_and_have_a_schema(folder: Folder, results: Results, text: str) -> None:
    assert Results.model_validate_json((folder.root / "results.json").read_bytes()) == results
    schema = (folder.root / "results.schema.json").read_text()
    assert '"schema"' in schema and "Comparison" in schema


def test_a_file_that_cannot_be_written_is_one_line_and_leaves_the_old_one(tmp_path: Path) -> None:
    made = run(tmp_path)
    (tmp_path / "summary.md.part").mkdir()
    (tmp_path / "summary.md").write_text("old")
    with pytest.raises(FolderError, match=r"summary\.md: cannot be written") as caught:
        write(made, compare.results(made))
    assert len(str(caught.value).splitlines()) == 1
    assert (tmp_path / "summary.md").read_text() == "old"


# --- the page ---------------------------------------------------------------------------------------------------------


def test_every_link_leads_somewhere_and_every_anchor_is_unique(text: str) -> None:
    page = Page(text)
    assert page.open == []
    assert len(page.ids) == len(set(page.ids))
    assert {target for target in page.targets if not target.startswith("#")} == set()
    assert {target[1:] for target in page.targets} <= set(page.ids)


def test_cells_and_definitions_are_anchors(results: Results, text: str) -> None:
    ids = set(Page(text).ids)
    assert {cell.id for cell in results.cells} <= ids
    assert {f"d-{name}" for name in results.definitions} <= ids


def test_the_policy_lets_only_this_style_in(text: str) -> None:
    (style,) = re.findall(r"<style>(.*?)</style>", text, re.DOTALL)
    digest = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
    assert f"default-src 'none'; style-src 'sha256-{digest}'; base-uri 'none'; form-action 'none'" in text
    assert text.index("Content-Security-Policy") < text.index("<style>")
    page = Page(text)
    assert not [each for each in page.attributes if each[1] == "style" or each[1].startswith("on") or each[1] == "src"]
    assert "<script" not in text and "@import" not in text and "url(http" not in text


def test_wide_tables_scroll_by_themselves_and_by_keyboard(text: str) -> None:
    boxes = re.findall(r'<div class="scroll"([^>]*)>', text)
    assert boxes and all('tabindex="0" role="region" aria-label="' in box for box in boxes)


def test_the_findings(text: str, snapshot: SnapshotAssertion) -> None:
    found = re.search(r'<table class="findings">.*?</table>', text, re.DOTALL)
    assert found and found[0] == snapshot


def test_every_number_of_the_findings_leads_to_the_cells_that_it_pools(results: Results, text: str) -> None:
    for name, row in results.backends.items():
        pooled = next(iter(row.measures.values()))
        anchor = next(
            a for a in re.findall(r'id="(cells-[^"]+-primary)"', text) if f"cells-{name.replace('_', '-')}-" in a
        )
        body = text[text.index(f'id="{anchor}"') :].split("</tbody>")[0]
        assert re.findall(r'<tr id="([^"]+)"', body) == list(pooled.cells)


# --- hostile text -----------------------------------------------------------------------------------------------------


def test_memory_text_is_shown_and_does_nothing(hostile: str) -> None:
    assert "<script" not in hostile and "<i>" not in hostile and "\u202e" not in hostile and "\x1b" not in hostile
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in hostile
    assert "\u27e8U+202E\u27e9\u27e8U+001B\u27e9[2J {{ 7 * 7 }}" in hostile
    page = Page(hostile)
    assert page.open == [] and len(page.ids) == len(set(page.ids))
    assert not [name for _, name, _ in page.attributes if name.startswith("on")]


def test_a_source_that_is_no_plain_path_gives_no_command(hostile: str) -> None:
    commands = [block for block in re.findall(r"<pre>(.*?)</pre>", hostile, re.DOTALL) if "sed -n" in block]
    assert commands and not [block for block in commands if "reboot" in block]


# --- receipts ---------------------------------------------------------------------------------------------------------


def collected(folder: Folder, results: Results) -> receipts.Receipts:
    return receipts.collect(results, metrics.views(list(folder.logs()[0].values())))


def test_a_stale_use_can_be_followed_to_the_log(folder: Folder, results: Results) -> None:
    found = [r for r in collected(folder, results).shown if r.title == "Acted on a stale rule" and r.backend == "store"]
    assert len(found) == 4
    receipt = found[0]
    assert receipt.about == "Which tool? alphadeploy, not betadeploy"
    assert [(e.rank, e.verdict, e.cited, e.source) for e in receipt.entries] == [
        (1, "superseded", True, "ship.toml:3 @c1 session first"), (2, "current", False, "no source"),
    ]  # fmt: skip
    assert {(step.policy, step.verdict, step.value) for step in receipt.steps} == {
        (policy, "stale", "alphadeploy") for policy in ("trusting", "newest", "verifying")
    }
    number, file = re.fullmatch(r"sed -n (\d+)p (logs/\S+)", receipt.commands[0]).groups()  # type: ignore[union-attr]
    line = (folder.root / file).read_text().splitlines()[int(number) - 1]
    assert '"purpose":"decision"' in line and "alphadeploy" in line


def test_bytes_that_stayed_come_with_canary_and_command(folder: Folder, results: Results) -> None:
    found = [r for r in collected(folder, results).shown if r.title.endswith("stored bytes")]
    assert {r.backend for r in found} == {"store"}
    assert [label for label, _ in found[0].facts] == ["layer", "still there: pin", "still there: key"]
    trial = found[0].cell.removesuffix("-trusting")
    assert f"coldwarm run --trial {trial} --keep" in found[0].commands
    assert f"grep -ac cw-pin-41b7 reports/out/latest/work/{trial}/store/file" in found[0].commands


def test_one_receipt_for_one_place_however_many_cells_cite_it(folder: Folder, results: Results) -> None:
    found = collected(folder, results)
    assert len({r.id for r in found.shown}) == len(found.shown) == found.total
    cited = [ids for name, ids in found.of_cell.items() if name.startswith("store-story")]
    assert len(cited) == 3 and len(set(cited)) == 1


def test_beyond_the_bound_receipts_are_counted_and_every_backend_keeps_some(
    folder: Folder, results: Results, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(receipts, "BOUND", 2)
    found = collected(folder, results)
    assert len(found.shown) == 2 < found.total
    assert {r.title for r in found.shown} == {"Acted on a stale rule", "Deleted, and still in the stored bytes"}
    page = html.page(results, metrics.views(list(folder.logs()[0].values())))
    assert f"2 of {found.total} receipts in full" in page
    assert Page(page).open == []


def test_a_receipt(text: str, snapshot: SnapshotAssertion) -> None:
    found = re.search(r'<details class="receipt">.*?</details>\n<p.*?</details>', text, re.DOTALL)
    assert found and found[0] == snapshot


# --- charts -----------------------------------------------------------------------------------------------------------


def test_charts_leak_nothing_into_the_page_and_speak(results: Results) -> None:
    drawn = charts.charts(results)
    assert [chart.name for chart in drawn] == ["decisions", "tokens"]
    ids = [Page(chart.svg).ids for chart in drawn]
    assert not set(ids[0]) & set(ids[1])
    for chart in drawn:
        assert "<style" not in chart.svg and "style=" not in chart.svg and "<metadata" not in chart.svg
        assert 'role="img"' in chart.svg and f'<title id="{chart.name}-title">{chart.title}</title>' in chart.svg
        assert f'<desc id="{chart.name}-desc">' in chart.svg
        shown = re.findall(r"<text[^>]*>([^<]*)</text>", chart.svg)
        assert {row[0] for row in chart.rows} <= set(shown)
        assert {row[-1] for row in chart.rows} <= set(shown)


def test_the_table_of_a_chart_has_the_rows_that_were_drawn(results: Results, text: str) -> None:
    for chart in charts.charts(results):
        for row in chart.rows:
            cells = "".join(f'<td class="n">{cell}</td>' for cell in row[1:])
            assert f'<tr><th scope="row">{row[0]}</th>{cells}</tr>' in text


def test_drawing_ignores_and_keeps_the_users_style(results: Results) -> None:
    import matplotlib

    before = charts.charts(results)
    with matplotlib.rc_context({"font.size": 30, "axes.facecolor": "black"}):
        assert charts.charts(results) == before
        assert matplotlib.rcParams["font.size"] == 30


def test_the_report_alone_imports_neither_jinja_nor_matplotlib() -> None:
    import subprocess
    import sys

    code = "import sys, harness.report; print(sorted({'jinja2', 'matplotlib'} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
