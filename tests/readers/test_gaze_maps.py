"""The maps compared with gaze: which file is of which image, and what it becomes."""

import numpy as np
import pytest
from gaze_files import (
    SHAPES,
    fixation_rows,
    metadata_rows,
    write_box,
    write_fixations,
    write_maps,
    write_metadata,
    write_release,
)
from tests_support import raises, warns

from salstats.errors import InputFileError, SalstatsError, ValueRangeError
from salstats.images.mixing import mixed_map_of_classes
from salstats.readers.gaze import read_gaze
from salstats.study import Series

#: Stretched maps are in single precision.
SINGLE = 1e-6


@pytest.fixture
def release(tmp_path):
    """Three images of one phase, each read by three."""
    return write_release(tmp_path / "main_data")


@pytest.fixture(scope="module")
def oracle(shared):
    return shared / "oracles" / "gaze"


def first_map(release, **given):
    """The map of the first image, of the first series."""
    return read_gaze(release, **given).cases[0].predictions[0].read().saliency


class TestFiles:
    def test_maps_are_found_by_case_and_by_trial(self, release, tmp_path):
        folder = write_maps(tmp_path / "maps")
        (folder / "img-b.npy").rename(folder / "p1_t001.npy")
        study = read_gaze(release, maps={"cam:resnet:2": folder})
        assert study.series == (Series("cam", "resnet", "2"),)
        for place, case in enumerate(study):
            (made,) = case.predictions
            expected = np.random.default_rng([0, place]).random(case.shape)
            np.testing.assert_array_equal(made.read().saliency, expected)
        assert read_gaze(release, maps=folder).series == (Series("saliency"),)

    def test_an_image_named_like_a_trial_of_a_method_has_the_map_of_its_name(self, release, tmp_path):
        rows = metadata_rows()
        for row in rows:
            if row[4] == "img-b":
                row[4] = "p1_t7_left"
        write_metadata(release, rows)
        folder = write_maps(tmp_path / "maps")
        (folder / "img-b.npy").rename(folder / "p1_t7_left.npy")
        study = read_gaze(release, maps=folder)
        assert [len(case.predictions) for case in study] == [1, 1, 1]

    def test_a_case_of_two_phases_has_the_map_of_its_image(self, release, tmp_path):
        rows = [[f"Q{row[0]}", *row[1:]] for row in metadata_rows() if row[4] == "img-b"]
        write_metadata(release, rows, phase=2)
        for row in rows:
            write_fixations(release / row[0], fixation_rows("img-b", 0))
            write_box(release / row[0], 1, 1, 9, 9)
        study = read_gaze(release, maps=write_maps(tmp_path / "maps"))
        sources = [c.predictions[0].source for c in study if "img-b" in c.case]
        assert sources == [str(tmp_path / "maps" / "img-b.npy")] * 2

    def test_a_missing_map_and_a_file_of_no_image(self, release, tmp_path):
        folder = write_maps(tmp_path / "maps")
        (folder / "img-b.npy").rename(folder / "other.npy")
        with warns(value=["other.npy"], path=folder):
            study = read_gaze(release, maps={"cam": folder})
        assert [len(c.predictions) for c in study] == [1, 0, 1]

    def test_files_of_no_image_are_named_in_order(self, release, tmp_path):
        folder = write_maps(tmp_path / "maps")
        others = [f"other{number}.npy" for number in range(9)]
        for name in others:
            np.save(folder / name, np.eye(3))
        with warns(value=others, path=folder):
            read_gaze(release, maps={"cam": folder})

    def test_a_folder_of_other_names_is_an_error_that_says_how_to_name_them(self, release, tmp_path):
        (tmp_path / "maps").mkdir()
        np.save(tmp_path / "maps" / "other.npy", np.eye(3))
        hint = "name them img-a.npy, or by phase and trial as in p1_t0.npy"
        with raises(InputFileError, path=tmp_path / "maps", value=["other.npy"], hint=hint):
            read_gaze(release, maps={"cam": tmp_path / "maps"})

    @pytest.mark.parametrize(("first", "second"), [("img-a", "p1_t0"), ("p1_t0", "p1_t00")])
    def test_two_files_of_one_image(self, release, tmp_path, first, second):
        (tmp_path / "maps").mkdir()
        for name in (first, second):
            np.save(tmp_path / "maps" / f"{name}.npy", np.eye(3))
        with raises(InputFileError, path=tmp_path / "maps" / f"{second}.npy", hint="remove one"):
            read_gaze(release, maps={"cam": tmp_path / "maps"})

    @pytest.mark.parametrize(
        ("options", "fields"),
        [
            ({"maps": {"interobserver": "m"}}, {"option": "maps", "value": "interobserver"}),
            ({"maps": {"a:b:c:d": "m"}}, {"option": "maps", "value": "a:b:c:d"}),
            ({"maps": {"cam:": "m"}}, {"option": "maps", "value": "cam:"}),
            ({"maps": {"human": "m"}}, {"option": "maps", "value": "human", "hint": "name the method"}),
            ({"masks": {}}, {"option": "masks", "match": "no method"}),
            ({"maps": {"x": "m"}, "masks": {"x": "m"}}, {"value": "x"}),
            ({"masks": {"convex": "m"}, "lungs": "m"}, {"value": "convex"}),
        ],
    )
    def test_names_that_cannot_be(self, release, options, fields):
        with raises(SalstatsError, **fields):
            read_gaze(release, **options)

    def test_the_study_s_own_files_are_found_by_the_place_of_the_image(self, release, tmp_path):
        rows = metadata_rows()
        for phase, own in ((1, rows[:6]), (2, rows[6:])):
            write_metadata(release, own, phase=phase)
        folder = tmp_path / "uniform" / "ag_sononet"
        places = {"img-a": (1, 0), "img-b": (1, 1), "img-c": (2, 0)}
        for image, (phase, trial) in places.items():
            place = folder / f"phase_{phase}_0.98"
            place.mkdir(parents=True, exist_ok=True)
            for name, value in (("", 1.0), ("_am1", 2.0), ("_am2", 3.0)):
                saliency = np.full(SHAPES[image], value, dtype=np.float32)
                saliency[0, :2] = phase, trial
                np.save(place / f"{trial}{name}", {"np_image": saliency, "img_path": image, "trial": trial})
                (place / f"{trial}{name}.png").write_bytes(b"a picture of it")
            (place / f"{trial}or.png").write_bytes(b"the image")
        for case in read_gaze(release, maps=dict.fromkeys(("gradcam_wag", "am1", "am2"), folder)):
            found = [given.read().saliency for given in case.predictions]
            assert {tuple(saliency[0, :2]) for saliency in found} == {places[case.case]}
            assert [saliency[-1, -1] for saliency in found] == [1, 2, 3]
        one = read_gaze(release, phases=1, maps={"am2": folder / "phase_1_0.98"})
        assert [case.predictions[0].read().saliency[-1, -1] for case in one] == [3, 3]

    def test_some_cases_and_methods_in_the_study_s_own_order(self, release, tmp_path):
        maps = write_maps(tmp_path / "maps")
        study = read_gaze(release, maps={"cam": maps, "ig": maps})
        some = study.select(cases=["img-c", "img-a"], methods="ig")
        assert [c.case for c in some] == ["img-a", "img-c"]
        assert some.series == (Series("ig"),)
        assert [m.series.method for c in some for m in c.predictions] == ["ig", "ig"]
        with raises(SalstatsError, option="cases", value="img-z"):
            study.select(cases="img-z")


