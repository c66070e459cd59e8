"""Patients that no column names: what is proposed, and what is left alone."""

import re
import shlex
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from tests_support import warns

import salstats as ss
from salstats.cli.app import run
from salstats.errors import SalstatsWarning, Setting
from salstats.frames import ColumnCodes
from salstats.stats.engine.patient_structure import (
    GroupingColumn,
    find_patient_column,
    numbered_names,
    numbering_restarts,
    patient_groups_in_case_names,
)
from salstats.stats.engine.resampling_units import resolve_unit

SCHEMES = pd.read_csv(Path(__file__).parent / "case_names.csv", keep_default_na=False)
BIRDS = ("Black_footed_Albatross", "Crested_Auklet", "Parakeet_Auklet", "Brewer_Blackbird", "Indigo_Bunting",
         "Painted_Bunting", "Cardinal", "Spotted_Catbird", "Ovenbird", "Mallard")  # fmt: skip
CITIES = ("aachen", "bochum", "bremen", "cologne", "darmstadt", "dusseldorf", "erfurt", "hamburg", "hanover",
          "jena", "krefeld", "monchengladbach", "strasbourg", "stuttgart", "tubingen", "ulm", "weimar",
          "zurich")  # fmt: skip
#: Cities that were driven through in one long sequence.
ONE_SEQUENCE = ("bochum", "hamburg", "hanover", "krefeld", "monchengladbach", "strasbourg")
ADJECTIVES = [
    "amber",
    "bold",
    "calm",
    "dark",
    "eager",
    "faint",
    "gentle",
    "happy",
    "icy",
    "jolly",
    "kind",
    "lucky",
    "merry",
    "neat",
    "odd",
    "proud",
]
NOUNS = [
    "falcon",
    "otter",
    "table",
    "river",
    "stone",
    "lamp",
    "tiger",
    "cloud",
    "maple",
    "anchor",
    "candle",
    "bridge",
    "spoon",
    "violin",
]
VERBS = [
    "runs",
    "sings",
    "waits",
    "grows",
    "turns",
    "sleeps",
    "swims",
    "flies",
    "reads",
    "draws",
    "counts",
    "leaps",
    "hides",
    "rests",
]
#: Tissue source sites of glioblastomas.
SITES = (
    "02", "06", "08", "12", "14", "15", "16", "19", "26", "27", "28", "32", "41", "74", "76", "81",
)  # fmt: skip


def drawn(rng, **choices):
    """One value of each list."""
    return {name: values[rng.integers(len(values))] for name, values in choices.items()}


def digits(rng, n):
    return f"{rng.integers(10**n):0{n}d}"


