"""Tables of image-level labels."""

import numpy as np
import pytest
from chexlocalize_files import ONE, TWO, write_json, write_map

from salstats.checks import ColumnError, SalstatsWarning
from salstats.readers.chexlocalize import read_chexlocalize


def test_labels_are_joined_by_the_path_of_the_image(folder):
    table = (
        "Path,Sex,No Finding,Lung Opacity,Edema\n"
        "CheXpert-v1.0/valid/patient1/study1/view1_frontal.jpg,Male,0,1,1\n"
        "CheXpert-v1.0/valid/patient2/study1/view1_frontal.jpg,Female,1,,0\n"
        "CheXpert-v1.0/valid/patient9/study1/view1_frontal.jpg,Female,1,0,0\n"
    )
    (folder / "valid.csv").write_text(table)
    study = read_chexlocalize(folder)
    # only the study's tasks and cases
    assert [dict(c.labels) for c in study] == [{"Edema": 1}, {"Edema": 0}]
    write_map(folder / "maps", ONE, "Airspace Opacity")
    one, two = read_chexlocalize(folder)
    assert one.labels["Airspace Opacity"] == 1
    assert np.isnan(two.labels["Airspace Opacity"])


def test_uncertain_labels_are_not_known_and_said_once(folder):
    table = write_json(folder / "labels.csv", f"case,Edema,Cardiomegaly\n{ONE},-1,-1.0\n{TWO},1,0\n")
    with pytest.warns(SalstatsWarning, match=r"labels\.csv: 2 labels are uncertain \(-1\)") as caught:
        study = read_chexlocalize(folder, labels=table)
    assert len(caught) == 1
    assert np.isnan(study.cases[0].labels["Edema"])
    assert study.cases[1].labels["Edema"] == 1


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (f"case,Edema\n{ONE},2\n", "row 2, column 'Edema': '2' is no label"),
        (f"case,Edema\n{ONE},yes\n", "row 2, column 'Edema': 'yes' is no label"),
        (f"case,Edema\n{ONE},1\n{ONE},1\n", f"row 3: case '{ONE}' stands twice"),
        ("case,Edema\n,1\n", "row 2: case '' is empty"),
        ("image,Edema\nx,1\n", "has no column 'Path' .* or 'case'"),
        (
            "case,Lung Opacity,Airspace Opacity\nx,1,1\n",
            "'Airspace Opacity' is another name of 'Airspace Opac",
        ),
    ],
)
def test_damaged_labels_are_named_errors(folder, content, message):
    table = write_json(folder / "labels.csv", content)
    with pytest.raises(ColumnError, match=f"labels.csv.*{message}"):
        read_chexlocalize(folder, labels=table)
