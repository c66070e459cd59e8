"""Read the published workbooks of the gaze study of Bigolin Lanfredi et al. (2021)."""

import os
from dataclasses import dataclass, replace
from pathlib import Path

import pandas as pd

from salstats.checks import check_choice
from salstats.coded_text import TEXT
from salstats.errors import InputFileError
from salstats.frames import check_scores
from salstats.readers.cells import TableOptions
from salstats.readers.tables import read_table
from salstats.readers.xlsx import sheet_names

#: Name of each method's column in the workbooks, without `score_` -> its name in a frame.
METHODS = {
    "interobserver": "interobserver",
    "sono": "gradcam_woag",
    "ag": "gradcam_wag",
    "am1": "am1",
    "am2": "am2",
    "convex": "convex",
}
#: Metrics in the order of the workbooks' rows.
METRICS = ("sncc", "ncc", "auc", "sauc")
#: Majority labels of the second workbook.
LABELS = ("abnormal", "pleural", "parenchymal", "cardiomediastinal")
#: Names of the study's three workbooks.
JOINT = "joint_scores_table1_table2_etsaliencymaps.xlsx"
NORMAL_ABNORMAL = "normal_abnormal_separated.xlsx"
CLASSIFICATION = "auc_classification_etsaliencymap_paper.xlsx"
WORKBOOKS = (JOINT, NORMAL_ABNORMAL, CLASSIFICATION)


@dataclass(frozen=True)
class _ScoreSheet:
    """A sheet of per-case scores."""

    workbook: str
    #: Name of the sheet in its workbook.
    name: str
    #: Rule by which the maps of classes were mixed, for Grad-CAM.
    mixing: str
    #: Beginning of the names of its cases.
    case_prefix: str
    #: Column of the network's number.
    seed_column: str
    #: Whether the sheet has a column for the reading.
    has_readings: bool = False
    #: Columns of the image's majority labels, in the order of `LABELS`.
    label_columns: tuple[str, ...] = ()


_SCORE_SHEETS = {
    "thresholded": _ScoreSheet(JOINT, "thresholded_samples", "thresholded", "p", "model"),
    "weighted": _ScoreSheet(JOINT, "weighted_samples", "weighted", "p", "model"),
    "uniform": _ScoreSheet(JOINT, "uniform_samples", "uniform", "p", "model"),
    "normal_abnormal": _ScoreSheet(
        NORMAL_ABNORMAL,
        "results_uniform_df",
        "uniform",
        "q",
        "model number",
        has_readings=True,
        label_columns=tuple(f"{label}_majority" for label in LABELS),
    ),
}
SHEETS = tuple(_SCORE_SHEETS)


