"""Run mutated inputs through the readers, and say which of them broke a promise.

The promise: a result, or an error of the package's own classes whose message names a file of the input;
within a time and an amount of memory; nothing is run, written or read outside the input's folder.

    python tests/fuzz/campaign.py [--target scores] [--start 0] [--count 1000] [--out found.jsonl]
"""

import argparse
import json
import os
import re
import shutil
import signal
import sys
import tempfile
import time
import traceback
import warnings
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from fuzz.targets import TARGETS, Files, inputs

from salstats.errors import SalstatsError, SalstatsWarning
from salstats.memory_limit import LIMIT_VARIABLE

#: What an input gives.
READ, REFUSED, BROKEN = "read", "refused", "broken"
#: Seconds of the processor, and of the clock, that an input may take; megabytes by which memory may grow.
SECONDS, CLOCK_SECONDS, MEGABYTES = 5.0, 60.0, 600
#: What a file may ask for in a run, in gigabytes.
_LIMIT_GB = "0.25"
#: Events that no reader has a reason for.
_FORBIDDEN = (
    "os.system",
    "os.exec",
    "os.posix_spawn",
    "os.fork",
    "subprocess.Popen",
    "socket.connect",
    "pickle.find_class",
)
#: Where the interpreter and what is installed may open files to read.
_LIBRARIES = tuple(
    str(Path(place).resolve())
    for place in (sys.prefix, sys.base_prefix, Path(__file__).parents[2], "/usr", "/etc", "/proc", "/dev")
)


@dataclass(frozen=True)
class Failure:
    """An input that broke the promise."""

    target: str
    number: int
    #: what was raised or done, without what differs from input to input
    what: str
    detail: str


class _TooSlow(BaseException):
    """The time of an input is over."""


class _Watch:
    """What is done to files and processes while an input is read."""

    def __init__(self) -> None:
        self.folder: Path | None = None
        self.events: list[str] = []
        sys.addaudithook(self._hook)

    def _hook(self, event: str, arguments: tuple) -> None:
        """Keep an event that no reader has a reason for."""
        if self.folder is None:
            return
        if event in _FORBIDDEN:
            self.events.append(f"{event} {arguments}"[:200])
        elif event == "open" and isinstance(arguments[0], str | bytes):
            path = os.fsdecode(arguments[0])
            inside = os.path.realpath(path).startswith(f"{self.folder}{os.sep}")
            writes = bool((arguments[2] or 0) & (os.O_WRONLY | os.O_RDWR | os.O_CREAT))
            if not inside and (writes or not os.path.realpath(path).startswith(_LIBRARIES)):
                self.events.append(f"open {path} {arguments[1]}"[:200])


_WATCH: list[_Watch] = []


def run(target: str, start: int, count: int, place: Path, outcomes: Counter[str]) -> Iterator[Failure]:
    """Read inputs of a target; give those that broke the promise, and count in `outcomes` what all gave."""
    if not _WATCH:
        _WATCH.append(_Watch())
    secret = place / "secret.npy"
    secret.write_bytes(b"not to be read")
    for number, files in inputs(target, start, count):
        folder = place / f"in{number:07d}"
        write(folder, files)
        outcome, what, detail = _reading(target, folder, files)
        shutil.rmtree(folder)
        outcomes[outcome] += 1
        if outcome == BROKEN:
            yield Failure(target, number, what, detail)


def write(folder: Path, files: Files) -> None:
    """Write the files of an input."""
    for path, content in files.items():
        file = folder / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(content)


