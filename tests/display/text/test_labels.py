"""What columns and values are called in print, and their order."""

import warnings

import numpy as np
import pandas as pd
import pytest
from tests_support import raises, warns

import salstats as ss
from salstats.display.text.format import MISSING
from salstats.display.text.labels import Labels
from salstats.errors import SalstatsError, SalstatsWarning
from salstats.stats.agreement.records import LABELS as AGREEMENT


def test_house_labels_of_metrics_methods_and_columns():
    labels = Labels()
    assert labels.value("metric", "iou") == "IoU"
    assert labels.value("method", "grad_cam") == "Grad-CAM"
    assert labels.value("method", "human") == labels.value("reference", "human") == "Human benchmark"
    assert labels.value("method", "my net v2") == "my net v2"
    assert labels.column("prob") == "Model confidence"
    assert labels.column("tumour_stage") == "Tumour stage"
    assert labels.column("BI-RADS") == "BI-RADS"
    assert labels.value("task", float("nan")) == MISSING


def test_a_known_method_is_the_whole_name_and_no_two_methods_become_one():
    names = ["层级类激活图 LayerCAM", "Grad-CAM α", "Grad-CAM β", "LIME 改", "lime", "rise", "RISE"]
    frame = pd.DataFrame({"method": names, "estimate": 1.0})
    texts = Labels(None, frame).label_by_value("method", names)
    assert texts == {name: name for name in names} | {"lime": "LIME"}
    # a list that is given, and labels that are ready, know the same methods
    ordered = Labels({"method": names}, frame)
    assert ordered.label_by_value("method", names) == texts
    assert Labels(ordered, frame).value("method", "rise") == "rise"


def test_a_column_label_of_findings_is_no_finding_present():
    assert Labels(None, pd.DataFrame({"label": [0, 1, None]})).column("label") == "Finding present"
    findings = Labels(None, pd.DataFrame({"label": ["Edema", "Lesion"]}))
    assert findings.column("label") == "Label"
    assert Labels(findings, pd.DataFrame({"task": ["a"]})).column("label") == "Label"


def test_flat_labels_serve_every_column():
    labels = Labels({"gradcam": "GC", "prob": "Confidence", "iou": "Overlap"})
    assert labels.value("method", "gradcam") == "GC"
    assert labels.column("prob") == labels.value("term", "prob") == "Confidence"
    assert labels.value("metric", "iou") == labels.column("iou") == "Overlap"
    assert Labels(labels).value("method", "gradcam") == "GC"
    # those of one column do not touch another
    labels = Labels({"task": {"human": "Person"}})
    assert (labels.value("task", "human"), labels.value("method", "human")) == ("Person", "Human benchmark")


@pytest.mark.parametrize("first", [True, False])
def test_a_list_orders_what_another_entry_renames(first):
    given = {"method": ["human", "gradcam"], "gradcam": "My Grad-CAM (v2)"}
    labels = Labels(given if first else dict(reversed(given.items())))
    assert labels.value("method", "gradcam") == "My Grad-CAM (v2)"
    assert labels.order("method", ["gradcam", "human"]) == ["human", "gradcam"]


def test_labels_of_what_is_not_shown_are_said():
    frame = pd.DataFrame({"method": ["gradcam", "own"], "term": ["size:taskEdema", "size"], "estimate": 0.5})
    known = {"gradcam": "GC", "own": "Ours", "taskEdema": "Edema", "size": "Size", "method": ["own"]}
    # lime and Average are the house's own words, one dict may serve many tables
    Labels(known | {"subset": "S", "lime": "LIME-50", "Average": "All"}, frame)
    with warns(option="labels", value=["gradcm"], choices=("gradcam",)):
        Labels({"gradcm": "GC"}, frame)
    for within in ({"method": {"gradcm": "Grad-CAM"}}, {"method": ["human", "gradcm"]}):
        with warns(option="labels", value=["gradcm"], choices=("gradcam",)):
            Labels(within, frame)
    with warns(option="labels", value=["Method"], choices=("method",)):
        Labels({"Method": ["own"], "own": "Ours"}, frame)
    with warns(option="labels", value=["nothing", "of_this"], choices=()):
        Labels({"nothing": "A", "of_this": "B"}, frame)


