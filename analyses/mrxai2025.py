"""Figures and tables of Blake et al. (2025), MRxaI: the simulations, and explanation tools compared.

Writes into OUT:

  frames/KEY.csv        every result unrounded
  tables/KEY.html       and .tex, .docx, .csv: the same as a table for a paper
  figures/KEY.pdf       and .png
  outputs.csv           every file with its item, slice, unit, interval and what has to be known to read it

With --simulations, which needs no data: Figs. 1 to 6, one irregular shape that is shifted, too small or too
large, or both, drawn as masks and as curves of every measure.

With --data or --scores: which cases are compared (those with the finding that the model gets right), Table 1
(mean and SD, beside the printed ones), Fig. 7 (box plots), the share of empty explanations, paired
differences from --reference with patients as clusters and Holm's correction, and the same with failed
explanations at the worst score; with --data also Fig. 8, the worst, median, mean and best case by the
Penalised Dice of the tool called rex, as in the study (without it by Dice of --reference), or by --pick.

--data is a folder with one folder per patient, in it NAME.tif and NAME_mask.tif. The explanations come from
tools outside: --masks are read as they are, of --maps a mask is made (--threshold). --predictions is a table
with columns case, prob and, where it is there, label.

The Hausdorff distance is over all pixels of both masks, as in the study's equation 3 (--points boundary: over
outlines, as salstats score has it; the two differ where a mask has holes). The Penalised Dice is a
reconstruction from the study's text; of tools it has no size penalty, as printed.

Exits with 2 and one line where the input cannot be used; then OUT is as it was.

Example: python analyses/mrxai2025.py --simulations -o out
Example: python analyses/mrxai2025.py --data lgg --masks rex=rex --maps gradcam=cams -o out
"""

import argparse
import sys
from collections.abc import Sequence
from functools import partial
from pathlib import Path

import pandas as pd

import salstats as ss
from salstats.checks import SalstatsError, run_of_command
from salstats.cli.options import in_flags
from salstats.datasets import load_published, published_names
from salstats.readers.mrxai2025 import read_mrxai2025
from salstats.studies.items import Item, check_items_folder
from salstats.studies.mrxai2025.cases import keep_cases
from salstats.studies.mrxai2025.estimates import Choice
from salstats.studies.mrxai2025.items import make_comparison, make_simulations
from salstats.studies.options import OneLine, named_folder, write_results
from salstats.study import Study

#: How a folder is given by name.
FORM = "TOOL=DIR"

METRICS = ("dice", "iou", "hausdorff", "pdc")
#: No penalty of size, as printed.
UNPENALISED = {"alpha": 0.0, "beta": 0.0}
#: Of the Hausdorff distance: all pixels of both sets, equation 3.
STUDY_POINTS = "foreground"
PRINTED = "mrxai2025_dice"
#: Replicates that a percentile interval needs to mean anything.
FEWEST = 40


def number_or(text: str) -> float | str:
    """Return a number, or the text where it is none."""
    try:
        return float(text)
    except ValueError:
        return text


def tool_and_metric(text: str) -> tuple[str, str]:
    """Return both sides of TOOL:METRIC."""
    tool, _, metric = text.rpartition(":")
    if not tool or not metric:
        raise argparse.ArgumentTypeError(f"{text!r} is not TOOL:METRIC")
    return tool, metric


def make_parser() -> OneLine:
    """Return the parser of the command line."""
    parser = OneLine("mrxai2025", __doc__)
    add = parser.add_argument
    add("--simulations", action="store_true", help="the simulations, which need no data")
    add("--data", type=Path, metavar="DIR", help="the study: images and truths, a folder per patient")
    add("--scores", type=Path, metavar="FILE", help="scores of tools, where they are there already")
    add("-o", "--output", type=Path, required=True, metavar="OUT", help="folder to make")
    for name, what in (("--masks", "masks of a tool, as they are"), ("--maps", "maps of a method")):
        add(name, type=named_folder(FORM), action="append", default=[], metavar=FORM,
            help=f"{what}, a file per case; may be repeated")  # fmt: skip
    add("--predictions", type=Path, metavar="FILE", help="the model's probability of each case")
    add("--cutoff", type=float, default=0.5, metavar="P", help="probability of a positive answer (0.5)")
    add("--threshold", type=number_or, default="otsu", metavar="T", help="makes a map a mask (otsu)")
    add("--spacing", type=number_or, metavar="MM|FILE",
        help="size of a pixel: mm, or a table with case, row_mm, col_mm (distances in pixels)")  # fmt: skip
    add("--points", choices=("foreground", "boundary", "boundary8"),
        help="what the Hausdorff distance runs between (foreground: all pixels, as the study)")  # fmt: skip
    add("--pick", type=tool_and_metric, metavar="TOOL:METRIC",
        help="whose scores pick the examples of --data (rex:pdc, as in the study)")  # fmt: skip
    add("--reference", default="gradcam", metavar="TOOL", help="the tool compared with (gradcam)")
    add("--interval", default="t", choices=("t", "percentile", "bca", "studentized"),
        help="of means and differences (t: patients as clusters, also with few of them)")  # fmt: skip
    add("--replicates", type=int, default=1000, metavar="N", help="bootstrap replicates (1000)")
    add("--jobs", type=int, default=1, metavar="N", help="processes; -1 for one per core (1)")
    add("--overwrite", action="store_true", help="replace what an earlier run made")
    return parser