class TestHowMapsLie:
    def test_padded_squares_lie_on_the_padded_image(self, release, tmp_path):
        # a ramp over rows on 40 x 40, of which img-a (30 x 40) is rows 5 to 34
        folder = write_maps(tmp_path / "maps")
        np.save(folder / "img-a.npy", np.tile(np.arange(20.0)[:, None], (1, 20)))
        on_image = first_map(release, maps=folder, padded=True)
        assert on_image.shape == (30, 40)
        np.testing.assert_allclose(on_image[:, 7], (np.arange(5, 35) + 0.5) / 2 - 0.5, atol=SINGLE)

    def test_maps_of_the_image_s_own_proportions_are_not_of_the_padded_square(self, release, tmp_path):
        small = np.arange(12.0).reshape(3, 4)
        folder = write_maps(tmp_path / "maps")
        np.save(folder / "img-a.npy", small)
        np.testing.assert_array_equal(first_map(release, maps=folder, padded=True), small)

    @pytest.mark.parametrize("padded", [None, True, False])
    def test_maps_of_other_proportions_are_said_once_per_method(self, release, tmp_path, padded):
        for name, shape in (("odd1", (8, 4)), ("odd2", (8, 4)), ("grid", (7, 9))):
            write_maps(tmp_path / name, shape=shape)
        folders = {"cam:a:1": tmp_path / "odd1", "cam:a:2": tmp_path / "odd2", "grid": tmp_path / "grid"}
        with warns(option=None, value=["cam"], match="8 x 4 .* 30 x 40"):
            read_gaze(release, maps=folders, padded=padded)

    def test_square_maps_that_are_stretched_are_said_once_per_method(self, release, tmp_path):
        folders = {name: tmp_path / name for name in ("cam:a:1", "cam:a:2", "ig", "own")}
        for name, folder in folders.items():
            write_maps(folder, shape=None if name == "own" else (9, 9))
        with warns(option="padded", value=["cam", "ig"], match="9 x 9 .* 30 x 40"):
            read_gaze(release, maps=folders)
        # said already, or no square: no warning
        for padded in (True, False):
            read_gaze(release, maps=folders, padded=padded)

    def test_masks_are_maps_of_0_and_1_of_the_size_of_the_image(self, release, tmp_path):
        folder = tmp_path / "masks"
        folder.mkdir()
        np.save(folder / "img-a.npy", np.eye(*SHAPES["img-a"], dtype=np.uint8) * 255)
        np.testing.assert_array_equal(first_map(release, masks={"lime": folder}), np.eye(*SHAPES["img-a"]))
        np.save(folder / "img-a.npy", np.eye(8, dtype=bool))
        # both sizes are heights and widths
        with raises(InputFileError, value=(8, 8), path=folder / "img-a.npy", match="8 x 8 .* 30 x 40"):
            first_map(release, masks={"lime": folder})


