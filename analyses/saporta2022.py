"""Tables, figures and sensitivity of Saporta et al. (2022) from a study in the CheXlocalize format.

Reads heat maps, the truth, people's segmentations and points, and writes into OUT:

  frames/KEY.csv        every result unrounded
  tables/KEY.html       and .tex, .docx, .csv: the same as a table for a paper
  figures/KEY.pdf       and .png
  outputs.csv           every file with its item, slice, unit, interval and what has to be known to read it

The items: Tables 1 to 3 and S1, Figs. 1 to 3, Extended Data 1 to 10 (3 where several methods or models are
given, 7 where single trainings of a model are, as METHOD:MODEL:SEED beside METHOD:MODEL), every headline
number as published and with patients as clusters, what changes under other choices (S1 misses, S2 cut-offs,
S3 task effects, S7 logistic model), one at a time, and cases picked by their IoU.
What cannot be made of what is there is listed with what it needs before anything is tuned or scored: the
public release has maps for its validation set only, and people's marks for its test set only. A result whose
numbers turn out not to allow it, such as slopes on features that do not vary, is named at the end.

Without --as-published intervals resample patients (a task's hit rate has Wilson's, of the effective number
of patients), estimates are means of the scores, pairs are complete.
With it: the mean of 1000 replicates of cases, order statistics, rows for independent, the scripts' rounding,
and cut-offs chosen as the scripts do (above, not from; means to three digits; 0 not tried for Lung Lesion).
Thresholds and cut-offs are given, or tuned on --validation, never on --data; without either Extended Data 1
is left out and no mask is emptied for want of confidence. The first --maps is the method of all
single-method items, and what is tuned is tuned for it.

--maps without a name is a folder of folders METHOD or METHOD_MODEL, by name (--main says which is the first);
trainings of a model are named one by one, METHOD:MODEL:SEED=DIR. The study
smoothed integrated gradients (100 pixels; 50 for ResNet152 and Inception-v4), DeepLIFT (50) and LRP (80):
--smooth integrated_gradients=100. A long run that is stopped goes on with the same --resume FOLDER.

Exits with 2 and one line where the input cannot be used.

Example: python analyses/saporta2022.py --data test --validation val -o out --maps gradcam=test/gradcam_maps
Example: python analyses/saporta2022.py --data CheXlocalize --split val --validation CheXlocalize -o out
"""

import argparse
import sys
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

import pandas as pd

import salstats as ss
from salstats.checks import SalstatsError, quoted, run_of_command, warn
from salstats.cli.options import by_method, in_flags, split
from salstats.files.checkpoints import checked_folder
from salstats.readers.case_images import check_images
from salstats.readers.chexlocalize import METHOD
from salstats.readers.chexlocalize_files import SPLITS, split_of
from salstats.readers.chexlocalize_study import PATIENT
from salstats.scoring.masking import mask_rule, value_of
from salstats.studies.items import Item, check_items_folder
from salstats.studies.options import OneLine, folders, named_folder, write_results
from salstats.studies.saporta2022.examples import pictures
from salstats.studies.saporta2022.frames import Choice, Frames, check_positives
from salstats.studies.saporta2022.items import make_items, missing_parts
from salstats.studies.saporta2022.needs import MAPS, SWEEP, held_by, main_alone, main_series
from salstats.studies.saporta2022.slices import cut_off, true_positive
from salstats.study import Study

#: How a folder is given by name.
FORM = "METHOD[:MODEL[:SEED]]=DIR"

#: Replicates that the 25th of 1000, and its like, need.
FEWEST = 40

#: What makes a mask of a map, for all methods or by method.
MASKS = {
    "threshold": "of Extended Data 1b, in the place of one that is tuned; may be repeated",
    "cutoff": "probability below which a mask is empty, in the place of one that is tuned; may be repeated",
    "smooth": "side of a box filter in pixels (none); may be repeated",
}

#: Files of --data that are found by their names unless they are given.
FILES = ("truth", "annotations", "human", "human_annotations", "points", "labels")


