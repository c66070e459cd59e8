"""Data that come with the package, published numbers, and data that are fetched with a checksum."""

import os
from pathlib import Path
from typing import cast

import pandas as pd

from salstats.checks import check_choice
from salstats.coded_text import TEXT
from salstats.errors import InputFileError, needed_for
from salstats.files.input_files import data_folder
from salstats.readers import lanfredi2021
from salstats.readers.scores import read_scores

#: Address of the workbooks of Bigolin Lanfredi et al. (2021), at a fixed commit.
LANFREDI2021_URL = (
    "https://raw.githubusercontent.com/ricbl/etsaliencymaps/"
    "bd4b71db32fa3257214854b82daa10fae3f6a848/results_tables_paper/"
)
#: Name of a workbook -> its checksum.
LANFREDI2021_SHA256 = {
    lanfredi2021.JOINT: "88d7827f2a05d060fe007a8120f46614ab698145fd70f5e6456fbd5fc53829bd",
    lanfredi2021.NORMAL_ABNORMAL: "c5258d00b8821957466418c958b410f7d08155281f6c070c7e6becf914cec9ef",
    lanfredi2021.CLASSIFICATION: "d4e039cade448cd57f5546b2e2b62602960a6c21a5b668946f6f9e29462eec74",
}
_TIMEOUT_S = 30


def load_simulated() -> pd.DataFrame:
    """Load the embedded data set of a simulated study.

    Made once with `simulate_scores` by `analyses/make_simulated_scores.py`: 140 patients, five findings,
    two saliency methods and a human benchmark. No number in it comes from a patient.
    `simulation_truth()` gives the parameters behind it.

    Returns
    -------
    DataFrame
        A scores frame with the columns of `simulate_scores`; scores and covariates are rounded.

    Examples
    --------
    >>> scores = load_simulated()
    >>> sorted(scores["method"].unique())
    ['gradcam', 'human', 'occlusion']
    """
    return read_scores(data_folder() / "simulated_scores.csv")


def load_digits_scores(*, seed: str | int | None = "0") -> pd.DataFrame:
    """Load the scores of the embedded study of real networks and maps, with a simulated annotator.

    Two small networks were trained to find handwritten digits on cluttered canvases; eight methods drew maps,
    and each map was compared with the digit. Digits, networks and maps are real. The method `human` is not:
    it is a simulated second annotator, made from the truth by moving, widening and missing digits.

    Parameters
    ----------
    seed : {"0", "1", "2", "mean"}, int or None
        Training of the networks. "0" is the study. "1", "2", and "mean", the mean of the maps (and of the
        probabilities) of the three trainings, have only the main data set and the digits that are present,
        and neither insertion nor annotator. None: all of them.

    Returns
    -------
    DataFrame
        A scores frame. `report` takes one data set and network at a time:
        `only={"dataset": "textured", "model": "residual"}`.

        dataset
            "textured", the main one (200 canvases), "quiet" and "crowded" (100 each).
        case, task
            A canvas, and the digit to be found: "digit 0" to "digit 9".
        method
            "gradcam", "gradcam++", "layercam", "eigencam", "integrated_gradients", "deeplift", "occlusion",
            "rise", and "human", **simulated**, with the same rows for both models.
        model, seed
            "plain" or "residual", and the training.
        metric, score
            "iou", "dice", "hit", "energy", "insertion" (the last two of maps only), to four decimals; NaN
            where the digit is not on the canvas and where `reason` says so.
        reason
            As from `score`.
        prob, label
            The network's probability of the digit, to six decimals, and 1 if the digit is present, else 0.
        n_instances, area_ratio, elongation, irrectangularity
            Features of the digit, as from `features`.
        threshold
            "otsu" for the overlaps of maps.
        human_label
            "Simulated annotator", the name of the method `human` in tables and figures of these data.

    See Also
    --------
    load_digits_features : all features.
    digits_examples : a dozen of the canvases with their maps.

    Notes
    -----
    Tables, figures and reports use `human_label` as the name of `human`; for a frame without that column,
    give them `labels={"human": "Simulated annotator"}`.

    Made by `analyses/digits_study.py`, which makes all of it anew; `data/README.md` has the sources.

    References
    ----------
    Alpaydin E, Kaynak C. Optical Recognition of Handwritten Digits. UCI Machine Learning Repository, 1998.
    https://doi.org/10.24432/C50P49 (CC BY 4.0).

    Examples
    --------
    >>> scores = load_digits_scores()
    >>> sorted(scores["dataset"].unique())
    ['crowded', 'quiet', 'textured']
    """
    scores = read_scores(_digits_folder() / "scores.parquet").assign(human_label="Simulated annotator")
    if seed is None:
        return scores
    name = check_choice(str(seed), sorted(scores["seed"].unique()), "seed")
    return scores[scores["seed"] == name].reset_index(drop=True)