def check_options(options: argparse.Namespace) -> None:
    """Raise where options do not go together."""
    if options.data is not None and options.scores is not None:
        raise SalstatsError("--data is scored here, --scores are scores already; name one of them")
    if options.data is None and options.scores is None and not options.simulations:
        raise SalstatsError("nothing to do: name --simulations, --data or --scores")
    of_data = ("masks", "maps", "predictions", "spacing", "points", "pick")
    if options.data is None and any(getattr(options, name) for name in of_data):
        raise SalstatsError(f"{', '.join(f'--{name}' for name in of_data)} belong to --data")
    if options.data is not None and not options.masks + options.maps:
        raise SalstatsError("--data needs explanations: --masks TOOL=DIR or --maps TOOL=DIR")
    if options.replicates < FEWEST:
        raise SalstatsError(f"--replicates must be at least {FEWEST}, not {options.replicates}")
    for name in ("masks", "maps"):
        tools = [tool for tool, _ in getattr(options, name)]
        if len(set(tools)) < len(tools):
            raise SalstatsError(f"--{name} names a tool twice ({', '.join(tools)})")


def read_data(options: argparse.Namespace) -> Study:
    """Return the study with its explanations."""
    return read_mrxai2025(
        options.data,
        masks=dict(options.masks) or None,
        maps=dict(options.maps) or None,
        predictions=options.predictions,
    )


def score_data(study: Study, options: argparse.Namespace) -> pd.DataFrame:
    """Return the scores of the study's four metrics."""
    return ss.score(
        study,
        metrics=METRICS,
        threshold=options.threshold,
        spacing=options.spacing,
        pdc=UNPENALISED,
        points=options.points or STUDY_POINTS,
        jobs=options.jobs,
        progress=sys.stderr.isatty(),
    )


def images_of(study: Study, folder: Path) -> dict[str, Path]:
    """Return the image of each case, which lies beside its mask."""
    found = {path.stem: path for path in folder.glob("*/*") if path.suffix.lower() in (".tif", ".tiff")}
    return {c.case: found[c.case] for c in study if c.case in found}


def compare(options: argparse.Namespace) -> list[Item]:
    """Return the comparison of tools."""
    choice = Choice(
        options.reference,
        options.replicates,
        options.interval,
        unpenalised=options.data is not None,
        pick=options.pick,
    )
    printed = load_published(PRINTED) if PRINTED in published_names() else None
    if options.data is None:
        scored = keep_cases(
            ss.read_scores(options.scores), reference=options.reference, cutoff=options.cutoff
        )
        return list(make_comparison(scored, choice, printed=printed))
    study = read_data(options)
    scored = keep_cases(score_data(study, options), reference=options.reference, cutoff=options.cutoff)
    images = images_of(study, options.data)
    items = make_comparison(
        scored,
        choice,
        printed=printed,
        study=study,
        spacing=options.spacing,
        images=images,
    )
    return list(items)


def items_of(options: argparse.Namespace) -> list[Item]:
    """Return the results that were asked for."""
    items = list(make_simulations()) if options.simulations else []
    if options.data is not None or options.scores is not None:
        items += compare(options)
    return items


@run_of_command()
def main(argv: Sequence[str] | None = None) -> int:
    options = make_parser().parse_args(argv)
    try:
        folder = check_items_folder(options.output, overwrite=options.overwrite)
        check_options(options)
        write_results(partial(items_of, options), folder, jobs=options.jobs)
    except (SalstatsError, OSError) as error:
        print(f"mrxai2025: {in_flags(str(error))}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