def _reading(target: str, folder: Path, files: Files) -> tuple[str, str, str]:
    """The outcome of an input, and where it broke the promise: by what, and where."""
    outcome = READ
    watch = _WATCH[0]
    watch.events = []
    before = _reset_peak_memory()
    began = time.process_time()
    try:
        with warnings.catch_warnings(), _time_limit():
            warnings.simplefilter("error")
            warnings.simplefilter("ignore", SalstatsWarning)
            watch.folder = folder.resolve()
            TARGETS[target].read(folder, files)
    except SalstatsError as error:
        outcome = REFUSED
        if folder.name not in str(error) and not any(Path(path).name in str(error) for path in files):
            return BROKEN, f"message names no file: {type(error).__name__}", str(error)[:300]
    except _TooSlow:
        return BROKEN, "too slow", traceback.format_exc(limit=-8)
    except Exception as error:
        frames = traceback.extract_tb(error.__traceback__)
        inner = [f for f in frames if "salstats" in f.filename and "fuzz" not in f.filename]
        where = f"{Path(inner[-1].filename).name}:{inner[-1].lineno}" if inner else "?"
        return BROKEN, f"{type(error).__name__} at {where}", traceback.format_exc(limit=-6)[-1500:]
    finally:
        watch.folder = None
    if watch.events:
        return BROKEN, f"event {watch.events[0].split()[0]}", "; ".join(watch.events)
    grown = _peak_memory() - before
    if grown > MEGABYTES:
        return BROKEN, "too much memory", f"{grown:.0f} MB"
    if time.process_time() - began > SECONDS:
        return BROKEN, "too slow", f"{time.process_time() - began:.1f} s"
    return outcome, "", ""


def _reset_peak_memory() -> float:
    """Bring the peak of this process's memory down to what it takes now, and return that in megabytes."""
    # documented in Linux's Documentation/filesystems/proc.rst
    Path("/proc/self/clear_refs").write_text("5")
    return _peak_memory()


def _peak_memory() -> float:
    """Return the most memory that this process has taken since its peak was reset, in megabytes."""
    status = Path("/proc/self/status").read_text()
    kilobytes = re.search(r"VmHWM:\s*(\d+) kB", status)
    assert kilobytes is not None
    return int(kilobytes[1]) / 1024


@contextmanager
def _time_limit() -> Iterator[None]:
    """Stop what takes too long."""

    def stop(*_: object) -> None:
        raise _TooSlow

    before = {number: signal.signal(number, stop) for number in (signal.SIGPROF, signal.SIGALRM)}
    signal.setitimer(signal.ITIMER_PROF, 2 * SECONDS)
    signal.setitimer(signal.ITIMER_REAL, CLOCK_SECONDS)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.setitimer(signal.ITIMER_REAL, 0)
        for number, handler in before.items():
            signal.signal(number, handler)


def main() -> int:
    """Run some or all targets; print what was found, each kind once."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--target", choices=TARGETS, action="append")
    parser.add_argument("--start", type=int, default=0)
    parser.add_argument("--count", type=int, help="inputs of each target; by default those of a whole run")
    parser.add_argument("--out", type=Path, help="a file to which each failure is added as a line of JSON")
    options = parser.parse_args()
    os.environ[LIMIT_VARIABLE] = _LIMIT_GB
    kinds: Counter[tuple[str, str]] = Counter()
    for target in options.target or TARGETS:
        count = TARGETS[target].n if options.count is None else options.count
        began = time.perf_counter()
        outcomes: Counter[str] = Counter()
        with tempfile.TemporaryDirectory() as place:
            for failure in run(target, options.start, count, Path(place), outcomes):
                if not kinds[target, failure.what]:
                    print(f"{target} {failure.number}: {failure.what}\n{failure.detail}", flush=True)
                kinds[target, failure.what] += 1
                if options.out is not None:
                    with options.out.open("a") as stream:
                        stream.write(json.dumps(asdict(failure)) + "\n")
        shares = ", ".join(f"{outcomes[outcome]} {outcome}" for outcome in (READ, REFUSED, BROKEN))
        print(f"{target}: {count} inputs, {time.perf_counter() - began:.0f} s: {shares}", flush=True)
    for (target, what), n in kinds.items():
        print(f"{target}: {n} x {what}")
    return 1 if kinds else 0


if __name__ == "__main__":
    raise SystemExit(main())
