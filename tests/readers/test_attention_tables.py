"""Cells of annotations: the quick reading of digits gives what JSON gives, and bad cells are named."""

import csv
import json

import numpy as np
import pytest
from tests_support import quick, raises

from salstats.cli.flag_spelling import FlagSpelling
from salstats.errors import InputFileError, ValueRangeError
from salstats.images.masks import decode, encode
from salstats.readers import attention_tables
from salstats.readers.attention_tables import (
    draw_boxes,
    mask_from_json_rows,
    read_mask_or_boxes_by_image_name,
    resize_truth,
)


@pytest.mark.parametrize("shape", [(1, 1), (1, 5), (5, 1), (3, 4), (224, 224)])
@pytest.mark.parametrize("separators", [(",", ":"), (", ", ": ")])
def test_digits_are_read_as_json_reads_them(shape, separators):
    mask = np.random.default_rng(1).integers(0, 2, shape)
    text = json.dumps(mask.tolist(), separators=separators)
    assert (attention_tables._array_from_json_digits(text) == mask).all()
    assert (decode(mask_from_json_rows(text)) == mask).all()


@pytest.mark.parametrize(
    ("text", "mask"),
    [
        ("[[0, 255], [255, 0]]", [[0, 1], [1, 0]]),
        ("[[0.0, 1.0]]", [[0, 1]]),
        ("[[true, false]]", [[1, 0]]),
        ("[\n [0, 1],\n [1,\t1]\n]", [[0, 1], [1, 1]]),
    ],
)
def test_other_ways_to_write_a_mask(text, mask):
    assert decode(mask_from_json_rows(text)).tolist() == np.array(mask, bool).tolist()


@pytest.mark.parametrize(
    "text",
    [
        "[[0,1],[1,0]", "[[0,1],[1,0],]", "[[0,1]][1,0]]", "[[0,1];[1,0]]", "[0,1],[1,0]]", "[[01,1],[1,00]]",
        "[[1 0]]", "[[0,1],[1,:]]", "nan",
    ],
)  # fmt: skip
def test_what_json_refuses_is_refused(text):
    with raises(InputFileError, column="attention", option=None):
        mask_from_json_rows(text)


@pytest.mark.parametrize(
    ("text", "option", "numbers"),
    [
        *((text, None, None) for text in ("", "[[0, 1], [1]]", "[0, 1]", "[]", '[["a", "b"]]', "[[0, NaN]]")),
        ("[[0, 0.3, 0.9]]", "threshold", [0, 0.3, 0.9]),
        ("[[0, 1, 2]]", "threshold", [0, 1, 2]),
        ("[" * 100_000, None, None),
    ],
)
def test_a_cell_that_is_no_mask(text, option, numbers):
    with raises(InputFileError, column="attention", option=option, value=numbers):
        mask_from_json_rows(text)


def test_soft_annotations_need_a_threshold():
    with raises(InputFileError, option="threshold", column="attention"):
        mask_from_json_rows("[[0, 0.3, 0.9]]")
    assert decode(mask_from_json_rows("[[0, 0.3, 0.9]]", threshold=0.5)).tolist() == [[False, False, True]]
    assert decode(mask_from_json_rows("[[0, 1, 2]]", threshold=0)).tolist() == [[False, True, True]]


def test_a_boxs_pixels_are_those_whose_centre_it_holds():
    boxes = [(0.6, 0.4, 2.0, 1.0)]
    expected = [[(0.6 <= c + 0.5 < 2.6) and (0.4 <= r + 0.5 < 1.4) for c in range(5)] for r in range(3)]
    assert draw_boxes(boxes, (3, 5)).tolist() == expected


def test_resizing_takes_the_nearest_pixel():
    rng = np.random.default_rng(2)
    mask = rng.random((7, 5)) < 0.5
    found = decode(resize_truth(encode(mask), (11, 3)))
    rows, cols = (np.floor((np.arange(n) + 0.5) * o / n).astype(int) for n, o in ((11, 7), (3, 5)))
    assert (found == mask[rows][:, cols]).all()
    assert (decode(resize_truth(encode(mask), (14, 10))) == np.kron(mask, np.ones((2, 2), bool))).all()


