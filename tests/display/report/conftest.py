"""A small report, its folder as a reader gets it, and a browser."""

from collections.abc import Callable, Iterator
from io import BytesIO
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from display.report.chromium import Chromium, find_chromium
from PIL import Image

import salstats as ss
from salstats.display.report.document import Display, MissingItem, Report, ReportItem, Section
from salstats.display.report.page import render_page
from salstats.display.tables.record import Table, TableColumn
from salstats.display.tables.rows import TableRows, table_to_rows
from salstats.display.text.format import interval_text, p_text

#: A name of 120 characters and more.
LONG_TASK = "Enlarged cardiomediastinum " + "with a name that a spreadsheet never had to keep short " * 2


@pytest.fixture(scope="session")
def simulated(tmp_path_factory) -> tuple[Path, dict[str, pd.DataFrame]]:
    """The folder of a report on the simulated study, which has patients, and the frames it returned."""
    folder = tmp_path_factory.mktemp("simulated") / "report"
    return folder, ss.report(
        ss.datasets.load_simulated(), folder, title="A simulated study", n_replicates=9_999, jobs=1
    )


@pytest.fixture(scope="session")
def small() -> pd.DataFrame:
    """Two tasks, 70 cases, iou only, no covariates."""
    scores = ss.datasets.load_simulated()
    kept = scores["case"].isin(scores["case"].unique()[:70]) & scores["task"].isin(["Edema", "Atelectasis"])
    frame = scores[kept & (scores["metric"] == "iou")]
    return frame[["case", "patient", "task", "method", "metric", "score"]].reset_index(drop=True)


@pytest.fixture(scope="session")
def some() -> pd.DataFrame:
    """All columns of 60 cases, iou only."""
    scores = ss.datasets.load_simulated()
    return scores[scores["case"].isin(scores["case"].unique()[:60]) & (scores["metric"] == "iou")]


@pytest.fixture(scope="session")
def rows_from() -> Callable[..., TableRows]:
    """A function that makes a table whose first column names its rows and whose others hold text."""

    def make(frame: pd.DataFrame, stub: str, *notes: str, over: tuple[str, ...] = (), **options) -> TableRows:
        columns = [TableColumn(str(name), over, "right") for name in frame.columns]
        cells = [[str(value) for value in values] for _, *values in frame.itertuples()]
        labels = [(str(label),) for label in frame.index]
        return table_to_rows(Table((stub,), labels, columns, cells, notes=notes, **options))

    return make


@pytest.fixture(scope="session")
def sample_means() -> pd.DataFrame:
    """Estimates with intervals of three methods in five tasks, made up."""
    tasks = ["Atelectasis", "Cardiomegaly", "Consolidation", "Edema", "Pleural Effusion"]
    rows = [
        (method, task, mean + 0.01 * i, mean + 0.01 * i - 0.024, mean + 0.01 * i + 0.022)
        for method, mean in (("gradcam", 0.266), ("human", 0.455), ("occlusion", 0.204))
        for i, task in enumerate(tasks)
    ]
    return pd.DataFrame(rows, columns=["method", "task", "estimate", "conf_low", "conf_high"])


@pytest.fixture(scope="session")
def sample_tables(sample_means, rows_from) -> dict[str, TableRows]:
    """A narrow table, one too wide for a phone, and one with a spanner and a group of rows."""
    columns = sample_means[["estimate", "conf_low", "conf_high"]]
    text = [interval_text(*row) for row in columns.itertuples(index=False, name=None)]
    narrow = sample_means.assign(text=text).pivot(index="task", columns="method", values="text")
    wide = pd.concat([narrow.add_suffix(f" {i}") for i in range(2)], axis=1)
    wide.index = [LONG_TASK, *wide.index[1:]]
    p_values = [p_text(0.00001), p_text(0.04), "—"]
    slopes = pd.DataFrame({"b": ["−0.425"] * 3, "P": p_values}, index=["Elongation", "Size", "Age"])
    return {
        "means": rows_from(narrow, "Task", "Mean IoU (95% CI), 200 bootstrap replicates of patients."),
        "wide": rows_from(wide, "Task", over=("Mean IoU (95% CI)",), groups=["Chest"] * 5),
        "spanner": rows_from(slopes, "Covariate", over=("Grad-CAM",), groups=["Edema"] * 3),
    }


@pytest.fixture(scope="session")
def sample_figures() -> dict[str, bytes]:
    """A figure of a page's width and one of a column's, both blank."""
    found = {}
    for key, mm in (("intervals", 183), ("small", 89)):
        found[key] = BytesIO()
        Image.new("L", (round(mm / 25.4 * 300), round(80 / 25.4 * 300)), 255).save(
            found[key], "PNG", dpi=(300, 300)
        )
    return {key: file.getvalue() for key, file in found.items()}


