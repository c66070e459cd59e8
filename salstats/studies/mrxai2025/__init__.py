"""Blake et al. (2025), MRxaI: explanation tools compared on brain MRI, and simulations of the measures."""

import argparse
import sys
from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

import numpy as np
import pandas as pd

import salstats as ss
from salstats.checks import check_choice
from salstats.datasets import load_published
from salstats.errors import Message, SalstatsError, Setting
from salstats.scoring.distances import DISTANCES, Spacing, distance_rule
from salstats.scoring.masking import OTSU
from salstats.studies.declarations import Need, OpenedStudy, PublishedStudy, StudyItem
from salstats.studies.mrxai2025.compared_cases import keep_present_and_correct_cases
from salstats.studies.mrxai2025.comparison import (
    ToolComparison,
    case_flow_and_counts,
    comparison_item,
    figure_7_box_plots,
    figure_8_example_cases,
    paired_differences,
    sensitivity_to_failures,
    shares_of_empty_explanations,
    table_1_means_of_tools,
)
from salstats.studies.mrxai2025.simulations import (
    SimulatedMasksWithScores,
    draw_and_score_simulated_masks,
    simulated_masks_maker,
    simulated_score_curves_maker,
)
from salstats.studies.mrxai2025.tool_estimates import PickRule, ToolComparisonOptions
from salstats.studies.options import check_enough_replicates, name_and_folder_parser
from salstats.studies.study_parser import Parser
from salstats.study import Study

