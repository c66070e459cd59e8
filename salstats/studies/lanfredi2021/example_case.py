"""Fig. 1, the maps of one case, and the spread of sampled AUC and sAUC on it."""

from collections.abc import Sequence

import numpy as np
import pandas as pd
import plotnine as p9

from salstats.display.plots.layout.axis_ticks import log_breaks, log_texts, tick_texts
from salstats.display.plots.layout.figure import Figure, keep_call_in_figure
from salstats.display.plots.layout.legends import group_scales, method_labels_references_first
from salstats.display.plots.layout.panel_grid import panel_grid
from salstats.display.plots.layout.points import evenly_spread_fractions_in_groups
from salstats.display.plots.layout.text_fit import (
    escape_dollars,
    text_width_mm,
)
from salstats.display.plots.layout.theme import (
    COLUMN_MM,
    PAGE_MM,
    PALETTE,
    REFERENCE_COLOUR,
)
from salstats.display.text.format import count_text, counted
from salstats.display.text.labels import Labels
from salstats.errors import SalstatsError
from salstats.images.printed_images import outlines_as_row_col_lines, printed_shape
from salstats.readers.background_images import read_grey_for_print
from salstats.scoring.density_figures import SHARES_NOTE, plot_densities, shares_above_minimum
from salstats.scoring.gaze_cases import (
    ALL,
    GazeRule,
    GazeTruths,
    center_bias_on_image_or_reason,
    resized_if_finite,
)
from salstats.scoring.gaze_sampling import spread_over_replicates
from salstats.studies.declarations import ItemResult
from salstats.studies.lanfredi2021.gaze_scores import (
    MIXING_AS_GIVEN,
    NO_MIXING,
    STUDY_LABELS,
    Recordings,
    printed_row_names,
    with_mixing_removed_from_method_names,
    with_mixing_split_from_method,
    with_no_mixing_as_missing,
)
from salstats.studies.result_tables import table_of
from salstats.study import Case, Study, shape_of

HULL = "convex"
#: Width of a size's points, as a part of the distance between two sizes.
_SPREAD = 0.5
#: Least gap between two labels of ticks.
_TICK_GAP_MM = 1.5
#: Height of a panel over its width.
_PANEL_RATIO = 0.8


def figure_1_fixations_and_maps(recordings: Recordings) -> ItemResult:
    """Fig. 1: fixations of the picked case, their mean map, centre bias, a map and the hull of the lungs."""
    study = recordings.study
    pick = recordings.pick_of_median_case
    row = pick.iloc[0]
    case = study.select(cases=[row["case"]]).cases[0]
    rule = GazeRule(study.series, ("sauc",), recordings.options.center_bias, truth=ALL, min_readers=1)
    # With `truth=ALL` there is one truth, of all readers.
    truths = GazeTruths(case, rule)
    density = center_bias_on_image_or_reason(case, truths, recordings.bias, rule).density
    name = printed_row_names(pick)[0]
    # The panel of the fixations has no map.
    maps = {"Fixations": None, "Mean fixation map": truths.densities[0]}
    if density is not None:
        maps["Centre bias"] = density
    lines = {}
    # If the hull is the picked method itself, the second entry replaces the first, so that it has one panel.
    title_by_method = {row["method"]: name, HULL: "Hull of the lungs"}
    for method, title in title_by_method.items():
        saliency = _first_map_at_image_size(study, case, method, row["mixing"])
        if saliency is not None:
            maps[title] = shares_above_minimum(saliency)
            if method == HULL:
                lines[title] = outlines_as_row_col_lines(saliency > 0)
    shape = shape_of(case)
    grey = read_grey_for_print(recordings.options.images, case.case, shape, printed_shape(shape, PAGE_MM / 2))
    notes = [
        f"Case {case.case}, {counted(len(case.used), 'reader')}.",
        f"Points: fixations. {SHARES_NOTE}",
    ]
    if grey is None:
        notes.append("Grey ground: no image was given.")
    table = table_of(
        pick.assign(method=name),
        "lanfredi2021",
        {"Case": "case"},
        {"Method": "method", "sAUC, mean over readers": ("score", 3), "Median of cases": ("target", 3)},
    )
    return ItemResult(
        with_no_mixing_as_missing(pick),
        table,
        plot_densities(maps, grey=grey, lines=lines, points={"Fixations": truths.points[0]}, notes=notes),
        note=f"the case whose mean sAUC of {name} is nearest to the median; ties by name",
    )


def _first_map_at_image_size(
    study: Study, case: Case, method: str, preferred_mixing: str
) -> np.ndarray | None:
    """Return a method's first map, of the given mixing if it has that, at the size of the image."""
    method_series = [series for series in study.series if series.method == method]
    mixed_series = [series for series in method_series if series.mixing == preferred_mixing]
    predictions = {prediction.series: prediction for prediction in case.predictions}
    for series in mixed_series or method_series:
        if series not in predictions:
            continue
        saliency = predictions[series].read().saliency
        if saliency is None:
            continue
        on_case = resized_if_finite(saliency, shape_of(case))
        if on_case is not None:
            return on_case
    return None


