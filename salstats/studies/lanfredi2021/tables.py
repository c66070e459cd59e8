"""Tables 1 to 4 from scores, with the study's interval and with those for other images and readers."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd

import salstats as ss
from salstats import datasets
from salstats.display.text.format import MISSING, interval_text
from salstats.display.text.labels import Labels
from salstats.errors import SalstatsError
from salstats.readers.lanfredi2021 import (
    SHEETS,
    read_lanfredi2021,
    read_lanfredi2021_classification,
)
from salstats.studies.engine import PrintedNumbers, Result, table_of
from salstats.studies.lanfredi2021.gaze_scores import (
    GIVEN,
    KEYS,
    NONE,
    RAW_LABELS,
    UNMIXED,
    by_mixing,
    in_order,
    named_mixings,
    own_methods,
    rows_of_table_2,
    without_blanks,
)
from salstats.studies.lanfredi2021.layouts import (
    BASELINES,
    FORMULA,
    LAYOUTS,
    PLAIN,
    SHUFFLED,
    beside_published,
    published_interval,
    rows_of_table,
)

#: What a printed row is known by, and its numbers.
ROW = ["table", "subset", "method", "mixing", "metric"]
LIMITS = ["estimate", "conf_low", "conf_high"]
INTERVAL = f"95% CI: {FORMULA}, as the study computes it."


@dataclass(frozen=True)
class StudyScores:
    """Scores of the study's kind, with `sheet`, `subset`, and `mixing` as `named_mixings` has it."""

    #: Of all images, for Tables 1, 3 and 4.
    images: pd.DataFrame
    #: Of the images that a majority of readers called normal or abnormal, for Table 2.
    labelled: pd.DataFrame
    #: AUC of the networks, where it is known.
    classification: pd.DataFrame | None = None


def embedded_scores() -> StudyScores:
    """Take the study's own scores, which come with the package."""
    scores = datasets.load_lanfredi2021(sheet=None)
    return study_scores(scores, datasets.load_lanfredi2021_classification())


def read_workbooks(folder: Path) -> StudyScores:
    """Read the study's three workbooks."""
    sheets = [read_lanfredi2021(folder, sheet=sheet).assign(dataset=sheet) for sheet in SHEETS]
    scores = pd.concat(sheets, ignore_index=True)
    return study_scores(scores, read_lanfredi2021_classification(folder))


def study_scores(scores: pd.DataFrame, classification: pd.DataFrame | None = None) -> StudyScores:
    """Divide a scores frame into the rows of Tables 1, 3 and 4 and those of Table 2.

    Scores that differ in the mixing of classes alone are told apart by `dataset`, as the study's sheets are,
    or by methods called METHOD_MIXING, as `score_gaze` calls them. Where some images have a majority label
    (`abnormal`) and others have none, the latter are Tables 1, 3 and 4, as in the study.
    """
    known = scores["metric"].isin([*SHUFFLED, *PLAIN])
    if not known.any():
        metrics = ", ".join(scores["metric"].unique())
        raise SalstatsError(
            f"no scores of sncc, sauc, ncc or auc, of which the tables are; there are {metrics}"
        )
    scores = scores[known].reset_index(drop=True)
    if "mixing" not in scores and "dataset" in scores and scores["dataset"].isin(SHEETS).all():
        scores = scores.assign(mixing=scores["dataset"])
    rows = named_mixings(scores).assign(sheet=_sheets(scores), subset="all")
    images, labelled = rows, rows.iloc[:0]
    if "abnormal" in rows:
        unlabelled = rows[rows["abnormal"].isna()]
        if len(unlabelled):
            images = unlabelled
        labelled = rows.assign(subset=rows["abnormal"].map({0: "normal", 1: "abnormal"}))
        labelled = labelled[labelled["subset"].notna()]
    return StudyScores(_mixed_rows(images), _mixed_rows(labelled), classification)


def _sheets(scores: pd.DataFrame) -> pd.Series | str:
    """Name the sheet of each row: its data set, or the mixing where all rows have the same."""
    if "dataset" in scores:
        return scores["dataset"]
    if "mixing" in scores and scores["mixing"].nunique(dropna=False) == 1:
        return scores["mixing"]
    return GIVEN


