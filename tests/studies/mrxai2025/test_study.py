"""Tools compared and simulations, end to end on a small drawn study in the layout of the study's data."""

import re
import shutil

import cv2
import numpy as np
import pandas as pd
import pytest
from scipy.spatial.distance import directed_hausdorff
from tests_support import raises

import salstats as ss
from salstats.errors import SalstatsError, ValueRangeError
from salstats.images.simulated_masks import draw_centred_contour, irregular_contour_row_col
from salstats.studies import declarations, engine
from salstats.studies.mrxai2025 import (
    COMPARISON_ITEMS,
    REFERENCE,
    SECOND_TOOL,
    SIMULATION_ITEMS,
    check_options,
    diagonal_by_case,
    image_file_by_case,
    needs_met,
    reference_tool_or_study_default,
    score_data,
)

SHAPE = (64, 80)
TOOLS = ("gradcam", "lime", "rex")
#: Of 14 patients with two slices each: without a tumour, missed by the model, and alarmed for nothing.
PATIENTS, ABSENT, MISSED, FALSE_ALARM = 14, ("p02_1", "p05_1", "p09_1"), ("p03_0", "p07_1"), ("p09_1",)
# sums of the same numbers in another order
ROUNDING = 1e-12


def cases():
    return [f"p{i:02d}_{j}" for i in range(PATIENTS) for j in (0, 1)]


def empty_for_lime(case):
    """LIME marks nothing on the first slice of two patients out of three: where the tumour is small."""
    return case.endswith("_0") and int(case[1:3]) % 3 != 0


def write_study(folder):
    """A drawn study: shapes for tumours, shifted and scaled copies for explanations. No patient is in it."""
    rng = np.random.default_rng(5)
    rows = []
    for tool in TOOLS:
        (folder / tool).mkdir(parents=True)
    for case in cases():
        contour = irregular_contour_row_col(radius=9, rng=rng)
        truth = np.zeros(SHAPE, bool) if case in ABSENT else draw_centred_contour(contour, SHAPE, smooth=1)
        image = rng.integers(30, 90, (*SHAPE, 3)).astype(np.uint8)
        image[truth] += 100
        place = folder / "data" / case[:3]
        place.mkdir(parents=True, exist_ok=True)
        assert cv2.imwrite(str(place / f"{case}.tif"), image)
        assert cv2.imwrite(str(place / f"{case}_mask.tif"), truth.astype(np.uint8) * 255)
        for tool, away in zip(TOOLS, (6, 3, 3), strict=True):
            shift = tuple(rng.integers(away - 2, away + 3, 2).tolist())
            mask = draw_centred_contour(contour, SHAPE, shift=shift, scale=rng.uniform(0.8, 1.3), smooth=1)
            if tool == "lime" and empty_for_lime(case):
                mask[:] = False
            if tool == "gradcam":
                far = cv2.distanceTransform((~mask).astype(np.uint8), cv2.DIST_L2, 5)
                np.save(folder / tool / f"{case}.npy", np.exp(-far / 2))
            elif tool == "lime":
                assert cv2.imwrite(str(folder / tool / f"{case}.png"), mask.astype(np.uint8) * 255)
            else:
                np.save(folder / tool / f"{case}.npy", mask)
        positive = case not in MISSED and (case not in ABSENT or case in FALSE_ALARM)
        rows.append((case, 0.9 if positive else 0.1))
    pd.DataFrame(rows, columns=["case", "prob"]).to_csv(folder / "predictions.csv", index=False)
    return folder


@pytest.fixture(scope="module")
def drawn(tmp_path_factory):
    return write_study(tmp_path_factory.mktemp("drawn"))


def of_tools(folder):
    """The options that name the drawn study's data."""
    tools = ["--maps", f"gradcam={folder / 'gradcam'}"]
    tools += [word for tool in ("lime", "rex") for word in ("--masks", f"{tool}={folder / tool}")]
    return ["--data", str(folder / "data"), *tools, "--predictions", str(folder / "predictions.csv")]


