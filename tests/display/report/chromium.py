"""Headless Chromium over its DevTools pipe: needs the browser, and nothing else installed or downloaded."""

import base64
import itertools
import json
import os
import select
import signal
import subprocess
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from salstats.display.export.table_png import find_browser
from salstats.errors import SalstatsError

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
    # only this machine is found, so that nothing can be loaded from a network
    "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1",
    "--remote-debugging-pipe",
)
#: Seconds a slow machine may take to start the browser, or to answer one command.
PATIENCE = 60.0
#: Runs what follows with commands on 3 and answers on 4, where Chromium has them.
_SHELL = 'commands=$1 answers=$2; shift 2; eval "exec 3<&$commands 4>&$answers"; exec "$@"'


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


class Chromium:
    """One browser process with an empty profile in `folder`; a context manager."""

    def __init__(self, executable: str, folder: Path) -> None:
        (commands, self._write), (self._read, answers) = os.pipe(), os.pipe()
        self._log = folder / "chromium.log"
        homes = dict.fromkeys(("HOME", "XDG_CONFIG_HOME", "XDG_CACHE_HOME"), str(folder))
        profile = f"--user-data-dir={folder / 'profile'}"
        with self._log.open("wb") as log:
            self._process = subprocess.Popen(
                ["bash", "-c", _SHELL, "bash", str(commands), str(answers), executable, *FLAGS, profile],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                pass_fds=(commands, answers),
                env={**os.environ, **homes},
                start_new_session=True,
            )
        os.close(commands)
        os.close(answers)
        self._buffer = b""
        self._numbers = itertools.count(1)
        #: What the browser reported, in order.
        self.events: list[dict[str, Any]] = []

    def __enter__(self) -> "Chromium":
        return self

    def __exit__(self, *_: object) -> None:
        # it may have ended already, which is reported where it was missed
        with suppress(BrowserError, OSError):
            self.send("Browser.close")
        try:
            self._process.wait(10)
        except subprocess.TimeoutExpired:
            os.killpg(self._process.pid, signal.SIGKILL)
            self._process.wait()
        os.close(self._write)
        os.close(self._read)

    def send(self, command: str, session: str | None = None, **options: Any) -> dict[str, Any]:
        """Give a command and wait for its result; events on the way are kept."""
        number = next(self._numbers)
        message = {"id": number, "method": command, "params": options}
        if session is not None:
            message["sessionId"] = session
        with suppress(BrokenPipeError):  # a browser that has ended says so on the other pipe
            os.write(self._write, json.dumps(message).encode() + b"\0")
        while (answer := self._receive()).get("id") != number:
            self.events.append(answer)
        if "error" in answer:
            raise BrowserError(f"{command}: {answer['error']['message']}")
        return answer["result"]

    def wait_for(self, event: str, session: str, since: int) -> None:
        """Wait until the browser has reported an event after the first `since` ones."""
        while not any(e["method"] == event and e.get("sessionId") == session for e in self.events[since:]):
            self.events.append(self._receive())

    def _receive(self) -> dict[str, Any]:
        """The next message."""
        while b"\0" not in self._buffer:
            ready, _, _ = select.select([self._read], [], [], PATIENCE)
            received = os.read(self._read, 1 << 20) if ready else b""
            if not received:
                why = "ended" if ready else f"kept silent for {PATIENCE:.0f} s"
                raise BrowserError(f"Chromium {why}:\n{self._log.read_text(errors='replace')[-2000:]}")
            self._buffer += received
        message, _, self._buffer = self._buffer.partition(b"\0")
        return json.loads(message)


class Page:
    """One page opened in a browser, at a size in CSS pixels, in a context of its own without storage."""

    def __init__(self, browser: Chromium, address: str, *, width: int = 1280, height: int = 900) -> None:
        self.browser = browser
        self._since = len(browser.events)
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

    def send(self, command: str, **options: Any) -> dict[str, Any]:
        """Give this page a command."""
        return self.browser.send(command, self.session, **options)

    def allow(self, *permissions: str) -> None:
        """Grant this page what a browser would ask a user for."""
        self.browser.send("Browser.grantPermissions", permissions=permissions, browserContextId=self._context)

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
        phone = width < 500
        size = {"width": width, "height": height, "deviceScaleFactor": 2 if phone else 1, "mobile": phone}
        self.send("Emulation.setDeviceMetricsOverride", **size)

    def emulate(self, media: str = "", **features: str) -> None:
        """Prefer colours, motion and so on: `emulate(prefers_color_scheme="dark")`."""
        values = [{"name": name.replace("_", "-"), "value": value} for name, value in features.items()]
        self.send("Emulation.setEmulatedMedia", media=media, features=values)

    def run(self, script: str, *arguments: Any) -> Any:
        """What a JavaScript function gives, awaited if it is a promise."""
        call = f"({script})(...{json.dumps(arguments)})"
        options = {"returnByValue": True, "awaitPromise": True, "userGesture": True}
        result = self.send("Runtime.evaluate", expression=call, **options)
        if "exceptionDetails" in result:
            details = result["exceptionDetails"]
            raise BrowserError(details.get("exception", {}).get("description", details["text"]))
        return result["result"].get("value")

    def press(self, key: str) -> None:
        """Press and release a key, as a user does."""
        code = {"Tab": 9, "Enter": 13, "Escape": 27}[key]
        text = {"text": "\r"} if key == "Enter" else {}
        for kind, extra in (("keyDown", text), ("keyUp", {})):
            pressed = {"key": key, "code": key, "windowsVirtualKeyCode": code, **extra}
            self.send("Input.dispatchKeyEvent", type=kind, **pressed)

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
        """What the browser reported of this page, by kind of event."""
        mine = (e for e in self.browser.events[self._since :] if e.get("sessionId") == self.session)
        return [e["params"] for e in mine if e["method"] in events]

    def pdf(self, **options: Any) -> bytes:
        """The page as printed, at the size and margins its styles ask for."""
        printed = self.send("Page.printToPDF", preferCSSPageSize=True, **options)
        return base64.b64decode(printed["data"])