class TestLungs:
    def test_the_hull_of_the_oracle_s_lungs(self, oracle, tmp_path):
        lungs = np.load(oracle / "inputs" / "maps.npz")
        expected = np.load(oracle / "expected" / "convex_hull.npz")
        for name in lungs.files:
            if name.endswith("_lungs256"):
                np.save(tmp_path / f"{name.removesuffix('_lungs256')}.npy", lungs[name])
        folder = oracle / "inputs" / "main_data"
        with warns(path=folder, value={"discarded by its file": 1}):
            study = read_gaze(folder, lungs=tmp_path)
        n_compared = 0
        for case in study:
            name = f"hull_p{case.phase}_t{case.trial}"
            if name in expected.files:
                np.testing.assert_array_equal(case.predictions[0].read().saliency, expected[name])
                n_compared += 1
        assert study.series == (Series("convex"),)
        assert n_compared >= 6

    def test_specks_are_taken_out_first_unless_told_otherwise(self, release, tmp_path):
        mask = np.zeros(SHAPES["img-a"], bool)
        mask[4:20, 6:18] = True
        np.save(tmp_path / "img-a.npy", mask)
        alone = first_map(release, lungs=tmp_path)
        mask[25, 30] = True
        np.save(tmp_path / "img-a.npy", mask)
        for clean in (True, False):
            hull = first_map(release, lungs=tmp_path, clean_lungs=clean)
            assert np.array_equal(hull, alone) is clean
        assert hull[25, 30] == 1

    def test_a_mask_of_another_shape_is_refused(self, release, tmp_path):
        np.save(tmp_path / "img-a.npy", np.zeros((10, 12), bool))
        with raises(InputFileError, value=(10, 12), match="10 x 12 .* 30 x 40"):
            first_map(release, lungs=tmp_path)


