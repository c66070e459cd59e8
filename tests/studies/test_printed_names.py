"""Names of a file beside printed ones."""

from salstats.studies.printed_names import match_names

PRINTED = ("GradCAM", "GradCAM++", "Integrated Gradients")


def test_case_and_punctuation_do_not_count_but_a_plus_does():
    assert match_names(["Grad-CAM", "gradcam++", "integrated_gradients", "rise"], PRINTED, "method") == {
        "Grad-CAM": "GradCAM", "gradcam++": "GradCAM++", "integrated_gradients": "Integrated Gradients"
    }  # fmt: skip


def test_a_name_stands_for_its_label():
    assert match_names(["ig"], PRINTED, "method") == {"ig": "Integrated Gradients"}


def test_two_names_that_are_one_printed_name_are_not_matched():
    assert match_names(["gradcam", "GradCAM", "ig"], PRINTED, "method") == {"ig": "Integrated Gradients"}


def test_capitals_do_not_count():
    assert match_names(["MYMETHOD"], ["my method"], "method") == {"MYMETHOD": "my method"}
