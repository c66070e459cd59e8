"""The page of figures and tables finds nothing wrong, and would."""

import gallery
import plotnine as p9
import pytest

import salstats as ss


def test_every_figure_and_table_is_drawn():
    code = "".join(item.code for item in gallery.ITEMS)
    assert [n for n in ss.__all__ if n.startswith(("plot_", "table_")) and f"ss.{n}(" not in code] == []


def test_text_that_is_small_cut_or_printed_on_other_text_is_found():
    figure = ss.plot_box(ss.datasets.load_simulated().query("metric == 'iou'"))
    assert gallery.faults(figure) == []
    small = p9.theme(axis_text_x=p9.element_text(size=5))
    assert all(" in 5.0 pt" in fault for fault in gallery.faults(figure + small))
    assert any("is cut" in fault for fault in gallery.faults(figure + p9.labs(x="IoU " * 60)))
    twice = [p9.annotate("text", x=0.5, y=-10, label=word, size=7) for word in ("one", "other")]
    assert gallery.faults(figure + twice) == ["'one' lies on 'other'"]


@pytest.mark.slow
@pytest.mark.parametrize("frame", ["long names", "twenty tasks"])
def test_nothing_is_wrong_with_pictures_of_awkward_frames(frame, tmp_path, capsys):
    shown = f"^{frame}: plot_(box|decrease|flow|forest|intervals|letter_values|ranks|scatter|significance)$"
    assert gallery.main(["-o", str(tmp_path), "--only", shown]) == 0, capsys.readouterr().out
    assert len(list(tmp_path.glob("*.png"))) >= 18
