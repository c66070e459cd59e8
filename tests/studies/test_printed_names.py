"""Names of a file beside printed ones."""

from salstats.studies.printed_names import printed_name_by_uniquely_matched_name

PRINTED = ("GradCAM", "GradCAM++", "Integrated Gradients")


def test_case_and_punctuation_do_not_count_but_a_plus_does():
    names = ["Grad-CAM", "gradcam++", "integrated_gradients", "rise"]
    assert printed_name_by_uniquely_matched_name(names, PRINTED, "method") == {
        "Grad-CAM": "GradCAM", "gradcam++": "GradCAM++", "integrated_gradients": "Integrated Gradients"
    }  # fmt: skip


def test_a_name_stands_for_its_label():
    assert printed_name_by_uniquely_matched_name(["ig"], PRINTED, "method") == {"ig": "Integrated Gradients"}


def test_two_names_that_are_one_printed_name_are_not_matched():
    assert printed_name_by_uniquely_matched_name(["gradcam", "GradCAM", "ig"], PRINTED, "method") == {
        "ig": "Integrated Gradients"
    }


def test_capitals_do_not_count():
    assert printed_name_by_uniquely_matched_name(["MYMETHOD"], ["my method"], "method") == {
        "MYMETHOD": "my method"
    }
