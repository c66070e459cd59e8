"""The Chromium that is on this machine: found, and asked to show a page without a window."""

import os
import shutil
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path

from salstats.checks import SalstatsError

#: Says which browser to use where none is on the PATH.
VARIABLE = "SALSTATS_CHROME"
_NAMES = (
    "chromium",
    "chromium-browser",
    "google-chrome",
    "google-chrome-stable",
    "chrome",
    "msedge",
    "microsoft-edge",
)
#: Where Windows and macOS put browsers, which they do not put on the PATH.
_PLACES = (
    "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome",
    "/Applications/Chromium.app/Contents/MacOS/Chromium",
    "/Applications/Microsoft Edge.app/Contents/MacOS/Microsoft Edge",
    r"C:\Program Files\Google\Chrome\Application\chrome.exe",
    r"C:\Program Files (x86)\Microsoft\Edge\Application\msedge.exe",
)
#: No window, no first-run questions, nothing asked of the network by the browser itself.
_OPTIONS = (
    "--headless",
    "--disable-gpu",
    "--disable-quic",
    "--disable-dev-shm-usage",
    "--disable-extensions",
    "--no-first-run",
    "--no-default-browser-check",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    # a table may hold markup of its maker's; nothing in it is fetched
    "--host-resolver-rules=MAP * ~NOTFOUND",
    "--hide-scrollbars",
)

_INSTEAD = "write .html or .docx instead"


def find_browser() -> str:
    """The path of Chromium, Chrome or Edge.

    Raises
    ------
    SalstatsError
        There is none, or SALSTATS_CHROME names no program.
    """
    named = os.environ.get(VARIABLE)
    if named:
        found = shutil.which(named)
        if found is None:
            raise SalstatsError(f"{VARIABLE}={named} is no program that can be run; {_INSTEAD}")
        return found
    for candidate in (*_NAMES, *_PLACES):
        found = shutil.which(candidate)
        if found is not None:
            return found
    raise SalstatsError(
        "a picture of a table needs Chromium, Chrome or Edge and none was found; install one "
        f"(Debian: apt-get install chromium), set {VARIABLE} to its path, or {_INSTEAD}"
    )


def run_browser(page: Path, options: Sequence[str], *, timeout: float = 60.0) -> str:
    """Show a page without a window and return what the browser prints.

    Raises
    ------
    SalstatsError
        No browser; it takes longer than `timeout` seconds, or fails.
    """
    browser = find_browser()
    with tempfile.TemporaryDirectory(prefix="salstats-", ignore_cleanup_errors=True) as folder:
        profile, printed, complaints = (Path(folder, name) for name in ("profile", "stdout", "stderr"))
        # Chromium refuses its sandbox to root
        root = getattr(os, "geteuid", lambda: 1)() == 0
        options = [*_OPTIONS, *(["--no-sandbox"] if root else []), *options]
        command = [browser, *options, f"--user-data-dir={profile}", page.resolve().as_uri()]
        # files, not pipes: a child that outlives the browser would keep a pipe open
        with printed.open("wb") as out, complaints.open("wb") as err:
            try:
                code = subprocess.run(
                    command, stdin=subprocess.DEVNULL, stdout=out, stderr=err, timeout=timeout, check=False
                ).returncode
            except subprocess.TimeoutExpired as error:
                raise SalstatsError(f"{browser} took longer than {timeout:g} s; {_INSTEAD}") from error
            except OSError as error:
                raise SalstatsError(f"{browser} cannot be run: {error.strerror or error}") from error
        if code:
            said = complaints.read_text("utf-8", errors="replace").strip().splitlines()
            raise SalstatsError(f"{browser} failed: {said[-1] if said else f'exit {code}'}; {_INSTEAD}")
        return printed.read_text("utf-8", errors="replace")