def load_digits_features() -> pd.DataFrame:
    """Load the features of every digit on every canvas of the digits study.

    Returns
    -------
    DataFrame
        `dataset`, then the columns of `features`; one row per case and task, also where the digit is absent.

    See Also
    --------
    load_digits_scores

    Examples
    --------
    >>> shapes = load_digits_features()
    >>> bool(shapes["elongation"].min() >= 1)
    True
    """
    return pd.read_csv(_digits_folder() / "features.csv")


def digits_examples() -> Path:
    """Return the folder of a dozen canvases of the digits study, with truth, simulated annotator and maps.

    Returns
    -------
    Path
        A map folder, for `read_study` and `salstats score`: all methods of the network "residual". The
        canvases are in `images`. Its `human` masks are simulated, as `load_digits_scores` says.

    Examples
    --------
    >>> len(list((digits_examples() / "images").glob("*.png")))
    12
    """
    return _digits_folder() / "examples"


def _digits_folder() -> Path:
    """Return the folder of the digits study."""
    return data_folder() / "digits"


def load_lanfredi2021(*, sheet: str | None = "thresholded") -> pd.DataFrame:
    """Load the per-case scores that Bigolin Lanfredi et al. (2021) published with their study of gaze.

    A score measures the agreement of a saliency map with where one radiologist looked: five readings of each
    of 91 chest X-rays, maps of five networks that differ in their seed. Larger is better for every metric.
    All scores come with the package, under their MIT licence, as `read_lanfredi2021` reads them from the
    study's workbooks.

    Parameters
    ----------
    sheet : {"thresholded", "weighted", "uniform", "normal_abnormal"}, optional
        As for `read_lanfredi2021`: how Grad-CAM's classes were mixed, or the second run, of uniform mixing,
        whose images have majority labels. None: all four in one frame, named in the column `dataset`.

    Returns
    -------
    DataFrame
        A scores frame of 54,600 rows, `case, reader, seed, method, mixing, metric, score`, and
        `abnormal, pleural, parenchymal, cardiomediastinal` with `sheet="normal_abnormal"`. Values, order and
        meaning are those of `read_lanfredi2021`. With `sheet=None` 218,400 rows, the sheet in the column
        `dataset`, and the labels NaN where an image has none.

    Raises
    ------
    ValueRangeError
        `sheet` is not one of the four.

    See Also
    --------
    load_lanfredi2021_classification : area under the ROC curve of the networks.
    fetch_lanfredi2021 : the workbooks themselves.
    salstats.reproduce : the study's tables.

    Notes
    -----
    Made by `analyses/embed_lanfredi2021.py`. Copyright (c) 2021 Ricardo Bigolin Lanfredi; the licence is in
    `data_folder() / "lanfredi2021" / "LICENSE"`.

    References
    ----------
    Bigolin Lanfredi R, Arora A, Drew T, Schroeder JD, Tasdizen T. Comparing radiologists' gaze and
    saliency maps generated by interpretability methods for chest x-rays. 2021.
    https://doi.org/10.48550/arXiv.2112.11716. Workbooks: ricbl/etsaliencymaps, `results_tables_paper`,
    commit bd4b71d.

    Examples
    --------
    >>> scores = load_lanfredi2021(sheet="uniform")
    >>> sauc = scores.query("metric == 'sauc' and method == 'gradcam_wag'")
    >>> round(float(sauc["score"].mean()), 3)
    0.529
    """
    if sheet is None:
        sheets = [load_lanfredi2021(sheet=name).assign(dataset=name) for name in lanfredi2021.SHEETS]
        return pd.concat(sheets, ignore_index=True)
    check_choice(sheet, lanfredi2021.SHEETS, "sheet")
    labels = list(lanfredi2021.LABELS)
    file = data_folder() / "lanfredi2021" / "scores.parquet"
    readings = pd.read_parquet(file, filters=[("sheet", "==", sheet)]).drop(columns="sheet")
    if sheet == "normal_abnormal":
        readings = readings.astype(dict.fromkeys(labels, "int64"))
    else:
        readings = readings.drop(columns=labels)
        labels = []
    # one row for each reading and network, one column for each metric and method
    wide = readings.set_index(["case", "reader", "seed", "mixing", *labels])
    wide.columns = pd.MultiIndex.from_product(
        [lanfredi2021.METRICS, lanfredi2021.METHODS.values()], names=["metric", "method"]
    )
    # stacking all levels of the columns gives a series, not a frame
    stacked = cast(pd.Series, wide.stack(["metric", "method"], future_stack=True))
    scores = stacked.rename("score").reset_index()
    identifiers = ["case", "reader", "seed", "method", "mixing", "metric"]
    # pandas 2 reads text from Parquet files as Python objects
    return scores[[*identifiers, "score", *labels]].astype(dict.fromkeys(identifiers, TEXT))


