import struct
import zlib

import numpy as np
import pytest
from PIL import Image, ImageFile
from tests_support import raises

from salstats.errors import InputFileError
from salstats.readers.image_files import (
    image_shape,
    npy_holds_objects,
    read_grey,
    read_grey_or_rgb,
    read_picture,
)

RNG = np.random.default_rng(0)
GREY = RNG.integers(0, 256, (5, 7), dtype=np.uint8)
COLOUR = RNG.integers(0, 256, (5, 7, 3), dtype=np.uint8)


@pytest.mark.parametrize("ending", ["png", "tif", "bmp"])
@pytest.mark.parametrize("pixels", [GREY, COLOUR], ids=["grey", "colour"])
def test_pixels_come_as_the_file_has_them(tmp_path, pixels, ending):
    file = tmp_path / f"image.{ending}"
    Image.fromarray(pixels).save(file)
    np.testing.assert_array_equal(read_picture(file), pixels)


def test_a_jpeg_is_read_whatever_its_name(tmp_path):
    Image.fromarray(np.full((16, 16, 3), 90, np.uint8)).save(tmp_path / "image.dat", format="JPEG")
    # a plain image survives the compression but for rounding
    np.testing.assert_allclose(read_picture(str(tmp_path / "image.dat")), 90, atol=2)


def test_an_opaque_image_with_a_palette_or_an_alpha_is_read(tmp_path):
    Image.fromarray(COLOUR).convert("RGBA").save(tmp_path / "alpha.png")
    np.testing.assert_array_equal(read_picture(tmp_path / "alpha.png"), COLOUR)
    Image.fromarray(GREY).convert("LA").save(tmp_path / "grey.png")
    np.testing.assert_array_equal(read_picture(tmp_path / "grey.png"), GREY)
    Image.fromarray(GREY).convert("P").save(tmp_path / "palette.png")
    np.testing.assert_array_equal(read_picture(tmp_path / "palette.png"), np.stack([GREY] * 3, axis=-1))


def test_an_array_is_read_and_a_pickle_is_not(tmp_path):
    np.save(tmp_path / "image.npy", COLOUR)
    np.testing.assert_array_equal(read_picture(tmp_path / "image.npy"), COLOUR)
    np.save(tmp_path / "pickle.npy", np.array([{}], dtype=object), allow_pickle=True)
    with raises(InputFileError, path=tmp_path / "pickle.npy", value=None):
        read_picture(tmp_path / "pickle.npy")


def _chunk(kind, content):
    """A part of a PNG."""
    return struct.pack(">I", len(content)) + kind + content + struct.pack(">I", zlib.crc32(kind + content))


def test_an_image_that_claims_too_many_pixels_is_never_unpacked(tmp_path, monkeypatch):
    header = struct.pack(">IIBBBBB", 12000, 12000, 8, 0, 0, 0, 0)
    parts = [_chunk(b"IHDR", header), _chunk(b"IDAT", zlib.compress(b"")), _chunk(b"IEND", b"")]
    (tmp_path / "bomb.png").write_bytes(b"\x89PNG\r\n\x1a\n" + b"".join(parts))

    def load(*args):
        raise AssertionError("unpacked")

    monkeypatch.setattr(Image.Image, "load", load)
    monkeypatch.setattr(ImageFile.ImageFile, "load", load)
    with raises(InputFileError, option="SALSTATS_LIMIT_GB", value=12_000 * 12_000 * 8):
        read_picture(tmp_path / "bomb.png")


def test_an_array_too_large_for_an_image_is_not_read(tmp_path):
    np.lib.format.open_memmap(tmp_path / "large.npy", mode="w+", dtype=bool, shape=(2**15, 2**14)).flush()
    with raises(InputFileError, option="SALSTATS_LIMIT_GB"):
        read_picture(tmp_path / "large.npy")


def _write_tiff(file, pixels, sample_format, photometric):
    """Write numbers as an uncompressed TIFF of one strip, by its specification."""
    data = pixels.tobytes()
    height, width = pixels.shape
    tags = [
        (256, width), (257, height), (258, 8 * pixels.itemsize), (259, 1), (262, photometric), (273, 8),
        (277, 1), (278, height), (279, len(data)), (339, sample_format),
    ]  # fmt: skip
    entries = b"".join(struct.pack("<HHII", tag, 4, 1, value) for tag, value in tags)
    file.write_bytes(
        b"II*\0" + struct.pack("<I", 8 + len(data)) + data + struct.pack("<H", len(tags)) + entries + bytes(4)
    )


