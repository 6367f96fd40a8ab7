"""A headless Chromium, spoken to by its DevTools protocol over a pipe: no driver, no port, no library."""

from __future__ import annotations

import base64
import contextlib
import fcntl
import json
import os
import select
import shutil
import signal
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

FLAGS = (
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-sync",
    "--disable-background-networking", "--disable-component-update", "--disable-dev-shm-usage",
    "--remote-debugging-pipe",
)  # fmt: skip
PATIENCE = 120.0
"""Seconds until an answer is given up. It guards against a hang and says nothing of speed."""
KEYS = {"Enter": (13, "\r"), " ": (32, " "), "Tab": (9, ""), "Escape": (27, "")}
Event = dict[str, Any]


class BrowserError(RuntimeError):
    """The browser refused a command, threw in a script, or did not answer."""


def program() -> str | None:
    """Where a Chromium is, if there is one."""
    return next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)


class Chromium:
    """One browser. Its process group is killed by `close`."""

    def __init__(self, program: str, profile: Path) -> None:
        theirs_in, self._out = os.pipe()
        self._in, theirs_out = os.pipe()
        log = os.open(profile.with_suffix(".log"), os.O_WRONLY | os.O_CREAT)
        spare = [fcntl.fcntl(fd, fcntl.F_DUPFD_CLOEXEC, 10) for fd in (theirs_in, theirs_out)]  # else 3 may cover 4
        self._child = os.posix_spawn(
            program,
            [program, *FLAGS, f"--user-data-dir={profile}", "about:blank"],
            dict(os.environ),
            file_actions=[
                *((os.POSIX_SPAWN_DUP2, fd, to) for fd, to in zip(spare, (3, 4), strict=True)),
                *((os.POSIX_SPAWN_DUP2, log, to) for to in (1, 2)),
            ],
            setpgroup=0,
        )
        for fd in (theirs_in, theirs_out, log, *spare):
            os.close(fd)
        self._asked = 0
        self._rest = b""
        self._answers: dict[int, Event] = {}
        self.pages: dict[str, Page] = {}

    def close(self) -> None:
        os.close(self._out)
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self._child, signal.SIGKILL)
        os.waitpid(self._child, 0)
        os.close(self._in)

    def page(self, width: int = 1280, height: int = 900, *, script: bool = True) -> Page:
        """A page with cookies and storage of its own."""
        context = self.call("Target.createBrowserContext")["browserContextId"]
        target = self.call("Target.createTarget", url="about:blank", browserContextId=context)["targetId"]
        session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        self.pages[session] = page = Page(self, session, context)
        for domain in ("Page", "Runtime", "Log", "Network", "Audits"):
            page.call(f"{domain}.enable")
        page.resize(width, height)
        page.call("Emulation.setScriptExecutionDisabled", value=not script)
        return page

    def call(self, method: str, session: str | None = None, /, **params: Any) -> Event:
        """One command and its answer; events that come before it are kept by their page."""
        self._asked += 1
        asked = {"id": self._asked, "method": method, "params": params, **({"sessionId": session} if session else {})}
        data = json.dumps(asked).encode() + b"\0"
        while data:
            data = data[os.write(self._out, data) :]
        end = time.monotonic() + PATIENCE
        while (number := self._asked) not in self._answers:
            if not self.listen(end - time.monotonic()):
                raise BrowserError(f"{method}: no answer")
        answer = self._answers.pop(number)
        if "error" in answer:
            raise BrowserError(f"{method}: {answer['error']['message']}")
        result: Event = answer["result"]
        return result

    def listen(self, seconds: float) -> bool:
        """Takes in what came; False if nothing did."""
        if not select.select([self._in], [], [], max(seconds, 0))[0]:
            return False
        data = os.read(self._in, 1 << 20)
        if not data:
            raise BrowserError("the browser has ended")
        *whole, self._rest = (self._rest + data).split(b"\0")
        for each in map(json.loads, whole):
            if "id" in each:
                self._answers[each["id"]] = each
            elif page := self.pages.get(each.get("sessionId", "")):
                page.events.append(each)
        return True


