"""The picture of the README and those of the pages, from the embedded digits study.

Digits, network and maps are real, the annotator is simulated. Writes readme.png (maps beside intervals)
and gallery.png into OUT.

Example: python analyses/make_readme_images.py -o analyses/images --overwrite
"""

import sys
from collections.abc import Sequence
from pathlib import Path

from gallery import parser_of
from PIL import Image

import salstats as ss
from salstats.display.text.labels import Labels
from salstats.errors import SalstatsError
from salstats.scoring.reports import map_names_and_gallery_drawer

WIDTH_MM, DPI = 183, 120
#: The README's picture: maps, and what is left beside them for intervals, at a finer grain.
MAPS_MM, BESIDE_MM, README_DPI = 122, 78, 160
ONLY = {"dataset": "textured", "model": "residual"}
#: Four of the study's eight methods, so that a picture fits a screen.
METHODS = {
    "human": "Simulated annotator",
    "gradcam": "Grad-CAM",
    "layercam": "Layer-CAM",
    "integrated_gradients": "Integrated Gradients",
    "rise": "RISE",
}
#: Three of these, for the README.
FEW = ("gradcam", "integrated_gradients", "rise", "human")
#: Colours of a picture of overlays: enough for its shades, and half the bytes.
COLOURS = 256


def beside(left: Path, right: Path, file: Path) -> None:
    """Two pictures of one height as one."""
    with Image.open(left) as one, Image.open(right) as other:
        both = Image.new("RGB", (one.width + other.width, one.height), "white")
        both.paste(one, (0, 0))
        both.paste(other, (one.width, 0))
    both.save(file)


def shrink(file: Path) -> None:
    """Bring a picture to fewer colours."""
    with Image.open(file) as image:
        few = image.convert("RGB").quantize(COLOURS, method=Image.Quantize.FASTOCTREE)
    few.save(file, optimize=True)


def main(argv: Sequence[str] | None = None) -> int:
    parser = parser_of(__doc__)
    parser.add_argument("--overwrite", action="store_true", help="replace files that are there")
    options = parser.parse_args(argv)
    scores = ss.datasets.load_digits_scores()
    for column, value in ONLY.items():
        scores = scores[scores[column] == value]
    scores = scores[scores["method"].isin(METHODS) & (scores["metric"] == "iou")]
    examples = ss.datasets.digits_examples()
    study = ss.read_study(examples)
    gallery = map_names_and_gallery_drawer(study, examples / "images")
    picks = gallery.picks(scores, "gradcam", "iou")
    labels = {"method": METHODS, "human": METHODS["human"], "task": [*picks["task"]]}
    overlays = gallery.figure(picks, scores, Labels(labels))
    few = scores[scores["method"].isin(FEW)]
    maps = ss.plot_gallery(
        study,
        picks,
        methods=FEW,
        scores=few,
        metric="iou",
        images=examples / "images",
        labels=labels,
        width=MAPS_MM,
    )
    means = ss.summarize(few, average="task")
    means = means[means["task"].isin([*picks["task"], "Average"])]
    intervals = ss.plot_intervals(means, labels=labels, width=BESIDE_MM)
    try:
        out = options.output
        out.mkdir(parents=True, exist_ok=True)
        left, right = out / "left.png", out / "readme.png"
        ss.save_figure(maps, left, dpi=README_DPI, caption=True)
        with Image.open(left) as image:
            height = image.height / README_DPI * 25.4
        written = {"caption": True, "overwrite": options.overwrite}
        ss.save_figure(intervals, right, height=height, dpi=README_DPI, **written)
        beside(left, right, right)
        left.unlink()
        ss.save_figure(overlays, out / "gallery.png", width=WIDTH_MM, dpi=DPI, **written)
        for name in ("readme", "gallery"):
            shrink(out / f"{name}.png")
    except (SalstatsError, OSError) as error:
        print(f"make_readme_images: {error}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
