"""The commands: each names the public function that it calls, what it reads, and an example for its help.

Options, their help and their defaults are those of the function, see `signatures`; a command's record holds
what differs on the command line.
"""

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from salstats.cli import runs
from salstats.cli.display_kinds import FIGURES, TABLES, run_plot, run_table
from salstats.cli.option_help import DISPLAY, FILES, MODELS, PLANNING, SCORING, STATISTICS
from salstats.cli.signatures import RARE, Option, argument, keyword_options_of, option
from salstats.cli.sources import GAZE, SCORES, STUDY, TABLE, CommandRun, Source, read_frame_of_earlier_command
from salstats.display.tables.file_formats import TABLE_SUFFIXES


@dataclass(frozen=True)
class Command:
    """Record of a command: the function that it calls, and what its options add to those of the function."""

    name: str
    #: Key of `GROUPS`, the headings of the list of commands.
    group: str
    #: Name of the public function that it calls.
    function: str
    source: Source
    #: Example below its help.
    example: str
    #: First sentence of its help, which begins with a verb.
    summary: str = ""
    #: Parameters that most users need; the others stand below a heading of their own. By default all.
    main_parameters: tuple[str, ...] | None = None
    #: Help by parameter, where it differs from that of other commands.
    texts: Mapping[str, str] = field(default_factory=dict)
    #: Kind of estimate, which decides the choices of `interval`.
    estimate_kind: str = ""
    #: Metavar of each positional argument by parameter.
    arguments: Mapping[str, str] = field(default_factory=dict)
    #: Word of the flag by parameter, where it is not the parameter's name.
    flag_words: Mapping[str, str] = field(default_factory=dict)
    #: Parameters that do not become options.
    omit: tuple[str, ...] = ()
    #: Options that the function does not have.
    extra_options: tuple[Option, ...] = ()
    #: Help of `-o` where the output is not the file of a frame.
    output_help: str = ""
    #: Print where no output is named, although the output is not the file of a frame.
    prints: bool = False
    #: Other words that people may try; the error for such a command suggests this one.
    other_names: tuple[str, ...] = ()
    run: Callable[[CommandRun, Source], None] = runs.write_result


def _rare_option(name: str, help_text: str, value_type: Any = str | None) -> Option:
    """Make an option that the function does not have, without a default, for few users."""
    return option(name, value_type, None, help_text, panel=RARE)


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
#: Help of parameters in the commands of a group.
_HELP_BY_GROUP = {
    "read": FILES,
    "score": SCORING,
    "estimate": STATISTICS,
    "model": {**STATISTICS, **MODELS},
    "compare": {**STATISTICS, **PLANNING},
    "report": {**STATISTICS, **DISPLAY},
    "reproduce": {},
}
#: Contrasts have two procedures that `adjust` lacks.
_ADJUST_CONTRASTS = f"{STATISTICS['adjust'].rstrip('.')}, also by max-t or min-p."
#: Options of tables of means and of gaps to a reference.
_BOUNDS_OPTIONS = (
    option(
        "bounds", bool, False, "Add bounds: every undefined score as the worst, or as the best, possible."
    ),
    _rare_option("limits", "Least and largest score for --bounds, such as hd95=0:50.", list[str] | None),
)


