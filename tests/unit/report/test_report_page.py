"""`report.html` and the files beside it: complete, linked, harmless, the same bytes each time."""

from __future__ import annotations

import base64
import hashlib
import re
from html import escape
from html.parser import HTMLParser
from pathlib import Path

import pytest

from harness import metrics
from harness.adapter import Source
from harness.compare import statements
from harness.compare.cost_model import Condition, Cost, Spent
from harness.log.folder import Folder, FolderError
from harness.metrics.losses import LOST
from harness.model.prices import Price, Prices
from harness.model.regression import Change, GateVerdict
from harness.model.results import Against, Pooled, Results, Suite
from harness.model.trial import Interval
from harness.report import charts, write
from harness.report.model import contrasts, evidence, sections, ways
from harness.report.outputs import page as html
from tests.support.runs import run

EVIL = "Deploy with alphadeploy <script>alert(1)</script> \u202e\x1b[2J {{ 7 * 7 }} \"' onclick=x"
VOID = {"meta", "br", "use", "path", "rect", "circle", "input"}
OPEN = {"td": ("td", "th"), "th": ("td", "th"), "tr": ("td", "th", "tr")}
"""What a start tag ends that may be left open."""


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
        while self.open and self.open[-1] in OPEN.get(tag, ()):
            self.open.pop()
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
            while (
                tag in ("tr", "tbody", "thead", "table")
                and self.open[-1] in ("td", "th", "tr")
                and self.open[-1] != tag
            ):
                self.open.pop()
            assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text.append(data)


@pytest.fixture(scope="module")
def text(folder: Folder, results: Results) -> str:
    return write(folder, *evidence.read(folder)).page.read_text("utf-8")


@pytest.fixture(scope="module")
def hostile(tmp_path_factory: pytest.TempPathFactory) -> str:
    source = Source(commit="abcdef1", path="$(reboot);x", line=3)
    made = run(tmp_path_factory.mktemp("evil"), label="<i>$x_1$</i>", stale=EVIL, source=source)
    return write(made, *evidence.read(made)).page.read_text("utf-8")


# --- the files --------------------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_writing_again_gives_the_same_bytes_and_no_path_of_this_machine(folder: Folder, text: str) -> None:
    files = sorted(path for path in folder.root.iterdir() if path.is_file() and path.name != "run.json")
    assert [path.name for path in files] == [
        "junit.xml",
        "report.html",
        "results.json",
        "results.schema.json",
        "summary.md",
    ]
    before = {path: path.read_bytes() for path in files}
    for path in files:
        path.unlink()
    write(Folder.open(folder.root), *evidence.read(folder))
    assert {path: path.read_bytes() for path in files} == before
    assert not [path for path in files if str(folder.root).encode() in before[path]]