class Page:
    """One tab, and all that it said: `events`, in order."""

    def __init__(self, browser: Chromium, session: str, context: str) -> None:
        self._browser, self._session, self._context = browser, session, context
        self.events: list[Event] = []

    def call(self, method: str, **params: Any) -> Event:
        return self._browser.call(method, self._session, **params)

    def close(self) -> None:
        del self._browser.pages[self._session]
        self._browser.call("Target.disposeBrowserContext", browserContextId=self._context)

    def said(self, method: str) -> list[Event]:
        """The parameters of each event of one kind."""
        return [each["params"] for each in self.events if each["method"] == method]

    def open(self, file: Path, fragment: str = "") -> Page:
        """Opens it as a reviewer does, from the disk, and waits until it is loaded."""
        before = len(self.said("Page.loadEventFired"))
        if failed := self.call("Page.navigate", url=file.as_uri() + fragment).get("errorText"):
            raise BrowserError(f"{file}: {failed}")
        end = time.monotonic() + PATIENCE
        while len(self.said("Page.loadEventFired")) == before:
            if not self._browser.listen(end - time.monotonic()):
                raise BrowserError(f"{file}: did not load")
        return self

    def run(self, expression: str) -> Any:
        """The value of an expression; a promise is awaited. Works where the page's own script is off."""
        answer = self.call("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in answer:
            raise BrowserError(json.dumps(answer["exceptionDetails"])[:2000])
        return answer["result"].get("value")

    def until(self, expression: str) -> Any:
        """Waits for a true value."""
        end = time.monotonic() + PATIENCE
        while not (value := self.run(expression)):
            if time.monotonic() > end:
                raise BrowserError(f"never came true: {expression}")
            self._browser.listen(0.02)
        return value

    def save_to(self, folder: Path) -> None:
        """Where its downloads go."""
        said = {"behavior": "allow", "downloadPath": str(folder), "browserContextId": self._context}
        self._browser.call("Browser.setDownloadBehavior", **said)

    def text(self, selector: str) -> str:
        """What is shown there."""
        return str(self.run(f"document.querySelector({json.dumps(selector)}).innerText"))

    def click(self, selector: str) -> None:
        """With the mouse, in the middle of what is shown of an element: fails if something lies above it."""
        at = self.run(
            f"""(() => {{
                const one = document.querySelector({json.dumps(selector)});
                one.scrollIntoView({{block: "center", inline: "center"}});
                const box = one.getClientRects()[0];
                const [x, y] = [box.x + box.width / 2, box.y + box.height / 2];
                const top = document.elementFromPoint(x, y);
                return one.contains(top) || top?.contains(one) ? [x, y] : `under ${{top?.outerHTML.slice(0, 200)}}`;
            }})()"""
        )
        if isinstance(at, str):
            raise BrowserError(f"{selector}: {at}")
        for kind in ("mousePressed", "mouseReleased"):
            self.call("Input.dispatchMouseEvent", type=kind, x=at[0], y=at[1], button="left", clickCount=1)

    def press(self, key: str, *, shift: bool = False) -> None:
        """One key, down and up."""
        code, text = KEYS[key]
        held = {"key": key, "windowsVirtualKeyCode": code, "modifiers": 8 if shift else 0}
        self.call("Input.dispatchKeyEvent", type="keyDown", text=text, **held)
        self.call("Input.dispatchKeyEvent", type="keyUp", **held)

    def resize(self, width: int, height: int = 900) -> None:
        """In CSS pixels."""
        phone = width < 600
        size = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": phone}
        self.call("Emulation.setDeviceMetricsOverride", **size)

    @contextlib.contextmanager
    def media(self, medium: str = "", **features: str) -> Iterator[None]:
        """As on paper (`print`), or for one who prefers something (`prefers_color_scheme="dark"`)."""
        wanted = [{"name": name.replace("_", "-"), "value": value} for name, value in features.items()]
        self.call("Emulation.setEmulatedMedia", media=medium, features=wanted)
        yield
        self.call("Emulation.setEmulatedMedia", media="", features=[])

    def pdf(self) -> bytes:
        """The page on A4, as a reader's browser prints it; its own margins hold."""
        printed = self.call("Page.printToPDF", paperWidth=8.27, paperHeight=11.69, preferCSSPageSize=True)
        return base64.b64decode(printed["data"])

    def requests(self) -> list[str]:
        """Every address that was asked for."""
        return [each["request"]["url"] for each in self.said("Network.requestWillBeSent")]

    def complaints(self) -> list[str]:
        """Errors, warnings, breaches of the policy, and dialogs."""
        found = [f"console: {each['args']}" for each in self.said("Runtime.consoleAPICalled")]
        found += [f"thrown: {each['exceptionDetails']}" for each in self.said("Runtime.exceptionThrown")]
        found += [f"log: {each['entry']['text']}" for each in self.said("Log.entryAdded")]
        found += [f"issue: {json.dumps(each['issue'])}" for each in self.said("Audits.issueAdded")]
        return found + [f"dialog: {each['message']}" for each in self.said("Page.javascriptDialogOpening")]