@pytest.fixture(scope="module")
def made(results, drawn):
    """The items of the drawn study."""
    return results("mrxai2025", *of_tools(drawn), "--replicates", "40")


@pytest.fixture(scope="module")
def study(drawn):
    return ss.read_mrxai2025(
        drawn / "data",
        masks={"lime": drawn / "lime", "rex": drawn / "rex"},
        maps=drawn / "gradcam",
        method="gradcam",
        predictions=drawn / "predictions.csv",
    )


def frame(made, key):
    return made[key].frame


def kept_cases():
    return [case for case in cases() if case not in (*ABSENT, *MISSED)]


def test_every_item_has_table_figure_and_note(made):
    assert set(made) == {"cases", "table_1", "figure_7", "empty", "differences", "sensitivity", "examples"}
    for item in made.values():
        assert item.table is not None
        assert item.figure is not None
        assert item.note


def test_cases_that_the_model_gets_wrong_and_slices_without_tumour_are_left_out_and_counted(made, tmp_path):
    ss.save_table(made["cases"].table, tmp_path / "cases.csv")
    table = pd.read_csv(tmp_path / "cases.csv", encoding="utf-8-sig")
    counted = dict(zip(table.iloc[:, 0], table.iloc[:, 1], strict=True))
    assert counted["In the file"] == 2 * PATIENTS
    assert counted["The model misses the finding"] == len(MISSED)
    assert counted["Finding absent, and the model says otherwise"] == len(FALSE_ALARM)
    assert counted["Finding absent"] == len(ABSENT) - len(FALSE_ALARM)
    assert counted["Compared"] == len(kept_cases())
    flow = frame(made, "cases").query("metric == 'dice' and method == 'rex' and stage == 'defined'")
    assert flow.loc[~flow["excluded"], "n_rows"].item() == len(kept_cases())


def test_table_1_is_mean_and_sd_of_the_scores_that_score_gives(made, study):
    scores = ss.score(study, metrics=["dice", "iou", "hausdorff", "pdc"], pdc={"alpha": 0, "beta": 0})
    scores = scores[scores["case"].isin(kept_cases())]
    want = scores.groupby(["metric", "method"])["score"].agg(["mean", "std", "count"])
    got = frame(made, "table_1").set_index(["metric", "method"])
    assert len(got) == 12
    for ours, theirs in (("estimate", "mean"), ("sd", "std"), ("n", "count")):
        np.testing.assert_allclose(got[ours], want.loc[got.index, theirs], rtol=ROUNDING)
    assert (got["unit"] == "patient").all()


def test_empty_explanations_are_a_share_of_the_cases_compared(made):
    found = frame(made, "table_1").query("metric == 'dice'").set_index("method")
    n_empty = sum(empty_for_lime(case) for case in kept_cases())
    assert 4 < n_empty < len(kept_cases()) / 2
    assert found["n_empty"].to_dict() == {"gradcam": 0, "lime": n_empty, "rex": 0}
    np.testing.assert_allclose(found.loc["lime", "share_empty"], n_empty / len(kept_cases()), rtol=ROUNDING)
    shares = frame(made, "empty").set_index("method")["estimate"]
    np.testing.assert_allclose(shares, found.loc[shares.index, "share_empty"], rtol=ROUNDING)


def test_a_tool_does_not_look_better_for_failing(made):
    rows = frame(made, "sensitivity").set_index(["metric", "method"])
    lime = rows.xs("lime", level="method")
    # with its failures left out LIME passes for better than Grad-CAM, at worst it does not
    assert lime.loc["dice", "verdict"] == "higher"
    assert lime.loc["dice", "worst_verdict"] != "higher"
    assert lime.loc["hausdorff", "verdict"] == "lower"
    assert lime.loc["hausdorff", "worst_verdict"] != "lower"
    for metric, better in (("dice", 1), ("iou", 1), ("pdc", 1), ("hausdorff", -1)):
        assert better * lime.loc[metric, "worst_mean"] < better * lime.loc[metric, "mean"]
        assert lime.loc[metric, "worst_n_pairs"] == len(kept_cases()) > lime.loc[metric, "n_pairs"]
    # nothing failed elsewhere, so nothing changes there
    for tool in ("gradcam", "rex"):
        others = rows.xs(tool, level="method")
        np.testing.assert_array_equal(others["worst_mean"], others["mean"])
    note = made["sensitivity"].note
    assert "Dice of LIME (higher" in note
    assert "ReX (" not in note