def read_lanfredi2021(folder: str | os.PathLike[str], *, sheet: str = "thresholded") -> pd.DataFrame:
    """Read the per-case scores of the study, one sheet of its workbooks, as a scores frame.

    A score tells how well a map agrees with where one radiologist looked. There are five readings of each of
    91 chest X-rays, and maps of five networks that differ in their seed. Larger is better for every metric.

    Parameters
    ----------
    folder : str or path
        The folder of the three workbooks; `datasets.fetch_lanfredi2021()` downloads them.
    sheet : {"thresholded", "weighted", "uniform", "normal_abnormal"}
        The first three are the sheets of the joint workbook, named after how Grad-CAM's classes were
        mixed. The fourth is the other workbook, uniform mixing only, with majority labels.

    Returns
    -------
    DataFrame
        A scores frame of 54,600 rows: for each row of the workbook, in its order, a row for each method.

        case : str
            Phase and trial, which together name an image: `p1_t002` in the joint workbook, `q1_t002` in
            the other. These are two runs with trials numbered anew: equal numbers are different images.
        reader : str
            Number of the reading, one of five of the image, "0" to "4"; see Notes.
        seed : str
            Number of the network, "1" to "5".
        method : str
            `interobserver` (the other four readings), `gradcam_woag` and `gradcam_wag` (networks without
            and with attention gates), `am1`, `am2` (the gates' maps), `convex` (segmentation).
        mixing : str
            Mixing of the sheet. It matters for Grad-CAM only.
        metric : str
            `sncc`, `ncc`, `auc` or `sauc`.
        score : float
            The published score.
        abnormal, pleural, parenchymal, cardiomediastinal : int
            Majority label of the image, 0 or 1; only with `sheet="normal_abnormal"`.

    Raises
    ------
    InputFileError
        A workbook is missing, is not the published one, or has rows whose reading cannot be found out.
    ValueRangeError
        `sheet` is not one of the four.

    Notes
    -----
    The joint workbook has no column for the reading. Its rows come in blocks, one per image and network,
    in which the readings have the same order on every sheet, so the position in the block is the reading.
    In the other workbook it is the column `index_image`, which follows the order of the source's
    metadata: there "0" of two images need not be the same person.

    `interobserver` and `convex` do not involve a network: their NCC and sNCC are equal for every seed.
    AUC and sAUC sample pixels at random, anew for each row and sheet.

    References
    ----------
    Bigolin Lanfredi R, Arora A, Drew T, Schroeder JD, Tasdizen T. Comparing radiologists' gaze and
    saliency maps generated by interpretability methods for chest x-rays. 2021.
    https://doi.org/10.48550/arXiv.2112.11716. Workbooks: ricbl/etsaliencymaps, `results_tables_paper`,
    commit bd4b71d.

    Examples
    --------
    `read_lanfredi2021(fetch_lanfredi2021(), sheet="uniform")` downloads and reads. Without the workbooks:

    >>> read_lanfredi2021("elsewhere", sheet="uniform")  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    salstats.errors.InputFileError: ...: no such file; salstats.datasets.fetch_lanfredi2021() downloads ...
    """
    check_choice(sheet, SHEETS, "sheet")
    layout = _SCORE_SHEETS[sheet]
    return _read_sheet(existing_workbook_path(folder, layout.workbook), layout)


def read_lanfredi2021_workbook(file: Path) -> pd.DataFrame | None:
    """Read all sheets of per-case scores of one of the study's workbooks into one frame.

    `dataset` is the sheet, as sheets differ in the mixing of classes. None where the file is not one of the
    study's workbooks with scores.
    """
    if file.suffix.lower() != ".xlsx" or not file.is_file():
        return None
    names = sheet_names(file)
    frames = [
        _read_sheet(file, layout).assign(dataset=sheet)
        for sheet, layout in _SCORE_SHEETS.items()
        if layout.name in names
    ]
    if not frames:
        return None
    return pd.concat(frames, ignore_index=True)


def _read_sheet(file: Path, layout: _ScoreSheet) -> pd.DataFrame:
    """Read one sheet as `read_lanfredi2021` returns it."""
    whole_numbers = ["trial", "phase", layout.seed_column, *layout.label_columns]
    if layout.has_readings:
        whole_numbers.append("index_image")
    score_columns = [f"score_{source}" for source in METHODS]
    values, metrics = _number_columns_and_text_column(
        file, layout.name, [*whole_numbers, *score_columns], "metric"
    )
    values = values.astype(dict.fromkeys(whole_numbers, "int64"))
    phase = values["phase"].astype(TEXT)
    trial = values["trial"].astype(TEXT).str.zfill(3)
    frame = pd.DataFrame(
        {
            "case": layout.case_prefix + phase + "_t" + trial,
            "reader": "",
            "seed": values[layout.seed_column].astype(TEXT),
            "metric": metrics,
        }
    )
    if layout.has_readings:
        readings = values["index_image"]
    else:
        readings = _reading_number_from_0_of_each_row(file, frame)
    frame["reader"] = readings.astype(TEXT)
    # a sheet has either no label columns or one for each label
    labels = []
    for label, column in zip(LABELS, layout.label_columns, strict=False):
        frame[label] = values[column]
        labels.append(label)
    # a row for each method, in the order of the columns
    frame = frame.loc[frame.index.repeat(len(METHODS))].reset_index(drop=True)
    frame["method"] = pd.Series([*METHODS.values()] * len(values), dtype=TEXT)
    frame["mixing"] = pd.Series(layout.mixing, index=frame.index, dtype=TEXT)
    frame["score"] = values[score_columns].to_numpy().ravel()
    columns = ["case", "reader", "seed", "method", "mixing", "metric", "score", *labels]
    return check_scores(frame[columns], str(file))


