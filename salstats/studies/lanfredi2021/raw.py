"""Every result of recordings in the study's format, from scores to figures, in its order."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pandas as pd

from salstats.checks import SalstatsError, check_count, warn
from salstats.display.tables.describe import table_describe
from salstats.display.tables.layout import Column, Table, build
from salstats.display.text.format import count_text, counted, fixed_text, joined
from salstats.display.text.labels import Labels
from salstats.images.center_bias import CenterBias
from salstats.readers.gaze_files import find_phases
from salstats.readers.reading_labels import majority_labels
from salstats.scoring.gaze import center_bias_of, score_gaze
from salstats.scoring.gaze_sampling import sampled_scores, spread_of
from salstats.scoring.recordings import recordings
from salstats.stats.summaries import describe
from salstats.studies.items import Item
from salstats.studies.lanfredi2021.bias_choice import bias_choice
from salstats.studies.lanfredi2021.example import example, example_case
from salstats.studies.lanfredi2021.raw_tables import (
    KEYS,
    RAW_LABELS,
    SHUFFLED,
    base_methods,
    in_order,
    named_rows,
    own_methods,
    raw_tables,
    row_names,
    scored,
    without_blanks,
)
from salstats.studies.lanfredi2021.spread import plot_samples, plot_spread
from salstats.study import Study

#: The phases whose images several radiologists read: those of the study's maps, scores and centre bias.
STUDY_PHASES = (1, 2)


@dataclass(frozen=True)
class Choice:
    """How a study of gaze is scored.

    Attributes
    ----------
    n_readers : int, optional
        Score images with exactly so many readers.
    center_bias : {"all", "others"}
    n_samples : int, optional
        Pixels drawn for AUC and sAUC; exact where it is None.
    seed : int
        Of the draws.
    n_replicates : int
        Samples behind each standard deviation by sample size.
    """

    n_readers: int | None = None
    center_bias: str = "all"
    n_samples: int | None = None
    seed: int = 0
    n_replicates: int = 100


def study_phases(folder: Path) -> list[int] | None:
    """Return the phases of a release that the study used; None where there are only these, or none of them.

    Warns SalstatsWarning where others are left out.
    """
    there = [str(phase) for phase in find_phases(folder, None)]
    left_out = [phase for phase in there if int(phase) not in STUDY_PHASES]
    if not left_out or left_out == there:
        return None
    warn(
        f"{folder}: phase {joined(left_out)} is left out of the scores and of the centre bias, since the "
        f"study used phases 1 and 2 (--phases {','.join(there)} reads all)"
    )
    return [int(phase) for phase in there if phase not in left_out]


def make_items(study: Study, choice: Choice, *, jobs: int = 1, progress: bool = False) -> Iterator[Item]:
    """Yield the results of a study; what cannot be made for want of files is left out."""
    # said before the hours of scoring, not after
    check_count(choice.n_replicates, "n_replicates", 2)
    labels = majority_labels(study)
    # every item corrects by the same one, or by it without the case scored
    bias = center_bias_of(study, jobs=jobs, progress=progress)

    def score(center_bias: str, **given: object) -> pd.DataFrame:
        found = score_gaze(
            study,
            n_readers=choice.n_readers,
            center_bias=center_bias,
            bias=bias,
            jobs=jobs,
            progress=progress,
            **given,  # type: ignore[arg-type]
        )
        return named_rows(found, labels)

    every = score(choice.center_bias, n_samples=choice.n_samples, rng=choice.seed)
    rows = scored(every)
    if rows["score"].isna().all():
        reasons = ", ".join(f"{n} {reason}" for reason, n in every["reason"].value_counts().items())
        raise SalstatsError(f"{study.source}: no score is defined ({reasons})")
    yield _recordings(study)
    yield _scores(every, rows, choice)
    yield _labels(labels, rows)
    rows = _defined(rows)
    yield from raw_tables(rows)
    if not rows["metric"].isin(SHUFFLED).any():
        return
    # both exact: draws would differ for another reason than the bias
    exact = rows if choice.n_samples is None else None
    of_all, of_others = (
        exact if exact is not None and name == choice.center_bias else scored(score(name, metrics=SHUFFLED))
        for name in ("all", "others")
    )
    if of_others.loc[of_others["metric"].isin(SHUFFLED), "score"].notna().any():
        yield bias_choice(of_all, of_others)
    pick = example_case(rows)
    yield example(study, pick, choice.center_bias, bias)
    yield from _spread(study, pick, choice, bias)


def _defined(rows: pd.DataFrame) -> pd.DataFrame:
    """Return the rows of metrics that have a score, with a warning about the others."""
    known = set(rows.loc[rows["score"].notna(), "metric"])
    lost = rows[~rows["metric"].isin(known)]
    if len(lost):
        labels = Labels(RAW_LABELS)
        names = joined([labels.value("metric", m) for m in dict.fromkeys(lost["metric"])])
        why = ", ".join(f"{n} {reason}" for reason, n in lost["reason"].value_counts().items())
        warn(f"{names}: no score is defined ({why}), so no table has them")
    return rows[rows["metric"].isin(known)].reset_index(drop=True)


def _recordings(study: Study) -> Item:
    """Return all recordings, counted by why they are left out."""
    frame = recordings(study)
    counts = frame["reason"].fillna("used").value_counts()
    boxes = frame.loc[frame["used"] & (frame["box"] != "used"), "box"].value_counts()
    texts = [
        *((("Recordings", str(why).capitalize()), n) for why, n in counts.items()),
        *(
            (("Chest boxes left out of the centre bias", str(why).capitalize()), n)
            for why, n in boxes.items()
        ),
        (("Fixations of recordings used", "All"), frame.loc[frame["used"], "n_fixations"].sum()),
        (("Fixations of recordings used", "Outside the image"), frame.loc[frame["used"], "n_outside"].sum()),
        (("Fixations of recordings used", "Of no duration"), frame.loc[frame["used"], "n_zero"].sum()),
    ]
    table = Table(
        ("",),
        [(name,) for (_, name), _ in texts],
        [Column("n", align="right")],
        [[count_text(n)] for _, n in texts],
        groups=[group for (group, _), _ in texts],
        notes=["Fixations outside the image are kept: the tails of their Gaussians count."],
    )
    return Item("recordings", "Recordings", frame, build(table, "lanfredi2021"), slice="all recordings")


def _scores(every: pd.DataFrame, rows: pd.DataFrame, choice: Choice) -> Item:
    """Return the scores, described."""
    named = rows.assign(method=row_names(rows))
    described = describe(named, by=["metric", "method"], unit="case")
    order = list(dict.fromkeys(in_order(rows, KEYS).pipe(row_names)))
    n_out = every["case"].nunique() - rows["case"].nunique()
    drawn = (
        "exact AUC and sAUC"
        if choice.n_samples is None
        else f"{choice.n_samples:,} pixels drawn on either side"
    )
    phases = [str(phase) for phase in sorted(every["phase"].unique())]
    said = [
        drawn,
        f"centre bias of all {'' if choice.center_bias == 'all' else 'other '}cases of "
        f"phase{'s' if len(phases) > 1 else ''} {joined(phases)}",
        *([f"{counted(n_out, 'image')} not scored for the number of readers"] if n_out else []),
    ]
    return Item(
        "scores",
        "Scores of each map against the mean map of the readers not left out",
        without_blanks(own_methods(every)),
        table_describe(described, labels={"method": order}),
        slice="all images",
        note="; ".join(said),
    )


def _labels(labels: pd.DataFrame, rows: pd.DataFrame) -> Item:
    """Return what the majority of readers found, counted over the images scored."""
    found = labels.assign(scored=labels["case"].isin(set(rows["case"])))
    groups = [c for c in found.columns if c not in ("case", "patient", "phase", "n_readings", "scored")]
    own = found[found["scored"]]
    counts = [[int((own[g] == 1).sum()), int((own[g] == 0).sum()), int(own[g].isna().sum())] for g in groups]
    table = Table(
        ("Finding",),
        [(g.capitalize(),) for g in groups],
        [Column(heading, align="right") for heading in ("Present", "Absent", "No majority")],
        [[count_text(n) for n in row] for row in counts],
        notes=["Images scored, by what at least three readers found."],
    )
    return Item("labels", "Findings by the majority of readers", found, build(table, "lanfredi2021"),
                slice="all images")  # fmt: skip


def _spread(study: Study, pick: pd.DataFrame, choice: Choice, bias: CenterBias | None) -> Iterator[Item]:
    """Yield what sampling pixels costs on the example: the SD by sample size, and the values themselves."""
    case = str(pick["case"].iloc[0])
    samples = sampled_scores(
        study,
        cases=case,
        n_replicates=choice.n_replicates,
        center_bias=choice.center_bias,
        bias=bias,
        rng=choice.seed,
    )
    spread = spread_of(samples)
    mean = spread.groupby(["metric", "n_samples"])["sd"].mean().unstack()
    labels = Labels(RAW_LABELS)
    table = Table(
        ("Pixels drawn on either side",),
        [(count_text(size),) for size in mean.columns],
        [Column(labels.value("metric", m)) for m in mean.index],
        [[fixed_text(mean.loc[m, size], 4) for m in mean.index] for size in mean.columns],
        notes=["Standard deviation of the sampled value, mean over methods and readers."],
    )
    slice_of = f"case {case}"
    yield Item(
        "sampling_spread",
        "Spread of sampled AUC by sample size",
        spread,
        build(table, "lanfredi2021"),
        plot_spread(spread),
        slice=slice_of,
        note="pixels drawn with replacement, as the study does (1,000 on either side)",
    )
    method, mixing = pick[["method", "mixing"]].iloc[0]
    samples = base_methods(samples)
    own = samples[samples["method"] == method]
    if "mixing" in own and mixing in RAW_LABELS["mixing"] and (own["mixing"] == mixing).any():
        own = own[own["mixing"] == mixing]
    keys = [c for c in ("model", "seed", "mixing", "reader") if c in own]
    first = own[keys].iloc[0]
    shown = own[(own[keys].fillna("") == first.fillna("")).all(axis=1)].reset_index(drop=True)
    sizes = shown.groupby(["metric", "n_samples"])["estimate"].describe()[["mean", "std", "min", "max"]]
    table = Table(
        ("Metric", "Pixels drawn on either side"),
        [(labels.value("metric", m), count_text(n)) for m, n in sizes.index],
        [Column("Mean"), Column("SD"), Column("Smallest"), Column("Largest"), Column("Exact")],
        [
            [
                *(fixed_text(v, 4) for v in row),
                fixed_text(shown.loc[shown["metric"] == key[0], "exact"].iloc[0], 4),
            ]
            for key, row in zip(sizes.index, sizes.to_numpy(), strict=True)
        ],
    )
    if shown["estimate"].notna().any():
        yield Item(
            "sampled_values",
            "Sampled values around the exact one",
            shown,
            build(table, "lanfredi2021"),
            plot_samples(shown),
            slice=slice_of,
        )
