"""Pictures of one case, and what sampling pixels costs on it."""

from collections.abc import Sequence

import numpy as np
import pandas as pd
import plotnine as p9

from salstats.display.plots.layout.axis_ticks import log_breaks, log_texts, tick_texts
from salstats.display.plots.layout.figure import plot_function
from salstats.display.plots.layout.legends import group_scales, method_labels
from salstats.display.plots.layout.panel_grid import panel_grid
from salstats.display.plots.layout.points import even_share
from salstats.display.plots.layout.text_fit import (
    escape_dollars,
    text_mm,
)
from salstats.display.plots.layout.theme import (
    COLUMN_MM,
    PAGE_MM,
    PALETTE,
    REFERENCE,
)
from salstats.display.text.format import count_text, counted
from salstats.display.text.labels import Labels
from salstats.errors import SalstatsError
from salstats.images.printed_images import outlines, printed_shape
from salstats.readers.case_images import read_grey
from salstats.scoring.density_figures import plot_densities, share_per_pixel
from salstats.scoring.gaze_cases import ALL, GazeRule, GazeTruths, bias_on, on_image
from salstats.scoring.gaze_sampling import spread_of
from salstats.studies.engine import Result, table_of
from salstats.studies.lanfredi2021.gaze_scores import (
    GIVEN,
    NONE,
    RAW_LABELS,
    Recordings,
    base_methods,
    named_mixings,
    row_names,
    without_blanks,
)
from salstats.study import Case, Study, shape_of

HULL = "convex"
#: Part of the distance between two sizes that their points take.
_SPREAD = 0.5
_SHARE = 0.8


def example(given: Recordings) -> Result:
    """The case picked: fixations, their mean map, centre bias, the map and the hull of the lungs."""
    study, pick, center_bias = given.study, given.pick, given.options.center_bias
    row = pick.iloc[0]
    case = next(c for c in study if c.case == row["case"])
    rule = GazeRule(study.series, ("sauc",), center_bias, truth=ALL, min_readers=1)
    truths = GazeTruths(case, rule)
    density = bias_on(case, truths, given.bias, rule).density
    name = row_names(pick)[0]
    maps = {"Fixations": None, "Mean fixation map": truths.densities[0]}
    if density is not None:
        maps["Centre bias"] = density
    lines = {}
    # the hull once, where it is the method itself
    for method, title in {row["method"]: name, HULL: "Hull of the lungs"}.items():
        shown = _map_of(study, case, method, row["mixing"])
        if shown is not None:
            maps[title] = share_per_pixel(shown)
            if method == HULL:
                lines[title] = outlines(shown > 0)
    shape = shape_of(case)
    grey = read_grey(given.options.images, case.case, shape, printed_shape(shape, PAGE_MM / 2))
    notes = [
        f"Case {case.case}, {counted(len(case.used), 'reader')}.",
        "Points: fixations. Every map sums to 1 and is taken above its least value.",
        "" if grey is not None else "Grey ground: no image was given.",
    ]
    return Result(
        without_blanks(pick),
        table_of(
            pick.assign(method=name),
            "lanfredi2021",
            {"Case": "case"},
            {"Method": "method", "sAUC, mean over readers": ("score", 3), "Median of cases": ("target", 3)},
        ),
        plot_densities(maps, grey=grey, lines=lines, points={"Fixations": truths.points[0]}, notes=notes),
        note=f"the case whose mean sAUC of {name} is nearest to the median; ties by name",
    )


def _map_of(study: Study, case: Case, method: str, mixing: str) -> np.ndarray | None:
    """The first map of a method at the size of the image; None where there is none to show."""
    wanted = [s for s in study.series if s.method == method]
    wanted = [s for s in wanted if s.mixing == mixing] or wanted
    given = {p.series: p for p in case.predictions}
    maps = (given[s].read().saliency for s in wanted if s in given)
    found = (on_image(saliency, shape_of(case)) for saliency in maps if saliency is not None)
    return next((saliency for saliency in found if saliency is not None), None)