def test_the_worst_run_is_that_of_score(made, study):
    worst = ss.score(
        study,
        metrics=["dice", "iou", "hausdorff", "pdc"],
        pdc={"alpha": 0, "beta": 0},
        undefined="worst",
    )
    worst = worst[worst["case"].isin(kept_cases())]
    want = worst.groupby(["metric", "method"])["score"].mean()
    got = frame(made, "sensitivity").set_index(["metric", "method"])["worst_mean"]
    np.testing.assert_allclose(got, want.loc[got.index], rtol=ROUNDING)


@pytest.mark.parametrize(
    ("given", "tool", "metric"),
    [
        # the study's choice, where it is there
        ([], "rex", "pdc"),
        (["--pick", "lime:dice"], "lime", "dice"),
        (["--pick", "gradcam:hausdorff"], "gradcam", "hausdorff"),
    ],
)
def test_the_examples_are_the_worst_and_the_best_by_what_picks_them(
    results, drawn, made, study, given, tool, metric
):
    scores = ss.score(study, metrics=metric, pdc={"alpha": 0, "beta": 0} if metric == "pdc" else None)
    kept = scores[scores["case"].isin(kept_cases()) & (scores["method"] == tool)]
    own = kept.set_index("case")["score"] * (-1 if metric == "hausdorff" else 1)
    shown = (
        frame(made, "examples")
        if not given
        else results("mrxai2025", *of_tools(drawn), *given, only=("examples",))["examples"].frame
    )
    picks = shown.set_index("pick")
    assert (picks["method"] == tool).all()
    assert own[picks.loc["worst", "case"]] == own.min()
    assert own[picks.loc["best", "case"]] == own.max()
    assert list(picks.index) == ["worst", "median", "mean", "best"]


def test_without_rex_dice_of_the_reference_picks(results, drawn):
    options = of_tools(drawn)[:6]
    assert not any("rex" in word for word in options if "=" in word)
    picks = results("mrxai2025", *options, "--reference", "lime", only=("examples",))["examples"].frame
    assert set(picks["method"]) == {"lime"}
    assert set(picks["metric"]) == {"dice"}


def test_the_hausdorff_distance_is_over_all_pixels_as_in_the_study_and_said(drawn, tmp_path):
    shutil.copytree(drawn, tmp_path / "holes", ignore=shutil.ignore_patterns("out"))
    folder = tmp_path / "holes"
    for case in cases():
        mask = np.load(folder / "rex" / f"{case}.npy")
        # a ring: the middle of the truth is far from it, its outline is not
        np.save(
            folder / "rex" / f"{case}.npy",
            mask & ~cv2.erode(mask.astype(np.uint8), np.ones((3, 3))).astype(bool),
        )
    parser = engine.parser_of(declarations.declaration_of("mrxai2025"))
    found = {}
    for points in ([], ["--points", "boundary"]):
        options = parser.parse_args([*of_tools(folder), *points, "-o", "nowhere"])
        rings = ss.read_mrxai2025(folder / "data", masks={"rex": folder / "rex"})
        scores = score_data(rings, options).query("metric == 'hausdorff'")
        found[bool(points)] = scores.dropna(subset="score").set_index(["method", "case"])
    for row in found[False].loc["rex"].itertuples():
        truth = cv2.imread(str(next((folder / "data").glob(f"*/{row.Index}_mask.tif"))), 0) > 0
        pixels = [np.argwhere(m) for m in (truth, np.load(folder / "rex" / f"{row.Index}.npy"))]
        assert row.score == max(directed_hausdorff(*pair)[0] for pair in (pixels, pixels[::-1]))
    assert (found[False]["score"] > found[True]["score"]).any()
    assert found[False]["distance_options"].unique().tolist() == ["between all pixels of both masks"]


