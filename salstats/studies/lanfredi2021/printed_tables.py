"""Tables 1 to 4 from scores, with the study's interval and with those for other images and readers."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd
from great_tables import GT

import salstats as ss
from salstats import datasets
from salstats.coded_text import TEXT
from salstats.display.text.format import MISSING, interval_text
from salstats.display.text.labels import Labels
from salstats.errors import ColumnError, SalstatsError
from salstats.readers.lanfredi2021 import (
    SHEETS,
    read_lanfredi2021,
    read_lanfredi2021_mean_auc_by_network,
)
from salstats.studies.declarations import ItemResult, PrintedNumbers
from salstats.studies.lanfredi2021.gaze_scores import (
    MEAN_KEYS,
    MIXING_AS_GIVEN,
    NO_MIXING,
    STUDY_LABELS,
    UNMIXED,
    mean_rows_of_each_mixing,
    rows_of_table_2,
    sorted_as_printed,
    with_mixing_in_methods,
    with_mixing_split_from_method,
    with_no_mixing_as_missing,
)
from salstats.studies.lanfredi2021.layouts import (
    BASELINES,
    CENTRE_REWARDING,
    INTERVAL_FORMULA,
    LAYOUTS,
    SHUFFLED,
    add_width_ratio_and_excludes_chance_columns,
    means_with_published_interval,
    rows_of_table,
)
from salstats.studies.result_tables import table_of

#: Columns that identify a printed row.
ROW_KEYS = ["table", "subset", "method", "mixing", "metric"]
#: The numbers of a printed row.
ESTIMATE_AND_LIMITS = ["estimate", "conf_low", "conf_high"]
INTERVAL_NOTE = f"95% CI: {INTERVAL_FORMULA}, as the study computes it."


@dataclass(frozen=True)
class GazeStudyScores:
    """Scores of the study's kind, with `sheet`, `subset`, and `mixing`.

    `with_mixing_split_from_method` says what `mixing` is.
    """

    #: Scores of the images without a majority label if there are any, else of all images.
    table_1_3_4_scores: pd.DataFrame
    #: Scores of the images that a majority of readers called normal or abnormal.
    table_2_scores: pd.DataFrame
    #: AUC of the networks as classifiers, where it is known.
    classification_aucs: pd.DataFrame | None = None


def embedded_scores() -> GazeStudyScores:
    """Load the study's own scores, which come with the package."""
    scores = datasets.load_lanfredi2021(sheet=None)
    return split_scores_by_printed_table(scores, datasets.load_lanfredi2021_classification())


def read_workbooks(folder: Path) -> GazeStudyScores:
    """Read the study's three workbooks."""
    sheets = [read_lanfredi2021(folder, sheet=sheet).assign(dataset=sheet) for sheet in SHEETS]
    scores = pd.concat(sheets, ignore_index=True)
    return split_scores_by_printed_table(scores, read_lanfredi2021_mean_auc_by_network(folder))


def split_scores_by_printed_table(
    scores: pd.DataFrame, classification_aucs: pd.DataFrame | None = None
) -> GazeStudyScores:
    """Divide a scores frame into the rows of Tables 1, 3 and 4 and those of Table 2.

    Scores that differ in the mixing of classes alone are told apart by `dataset`, as the study's sheets are,
    or by methods called METHOD_MIXING, as `score_gaze` calls them. Where some images have a majority label
    (`abnormal`) and others have none, Tables 1, 3 and 4 use the latter, as in the study.
    """
    is_of_study = scores["metric"].isin([*SHUFFLED, *CENTRE_REWARDING])
    if not is_of_study.any():
        metrics = ", ".join(scores["metric"].unique())
        raise ColumnError(
            f"the tables need scores of sncc, sauc, ncc or auc; there are scores of {metrics}",
            column="metric",
            choices=(*SHUFFLED, *CENTRE_REWARDING),
        )
    scores = scores[is_of_study].reset_index(drop=True)
    if "mixing" not in scores and "dataset" in scores and scores["dataset"].isin(SHEETS).all():
        scores = scores.assign(mixing=scores["dataset"])
    all_rows = with_mixing_split_from_method(scores).assign(sheet=_sheet_of_each_row(scores), subset="all")
    images = all_rows
    labelled = all_rows.head(0)
    if "abnormal" in all_rows:
        subset = all_rows["abnormal"].map({0: "normal", 1: "abnormal"})
        labelled = all_rows[subset.notna()].assign(subset=subset[subset.notna()])
        has_no_label = all_rows["abnormal"].isna()
        if has_no_label.any():
            images = all_rows[has_no_label]
    for rows in (images, labelled):
        _check_each_mixing_has_one_sheet(rows)
    return GazeStudyScores(
        _blank_mixing_of_unmixed(images), _blank_mixing_of_unmixed(labelled), classification_aucs
    )