def _mixed_rows(rows: pd.DataFrame) -> pd.DataFrame:
    """Take the mixing from methods that have none; raise where one mixing has several data sets."""
    n_sheets = rows.groupby("mixing")["sheet"].nunique()
    if (n_sheets > 1).any():
        names = ", ".join(rows["sheet"].unique())
        raise SalstatsError(f"the scores are of several data sets ({names}); give those of one at a time")
    return rows.assign(mixing=rows["mixing"].mask(rows["method"].isin(UNMIXED), NONE))


def scores_of_table(scores: StudyScores, number: str) -> pd.DataFrame:
    """Take the scores that one of Tables 1 to 4 averages."""
    rows = rows_of_table_2(scores.labelled) if number == "2" else rows_of_table(number, scores.images)
    # AUCs were sampled anew on every sheet, and the study took methods without a mixing from one of them
    present = list(rows["sheet"].unique())
    in_study_order = [sheet for sheet in SHEETS if sheet in present] or present
    elsewhere = (rows["mixing"] == NONE) & ~rows["sheet"].isin(in_study_order[:1])
    return rows[~elsewhere]


def study_means(scores: StudyScores, number: str) -> pd.DataFrame:
    """The rows of one of Tables 1 to 4, each with the mean and the study's interval, unrounded."""
    rows = scores_of_table(scores, number).dropna(subset="score")
    means = published_interval(rows, ["subset", *KEYS, "sheet"], "score", "case")
    order = ["subset", *(key for key in LAYOUTS[number].keys if key != "subset")]
    means = without_blanks(in_order(means, order)).assign(table=number)
    return means[[*ROW, "sheet", *LIMITS, "unit", "n_units"]]


def printed_rows(number: str | None = None) -> pd.DataFrame:
    """The printed rows of the tables, or of one, each with the sheet it was made from."""
    tables = datasets.load_published("lanfredi2021_tables").rename(columns={"mean": "estimate"})
    # rows without a mixing were made from the thresholded sheet: AUCs were sampled anew on every sheet
    tables["sheet"] = tables["mixing"].fillna("thresholded").mask(tables["table"] == 2, "normal_abnormal")
    tables["table"] = tables["table"].astype("str")
    return tables if number is None else tables[tables["table"] == number].reset_index(drop=True)


def printed_networks() -> pd.DataFrame:
    """The printed AUC of the networks."""
    table = datasets.load_published("lanfredi2021_classification_auc")
    return table.rename(columns={"auc_mean": "estimate"})


def printed_table(number: str) -> Callable[[StudyScores], Result]:
    """One of Tables 1 to 4 in the study's own layout."""

    def make(scores: StudyScores) -> Result:
        layout = LAYOUTS[number]
        rows = study_means(scores, number)
        frame = rows[[*layout.keys, *LIMITS, "unit", "n_units"]].assign(conf_level=0.95)
        options = dict(layout.options)
        if "exclude" in options:
            # a method that the table lacks cannot be left out of the comparison
            options["exclude"] = [method for method in options["exclude"] if method in set(frame["method"])]
        shown = ss.table_estimates(frame, labels=Labels(RAW_LABELS), style="brackets", **options)
        return Result(rows, shown.tab_source_note(INTERVAL))

    return make


def tables_printed(number: str) -> PrintedNumbers:
    """What the study printed of one of Tables 1 to 4, for as many images."""
    return PrintedNumbers(
        rows=lambda: printed_rows(number),
        keys=tuple(ROW[1:]),
        applies=lambda frame: _is_of_the_study(frame, number),
    )


def _is_of_the_study(frame: pd.DataFrame, number: str) -> bool:
    """Tell whether a table has every printed row, of as many images and of the sheet that was printed."""
    printed = printed_rows(number)
    both = printed.merge(frame, on=ROW[1:], suffixes=("_printed", ""))
    if len(both) < len(printed) or (both["n_units"] != both["n_images"]).any():
        return False
    # only one sheet has labelled images
    if number == "2":
        return True
    # the other sheets have as many images, whose AUCs were sampled anew
    another_sheet = (both["sheet"] != both["sheet_printed"]) & (both["sheet"] != GIVEN)
    return not another_sheet.any()