def test_distances_in_mm_scale_with_the_pixel(results, drawn, made):
    given = [*of_tools(drawn), "--replicates", "40", "--spacing", "0.5"]
    items = results("mrxai2025", *given, only=("sensitivity", "table_1"))
    mm, px = (
        found.query("metric == 'hausdorff'").set_index("method")
        for found in (items["sensitivity"].frame, frame(made, "sensitivity"))
    )
    for column in ("mean", "worst_mean"):
        np.testing.assert_allclose(mm[column], 0.5 * px.loc[mm.index, column], rtol=ROUNDING)
    assert "Hausdorff distance (mm)" in items["table_1"].table.as_raw_html()


def test_a_file_of_scores_gives_the_same_table_1(results, study, made, tmp_path):
    options = {"pdc": {"alpha": 0, "beta": 0}, "points": "foreground"}
    scores = ss.score(study, metrics=["dice", "iou", "hausdorff", "pdc"], **options)
    file = ss.write_frame(scores, tmp_path / "scores.csv")
    given = ["--scores", file, "--replicates", "40"]
    items = results("mrxai2025", *given, only=("sensitivity", "table_1"))
    columns = ["metric", "method", "estimate", "sd", "conf_low", "conf_high", "n", "n_empty", "share_empty"]
    got, want = items["table_1"].frame[columns], frame(made, "table_1")[columns]
    pd.testing.assert_frame_equal(got, want, rtol=ROUNDING, check_dtype=False)
    # nothing says how large the images are, so no distance is made up
    assert set(items["sensitivity"].frame["metric"]) == {"dice", "iou", "pdc"}
    assert "without a known worst score: Hausdorff distance (px)" in items["sensitivity"].note
    # the file says which penalties its Penalised Dice has
    said = "product form, penalties 0 (too small) and 0 (too large)."
    assert said in items["table_1"].table.as_raw_html()


def test_an_explanation_that_is_missing_is_counted_and_said(results, tmp_path):
    folder = write_study(tmp_path / "incomplete")
    (folder / "rex" / "p04_1.npy").unlink()
    given = [*of_tools(folder), "--replicates", "40"]
    items = results("mrxai2025", *given, only=("sensitivity", "table_1"))
    found = items["table_1"].frame.query("metric == 'dice'").set_index("method")
    assert found.loc["rex", "n_not_given"] == 1
    assert found.loc["rex", "n"] == len(kept_cases()) - 1
    assert found.loc["rex", "n_empty"] == 0
    assert "Not given" in items["table_1"].table.as_raw_html()
    worst = items["sensitivity"].frame.query("metric == 'dice' and method == 'rex'")
    assert worst["worst_n"].item() == len(kept_cases())


def refused(run, tmp_path, *given):
    """The one line that a run stops with; nothing is written."""
    code, _, error = run("mrxai2025", *given, "-o", tmp_path / "new")
    assert code == 2
    assert error.count("\n") == 1
    assert not (tmp_path / "new").exists()
    return error


@pytest.mark.parametrize(
    ("change", "match"),
    [
        (["--reference", "gradcamm"], "--reference gradcamm is not known; did you mean 'gradcam'"),
        (["--cutoff", "1.5"], "--cutoff must be a probability"),
        (["--replicates", "10"], "--replicates must be at least 40"),
        (["--cutoff", "0.95"], "no case is left"),
        (["--predictions", "nowhere.csv"], "nowhere.csv"),
        (["--masks", "lime=nowhere"], "names a tool twice"),
        (["--masks", "shap=nowhere"], "nowhere"),
        (["--spacing", "-1"], "spacing must be positive"),
        (["--scores", "s.csv"], "name one of them"),
    ],
)
def test_an_option_that_cannot_be_is_one_line(run, drawn, tmp_path, change, match):
    assert match in refused(run, tmp_path, *of_tools(drawn), *change)


