"""The flow diagram: its boxes, numbers and words, and that every text lies within its box."""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import plotnine as p9
import pytest
from display.plots.estimate_figures import caption, nth_data, size_mm
from tests_support import raises

import salstats as ss
from salstats.display.plots.layout.theme import MM_PER_INCH, PAGE_HEIGHT_MM
from salstats.errors import ColumnError, SalstatsError, ValueRangeError

SCORES = ss.datasets.load_simulated()
FLOW = ss.case_flow(SCORES, reference="human")
# layers in the order they are drawn
BOXES, ARROWS, TIPS_DOWN, TIPS_RIGHT = range(4)
DPI = 200
#: Further numbers of methods, widths and widths of files, tried by slow tests.
FURTHER_SIZES = [(3, 89, 183), (3, 183, 183), (10, 89, 89), (10, 89, 183)]


def contents(figure):
    """The lines of each box, boxes in the order they were drawn."""
    boxes = nth_data(figure, BOXES)
    lines = [f"{box.heading}\n{box.text}".replace("\u00a0", " ").split("\n") for box in boxes.itertuples()]
    return lines


def ragged(names=3, metrics=("iou", "hit")):
    """Scores of many methods with rows and scores missing, and reasons for some of them."""
    rng = np.random.default_rng(1)
    parts = []
    for i in range(names):
        long = " <b>with</b> a rather $long$ name_of 100% \\ β é −" * 2 if i == 1 else ""
        part = SCORES[SCORES["metric"].isin(metrics) & (SCORES["method"] == "gradcam")]
        part = part[rng.random(len(part)) > 0.2]
        lost = rng.random(len(part)) < 0.1
        reason = np.where(lost, "no prediction was written for this image by the model", "")
        score = part["score"].mask(lost)
        parts.append(part.assign(method=f"method {i}{long}", score=score, reason=reason))
    return pd.concat(parts, ignore_index=True)


def test_the_boxes_say_what_the_flow_counts():
    figure = ss.plot_flow(FLOW, width=150)
    assert contents(figure) == [
        ["In the file", "194 cases, 140 patients, 5 tasks, 3 methods and 2 metrics; 5,820 scores"],
        ["IoU and Hit rate (each)", "Each of 3 methods: 970 scores, 194 cases, 140 patients"],
        [
            "Excluded: no score",
            "Finding absent: 277 each",
            "Reason not given: Human benchmark, 15; Grad-CAM, 8; Occlusion, 16",
        ],
        [
            "Score defined",
            "Human benchmark: 678 scores, 193 cases, 140 patients",
            "Grad-CAM: 685 scores, 193 cases, 140 patients",
            "Occlusion: 677 scores, 193 cases, 140 patients",
        ],
        ["Excluded: no score of Human benchmark", "Reason not given: 15 each"],
        [
            "Paired with Human benchmark",
            "Grad-CAM: 670 scores, 193 cases, 140 patients",
            "Occlusion: 662 scores, 193 cases, 140 patients",
        ],
    ]
    assert caption(figure) == "Cases and patients are counted as long as one of their scores is left."


def test_every_number_of_the_flow_that_is_left_stands_on_a_page_of_the_figure():
    flow = ss.case_flow(ragged(), reference="method 0")
    pages = ss.plot_flow(flow).pages
    assert all(size_mm(page)[1] <= PAGE_HEIGHT_MM for page in pages)
    shown = " ".join(text for page in pages for text in nth_data(page, BOXES)["text"]).replace("\u00a0", " ")
    left = flow[~flow["excluded"] & (flow["stage"] != "file")]
    for column, noun in {"n_rows": "", "n_cases": " cases", "n_units": " patients"}.items():
        assert all(f"{n:,}{noun}" in shown for n in left[column])


def test_metrics_with_other_numbers_have_chains_of_their_own_side_by_side_on_a_page():
    flow = ss.case_flow(SCORES[(SCORES["metric"] == "iou") | (SCORES["case"] > "c050")])
    column, page = ss.plot_flow(flow), ss.plot_flow(flow, width=183)
    headings = list(nth_data(column, BOXES)["heading"])
    assert [h for h in headings if h in ("In the file", "IoU", "Hit rate")] == [
        "In the file",
        "IoU",
        "Hit rate",
    ]
    # as high as its boxes: nothing is empty below the last
    assert size_mm(column)[1] < 8 - nth_data(column, BOXES)["ymin"].min()
    assert (size_mm(column)[0], size_mm(page)[0]) == (pytest.approx(89), pytest.approx(183))
    assert size_mm(page)[1] < 0.65 * size_mm(column)[1]


