"""A small release of gaze recordings, drawn here, for tests that damage its files one by one."""

import numpy as np

#: Height and width of the images.
SHAPES = {"img-a": (30, 40), "img-b": (36, 32), "img-c": (28, 28)}
N_READERS = 3
FIXATION_COLUMNS = (
    "timestamp_start_fixation,timestamp_end_fixation,x_position,y_position,"
    "angular_resolution_x_pixels_per_degree,angular_resolution_y_pixels_per_degree,"
    "xmin_shown_from_image,ymin_shown_from_image,xmax_shown_from_image,ymax_shown_from_image"
)
METADATA_COLUMNS = (
    "id,split,eye_tracking_data_discarded,image,dicom_id,subject_id,image_size_x,image_size_y,"
    "Atelectasis,Pneumothorax,Support devices,Other"
)


def recording_id(image, reader):
    """The name of a recording's folder."""
    return f"P{list(SHAPES).index(image)}R{reader}"


def fixation_rows(image, reader, n=6):
    """Fixations that differ from reader to reader, as text cells in the order of the columns."""
    height, width = SHAPES[image]
    rng = np.random.default_rng([list(SHAPES).index(image), reader])
    rows, start = [], 0.25
    for _ in range(n):
        end = start + float(rng.integers(1, 9)) / 16
        x, y = rng.uniform(0.2, 0.8) * width, rng.uniform(0.2, 0.8) * height
        rows.append([start, end, x, y, 5.0, 4.5, 0, 0, width, height])
        start = end + 0.125
    return rows


def write_fixations(folder, rows, columns=FIXATION_COLUMNS):
    """Write fixations.csv of one recording."""
    folder.mkdir(parents=True, exist_ok=True)
    lines = [columns, *(",".join(str(cell) for cell in row) for row in rows)]
    (folder / "fixations.csv").write_text("\n".join(lines) + "\n")


def write_box(folder, *edges):
    """Write chest_bounding_box.csv of one recording: xmin, ymin, xmax, ymax; none writes a header only."""
    row = f"{','.join(str(e) for e in edges)}\n" if edges else ""
    (folder / "chest_bounding_box.csv").write_text(f"xmin,ymin,xmax,ymax\n{row}")


def metadata_rows(discarded=()):
    """Rows of the metadata as lists of text cells; the recordings named in `discarded` are flagged."""
    rows = []
    for place, (image, (height, width)) in enumerate(SHAPES.items()):
        for reader in range(N_READERS):
            name = recording_id(image, reader)
            flag = "True" if name in discarded else "False"
            marks = ["5.0" if reader <= place else "0.0", "" if reader else "3.0", str(place == 2), ""]
            rows.append(
                [name, "test", flag, f"./x/{image}.dcm", image, f"s{place}", str(width), str(height), *marks]
            )
    return rows


def write_metadata(folder, rows, phase=1, columns=METADATA_COLUMNS):
    """Write metadata_phase_N.csv."""
    lines = [columns, *(",".join(row) for row in rows)]
    (folder / f"metadata_phase_{phase}.csv").write_text("\n".join(lines) + "\n")


def write_release(folder, discarded=()):
    """Write three images of one phase, each read by three; return the folder."""
    folder.mkdir(parents=True, exist_ok=True)
    write_metadata(folder, metadata_rows(discarded))
    for image, (height, width) in SHAPES.items():
        for reader in range(N_READERS):
            place = folder / recording_id(image, reader)
            write_fixations(place, fixation_rows(image, reader))
            write_box(place, 4 + reader, 3, width - 5, height - 4 - reader)
    return folder


def write_maps(folder, seed=0, shape=None):
    """Write one map an image, of the image's size where `shape` does not say another; return the folder."""
    folder.mkdir(parents=True, exist_ok=True)
    for place, (image, size) in enumerate(SHAPES.items()):
        np.save(folder / f"{image}.npy", np.random.default_rng([seed, place]).random(shape or size))
    return folder
