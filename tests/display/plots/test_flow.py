"""The flow diagram: its boxes, numbers and words, and that every text lies within its box."""

import numpy as np
import pandas as pd
import plotnine as p9
import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg

import salstats as ss
from salstats.checks import ColumnError, SalstatsError, ValueRangeError
from salstats.display.plots.theme import MM_PER_INCH

SCORES = ss.datasets.load_simulated()
FLOW = ss.case_flow(SCORES, reference="human")
# layers in the order they are drawn; the texts come after these
BOXES, LINES, DOWN, ASIDE = range(4)
DPI = 200


def data(figure, layer):
    return figure.layers[layer]._data


def texts(figure):
    """The lines of text, from the top down and from the left."""
    parts = [layer._data for layer in figure.layers if type(layer.geom).__name__ == "geom_text"]
    return pd.concat(parts).sort_values(["y", "x"], ascending=[False, True])


def lines_in(figure, box):
    """The lines of text of each row of a box, joined."""
    its = texts(figure)
    inside = its["y"].between(box.ymin, box.ymax) & its["x"].between(box.xmin, box.xmax)
    return [" | ".join(row["label"]) for _, row in its[inside].groupby("y", sort=False)]


def contents(figure):
    """What stands in each box, boxes in the order they were drawn."""
    return [lines_in(figure, box) for box in data(figure, BOXES).itertuples()]


def size_mm(figure):
    return tuple(side * MM_PER_INCH for side in figure.theme.getp("figure_size"))


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
    assert [[line.replace("\u00a0", " ") for line in box] for box in contents(ss.plot_flow(FLOW))] == [
        ["In the file", "194 cases, 140 patients, 5 tasks, 3 methods and 2 metrics;", "5,820 scores"],
        ["IoU and Hit rate (each) | scores | cases | patients", "Each of 3 methods | 970 | 194 | 140"],
        [
            "Excluded: no score",
            "Finding absent: 277 each",
            "Reason not given: Human benchmark, 15;",
            "Grad-CAM, 8; Occlusion, 16",
        ],
        [
            "Score defined | scores | cases | patients",
            "Human benchmark | 678 | 193 | 140",
            "Grad-CAM | 685 | 193 | 140",
            "Occlusion | 677 | 193 | 140",
        ],
        ["Excluded: no score of Human benchmark", "Reason not given: 15 each"],
        [
            "Paired with Human benchmark | pairs | cases | patients",
            "Grad-CAM | 670 | 193 | 140",
            "Occlusion | 662 | 193 | 140",
        ],
    ]


def test_every_number_of_the_flow_that_is_left_stands_in_the_figure():
    flow = ss.case_flow(ragged(), reference="method 0")
    shown = set(texts(ss.plot_flow(flow))["label"])
    left = flow[~flow["excluded"] & (flow["stage"] != "file")]
    for column in ("n_rows", "n_cases", "n_units"):
        assert {f"{n:,}" for n in left[column]} <= shown


def test_metrics_with_other_numbers_have_boxes_of_their_own():
    flow = ss.case_flow(SCORES[(SCORES["metric"] == "iou") | (SCORES["case"] > "c050")])
    heads = [box[0].split(" | ")[0] for box in contents(ss.plot_flow(flow))]
    assert [h for h in heads if h in ("IoU", "Hit rate")] == ["IoU", "Hit rate"]


def test_cases_that_the_file_lacks_are_excluded_before_there_are_numbers():
    scores = SCORES[(SCORES["method"] != "occlusion") | (SCORES["case"] > "c010")]
    boxes = contents(ss.plot_flow(ss.case_flow(scores)))
    assert boxes[1] == ["IoU and Hit rate (each)"]
    assert boxes[2][0] == "Excluded: no row in the file"
    assert boxes[2][1].startswith("Occlusion,")
    assert boxes[3][0].startswith("With a row in the file")


def test_one_score_per_case_is_counted_in_cases_only():
    scores = SCORES.query("metric == 'iou' and task == 'Edema'").drop(columns="patient")
    figure = ss.plot_flow(ss.case_flow(scores))
    assert contents(figure)[1][0] == "IoU | cases"
    assert not texts(figure)["label"].str.contains("as long as").any()


def test_a_task_that_a_method_lacks_is_named_as_a_task():
    scores = SCORES[(SCORES["method"] != "human") | (SCORES["task"] != "Edema")]
    boxes = contents(ss.plot_flow(ss.case_flow(scores)))
    assert boxes[2] == ["Excluded: no row in the file", "Human benchmark,\u00a01\u00a0task"]
    assert boxes[3][0].endswith("tasks")


def test_labels_name_methods_metrics_and_reasons():
    names = {"undefined": "model output lost", "gradcam": "CAM", "metric": {"hit": "Pointing game"}}
    shown = " ".join(texts(ss.plot_flow(FLOW, labels=names))["label"])
    assert "Model output lost:" in shown
    assert "CAM" in shown
    assert "Pointing game and IoU (each)" in shown
    assert "Hit rate" not in shown


def test_arrows_lead_down_from_box_to_box_and_aside_to_what_is_excluded():
    figure = ss.plot_flow(FLOW)
    boxes = data(figure, BOXES)
    kept, excluded = (boxes[boxes["kind"] == kind] for kind in ("kept", "excluded"))
    down, aside = data(figure, DOWN), data(figure, ASIDE)
    assert down["yend"].tolist() == kept["ymax"].tolist()[1:]
    assert down["y"].tolist() == kept["ymin"].tolist()[:-1]
    assert aside["xend"].tolist() == excluded["xmin"].tolist()
    assert all(b.ymin < y < b.ymax for b, y in zip(excluded.itertuples(), aside["yend"], strict=True))


