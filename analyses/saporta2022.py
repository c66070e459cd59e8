"""Tables, figures and sensitivity of Saporta et al. (2022) from a study in the CheXlocalize format.

Reads heat maps, the truth, people's segmentations and points, and writes into OUT:

  frames/KEY.csv        every result unrounded
  tables/KEY.html       and .tex, .docx, .csv: the same as a table for a paper
  figures/KEY.pdf       and .png
  outputs.csv           every file with its item, slice, unit, interval and what has to be known to read it

The items: Tables 1 to 3, Fig. 2, Extended Data 1 to 10 (3 and 7 where several methods or models are given),
every headline number as published and with patients as clusters, what changes under other choices (S1
misses, S2 cut-offs, S3 task effects, S7 logistic model), one at a time, and cases picked by their IoU.

Without --as-published intervals resample patients (a task's hit rate has Wilson's, of the effective number
of patients), estimates are means of the scores, pairs are complete.
With it: the mean of 1000 replicates of cases, order statistics, rows for independent, the scripts' rounding.
Thresholds and cut-offs are tuned on --validation, never on --data; without it Extended Data 1 is left out and
no mask is emptied for want of confidence. The first --maps is the method of all single-method items.

Exits with 2 and one line where the input cannot be used.

Example: python analyses/saporta2022.py --data test --validation val -o out --maps gradcam=test/gradcam_maps
"""

import argparse
import sys
import warnings
from collections.abc import Sequence
from functools import partial
from pathlib import Path

import pandas as pd

import salstats as ss
from salstats.analysis_options import OneLine, named_folder, write_results
from salstats.checks import SalstatsError, SalstatsWarning
from salstats.cli_options import in_flags
from salstats.display.items import Item, check_items_folder
from salstats.display.saporta2022.examples import examples
from salstats.display.saporta2022.frames import Choice, Frames, one_model
from salstats.display.saporta2022.items import make_items
from salstats.display.saporta2022.slices import cut_off, true_positive
from salstats.study import HUMAN, Study

#: How a folder is given by name.
FORM = "METHOD[:MODEL]=DIR"

#: Replicates that the 25th of 1000, and its like, need.
FEWEST = 40


def read_data(options: argparse.Namespace) -> Study:
    """Return the study, which must hold what people marked."""
    study = ss.read_chexlocalize(options.data, split=options.split, maps=dict(options.maps) or None)
    if HUMAN not in {s.method for s in study.series}:
        raise SalstatsError(f"{study.source} holds no segmentations or points of people to compare with")
    return study


def make_frames(study: Study, options: argparse.Namespace) -> Frames:
    """Return the frames of the study, tuned on the validation study where there is one."""
    sweep = cutoffs = thresholds = None
    n_shared = 0
    if options.validation is not None:
        validation = read_validation(options)
        n_shared = warn_shared(study, validation)
        sweep = ss.tune(validation, what="threshold", jobs=options.jobs)
        thresholds = chosen(sweep, "threshold", "otsu", study)
        cutoffs = chosen(ss.tune(validation, what="cutoff", jobs=options.jobs), "cutoff", 0.0, study)

    def score(**given: object) -> pd.DataFrame:
        return ss.score(study, jobs=options.jobs, progress=sys.stderr.isatty(), **given)

    features = ss.features(study, jobs=options.jobs)
    everywhere = score(metrics=["iou", "hit"], slice="full")
    uncut = everywhere[everywhere["metric"] == "iou"].reset_index(drop=True)
    return Frames(
        scores=true_positive(everywhere, set(features["case"])),
        full=uncut if cutoffs is None else cut_off(uncut, cutoffs),
        uncut=uncut,
        features=features,
        tuned=None if thresholds is None else score(metrics="iou", threshold=thresholds),
        sweep=sweep,
        cut_off=cutoffs is not None,
        n_shared=n_shared,
    )