def load_lanfredi2021_classification() -> pd.DataFrame:
    """Load the area under the ROC curve of each network of Bigolin Lanfredi et al. (2021).

    The numbers are those of `read_lanfredi2021_mean_auc_by_network`; source and licence are as for
    `load_lanfredi2021`.

    Returns
    -------
    DataFrame
        Ten rows: `model` ("woag" or "wag", without or with attention gates), `seed`, and `auroc`, averaged
        over 14 labels.

    Examples
    --------
    >>> load_lanfredi2021_classification().groupby("model")["auroc"].mean().round(3).to_dict()
    {'wag': 0.769, 'woag': 0.774}
    """
    file = data_folder() / "lanfredi2021" / "classification_auc.csv"
    return pd.read_csv(file, dtype={"model": TEXT, "seed": TEXT})


def load_reflacx() -> pd.DataFrame:
    """Load the agreement of the readers of the REFLACX gaze data, image by image, as published.

    Five radiologists read the same chest X-rays, 59 in a first and 50 in a second phase, and marked the chest
    with a box and findings with ellipses, while their gaze was recorded. The data have the MIT licence.

    Returns
    -------
    DataFrame
        A scores frame of 550 rows, one for each image, task and method. Values of single readers were not
        published.

        case, phase
            An image, and the phase (1 or 2). Equal numbers under `p` (IoU) and `e` (NCC) need not be the same
            image.
        task
            "Chest box", a finding by its name in the phase, or "Any finding" (NCC).
        method
            "human": a reader's marks compared with another's. "gaze": a reader's gaze compared with the
            ellipses that the same reader drew; "mean_gaze": the readers' mean gaze over all images compared
            with these ellipses.
        metric, score
            "iou", the mean over the pairs of readers (for ellipses, of readers who drew any), or "ncc", the
            mean over the readings. Larger is better.

    See Also
    --------
    load_lanfredi2021 : saliency maps against the gaze of these readers.

    Notes
    -----
    The publication gives the mean over images and SD / sqrt(number of images), as the column `std_error` of
    `salstats.summarize`. Made by `analyses/embed_reflacx.py`. Copyright (c) 2020 Ricardo Bigolin Lanfredi;
    the licence is in `data_folder() / "reflacx" / "LICENSE"`.

    References
    ----------
    Bigolin Lanfredi R, Zhang M, Auffermann WF, et al. REFLACX, a dataset of reports and eye-tracking data
    for localization of abnormalities in chest x-rays. Scientific Data 9, 350 (2022).
    https://doi.org/10.1038/s41597-022-01441-z. Workbooks: ricbl/eyetracking, commit 9824bf9.

    Examples
    --------
    >>> scores = load_reflacx()
    >>> hearts = scores.query("phase == 1 and task == 'Enlarged cardiac silhouette'")
    >>> len(hearts), round(float(hearts["score"].mean()), 4)
    (20, 0.7548)
    """
    return pd.read_parquet(data_folder() / "reflacx" / "agreement.parquet")