COMMANDS = (
    Command(
        "read",
        "read",
        "read_scores",
        SCORES,
        "scores.csv --sep , -o long.parquet",
        run=runs.run_read,
        summary="Read files of scores, check them and write them as one table.",
    ),
    Command(
        "score",
        "score",
        "score",
        STUDY,
        "--maps gradcam=gradcam --truth masks -o scores.csv",
        flag_words={"points": "distance-points"},
        omit=("pdc",),
        run=runs.run_score,
        extra_options=(
            _rare_option("pdc_form", "Form of pdc: product (default) or mean."),
            _rare_option(
                "pdc_alpha", "Penalty of pdc on a mask that is too small (default: 1).", float | None
            ),
            _rare_option(
                "pdc_beta", "Penalty of pdc on a mask that is too large (default: 1).", float | None
            ),
        ),
        summary="Score the maps and masks of a study against its truth.",
        main_parameters=("metrics", "threshold", "slice", "jobs"),
    ),
    Command(
        "gaze",
        "score",
        "score_gaze",
        GAZE,
        "gaze -o scores.csv --maps gradcam=maps --metrics ncc,auc --jobs 2",
        run=runs.run_scoring_against_gaze,
        extra_options=(
            _rare_option(
                "recordings", "Also write the recordings, used and left out, to this file.", Path | None
            ),
        ),
        summary="Score maps against where readers looked.",
        main_parameters=("metrics", "jobs"),
        texts={
            "truth": "Compare with the mean over the other readers, or over all of them.",
            "n_readers": "Score only images that exactly this number of readers looked at.",
        },
    ),
    Command(
        "overlap",
        "score",
        "reader_overlap",
        STUDY,
        "study -o overlap.csv --metrics dice,iou",
        summary="Score the overlap of every two readers' masks.",
        main_parameters=("metrics", "jobs"),
    ),
    Command(
        "features",
        "score",
        "features",
        STUDY,
        "study -o features.csv",
        summary="Measure the size and shape of the annotated findings.",
    ),
    Command(
        "tune",
        "score",
        "tune",
        STUDY,
        "study -o thresholds.csv --what threshold",
        run=runs.run_tune,
        summary="Choose thresholds, cutoffs or filters on a validation set.",
        main_parameters=("what", "metric", "grid", "jobs"),
        texts={"metric": "Metric whose mean is maximised."},
    ),
    Command(
        "segment",
        "score",
        "segment",
        STUDY,
        "study -o masks.json",
        flag_words={"method": "of"},
        output_help="Write .json in the format of the CheXlocalize release.",
        run=runs.run_segment,
        summary="Write the masks that score derives from one method's maps.",
        main_parameters=("method", "threshold"),
        texts={"method": "Method whose maps become masks."},
    ),
    Command(
        "describe",
        "estimate",
        "describe",
        SCORES,
        "scores.csv --by metric,method",
        summary="Describe the distribution of scores in each group.",
        main_parameters=("by",),
    ),
    Command(
        "describe-patients",
        "estimate",
        "describe_patients",
        TABLE,
        "patients.csv age sex stage --by arm -o characteristics.csv",
        arguments={"covariates": "COVARIATES..."},
        run=runs.run_describe_covariates,
        summary="Describe covariates of patients by group, each patient once.",
        main_parameters=("by", "unit"),
        texts={
            "covariates": "Columns to describe.",
            "by": "Column of the groups (default: all patients together).",
            "unit": "Column that names the patients (default: patient).",
        },
    ),
    Command(
        "summarize",
        "estimate",
        "summarize",
        SCORES,
        "scores.csv --by metric,method --unit patient -o means.csv",
        extra_options=_BOUNDS_OPTIONS,
        run=runs.run_estimate_with_optional_bounds,
        summary="Estimate mean scores with confidence intervals.",
        estimate_kind="mean",
        main_parameters=("by", "unit", "average", "interval"),
    ),
    Command(
        "medians",
        "estimate",
        "medians",
        SCORES,
        "scores.csv --by metric,method --quantile 0.5 -o medians.csv",
        summary="Estimate medians or other quantiles with confidence intervals.",
        estimate_kind="median",
        main_parameters=("by", "unit", "quantile"),
    ),
    Command(
        "rates",
        "estimate",
        "pooled_rates",
        SCORES,
        "scores.csv --by method,task -o rates.csv",
        flag_words={"rates": "rate"},
        summary="Estimate precision, recall and other rates of pixels pooled over cases.",
        estimate_kind="pooled_rate",
        main_parameters=("rates", "by", "unit"),
    ),
    Command(
        "auroc",
        "estimate",
        "auroc",
        TABLE,
        "scores.csv prob label --by task",
        arguments={"score": "SCORE", "label": "LABEL"},
        summary="Estimate areas under ROC curves and compare them.",
        main_parameters=("by", "reference", "unit"),
        texts={"reference": "Method or score to compare with."},
    ),
    Command(
        "roc-curve",
        "estimate",
        "roc_curve",
        TABLE,
        "scores.csv prob label --by task -o curves.csv",
        arguments={"score": "SCORE", "label": "LABEL"},
        summary="Estimate ROC curves with pointwise bands.",
        main_parameters=("by", "unit"),
    ),
    Command(
        "calibration",
        "estimate",
        "calibration",
        TABLE,
        "scores.csv prob label --by task",
        arguments={"prob": "PROB", "label": "LABEL"},
        summary="Estimate calibration intercept, calibration slope and Brier score of probabilities.",
        main_parameters=("by", "unit"),
    ),
    Command(
        "calibration-curve",
        "estimate",
        "calibration_curve",
        TABLE,
        "scores.csv prob label --by task -o calibration.csv",
        arguments={"prob": "PROB", "label": "LABEL"},
        flag_words={"n_bins": "bins"},
        summary="Estimate observed rates in bins of the predicted probability.",
        estimate_kind="mean",
        main_parameters=("by", "unit", "n_bins"),
    ),
    Command(
        "agreement",
        "estimate",
        "agreement",
        SCORES,
        "scores.csv --over method --kind krippendorff --measured ordinal -o alpha.csv",
        flag_words={"scale": "measured"},
        summary="Estimate the agreement of readers, methods or repeated scores.",
        main_parameters=("over", "kind", "by", "unit"),
    ),
    Command(
        "regress",
        "model",
        "regress",
        TABLE,
        'scores.csv "iou ~ area_ratio" --normalize area_ratio --adjust holm',
        arguments={"formula": "FORMULA..."},
        run=runs.run_regress,
        extra_options=(
            _rare_option("normalize", "Covariates to bring to 0 ... 1 (min-max) first.", list[str] | None),
            _rare_option("within", "Normalize within groups of this column."),
            _rare_option(
                "components",
                "Also write the variances of random effects such as (1|case) to this file.",
                Path | None,
            ),
            _rare_option("joint", "Also write a joint test of each term to this file.", Path | None),
        ),
        summary="Regress scores on covariates.",
        main_parameters=("by", "unit", "family", "reference", "adjust"),
        texts={
            "by": "Fit a model for each of these groups.",
            "unit": "Column that defines the clusters, such as patient.",
        },
    ),
    Command(
        "quantile-regress",
        "model",
        "quantile_regress",
        TABLE,
        'scores.csv "iou ~ area_ratio" --quantile 0.5 --by method',
        arguments={"formula": "FORMULA..."},
        summary="Regress a quantile of scores on covariates.",
        main_parameters=("quantile", "by", "reference"),
        texts={
            "by": "Fit a model for each of these groups.",
            "unit": "Column that defines the clusters, such as patient.",
        },
    ),
    Command(
        "correlate",
        "model",
        "correlate",
        TABLE,
        "scores.csv iou prob --by method,task --test spearman",
        arguments={"x": "X", "y": "Y"},
        summary="Correlate two columns or metrics.",
        main_parameters=("by", "unit", "test", "covariates"),
        texts={"test": "Correlation coefficient."},
    ),
    Command(
        "decrease",
        "compare",
        "percent_decrease",
        SCORES,
        "scores.csv --reference human --average task -o decrease.csv",
        extra_options=_BOUNDS_OPTIONS,
        run=runs.run_estimate_with_optional_bounds,
        summary="Estimate the percentage decrease of each method from a reference.",
        estimate_kind="percent_decrease",
        main_parameters=("reference", "by", "unit", "average", "adjust", "margin"),
        texts={"adjust": _ADJUST_CONTRASTS},
    ),
    Command(
        "difference",
        "compare",
        "difference",
        SCORES,
        "scores.csv --reference human --adjust holm --bounds",
        extra_options=_BOUNDS_OPTIONS,
        run=runs.run_estimate_with_optional_bounds,
        summary="Estimate the mean difference of each method from a reference.",
        estimate_kind="difference",
        main_parameters=("reference", "by", "unit", "average", "adjust", "margin"),
        texts={"adjust": _ADJUST_CONTRASTS},
    ),
    Command(
        "median-difference",
        "compare",
        "median_difference",
        SCORES,
        "scores.csv --reference human --by metric -o gaps.csv",
        summary="Estimate the difference of medians of each method from a reference.",
        estimate_kind="median_difference",
        main_parameters=("reference", "by", "unit", "quantile"),
    ),
    Command(
        "mrmc",
        "compare",
        "mrmc",
        SCORES,
        "scores.csv --reference human --readers random",
        run=runs.run_mrmc,
        extra_options=(
            _rare_option(
                "components", "Also write the variances and covariances to this file, for power.", Path | None
            ),
            _rare_option(
                "each_reader",
                "Also write each reader's figure with each method to this file.",
                Path | None,
            ),
        ),
        summary="Compare methods over several readers and cases.",
        main_parameters=("reference", "figure", "label", "readers", "by"),
    ),
    Command(
        "ranks",
        "compare",
        "rank_stability",
        SCORES,
        "scores.csv --scheme mean --unit patient -o ranks.csv",
        summary="Rank methods and show how stable the ranks are.",
        main_parameters=("by", "unit", "scheme"),
    ),
    Command(
        "rank-agreement",
        "compare",
        "rank_agreement",
        SCORES,
        "scores.csv --over task -o tau.csv",
        summary="Compare rankings between tasks, data sets or metrics.",
        main_parameters=("over", "by", "unit"),
    ),
    Command(
        "significance-map",
        "compare",
        "significance_map",
        SCORES,
        "scores.csv --by metric --limits limits.csv -o tests.csv",
        extra_options=(
            _rare_option("limits", "Also write the confidence limits of ranks to this file.", Path | None),
        ),
        run=runs.run_pairwise_tests_of_methods,
        summary="Test which methods are better than which others.",
        main_parameters=("by", "unit", "adjust"),
        texts={"level": "Call a method better where its adjusted P value is below 1 - level."},
    ),
    Command(
        "power",
        "compare",
        "power",
        TABLE,
        "pilot.csv --reference human --n-cases 50,100,200 --effect -0.05 --jobs 2",
        flag_words={"n_readers": "n-readers", "n_studies": "studies"},
        run=runs.run_power,
        summary="Plan the number of cases of a study.",
        estimate_kind="difference",
        main_parameters=("reference", "n_cases", "effect", "margin", "by", "unit"),
        texts={
            "reference": "Method to compare with, which a pilot of scores needs.",
            "width": "Greatest width of the confidence interval.",
            "n_readers": "Numbers of readers to plan for.",
            "n_replicates": "Number of flips or replicates in each simulated study.",
        },
    ),
    Command(
        "table",
        "report",
        "save_table",
        Source(
            "FRAME",
            "Output file of a command such as summarize.",
            TABLES.options,
            read_frame_of_earlier_command,
        ),
        "means.csv --label gradcam=Grad-CAM -o table.docx",
        run=run_table,
        output_help=f"Write {', '.join(TABLE_SUFFIXES)}; else print it.",
        prints=True,
        texts={"width": "Width of a .png in mm.", "dpi": "Resolution of a .png."},
        summary="Make a publication table from a command's output.",
    ),
    Command(
        "plot",
        "report",
        "save_figure",
        Source(
            "FRAME",
            "Output file of a command such as decrease.",
            FIGURES.options,
            read_frame_of_earlier_command,
        ),
        "decrease.csv -o fig.pdf --width single",
        run=run_plot,
        output_help="Write .pdf, .svg, .eps, .png or .tif, and the caption as .txt.",
        summary="Make a figure from a command's output.",
    ),
    Command(
        "gallery",
        "report",
        "plot_gallery",
        STUDY,
        "study --scores scores.csv --metric iou --images images -o examples.pdf",
        flag_words={"labels": "label"},
        # `cases` and `images` are frames and mappings in Python, so they have options of their own below.
        # As in every command that reads a study, --human is the folder of people's masks.
        omit=("cases", "images", "human"),
        run=runs.run_gallery,
        extra_options=(
            option("with_human", bool, False, "Draw people's masks in the panels of the methods too."),
            option("images", Path | None, None, "Folder of the images (default: grey ground)."),
            option("cases", list[str] | None, None, "Cases to draw (default: those that --at picks)."),
            option(
                "at",
                list[str] | None,
                None,
                "Scores whose cases are drawn: worst, median, mean or best (default: worst,median,best).",
            ),
            option(
                "picked_by",
                str | None,
                None,
                "Method whose scores pick the cases (default: each its own).",
            ),
        ),
        texts={
            "scores": "File of scores, which picks the cases and stands below the pictures.",
            "metric": "Metric of the scores.",
            "methods": "Methods to draw (default: all, people last).",
            "threshold": "Threshold that makes masks of maps (default: that of the scores, else otsu).",
            "cutoff": "Probability below which masks are empty (default: that of the scores).",
            "smooth": "Side in pixels of a box filter over maps (default: that of the scores).",
            "alpha": "Opacity of the colours of high saliency; 0 draws outlines only.",
            "cmap": "Colours of the maps, a colour map of Matplotlib such as viridis.",
            "scale": "Give each map a colour scale of its own, or all maps one in their unit.",
            "spacing": "Size of a pixel in mm, for bars of scale.",
            "width": "Width of the figure in mm.",
        },
        output_help="Write .pdf, .svg, .eps, .png or .tif, and the caption as .txt.",
        summary="Draw maps of the worst, median and best cases over their images.",
        other_names=("overlay", "overlays"),
        main_parameters=("scores", "metric", "methods"),
    ),
    Command(
        "report",
        "report",
        "report",
        SCORES,
        "scores.csv --reference human -o report",
        flag_words={"labels": "label"},
        omit=("inputs", "code", "study", "images"),
        output_help="Folder to make.",
        run=runs.run_report_folder,
        summary="Write a report of a whole study as a web page.",
        estimate_kind="difference",
        texts={
            "unit": STATISTICS["unit"],
            "adjust": STATISTICS["adjust"],
            "reference": "Method that the others are compared with (default: human, where there is one).",
            "title": "Title of the page.",
            "jobs": "Number of processes: 1, or 2 to draw half of the figures in a second one.",
        },
        main_parameters=("reference", "unit", "covariates", "labels", "title"),
    ),
)


