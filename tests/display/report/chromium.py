"""Headless Chromium over its DevTools pipe: needs the browser, and nothing else installed or downloaded."""

import base64
import fcntl
import itertools
import json
import os
import select
import signal
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from salstats.checks import SalstatsError
from salstats.display.export.table_png import find_browser

FLAGS = (
    "--headless",
    # Chromium's sandbox refuses to run as root, and a container may lack what it needs
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--disable-dev-shm-usage",
    # no name is ever resolved, so that nothing can be loaded from a network
    "--host-resolver-rules=MAP * ~NOTFOUND",
    "--remote-debugging-pipe",
)
#: Seconds a slow machine may take to start the browser, or to answer one command.
PATIENCE = 60.0


def find_chromium() -> str:
    """The browser's path; without one the test fails under CI and is skipped elsewhere."""
    try:
        return find_browser()
    except SalstatsError as error:
        if os.environ.get("CI"):
            pytest.fail(str(error))
        pytest.skip(str(error))


class BrowserError(Exception):
    """The browser ended, kept silent, or refused a command."""


def _pipe() -> list[int]:
    """A pipe whose ends lie above 3 and 4, on which Chromium reads commands and answers."""
    ends = os.pipe()
    above = [fcntl.fcntl(end, fcntl.F_DUPFD_CLOEXEC, 10) for end in ends]
    for end in ends:
        os.close(end)
    return above


class Chromium:
    """One browser process with an empty profile in `folder`; a context manager."""

    def __init__(self, executable: str, folder: Path) -> None:
        commands, answers = _pipe(), _pipe()
        self._write, self._read = commands[1], answers[0]
        self._log = folder / "chromium.log"
        homes = dict.fromkeys(("HOME", "XDG_CONFIG_HOME", "XDG_CACHE_HOME"), str(folder))
        self._process = os.posix_spawn(
            executable,
            [executable, *FLAGS, f"--user-data-dir={folder / 'profile'}", "about:blank"],
            {**os.environ, **homes},
            file_actions=[
                (os.POSIX_SPAWN_OPEN, 0, os.devnull, os.O_RDONLY, 0),
                (os.POSIX_SPAWN_OPEN, 1, str(self._log), os.O_WRONLY | os.O_CREAT, 0o600),
                (os.POSIX_SPAWN_DUP2, 1, 2),
                (os.POSIX_SPAWN_DUP2, commands[0], 3),
                (os.POSIX_SPAWN_DUP2, answers[1], 4),
            ],
            setpgroup=0,
        )
        os.close(commands[0])
        os.close(answers[1])
        self._buffer = b""
        self._numbers = itertools.count(1)
        #: What the browser reported, in order.
        self.events: list[dict[str, Any]] = []

    def __enter__(self) -> "Chromium":
        return self

    def __exit__(self, *_: object) -> None:
        self._end()

    def send(self, command: str, session: str | None = None, **options: Any) -> dict[str, Any]:
        """Give a command and wait for its result; events on the way are kept."""
        number = next(self._numbers)
        message = {"id": number, "method": command, "params": options}
        if session is not None:
            message["sessionId"] = session
        with suppress(BrokenPipeError):  # a browser that has ended says so on the other pipe
            os.write(self._write, json.dumps(message).encode() + b"\0")
        while True:
            answer = self._receive()
            if answer.get("id") != number:
                self.events.append(answer)
            elif "error" in answer:
                raise BrowserError(f"{command}: {answer['error']['message']}")
            else:
                return answer["result"]

    def wait_for(self, event: str, session: str, since: int) -> None:
        """Wait until the browser has reported an event after the first `since` ones."""
        while not any(e["method"] == event and e.get("sessionId") == session for e in self.events[since:]):
            self.events.append(self._receive())

    def _receive(self) -> dict[str, Any]:
        """Return the next message."""
        until = time.monotonic() + PATIENCE
        while b"\0" not in self._buffer:
            ready, _, _ = select.select([self._read], [], [], max(0.0, until - time.monotonic()))
            received = os.read(self._read, 1 << 20) if ready else b""
            if not received:
                why = "ended" if ready else f"kept silent for {PATIENCE:.0f} s"
                raise BrowserError(f"Chromium {why}:\n{self._log.read_text(errors='replace')[-2000:]}")
            self._buffer += received
        message, _, self._buffer = self._buffer.partition(b"\0")
        return json.loads(message)

    def _end(self) -> None:
        """Close the browser; if it does not go by itself within seconds it is killed, its own group only."""
        # it may have ended already, which is reported where it was missed
        with suppress(BrowserError, OSError):
            self.send("Browser.close")
        os.close(self._write)
        until = time.monotonic() + 10
        while os.waitpid(self._process, os.WNOHANG) == (0, 0):
            if time.monotonic() > until:
                os.killpg(self._process, signal.SIGKILL)
                os.waitpid(self._process, 0)
                break
            time.sleep(0.02)
        os.close(self._read)