NETWORKS_PRINTED = PrintedNumbers(printed_networks, ("model",))


def networks(scores: StudyScores) -> Result:
    """Appendix A: the classification AUC of the networks over their trainings."""
    found = published_interval(scores.classification, ["model"], "auroc", "seed")
    names = {"woag": "Without attention gates", "wag": "With attention gates"}
    shown = table_of(
        found,
        "lanfredi2021",
        {"Network": lambda r: names.get(r.model, r.model)},
        {"AUC": lambda r: interval_text(r.estimate, r.conf_low, r.conf_high, 3, "brackets")},
        notes=["95% CI: mean ± 1.96 SD / √(number of trainings), as the study computes it."],
    )
    return Result(found, shown)


def published_means(scores: StudyScores, numbers: str = "1234") -> pd.DataFrame:
    """The rows of several tables below each other, the study's limits as `published_conf_low, ..._high`."""
    tables = [study_means(scores, number) for number in numbers]
    rows = pd.concat([table for table in tables if len(table)], ignore_index=True)
    rows = rows[[*ROW, "sheet", "conf_low", "conf_high"]]
    return rows.rename(columns={"conf_low": "published_conf_low", "conf_high": "published_conf_high"})


def design(scores: StudyScores) -> Result:
    """The rows of Tables 1 to 4 with intervals that take a case's rows as one cluster, beside the study's.

    A case's 25 rows (5 readings x 5 networks) are one cluster: how sure the study is about other images,
    given its readings and its networks.
    """
    clustered = []
    for number in LAYOUTS:
        scores_shown = scores_of_table(scores, number)
        if len(scores_shown):
            clustered.append(by_mixing(scores_shown, ["subset", *KEYS]).assign(table=number))
    means = without_blanks(pd.concat(clustered))
    rows = published_means(scores).merge(means, on=ROW, how="left", validate="one_to_one")
    first = [*ROW, *(column for column in means.columns if column not in ROW)]
    rows = beside_published(rows)
    rows = rows[[*first, *(c for c in rows.columns if c not in (*first, "sheet")), "sheet"]]
    labels = Labels(RAW_LABELS)
    shown = table_of(
        rows,
        "lanfredi2021",
        {
            "Method": lambda r: labels.value("method", r.method),
            "Mixing": lambda r: labels.value("mixing", r.mixing) if isinstance(r.mixing, str) else MISSING,
            "Cases": lambda r: labels.value("subset", r.subset) if r.subset != "all" else "All",
            "Metric": lambda r: labels.value("metric", r.metric),
        },
        {
            "As the study": lambda r: interval_text(
                r.estimate, r.published_conf_low, r.published_conf_high, 3, "brackets"
            ),
            "Cases as clusters": lambda r: interval_text(r.estimate, r.conf_low, r.conf_high, 3, "brackets"),
            "Ratio of widths": ("width_ratio", 2),
        },
        groups=lambda r: f"Table {r.table}",
        notes=[f"As the study: {FORMULA}. Cases as clusters: t interval, a case's rows one cluster."],
    )
    return Result(rows, shown, note=what_changes(rows))


