"""Texts that want to run, to break out, to hide or to command, and a finished run in which a backend says all of them.

Whatever of them is obeyed by a browser sets `window.obeyed`, opens a dialog, or asks for something.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from itertools import chain, cycle, islice
from pathlib import Path

from harness.adapter import Hit, Item, Layer, Scope, Source, to_wire
from harness.log.blobs import pack
from harness.log.events import Event, Listed, Opened, Recalled, Resolved, Scanned, Worked
from harness.log.folder import Folder
from harness.log.lines import Writer
from harness.log.parts import FOUND, Check, Found, Sighting, Span
from harness.log.reader import read
from harness.log.transcript import Called, Ended, Looked
from harness.model.backend import Backend, Declared, Fault
from harness.model.drill import Piece, Plan
from harness.model.results import Suite, Unplayed
from tests.support import runs
from tests.support.logs import hit
from tests.support.transcripts import transcript

RUN = "window.obeyed=1;alert(1)"
TEXTS: Mapping[str, str] = {
    # markup and script
    "script": f"<script>{RUN}</script>",
    "script-after-ends": f"</td></table></details></bdi></div></main></title></style></template><script>{RUN}</script>",
    "script-in-a-script": f"</script><script>{RUN}</script><!--<script>",
    "image": f'<img src=x onerror="{RUN}">',
    "image-elsewhere": '<img src="https://example.com/seen.png"><link rel=stylesheet href=//example.com/a.css>',
    "out-of-an-attribute": f'" onmouseover="{RUN}" autofocus onfocus="{RUN}" x="',
    "out-of-a-quote": f"' onfocus='{RUN}' tabindex=0 autofocus '",
    "open-details": f"<details open ontoggle={RUN}><summary>x</summary></details>",
    "frame": f"<iframe srcdoc=\"<script>parent.obeyed=1</script>\"></iframe><object data='data:text/html,{RUN}'>",
    "svg": f'<svg onload="{RUN}"><animate onbegin="{RUN}" attributeName=x dur=1s></svg>',
    "svg-use": '<svg><use href="data:image/svg+xml,<svg id=x onload=alert(1) xmlns=http://www.w3.org/2000/svg>#x"/>',
    "svg-foreign": f"<svg><foreignObject><body onload={RUN}></foreignObject><style><img src=x onerror={RUN}></style>",
    "mathml": f'<math><mtext><table><mglyph><style><!--</style><img title="--&gt;&lt;img src=x onerror={RUN}&gt;">',
    "meta": '<meta http-equiv=refresh content="0;url=https://example.com/"><base href="https://example.com/">',
    "form": '<form action="https://example.com/"><button autofocus formaction="javascript:obeyed=1">Go</button></form>',
    "clobber": "<form id=filter><input name=elements></form><a id=cells></a><img name=getElementById id=all-cells>",
    "template": f"</template><template class=block>H4sI</template><script>{RUN}</script>",
    "noscript": f'<noscript><p title="</noscript><img src=x onerror={RUN}>">',
    "plaintext": "<plaintext><xmp><textarea><select><title>",
    "comment": f"<!-- --!> <script>{RUN}</script> <!-- -->",
    "cdata": f"<![CDATA[<script>{RUN}</script>]]> ]]> ]]&gt;",
    "processing": '<?xml version="1.0"?><!DOCTYPE x [<!ENTITY e SYSTEM "file:///etc/passwd">]><x>&e;</x>',
    "entities": f"&lt;script&gt;{RUN}&lt;/script&gt; &#60;img src=x onerror={RUN}&#62; &amp;lt; &#0; &#x1b;[31m &nbsp",
    "fullwidth": f"\uff1cscript\uff1e{RUN}\uff1c/script\uff1e \u02c2img\u02c3",
    "utf7": "+ADw-script+AD4-window.obeyed=1+ADw-/script+AD4-",
    # style
    "style": "<style>*{display:none!important}</style><p style=position:fixed;inset:0;background:red>",
    "style-out": "</style>} body{display:none} @import 'https://example.com/x.css'; a{background:url(//example.com/x)}",
    "class": '"><b class="v right" hidden>right</b><tr class=group id=cells>',
    # links
    "javascript-url": "javascript:window.obeyed=1",
    "link": '<a href="javascript:window.obeyed=1">x</a> <a href="https://example.com">https://example.com</a>',
    "data-url": f"data:text/html;base64,PHNjcmlwdD5hbGVydCgxKTwvc2NyaXB0Pg== data:text/html,<script>{RUN}</script>",
    # templates and formats
    "jinja": "{{ 7 * 7 }} {% for x in ().__class__.__base__.__subclasses__() %}{{ x }}{% endfor %} {# gone #}",
    "braces": "${7*7} #{7*7} <%= 7*7 %> {{constructor.constructor('window.obeyed=1')()}} $(reboot) `reboot`; rm -rf ~",
    "percent": "%s %n %(x)s {0} {results.run.__class__} \\N{BULLET} \\x1b[2J",
    "csv": '=HYPERLINK("https://example.com","x") +1 -1 @SUM(A1) \t=1 \r=1',
    "json": '"],"nodes":[],"trees":{},"__proto__":{"obeyed":1},"texts":["\\u003c/script\\u003e',
    "markup-of-rich": "[bold red on white]x[/] [link=https://example.com]x[/link] [/] [blink]",
    # Markdown
    "markdown-link": "[x](https://example.com) ![x](https://example.com/x.png) <https://example.com> https://example.com",
    "markdown-mention": "@everyone @octocat/team #1 GH-1 user@example.com example/repo#1 deadbeefdeadbeefdeadbeef",
    "markdown-table": "| a | b |\n|---|---|\n| \\| | `|` |\n\n# Head\n\n- [ ] task\n\n---\n> quote\n\n    code",
    "markdown-fence": "```\n~~~\n``` `` ` </code></details> *x* _x_ ~~x~~ \\",
    "markdown-reference": "[x]: https://example.com\n[x][x] [^1] :smile: $x_1$ $$\\href{javascript:alert(1)}{x}$$",
    # what a CI server obeys
    "workflow-command": "x\n::error file=a,line=1::owned\r\n  ::set-env name=x::y\n::stop-commands::t\n##[error]x",
    "other-commands": "##vso[task.setvariable variable=x]y ##teamcity[buildStatus status='SUCCESS'] ##[group]x",
    "attachment": "[[ATTACHMENT|/etc/passwd]]",
    "section": "\x1b[0Ksection_start:1:x[collapsed=true]\r\x1b[0Kx ]]> <failure/> <skipped/>",
    # terminals
    "ansi": "\x1b[2J\x1b[31mred\x1b[8mhidden\x1b[0m\x1b[1;1H \x9b31m",
    "osc": "\x1b]0;title\x07\x1b]8;;https://example.com\x1b\\link\x1b]8;;\x1b\\\x1b]52;c;eA==\x07\x1bP+q\x1b\\\x1b[6n",
    "overwrite": "wrong\rright \x08\x08\x7f\x0b\x0c\x07",
    # letters that are not what they seem
    "nul": "a\x00b\x01\x02\x1f\x85\x9f",
    "bidi": "\u202egnp.exe\u202c \u2066\u2067\u2068x \u200f\u061c right",
    "bidi-open": "\u202e\u2067\u202d\u202b never closed",
    "zero-width": "al\u200bpha\u200dde\u2060pl\ufeffoy \u00ad \u180e \u2061",
    "separators": "one\u2028two\u2029three\x1cfour\x1dfive\x1esix",
    "tags": "plain\U000e0001\U000e0068\U000e0069\U000e007f \ufe0f\U000e0100",
    "private": "\ue000 \U000f0000 \ufff9a\ufffab\ufffb \ufdd0 \U0001ffff",
    "replaced": b"caf\xe9 \xff\xfe \xc0\xaf \xed\xa0\x80".decode("utf-8", "replace"),
    "homoglyphs": "\u0430\u0440\u0440\u0435 d\u0435pl\u043ey \u0391lpha \u217c\u217c \uff41\uff50\uff50",
    "emoji": "\U0001f468\u200d\U0001f469\u200d\U0001f467 \U0001f1e9\U0001f1ea \u2764\ufe0f \U0001f44d\U0001f3fd",
    "marks": "Z" + "\u0335\u0351\u0316\u0489" * 40 + " z\u0301\u0302\u0303",
    "right-to-left": "\u05d0\u05d1\u05d2 deploy \u0627\u0644\u0646\u0634\u0631 with \u05d0 12/34",
    # size and shape
    "empty-looking": "\u00a0\u3000\u2003\u2800\u3164\uffa0 \t\n \r\n",
    "long-word": "x" * 3000,
    "long-unbreakable": "\u00a0".join(["deploy"] * 300) + "\u2060" * 50,
    "many-lines": "\n" * 500 + "last",
    "deep": "<div>" * 500 + "[" * 500 + "(" * 500,
    "large": "<b>large</b> " * 800_000,  # 10 MB
}
"""Name -> text. Lone surrogates are not among them: JSON that is read strictly cannot bring them (see `SURROGATE`)."""
SURROGATE = "a\ud800b\udfff"
ABSENT = ("script-after-ends", "ansi", "markdown-table", "workflow-command")
"""Whose texts are names and reasons of backends that could not play."""
GATES = """
[[gate]]
name = "<b onclick=alert(1)> | `@x` ::error::"
measure = "stale_use"
backends = "*"
at_most = 0
"""
LABEL = f"<i onclick={RUN}>\u202e|`@x`$x_1$\x1b[31m"
"""A backend's name."""