class TestClassMaps:
    MAPS = np.arange(24.0).reshape(3, 2, 4) ** 2

    @pytest.fixture
    def mixed(self, release, tmp_path):
        """A function that writes an .npz, with arrays changed, and gives the first map that is made of it."""

        def write(mixing="thresholded", padded=None, **changed):
            arrays = {"maps": self.MAPS, "probs": [0.1, 0.7, 0.4]} | changed
            np.savez_compressed(tmp_path / "img-a.npz", **{k: v for k, v in arrays.items() if v is not None})
            return first_map(release, class_maps={"cam": tmp_path}, mixing=mixing, padded=padded)

        return write

    def test_every_rule_of_mixing_is_a_series(self, release, tmp_path):
        np.savez(tmp_path / "img-a.npz", maps=self.MAPS, probs=[0.1, 0.7, 0.4])
        study = read_gaze(release, class_maps={"cam": tmp_path})
        assert [s.mixing for s in study.series] == ["thresholded", "weighted", "uniform"]
        for made in study.cases[0].predictions:
            expected = mixed_map_of_classes(self.MAPS, [0.1, 0.7, 0.4], rule=made.series.mixing)
            np.testing.assert_array_equal(made.read().saliency, expected)
        study = read_gaze(release, class_maps={"cam": tmp_path}, mixing="uniform")
        assert study.series == (Series("cam", mixing="uniform"),)
        with raises(ValueRangeError, option="mixing", value="mean"):
            read_gaze(release, class_maps={"cam": tmp_path}, mixing="mean")

    def test_the_class_of_no_finding_is_found_by_its_name(self, mixed):
        low = [0.1, 0.2, 0.3]
        for names, expected in (
            (None, 0),
            (["Edema", "No_Finding", "Mass"], 1),
            (["a", "b", "NoFinding"], 2),
        ):
            np.testing.assert_array_equal(mixed(probs=low, classes=names), self.MAPS[expected])
        # names without it make no other class of it
        assert not mixed(probs=low, classes=np.array([b"Edema", b"b", b"c"])).any()

    @pytest.mark.parametrize(
        ("changed", "column", "value"),
        [
            ({"probs": None}, None, ["maps"]),
            ({"probs": [0.1, 0.7]}, "probs", (2,)),
            ({"probs": [0.1, 0.7, 1.4]}, "probs", 1.4),
            ({"maps": np.eye(3)}, "maps", (3, 3)),
            ({"classes": ["a"]}, "classes", None),
            ({"classes": ["No Finding", "a", "no_finding"]}, "classes", None),
            # an array of Python objects
            ({"maps": np.array([{}], dtype=object)}, None, "maps"),
            ({"probs": [0.0, 0.0, 0.0], "mixing": "weighted"}, "rule", "weighted"),
        ],
    )
    def test_a_damaged_file(self, mixed, tmp_path, changed, column, value):
        with raises(InputFileError, path=tmp_path / "img-a.npz", column=column, value=value):
            mixed(**changed)

    def test_a_probability_that_is_not_a_number(self, mixed, tmp_path):
        with raises(InputFileError, path=tmp_path / "img-a.npz", column="probs"):
            mixed(probs=[0.1, 0.7, np.nan])

    def test_a_file_that_unpacks_to_more_than_memory_is_for(self, mixed, monkeypatch):
        monkeypatch.setenv("SALSTATS_LIMIT_GB", str(1e5 / 2**30))
        with raises(InputFileError, option="SALSTATS_LIMIT_GB"):
            mixed(maps=np.zeros((3, 200, 200)))

    @pytest.mark.parametrize("padded", [False, True])
    def test_a_class_that_is_not_finite_makes_a_map_that_is_not(self, mixed, padded):
        maps = self.MAPS.copy()
        maps[2, 1, 1] = np.nan
        assert np.isnan(mixed(maps=maps, padded=padded)).all()