@pytest.mark.parametrize("width", [89, 183])
def test_boxes_do_not_overlap(width):
    flow = ss.case_flow(ragged(), reference="method 0")
    boxes = list(data(ss.plot_flow(flow, width=width), BOXES).itertuples())
    for i, a in enumerate(boxes):
        for b in boxes[:i]:
            apart = a.ymax <= b.ymin or b.ymax <= a.ymin or a.xmax <= b.xmin or b.xmax <= a.xmin
            assert apart


def test_at_page_width_two_metrics_stand_side_by_side():
    flow = ss.case_flow(ragged(), reference="method 0")
    column, page = ss.plot_flow(flow), ss.plot_flow(flow, width=183)
    assert size_mm(column)[0] == pytest.approx(89)
    assert size_mm(page)[0] == pytest.approx(183)
    assert size_mm(page)[1] < 0.65 * size_mm(column)[1]


def drawn(figure, width):
    """The figure, its texts with the room they take, and its boxes, as on paper, in pixels."""
    size = (width / MM_PER_INCH, size_mm(figure)[1] / MM_PER_INCH)
    result = (figure + p9.theme(figure_size=size, dpi=DPI)).draw(show=False)
    canvas = FigureCanvasAgg(result)
    canvas.draw()
    axes = result.axes[0]
    boxes = [p.get_extents(axes.transData) for p in axes.collections[0].get_paths()]
    extents = [(t.get_text(), t.get_window_extent(canvas.get_renderer())) for t in axes.texts]
    return result, extents, boxes


@pytest.mark.parametrize(("width", "saved"), [(89, 89), (89, 183), (183, 183)])
@pytest.mark.parametrize("names", [3, 10])
def test_no_text_leaves_its_box(names, width, saved):
    metrics = ("iou", "hit") if names == 3 else ("iou",)
    flow = ss.case_flow(ragged(names, metrics), reference="method 0")
    figure, extents, boxes = drawn(ss.plot_flow(flow, width=width), saved)
    assert len(extents) > 20
    for text, extent in extents:
        x, y = (extent.x0 + extent.x1) / 2, (extent.y0 + extent.y1) / 2
        around = [b for b in boxes if b.x0 <= x <= b.x1 and b.y0 <= y <= b.y1]
        # the note below the boxes has the sheet around it
        frame = around[0] if around else figure.bbox
        assert frame.x0 <= extent.x0 < extent.x1 <= frame.x1, text
        assert frame.y0 <= extent.y0 < extent.y1 <= frame.y1, text
        assert around or text.startswith("Cases and patients")


def test_texts_do_not_run_into_each_other():
    flow = ss.case_flow(ragged(10, ("iou",)), reference="method 0")
    _, extents, _ = drawn(ss.plot_flow(flow), 89)
    for i, (text, a) in enumerate(extents):
        for other, b in extents[:i]:
            across = min(a.x1, b.x1) - max(a.x0, b.x0)
            # accents and descenders of neighbouring lines may come close
            down = min(a.y1, b.y1) - max(a.y0, b.y0)
            assert across <= 0 or down <= 0.15 * max(a.height, b.height), (text, other)


def test_the_sheet_fills_the_figure_so_that_one_unit_is_one_mm():
    result, _, _ = drawn(ss.plot_flow(FLOW), 89)
    axes = result.axes[0]
    np.testing.assert_allclose(axes.get_position().bounds, (0, 0, 1, 1), atol=1e-3)
    assert np.diff(axes.get_xlim())[0] == pytest.approx(89)
    height = result.get_size_inches()[1] * MM_PER_INCH
    assert np.diff(axes.get_ylim())[0] == pytest.approx(height)


@pytest.mark.filterwarnings("ignore:Glyph")
def test_characters_that_the_face_lacks_do_not_stop_the_drawing():
    _, extents, _ = drawn(ss.plot_flow(FLOW, labels={"gradcam": "浮腫の方法"}), 89)
    assert any("浮腫" in text for text, _ in extents)


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
    _, extents, boxes = drawn(ss.plot_flow(ss.case_flow(scores)), 89)
    assert len(boxes) >= 3
    assert "In the file" in [text for text, _ in extents]


def test_bad_input_gets_a_sentence():
    with pytest.raises(ColumnError, match="no column 'step'"):
        ss.plot_flow(SCORES)
    with pytest.raises(SalstatsError, match="0 rows of stage 'file'"):
        ss.plot_flow(FLOW[FLOW["stage"] != "file"])
    with pytest.raises(ColumnError, match="'excluded' of flow must hold True and False"):
        ss.plot_flow(FLOW.astype({"excluded": "str"}))
    with pytest.raises(ValueRangeError, match="at least 80 mm, not 40"):
        ss.plot_flow(FLOW, width=40)


def test_too_many_branches_get_a_sentence_that_says_what_would_do():
    scores = SCORES.query("metric == 'iou' and task == 'Edema'")
    tasks = [scores.head(3 + i).assign(task=f"t{i:02d}") for i in range(60)]
    with pytest.raises(SalstatsError, match=r"has 60 groups .* holds 12 groups .*take by='metric'"):
        ss.plot_flow(ss.case_flow(pd.concat(tasks), by=["metric", "task"]))


def test_the_input_is_not_changed():
    before = FLOW.copy()
    ss.plot_flow(FLOW)
    pd.testing.assert_frame_equal(FLOW, before)