def sampling_spread(given: Recordings) -> Result:
    """The standard deviation of sampled areas by sample size, on the example."""
    spread = spread_of(given.samples)
    mean = spread.groupby(["metric", "n_samples"])["sd"].mean().unstack("metric")
    labels = Labels(RAW_LABELS)
    # mixings of one method scatter alike
    named = named_mixings(spread)
    drawn = named[named["mixing"].isin([NONE, GIVEN, given.pick["mixing"].iloc[0]])]
    return Result(
        spread,
        table_of(
            mean.reset_index(),
            "lanfredi2021",
            {"Pixels drawn on either side": "n_samples"},
            {labels.value("metric", m): (m, 4) for m in mean},
            notes=["Standard deviation of the sampled value, mean over methods and readers."],
        ),
        plot_spread(drawn),
        slice=f"case {given.pick['case'].iloc[0]}",
        note="pixels drawn with replacement, as the study does (1,000 on either side)",
    )


def sampled_values(given: Recordings) -> Result | None:
    """The sampled areas of one map against one truth around the exact ones."""
    method, mixing = given.pick[["method", "mixing"]].iloc[0]
    samples = base_methods(given.samples)
    own = samples[samples["method"] == method]
    if "mixing" in own and mixing in RAW_LABELS["mixing"] and (own["mixing"] == mixing).any():
        own = own[own["mixing"] == mixing]
    keys = [c for c in ("model", "seed", "mixing", "reader") if c in own]
    first = own[keys].iloc[0]
    shown = own[(own[keys].fillna("") == first.fillna("")).all(axis=1)].reset_index(drop=True)
    if shown["estimate"].isna().all():
        return None
    labels = Labels(RAW_LABELS)
    groups = shown.groupby(["metric", "n_samples"])
    sizes = groups["estimate"].describe().assign(exact=groups["exact"].first()).reset_index()
    columns = {"Mean": "mean", "SD": "std", "Smallest": "min", "Largest": "max", "Exact": "exact"}
    table = table_of(
        sizes,
        "lanfredi2021",
        {"Metric": lambda r: labels.value("metric", r.metric), "Pixels drawn on either side": "n_samples"},
        {heading: (name, 4) for heading, name in columns.items()},
    )
    return Result(shown, table, plot_samples(shown), slice=f"case {given.pick['case'].iloc[0]}")


@plot_function
def plot_spread(spread: pd.DataFrame, *, width: float = COLUMN_MM) -> p9.ggplot:
    """The standard deviation of sampled AUC and sAUC by sample size, both axes logarithmic."""
    labels = Labels(RAW_LABELS)
    rows = spread[spread["sd"] > 0]
    if rows.empty:
        raise SalstatsError("spread has nothing to draw: no sampled value differs from another")
    means = rows.groupby(["metric", "method", "n_samples"], as_index=False)["sd"].mean()
    methods = labels.order("method", means["method"])
    # a page has room for whole names
    whole = {m: escape_dollars(labels.value("method", m)) for m in methods}
    texts = method_labels(labels, methods) if width <= COLUMN_MM else whole
    means["name"] = pd.Categorical([texts[m] for m in means["method"]], list(texts.values()), ordered=True)
    means["panel"] = labels.categorical(means, "metric")
    grid = panel_grid(list(means["panel"].cat.categories), width=width)
    line = _root_line(means)
    sizes = sorted(means["n_samples"].unique())
    tall = grid.panel_height(_SHARE)
    ends = (float(means["sd"].min()), float(means["sd"].max()))
    n_lost, over = len(spread) - len(rows), [counted(rows[c].nunique(), c) for c in ("case", "reader")]
    notes = [f"Mean SD over {' and '.join(over)}.", "Dashed: 1 / √n."]
    mixed = [m for m in labels.named("mixing") if m != GIVEN and m in set(rows.get("mixing", ()))]
    notes += [f"Maps of several classes: {mixed[0]} mixing."] if mixed else []
    notes += [f"Not drawn: {counted(n_lost, 'row')} without spread."] if n_lost else []
    return (
        p9.ggplot(means, p9.aes("n_samples", "sd", color="name", shape="name"))
        + p9.geom_line(size=0.4, show_legend=False)
        + p9.geom_point(size=1.4, stroke=0)
        + p9.geom_line(
            p9.aes("n_samples", "sd"), line, color=REFERENCE, size=0.4, linetype="dashed", inherit_aes=False
        )
        + p9.scale_x_log10(
            breaks=sizes, labels=_fitting(sizes, grid.panel_width), minor_breaks=[], expand=(0.09, 0)
        )
        + p9.scale_y_log10(breaks=log_breaks(ends), labels=log_texts, minor_breaks=[], expand=(0.04, 0))
        + grid.elements(
            tall,
            x="Pixels drawn on either side",
            y="SD of the sampled value",
            notes=notes,
            legend=list(texts.values()),
        )
        + group_scales(texts, width=width, labels=labels)
        + p9.theme(legend_key_width=9, legend_key_height=8)
        # a single panel has its title too, which says the metric
        + p9.facet_wrap("panel", ncol=grid.n_columns)
    )