@pytest.fixture(scope="session")
def sample_files() -> dict[str, tuple[str, ...]]:
    return {
        "means": ("tables/means.csv", "tables/means.html", "tables/means.tex", "frames/means.csv"),
        "intervals": ("figures/intervals.pdf", "figures/intervals.png", "frames/intervals.csv"),
        "small": ("figures/small.pdf", "figures/small.png"),
        "wide": ("tables/wide.csv", "tables/a name & more.docx"),
    }


@pytest.fixture(scope="session")
def sample_report(sample_means, sample_tables, sample_figures, sample_files) -> Report:
    """A report with every part of the page."""
    call = 'ss.summarize(scores, by=["metric", "method", "task"], unit="patient", n_replicates=10_000)'

    def item(key: str, number: str, title: str, **texts: Any) -> ReportItem:
        content = sample_tables.get(key) or (sample_figures[key],)
        files = sample_files.get(key, ())
        return ReportItem(key, number, title, None, sample_means, content=content, files=files, **texts)

    first = item("small", "Figure 1", "The best method first", alt="The same intervals.")
    means = item("means", "Table 1", "Mean IoU by task and method", call=call)
    intervals = item(
        "intervals",
        "Figure 2",
        "Mean IoU by task and method",
        caption="Points are means over cases, bars their 95% bootstrap intervals; units are patients.",
        alt="Intervals of three methods by task; the human benchmark lies to the right.",
        call=call,
    )
    wide = item("wide", "Table 2", "Every method twice", call=call, display=Display.FOLDED)
    spanner = item("spanner", "Table 3", "Regression on elongation")
    return Report(
        title="Saliency maps and the human benchmark: scores.csv",
        sections=(
            Section(
                "summary",
                "Summary",
                (
                    "Grad-CAM had the best mean IoU of 2 methods, 0.321 [95% CI 0.298, 0.345].",
                    "That was 56.7% [95% CI 51.9, 61.4] of the mean of the human benchmark.",
                    "Scores were lower where elongation was larger.",
                ),
                (first,),
            ),
            Section(
                "means",
                "Localisation by method and task",
                (
                    "Across 10 tasks Grad-CAM lay below the human benchmark in 9 (Holm-adjusted P < 0.05).",
                    "Grad-CAM++ lay below it in all 10.",
                    "Intervals are percentile bootstrap intervals over patients.",
                ),
                (means, intervals),
            ),
            Section(
                "regression",
                "What makes it worse",
                ("IoU fell with elongation (slope −0.425, P < 0.001).",),
                (spanner, wide),
            ),
            Section("agreement", "Agreement between metrics", ("IoU and hit agreed (ρ = 0.71).",)),
        ),
        methods=(
            "Means have 95% percentile bootstrap intervals (10,000 replicates of patients, seed 0). "
            "P values were adjusted by Holm's procedure within each metric.",
            "The human benchmark is that of Saporta et al. (https://doi.org/10.1038/s42256-022-00536-x).",
        ),
        missing_items=(
            MissingItem("CLAIM", "7. Data sources", "Where the images come from, and when they were taken."),
            MissingItem("CLAIM", "22. Model", "Architecture, inputs and outputs of the classifier."),
            MissingItem(
                "STARD-AI", "10b. Reference standard", "Who drew the masks, and how they were trained."
            ),
        ),
        warnings=("Task Lung Lesion has 14 cases: its intervals are wide.", "3 scores are missing in iou."),
        counts=(("Cases", "668"), ("Patients", "500"), ("Scores", "13,360"), ("Missing scores", "3")),
        provenance=(
            ("Input", "scores.csv"),
            ("SHA-256 of scores.csv", "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08"),
            ("Unit", "patient"),
            ("Replicates", "10,000"),
            ("Seed", "0"),
            ("numpy version", "2.4.1"),
        ),
    )


@pytest.fixture(scope="session")
def sample_page(sample_report) -> str:
    return render_page(sample_report)


@pytest.fixture(scope="session")
def sample_folder(sample_page, sample_files, tmp_path_factory) -> Path:
    """The report's folder, with a file behind every link."""
    folder = tmp_path_factory.mktemp("report")
    (folder / "index.html").write_text(sample_page, encoding="utf-8")
    for name in (name for names in sample_files.values() for name in names):
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text(name)
    return folder


@pytest.fixture(scope="session")
def browser(tmp_path_factory) -> Iterator[Chromium]:
    with Chromium(find_chromium(), tmp_path_factory.mktemp("chromium")) as running:
        yield running