@pytest.mark.parametrize(
    ("pixels", "sample_format", "photometric", "value"),
    [
        (np.array([[0, 7, 2**31 - 1]], "<u4"), 1, 1, None),
        (np.array([[0, -7, 2**31 - 1]], "<i4"), 2, 1, None),
        (np.array([[0, 1, 2**31]], "<u4"), 1, 1, "SampleFormat"),
        (np.array([[0, 1, -1]], "i1"), 2, 1, "SampleFormat"),
        (np.array([[0, 0.5, 1]], "<f4"), 3, 1, None),
        (np.array([[0, 0.5, 1]], "<f4"), 3, 0, "WhiteIsZero"),
        (np.array([[0, 1, 5]], "<u2"), 1, 0, "WhiteIsZero"),
    ],
)
def test_numbers_of_a_tiff_are_its_own_or_an_error(tmp_path, pixels, sample_format, photometric, value):
    file = tmp_path / "map.tif"
    _write_tiff(file, pixels, sample_format, photometric)
    for read in (read_grey, read_picture):
        if value is None:
            np.testing.assert_array_equal(read(file), pixels)
        else:
            with raises(InputFileError, path=file, value=value):
                read(file)


def test_what_cannot_be_read_is_named(tmp_path):
    turned = Image.fromarray(GREY)
    exif = turned.getexif()
    exif[274] = 6
    turned.save(tmp_path / "turned.jpg", exif=exif)
    clear = np.dstack([COLOUR, np.full((5, 7), 128, np.uint8)])
    Image.fromarray(clear).save(tmp_path / "clear.png")
    Image.fromarray(GREY).save(tmp_path / "two.tif", save_all=True, append_images=[Image.fromarray(GREY)])
    Image.fromarray(COLOUR).convert("CMYK").save(tmp_path / "print.jpg")
    Image.fromarray(GREY).save(tmp_path / "whole.png")
    (tmp_path / "damaged.png").write_bytes((tmp_path / "whole.png").read_bytes()[:60])
    (tmp_path / "text.png").write_text("no image")
    for name, fields in {
        "turned.jpg": {"value": "Orientation"},
        "clear.png": {"value": "transparency"},
        "two.tif": {"value": 2},
        "print.jpg": {"value": "CMYK"},
        "damaged.png": {"value": None, "choices": ()},
        "text.png": {"choices": ("PNG", "TIFF", "JPEG", "BMP")},
        "none.png": {"hint": ""},
        ".": {"hint": "give a file"},
    }.items():
        with raises(InputFileError, path=tmp_path / name, **fields):
            read_picture(tmp_path / name)


def test_a_grey_image_has_one_number_for_each_pixel(tmp_path):
    Image.fromarray(GREY).save(tmp_path / "grey.png")
    Image.fromarray(np.dstack([GREY] * 3)).save(tmp_path / "equal.png")
    Image.fromarray(COLOUR).save(tmp_path / "colour.png")
    for name in ("grey.png", "equal.png"):
        for read in (read_grey, read_grey_or_rgb):
            np.testing.assert_array_equal(read(tmp_path / name), GREY)
    np.testing.assert_array_equal(read_grey_or_rgb(tmp_path / "colour.png"), COLOUR)
    with raises(InputFileError, path=tmp_path / "colour.png", value="RGB", hint="give levels"):
        read_grey(tmp_path / "colour.png", hint="give levels")
    # a map or mask is no JPEG
    Image.fromarray(GREY).save(tmp_path / "grey.jpg")
    with raises(InputFileError, path=tmp_path / "grey.jpg"):
        read_grey(tmp_path / "grey.jpg")


def test_the_shape_is_that_of_the_header(tmp_path):
    Image.fromarray(GREY).save(tmp_path / "grey.png")
    assert image_shape(tmp_path / "grey.png") == (5, 7)


@pytest.mark.parametrize("version", [(1, 0), (2, 0)])
def test_a_header_says_whether_an_array_is_of_objects(tmp_path, version):
    for content, is_object in ((np.array([{}]), True), (GREY, False)):
        with (tmp_path / "a.npy").open("wb") as stream:
            np.lib.format.write_array(stream, content, version=version)
        assert npy_holds_objects(tmp_path / "a.npy") == is_object
    (tmp_path / "a.npy").write_bytes(b"no array")
    assert not npy_holds_objects(tmp_path / "a.npy")


def test_a_colour_image_of_16_bits_is_an_error(tmp_path):
    header = struct.pack(">IIBBBBB", 1, 1, 16, 2, 0, 0, 0)
    data = zlib.compress(bytes(7))
    parts = [_chunk(b"IHDR", header), _chunk(b"IDAT", data), _chunk(b"IEND", b"")]
    (tmp_path / "deep.png").write_bytes(b"\x89PNG\r\n\x1a\n" + b"".join(parts))
    for read in (read_grey, read_grey_or_rgb):
        with raises(InputFileError, path=tmp_path / "deep.png", value="RGB;16B"):
            read(tmp_path / "deep.png")


def test_a_transparent_pixel_of_a_grey_image_is_an_error(tmp_path):
    for name, pixels in (("deep.png", GREY.astype(np.uint16)), ("grey.png", GREY)):
        Image.fromarray(pixels).save(tmp_path / name, transparency=int(pixels[0, 0]))
        with raises(InputFileError, path=tmp_path / name, value="transparency"):
            read_grey(tmp_path / name)