@pytest.mark.parametrize(
    ("given", "match"),
    [
        ([], "--simulations, --data or --scores"),
        (["--data", "somewhere"], "--masks TOOL=DIR or --maps TOOL=DIR"),
        (["--simulations", "--spacing", "0.5"], "--spacing belongs to --data"),
        (["--simulations", "--threshold", "0"], "--threshold belongs to --data"),
        (["--scores", "none.csv"], "none.csv"),
    ],
)
def test_what_does_not_go_together_is_one_line(run, tmp_path, given, match):
    assert match in refused(run, tmp_path, *given)


def test_an_image_without_its_mask_and_a_mask_of_another_size_are_named(run, tmp_path):
    folder = write_study(tmp_path / "broken")
    np.save(folder / "rex" / "p04_1.npy", np.ones((5, 5), bool))
    assert re.search("p04_1.*5 x 5", refused(run, tmp_path, *of_tools(folder)))
    (folder / "data" / "p04" / "p04_1_mask.tif").unlink()
    assert "p04_1.tif" in refused(run, tmp_path, *of_tools(folder))


def tools_file(tmp_path, *tools):
    """A file of Dice of some tools on 24 cases, and one of what the model says of them."""
    rng = np.random.default_rng(3)
    names = [f"c{i:02d}" for i in range(24)]
    scores = pd.DataFrame(
        [(case, tool, "dice", rng.uniform()) for case in names for tool in tools],
        columns=["case", "method", "metric", "score"],
    )
    # the model misses four
    answers = pd.DataFrame({"img_id": names, "prob": [0.2] * 4 + [0.8] * 20, "label": 1})
    scores.to_csv(tmp_path / "tools.csv", index=False)
    answers.to_csv(tmp_path / "answers.csv", index=False)
    return tmp_path / "tools.csv", tmp_path / "answers.csv"


def test_of_one_tool_what_needs_no_second_is_made_and_the_rest_named_first(unmet_needs, results, tmp_path):
    file, _ = tools_file(tmp_path, "gradcam")
    assert unmet_needs("mrxai2025", "--scores", file)[0].endswith(": not made, needs a second tool")
    assert set(results("mrxai2025", "--scores", file)) == {"cases", "table_1", "figure_7", "empty"}


def test_without_the_studys_reference_and_another_nothing_is_compared_with_it(
    unmet_needs, allowed, results, tmp_path
):
    file, _ = tools_file(tmp_path, "lime", "shap")
    said = unmet_needs("mrxai2025", "--scores", file)
    assert any("needs the tool gradcam, or another as reference" in sentence for sentence in said)
    assert "differences" not in allowed("mrxai2025", "--scores", file)
    named = results("mrxai2025", "--scores", file, "--reference", "lime", only=("differences",))
    assert set(named["differences"].frame["method"]) == {"shap"}


@pytest.mark.filterwarnings("ignore:.*needs images and masks of data")
def test_answers_of_the_model_stand_in_a_table_of_their_own_and_simulations_beside(tmp_path):
    file, answers = tools_file(tmp_path, "gradcam", "rex")
    frames = ss.reproduce(
        "mrxai2025", scores=file, features=answers, rename={"img_id": "case"}, simulations=True
    )
    assert list(frames)[:7] == [*(f"figure_{i}" for i in range(1, 7)), "cases"]
    assert set(frames["table_1"]["n"]) == {20}
    kept = pd.read_csv(file).query("case >= 'c04'").groupby("method")["score"].mean()
    found = frames["table_1"].set_index("method")
    np.testing.assert_allclose(found["estimate"], kept.loc[found.index], rtol=ROUNDING)
    # as printed, of cases of the study's own
    assert found["printed_mean"].to_dict() == {"gradcam": 0.33, "rex": 0.42}
    assert "printed" not in frames


def test_as_published_there_are_means_and_sds_without_inference(results, drawn, made):
    plain = results("mrxai2025", *of_tools(drawn), "--as-published")
    assert set(made) - set(plain) == {"empty", "differences", "sensitivity"}
    found = plain["table_1"].frame
    assert not {"conf_low", "p_value", "std_error"} & set(found.columns)
    assert "CI" not in plain["table_1"].table.as_raw_html()
    columns = ["metric", "method", "estimate", "sd", "n", "n_empty"]
    pd.testing.assert_frame_equal(found[columns], frame(made, "table_1")[columns], rtol=ROUNDING)