def command_arguments_and_options(command: Command, function: Callable[..., Any]) -> list[Option]:
    """List the arguments and options of a command in the order of its help, without those for reading."""
    texts = {**_HELP_BY_GROUP[command.group], **command.texts}
    arguments = []
    for name, metavar in command.arguments.items():
        kind = list[str] if metavar.endswith("...") else str
        arguments.append(argument(name, metavar, kind, texts[name]))
    function_options = []
    # All options of `read` are options for reading, which its source adds.
    if command.name != "read":
        function_options = keyword_options_of(
            function,
            texts=texts,
            choices=_interval_choices(command),
            omit=("overwrite", *command.omit),
            flag_words=command.flag_words,
            main_parameters=command.main_parameters,
        )
    return [*arguments, *function_options, *command.extra_options, *_output_options(command)]


def _interval_choices(command: Command) -> dict[str, tuple[str, ...]]:
    """Return the intervals of the kind of estimate that a command makes, as choices of `interval`."""
    from salstats.stats.engine.intervals import interval_names

    if not command.estimate_kind:
        return {}
    return {"interval": tuple(interval_names(command.estimate_kind))}


def _output_options(command: Command) -> list[Option]:
    """List the options of a command that say where its result goes."""
    flags = ("-o", "--output")
    replace = option("overwrite", bool, False, "Replace the output if it exists.", "--overwrite")
    if not command.output_help:
        text = "Write .csv, .parquet or .xlsx; else print a table."
        # `--wide` would be the usual name, but is an option for reading.
        print_all = option(
            "print_all",
            bool,
            False,
            "Print every column and row, also those a terminal has no room for.",
            "--all",
        )
        return [option("output", Path | None, None, text, *flags), print_all, replace]
    if command.prints:
        return [option("output", Path | None, None, command.output_help, *flags), replace]
    return [option("output", Path, inspect.Parameter.empty, command.output_help, *flags), replace]