def readers(scores: StudyScores) -> Result:
    """The rows of Tables 1, 3 and 4 with intervals for other readers, or other networks, and cases.

    Readers as the position of a reading in its block tells them, their scores averaged over the networks, and
    compared with the interobserver scores; and networks, their scores averaged over the readings. The
    labelled images number their readings image by image.
    """
    sheets = [_of_readers_and_networks(rows) for _, rows in scores.images.groupby("sheet", sort=False)]
    published = published_means(scores, "134")
    published["own_method"] = own_methods(published.fillna({"mixing": NONE}))["method"]
    found = pd.concat(sheets).rename(columns={"method": "own_method"})
    rows = published.merge(found, on=["sheet", "own_method", "metric"], validate="many_to_one")
    rows = beside_published(rows)
    rows = rows.drop(columns=["sheet", "own_method", "method_mean", "reference_mean"])

    def text(*names: str) -> Callable[[Any], str]:
        """An estimate with its limits, of columns of the frame; a dash where there are none."""

        def cell(row: Any) -> str:
            estimate, low, high = (getattr(row, name) for name in names)
            return MISSING if pd.isna(low) else interval_text(estimate, low, high, 3, "brackets")

        return cell

    labels = Labels(RAW_LABELS)
    n_readers, n_trainings = scores.images["reader"].nunique(), scores.images["seed"].nunique()
    shown = table_of(
        rows,
        "lanfredi2021",
        {
            "Method": lambda r: labels.value("method", r.method),
            "Mixing": lambda r: labels.value("mixing", r.mixing) if isinstance(r.mixing, str) else MISSING,
            "Metric": lambda r: labels.value("metric", r.metric),
        },
        {
            "As the study": text("estimate", "published_conf_low", "published_conf_high"),
            "Readers and cases": text("estimate", "conf_low", "conf_high"),
            "Networks and cases": text("estimate", "conf_low_of_networks", "conf_high_of_networks"),
            "Difference from interobserver": text(*(f"{name}_of_difference" for name in LIMITS)),
        },
        groups=lambda r: f"Table {r.table}",
        notes=[
            f"As the study: {FORMULA}. Readers and cases: Obuchowski and Rockette's analysis of "
            f"{n_readers} readers, scores averaged over networks; differences too. "
            f"Networks and cases: of {n_trainings} trainings, scores averaged over readings."
        ],
    )
    return Result(rows, shown)


def _of_readers_and_networks(rows: pd.DataFrame) -> pd.DataFrame:
    """Analyse one sheet by Obuchowski and Rockette: readers and cases, differences, networks and cases."""
    scores = own_methods(rows)
    by = ["case", "method", "metric"]
    of_readers = scores.groupby([*by, "reader"], as_index=False)["score"].mean()
    of_networks = scores.groupby([*by, "seed"], as_index=False)["score"].mean()
    of_networks = of_networks.rename(columns={"seed": "reader"})
    found = ss.mrmc(of_readers, reference="interobserver")
    # two kinds of network have trainings of their own: each method is of one kind
    networks = pd.concat(
        [ss.mrmc(own) for method, own in of_networks.groupby("method") if method not in BASELINES]
    )
    limits = ["std_error", "df", "conf_low", "conf_high"]
    on = ["metric", "method"]
    means = found[found["term"] == "mean"]
    differences = found.loc[found["term"] == "difference", [*on, "estimate", *limits, "p_value"]]
    together = means.merge(differences, on=on, how="left", suffixes=("", "_of_difference"))
    together = together.drop(columns=["reference", "statistic", "p_value", "verdict", "df_residual"])
    together = together.merge(networks[[*on, *limits]], on=on, how="left", suffixes=("", "_of_networks"))
    return together.assign(sheet=rows["sheet"].iloc[0])


def what_changes(design: pd.DataFrame) -> str:
    """Write one sentence on what the other intervals change."""
    ratio = design["width_ratio"]
    n_narrower = int((ratio < 1).sum())
    changed = design[design["excludes_chance"] != design["published_excludes_chance"]]
    names = [_row_name(row) for _, row in changed.iterrows()]
    return (
        f"with cases as clusters {n_narrower} of {len(design)} intervals are narrower than "
        f"published (width ratio {ratio.min():.3f} to {ratio.max():.3f}, median {ratio.median():.3f}); "
        f"whether chance lies inside changes in {len(changed)}: {'; '.join(names) or 'none'}"
    )


def _row_name(row: pd.Series) -> str:
    """Name a row of a table: its table, and in print what it is of."""
    labels = Labels(RAW_LABELS)
    parts = [f"Table {row['table']}"]
    for column in ROW[1:]:
        value = row[column]
        if isinstance(value, str) and value != "all":
            parts.append(labels.value(column, value))
    return ", ".join(parts)