_DESCRIPTION = """\
This makes the figures of the simulations, and compares tools that explain a classifier by masks: Table 1,
Figs. 7 and 8, and what the study does not have: paired differences with intervals, and the effect of failed
explanations.

Data
  --simulations  Figs. 1 to 6, which need no data: one irregular shape is shifted, scaled, or both, and drawn
                 as masks and as a curve of every measure
  --scores FILE  existing scores of one task and one model, with the columns case, method, metric and score;
                 prob and label of the model stand in the same file or in --features, by case
  --data DIR     images, a folder per patient with NAME.tif and NAME_mask.tif. The explanations come from the
                 tools themselves: --masks are read as they are, --maps become masks (--threshold).
                 --predictions is a table with the columns case, prob and, if known, label.

Results of --scores and --data
  Cases        those with the finding that the model gets right are compared; the others are counted
  Table 1      mean and SD. A tool that is named as in the study has the printed mean and SD of Dice beside
               its own. The number of cases behind a printed mean is unknown, so digits are not compared.
  Fig. 7       box plots
  Fig. 8       with --data: the worst, median, mean and best case by the Penalised Dice of the tool rex, as in
               the study. Without rex they are picked by Dice of --reference. --pick names another tool and
               metric.
  Empty        the share of empty explanations of each tool
  Differences  paired, from --reference, with patients as clusters and Holm's correction
  Sensitivity  the same with failed explanations at the worst score

--as-published makes the cases, Table 1 as mean and SD, and the figures: the study has no intervals or tests.

Measures
  The Hausdorff distance is over all pixels of both masks, as in equation 3 of the study. --points boundary
  takes the outlines alone, as `salstats score` does; the two differ where a mask has holes. The Penalised
  Dice is reconstructed from the study's text; for tools it has no size penalty, as printed.

Example: salstats reproduce mrxai2025 --simulations -o out
Example: salstats reproduce mrxai2025 --data lgg --masks rex=rex --maps gradcam=cams -o out
Example: salstats reproduce mrxai2025 --scores tools.csv --features prob.csv --reference lime -o out
"""
#: Form of an option that names the folder of a tool.
_TOOL_FORM = "TOOL=DIR"
METRICS = ("dice", "iou", "hausdorff", "pdc")
#: Options of the penalised Dice without a penalty of size, as printed.
PDC_WITHOUT_SIZE_PENALTY = {"alpha": 0.0, "beta": 0.0}
#: Points of the Hausdorff distance: all pixels of both sets, equation 3.
STUDY_POINTS = "foreground"
#: Options that belong to --data.
_DATA_OPTIONS = ("masks", "maps", "predictions", "threshold", "spacing", "points", "pick")
# Simulations, and what they show.
_DISTANCE_SIMULATIONS = ("distance",)
_SIZE_SIMULATIONS = ("size_linear", "size_piecewise")
_BOTH_SIMULATIONS = ("both_linear_truth1", "both_linear_truthmid", "both_piecewise")
_SHIFTED = "an explanation that is shifted"
_RESIZED = "an explanation that is too small or too large"
_SHIFTED_AND_RESIZED = "an explanation that is shifted and of another size"
_DRAWN = "drawn masks"
#: The simulations, in the order of the files.
SIMULATION_ITEMS = (
    StudyItem("figure_1", f"Fig. 1: masks of {_SHIFTED}", simulated_masks_maker(*_DISTANCE_SIMULATIONS),
              slice=_DRAWN),
    StudyItem("figure_2", f"Fig. 2: measures of {_SHIFTED}",
              simulated_score_curves_maker(*_DISTANCE_SIMULATIONS), slice=_DRAWN),
    StudyItem("figure_3", f"Fig. 3: masks of {_RESIZED}", simulated_masks_maker(*_SIZE_SIMULATIONS),
              slice=_DRAWN),
    StudyItem("figure_4", f"Fig. 4: measures of {_RESIZED}",
              simulated_score_curves_maker(*_SIZE_SIMULATIONS), slice=_DRAWN),
    StudyItem("figure_5", f"Fig. 5: masks of {_SHIFTED_AND_RESIZED}",
              simulated_masks_maker(*_BOTH_SIMULATIONS), slice=_DRAWN),
    StudyItem("figure_6", f"Fig. 6: measures of {_SHIFTED_AND_RESIZED}",
              simulated_score_curves_maker(*_BOTH_SIMULATIONS), slice=_DRAWN),
)  # fmt: skip
#: A need of Fig. 8, which shows the images themselves.
FILES = Message("images and masks of ", Setting("data"))
SECOND_TOOL = "a second tool"
REFERENCE = Message("the tool gradcam, or another as ", Setting("reference"))
#: The items that compare tools, in the order of the files.
COMPARISON_ITEMS = (
    StudyItem("cases", "Cases that the tools are compared on", comparison_item(case_flow_and_counts)),
    StudyItem("table_1", "Table 1: mean (SD) of each tool and metric",
              comparison_item(table_1_means_of_tools)),
    StudyItem("figure_7", "Fig. 7: scores of each tool and metric", comparison_item(figure_7_box_plots)),
    StudyItem("empty", "Empty explanations: share of each tool",
              comparison_item(shares_of_empty_explanations)),
    StudyItem("differences", "Paired differences from the reference", comparison_item(paired_differences),
              needs=(SECOND_TOOL, REFERENCE)),
    StudyItem("sensitivity", "Failed explanations left out, or at the worst score",
              comparison_item(sensitivity_to_failures),
              needs=(SECOND_TOOL, REFERENCE)),
    StudyItem("examples", "Fig. 8: examples",
              lambda data: figure_8_example_cases(data.comparison), needs=(FILES,)),
)  # fmt: skip
#: Items of inference, which the study does not have.
INFERENCE_ITEMS = ("empty", "differences", "sensitivity")
#: The default of the tool that others are compared with.
STUDY_REFERENCE = "gradcam"


@dataclass(frozen=True)
class MrxaiData:
    """The comparison of tools, and the simulations, which are drawn when one of them is made."""

    comparison: ToolComparison | None = None

    @cached_property
    def simulations(self) -> SimulatedMasksWithScores:
        """Masks of every kind of simulation."""
        return draw_and_score_simulated_masks()


def _number_or_text(text: str) -> float | str:
    """Return a text as a number if it is one, else as it is."""
    try:
        return float(text)
    except ValueError:
        return text


def _tool_and_metric(text: str) -> PickRule:
    """Read TOOL:METRIC."""
    tool, _, metric = text.rpartition(":")
    if not tool or not metric:
        raise argparse.ArgumentTypeError(f"{text!r} is not TOOL:METRIC")
    return PickRule(tool, metric)


