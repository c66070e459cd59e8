"""The commands: each names the public function that it calls, what it reads, and an example for its help.

Options, their help and their defaults are those of the function, see `signatures`; what is added or called
otherwise on the command line is said here.
"""

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from salstats.cli import runs
from salstats.cli.showing import FIGURES, TABLES, run_plot, run_table
from salstats.cli.signatures import Option, argument, descriptions, option, options_of, plain
from salstats.cli.sources import GAZE, SCORES, STUDY, TABLE, Run, Source, read_frame


@dataclass(frozen=True)
class Command:
    """A command."""

    #: What it is called, and under which heading of the help it stands.
    name: str
    group: str
    #: The public function that it calls.
    function: str
    source: Source
    #: What stands below its help.
    example: str
    #: Parameter -> metavar of those that are told by their place.
    arguments: Mapping[str, str] = field(default_factory=dict)
    #: Parameter -> option, where it is another word.
    flags: Mapping[str, str] = field(default_factory=dict)
    #: Parameters that are no options here.
    without: tuple[str, ...] = ()
    #: Options that the function does not have.
    more: tuple[Option, ...] = ()
    #: Help of `-o` where it is no file of a frame, and whether without it something is printed.
    out: str = ""
    prints: bool = False
    run: Callable[[Run, Source], None] = runs.write_frame_of


def _flag(name: str, help_text: str, kind: Any = str | None) -> Option:
    """Make an option that the function does not have, without a value of its own."""
    return option(name, kind, None, help_text)


#: Headings of the help, in the order in which a study goes through them.
GROUPS = {
    "read": "Read",
    "score": "Score maps",
    "estimate": "Estimate",
    "model": "Model",
    "compare": "Compare",
    "report": "Report",
    "reproduce": "Reproduce",
}
#: Options of tables of means and of gaps to a reference.
_BOUNDS = (
    option(
        "bounds", bool, False, "Add the bounds, had every undefined score been the worst or best possible."
    ),
    _flag("limits", "Least and largest score for --bounds, such as hd95=0:50.", list[str] | None),
)