def hexadecimal(rng, n):
    return rng.bytes(n // 2).hex()


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
    groups = patient_groups_in_case_names(study["case"])
    return study["lesion_id"] if groups is None else study["case"].str.extract(groups.pattern)[0]


def is_of_patients(study, proposal):
    """Whether a proposal has the patients' groups."""
    if proposal is None:
        return False
    codes = pd.factorize(proposal)[0]
    return bool((pd.factorize(codes)[0] == pd.factorize(study["whose"])[0]).all())


@pytest.mark.parametrize("n_cases", [12, 60, 600])
def test_patients_in_names_are_found_and_other_names_are_left_alone(n_cases):
    found, false_alarms = [], []
    for _, scheme in SCHEMES.iterrows():
        study = study_of(scheme, n_cases, seed=2)
        proposal = proposal_of(study)
        if scheme["has_patients"] == "yes":
            found.append(is_of_patients(study, proposal))
        elif proposal is not None:
            false_alarms.append(scheme["scheme"])
    assert len(found) == 15
    assert sum(found) >= 14
    assert len(SCHEMES) - len(found) == 15
    assert len(false_alarms) <= 1


def cases_of_twelve(**columns):
    """Scores of 12 patients with 5 images each, whose names say nothing."""
    rng = np.random.default_rng(0)
    level = np.repeat(rng.normal(0.5, 0.1, 12), 5)
    table = {"case": [f"c{i:03d}" for i in rng.permutation(60)], "metric": "iou", "method": "cam"}
    return pd.DataFrame(
        table | {"score": level + rng.normal(0, 0.1, 60), "size": np.arange(60) % 7} | columns
    )


BEASTS = ("fox", "owl", "elk", "yak", "emu", "cod", "bee", "ant", "cow", "hen", "pig", "ram")
IDS = {
    "record_id": np.repeat(10_000 + 37 * np.arange(12), 5),
    "hospital_number": np.repeat([f"H{800_000 + 91 * i}" for i in range(12)], 5),
    "animal": np.repeat(np.arange(1, 13), 5),
    "volunteer": np.repeat([f"V{i:02d}" for i in range(1, 13)], 5),
    "scan": np.repeat([f"scan_{i}" for i in range(12)], 5),
    "volume": np.repeat(np.arange(12.0), 5),
    "pseudonym": np.repeat([*BEASTS], 5),
}  # fmt: skip


@pytest.mark.parametrize("name", IDS)
def test_a_column_that_numbers_patients_is_proposed_and_cases_stay_the_units(name):
    scores = cases_of_twelve(**{name: IDS[name]})
    with warns(column=name, hint=Setting("unit", name)):
        found = ss.summarize(scores, by="method")
    assert found[["unit", "n_units"]].values.tolist() == [["case", 60]]
    taken = ss.summarize(scores, by="method", unit=name)
    assert taken["n_units"].tolist() == [12]
    assert taken["std_error"].item() > 1.3 * found["std_error"].item()


@pytest.mark.parametrize(
    "call",
    [
        lambda scores, **unit: ss.correlate(scores, "iou", "size", **unit),
        lambda scores, **unit: ss.regress(scores, "iou ~ size", **unit),
        lambda scores, **unit: ss.auroc(scores.assign(label=scores["size"] % 2), "iou", "label", **unit),
    ],
)
@pytest.mark.filterwarnings("ignore:rows are taken as independent")
def test_tables_made_of_scores_are_looked_at_too(call):
    scores = cases_of_twelve(record_id=IDS["record_id"])
    with warns(column="record_id", hint=Setting("unit", "record_id")):
        call(scores)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.filterwarnings("ignore", "limits rest on")
        call(scores, unit="record_id")


def test_columns_of_other_things_are_no_patients():
    rng = np.random.default_rng(1)
    n = 600
    blocks = np.arange(n)
    scores = pd.DataFrame({"case": [f"c{i}" for i in range(n)], "metric": "iou"})
    scores = scores.assign(
        site=blocks // 120, sex=rng.choice(["f", "m"], n), age=rng.integers(18, 90, n),
        years_of_age=rng.integers(18, 90, n), fold=blocks // 60, scanner=[f"model {i}" for i in blocks // 40],
        finding=rng.choice([f"finding {i}" for i in range(14)], n),
        day=np.repeat([f"2021-03-{d:02d}" for d in range(1, 26)], 24), bmi=rng.normal(25, 4, n).round(1),
        lesions=rng.poisson(6, n), columns=rng.choice([2021, 2048, 2500, 3056], n), split=blocks // 200,
        lung=rng.choice(["left", "right"], n), is_new=blocks % 2 == 0, slice_number=blocks % 40,
        acquired=np.repeat([20_210_301 + d for d in range(25)], 24), pixels=rng.integers(10_000, 999_999, n),
    )  # fmt: skip
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for size in (40, 60, 600):
            assert resolve_unit(ColumnCodes(scores.iloc[:size]), None).n == size


def test_infinite_numbers_give_no_warning_of_numpy():
    # Only warnings of the package are expected; others are errors in the tests.
    scores = pd.DataFrame({"case": [f"c{i:02}" for i in range(30)], "method": "cam", "metric": "iou"})
    scores = scores.assign(score=0.5, size=np.where(np.arange(30) % 3 == 0, np.inf, 1.0))
    assert len(ss.summarize(scores)) == 1


def test_a_column_that_differs_within_cases_or_lacks_for_half_of_them_is_no_patient():
    scores = cases_of_twelve(record_id=IDS["record_id"])
    two_readings = pd.concat([scores.assign(metric="dice"), scores], ignore_index=True)
    one_differs = two_readings.copy()
    one_differs.loc[0, "record_id"] += 37
    half_lack = scores.astype({"record_id": object})
    half_lack.loc[:29, "record_id"] = None
    with warns(column="record_id"):
        resolve_unit(ColumnCodes(two_readings), None)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        resolve_unit(ColumnCodes(one_differs), None)
        resolve_unit(ColumnCodes(half_lack), None)


def test_two_data_sets_that_call_cases_alike_are_no_patients():
    cases = [f"c{i:03d}" for i in range(40)]
    scores = pd.DataFrame({"case": cases * 2, "dataset": ["x"] * 40 + ["y"] * 40, "metric": "iou"})
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert resolve_unit(ColumnCodes(scores), None).n == 80
    named = scores.assign(case=[f"P{i // 4}-{i % 4}" for i in range(40)] * 2)
    with warns(column="case", hint=Setting("patient_from", r"^(P\d+)")):
        resolve_unit(ColumnCodes(named), None)


def test_whoever_says_what_the_units_are_hears_nothing():
    scores = cases_of_twelve(record_id=IDS["record_id"])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        resolve_unit(ColumnCodes(scores), "case")
        resolve_unit(ColumnCodes(scores), "record_id")
        # patients are known, and each has one case
        resolve_unit(ColumnCodes(scores.assign(patient=np.arange(60))), None)


@pytest.mark.parametrize("case", ["P{:02d}-{}", "O'Hara{}_{}", "x.y+{}/{}", "{}_{}"])
def test_the_proposal_for_names_runs_as_it_stands(case):
    names = [case.format(patient, image) for patient in range(1, 13) for image in range(1, 6)]
    scores = cases_of_twelve(case=[*names[:-1], "other"])
    with pytest.warns(SalstatsWarning) as caught:
        ss.summarize(scores, by="method")
    message = str(caught[0].message)
    statement = re.search(r"scores\['patient'\] = .*expand=False\)", message)[0]
    exec(statement, {"scores": scores})
    assert ss.summarize(scores, by="method")[["unit", "n_units"]].values.tolist() == [["patient", 13]]


def test_proposals_run_in_the_shell_as_they_stand(tmp_path, capsys):
    named = [f"P{patient:02d}-{image}" for patient in range(1, 13) for image in range(1, 6)]
    file, output = str(tmp_path / "scores.csv"), str(tmp_path / "means.csv")
    proposals = {"--patient-from": {"case": named}, "--unit": {"record_id": IDS["record_id"]}}
    for option, columns in proposals.items():
        cases_of_twelve(**columns).to_csv(file, index=False)
        assert run(["summarize", file, "-o", output, "--overwrite"]) == 0
        assert ss.read_data(output)["n_units"].tolist() == [60]
        proposal = re.search(rf"({option} \S+?)\)? keeps", capsys.readouterr().err)[1]
        assert run(["summarize", file, *shlex.split(proposal), "-o", output, "--overwrite"]) == 0
        assert ss.read_data(output)["n_units"].tolist() == [12]


def restarts(patients, sites):
    return numbering_restarts(numbered_names(pd.Series(patients, dtype="str")), pd.Series(sites))


def test_patients_numbered_from_1_within_each_site_are_told_from_others():
    sites = np.repeat(["a", "b"], [3, 5])
    numbers = [1, 2, 3, 1, 2, 3, 4, 5]
    assert restarts(map(str, numbers), sites)
    assert restarts([f"P{number:03d}" for number in numbers], sites)
    # sites of one size, a number that lacks, two patients, other stems, no numbers, many sites
    assert not restarts(map(str, [1, 2, 3, 4, 1, 2, 3, 4]), np.repeat(["a", "b"], 4))
    assert not restarts(map(str, [1, 2, 4, 1, 2, 3, 4, 5]), sites)
    assert not restarts(map(str, [1, 2, 1, 2, 3, 4, 5, 6]), np.repeat(["a", "b"], [2, 6]))
    assert not restarts(["x1", "x2", "x3", "y1", "y2", "y3", "y4", "y5"], sites)
    assert not restarts(list("abcdefgh"), sites)
    assert not restarts(map(str, numbers), np.repeat(["a", "b", "c"], [3, 3, 2]))
    assert not restarts(map(str, numbers), ["a"] * 8)


def test_names_that_end_in_a_number_have_a_stem_and_a_number():
    names = numbered_names(pd.Series(["P017", "3", "4.0", "A1B2", "none"], dtype="str"))
    assert names.stems.tolist()[:3] == ["P", "", ""]
    assert names.stems.isna().tolist() == [False, False, False, True, True]
    assert names.numbers.tolist()[:3] == [17, 3, 4]


def test_groups_are_counted_with_their_cases():
    names = [f"P{patient:02d}-{image}" for patient in range(12) for image in range(5)]
    found = patient_groups_in_case_names(pd.Series([*names, "P90-1", "other"]))
    # a patient of one case is a group, but too small to be counted with those of a patient's size
    assert (found.n_groups, found.n_grouped, found.n_cases) == (13, 60, 62)
    assert re.match(found.pattern, "P07-3")[1] == "P07"
    ids = pd.DataFrame({"record_id": [*np.repeat(10_000 + 37 * np.arange(12), 5), 20_000, 30_000]})
    column = find_patient_column(ids, np.arange(62))
    assert column == GroupingColumn("record_id", n_groups=14, n_grouped=60, n_cases=62)


def test_patients_differ_in_numbers():
    # names with a number of their own, and names that all have the number 7
    for n_numbered, is_found in ((9, True), (4, False)):
        beginnings = [f"{10 + i}" for i in range(n_numbered)] + ["07"] * (12 - n_numbered)
        letters = "abcdefghijkl"
        names = [
            f"{letters[i]}{letters[-i]}{n}-{image}" for i, n in enumerate(beginnings) for image in range(5)
        ]
        assert (patient_groups_in_case_names(pd.Series(names)) is not None) == is_found


def test_most_cases_are_in_groups_of_a_patients_size():
    ids = np.repeat(10_000 + 37 * np.arange(12), 5)
    for n_alone, is_found in ((59, True), (60, False)):
        values = [*ids, *range(50_000, 50_000 + n_alone)]
        found = find_patient_column(pd.DataFrame({"record_id": values}), np.arange(60 + n_alone))
        assert (found is not None) == is_found


@pytest.mark.parametrize(
    ("name", "beginning"),
    [
        ("{:02d}{}", "01"),
        ("P{:02d}{}", "P01"),
        ("{:02d}-{}", "01"),
        ("P_{:02d}_{}", "P_01"),
        ("{:02d}{}.png", "01"),
    ],
)
@pytest.mark.parametrize("images", ["ab", "abc"])
def test_the_end_of_a_name_may_be_one_letter_also_without_a_delimiter(name, beginning, images):
    names = [name.format(number, image) for number in range(1, 11) for image in images]
    groups = patient_groups_in_case_names(pd.Series(names))
    assert (groups.example, groups.beginning) == (name.format(1, "a"), beginning)
    assert (groups.n_groups, groups.n_grouped, groups.n_cases) == (10, len(names), len(names))
    patients = pd.Series(names).str.extract(groups.pattern)[0]
    assert patients.value_counts().tolist() == [len(images)] * 10


@pytest.mark.parametrize("names", [[], [""], ["a"]])
def test_too_few_names_have_no_patients(names):
    assert patient_groups_in_case_names(pd.Series(names, dtype="str")) is None
