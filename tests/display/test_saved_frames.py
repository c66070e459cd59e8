"""Frames that were saved and read again: tables and figures say the same of them."""

import pytest

import salstats as ss


def _digits():
    """Scores of three methods on the embedded digits."""
    digits = ss.datasets.load_digits_scores().query("dataset == 'textured' and model == 'residual'")
    return digits[digits["method"].isin(["integrated_gradients", "gradcam", "rise"])]


DIGITS = _digits()
OF_FINDINGS = DIGITS.query("label == 1")
SCORES = OF_FINDINGS[OF_FINDINGS["metric"].isin(["iou", "hit"])]

#: Each kind of frame, and the figures and tables that show it.
FRAMES = {
    "means": (
        lambda: ss.summarize(SCORES, by=["task", "method", "metric"]),
        (ss.plot_intervals, ss.table_estimates),
    ),
    "differences": (
        lambda: ss.difference(SCORES, reference="gradcam", adjust="holm", margin=0.1),
        (ss.plot_decrease, ss.table_decrease),
    ),
    "odds ratios": (
        lambda: ss.regress(OF_FINDINGS, "hit ~ prob", by="method", family="binomial", exponentiate=True),
        (ss.plot_forest, ss.plot_regression, ss.table_regression),
    ),
    "slopes": (
        lambda: ss.regress(OF_FINDINGS, ["iou ~ prob", "iou ~ elongation"], by="method", adjust="holm"),
        (ss.plot_regression, ss.table_regression),
    ),
    "correlations": (
        lambda: ss.correlate(OF_FINDINGS, "iou", "prob", by="method"),
        (ss.plot_correlation, ss.table_correlation),
    ),
    "areas": (
        lambda: ss.auroc(DIGITS, "prob", "label", by="method"),
        (ss.plot_intervals, ss.table_estimates),
    ),
    "curves": (lambda: ss.roc_curve(DIGITS, "prob", "label", by="method"), (ss.plot_roc,)),
    "calibration": (
        lambda: ss.calibration_curve(DIGITS, "prob", "label", by="method"),
        (ss.plot_calibration,),
    ),
    "flow of cases": (lambda: ss.case_flow(DIGITS), (ss.plot_flow,)),
    "marginal means": (
        lambda: ss.fit(OF_FINDINGS, "iou ~ method + prob", by=[]).means("method"),
        (ss.plot_intervals, ss.table_estimates),
    ),
}


def displayed_text(display):
    """What a figure says on its axes and below it, or a table in all its cells and notes."""
    if hasattr(display, "labels"):
        return str(display.labels)
    return str(display)


@pytest.mark.parametrize("kind", FRAMES)
def test_a_frame_from_a_file_is_displayed_as_the_frame_that_was_saved(tmp_path, kind):
    estimate, displays = FRAMES[kind]
    frame = estimate()
    read_again = ss.read_data(ss.write_frame(frame, tmp_path / "frame.csv"))
    for display in displays:
        assert displayed_text(display(read_again)) == displayed_text(display(frame))