def warn_shared(study: Study, validation: Study) -> int:
    """Return how many cases are tuned on and scored, with a warning where there are any."""
    shared = {c.case for c in study} & {c.case for c in validation}
    if shared:
        warnings.warn(
            f"{len(shared)} of {len(study)} cases of --data are in --validation too: what is tuned on them "
            "is too good here (Extended Data 1, and cut-offs in Extended Data 4, Table 3 and S2)",
            SalstatsWarning,
            stacklevel=2,
        )
    return len(shared)


def read_validation(options: argparse.Namespace) -> Study:
    """Return the validation study, its maps under the same names."""
    maps = dict(options.maps)
    own = dict(options.validation_maps)
    # the release has both sets in one folder
    split = "val" if options.split == "test" else None
    if own:
        return ss.read_chexlocalize(options.validation, split=split, maps=own)
    methods = {name.split(":")[0] for name in maps}
    if len(methods) > 1:
        raise SalstatsError("several --maps need --validation-maps METHOD=DIR for each method")
    named = {"method": methods.pop()} if methods else {}
    return ss.read_chexlocalize(options.validation, split=split, **named)


def chosen(
    sweep: pd.DataFrame, column: str, otherwise: object, study: Study
) -> dict[tuple[str, str], object]:
    """Return the value of each task and method; one that the validation study cannot tell is `otherwise`."""
    best = one_model(sweep).query("chosen").set_index(["task", "method"])[column].to_dict()
    methods = {s.method for s in study.series} - {HUMAN}
    values = {(t, m): best.get((t, m), otherwise) for t in study.tasks for m in sorted(methods)}
    unknown = sorted({t for t, m in values if (t, m) not in best})
    if unknown:
        warnings.warn(
            f"the validation study has no {column} for {', '.join(unknown)}: {otherwise!r} is used",
            SalstatsWarning,
            stacklevel=2,
        )
    return values


def make_parser() -> OneLine:
    """Return the parser of the command line."""
    parser = OneLine("saporta2022", __doc__)
    add = parser.add_argument
    add("--data", type=Path, required=True, metavar="DIR", help="the study, such as the test set")
    add("--validation", type=Path, metavar="DIR", help="the study that thresholds and cut-offs are tuned on")
    add("-o", "--output", type=Path, required=True, metavar="OUT", help="folder to make")
    for name, whose in (("--maps", "--data"), ("--validation-maps", "--validation")):
        add(name, type=named_folder(FORM), action="append", default=[], metavar=FORM,
            help=f"maps of a method, where {whose} does not hold them alone; may be repeated")  # fmt: skip
    add("--images", type=Path, metavar="DIR", help="the images behind the maps, for the examples")
    add("--split", choices=("val", "test"), help="which set of --data, where one folder holds both")
    add("--as-published", action="store_true", help="inference as the study's scripts have it")
    add("--replicates", type=int, default=1000, metavar="N", help="bootstrap replicates (1000)")
    add("--min-positives", type=int, default=10, metavar="N", help="tasks with fewer are left out (10)")
    add("--jobs", type=int, default=1, metavar="N", help="processes; -1 for one per core (1)")
    add("--overwrite", action="store_true", help="replace what an earlier run made")
    return parser


def items_of(options: argparse.Namespace) -> list[Item]:
    """Return every table and figure of the study."""
    study = read_data(options)
    frames = make_frames(study, options)
    choice = Choice(options.as_published, options.replicates)
    items = list(make_items(frames, choice, options.min_positives))
    return [*items, examples(study, frames, options.images)]


def main(argv: Sequence[str] | None = None) -> int:
    options = make_parser().parse_args(argv)
    try:
        folder = check_items_folder(options.output, overwrite=options.overwrite)
        if options.replicates < FEWEST:
            raise SalstatsError(
                f"--replicates must be at least {FEWEST}, not {options.replicates}: intervals as published "
                "are order statistics"
            )
        write_results(partial(items_of, options), folder, jobs=options.jobs)
    except (SalstatsError, OSError) as error:
        print(f"saporta2022: {in_flags(str(error))}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