COMMANDS = (
    Command("read", "read", "read_scores", SCORES, "scores.csv --sep , -o long.parquet", run=runs.run_read),
    Command(
        "score",
        "score",
        "score",
        STUDY,
        "study -o scores.csv --metrics iou,hit --jobs 2",
        flags={"points": "distance-points"},
        without=("pdc",),
        run=runs.run_score,
        more=(
            _flag("pdc_form", "pdc: product (default) or mean."),
            _flag(
                "pdc_alpha", "pdc: penalty on a mask that is too small (default: 1; 0 is none).", float | None
            ),
            _flag(
                "pdc_beta", "pdc: penalty on a mask that is too large (default: 1; 0 is none).", float | None
            ),
        ),
    ),
    Command(
        "gaze",
        "score",
        "score_gaze",
        GAZE,
        "gaze -o scores.csv --maps gradcam=maps --metrics ncc,auc --jobs 2",
        run=runs.run_gaze,
        more=(
            _flag("recordings", "Also write the recordings, used and left out, to this file.", Path | None),
        ),
    ),
    Command(
        "overlap",
        "score",
        "reader_overlap",
        STUDY,
        "study -o overlap.csv --metrics dice,iou",
    ),
    Command(
        "features",
        "score",
        "features",
        STUDY,
        "study -o features.csv",
    ),
    Command("tune", "score", "tune", STUDY, "study -o thresholds.csv --what threshold", run=runs.run_tune),
    Command(
        "segment",
        "score",
        "segment",
        STUDY,
        "study -o masks.json",
        flags={"method": "of"},
        out="Write .json, as the CheXlocalize release.",
        run=runs.run_segment,
    ),
    Command("describe", "estimate", "describe", SCORES, "scores.csv --by metric,method"),
    Command(
        "summarize",
        "estimate",
        "summarize",
        SCORES,
        "scores.csv --by metric,method --unit patient -o means.csv",
        more=_BOUNDS,
        run=runs.run_bounded,
    ),
    Command(
        "medians",
        "estimate",
        "medians",
        SCORES,
        "scores.csv --by metric,method --quantile 0.5 -o medians.csv",
    ),
    Command(
        "rates",
        "estimate",
        "pooled_rates",
        SCORES,
        "scores.csv --by method,task -o rates.csv",
        flags={"rates": "rate"},
    ),
    Command(
        "auroc",
        "estimate",
        "auroc",
        TABLE,
        "scores.csv prob label --by task",
        arguments={"score": "SCORE", "label": "LABEL"},
    ),
    Command(
        "agreement",
        "estimate",
        "agreement",
        SCORES,
        "scores.csv --over method --kind krippendorff --measured ordinal -o alpha.csv",
        flags={"scale": "measured"},
    ),
    Command(
        "regress",
        "model",
        "regress",
        TABLE,
        'scores.csv "iou ~ area_ratio" --normalize area_ratio --adjust holm',
        arguments={"formula": "FORMULA..."},
        run=runs.run_regress,
        more=(
            _flag("normalize", "Covariates to bring to 0 ... 1 (min-max) first.", list[str] | None),
            _flag("within", "Normalize within groups of this column."),
            _flag(
                "components",
                "With random effects such as (1|case): also write their variances and shares to this file.",
                Path | None,
            ),
            _flag("joint", "Also write the test of every term as a whole to this file.", Path | None),
        ),
    ),
    Command(
        "quantile-regress",
        "model",
        "quantile_regress",
        TABLE,
        'scores.csv "iou ~ area_ratio" --quantile 0.5 --by method',
        arguments={"formula": "FORMULA..."},
    ),
    Command(
        "correlate",
        "model",
        "correlate",
        TABLE,
        "scores.csv iou prob --by method,task --test spearman",
        arguments={"x": "X", "y": "Y"},
    ),
    Command(
        "decrease",
        "compare",
        "percent_decrease",
        SCORES,
        "scores.csv --reference human --average task -o decrease.csv",
        more=_BOUNDS,
        run=runs.run_bounded,
    ),
    Command(
        "difference",
        "compare",
        "difference",
        SCORES,
        "scores.csv --reference human --adjust holm --bounds",
        more=_BOUNDS,
        run=runs.run_bounded,
    ),
    Command(
        "median-difference",
        "compare",
        "median_difference",
        SCORES,
        "scores.csv --reference human --by metric -o gaps.csv",
    ),
    Command(
        "mrmc",
        "compare",
        "mrmc",
        SCORES,
        "scores.csv --reference human --readers random",
        run=runs.run_mrmc,
        more=(
            _flag("components", "Also write variances and covariances, from which power plans.", Path | None),
            _flag("each_reader", "Also write the figure of each reader with each method.", Path | None),
        ),
    ),
    Command(
        "ranks", "compare", "rank_stability", SCORES, "scores.csv --scheme mean --unit patient -o ranks.csv"
    ),
    Command("rank-agreement", "compare", "rank_agreement", SCORES, "scores.csv --over task -o tau.csv"),
    Command(
        "significance-map",
        "compare",
        "significance_map",
        SCORES,
        "scores.csv --by metric --limits limits.csv -o tests.csv",
        more=(_flag("limits", "Also write the confidence limits of ranks to this file.", Path | None),),
        run=runs.run_significance_map,
    ),
    Command(
        "power",
        "compare",
        "power",
        TABLE,
        "pilot.csv --reference human --n-cases 50,100,200 --effect -0.05 --jobs 2",
        flags={"n_readers": "n-readers", "n_studies": "studies"},
        run=runs.run_power,
    ),
    Command(
        "table",
        "report",
        "save_table",
        Source("FRAME", "What a command such as summarize wrote.", TABLES.options, read_frame),
        "means.csv --label gradcam=Grad-CAM -o table.docx",
        run=run_table,
        out="Write .html, .tex, .docx, .csv or .png; else print it.",
        prints=True,
    ),
    Command(
        "plot",
        "report",
        "save_figure",
        Source("FRAME", "What a command such as decrease wrote.", FIGURES.options, read_frame),
        "decrease.csv -o fig.pdf --width 89",
        run=run_plot,
        out="Write .pdf, .svg, .png or .tif.",
    ),
    Command(
        "report",
        "report",
        "report",
        SCORES,
        "scores.csv --reference human -o report",
        flags={"labels": "label"},
        without=("inputs", "code", "study", "images"),
        out="Folder to make.",
        run=runs.run_report,
    ),
)


def options(command: Command, function: Callable[..., Any]) -> list[Option]:
    """List the options of a command in the order of its help, with those for reading last."""
    described = descriptions(function)
    many = [str, list[str]]
    places = [
        argument(name, metavar, many[metavar.endswith("...")], plain(described.get(name, "")))
        for name, metavar in command.arguments.items()
    ]
    output = ("-o", "--output")
    text = command.out or "Write .csv, .parquet or .xlsx; else print a table."
    must = bool(command.out) and not command.prints
    kind, default = (Path, inspect.Parameter.empty) if must else (Path | None, None)
    out = option("out", kind, default, text, *output)
    replace = option("overwrite", bool, False, "Replace the output if it exists.", "--overwrite")
    without = ("overwrite", *command.without)
    own = [] if command.name == "read" else options_of(function, without=without, flags=command.flags)
    # `--wide` is an option for reading
    whole = option(
        "whole", bool, False, "Print every column and row, also those a terminal has no room for.", "--all"
    )
    return [*places, *own, *command.more, out, *([] if command.out else [whole]), replace]