class TestTables:
    @pytest.fixture
    def read(self, tmp_path):
        """A function that writes a table and reads it."""

        def read(text, **options):
            file = tmp_path / "a.csv"
            file.write_bytes(text if isinstance(text, bytes) else text.encode())
            return read_mask_or_boxes_by_image_name([file], **options)

        return read

    def test_errors_name_file_and_row(self, read, tmp_path):
        rows = [f'{i}.png,"[[1]]"' for i in range(200)] + ['z.png,"[[3]]"']
        with raises(InputFileError, path=tmp_path / "a.csv", rows=(200,), column="attention", value=[3]):
            read("\n".join(["img_idx,attention", *rows]))

    def test_blank_lines_count_as_rows_of_the_file(self, read, tmp_path):
        with raises(InputFileError, column="attention", rows=(2,), path=tmp_path / "a.csv"):
            read('img_idx,attention\na.png,"[[1]]"\n\nb.png,"[[3]]"\n')

    @pytest.mark.parametrize("threshold", ["0.5", np.nan, 0.5])
    def test_a_threshold_is_a_number_for_masks(self, read, threshold):
        with raises(ValueRangeError, option="threshold", value=threshold):
            read("img_idx,x,y,w,h\nx.png,1,5,1,2\n", threshold=threshold)

    @pytest.mark.parametrize("text", ["\n", "a,b\n1,2\n", "img_idx,x,y,w\nx,1,1,1\n"])
    def test_a_table_without_the_columns_is_refused(self, read, tmp_path, text):
        header = text.partition("\n")[0]
        columns = tuple(header.split(",")) if header else ()
        with raises(InputFileError, choices=columns, path=tmp_path / "a.csv"):
            read(text)

    @pytest.mark.parametrize(
        ("header", "cells", "boxes"),
        [
            ("xmin,ymin,xmax,ymax", "1,2,4,4", ((1, 2, 3, 2),)),
            ("x,y,w,h", "1,2,4,4", ((1, 2, 4, 4),)),
            ("x,y,width,height", "1,2,4,4", ((1, 2, 4, 4),)),
            ("bbox", '"[1, 2, 4, 4]"', ((1, 2, 4, 4),)),
            ("boxes", '"[[1, 2, 4, 4], [0, 0, 2, 1]]"', ((1, 2, 4, 4), (0, 0, 2, 1))),
        ],
    )
    def test_boxes_are_the_corner_and_width_and_height_in_any_columns(self, read, header, cells, boxes):
        annotation = read(f"img_idx,{header}\na.png,{cells}\n")["a.png"]
        assert annotation.mask is None
        assert tuple(map(tuple, annotation.boxes)) == boxes

    @pytest.mark.parametrize("edges", ["1,2,1,4", "1,2,4,2", "4,2,1,4"])
    def test_edges_in_the_wrong_order_are_no_box(self, read, tmp_path, edges):
        with raises(InputFileError, path=tmp_path / "a.csv", rows=(0,), column="xmin"):
            read(f"img_idx,xmin,ymin,xmax,ymax\na.png,{edges}\n")

    def test_a_box_of_a_number_that_no_float_holds_is_none(self, read, tmp_path):
        with raises(
            InputFileError, column="bbox", rows=(0,), value=(1, np.inf, 2, 2), path=tmp_path / "a.csv"
        ):
            read(f'img_idx,bbox\na.png,"[1, {10**400}, 2, 2]"\n')

    def test_many_boxes_of_one_image_are_read_in_linear_time(self, read):
        rows = ["a.png,1,2,3,4"] * 40_000
        with quick(20):
            found = read("\n".join(["img_idx,x,y,w,h", *rows]))
        assert found["a.png"].boxes == ((1, 2, 3, 4),) * 40_000

    def test_other_columns_a_mark_of_encoding_and_their_order_do_not_matter(self, read):
        found = read('\ufeffattention,note,img_idx\n"[[0,1]]",hm,x.png\n')
        assert decode(found["x.png"].mask).tolist() == [[False, True]]

    def test_cells_larger_than_the_limit_of_the_csv_module_are_read_and_the_limit_stays(self, read):
        before = csv.field_size_limit()
        text = json.dumps(np.ones((400, 400), int).tolist())
        assert len(text) > before
        assert read(f'img_idx,attention\nx.png,"{text}"\n')["x.png"].mask.shape == (400, 400)
        assert csv.field_size_limit() == before

    @pytest.mark.parametrize(
        ("text", "rows", "columns"),
        [
            ("img_idx,x,y,w,h\nx.png,1,5,1,2,2\n", (0,), ()),
            ("img_idx,x,y,w,h\ny.png,1,1,2,2\nx.png,1,5,1,2,2\n", (1,), ()),
            (
                'img_idx,attention,attention\nx.png,"[[1]]","[[0]]"\n',
                (),
                ("img_idx", "attention", "attention"),
            ),
            (b"img_idx,attention\nx,\xff\xfe\n", (), ()),
            ('img_idx,attention\nx,"[[1]]\n', (), ()),
        ],
    )
    def test_cells_that_belong_to_no_column_are_never_left_out_in_silence(
        self, read, tmp_path, text, rows, columns
    ):
        with raises(InputFileError, path=tmp_path / "a.csv", rows=rows, choices=columns) as caught:
            read(text)
        assert "\n" not in str(caught.value)

    def test_an_array_that_is_not_quoted_is_refused_at_once(self, read):
        array = ",".join(["[0,1]"] * 15_000)
        with quick(8), raises(InputFileError, rows=(0,), hint="a cell that holds a comma is to be quoted"):
            read(f"img_idx,attention\na.png,[{array}]\n")

    @pytest.mark.parametrize("cell", ["[1, 2, 0, 4]", "[1, 2, NaN, 4]", "[[1, 2, 3, 4], [1, 2, 3, -4]]"])
    def test_a_box_without_area_is_refused(self, read, cell):
        with raises(InputFileError, column="bbox", rows=(0,)) as caught:
            read(f'img_idx,bbox\nx.png,"{cell}"\n')
        # the box without area, not the first of the cell
        assert len(caught.value.value) == 4
        assert not caught.value.value[2] > 0 or not caught.value.value[3] > 0

    @pytest.mark.parametrize(
        "cell", ["", "x", "3", "{'x': 1}", "['a', 1, 1, 1]", "[1, 2, 3]", "[1, 2, 3, 4, 5, 6, 7, 8]"]
    )
    def test_a_cell_without_boxes_is_refused(self, read, cell):
        with raises(InputFileError, column="bbox", rows=(0,), value=None):
            read(f'img_idx,bbox\nx.png,"{cell}"\n')

    @pytest.mark.parametrize("threshold", [float("nan"), "0.5"])
    def test_a_threshold_that_is_no_number_is_refused(self, read, threshold):
        with raises(ValueRangeError, option="threshold"):
            read('img_idx,attention\nx.png,"[[1]]"\n', threshold=threshold)


def test_the_threshold_of_annotations_is_not_taken_for_the_commands_own_that_cuts_maps():
    with pytest.raises(InputFileError) as stopped:
        mask_from_json_rows("[[0, 0.3, 0.9]]")
    # --threshold of `salstats score` makes masks of maps
    assert "--threshold" not in stopped.value.message.spelled(FlagSpelling({"threshold": "--threshold"}))