class Page:
    """One page opened in a browser, at a size in CSS pixels."""

    def __init__(self, browser: Chromium, address: str, *, width: int = 1280, height: int = 900) -> None:
        self.browser = browser
        self._since = len(browser.events)
        # a context of its own: no storage is left over from other pages
        self._context = browser.send("Target.createBrowserContext")["browserContextId"]
        target = browser.send("Target.createTarget", url="about:blank", browserContextId=self._context)
        attached = browser.send("Target.attachToTarget", targetId=target["targetId"], flatten=True)
        self.session = attached["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.send(f"{domain}.enable")
        self.resize(width, height)
        self._load("Page.navigate", url=address)

    def __enter__(self) -> "Page":
        return self

    def __exit__(self, *_: object) -> None:
        self.browser.send("Target.disposeBrowserContext", browserContextId=self._context)

    def allow(self, *permissions: str) -> None:
        """Grant this page what a browser would ask a user for."""
        self.browser.send("Browser.grantPermissions", permissions=permissions, browserContextId=self._context)

    def send(self, command: str, **options: Any) -> dict[str, Any]:
        """Give this page a command."""
        return self.browser.send(command, self.session, **options)

    def _load(self, command: str, **options: Any) -> None:
        """Give a command that loads the page, and wait until it is there."""
        since = len(self.browser.events)
        self.send(command, **options)
        self.browser.wait_for("Page.loadEventFired", self.session, since)

    def reload(self) -> None:
        """Load the page again."""
        self._load("Page.reload")

    def settle(self) -> None:
        """Wait until what watches the layout has been told of it."""
        self.run("() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")

    def resize(self, width: int, height: int) -> None:
        """Show the page at another size; narrow ones as on a phone."""
        self.send(
            "Emulation.setDeviceMetricsOverride",
            width=width,
            height=height,
            deviceScaleFactor=2 if width < 500 else 1,
            mobile=width < 500,
        )

    def emulate(self, **features: str) -> None:
        """Prefer colours, motion and so on: `emulate(prefers_color_scheme="dark")`."""
        values = [{"name": name.replace("_", "-"), "value": value} for name, value in features.items()]
        self.send("Emulation.setEmulatedMedia", features=values)

    def run(self, script: str, *arguments: Any) -> Any:
        """Return what a JavaScript function gives, awaited if it is a promise."""
        call = f"({script})(...{json.dumps(arguments)})"
        result = self.send(
            "Runtime.evaluate", expression=call, returnByValue=True, awaitPromise=True, userGesture=True
        )
        if "exceptionDetails" in result:
            details = result["exceptionDetails"]
            raise BrowserError(details.get("exception", {}).get("description", details["text"]))
        return result["result"].get("value")

    def press(self, key: str, *, shift: bool = False) -> None:
        """Press and release a key, as a user does."""
        code = {"Tab": 9, "Enter": 13, "Escape": 27}[key]
        text = {"text": "\r"} if key == "Enter" else {}
        for kind in ("keyDown", "keyUp"):
            self.send(
                "Input.dispatchKeyEvent",
                type=kind,
                key=key,
                code=key,
                windowsVirtualKeyCode=code,
                modifiers=8 if shift else 0,
                **(text if kind == "keyDown" else {}),
            )

    def click(self, selector: str) -> None:
        """Scroll to the first element that a selector finds, and click in its middle with the mouse."""
        box = self.run(
            """(selector) => {
              const element = document.querySelector(selector);
              if (!element) throw Error(`nothing is ${selector}`);
              element.scrollIntoView({block: "center", behavior: "instant"});
              const box = element.getBoundingClientRect();
              return {x: box.x + box.width / 2, y: box.y + box.height / 2};
            }""",
            selector,
        )
        for kind in ("mousePressed", "mouseReleased"):
            self.send("Input.dispatchMouseEvent", type=kind, button="left", clickCount=1, **box)

    def reported(self, *events: str) -> list[dict[str, Any]]:
        """Return what the browser reported of this page, by kind of event."""
        mine = (e for e in self.browser.events[self._since :] if e.get("sessionId") == self.session)
        return [e["params"] for e in mine if e["method"] in events]

    def screenshot(self, path: Path, *, whole: bool = False) -> None:
        """Write what the page looks like, or all of it, as PNG."""
        shot = self.send("Page.captureScreenshot", format="png", captureBeyondViewport=whole)
        path.write_bytes(base64.b64decode(shot["data"]))

    def pdf(self, **options: Any) -> bytes:
        """Return the page as printed, at the size and margins its styles ask for."""
        printed = self.send("Page.printToPDF", preferCSSPageSize=True, **options)
        return base64.b64decode(printed["data"])
