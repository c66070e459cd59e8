"""What holds of every table of five studies: nothing is cut, overlaps or is small, or an error says so."""

from functools import cache
from itertools import combinations
from math import ceil

import pandas as pd
import pytest
from display.frames import STUDIES
from display.report.chromium import Chromium, Page, find_chromium
from display.table_examples import rich
from tests_support import raises

import salstats as ss
from salstats.display.export import table_latex, table_word
from salstats.display.export.table_files import table_rows
from salstats.display.export.table_html import html_page
from salstats.display.export.table_png import page_with_layout, table_pngs_by_sheet
from salstats.display.tables.widths import natural_and_minimal_column_widths_em, parts_with_layouts
from salstats.errors import SalstatsError

# what the calls warn of is not what is measured here
pytestmark = pytest.mark.filterwarnings("ignore:.*:salstats.errors.SalstatsWarning")

#: Widths of a narrow column, a column and a page in mm.
WIDTHS = (60, 89, 183)
#: Letters are no smaller, in points, but for what a browser rounds.
SMALLEST_PT = 6 - 0.01
#: CSS pixels per mm, and CSS pixels of white at each side of a table.
PX_PER_MM = 96 / 25.4
MARGIN_PX = 8
#: Size of a page as great-tables' tables are opened, in CSS pixels.
WINDOW = {"width": 1800, "height": 1000}
#: Points by which the width of a line may be exceeded in sums of many columns.
ROUNDING_PT = 1e-6
#: Texts beyond their cell or table, texts of two cells over each other, and the smallest letters in pixels.
MEASURE = """() => {
  const result = {cut: [], overlapping: [], smallest: Infinity, size: document.documentElement.dataset.size};
  const boxes = [];
  for (const table of document.querySelectorAll("table")) {
    const whole = table.getBoundingClientRect();
    for (const cell of table.querySelectorAll("td, th")) {
      const isOff = cell.parentElement.classList.contains("off") || cell.closest("[hidden]");
      if (isOff || !cell.textContent.trim()) continue;
      const room = cell.getBoundingClientRect();
      const texts = document.createTreeWalker(cell, NodeFilter.SHOW_TEXT);
      while (texts.nextNode()) {
        const size = parseFloat(getComputedStyle(texts.currentNode.parentElement).fontSize);
        if (texts.currentNode.textContent.trim()) result.smallest = Math.min(result.smallest, size);
      }
      const range = document.createRange();
      range.selectNodeContents(cell);
      for (const line of range.getClientRects()) {
        if (!line.width) continue;
        // a line is a little higher than its letters
        const isBeyond = line.left < room.left - 1 || line.right > Math.min(room.right, whole.right) + 1
          || line.top < room.top - 3 || line.bottom > room.bottom + 3;
        if (isBeyond) result.cut.push(cell.textContent);
        boxes.push({line, cell});
      }
    }
  }
  boxes.sort((a, b) => a.line.top - b.line.top);
  boxes.forEach((a, index) => {
    for (const b of boxes.slice(index + 1)) {
      if (b.line.top > a.line.bottom) break;
      const across = Math.min(a.line.right, b.line.right) - Math.max(a.line.left, b.line.left);
      const down = Math.min(a.line.bottom, b.line.bottom) - Math.max(a.line.top, b.line.top);
      if (a.cell !== b.cell && across > 0.5 && down > 3)
        result.overlapping.push([a.cell.textContent, b.cell.textContent]);
    }
  });
  return result;
}"""


def by(scores, *without):
    """The grouping columns that a study has."""
    columns = ("metric", "method", "task")
    return [column for column in columns if column in scores and column not in without]


def reference_of(scores):
    """People, or the first method."""
    methods = sorted(scores["method"].unique())
    return "human" if "human" in methods else methods[0]


def of_one_reader(scores):
    """One reader's scores of people, and those of the methods."""
    if "reader" not in scores:
        return scores
    return scores[scores["reader"] != "r2"].drop(columns="reader")


def overlaps(scores):
    """Defined IoU of the tasks of several cases."""
    iou = of_one_reader(scores).query("metric == 'iou'").dropna(subset="score")
    iou = iou.assign(task=iou.get("task", "all"))
    return iou[iou.groupby("task")["case"].transform("nunique") > 1]


def contrasts(scores, function, **options):
    """Contrasts with the reference, by metric and task."""
    return function(
        scores, reference=reference_of(scores), by=by(scores, "method"), n_replicates=99, **options
    )


def means(scores):
    return ss.summarize(scores, by=by(scores), n_replicates=99)


def of_patients(scores):
    """Patients by their best method, with the number of cases, mean IoU and the task of the highest IoU."""
    iou = overlaps(scores)
    unit = "patient" if "patient" in iou else "case"
    best = iou.loc[iou.groupby(unit)["score"].idxmax()]
    groups = iou.groupby(unit)
    patients = best[[unit, "method", "task"]].set_index(unit)
    patients = patients.assign(n_cases=groups["case"].nunique(), iou=groups["score"].mean())
    described = ss.describe_patients(
        patients.reset_index(), ["n_cases", "iou", "task"], by="method", unit=unit, continuous="iou"
    )
    return ss.table_patients(described, statistics=["median", "range"])