def parsed(*arguments):
    return engine.parser_of(declarations.declaration_of("mrxai2025"), output=False).parse_args([*arguments])


def test_differences_need_a_second_tool_and_a_reference():
    for tools, reference, met in (
        (["gradcam"], [], {REFERENCE}),
        (["lime", "rex"], [], {SECOND_TOOL}),
        (["lime", "gradcam"], [], {SECOND_TOOL, REFERENCE}),
        (["lime", "rex"], ["--reference", "rex"], {SECOND_TOOL, REFERENCE}),
    ):
        assert needs_met(tools, parsed(*reference)) == met
    assert reference_tool_or_study_default(["gradcam", "rex"], parsed("--reference", "rex")) == "rex"
    assert reference_tool_or_study_default(["gradcam", "rex"], parsed()) == "gradcam"
    with raises(ValueRangeError, option="reference", value="ig"):
        needs_met(["lime", "rex"], parsed("--reference", "ig"))


def test_each_case_has_an_image_beside_its_mask_and_a_diagonal(study, drawn):
    images = image_file_by_case(study, drawn / "data")
    assert images == {case: drawn / "data" / case[:3] / f"{case}.tif" for case in cases()}
    diagonal = np.hypot(*SHAPE)
    assert diagonal_by_case(study).to_dict() == pytest.approx(dict.fromkeys(cases(), diagonal))
    assert diagonal_by_case(study, 0.5).to_dict() == pytest.approx(dict.fromkeys(cases(), diagonal / 2))


def test_options_are_read_as_numbers_files_or_pairs():
    options = parsed("--spacing", "sizes.csv", "--threshold", "0.3", "--pick", "a:b:dice")
    assert (options.spacing, options.threshold, options.pick) == ("sizes.csv", 0.3, ("a:b", "dice"))
    defaults = parsed()
    assert (defaults.spacing, defaults.threshold, defaults.pick, defaults.points) == (
        None,
        None,
        None,
        None,
    )
    assert (defaults.cutoff, defaults.interval, defaults.replicates) == (0.5, "t", 1000)
    for pick in ("dice", ":dice", "rex:"):
        with raises(SalstatsError):
            parsed("--pick", pick)


def test_items_are_those_of_the_comparison_and_of_the_simulations():
    scores = pd.DataFrame({"case": ["a"], "method": "rex", "metric": "dice", "score": [0.5]})
    declaration = declarations.declaration_of("mrxai2025")
    keys = {}
    for flags in ((), ("--as-published",), ("--simulations",)):
        options = parsed(*flags)
        options.scores = [scores]
        keys[flags] = [item.key for item in declaration.open_scores(scores, options).items]
    comparison = [item.key for item in COMPARISON_ITEMS]
    assert keys[()] == comparison
    assert keys["--as-published",] == ["cases", "table_1", "figure_7", "examples"]
    assert keys["--simulations",] == [*(item.key for item in SIMULATION_ITEMS), *comparison]
    opened = declaration.open(parsed("--simulations"))
    assert opened.items == SIMULATION_ITEMS
    assert opened.load().comparison is None


@pytest.mark.parametrize(
    ("given", "fields"),
    [
        ([], {}),
        (["--simulations", "--points", "boundary"], {"option": "points"}),
        (["--simulations", "--maps", "a=b"], {"option": "maps"}),
        (["--data", "d"], {"option": "data"}),
        (["--data", "d", "--maps", "a=b", "--maps", "a=c"], {"option": "maps"}),
    ],
)
def test_options_that_do_not_go_together_are_named(given, fields):
    with raises(SalstatsError, **fields):
        check_options(parsed(*given))


def test_options_that_go_together_are_accepted_with_enough_replicates():
    with raises(ValueRangeError, option="replicates", value=39):
        check_options(parsed("--simulations", "--replicates", "39"))
    check_options(parsed("--simulations", "--replicates", "40"))
    check_options(parsed("--data", "d", "--maps", "a=b", "--masks", "a=b", "--spacing", "2"))