def _sheet_of_each_row(scores: pd.DataFrame) -> pd.Series | str:
    """Name the sheet of each row: its data set, or the mixing where all rows have the same.

    Rows without a name belong to one sheet, `MIXING_AS_GIVEN`.
    """
    if "dataset" in scores:
        return scores["dataset"].astype("object").fillna(MIXING_AS_GIVEN)
    if "mixing" in scores and scores["mixing"].nunique(dropna=False) == 1:
        return scores["mixing"].astype("object").fillna(MIXING_AS_GIVEN)
    return MIXING_AS_GIVEN


def _check_each_mixing_has_one_sheet(rows: pd.DataFrame) -> None:
    """Raise an error where the rows of a mixing come from several sheets."""
    n_sheets = rows.groupby("mixing")["sheet"].nunique()
    if (n_sheets > 1).any():
        names = ", ".join(rows["sheet"].unique())
        raise SalstatsError(
            f"the scores come from several data sets ({names})",
            hint="give those of one at a time",
            column="dataset",
        )


def _blank_mixing_of_unmixed(rows: pd.DataFrame) -> pd.DataFrame:
    """Set the mixing of methods that have none to `NO_MIXING`."""
    return rows.assign(mixing=rows["mixing"].mask(rows["method"].isin(UNMIXED), NO_MIXING))


def scores_of_table(scores: GazeStudyScores, number: str) -> pd.DataFrame:
    """Return the scores that one of Tables 1 to 4 averages."""
    if number == "2":
        return _drop_unmixed_of_later_sheets(rows_of_table_2(scores.table_2_scores))
    return _drop_unmixed_of_later_sheets(rows_of_table(number, scores.table_1_3_4_scores))


def _drop_unmixed_of_later_sheets(rows: pd.DataFrame) -> pd.DataFrame:
    """Keep all rows of methods with a mixing, and of the other methods those of the first sheet.

    Every sheet has the other methods, with AUCs sampled anew; the study printed those of one sheet, see
    `printed_table_rows`.
    """
    if rows.empty:
        return rows
    sheets = list(rows["sheet"].unique())
    study_sheets = [sheet for sheet in SHEETS if sheet in sheets]
    first_sheet = (study_sheets or sheets)[0]
    is_repeated = (rows["mixing"] == NO_MIXING) & (rows["sheet"] != first_sheet)
    return rows[~is_repeated]


def table_means_with_study_interval(scores: GazeStudyScores, number: str) -> pd.DataFrame:
    """Return the rows of one of Tables 1 to 4 with the study's interval, unrounded."""
    rows = scores_of_table(scores, number).dropna(subset="score")
    means = means_with_published_interval(rows, ["subset", *MEAN_KEYS, "sheet"], "score", "case")
    layout_keys = [key for key in LAYOUTS[number].keys if key != "subset"]
    means = sorted_as_printed(means, ["subset", *layout_keys])
    means = with_no_mixing_as_missing(means).assign(table=number)
    return means[[*ROW_KEYS, "sheet", *ESTIMATE_AND_LIMITS, "unit", "n_units"]]


def printed_table_rows(number: str | None = None) -> pd.DataFrame:
    """Return the printed rows of the tables, or of one, each with the sheet that it was made from."""
    tables = datasets.load_published("lanfredi2021_tables").rename(columns={"mean": "estimate"})
    # Rows without a mixing were made from the thresholded sheet, Table 2 from the sheet of labelled images.
    sheet_of_mixing = tables["mixing"].fillna("thresholded")
    tables["sheet"] = sheet_of_mixing.mask(tables["table"] == 2, "normal_abnormal")
    tables["table"] = tables["table"].astype(TEXT)
    if number is None:
        return tables
    return tables[tables["table"] == number].reset_index(drop=True)