def read_data(options: argparse.Namespace) -> Study:
    """Return the study, the main series of maps first."""
    maps = folders(options.maps, "--maps")
    if options.main is not None:
        if options.main not in (maps or {}):
            raise SalstatsError(f"--main {options.main} is none of --maps ({quoted(maps or ()) or 'none'})")
        maps = {options.main: maps[options.main], **maps}
    return ss.read_chexlocalize(
        options.data, split=options.split, maps=maps, tasks=split(options.tasks),
        patient_from=options.patient_from, **{name: getattr(options, name) for name in FILES},
    )  # fmt: skip


def read_validation(options: argparse.Namespace, study: Study) -> Study | None:
    """Return the validation study with the maps of the main series, under the name it has in the study."""
    if options.validation is None:
        return None
    maps = folders(options.validation_maps, "--validation-maps")
    name = str(main_series(study) or next(iter(maps or ()), METHOD))
    if maps and name not in maps:
        raise SalstatsError(
            f"--validation-maps names {quoted(maps)}; thresholds and cut-offs are tuned for {name!r}"
        )
    validation = ss.read_chexlocalize(
        options.validation, tasks=split(options.tasks),
        # the release has both sets in one folder
        split="val" if set(SPLITS) <= {split_of(p.name) for p in options.validation.iterdir()} else None,
        **({"maps": {name: maps[name]}} if maps else {"method": name}),
    )  # fmt: skip
    return validation.select(tasks=[t for t in validation.tasks if t in study.tasks])


def make_frames(study: Study, options: argparse.Namespace) -> Frames:
    """Return the frames of the study, tuned on the validation study where there is one."""
    shown = {"jobs": options.jobs, "progress": sys.stderr.isatty()}
    main, validation = main_series(study), read_validation(options, study)
    features = ss.features(study, **shown)
    check_positives(features, options.min_positives)
    there = held_by(study, validation, thresholds=options.threshold is not None)
    for sentence in missing_parts(there):
        print(sentence, flush=True)
        warn(sentence)

    given = by_method(**{name: getattr(options, name) for name in MASKS})
    if given and main is None:
        raise SalstatsError(f"--{next(iter(given))} is of maps, and {study.source} has none")
    own = {name: of_main(study, name, value) for name, value in given.items()}
    sweep, n_shared = None, 0
    if SWEEP in there:
        tune = partial(ss.tune, validation, smooth=own.get("smooth") or None, **shown)
        sweep = tune(what="threshold")
    if {SWEEP, MAPS} <= there and not {"threshold", "cutoff"} <= set(own):
        n_shared = warn_shared(study, validation)
        if "threshold" not in own:
            own["threshold"] = chosen(sweep, "threshold", "otsu", study)
        if "cutoff" not in own:
            tried = tune(what="cutoff", as_published=options.as_published)
            own["cutoff"] = chosen(tried, "cutoff", 0.0, study)

    score = partial(ss.score, resume=options.resume, **shown)
    everywhere = score(study, metrics=["iou", "hit"], slice="full", smooth=given.get("smooth"))
    uncut = everywhere[everywhere["metric"] == "iou"].reset_index(drop=True)
    full, tuned = uncut, None
    if "cutoff" in own:
        full = cut_off(uncut, {(task, main.method): value for task, value in own["cutoff"].items()})
    if "threshold" in own:
        masks = {name: own[name] for name in ("threshold", "smooth") if own.get(name)}
        tuned = score(main_alone(study), metrics="iou", **masks)
    return Frames(
        scores=true_positive(everywhere, set(features["case"])),
        full=full,
        uncut=uncut,
        features=features,
        tuned=tuned,
        sweep=sweep,
        cut_off="given" if "cutoff" in given else "tuned" if "cutoff" in own else "",
        thresholds="given" if "threshold" in given else "tuned",
        n_shared=n_shared,
    )