def sd_of_sampled_auc_by_sample_size(recordings: Recordings) -> ItemResult:
    """Show the standard deviation of sampled AUC and sAUC by sample size, on the picked case."""
    spread = spread_over_replicates(recordings.sampled_scores_of_median_case)
    mean = spread.groupby(["metric", "n_samples"])["sd"].mean().unstack("metric")
    labels = Labels(STUDY_LABELS)
    named = with_mixing_split_from_method(spread)
    # The figure shows one mixing, since those of a method scatter alike.
    drawn_mixings = [NO_MIXING, MIXING_AS_GIVEN, recordings.pick_of_median_case["mixing"].iloc[0]]
    drawn_spread = named[named["mixing"].isin(drawn_mixings)]
    table = table_of(
        mean.reset_index(),
        "lanfredi2021",
        {"Pixels drawn on either side": "n_samples"},
        {labels.value("metric", metric): (str(metric), 4) for metric in mean},
        notes=["Standard deviation of the sampled value, mean over methods and readers."],
    )
    return ItemResult(
        spread,
        table,
        plot_mean_sd_of_auc_by_pixels(drawn_spread),
        slice=f"case {recordings.pick_of_median_case['case'].iloc[0]}",
        note="pixels drawn with replacement, as the study does (1,000 on either side)",
    )


def sampled_beside_exact_auc(recordings: Recordings) -> ItemResult | None:
    """Show the sampled values of one map against one truth around the exact ones."""
    method, mixing = recordings.pick_of_median_case[["method", "mixing"]].iloc[0]
    samples = with_mixing_removed_from_method_names(recordings.sampled_scores_of_median_case)
    samples = samples[samples["method"] == method]
    if "mixing" in samples and mixing in STUDY_LABELS["mixing"] and (samples["mixing"] == mixing).any():
        samples = samples[samples["mixing"] == mixing]
    keys = [column for column in ("model", "seed", "mixing", "reader") if column in samples]
    first_keys = samples[keys].iloc[0]
    is_of_first_map = (samples[keys].fillna("") == first_keys.fillna("")).all(axis=1)
    samples = samples[is_of_first_map].reset_index(drop=True)
    if samples["estimate"].isna().all():
        return None
    labels = Labels(STUDY_LABELS)
    groups = samples.groupby(["metric", "n_samples"])
    sizes = groups["estimate"].describe().assign(exact=groups["exact"].first()).reset_index()
    columns = {"Mean": "mean", "SD": "std", "Smallest": "min", "Largest": "max", "Exact": "exact"}
    table = table_of(
        sizes,
        "lanfredi2021",
        {"Metric": lambda r: labels.value("metric", r.metric), "Pixels drawn on either side": "n_samples"},
        {heading: (name, 4) for heading, name in columns.items()},
    )
    return ItemResult(
        samples,
        table,
        plot_sampled_auc(samples),
        slice=f"case {recordings.pick_of_median_case['case'].iloc[0]}",
    )


@keep_call_in_figure
def plot_mean_sd_of_auc_by_pixels(spread: pd.DataFrame, *, width: float = COLUMN_MM) -> Figure:
    """Plot the mean SD of sampled AUC and sAUC by the number of sampled pixels, both axes logarithmic.

    A line per method; the mean is over cases and readers.
    """
    labels = Labels(STUDY_LABELS)
    rows = spread[spread["sd"] > 0]
    if rows.empty:
        raise SalstatsError("spread has nothing to draw: no sampled value differs from another", column="sd")
    means = rows.groupby(["metric", "method", "n_samples"])["sd"].mean().reset_index()
    methods = labels.order("method", means["method"])
    if width <= COLUMN_MM:
        texts = method_labels_references_first(labels, methods)
    else:
        # A page has room for whole names.
        texts = {method: escape_dollars(labels.value("method", method)) for method in methods}
    means["name"] = pd.Categorical([texts[m] for m in means["method"]], list(texts.values()), ordered=True)
    means["panel"] = labels.categorical(means, "metric")
    grid = panel_grid(list(means["panel"].cat.categories), width=width)
    line = _inverse_root_n_lines(means)
    sizes = sorted(means["n_samples"].unique())
    limits = (float(means["sd"].min()), float(means["sd"].max()))
    return (
        Figure(means, p9.aes("n_samples", "sd", color="name", shape="name"))
        + p9.geom_line(size=0.4, show_legend=False)
        + p9.geom_point(size=1.4, stroke=0)
        + p9.geom_line(
            p9.aes("n_samples", "sd"),
            line,
            color=REFERENCE_COLOUR,
            size=0.4,
            linetype="dashed",
            inherit_aes=False,
        )
        + p9.scale_x_log10(
            breaks=sizes, labels=_tick_labels(sizes, grid.panel_width), minor_breaks=[], expand=(0.09, 0)
        )
        + p9.scale_y_log10(breaks=log_breaks(limits), labels=log_texts, minor_breaks=[], expand=(0.04, 0))
        + grid.elements(
            grid.panel_height(_PANEL_RATIO),
            x="Pixels drawn on either side",
            y="SD of the sampled value",
            notes=_notes_of_auc_sd_figure(spread, rows, labels),
            legend=list(texts.values()),
        )
        + group_scales(texts, width=width, labels=labels)
        + p9.theme(legend_key_width=9, legend_key_height=8)
        # A single panel needs its title too, since that names the metric.
        + p9.facet_wrap("panel", ncol=grid.n_columns)
    )


