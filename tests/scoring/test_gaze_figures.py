"""The figure of one image of a study of gaze."""

from functools import partial

import numpy as np
import pytest
from gaze_files import (
    N_READERS,
    SHAPES,
    fixation_rows,
    recording_id,
    write_fixations,
    write_maps,
    write_release,
)
from PIL import Image
from tests_support import raises, warns

import salstats as ss
from salstats.errors import SalstatsError
from salstats.images.fixations import Fixations
from salstats.study import Case, Recording, Study


def pictures(figure):
    (layer,) = [layer for layer in figure.layers if "pictures" in layer.geom.params]
    return layer.geom.params["pictures"]


@pytest.fixture
def study(tmp_path):
    release = write_release(tmp_path / "gaze")
    rows = fixation_rows("img-a", 0)
    rows[0][2] = -7.0
    write_fixations(release / recording_id("img-a", 0), rows)
    maps = {name: write_maps(tmp_path / name, seed) for seed, name in enumerate(("gradcam", "rise"))}
    np.save(maps["rise"] / "img-a.npy", np.full(SHAPES["img-a"], np.nan))
    (maps["rise"] / "img-b.npy").unlink()
    return ss.read_gaze(release, maps=maps)


def test_fixations_lie_on_the_image_and_on_every_map(study):
    figure = ss.plot_gaze(study, "img-a", methods="gradcam")
    assert list(figure.data["picture"]) == ["Fixations", "Mean fixation map", "Grad-CAM"]
    points = [layer._data for layer in figure.layers if type(layer.geom).__name__ == "geom_point"]
    # one of 18 lies outside the image
    n_inside = 6 * N_READERS - 1
    assert points[0]["picture"].value_counts().to_dict() == {
        "Fixations": n_inside,
        "Grad-CAM": n_inside,
        "Mean fixation map": 0,
    }
    assert f"{n_inside} fixations inside the image" in figure.labels.caption.replace("\n", " ")
    shown = pictures(figure)
    assert (shown["Fixations"] == shown["Fixations"][0, 0]).all()
    figure.draw()


def test_a_map_that_cannot_be_drawn_is_named(study):
    captions = [ss.plot_gaze(study, case).labels.caption for case in ("img-a", "img-b")]
    assert "RISE: map is not finite." in captions[0].replace("\n", " ")
    assert "RISE: no map." in captions[1].replace("\n", " ")


def test_a_constant_map_is_named_and_not_drawn(study, tmp_path):
    np.save(tmp_path / "gradcam" / "img-a.npy", np.full(SHAPES["img-a"], 0.3))
    figure = ss.plot_gaze(study, "img-a")
    assert list(figure.data["picture"]) == ["Fixations", "Mean fixation map"]
    assert "Grad-CAM: constant map." in figure.labels.caption.replace("\n", " ")


@pytest.mark.parametrize(("shape", "width"), [((450, 900), 150), ((900, 450), 89)])
def test_the_finest_lines_of_a_large_jpeg_are_still_seen(tmp_path, shape, width):
    fixations = partial(Fixations, [(20, 30)], [0.5], [(9, 9)], [(0, 0, *shape)])
    recording = Recording("P0", "0", fixations, "drawn here")
    study = Study((Case("a", shape, patient="7", recordings=(recording,)),))
    # read at half its size, a black line and the white one below it would be one grey line
    rows, cols = (round(1.6 * side) for side in shape)
    lines = np.broadcast_to((np.arange(rows) % 2 * 255).astype(np.uint8)[:, None], (rows, cols))
    Image.fromarray(lines).save(tmp_path / "a.jpg", quality=100)
    figure = ss.plot_gaze(study, "a", images=tmp_path, width=width)
    assert "no image" in ss.plot_gaze(study, "a").labels.caption.replace("\n", " ")
    assert "no image" not in figure.labels.caption.replace("\n", " ")
    shown = pictures(figure)["Fixations"]
    assert np.ptp(shown[:, :, 0].astype(int), axis=0).min() > 30


def test_what_cannot_be_shown_is_said(study, tmp_path):
    with raises(SalstatsError, option="cases", value="img-z", choices=("img-a", "img-b", "img-c")):
        ss.plot_gaze(study, "img-z")
    with raises(SalstatsError, option="methods", value="lime", choices=("gradcam", "rise")):
        ss.plot_gaze(study, "img-a", methods=["lime"])
    names = {recording_id("img-a", reader) for reader in range(N_READERS)}
    with warns(path=tmp_path / "lost", value={"discarded by its file": 3}, match=r"\b9\b"):
        lost = ss.read_gaze(write_release(tmp_path / "lost", discarded=names))
    with raises(SalstatsError, option="case", value="img-a"):
        ss.plot_gaze(lost, "img-a")
    with raises(SalstatsError, option="study", value=study.source):
        ss.plot_overlay(study, "img-a", "")
    with raises(SalstatsError, option="study", value=study.source):
        ss.plot_gallery(study, ss.score_gaze(study, metrics="ncc").head(1))