@pytest.mark.parametrize("right", ["vendor + age", "C(vendor) * log(age)"])
def test_what_a_formula_is_made_of_is_known_though_only_its_levels_are_shown(right):
    rows = np.arange(12.0)
    data = pd.DataFrame(
        {"my_score": np.sin(rows), "age": rows + 1, "vendor": ["GE", "Philips", "Siemens"] * 4}
    )
    terms = ss.regress(data, f"my_score ~ {right}")
    of_vendor = ({"vendor": "Scanner"}, {"vendor": ["Philips", "GE"]}, {"vendor": {"GE": "G.E."}})
    with warnings.catch_warnings():
        warnings.simplefilter("error", SalstatsWarning)
        for labels in (*of_vendor, {"my_score": "My score"}, {"Philips": "Ph"}, {"GE": "G.E."}):
            Labels(labels, terms)
    with warns(option="labels", value=["vendr"], choices=("vendor",)):
        Labels({"vendr": "Scanner"}, terms)
    # ready labels are a study's own: no user has written them
    with warnings.catch_warnings():
        warnings.simplefilter("error", SalstatsWarning)
        Labels(Labels({"vendr": "Scanner"}), terms)


def test_numbers_at_which_marginal_means_are_have_the_name_and_the_unit_of_their_variable():
    means = pd.DataFrame(
        {
            "seed": [1, 2],
            "area_mm2": [1712.0, 3000.0],
            "log_area": [8.0, 11.0],
            "reference_level": [-3.0, -3.0],
            "formula": "dice ~ method + area_mm2 + log_area",
            "estimate": 0.5,
            "average": "grid",
        }
    )
    labels = Labels({"log_area": "Log lesion area"}, means)
    assert labels.value("area_mm2", 1712.0) == "Area = 1,712 mm²"
    assert (
        labels.value("log_area", 8.0)
        == labels.column_and_value_text("log_area", 8.0)
        == "Log lesion area = 8"
    )
    assert labels.value("reference_level", -3.0) == "Log lesion area = −3"
    assert labels.column_and_value_text("reference_level", -3.0) == "Reference level: Log lesion area = −3"
    # models of several seeds have no seed on their right side
    assert labels.value("seed", 1) == "1"
    assert labels.column_and_value_text("seed", 1) == "Seed: 1"
    assert Labels(labels).value("log_area", 8.0) == "Log lesion area = 8"
    assert (
        Labels({"log_area": {8: "Small"}}, means).column_and_value_text("log_area", 8.0) == "Log area: Small"
    )
    assert Labels(None, means.drop(columns="average")).value("log_area", 8.0) == "8"


def test_order_is_as_named_then_alphabetical_then_average():
    values = ["Average", "edema", "Atelectasis", "Lesion", "Overall", "Cardiomegaly"]
    assert Labels().order("task", values) == [
        "Atelectasis",
        "Cardiomegaly",
        "edema",
        "Lesion",
        "Overall",
        "Average",
    ]
    named = Labels({"task": ["Lesion", "edema"]})
    assert named.order("task", values)[:2] == ["Lesion", "edema"]
    assert Labels({"task": ["Average"]}).order("task", values)[0] == "Average"


def test_metrics_stand_in_the_registrys_order_and_terms_as_they_come():
    assert Labels().order("metric", ["zeta", "hit", "iou"]) == ["iou", "hit", "zeta"]
    assert Labels().order("term", ["b", "a"]) == ["b", "a"]