def of_main(study: Study, name: str, given: Any) -> dict[str, Any]:
    """Return an option's value for the main series, by task; none where it says nothing of it."""
    # a file of cut-offs may be of the main series only
    values = getattr(mask_rule(study if name == "smooth" else main_alone(study), **{name: given}), name)
    found = {task: value_of(values, task, main_series(study)) for task in study.tasks}
    return {task: value for task, value in found.items() if value is not None}


def warn_shared(study: Study, validation: Study) -> int:
    """Return how many cases are tuned on and scored, with a warning where there are any."""
    shared = {c.case for c in study} & {c.case for c in validation}
    if shared:
        warn(
            f"{len(shared)} of {len(study)} cases of --data are in --validation too: what is tuned on them "
            "is too good here (Extended Data 1, and cut-offs in Extended Data 4, Table 3 and S2)"
        )
    return len(shared)


def chosen(sweep: pd.DataFrame, column: str, otherwise: object, study: Study) -> dict[str, object]:
    """Return the value of each task; one that the validation study cannot tell is `otherwise`."""
    best = sweep.query("chosen").set_index("task")[column].to_dict()
    unknown = [t for t in study.tasks if t not in best]
    if unknown:
        warn(f"the validation study has no {column} for {', '.join(unknown)}: {otherwise!r} is used")
    return {task: best.get(task, otherwise) for task in study.tasks}


def make_parser() -> OneLine:
    """Return the parser of the command line."""
    parser = OneLine("saporta2022", __doc__)
    add = parser.add_argument
    add("--data", type=Path, required=True, metavar="DIR", help="the study, such as the test set")
    add("--validation", type=Path, metavar="DIR", help="the study that thresholds and cut-offs are tuned on")
    add("-o", "--output", type=Path, required=True, metavar="OUT", help="folder to make")
    for name, whose in (("--maps", "--data"), ("--validation-maps", "--validation")):
        add(name, type=named_folder(FORM, unnamed=True), action="append", default=[], metavar=FORM,
            help=f"maps of a method, where {whose} does not hold them alone; may be repeated")  # fmt: skip
    add("--main", metavar="METHOD[:MODEL]", help="whose maps single-method items show (the first)")
    for name, what in MASKS.items():
        add(f"--{name}", action="append", metavar="[METHOD[:MODEL]=]N|FILE", help=what)
    add("--images", type=Path, metavar="DIR", help="the images behind the maps, for the examples")
    add("--split", choices=("val", "test"), help="which set of --data, where one folder holds both")
    add("--tasks", action="append", metavar="TASK", help="only these, comma-separated")
    for name in FILES:
        add(
            f"--{name.replace('_', '-')}", type=Path, metavar="FILE", help="of --data; else found by its name"
        )
    add("--patient-from", default=PATIENT, metavar="REGEX", help="finds the patient in a case's name")
    add("--as-published", action="store_true", help="inference and cut-offs as the study's scripts have them")
    add("--replicates", type=int, default=1000, metavar="N", help="bootstrap replicates (1000)")
    add("--min-positives", type=int, default=10, metavar="N", help="tasks with fewer are left out (10)")
    add("--jobs", type=int, default=1, metavar="N", help="processes; -1 for one per core (1)")
    add("--resume", type=Path, metavar="FOLDER", help="keeps scored cases for a run that is stopped")
    add("--overwrite", action="store_true", help="replace what an earlier run made")
    return parser


def items_of(options: argparse.Namespace) -> list[Item]:
    """Return every table and figure of the study."""
    check_images(options.images)
    study = read_data(options)
    frames = make_frames(study, options)
    choice = Choice(options.as_published, options.replicates)
    items = list(make_items(frames, choice, options.min_positives))
    return [*items, *pictures(study, frames, options.images)]


@run_of_command()
def main(argv: Sequence[str] | None = None) -> int:
    options = make_parser().parse_args(argv)
    try:
        folder = check_items_folder(options.output, overwrite=options.overwrite)
        if options.resume is not None:
            checked_folder(options.resume)
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