def read_lanfredi2021_mean_auc_by_network(folder: str | os.PathLike[str]) -> pd.DataFrame:
    """Read the mean area under the ROC curve of each of the study's networks, as in the study's Appendix A.

    `folder` and the error of a missing workbook are as for `read_lanfredi2021`.

    Returns
    -------
    DataFrame
        Ten rows, in the workbook's order.

        model : str
            `woag` or `wag`: without or with attention gates.
        seed : str
            Number of the network, "1" to "5". Seed 1 of one model has nothing to do with seed 1 of the other.
        auroc : float
            Area under the ROC curve, averaged over the 14 labels; larger is better, 0.5 is chance.

    Examples
    --------
    Without the workbooks, the message tells where to get them:

    >>> read_lanfredi2021_mean_auc_by_network("elsewhere")  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    salstats.errors.InputFileError: ...: no such file; salstats.datasets.fetch_lanfredi2021() downloads ...
    """
    file = existing_workbook_path(folder, CLASSIFICATION)
    values, names = _number_columns_and_text_column(file, "results_all_models", ["modeln", "auc"], "model")
    model = names.map({"sononet": "woag", "ag_sononet": "wag"})
    if model.isna().any():
        unknown_model = names[model.isna()].iloc[0]
        raise InputFileError(
            f"{file}: model {unknown_model!r} is neither 'sononet' nor 'ag_sononet'",
            value=unknown_model,
            choices=["sononet", "ag_sononet"],
            column="model",
            path=file,
        )
    seed = values["modeln"].astype("int64").astype(TEXT)
    return pd.DataFrame({"model": model.astype(TEXT), "seed": seed, "auroc": values["auc"]})


def existing_workbook_path(folder: str | os.PathLike[str], file_name: str) -> Path:
    """Return the path of a workbook; raise where it is missing, with the place to get it from."""
    file = Path(folder) / file_name
    if not file.is_file():
        raise InputFileError(
            f"{file}: no such file; salstats.datasets.fetch_lanfredi2021() downloads the study's workbooks "
            "(or get them by hand from the folder results_tables_paper of github.com/ricbl/etsaliencymaps)",
            path=file,
        )
    return file


def _number_columns_and_text_column(
    file: Path, sheet: str, number_columns: list[str], text_column: str
) -> tuple[pd.DataFrame, pd.Series]:
    """Read a frame of columns of finite numbers from a sheet, and one column of text, as (numbers, text)."""
    table = replace(read_table(file, TableOptions(sheet=sheet)), error_class=InputFileError)
    table.check_columns([*number_columns, text_column], "it is not the published workbook")
    numbers = pd.DataFrame(table.finite_numbers(number_columns), columns=number_columns)
    return numbers, table.text_with_missing_as_empty(text_column).astype(TEXT)


def _reading_number_from_0_of_each_row(file: Path, case_seed_and_metric: pd.DataFrame) -> pd.Series:
    """Return the position of each row among those of its case, seed and metric, from 0, as its reading.

    Raise where some case, seed and metric has more or fewer rows than the others.
    """
    groups = case_seed_and_metric.groupby(["case", "seed", "metric"], sort=False)
    sizes = groups.size()
    if sizes.nunique() != 1:
        usual_size = sizes.mode().iloc[0]
        unusual_sizes = sizes[sizes != usual_size]
        case, seed, metric = unusual_sizes.index[0]
        raise InputFileError(
            f"{file}: case {case}, seed {seed} has {unusual_sizes.iloc[0]} rows of {metric} where others "
            f"have {usual_size}, so it cannot be told which reading a row is",
            column="metric",
            value=(case, seed, metric),
            path=file,
        )
    return groups.cumcount()