def load_coverage() -> pd.DataFrame:
    """Load the coverage of intervals and the size of tests in simulated studies of known truth.

    The defaults of this package are compared with textbook methods, for several numbers of units, sizes of
    clusters and dependence within them. Made by `analyses/coverage_atlas.py`, which describes how studies are
    simulated.

    Returns
    -------
    DataFrame
        One row per scenario, design and interval.

        statistic, scenario, source
            The estimated statistic ("mean", "difference", "AUROC", ...), the kind of scores, and the source
            of the studies: "simulated", or drawn from the real scores of "digits" or "gaze".
        n_units, cluster, icc
            Number of units of a study; cases per unit: "1", "1-5", "few huge" (1 to 5, but two units have 40)
            or "as observed"; and the intraclass correlation of the normal variables from which scores are
            made.
        role, interval, taken
            "default", "textbook" or "other"; the option that was given ("default": none); and the column
            `interval` of the result.
        n_studies, n_known
            Number of studies, and of studies whose interval has limits.
        coverage, mc_error, missed_below, missed_above, width
            Share of the 95 % intervals that hold the truth, and its Monte-Carlo error; shares of intervals
            that lie below and above the truth; median width.
        rejected, rejected_mc_error
            Share of studies with P <= .05 under the null hypothesis, and its Monte-Carlo error; for "family",
            with any of ten P values <= .05.
        cautioned, coverage_without_caution
            Share of studies whose estimate has a caution, and coverage in the others; missing in cells that
            were simulated before cautions were counted.
        lowest, highest, least_rejected, most_rejected, held
            The bounds for coverage and for rejections of a default, and whether it lies within: "yes",
            "within error" (outside by at most two Monte-Carlo errors) or "no".
        seconds
            Computing time on one core.

    See Also
    --------
    salstats.plot_coverage

    Examples
    --------
    >>> coverage = load_coverage()
    >>> list(coverage.columns[:4])
    ['statistic', 'scenario', 'source', 'n_units']
    """
    return pd.read_parquet(data_folder() / "coverage" / "coverage.parquet")


def published_names() -> list[str]:
    """List the names for `load_published`, in alphabetical order.

    Examples
    --------
    >>> published_names()
    ['lanfredi2021_classification_auc', 'lanfredi2021_tables', 'mrxai2025_dice', 'saliency_bench_table2',
     'saliency_bench_table3', 'saliency_bench_table4', 'saporta2021_auroc_hit',
     'saporta2021_full_dataset_miou', 'saporta2022_table3', 'saporta2022_text']
    """
    return sorted(file.stem for file in (data_folder() / "published").glob("*.csv"))


def load_published(name: str) -> pd.DataFrame:
    """Load numbers that a study printed.

    Parameters
    ----------
    name : str
        One of `published_names()`. `lanfredi2021_tables`: the 34 rows of Tables 1 to 4 of the gaze study.
        `lanfredi2021_classification_auc`: the two rows of its Appendix A. `mrxai2025_dice`: mean and SD of
        Dice of two tools on brain MRI. `saliency_bench_table2`: metrics of six methods, two networks and
        eight data sets; `saliency_bench_table3`: the printed correlations between these metrics (those with
        the pointing game do not follow from the printed Table 2); `saliency_bench_table4`: the
        metrics of the attention of a vision transformer. `saporta2021_auroc_hit`: AUROC, mean IoU and hits
        of ten findings, March 2021, superseded in places by the published version, as is
        `saporta2021_full_dataset_miou`: mean IoU of Grad-CAM and people on the full slice.
        `saporta2022_table3`: slopes and Spearman correlations of IoU on probability. `saporta2022_text`:
        numbers of the published text.

    Returns
    -------
    DataFrame
        The columns of the file, with NaN for an empty cell. `data/README.md` tells where each number was
        printed.

        lanfredi2021_tables
            `table, subset, method, mixing, metric, mean, conf_low, conf_high, n_images`.
        lanfredi2021_classification_auc
            `model, auc_mean, conf_low, conf_high, n_seeds`.
        saliency_bench_table2, saliency_bench_table4
            `model, dataset, method, metric, value` (in another order in Table 4); `metric` is `miou`, `pg`
            (pointing game, "hit_any" here) or `iauc` (insertion).
        saliency_bench_table3
            `model, metric_1, metric_2, method, correlation`.
        saporta2021_auroc_hit
            `task, auroc, miou, hits, n`; the hit rate is `hits / n`.
        saporta2021_full_dataset_miou
            `task, method, n, miou, conf_low, conf_high`.
        saporta2022_table3
            `task, slope, spearman, n`; the last row is Overall.
        saporta2022_text
            `quantity, value, conf_low, conf_high`.

    Raises
    ------
    ValueRangeError
        `name` is not one of these; the error has them as choices.

    Examples
    --------
    >>> load_published("saporta2021_auroc_hit").head(2)
                   task   auroc   miou  hits    n
    0  Airspace Opacity  0.8937  0.135    96  309
    1       Atelectasis  0.8178  0.104    60  177
    """
    check_choice(name, published_names(), "name")
    return pd.read_csv(data_folder() / "published" / f"{name}.csv")