def _add_options(parser: Parser) -> None:
    """Add the options for the tools' explanations or scores, and for their comparison."""
    add = parser.add_argument
    add("--simulations", action="store_true", help="the simulations, which need no data")
    add("--data", type=Path, metavar="DIR", help="the study: images and truths, a folder per patient")
    for name, folder_help in (("--masks", "masks of a tool, as they are"), ("--maps", "maps of a method")):
        add(name, type=name_and_folder_parser(_TOOL_FORM), action="append", default=[], metavar=_TOOL_FORM,
            help=f"{folder_help}, a file per case; may be repeated")  # fmt: skip
    add("--predictions", type=Path, metavar="FILE", help="the model's probability of each case")
    add("--cutoff", type=float, default=0.5, metavar="P", help="probability of a positive answer (0.5)")
    add("--threshold", type=_number_or_text, metavar="T", help="makes a map a mask (otsu)")
    add("--spacing", type=_number_or_text, metavar="MM|FILE",
        help="size of a pixel: mm, or a table with case, row_mm, col_mm (distances in pixels)")  # fmt: skip
    add("--points", choices=("foreground", "boundary", "boundary8"),
        help="what the Hausdorff distance runs between (foreground: all pixels, as the study)")  # fmt: skip
    add("--pick", type=_tool_and_metric, metavar="TOOL:METRIC",
        help="whose scores pick the examples of --data (rex:pdc, as in the study)")  # fmt: skip
    add("--reference", metavar="TOOL", help=f"the tool compared with ({STUDY_REFERENCE})")
    add("--interval", default="t", choices=("t", "percentile", "bca", "studentized"),
        help="of means and differences (t: patients as clusters, also with few of them)")  # fmt: skip
    add("--replicates", type=int, default=1000, metavar="N", help="bootstrap replicates (1000)")


def check_options(options: argparse.Namespace) -> None:
    """Raise an error where options contradict each other, name a tool twice, or set too few replicates."""
    if options.data is None:
        if options.scores is None and not options.simulations:
            raise SalstatsError(
                "nothing to do",
                hint=Message(
                    "name ", Setting("simulations"), ", ", Setting("data"), " or ", Setting("scores")
                ),
            )
        for name in _DATA_OPTIONS:
            if getattr(options, name) not in (None, []):
                raise SalstatsError(Setting(name), " belongs to ", Setting("data"))
    elif not options.masks and not options.maps:
        raise SalstatsError(
            Setting("data"),
            " needs explanations",
            hint=Message(
                "name them as ", Setting("masks", {"TOOL": "DIR"}), " or ", Setting("maps", {"TOOL": "DIR"})
            ),
        )
    check_enough_replicates(options.replicates)
    for name in ("masks", "maps"):
        tools = [tool for tool, _ in getattr(options, name)]
        if len(set(tools)) < len(tools):
            raise SalstatsError(Setting(name), f" names a tool twice ({', '.join(tools)})")


def score_data(study: Study, options: argparse.Namespace) -> pd.DataFrame:
    """Score the study's four metrics."""
    threshold = OTSU
    if options.threshold is not None:
        threshold = options.threshold
    return ss.score(
        study,
        metrics=METRICS,
        threshold=threshold,
        spacing=options.spacing,
        pdc=PDC_WITHOUT_SIZE_PENALTY,
        points=options.points or STUDY_POINTS,
        jobs=options.jobs,
        progress=sys.stderr.isatty(),
    )


def image_file_by_case(study: Study, folder: Path) -> dict[str, Path]:
    """Return the image file of each case, which is in the folder of its mask."""
    images = {path.stem: path for path in folder.glob("*/*") if path.suffix.lower() in (".tif", ".tiff")}
    return {case.case: images[case.case] for case in study if case.case in images}


def diagonal_by_case(study: Study, spacing: Spacing = None) -> pd.Series:
    """Return the diagonal of each case's image, by case, in pixels or, with `spacing`, in mm."""
    shapes = {case.case: case.shape for case in study if case.shape is not None}
    rule = distance_rule(DISTANCES, list(shapes), spacing=spacing)
    diagonals = {case: rule.diagonal(shape, case) for case, shape in shapes.items()}
    return pd.Series(diagonals, dtype=np.float64)