def run(root: Path) -> Folder:
    """A finished run on disk in which all that comes from outside is hostile: names, memories, reasons, output."""
    small = [text for name, text in TEXTS.items() if name != "large"]
    every, reasons = chain([TEXTS["large"]], cycle(small)), cycle(small)
    made = runs.run(
        root,
        label=LABEL,
        version=next(reasons)[:100],
        command=f"coldwarm run -b '{LABEL}' {TEXTS['jinja']} {TEXTS['workflow-command']}",
        embedder=TEXTS["script"],
        tokens=TEXTS["markdown-link"],
        suite=Suite(version=TEXTS["style-out"], digest="d1" * 32, split="all"),
        unplayed=tuple(
            Unplayed(backend=f"{name} {TEXTS[name][:60]}", reason=TEXTS[name][:4000], allowed=False) for name in ABSENT
        ),
    )
    (root / "gates.toml").write_text(GATES)
    _drilled(root)
    for path in sorted((root / "logs").iterdir()):
        log = read(path, made.blobs)
        path.unlink()
        with Writer(path) as writer:
            for event in log.events:
                for each in _said(event, made, every, reasons):
                    writer.append(each)
    return Folder.open(root)


def _said(event: Event, folder: Folder, every: Iterator[str], reasons: Iterator[str]) -> Iterator[Event]:
    """The same event as a hostile backend would have caused it."""

    def fault() -> Fault:
        return Fault(kind="crashed", op="recall", message=next(reasons))

    match event:
        case Opened(backend=Backend() as backend):
            support = {
                name: said if said.level == "native" else Declared(level=said.level, note=next(reasons))
                for name, said in backend.support.items()
            }
            settings = {"model": next(reasons), next(reasons)[:50]: "x"}
            changed = {"version": next(reasons), "support": support, "settings": settings}
            yield event.model_copy(update={"backend": backend.model_copy(update=changed)})
        case Recalled(found=Found(hits=hits, entries=entries)) if hits:
            more = [
                hit(text, f"{at} {text[:99]}", source=_source(text), created=text[:30])
                for at, text in enumerate(islice(every, 5))
            ]
            spans = tuple(
                Span(hit=len(hits) + at, start=0, end=len(each.text), tokens=1) for at, each in enumerate(more)
            )
            # The hostile ones come first; what decided stays what decides.
            found = Found(hits=(*hits, *more), entries=(*spans, *entries))
            yield event.model_copy(update={"found": pack(folder.blobs, FOUND, found), "query": next(reasons)})
        case Resolved():
            said = tuple(each.model_copy(update={"says": next(reasons)}) for each in event.sources)
            yield event.model_copy(update={"sources": said})
        case Worked():
            checks = tuple(_checked(each, next(reasons)) for each in event.checks)
            choices = tuple(
                each.model_copy(update={"entry": 5 if each.entry is not None else None}) for each in event.choices
            )
            diff = "\n".join(islice(reasons, 5))
            yield event.model_copy(update={"checks": checks, "choices": choices, "diff": diff})
        case Listed(hits=tuple() as hits):
            yield event.model_copy(update={"hits": (*hits, *(hit(text) for text in islice(reasons, 5)))})
        case Scanned():
            seen = tuple(_sighted(each, next(reasons)) for each in event.sightings)
            layer = replace(event.layer, name=f"{event.layer.name} {TEXTS['image']}")
            yield event.model_copy(update={"sightings": seen, "layer": layer, "problem": next(reasons)})
        case _:
            yield event