def test_terms_by_their_parts():
    labels = Labels({"taskEdema": "Edema"})
    assert labels.term("area_ratio:taskEdema") == "Relative size × Edema"
    assert labels.term("log(area_ratio)") == "log(area_ratio)"
    assert labels.term("(Intercept)") == "Intercept"


def test_categorical_holds_labels_in_order():
    frame = pd.DataFrame({"method": ["occlusion", "human", "gradcam", None]})
    found = Labels({"method": ["human"]}).categorical(frame, "method", reverse=True)
    assert list(found.categories) == ["Occlusion", "Grad-CAM", "Human benchmark"]
    assert found.isna().sum() == 1
    in_order = Labels({"method": ["human"]}).categorical(frame, "method")
    assert list(in_order.categories) == ["Human benchmark", "Grad-CAM", "Occlusion"]


def test_only_labels_of_a_user_are_told_apart_from_those_of_the_package():
    labels = Labels({"prob": "Confidence", "task": {"a": "A"}, "iou": "Overlap"})
    assert labels.user_column_label("prob") == "Confidence"
    assert labels.user_column_label("iou") == "Overlap"
    assert labels.user_column_label("hit") is None
    assert labels.column("hit") == "Hit rate"
    assert labels.user_value_label("task", "a") == "A"
    assert labels.user_value_label("task", "b") is None


def test_a_categorical_keeps_its_order_with_average_last():
    sizes = pd.Categorical(["large", "Average", "small"], ["small", "medium", "large", "Average"])
    frame = pd.DataFrame({"size": sizes})
    assert Labels().order("size", frame["size"]) == ["small", "large", "Average"]
    # a list of the values has lost it, the frame that is shown has not
    named = Labels({"size": ["medium"]}, frame)
    assert Labels(named).order("size", ["large", "medium", "small"]) == ["medium", "small", "large"]
    metrics = pd.DataFrame({"metric": pd.Categorical(["iou", "hit"], ["hit", "iou"])})
    assert Labels().order("metric", metrics["metric"]) == ["hit", "iou"]


def test_two_values_with_one_label_are_refused():
    frame = pd.DataFrame({"task": ["a", "b"]})
    with raises(SalstatsError, option="labels", column="task"):
        Labels({"a": "X", "b": "X"}).categorical(frame, "task")


def test_values_of_metrics_parts_and_terms_have_labels_of_their_own():
    frame = pd.DataFrame(
        {"metric": ["hd95", "assd", "assd", "iou"], "distance_unit": ["mm", "mm", "px", None]}
    )
    labels = Labels(None, frame)
    distance = Labels().value("metric", "hd95")
    assert labels.value("metric", "hd95") == f"{distance} (mm)"
    # a metric in two units has none
    assert labels.value("metric", "assd") == Labels().value("metric", "assd")
    assert labels.value("metric", "iou") == "IoU"
    assert Labels().value("part", "mean") == "Scores in between"
    assert (Labels().value("part", "own"), Labels().value("task", "mean")) == ("own", "mean")
    assert Labels().value("x", "area_ratio") == "Relative size"
    name, label = next(iter(AGREEMENT.items()))
    assert Labels().term(name) == label
    simulated = Labels(None, pd.DataFrame({"human_label": ["Residents"]}))
    assert (simulated.column("human"), Labels().column("human")) == ("Residents", "Human")


def test_colours_are_those_of_matplotlib():
    assert Labels({"colours": {"gradcam": "red"}}).colours == {"gradcam": "#ff0000"}
    with raises(SalstatsError, option="labels", value="none such"):
        Labels({"colours": {"gradcam": "none such"}})
    with raises(SalstatsError, option="labels"):
        Labels({"colours": ["red"]})


def test_methods_of_a_frame_share_its_colours_and_lines_of_other_names_do_not():
    frame = pd.DataFrame({"method": ["lime", "ig"], "reference": "human"})
    labels = Labels(None, frame)
    assert labels.palette_methods(["ig"]) == ["human", "ig", "lime"]
    assert labels.palette_methods(["ig", "rise"]) == ["human", "ig", "lime", "rise"]
    assert labels.palette_methods(["Task b", "Task a"]) == ["Task b", "Task a"]
    named = Labels({"method": ["lime"]}, frame)
    assert named.palette_methods(["ig"]) == ["lime", "human", "ig"]


