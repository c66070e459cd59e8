"""Patients that no column names: what is proposed, and what is left alone."""

import re
import shlex
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import salstats as ss
from salstats.checks import SalstatsWarning
from salstats.frames import ColumnCodes
from salstats.stats.patient_structure import groups_in_names
from salstats.stats.units import resolve_unit

SCHEMES = pd.read_csv(Path(__file__).parent / "case_names.csv", keep_default_na=False)
BIRDS = ("Black_footed_Albatross", "Crested_Auklet", "Parakeet_Auklet", "Brewer_Blackbird", "Indigo_Bunting",
         "Painted_Bunting", "Cardinal", "Spotted_Catbird", "Ovenbird", "Mallard")  # fmt: skip
CITIES = ("aachen", "bochum", "bremen", "cologne", "darmstadt", "dusseldorf", "erfurt", "hamburg", "hanover",
          "jena", "krefeld", "monchengladbach", "strasbourg", "stuttgart", "tubingen", "ulm", "weimar",
          "zurich")  # fmt: skip
#: Cities that were driven through in one long sequence.
ONE_SEQUENCE = ("bochum", "hamburg", "hanover", "krefeld", "monchengladbach", "strasbourg")
ADJECTIVES = "amber bold calm dark eager faint gentle happy icy jolly kind lucky merry neat odd proud".split()
NOUNS = "falcon otter table river stone lamp tiger cloud maple anchor candle bridge spoon violin".split()
VERBS = "runs sings waits grows turns sleeps swims flies reads draws counts leaps hides rests".split()
#: Tissue source sites of glioblastomas.
SITES = "02 06 08 12 14 15 16 19 26 27 28 32 41 74 76 81".split()


def drawn(rng, **choices):
    """One value of each list."""
    return {name: values[rng.integers(len(values))] for name, values in choices.items()}


def digits(rng, n):
    return "".join(map(str, rng.integers(0, 10, n)))


def hexadecimal(rng, n):
    return "".join("0123456789abcdef"[i] for i in rng.integers(0, 16, n))


def patient_fields(rng, number):
    """What the beginning of a name may hold; a new draw for each patient, class, day or city."""
    city = drawn(rng, city=CITIES)
    classes = [f"{7 * k + 1440764:07d}" for k in range(10)]
    ids = {"id4": digits(rng, 4), "id5": digits(rng, 5), "id6": digits(rng, 6), "id7": digits(rng, 7)}
    ids |= {"id9": digits(rng, 9), "id9b": digits(rng, 9), "digit": digits(rng, 1), "number": number}
    others = drawn(rng, site=SITES, bird=BIRDS, split=["train", "train", "test"], group7=classes)
    times = {"year": rng.integers(2007, 2013), "month": rng.integers(1, 13), "day": rng.integers(1, 29)}
    return city | ids | others | times


def image_fields(rng, patient, index, running):
    """What the end of a name may hold; a new draw for each image."""
    uuid = "-".join(hexadecimal(rng, n) for n in (8, 4, 4, 4, 12))
    sequence = f"{running:06d}_000019"
    if patient["city"] in ONE_SEQUENCE:
        sequence = f"000000_{rng.integers(1e5):06d}"
    images = {f"image{n}": digits(rng, n) for n in (4, 5, 6, 7)}
    keys = {"uuid": uuid, "sha": hexadecimal(rng, 40), "hex16": hexadecimal(rng, 16), "sequence": sequence}
    places = {"index": index + 1, "running": running, "slice": rng.integers(1, 156)}
    sides = {"side": "LR"[index % 2], "eye": ("left", "right")[index % 2]}
    return images | keys | places | sides | drawn(rng, adjective=ADJECTIVES, noun=NOUNS, verb=VERBS)


def study_of(scheme, n_cases, seed):
    """Names of the cases of a naming scheme in any order, and whose each is."""
    rng = np.random.default_rng(seed)
    names = {}
    number = 0
    while len(names) < n_cases:
        number += 1
        patient = patient_fields(rng, number)
        n_images = rng.integers(scheme["fewest"], scheme["most"] + 1)
        if scheme["scheme"] == "isic":
            # of HAM10000's 7,470 lesions 74 % have one image, 19 % two
            n_images = 1 + rng.choice(4, p=[0.74, 0.19, 0.05, 0.02])
        # a study of three patients is none of patients
        n_images = min(n_images, n_cases // 4)
        for index in range(n_images):
            fields = patient | image_fields(rng, patient, index, len(names) + 1)
            name = (scheme["patient"] + scheme["image"]).format(**fields)
            names.setdefault(name, number)
    study = pd.DataFrame({"case": names.keys(), "whose": names.values(), "metric": "iou"}).iloc[:n_cases]
    if scheme["scheme"] == "isic":
        study["lesion_id"] = "HAM_" + study["whose"].map("{:07d}".format)
    return study.sample(frac=1, random_state=seed).reset_index(drop=True)


def proposal_of(study):
    """The unit that is taken, or proposed, of each case; None where cases are alone without a word."""
    table = study.drop(columns="whose")
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        units = resolve_unit(ColumnCodes(table), None)
    if units.name != "case":
        return units.codes
    if not caught:
        return None
    groups = groups_in_names(study["case"])
    return study["lesion_id"] if groups is None else study["case"].str.extract(groups.pattern)[0]


def is_of_patients(study, proposal):
    """Whether a proposal has the patients' groups."""
    if proposal is None:
        return False
    codes = pd.factorize(proposal)[0]
    return bool((pd.factorize(codes)[0] == pd.factorize(study["whose"])[0]).all())