def printed_network_aucs() -> pd.DataFrame:
    """Return the printed AUC of the networks."""
    table = datasets.load_published("lanfredi2021_classification_auc")
    return table.rename(columns={"auc_mean": "estimate"})


def printed_table_maker(number: str) -> Callable[[GazeStudyScores], ItemResult]:
    """Return a function that makes one of Tables 1 to 4 in the study's own layout."""

    def make(scores: GazeStudyScores) -> ItemResult:
        layout = LAYOUTS[number]
        rows = table_means_with_study_interval(scores, number)
        frame = rows[[*layout.keys, *ESTIMATE_AND_LIMITS, "unit", "n_units"]].assign(conf_level=0.95)
        options = dict(layout.options)
        if "exclude" in options:
            # `table_estimates` raises an error for a method that the table lacks.
            methods = set(frame["method"])
            options["exclude"] = [method for method in options["exclude"] if method in methods]
        table = ss.table_estimates(frame, labels=Labels(STUDY_LABELS), style="brackets", **options)
        return ItemResult(rows, table.tab_source_note(INTERVAL_NOTE))

    return make


def printed_numbers_of_table(number: str) -> PrintedNumbers:
    """Return the numbers that the study printed in one of Tables 1 to 4."""
    return PrintedNumbers(
        rows=lambda: printed_table_rows(number),
        keys=tuple(ROW_KEYS[1:]),
        applies=lambda frame: _has_images_and_sheet_of_print(frame, number),
    )


def _has_images_and_sheet_of_print(frame: pd.DataFrame, number: str) -> bool:
    """Tell whether a table has every printed row, of as many images and of the printed sheet."""
    printed = printed_table_rows(number)
    pairs = printed.merge(frame, on=ROW_KEYS[1:], suffixes=("_printed", ""))
    if len(pairs) < len(printed) or (pairs["n_units"] != pairs["n_images"]).any():
        return False
    # Labelled images are on one sheet only.
    if number == "2":
        return True
    # The other sheets have as many images, but their AUCs were sampled anew.
    is_other_sheet = (pairs["sheet"] != pairs["sheet_printed"]) & (pairs["sheet"] != MIXING_AS_GIVEN)
    return not is_other_sheet.any()


NETWORKS_PRINTED = PrintedNumbers(printed_network_aucs, ("model",))


def network_classification_aucs(scores: GazeStudyScores) -> ItemResult:
    """Appendix A: the classification AUC of the networks over their trainings."""
    assert scores.classification_aucs is not None
    means = means_with_published_interval(scores.classification_aucs, ["model"], "auroc", "seed")
    names = {"woag": "Without attention gates", "wag": "With attention gates"}
    table = table_of(
        means,
        "lanfredi2021",
        {"Network": lambda r: names.get(r.model, r.model)},
        {"AUC": lambda r: interval_text(r.estimate, r.conf_low, r.conf_high, 3, "brackets")},
        notes=["95% CI: mean ± 1.96 SD / √(number of trainings), as the study computes it."],
    )
    return ItemResult(means, table)


def study_formula_limits_of_tables(scores: GazeStudyScores, numbers: str = "1234") -> pd.DataFrame:
    """Stack the rows of several tables, their limits as `published_conf_low` and `published_conf_high`."""
    tables = [table_means_with_study_interval(scores, number) for number in numbers]
    rows = pd.concat([table for table in tables if len(table)], ignore_index=True)
    rows = rows[[*ROW_KEYS, "sheet", "conf_low", "conf_high"]]
    return rows.rename(columns={"conf_low": "published_conf_low", "conf_high": "published_conf_high"})