def _notes_of_auc_sd_figure(spread: pd.DataFrame, drawn_rows: pd.DataFrame, labels: Labels) -> list[str]:
    """Write the notes of `plot_mean_sd_of_auc_by_pixels`.

    `drawn_rows` are those rows of `spread` that are drawn.
    """
    n_cases = counted(drawn_rows["case"].nunique(), "case")
    n_readers = counted(drawn_rows["reader"].nunique(), "reader")
    notes = [f"Mean SD over {n_cases} and {n_readers}.", "Dashed: 1 / √n."]
    mixings = set(drawn_rows.get("mixing", ()))
    mixing_names = [
        name for name in labels.values_named_by_user("mixing") if name != MIXING_AS_GIVEN and name in mixings
    ]
    if mixing_names:
        notes.append(f"Maps of several classes: {mixing_names[0]} mixing.")
    n_undrawn = len(spread) - len(drawn_rows)
    if n_undrawn:
        notes.append(f"Not drawn: {counted(n_undrawn, 'row')} without spread.")
    return notes


@keep_call_in_figure
def plot_sampled_auc(samples: pd.DataFrame, *, width: float = COLUMN_MM) -> Figure:
    """Plot sampled values of one map against one truth by sample size, the exact value as a line."""
    rows = samples[samples["estimate"].notna()].reset_index(drop=True)
    labels = Labels(STUDY_LABELS)
    sizes = sorted(rows["n_samples"].unique())
    position = rows["n_samples"].map({size: i for i, size in enumerate(sizes)})
    # Points of one size are spread evenly around its position on the axis, by fractions from 0 to 1.
    fraction = evenly_spread_fractions_in_groups([rows["metric"], rows["n_samples"]])
    rows["at"] = position + _SPREAD * (fraction - 0.5)
    rows["panel"] = labels.categorical(rows, "metric")
    grid = panel_grid(list(rows["panel"].cat.categories), width=width, free_axes=True)
    exact = rows.drop_duplicates("panel")[["panel", "exact"]]
    first = rows.iloc[0]
    notes = [
        f"{labels.value('method', first['method'])}, case {first['case']}, reader {first['reader']} left "
        f"out: {counted(rows['replicate'].nunique(), 'sample')} of each size.",
        "Line: exact value.",
    ]
    return (
        Figure(rows, p9.aes("at", "estimate"))
        + p9.geom_point(color=PALETTE[0], size=0.7, stroke=0, alpha=0.5)
        + p9.geom_hline(p9.aes(yintercept="exact"), exact, color=REFERENCE_COLOUR, size=0.5)
        + p9.scale_x_continuous(
            breaks=range(len(sizes)),
            labels=_tick_labels(sizes, grid.panel_width),
            minor_breaks=[],
            limits=(-0.5, len(sizes) - 0.5),
            expand=(0.02, 0),
        )
        + p9.scale_y_continuous(minor_breaks=[], labels=tick_texts)
        + grid.elements(
            grid.panel_height(_PANEL_RATIO), x="Pixels drawn on either side", y="Sampled value", notes=notes
        )
        + p9.facet_wrap("panel", ncol=grid.n_columns, scales="free")
    )


def _inverse_root_n_lines(means: pd.DataFrame) -> pd.DataFrame:
    """Return the ends of a line constant / sqrt(n) in each panel, through the middle of its values."""
    ends = np.array([means["n_samples"].min(), means["n_samples"].max()], dtype=np.float64)
    parts = []
    for panel, rows in means.groupby("panel", observed=True):
        # sd = constant / sqrt(n): the geometric mean of sd * sqrt(n) fits it on logarithmic axes.
        constant = np.exp(np.log(rows["sd"] * np.sqrt(rows["n_samples"])).mean())
        parts.append(pd.DataFrame({"panel": panel, "n_samples": ends, "sd": constant / np.sqrt(ends)}))
    line = pd.concat(parts, ignore_index=True)
    return line.assign(panel=pd.Categorical(line["panel"], means["panel"].cat.categories, ordered=True))


def _tick_labels(sizes: Sequence[float], width_mm: float) -> list[str]:
    """Write sample sizes below an axis of a width in mm; every second one is blank where they do not fit."""
    texts = [count_text(size) for size in sizes]
    needed_width = sum(text_width_mm(text) + _TICK_GAP_MM for text in texts)
    if needed_width <= width_mm:
        return texts
    for i in range(1, len(texts), 2):
        texts[i] = ""
    return texts