def of_agreement(scores):
    """Limits of agreement and errors of every two methods."""
    return ss.table_estimates(
        ss.agreement(overlaps(scores), over="method", by="task", kind="bland-altman", linked=False)
    )


def of_methods(scores):
    """A regression of methods by task."""
    models = {"formula": "iou ~ method", "by": "task"}
    iou = overlaps(scores)
    return ss.table_regression(ss.regress(iou, **models), fit=ss.fit_statistics(iou, **models), p_values=True)


def of_sizes(scores):
    """A regression of sizes for each method."""
    return ss.table_regression(ss.regress(of_one_reader(scores), "iou ~ area_ratio + task", by="method"))


def of_interactions(scores):
    """A regression of sizes in interaction with tasks for each method, with its fit."""
    models = {"formula": "iou ~ area_ratio * task", "by": "method"}
    one = of_one_reader(scores)
    return ss.table_regression(ss.regress(one, **models), fit=ss.fit_statistics(one, **models), p_values=True)


def between_methods(scores):
    """Correlations of the IoU of every two methods, by task."""
    iou = overlaps(scores)
    wide = iou.pivot(index=["case", "task"], columns="method", values="score").reset_index()
    pairs = combinations(iou["method"].unique(), 2)
    return ss.table_correlation(pd.concat([ss.correlate(wide, x, y, by="task") for x, y in pairs]))


def of_plans(scores):
    """The power for two effects in each task."""
    effects = {"effect": [-0.01, -0.015], "n_cases": [20, 50, 100], "approach": "formula"}
    return ss.table_power(ss.power(overlaps(scores), reference=reference_of(scores), by="task", **effects))


#: Tables of a study of scores; their names begin with that of the function.
TABLES = {
    "describe": lambda scores: ss.table_describe(ss.describe(scores, by=by(scores))),
    "patients": of_patients,
    "estimates": lambda scores: ss.table_estimates(means(scores)),
    "estimates with counts": lambda scores: ss.table_estimates(
        means(scores), n=True, differences=contrasts(scores, ss.difference)
    ),
    "estimates of agreement": of_agreement,
    "decrease": lambda scores: ss.table_decrease(contrasts(scores, ss.percent_decrease)),
    "decrease of differences": lambda scores: ss.table_decrease(
        contrasts(of_one_reader(scores), ss.difference, interval="cr2", effect_size="d_av")
    ),
    "regression of methods": of_methods,
    "correlation of methods": between_methods,
    "power": of_plans,
}
#: Tables of a study with sizes of findings.
OF_SIZES = {
    "regression": of_sizes,
    "regression of interactions": of_interactions,
    "correlation": lambda scores: ss.table_correlation(
        ss.correlate(of_one_reader(scores), "area_ratio", "iou", by=["method", "task"])
    ),
}
WITH_SIZES = ("large", "named", "demo")
#: Studies and tables, one of each function, that are measured at each run; the others by `pytest -m slow`.
QUICK = ("small", "extreme")
USUAL = (
    *("describe", "patients", "estimates", "decrease"),
    *("regression of methods", "correlation of methods", "power"),
)
#: Widths in mm that have no room for a table with letters of six points of DejaVu Sans, as its error says;
#: most other faces are narrower.
TOO_NARROW: dict[tuple[str, str], tuple[int, ...]] = {
    ("small", "patients"): (60,),
    ("small", "decrease of differences"): (60,),
    ("large", "describe"): (60,),
    ("large", "patients"): (60,),
    ("large", "estimates"): (60, 89),
    ("large", "estimates with counts"): (60, 89),
    ("large", "estimates of agreement"): (60,),
    ("large", "decrease of differences"): (60,),
    ("large", "correlation of methods"): (60,),
    ("large", "regression"): (60, 89),
    ("large", "regression of interactions"): (60, 89, 183),
    ("large", "correlation"): (60, 89),
    ("named", "describe"): (60,),
    ("named", "patients"): (60,),
    ("named", "estimates"): (60, 89),
    ("named", "estimates with counts"): (60, 89),
    ("named", "estimates of agreement"): (60,),
    ("named", "decrease of differences"): (60,),
    ("named", "regression of methods"): (60,),
    ("named", "correlation of methods"): (60,),
    ("named", "regression"): (60, 89),
    ("named", "regression of interactions"): (60, 89),
    ("named", "correlation"): (60, 89),
    ("extreme", "describe"): (60,),
    ("extreme", "patients"): (60,),
    ("extreme", "estimates of agreement"): (60,),
    ("extreme", "decrease"): (60,),
    ("extreme", "decrease of differences"): (60, 89),
    ("extreme", "regression of methods"): (60,),
    ("demo", "describe"): (60, 89),
    ("demo", "patients"): (60, 89),
    ("demo", "estimates"): (60,),
    ("demo", "estimates with counts"): (60,),
    ("demo", "estimates of agreement"): (60,),
    ("demo", "decrease"): (60, 89),
    ("demo", "decrease of differences"): (60, 89),
    ("demo", "regression of methods"): (60,),
    ("demo", "regression"): (60,),
    ("demo", "regression of interactions"): (60, 89),
    ("demo", "correlation"): (60,),
}
#: Each table of each study.
TABLES_OF_STUDIES = [
    pytest.param(study, table, marks=() if study in QUICK and table in USUAL else pytest.mark.slow)
    for study in STUDIES
    for table in (*TABLES, *(OF_SIZES if study in WITH_SIZES else ()))
]