def clustered_beside_study_formula_intervals(scores: GazeStudyScores) -> ItemResult:
    """Show the rows of Tables 1 to 4 with cases as clusters, beside the study's intervals.

    A case's 25 rows (5 readings x 5 networks) are one cluster: the interval is for other images, given the
    study's readings and networks.
    """
    clustered = []
    for number in LAYOUTS:
        table_scores = scores_of_table(scores, number)
        if len(table_scores):
            table_means = mean_rows_of_each_mixing(table_scores, ["subset", *MEAN_KEYS])
            clustered.append(table_means.assign(table=number))
    means = with_no_mixing_as_missing(pd.concat(clustered))
    rows = study_formula_limits_of_tables(scores).merge(means, on=ROW_KEYS, how="left", validate="one_to_one")
    rows = add_width_ratio_and_excludes_chance_columns(rows)
    mean_columns = [column for column in means.columns if column not in ROW_KEYS]
    first_columns = [*ROW_KEYS, *mean_columns]
    comparison_columns = [column for column in rows.columns if column not in (*first_columns, "sheet")]
    rows = rows[[*first_columns, *comparison_columns, "sheet"]]
    return ItemResult(
        rows,
        _study_and_clustered_intervals_table(rows),
        note=interval_widths_and_changed_conclusions_note(rows),
    )


def _study_and_clustered_intervals_table(rows: pd.DataFrame) -> GT:
    """Make the table of `clustered_beside_study_formula_intervals`."""
    labels = Labels(STUDY_LABELS)

    def cases_text(row: Any) -> str:
        if row.subset == "all":
            return "All"
        return labels.value("subset", row.subset)

    return table_of(
        rows,
        "lanfredi2021",
        {
            "Method": lambda r: labels.value("method", r.method),
            "Mixing": _mixing_rule_label,
            "Cases": cases_text,
            "Metric": lambda r: labels.value("metric", r.metric),
        },
        {
            "As the study": _interval_cell("estimate", "published_conf_low", "published_conf_high"),
            "Cases as clusters": _interval_cell("estimate", "conf_low", "conf_high"),
            "Ratio of widths": ("width_ratio", 2),
        },
        groups=lambda r: f"Table {r.table}",
        notes=[
            f"As the study: {INTERVAL_FORMULA}. Cases as clusters: t interval, a case's rows one cluster."
        ],
    )


def _mixing_rule_label(row: Any) -> str:
    """Return the label of the rule by which maps of classes were mixed, a dash where they were not."""
    if not isinstance(row.mixing, str):
        return MISSING
    return Labels(STUDY_LABELS).value("mixing", row.mixing)


def _interval_cell(estimate: str, low: str, high: str) -> Callable[[Any], str]:
    """Return a function that writes the estimate and limits of a row, in columns of these names."""

    def cell(row: Any) -> str:
        low_limit = getattr(row, low)
        high_limit = getattr(row, high)
        return interval_text(getattr(row, estimate), low_limit, high_limit, style="brackets")

    return cell


def tables_with_intervals_for_new_readers_and_networks(scores: GazeStudyScores) -> ItemResult:
    """Show the rows of Tables 1, 3 and 4 with intervals that hold for other readers (or networks) and cases.

    The analysis is made for each sheet of the scores.

    Scores of readers are averaged over the networks and compared with the interobserver scores; a reader is
    the position of a reading in its block. Scores of networks are averaged over the readings. Table 2 is left
    out, since readings of the labelled images are numbered image by image.
    """
    published = study_formula_limits_of_tables(scores, "134")
    # `mrmc` takes METHOD_MIXING as the method, so that the mixings of a method are compared as well.
    published["mixed_method"] = with_mixing_in_methods(published.fillna({"mixing": NO_MIXING}))["method"]
    sheet_means = [
        _means_with_reader_and_network_limits(rows)
        for _, rows in scores.table_1_3_4_scores.groupby("sheet", sort=False)
    ]
    means = pd.concat(sheet_means).rename(columns={"method": "mixed_method"})
    rows = published.merge(means, on=["sheet", "mixed_method", "metric"], validate="many_to_one")
    rows = add_width_ratio_and_excludes_chance_columns(rows)
    rows = rows.drop(columns=["sheet", "mixed_method", "method_mean", "reference_mean"])
    return ItemResult(rows, _intervals_over_readers_and_over_networks_table(rows, scores.table_1_3_4_scores))