def fetch_lanfredi2021(
    folder: str | os.PathLike[str] | None = None, *, base_url: str = LANFREDI2021_URL
) -> Path:
    """Download the three workbooks of Bigolin Lanfredi et al. (2021), 6 MB, and return their folder.

    A workbook in the folder with the right checksum is not downloaded again; one with another checksum is
    replaced. A file appears under its name only when it is complete and its checksum is right. A line on
    standard error (pooch's logger) names each download.

    Parameters
    ----------
    folder : str or path, optional
        Folder for the workbooks; made if missing. By default the user's cache folder for salstats.
    base_url : str
        Address of the folder of the workbooks, such as a mirror's.

    Returns
    -------
    Path
        The folder, for `read_lanfredi2021` and `salstats reproduce lanfredi2021 --data`.

    Raises
    ------
    InputFileError
        The server cannot be reached or lacks the file; the file from it has another checksum; the folder
        cannot be written. The message tells how to get the file by hand.

    References
    ----------
    Bigolin Lanfredi R, Arora A, Drew T, Schroeder JD, Tasdizen T. Comparing radiologists' gaze and
    saliency maps generated by interpretability methods for chest x-rays. 2021.
    https://doi.org/10.48550/arXiv.2112.11716. Workbooks: ricbl/etsaliencymaps, `results_tables_paper`,
    commit bd4b71d, MIT licence.

    Examples
    --------
    A server that is not there:

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     fetch_lanfredi2021(folder, base_url="http://127.0.0.1:9/")  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    salstats.errors.InputFileError: cannot download joint_scores_table1_table2_etsaliencymaps.xlsx from ...
    """
    with needed_for("a download"):
        import pooch

    target = Path(folder) if folder is not None else Path(pooch.os_cache("salstats")) / "lanfredi2021"
    for name, sha256 in LANFREDI2021_SHA256.items():
        url = f"{base_url.rstrip('/')}/{name}"
        # no streaming, as the response of a failed download would keep its socket open
        downloader = pooch.HTTPDownloader(timeout=_TIMEOUT_S, stream=False)
        try:
            pooch.retrieve(
                url,
                known_hash=f"sha256:{sha256}",
                fname=name,
                path=target,
                downloader=downloader,
            )
        except (ValueError, OSError) as error:
            raise InputFileError(
                f"cannot download {name} from {url} to {target}: {_download_failure_reason(error)}",
                hint="get the file by hand from the folder results_tables_paper of "
                f"github.com/ricbl/etsaliencymaps and put it into {target}",
                path=target / name,
            ) from error
    return target


def _download_failure_reason(error: Exception) -> str:
    """Return why a download failed, as text for the error."""
    response = getattr(error, "response", None)
    if response is not None:
        return f"the server answers {response.status_code}"
    # network errors of requests are OSErrors, a wrong checksum is a ValueError
    if isinstance(error, OSError):
        return error.strerror or f"the server cannot be reached ({type(error).__name__})"
    return "the file from the server has another checksum, so it was not kept"