@cache
def scores_of(study):
    """One of the five studies."""
    return STUDIES[study]()


@cache
def table_of(study, table):
    """A table of one of the five studies."""
    return (TABLES | OF_SIZES)[table](scores_of(study))


@pytest.fixture(scope="module")
def measured(tmp_path_factory):
    """A function that measures a page with a table as it is laid out for a picture of a width."""
    folder = tmp_path_factory.mktemp("browser")
    file = folder / "table.html"
    file.write_text("", encoding="utf-8")
    with Chromium(find_chromium(), folder) as browser, Page(browser, file.as_uri(), **WINDOW) as page:

        def measure(html: str, width: float) -> dict:
            file.write_text(page_with_layout(html, width), encoding="utf-8")
            page.reload()
            found = page.run(MEASURE)
            table_width, _, _ = map(int, found["size"].split("x"))
            found["has_room"] = table_width <= ceil(width * PX_PER_MM - 2 * MARGIN_PX)
            found["needed_mm"] = ceil((table_width + 2 * MARGIN_PX) / PX_PER_MM)
            return found

        yield measure


def test_every_table_function_is_here():
    functions = {name for name in ss.__all__ if name.startswith("table_")}
    assert functions == {f"table_{name.split()[0]}" for name in (*TABLES, *OF_SIZES)}


def assert_whole_and_legible(found):
    assert found["cut"] == []
    assert found["overlapping"] == []
    assert found["smallest"] * 72 / 96 >= SMALLEST_PT


@pytest.mark.browser
@pytest.mark.parametrize(("study", "table"), TABLES_OF_STUDIES)
def test_pictures_of_tables_of_five_studies_are_whole_and_legible(study, table, measured):
    html = html_page(table_of(study, table))
    for width in WIDTHS:
        found = measured(html, width)
        if found["has_room"]:
            assert_whole_and_legible(found)
        else:
            assert width in TOO_NARROW.get((study, table), ())
            # the width that the error asks for is enough
            wider = measured(html, found["needed_mm"])
            assert wider["has_room"]
            assert_whole_and_legible(wider)


@pytest.mark.browser
@pytest.mark.parametrize(("study", "table"), [("extreme", "decrease"), ("small", "patients")])
def test_a_width_without_room_is_an_error_with_the_width_that_has_room(study, table, measured):
    html = html_page(table_of(study, table))
    width = TOO_NARROW[study, table][0]
    needed = measured(html, width)["needed_mm"]
    with raises(SalstatsError, option="width", value=width, message=f"{needed}") as caught:
        table_pngs_by_sheet(html, width)
    assert caught.value.hint


@pytest.mark.parametrize(("study", "table"), TABLES_OF_STUDIES)
def test_parts_of_tables_of_five_studies_fit_pages_of_word_and_latex(study, table):
    rows = table_rows(table_of(study, table))
    for paper in (table_word.PAPER, table_latex.PAPER):
        for part, layout in parts_with_layouts(rows, paper):
            n_columns = len(layout.column_widths_em)
            assert (
                layout.width_points(0, n_columns) + 2 * layout.gap_points
                <= layout.line_width_points + ROUNDING_PT
            )
            # no word or number is wider than its column
            minimal = natural_and_minimal_column_widths_em(part, layout.n_breaks).minimal
            assert all(
                least <= width + ROUNDING_PT
                for least, width in zip(minimal, layout.column_widths_em, strict=True)
            )
            assert layout.points >= min(paper.gap_points_by_type_size)


@pytest.mark.browser
def test_what_is_cut_or_overlaps_or_is_small_is_found(measured):
    html = html_page(rich())
    assert_whole_and_legible(measured(html, 300))
    one_line = "table { table-layout: fixed; } td { white-space: nowrap !important; }"
    found = measured(html.replace("</style>", f"{one_line}</style>", 1), 90)
    assert found["cut"]
    assert found["overlapping"]
    small = "td { font-size: 7px !important; }"
    assert measured(html.replace("</style>", f"{small}</style>", 1), 300)["smallest"] == 7