def _intervals_over_readers_and_over_networks_table(rows: pd.DataFrame, scores: pd.DataFrame) -> GT:
    """Make a table by method, mixing and metric: intervals as in the study, over readers, over networks."""
    labels = Labels(STUDY_LABELS)
    n_readers = scores["reader"].nunique()
    n_trainings = scores["seed"].nunique()

    def interval_or_dash(estimate: str, low: str, high: str) -> Callable[[Any], str]:
        interval = _interval_cell(estimate, low, high)

        def cell(row: Any) -> str:
            if pd.isna(getattr(row, low)):
                return MISSING
            return interval(row)

        return cell

    return table_of(
        rows,
        "lanfredi2021",
        {
            "Method": lambda r: labels.value("method", r.method),
            "Mixing": _mixing_rule_label,
            "Metric": lambda r: labels.value("metric", r.metric),
        },
        {
            "As the study": interval_or_dash("estimate", "published_conf_low", "published_conf_high"),
            "Readers and cases": interval_or_dash("estimate", "conf_low", "conf_high"),
            "Networks and cases": interval_or_dash(
                "estimate", "conf_low_of_networks", "conf_high_of_networks"
            ),
            "Difference from interobserver": interval_or_dash(
                "estimate_of_difference", "conf_low_of_difference", "conf_high_of_difference"
            ),
        },
        groups=lambda r: f"Table {r.table}",
        notes=[
            f"As the study: {INTERVAL_FORMULA}. Readers and cases: Obuchowski and Rockette's analysis of "
            f"{n_readers} readers, scores averaged over networks; differences too. "
            f"Networks and cases: of {n_trainings} trainings, scores averaged over readings."
        ],
    )


def _means_with_reader_and_network_limits(rows: pd.DataFrame) -> pd.DataFrame:
    """Analyse one sheet by Obuchowski and Rockette's method.

    Returns the mean of each metric and method with limits for other readers and cases, its difference from
    interobserver (columns `..._of_difference`), and limits for other networks and cases (`..._of_networks`).
    """
    scores = with_mixing_in_methods(rows)
    by = ["case", "method", "metric"]
    reader_scores = scores.groupby([*by, "reader"])["score"].mean().reset_index()
    estimates = ss.mrmc(reader_scores, reference="interobserver")
    network_scores = scores.groupby([*by, "seed"])["score"].mean().reset_index()
    network_scores = network_scores.rename(columns={"seed": "reader"})
    # Networks with and without attention gates are trained apart, so their trainings cannot be paired and
    # each method is analysed by itself.
    method_means = []
    for method, method_scores in network_scores.groupby("method"):
        if method not in BASELINES:
            method_means.append(ss.mrmc(method_scores))
    network_means = pd.concat(method_means)
    keys = ["metric", "method"]
    limits = ["std_error", "df", "conf_low", "conf_high"]
    means = estimates[estimates["term"] == "mean"]
    differences = estimates.loc[estimates["term"] == "difference", [*keys, "estimate", *limits, "p_value"]]
    merged = means.merge(differences, on=keys, how="left", suffixes=("", "_of_difference"))
    merged = merged.drop(columns=["reference", "statistic", "p_value", "verdict", "df_residual"])
    merged = merged.merge(network_means[[*keys, *limits]], on=keys, how="left", suffixes=("", "_of_networks"))
    return merged.assign(sheet=rows["sheet"].iloc[0])


def interval_widths_and_changed_conclusions_note(rows: pd.DataFrame) -> str:
    """Write how wide the intervals with cases as clusters are, and where they change a conclusion.

    `rows` are those of `clustered_beside_study_formula_intervals`.
    """
    ratio = rows["width_ratio"]
    n_narrower = int((ratio < 1).sum())
    changed = rows[rows["excludes_chance"] != rows["published_excludes_chance"]]
    names = [_row_name(row) for _, row in changed.iterrows()]
    return (
        f"with cases as clusters {n_narrower} of {len(rows)} intervals are narrower than "
        f"published (width ratio {ratio.min():.3f} to {ratio.max():.3f}, median {ratio.median():.3f}); "
        f"whether chance lies inside changes in {len(changed)}: {'; '.join(names) or 'none'}"
    )


def _row_name(row: pd.Series) -> str:
    """Name a row by its table and by its printed labels."""
    labels = Labels(STUDY_LABELS)
    names = [f"Table {row['table']}"]
    for column in ROW_KEYS[1:]:
        value = row[column]
        # Rows without a mixing have a missing value, those of all images the subset "all".
        if isinstance(value, str) and value != "all":
            names.append(labels.value(column, value))
    return ", ".join(names)