@pytest.mark.slow
def test_processes_change_no_byte_of_the_report(
    tmp_path: Path, folder: Folder, text: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(statements, "WORTH", 0)
    monkeypatch.setattr(Folder, "read_story", None)  # not asked in this process
    written = write(folder, *evidence.read(folder, 2), tmp_path)
    assert written.page.read_text("utf-8") == text
    assert written.results.read_bytes() == (folder.root / "results.json").read_bytes()


@pytest.mark.slow
def test_dev_and_held_stories_stand_side_by_side(
    tmp_path: Path, folder: Folder, text: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = [("<a>", "12 of 24, +.25", "12 of 12, +.75", ".02")]
    parted = contrasts.Parted(("Dev: 6 stories", "Held: 3 stories"), rows, "The gain differs.")
    monkeypatch.setattr(contrasts, "collect_splits", lambda _: parted)
    page = write(folder, *evidence.read(folder), tmp_path).page.read_text("utf-8")
    assert '<th scope="row">&lt;a&gt;<td>12 of 24, +.25<td>12 of 12, +.75<td>.02\n' in page
    assert "The gain differs." in page and "stories kept back" not in text


@pytest.mark.slow
def test_the_run_card_names_the_suite_that_was_played(tmp_path: Path, text: str) -> None:
    """As the run file says it, whatever the suite is today; a run file without it is from before."""
    said = Suite(version="<7>", digest="d1" * 32, split="held", held=("rename/twin",))
    made = run(tmp_path, suite=said)
    page = write(made, *evidence.read(made)).page.read_text("utf-8")
    assert (
        f"<dt>suite</dt><dd>suite &lt;7&gt;, split held: 1 of 2 scenarios held, digest sha256 {'d1' * 32}</dd>" in page
    )
    assert "coldwarm 9.9, suite &lt;7&gt;, split held, 2 stories" in (tmp_path / "summary.md").read_text()
    assert "<dt>suite</dt>" not in text


def test_results_can_be_read_back_and_have_a_schema(folder: Folder, results: Results, text: str) -> None:
    assert Results.model_validate_json((folder.root / "results.json").read_bytes()) == results
    schema = (folder.root / "results.schema.json").read_text()
    assert '"schema"' in schema and "Comparison" in schema


@pytest.mark.slow
def test_a_file_that_cannot_be_written_is_one_line_and_leaves_the_old_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made, put = run(tmp_path), Path.write_bytes

    def fill(path: Path, data: bytes) -> int:
        if "summary.md" not in path.name:
            return put(path, data)
        put(path, data[:10])
        raise OSError(28, "No space left on device")

    (tmp_path / "summary.md").write_text("old")
    monkeypatch.setattr(Path, "write_bytes", fill)
    with pytest.raises(FolderError, match=r"summary\.md: cannot be written") as caught:
        write(made, *evidence.read(made))
    assert len(str(caught.value).splitlines()) == 1
    assert (tmp_path / "summary.md").read_text() == "old" and not [*tmp_path.glob(".summary*")]


# --- the page ---------------------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_every_link_leads_somewhere_and_every_anchor_is_unique(text: str) -> None:
    page = Page(text)
    assert page.open == []
    assert len(page.ids) == len(set(page.ids))
    assert {target for target in page.targets if not target.startswith("#")} == set()
    assert {target[1:] for target in page.targets} <= set(page.ids)


def test_what_is_linked_and_definitions_are_anchors(results: Results, text: str) -> None:
    """A row of the cells has an id only where one is needed; the page's script finds the others."""
    ids = set(Page(text).ids)
    linked = set(re.findall(r'href="?#([^"\s>]+)', text))
    cells = {cell.id for cell in results.cells}
    assert linked & cells <= ids and len(cells & ids) < len(cells)
    assert {f"d-{name}" for name in results.definitions} <= ids


def test_a_definition_stands_once_however_often_its_measure_is_named(results: Results, text: str) -> None:
    assert text.count('href="#d-recall"') > 1
    assert text.count(escape(results.definitions["recall"].formula)) == 1


@pytest.mark.slow
def test_the_policy_lets_only_this_style_and_script_in(text: str) -> None:
    def digest(tag: str) -> str:
        (content,) = re.findall(rf"<{tag}>(.*?)</{tag}>", text, re.DOTALL)
        return base64.b64encode(hashlib.sha256(content.encode()).digest()).decode()

    assert (
        f"default-src 'none'; script-src 'sha256-{digest('script')}'; style-src 'sha256-{digest('style')}'; "
        "base-uri 'none'; form-action 'none'; require-trusted-types-for 'script'; trusted-types 'none'"
    ) in text
    assert text.index("Content-Security-Policy") < text.index("<style>")
    page = Page(text)
    assert not [each for each in page.attributes if each[1] == "style" or each[1].startswith("on") or each[1] == "src"]
    assert "@import" not in text and "url(http" not in text


@pytest.mark.slow
def test_no_text_of_a_run_reaches_the_script(text: str, hostile: str) -> None:
    def script(page: str) -> str:
        return page[page.index("<script>") :]

    assert script(text) == script(hostile)
    assert not [name for name in ("innerHTML", "outerHTML", "insertAdjacentHTML", "document.write") if name in text]


def test_wide_tables_scroll_by_themselves_and_by_keyboard(text: str) -> None:
    boxes = re.findall(r'<div class="scroll"([^>]*)>', text)
    assert boxes and all('tabindex="0" role="region" aria-label="' in box for box in boxes)


def test_every_number_of_the_findings_leads_to_the_cells_that_it_pools(results: Results, text: str) -> None:
    for name, row in results.backends.items():
        pooled = next(iter(row.measures.values()))
        anchor = next(
            a for a in re.findall(r'id="(cells-[^"]+-primary)"', text) if f"cells-{name.replace('_', '-')}-" in a
        )
        body = text[text.index(f'id="{anchor}"') :].split("</tbody>")[0]
        trials = sorted(cell.trial for cell in results.cells if cell.id in pooled.cells)
        assert sorted(re.findall(r"<th scope=row><a href=#([^>]+)>", body)) == trials


def test_tables_of_measures_name_the_way_of_working_that_their_numbers_are_of(results: Results, text: str) -> None:
    tables = re.findall(r"measures? of this question.*?<caption>(.*?)</caption>", text, re.DOTALL)
    topics = {metrics.words_of(name).topic for name in results.definitions}
    assert len(tables) == len(topics - {LOST}) > 5, "no story of the run is told as it was spoken"
    held = results.run.conditions
    (told,) = set(tables)
    assert f"write {held.headline_write} (the agent only adds notes), read {held.headline_read} (it takes " in told
    assert f"noise {held.headline_noise}. oracle and stale_oracle play without noise." in told
    assert ("way of writing that suits it best" in told) is (len(results.list_writes()) > 1)
    assert ("ranges over the ways of reading" in told) is (len(ways.list_reads(results)) > 1)


def test_what_sorts_and_filters_is_hidden_where_no_script_runs(text: str) -> None:
    sorts = re.findall(r'<button type="button" class="sort"([^>]*)>', text)
    assert sorts and all(" hidden " in each and "aria-label=" in each for each in sorts)
    assert '<form id="filter" hidden>' in text


@pytest.mark.slow
def test_cells_are_filtered_by_each_way_of_reading_that_was_played_and_each_is_explained(
    folder: Folder, results: Results, text: str
) -> None:
    def list_offered(page: str) -> list[str]:
        return re.findall(
            r"<option>(.*?)</option>", page.partition('<select name="read">')[2].partition("</select>")[0]
        )

    played = {cell.read_policy for cell in results.cells if cell.read_policy}
    assert set(list_offered(text)) == played and len(played) > 1
    filtered = [each.model_copy(update={"read_policy": "filtered", "primary": False}) for each in results.contrasts[:1]]
    page = html.write_page(results.model_copy(update={"contrasts": (*results.contrasts, *filtered)}), ())
    assert list_offered(page) == [*list_offered(text), "filtered"]
    told = page.partition('<h2 id="policies">')[2].partition("</section>")[0]
    assert all(f"{read}: the agent {ways.READS[read]}." in told for read in (*played, "filtered"))


@pytest.mark.slow
def test_gates_and_the_baseline_stand_where_they_are_seen(folder: Folder, results: Results) -> None:
    cells = (results.cells[0].id,)
    gates = tuple(
        GateVerdict(
            gate="a-gate",
            backend="store",
            measure="recall",
            line=3,
            verdict=verdict,
            says=f"{verdict} <b>",
            cells=cells,
        )
        for verdict in ("held", "broken", "not-measured")
    )
    base = Against(
        run="old-run", version="9.8", commit=None, protocol=1, suite=None, digest="d1" * 32,
        versions={"store": ("1", "2")}, differs=("k was 5",),
    )  # fmt: skip
    changes = (
        Change(backend="store", measure="recall", verdict="no-difference-shown"),
        Change(
            backend="store", measure="stale_use", verdict="worse", old=0.1, new=0.5, old_count=(1, 10),
            new_count=(5, 10),
            difference=0.4, interval=Interval(low=0.1, high=0.6, method=""), adjusted_p=0.01, broken=cells,
        ),
        Change(backend="keeper", measure="recall", verdict="vanished", vanished=cells, reason="<gone>"),
    )  # fmt: skip
    judged = results.model_copy(update={"gates": gates, "baseline": base, "changes": changes})
    text = html.write_page(judged, evidence.read(folder)[1])
    page = Page(text)
    assert page.open == [] and {target[1:] for target in page.targets} <= set(page.ids)
    assert [text.index(each) for each in ("1 broken", "1 not measured", "1 held")] == sorted(
        text.index(each) for each in ("1 broken", "1 not measured", "1 held")
    )
    assert "broken &lt;b&gt;" in text and "&lt;gone&gt;" in text and "k was 5" in text and "1 then, 2 now" in text
    row = text[text.index("worse: 1 measure") :]
    assert "1/10" in row and "5/10" in row and "+0.40 (.10 to .60)" in row and f'href="#{cells[0]}"' in row
    assert (
        text.index("worse: 1 measure")
        < text.index("vanished: 1 measure")
        < text.index("no difference shown: 1 measure")
    )


@pytest.mark.slow
def test_what_chat_calls_cost_stands_on_the_page_where_any_was_made(folder: Folder, results: Results) -> None:
    seen = evidence.gather(results, evidence.read(folder)[1])
    assert seen.costs and "Chat calls paid" not in html.render(results, seen), "no model was called"
    spent = Spent("reader", "job", "<b>m</b>", calls=3, prompt=3000, cached=1000, completion=50)
    warm = Cost(Condition("chat@m", "store", "append", 0), 2, 1, 4.5, 0.5, spent={("reader", "job", "m"): spent})
    cold = Cost(Condition("chat@m", None, None, 0), 2, 0)
    asked = seen._replace(costs=[cold, warm])
    table = Prices(date="2026-01-02", currency="USD", models={"<b>m</b>": Price(prompt=10, completion=100, cached=1)})
    run = results.run.model_copy(update={"prices": table})
    text = html.render(results.model_copy(update={"run": run}), asked)
    page = Page(text)
    assert page.open == [] and len(page.ids) == len(set(page.ids)) and "paid" in page.ids
    part = text[text.index('<h2 id="paid"') :]
    for said in ("1 of 2", "3,050", "0.0260", "4.50", "0.50", "none (0 spent)", "1,000", "prices of 2026-01-02 in USD"):
        assert f">{said}<" in part or said in part[:900], said
    assert "&lt;b&gt;m&lt;/b&gt;" in part and "<b>m" not in part
    unpriced = html.render(results, asked)
    assert "No prices were given" in unpriced


# --- hostile text -----------------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_memory_text_is_shown_and_does_nothing(hostile: str) -> None:
    assert hostile.count("<script") == 1 and "<i>$" not in hostile and "\u202e" not in hostile and "\x1b" not in hostile
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in hostile
    assert "\u27e8U+202E\u27e9\u27e8U+001B\u27e9[2J {{ 7 * 7 }}" in hostile
    page = Page(hostile)
    assert page.open == [] and len(page.ids) == len(set(page.ids))
    assert not [name for _, name, _ in page.attributes if name.startswith("on")]


def test_a_source_that_is_no_plain_path_gives_no_command(hostile: str) -> None:
    commands = [block for block in re.findall(r"<pre>(.*?)</pre>", hostile, re.DOTALL) if "sed -n" in block]
    assert commands and not [block for block in commands if "reboot" in block]


# --- charts -----------------------------------------------------------------------------------------------------------


def test_the_table_of_a_chart_has_the_rows_that_were_drawn(results: Results, text: str) -> None:
    for chart in charts.draw_charts(results):
        for row in chart.rows:
            cells = "".join(f"<td>{cell}" for cell in row[1:])
            assert f'<tr><th scope="row">{row[0]}{cells}\n' in text


@pytest.mark.slow
def test_the_report_alone_imports_neither_jinja_nor_matplotlib() -> None:
    import subprocess
    import sys

    code = "import sys, harness.report; print(sorted({'jinja2', 'matplotlib'} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_where_decisions_are_lost_stands_on_a_page_of_stories_that_were_spoken(results: Results) -> None:
    assert LOST not in {section.topic for section in sections.sections(results, ())}
    for lost in (Pooled(value=0.1, hits=1, of=10, scenarios=1), Pooled(value=None, failed=1)):
        name, row = next(iter(results.backends.items()))
        told = row.model_copy(update={"measures": {**row.measures, "lost_unused": lost}})
        changed = results.model_copy(update={"backends": {**results.backends, name: told}})
        assert LOST in {section.topic for section in sections.sections(changed, ())}