def test_what_the_file_lacks_is_excluded_first_cases_or_a_task():
    scores = SCORES[(SCORES["method"] != "occlusion") | (SCORES["case"] > "c010")]
    boxes = contents(ss.plot_flow(ss.case_flow(scores)))
    assert boxes[2][0] == "Excluded: no row in the file"
    assert boxes[2][1].startswith("Occlusion,")
    assert boxes[3][0] == "With a row in the file"
    scores = SCORES[(SCORES["method"] != "human") | (SCORES["task"] != "Edema")]
    boxes = contents(ss.plot_flow(ss.case_flow(scores)))
    assert boxes[2] == ["Excluded: no row in the file", "Human benchmark, 1 task"]
    assert boxes[3][1].endswith("tasks")


def test_one_score_per_case_is_counted_in_cases_only():
    scores = SCORES.query("metric == 'iou' and task == 'Edema'").drop(columns="patient")
    figure = ss.plot_flow(ss.case_flow(scores))
    assert "score" not in contents(figure)[1][1]
    assert caption(figure) == ""


def test_labels_name_methods_metrics_and_reasons():
    names = {"undefined": "model output lost", "gradcam": "CAM", "metric": {"hit": "Pointing game"}}
    boxes = nth_data(ss.plot_flow(FLOW, labels=names), BOXES)
    shown = " ".join(boxes["text"])
    assert "Model output lost:" in shown
    assert "CAM:" in shown
    assert boxes["heading"].iloc[1] == "Pointing game and IoU (each)"


def test_arrows_lead_down_from_box_to_box_and_aside_to_what_is_excluded():
    figure = ss.plot_flow(FLOW)
    boxes = nth_data(figure, BOXES)
    kept, excluded = (boxes[boxes["kind"] == kind] for kind in ("included", "excluded"))
    arrows = nth_data(figure, ARROWS)
    down, aside = (arrows[arrows["tip"] == tip] for tip in ("down", "right"))
    assert down["yend"].tolist() == kept["ymax"].tolist()[1:]
    assert down["y"].tolist() == kept["ymin"].tolist()[:-1]
    assert aside["xend"].tolist() == excluded["xmin"].tolist()
    assert all(b.ymin < y < b.ymax for b, y in zip(excluded.itertuples(), aside["yend"], strict=True))
    assert (boxes["ymin"].to_numpy()[:-1] > boxes["ymax"].to_numpy()[1:]).all()
    # a triangle stands on the line, its middle up to 1 mm before the end
    tips_down, tips_right = nth_data(figure, TIPS_DOWN), nth_data(figure, TIPS_RIGHT)
    assert (tips_down["yend"] - down["yend"]).between(0.1, 1).all()
    assert (aside["xend"] - tips_right["xend"]).between(0.1, 1).all()
    np.testing.assert_array_equal(tips_down["xend"], down["xend"])
    np.testing.assert_array_equal(tips_right["yend"], aside["yend"])


@pytest.mark.parametrize(
    ("names", "width", "saved"),
    [
        (3, 89, 89),
        (10, 183, 183),
        *(pytest.param(*sizes, marks=pytest.mark.slow) for sizes in FURTHER_SIZES),
    ],
)
def test_no_text_leaves_its_box_or_runs_into_another(names, width, saved):
    metrics = ("iou", "hit") if names == 3 else ("iou",)
    plot = ss.plot_flow(ss.case_flow(ragged(names, metrics), reference="method 0"), width=width)
    size = (saved / MM_PER_INCH, size_mm(plot)[1] / MM_PER_INCH)
    figure = (plot + p9.theme(figure_size=size, dpi=DPI)).draw(show=False)
    figure.draw_without_rendering()
    (note,) = (t for t in figure.findobj(plt.Text) if t.get_text().startswith("Cases and"))
    assert note.get_window_extent().y0 > 0.5 * DPI / MM_PER_INCH
    for axes in figure.axes:
        boxes = [p.get_extents(axes.transData) for p in axes.collections[0].get_paths()]
        found = [t.get_window_extent() for t in axes.texts if t.get_text()]
        assert len(found) > 1.5 * len(boxes)
        for i, a in enumerate(found):
            x, y = (a.x0 + a.x1) / 2, (a.y0 + a.y1) / 2
            box = next((b for b in boxes if b.x0 <= x <= b.x1 and b.y0 <= y <= b.y1), figure.bbox)
            assert box.x0 <= a.x0 < a.x1 <= box.x1
            assert box.y0 <= a.y0 < a.y1 <= box.y1
            # accents and descenders of neighbouring lines may come close
            beside = [b for b in found[:i] if min(a.x1, b.x1) > max(a.x0, b.x0)]
            assert all(min(a.y1, b.y1) - max(a.y0, b.y0) <= 0.25 * min(a.height, b.height) for b in beside)


