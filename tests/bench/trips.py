"""How far a value travels: files entered, functions called, and calls inside calls, for the main jobs.

    python tests/bench/trips.py

A trip enters a file when a function of it is called. Depth is how many functions of the package stand on
the stack at once. Code that runs while modules are imported is no part of a trip.
"""

import sys
import tempfile
import warnings
from collections.abc import Callable
from pathlib import Path

import salstats as ss
from salstats.datasets import data_folder

PACKAGE = str(Path(ss.__file__).parent)


def trip(job: Callable[[], object]) -> dict[str, int]:
    """Return what one run of a job enters: files, functions, moves from file to file, and the depth."""
    files, functions = set(), set()
    stack: list[str | None] = []
    deepest = moves = 0

    def look(frame, event, _):
        nonlocal deepest, moves
        if event == "call":
            code = frame.f_code
            # comprehensions and generator expressions belong to the function they stand in
            ours = code.co_filename.startswith(PACKAGE) and not code.co_name.startswith("<")
            stack.append(code.co_filename if ours else None)
            if ours:
                files.add(code.co_filename)
                functions.add(code)
                inside = [name for name in stack if name]
                deepest = max(deepest, len(inside))
                moves += len(inside) > 1 and inside[-1] != inside[-2]
        elif event == "return" and stack:
            stack.pop()

    job()  # imports and caches
    sys.setprofile(look)
    try:
        job()
    finally:
        sys.setprofile(None)
    return {"files": len(files), "functions": len(functions), "moves": moves, "depth": deepest}


def jobs(folder: Path) -> dict[str, Callable[[], object]]:
    """Return the main jobs, on the embedded data."""
    table = data_folder() / "simulated_scores.csv"
    scores = ss.read_scores(table)
    study = ss.read_map_folder(ss.datasets.digits_examples())
    return {
        "CSV -> summarize": lambda: ss.summarize(ss.read_scores(table)),
        "summarize": lambda: ss.summarize(scores),
        "percent_decrease": lambda: ss.percent_decrease(scores, reference="human", by=("metric", "task")),
        "regress": lambda: ss.regress(scores, "iou ~ elongation", by="method"),
        "correlate": lambda: ss.correlate(scores, "iou", "prob"),
        "score": lambda: ss.score(study, metrics=["iou", "hit"], progress=False),
        "Word table": lambda: ss.save_table(
            ss.table_estimates(ss.summarize(scores)), folder / "table.docx", overwrite=True
        ),
    }


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    with tempfile.TemporaryDirectory() as name:
        for what, job in jobs(Path(name)).items():
            print(f"{what:18}", *(f"{key} {value:5}" for key, value in trip(job).items()))