def reference_tool_or_study_default(tools: Iterable[str], options: argparse.Namespace) -> str | None:
    """Return the tool that the others are compared with: the option's, else the study's if it is there."""
    tools = [str(tool) for tool in tools]
    if options.reference is not None:
        return check_choice(options.reference, tools, "reference")
    if STUDY_REFERENCE in tools:
        return STUDY_REFERENCE
    return None


def needs_met(tools: Iterable[str], options: argparse.Namespace) -> set[Need]:
    """Return the needs of the items of `COMPARISON_ITEMS` that some tools meet."""
    tools = set(tools)
    met: set[Need] = set()
    if len(tools) > 1:
        met.add(SECOND_TOOL)
    if reference_tool_or_study_default(tools, options) is not None:
        met.add(REFERENCE)
    return met


def tool_comparison(study: Study | None, scores: pd.DataFrame, options: argparse.Namespace) -> ToolComparison:
    """Return the comparison of tools on the cases that `keep_present_and_correct_cases` keeps.

    `study` is None where `scores` were read from a file: then there are no pictures.
    """
    reference = reference_tool_or_study_default(scores["method"].unique(), options)
    comparison_options = ToolComparisonOptions(
        reference,
        n_replicates=options.replicates,
        interval=options.interval,
        # Scores of a study are those of `score_data`; how other scores were made is not known.
        unpenalised=study is not None,
        pick=options.pick,
        as_published=options.as_published,
    )
    compared = keep_present_and_correct_cases(scores, reference=reference, cutoff=options.cutoff)
    comparison = ToolComparison(compared, comparison_options, load_published("mrxai2025_dice"))
    if study is None:
        return comparison
    spacing = None
    if isinstance(options.spacing, int | float):
        # A scale bar needs square pixels of one size in all images.
        spacing = float(options.spacing)
    return replace(
        comparison,
        study=study,
        diagonals=diagonal_by_case(study, options.spacing),
        images=image_file_by_case(study, options.data),
        spacing=spacing,
    )


def _open(options: argparse.Namespace) -> OpenedStudy:
    """Read the study that the options name, which `load` scores; without one there are the simulations."""
    check_options(options)
    if options.data is None:
        return OpenedStudy(SIMULATION_ITEMS, frozenset(), MrxaiData)
    study = ss.read_mrxai2025(
        options.data,
        masks=dict(options.masks) or None,
        maps=dict(options.maps) or None,
        predictions=options.predictions,
    )

    def load() -> MrxaiData:
        return MrxaiData(tool_comparison(study, score_data(study, options), options))

    met = needs_met([series.method for series in study.series], options)
    return OpenedStudy(_comparison_and_any_simulation_items(options), frozenset({FILES, *met}), load)


def _open_scores(scores: pd.DataFrame, options: argparse.Namespace) -> OpenedStudy:
    """Return the study with existing scores of tools, which are compared when it is loaded."""
    check_options(options)
    met = needs_met(scores["method"].unique(), options)

    def load() -> MrxaiData:
        return MrxaiData(tool_comparison(study=None, scores=scores, options=options))

    return OpenedStudy(_comparison_and_any_simulation_items(options), frozenset(met), load)


def _comparison_and_any_simulation_items(options: argparse.Namespace) -> list[StudyItem]:
    """Return the items of the comparison, after the simulations where the options name these."""
    items = list(COMPARISON_ITEMS)
    if options.as_published:
        items = [item for item in items if item.key not in INFERENCE_ITEMS]
    if options.simulations:
        items = [*SIMULATION_ITEMS, *items]
    return items


STUDY = PublishedStudy(
    key="mrxai2025",
    source="Blake et al. 2025, MRxaI: black-box explainability for image classifiers in a medical setting",
    description=_DESCRIPTION,
    add_options=_add_options,
    open=_open,
    open_scores=_open_scores,
)