def test_a_flow_that_was_written_and_read_is_the_same_figure(tmp_path):
    FLOW.to_csv(tmp_path / "flow.csv", index=False)
    again = ss.plot_flow(pd.read_csv(tmp_path / "flow.csv"))
    assert contents(again) == contents(ss.plot_flow(FLOW))


@pytest.mark.parametrize(
    "scores",
    [SCORES.head(1), SCORES.assign(score=np.nan), SCORES.query("method == 'gradcam'")],
    ids=["one case", "all undefined", "one method"],
)
def test_little_input_is_a_diagram(scores):
    figure = ss.plot_flow(ss.case_flow(scores))
    assert len(contents(figure)) >= 3
    assert figure.draw(show=False)


def test_bad_input_gets_a_sentence():
    with raises(ColumnError, column="step"):
        ss.plot_flow(SCORES)
    with raises(SalstatsError, column="stage", value=0):
        ss.plot_flow(FLOW[FLOW["stage"] != "file"])
    for width in (40, 59.9):
        with raises(ValueRangeError, option="width", value=width, message="60"):
            ss.plot_flow(FLOW, width=width)
    assert ss.plot_flow(FLOW, width=60).theme.getp("figure_size")[0] == pytest.approx(60 / 25.4)
    scores = SCORES.query("metric == 'iou' and task == 'Edema'")
    tasks = [scores.head(3 + i).assign(task=f"t{i:02d}") for i in range(60)]
    with raises(SalstatsError, option="flow", value=60, hint="keep some of them, or take by='metric'"):
        ss.plot_flow(ss.case_flow(pd.concat(tasks), by=["metric", "task"]))


def test_groups_by_several_columns_are_named_by_all_and_a_flow_without_groups_by_its_stages():
    two_tasks = SCORES[SCORES["task"].isin(["Edema", "Cardiomegaly"])]
    boxes = contents(ss.plot_flow(ss.case_flow(two_tasks, by=["metric", "task"])))
    assert [lines[0] for lines in boxes if lines[0].endswith("(each)")] == [
        "IoU, Cardiomegaly; Hit rate, Cardiomegaly (each)",
        "IoU, Edema; Hit rate, Edema (each)",
    ]
    one = two_tasks.query("metric == 'iou' and task == 'Edema' and method == 'gradcam'")
    flow = ss.case_flow(one, by=[])
    boxes = contents(ss.plot_flow(flow))
    n_defined = int(one["score"].notna().sum())
    assert [lines[0] for lines in boxes] == [
        "In the file", "With a row in the file", "Excluded: no score", "Score defined",
    ]  # fmt: skip
    assert boxes[0][1].endswith("1 task and 1 method; 194 scores")
    # a single method has no "each"
    assert not any(line.endswith("each") for line in boxes[2])
    assert boxes[3][1].startswith(f"Grad-CAM: {n_defined} cases, ")


def test_a_box_is_as_high_as_its_lines_and_the_room_around_them():
    for box in nth_data(ss.plot_flow(FLOW), BOXES).itertuples():
        n_lines = len(box.heading.split("\n")) + len(box.text.split("\n"))
        # lines of 1.25 times 7 points, in a frame of 1.4 mm
        assert box.ymax - box.ymin == pytest.approx(n_lines * 1.25 * 7 * MM_PER_INCH / 72 + 2 * 1.4)
        assert (box.x - box.xmin, box.ymax - box.y) == pytest.approx((1.4, 1.4))


def test_a_flow_of_a_file_alone_is_its_box_without_arrows():
    figure = ss.plot_flow(FLOW[FLOW["stage"] == "file"])
    assert [lines[0] for lines in contents(figure)] == ["In the file"]
    assert len(figure.layers) < len(ss.plot_flow(FLOW).layers) or nth_data(figure, ARROWS).empty
    box, usual = nth_data(figure, BOXES).iloc[0], nth_data(ss.plot_flow(FLOW), BOXES).iloc[0]
    assert (box["xmin"], box["xmax"]) == (usual["xmin"], usual["xmax"])
    assert size_mm(figure)[1] < size_mm(ss.plot_flow(FLOW))[1]
