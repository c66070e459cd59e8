"""Frames that `score`, `features` and `tune` give: of the CheXlocalize oracle, and of a study drawn here."""

import json
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd
from scipy import ndimage

import salstats as ss
from salstats.readers.chexlocalize_maps import TASKS
from salstats.studies.saporta2022.study_frames import FEATURES

#: What the maps of the made-up study are called here.
METHOD = "gradcam"
KEYS = ["case", "task"]
#: Findings of the study that is drawn here.
DRAWN_TASKS = ("Atelectasis", "Airspace Opacity")


@dataclass(frozen=True)
class Oracle:
    """What the scripts gave, in long form, and what the study's design says."""

    scores: pd.DataFrame
    full: pd.DataFrame
    uncut: pd.DataFrame
    tuned: pd.DataFrame
    features: pd.DataFrame
    sweep: pd.DataFrame


@dataclass(frozen=True)
class DrawnTables:
    """Scores of the true-positive and the full slice and features of a study that is drawn here."""

    scores: pd.DataFrame
    full: pd.DataFrame
    features: pd.DataFrame


def finding(rng):
    """A box of an image of 20 x 24 pixels without one corner, and sometimes a second, small one."""
    mask = np.zeros((20, 24), bool)
    top, left = rng.integers(1, 9, 2)
    height, width = rng.integers(4, 11, 2)
    mask[top : top + height, left : left + width] = True
    mask[top : top + height // 3, left : left + rng.integers(1, width - 1)] = False
    mask[18:20, 20:23] = rng.random() < 0.3
    return mask


def draw_study() -> ss.Study:
    """Draw two findings of 60 cases of 30 patients, of which maps and people miss some."""
    rng = np.random.default_rng(23)
    truths, maps, human, points, prob = {}, {}, {}, {}, {}
    for number in range(60):
        case = f"patient{number // 2:05d}_study{number % 2 + 1}_view1_frontal"
        for key in ((case, task) for task in DRAWN_TASKS):
            is_there = rng.random() < 0.7
            truth = finding(rng)
            truths[key] = truth & is_there
            # a map that is constant marks nothing
            blurred = ndimage.gaussian_filter(np.roll(truth, rng.integers(-3, 4, 2), (0, 1)) * 1.0, 2)
            maps[*key, METHOD] = blurred * (rng.random() > 0.03)
            if rng.random() < (0.97 if is_there else 0.2):
                human[key] = np.roll(truth, rng.integers(-2, 3, 2), (0, 1))
                points[key] = np.argwhere(human[key])[:1] + rng.integers(0, 2, 2)
            prob[key] = rng.uniform(0.2, 1) if is_there else rng.uniform(0, 0.7)
    patient = {case: case.partition("_")[0] for case, _ in truths}
    return ss.study_from_arrays(truths, maps, human=human, points=points, prob=prob, patient=patient)


def draw_tables() -> DrawnTables:
    """Score this study and measure its findings."""
    study = draw_study()
    features = ss.features(study)[[*KEYS, *FEATURES]]
    labels = features[KEYS].assign(label=(features["area_ratio"] > 0).astype(float))
    scores = ss.score(study, metrics=["iou", "hit"])
    full = ss.score(study, metrics="iou", slice="full")
    return DrawnTables(scores.merge(labels, on=KEYS), full.merge(labels, on=KEYS), features)


def in_nine_tasks(tables: DrawnTables) -> DrawnTables:
    """Give nine findings the rows of the first finding drawn here, with other losses of the maps.

    From finding to finding the maps' IoU falls and their hits rise, so that the two metrics order them in
    opposite ways.
    """
    tasks = TASKS[:9]

    def repeat(frame):
        rows = frame[frame["task"] == DRAWN_TASKS[0]]
        return pd.concat([rows.assign(task=task) for task in tasks], ignore_index=True)

    scores = repeat(tables.scores)
    place = scores["task"].map(tasks.index)
    is_of_maps = scores["method"] == METHOD
    is_of_people = scores["method"] == "human"
    is_hit = (scores["metric"] == "hit") & scores["score"].notna()
    iou = scores["score"] * (1.7 - 0.15 * place)
    scores["score"] = scores["score"].mask(is_of_maps & ~is_hit, iou.clip(upper=1))
    number_of_case = scores["case"].str[7:12].astype(int)
    hits_of_maps = (number_of_case % (place + 2) > 0).astype(float)
    hits_of_people = (number_of_case % 7 != 3).astype(float)
    scores["score"] = scores["score"].mask(is_of_maps & is_hit, hits_of_maps)
    scores["score"] = scores["score"].mask(is_of_people & is_hit, hits_of_people)
    return DrawnTables(scores, repeat(tables.full), repeat(tables.features))


def long(path: Path, value: str) -> pd.DataFrame:
    """A file with a task per column as one row per case and task."""
    wide = pd.read_csv(path)
    return wide.melt(id_vars="img_id", var_name="task", value_name=value).rename(columns={"img_id": "case"})


def read_oracle(expected: Path) -> Oracle:
    """Return the frames of `study/expected`."""
    maps = pd.read_csv(expected / "per_map.csv").rename(columns={"img_id": "case"})
    maps["label"] = (maps["gt_px"].fillna(0) > 0).astype(float)
    prob = maps[[*KEYS, "prob"]]
    label = maps[[*KEYS, "label"]]
    counts = pd.concat([_map_counts(maps), _human_counts(expected, maps)], ignore_index=True)

    def scores(parts: dict[tuple[str, str], Path], cases: pd.DataFrame, absent: str) -> pd.DataFrame:
        """One slice: files by method and metric, on these cases and tasks."""
        made = []
        for (method, metric), path in parts.items():
            rows = cases.merge(long(path, "score"), on=KEYS, how="left", validate="1:1")
            rows = rows.assign(method=method, metric=metric)
            rows = (
                rows.merge(prob, on=KEYS, validate="1:1") if method != "human" else rows.assign(prob=np.nan)
            )
            made.append(rows)
        frame = pd.concat(made, ignore_index=True).merge(label, on=KEYS, validate="m:1")
        frame = frame.merge(counts, on=[*KEYS, "method"], how="left", validate="m:1")
        reason = np.where(frame["label"] == 0, absent, "empty mask")
        frame["reason"] = pd.Series(np.where(frame["score"].isna(), reason, None), dtype="object")
        frame["patient"] = frame["case"].str.extract(r"(patient\d+)", expand=False)
        return frame.sort_values([*KEYS, "method", "metric"], ignore_index=True)

    tp, full = expected / "eval_tp", expected / "eval_full"
    annotated = long(tp / "iou_results_per_cxr.csv", "score")[KEYS]
    everywhere = maps[KEYS]
    human = ("human", "iou"), full / "iou_humanbenchmark_results_per_cxr.csv"
    return Oracle(
        scores=scores(
            {
                (METHOD, "iou"): tp / "iou_results_per_cxr.csv",
                ("human", "iou"): tp / "iou_humanbenchmark_results_per_cxr.csv",
                (METHOD, "hit"): tp / "hitmiss_results_per_cxr.csv",
                ("human", "hit"): tp / "hitmiss_humanbenchmark_results_per_cxr.csv",
            },
            annotated,
            "finding absent",
        ),
        full=scores(
            {(METHOD, "iou"): full / "iou_results_per_cxr.csv", human[0]: human[1]},
            everywhere,
            "true negative",
        ),
        uncut=scores(
            {(METHOD, "iou"): expected / "eval_full_otsu" / "iou_results_per_cxr.csv", human[0]: human[1]},
            everywhere,
            "true negative",
        ),
        tuned=scores(
            {
                (METHOD, "iou"): expected / "eval_tp_threshold" / "iou_results_per_cxr.csv",
                ("human", "iou"): tp / "iou_humanbenchmark_results_per_cxr.csv",
            },
            annotated,
            "finding absent",
        ),
        features=_features(expected / "features"),
        sweep=_sweep(expected / "tune"),
    )


def _map_counts(maps: pd.DataFrame) -> pd.DataFrame:
    """Pixels of the maps' masks against the truth, which is empty where the truth file lacks the case."""
    truth, both = maps["gt_px"].fillna(0), maps["inter_px"].fillna(0)
    return _counts(maps.assign(method=METHOD), maps["seg_px"], truth, both, maps["h"] * maps["w"])


def _human_counts(expected: Path, maps: pd.DataFrame) -> pd.DataFrame:
    """The same of the second reader, from the two files of masks."""
    import json

    from pycocotools import mask as coco

    truth, human = (
        json.loads((expected / f"{name}_segmentations.json").read_text()) for name in ("gt", "hb")
    )
    rows = []
    for case, task, height, width in maps[[*KEYS, "h", "w"]].itertuples(index=False):
        pair = [masks.get(case, {}).get(task) for masks in (truth, human)]
        sizes = [0 if mask is None else int(coco.area(mask)) for mask in pair]
        both = 0 if None in pair else int(coco.area(coco.merge(pair, intersect=True)))
        rows.append((case, task, sizes[0], sizes[1], both, height * width))
    frame = pd.DataFrame(rows, columns=[*KEYS, "truth", "mask", "both", "all"]).assign(method="human")
    return _counts(frame, frame["mask"], frame["truth"], frame["both"], frame["all"])


def _counts(
    frame: pd.DataFrame, mask: pd.Series, truth: pd.Series, both: pd.Series, everything: pd.Series
) -> pd.DataFrame:
    """The four counts of each row."""
    return frame[[*KEYS, "method"]].assign(
        tp=both, fp=mask - both, fn=truth - both, tn=everything - mask - truth + both
    )


def _features(folder: Path) -> pd.DataFrame:
    """Features by their names here."""
    frame = long(folder / "num_instances.csv", "n_instances")
    for name in ("area_ratio", "elongation", "rec_area_ratio"):
        frame = frame.merge(long(folder / f"{name}.csv", name), on=KEYS, validate="1:1")
    frame["irrectangularity"] = 1 - frame.pop("rec_area_ratio")
    return frame.sort_values(KEYS, ignore_index=True)


def _sweep(folder: Path) -> pd.DataFrame:
    """The threshold sweep; the script writes the one it chose with one digit."""
    detail = pd.read_csv(folder / "tune_heatmap_detail.csv").rename(columns={"miou": "estimate"})
    chosen = pd.read_csv(folder / "tuning_results.csv").set_index("task")["threshold"]
    detail["chosen"] = np.isclose(detail["threshold"], detail["task"].map(chosen), rtol=0, atol=1e-9)
    return detail.assign(method=METHOD, metric="iou")


def write_part(inputs: Path, folder: Path, *, n_annotated: int, n_absent: int) -> list[str]:
    """Write a part of the made-up study's files; return its cases, those without a finding last."""
    truth = json.loads((inputs / "gt_annotations.json").read_text())
    maps: dict[str, list[Path]] = {}
    for file in sorted((inputs / "maps").iterdir()):
        maps.setdefault(file.name.rsplit("_", 2)[0], []).append(file)
    kept = [*sorted(truth)[:n_annotated], *sorted(set(maps) - set(truth))[:n_absent]]
    for name in ("gt_annotations", "hb_annotations", "hb_salient_pts"):
        whole = json.loads((inputs / f"{name}.json").read_text())
        (folder / f"{name}.json").write_text(json.dumps({c: whole[c] for c in kept if c in whole}))
    (folder / "maps").mkdir()
    for file in (file for case in kept for file in maps[case]):
        (folder / "maps" / file.name).symlink_to(file)
    return kept