@plot_function
def plot_samples(samples: pd.DataFrame, *, width: float = COLUMN_MM) -> p9.ggplot:
    """Sampled values of one map against one truth by sample size, the exact value as a line."""
    rows = samples[samples["estimate"].notna()].reset_index(drop=True)
    labels = Labels(RAW_LABELS)
    sizes = sorted(rows["n_samples"].unique())
    place = rows["n_samples"].map({size: i for i, size in enumerate(sizes)})
    share = even_share([rows["metric"], rows["n_samples"]])
    rows["at"] = place + _SPREAD * (share - 0.5)
    rows["panel"] = labels.categorical(rows, "metric")
    grid = panel_grid(list(rows["panel"].cat.categories), width=width, free=True)
    exact = rows.drop_duplicates("panel")[["panel", "exact"]]
    first = rows.iloc[0]
    notes = [
        f"{labels.value('method', first['method'])}, case {first['case']}, reader {first['reader']} left "
        f"out: {counted(rows['replicate'].nunique(), 'sample')} of each size.",
        "Line: exact value.",
    ]
    tall = grid.panel_height(_SHARE)
    return (
        p9.ggplot(rows, p9.aes("at", "estimate"))
        + p9.geom_point(color=PALETTE[0], size=0.7, stroke=0, alpha=0.5)
        + p9.geom_hline(p9.aes(yintercept="exact"), exact, color=REFERENCE, size=0.5)
        + p9.scale_x_continuous(
            breaks=range(len(sizes)),
            labels=_fitting(sizes, grid.panel_width),
            minor_breaks=[],
            limits=(-0.5, len(sizes) - 0.5),
            expand=(0.02, 0),
        )
        + p9.scale_y_continuous(minor_breaks=[], labels=tick_texts)
        + grid.elements(tall, x="Pixels drawn on either side", y="Sampled value", notes=notes)
        + p9.facet_wrap("panel", ncol=grid.n_columns, scales="free")
    )


def _root_line(means: pd.DataFrame) -> pd.DataFrame:
    """The ends of a line constant / sqrt(n) in each panel, through the middle of its values."""
    ends = np.array([means["n_samples"].min(), means["n_samples"].max()], dtype=np.float64)
    parts = []
    for panel, rows in means.groupby("panel", observed=True):
        constant = np.exp(np.log(rows["sd"] * np.sqrt(rows["n_samples"])).mean())
        parts.append(pd.DataFrame({"panel": panel, "n_samples": ends, "sd": constant / np.sqrt(ends)}))
    line = pd.concat(parts, ignore_index=True)
    return line.assign(panel=pd.Categorical(line["panel"], means["panel"].cat.categories, ordered=True))


def _fitting(sizes: Sequence[float], room: float) -> list[str]:
    """Sizes of samples as text, every other one left out where they have no room in mm."""
    texts = [count_text(size) for size in sizes]
    fits = sum(text_mm(text) + 1.5 for text in texts) <= room
    return texts if fits else [text if i % 2 == 0 else "" for i, text in enumerate(texts)]