def test_references_stand_first_unless_a_user_named_them():
    methods = ["lime", "rise", "Average"]
    labels = Labels()
    assert labels.with_references_first(["rise"]).order("method", methods) == ["rise", "lime", "Average"]
    assert labels.order("method", methods) == ["lime", "rise", "Average"]
    named = Labels({"method": ["lime", "rise"]}).with_references_first(["rise"])
    assert named.order("method", methods) == ["lime", "rise", "Average"]


def test_labels_must_be_a_mapping():
    with raises(SalstatsError, option="labels"):
        Labels(["a"])


@pytest.mark.filterwarnings("ignore:next to nothing is left:salstats.errors.SalstatsWarning")
def test_who_stands_for_people_is_what_the_data_say_and_what_the_user_says_before():
    every = ss.datasets.load_digits_scores()
    scores = every.query("dataset == 'textured' and model == 'plain' and metric == 'iou'")
    means = ss.summarize(scores, by=["metric", "method"], interval="t")
    decrease = ss.percent_decrease(scores, reference="human", interval="delta", test="t")
    for frame in (scores, means, decrease):
        assert Labels(None, frame).value("method", "human") == "Simulated annotator"
    assert Labels({"human": "Ann"}, means).value("method", "human") == "Ann"
    of_others = Labels(None, means.assign(human_label="Residents"))
    assert Labels(of_others, means).value("method", "human") == "Simulated annotator"
    assert Labels(None, means.drop(columns="human_label")).value("method", "human") == "Human benchmark"
    for table in (ss.table_estimates(means), ss.table_decrease(decrease)):
        words = table.as_raw_html()
        assert "imulated annotator" in words
        assert "uman benchmark" not in words


def test_names_stand_in_the_order_of_their_numbers():
    names = ["Finding 10", "finding 2", "Finding 1", "Edema", "2 views", "10 views", ""]
    ordered = ["", "2 views", "10 views", "Edema", "Finding 1", "finding 2", "Finding 10"]
    assert Labels().order("task", names) == ordered


def test_whole_numbers_that_a_column_holds_as_floats_are_written_without_decimals():
    seeds = pd.DataFrame({"seed": [10.0, 2.0, np.nan, 1.5]})
    assert [*Labels(None, seeds).label_by_value("seed", seeds["seed"]).values()] == ["10", "2", "1.5"]
    named = Labels({"seed": [10, 2]}, seeds)
    assert named.order("seed", [2.0, 10.0, 1.5]) == [10.0, 2.0, 1.5]
    assert Labels({"seed": {2: "second"}}, seeds).value("seed", 2.0) == "second"
    assert Labels().value("model", "1.0") == "1.0"


def test_models_and_correlations_keep_the_name_of_a_simulated_annotator():
    one_task = "dataset == 'textured' and model == 'plain' and task == 'digit 3'"
    scores = ss.datasets.load_digits_scores().query(one_task)
    model = ss.fit(scores, "iou ~ method + prob")
    frames = [
        model.tidy(),
        model.means("method"),
        model.contrasts("method", reference="human"),
        model.predict({"method": "human"}),
        ss.regress(scores, "iou ~ prob", by="method"),
        ss.quantile_regress(scores, "iou ~ prob", by="method"),
        ss.medians(scores),
        ss.correlate(scores, "iou", "prob"),
    ]
    for frame in frames:
        assert Labels(None, frame).value("method", "human") == "Simulated annotator"


def test_people_of_several_names_are_the_human_benchmark():
    frame = pd.DataFrame({"method": ["human"], "human_label": ["several"]})
    assert Labels(None, frame).value("method", "human") == "Human benchmark"