def _drilled(root: Path) -> None:
    """A drill that found deleted text again, and broke."""
    said = [Hit(name, text) for name, text in TEXTS.items() if name != "large"]
    piece = Piece(name="pin", role="forget", item=Item(TEXTS["script"], Scope(repo="shop"), "2026-01-01", "project"))
    events = (
        Called(step="before", op="recall", about=("pin",), request={"query": TEXTS["osc"]}, answer=to_wire(said)),
        Called(step="erase", op="forget", about=("pin",), request={"memory_ids": [TEXTS["bidi"]]}, answer=[True]),
        Called(step="after", op="entries", about=("pin",), request={}, answer=to_wire(said)),
        Called(step="after", op="get", about=("pin",), fault=Fault(kind="crashed", op="get", message=TEXTS["ansi"])),
        Looked(
            step="closed", layer=Layer(TEXTS["image"], "f", "file"), files=1, bytes=9,
            problem=TEXTS["workflow-command"],
            sightings=(Sighting(fact="pin", path=TEXTS["link"], form="utf-8", count=2, offset=7),),
        ),
    )  # fmt: skip
    ended = Ended(status="failed", fault=Fault(kind="breach", op="recall", message=TEXTS["markdown-table"]))
    made = transcript(root, Plan(pieces=(piece,)), events, drill="deletion", backend=LABEL, ended=ended)
    (root / "drills").mkdir()
    made.path.replace(root / "drills" / f"{made.trial.id}.1.jsonl")


def _source(text: str) -> Source:
    return Source(commit=text[:40], path=text[:500], line=3, session=text[:200])


def _checked(check: Check, text: str) -> Check:
    return check.model_copy(update={"output": text, "command": ("sh", "-c", text)})


def _sighted(sighting: Sighting, text: str) -> Sighting:
    return sighting.model_copy(update={"path": text[:500], "place": text[:100]})
