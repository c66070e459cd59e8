"""The table and the figures of the README, made from the embedded digits study and the coverage atlas.

Digits, network and maps are real, the annotator is simulated. Writes table.png, figure.png, gallery.png and
coverage.png into OUT; the picture of the table needs Chromium.

Example: python analyses/make_readme_images.py -o analyses/images --overwrite
"""

import sys
from collections.abc import Sequence
from pathlib import Path

from gallery import parser_of
from PIL import Image

import salstats as ss
from salstats.checks import SalstatsError
from salstats.display.text.labels import Labels
from salstats.scoring.figures import examples_of

WIDTH_MM, DPI, TABLE_PX = 183, 120, 1100
ONLY = {"dataset": "textured", "model": "residual"}
#: Four of the study's eight methods, so that a picture fits a screen.
METHODS = {
    "human": "Simulated annotator",
    "gradcam": "Grad-CAM",
    "layercam": "Layer-CAM",
    "integrated_gradients": "Integrated Gradients",
    "rise": "RISE",
}
#: Two of these, for the table.
IN_TABLE = ("gradcam", "integrated_gradients")
#: Colours of the picture of overlays: enough for its shades, and half the bytes.
COLOURS = 256


def shrink(file: Path) -> None:
    """Bring a picture of black on white to the width of a README and few greys."""
    with Image.open(file) as image:
        height = round(image.height * TABLE_PX / image.width)
        small = image.convert("L").resize((TABLE_PX, height), Image.Resampling.LANCZOS)
    small.quantize(16).save(file, optimize=True)


def main(argv: Sequence[str] | None = None) -> int:
    parser = parser_of(__doc__)
    parser.add_argument("--overwrite", action="store_true", help="replace files that are there")
    options = parser.parse_args(argv)
    scores = ss.datasets.load_digits_scores()
    for column, value in ONLY.items():
        scores = scores[scores[column] == value]
    scores = scores[scores["method"].isin(METHODS) & scores["metric"].isin(["iou", "hit"])]
    means = ss.summarize(scores, average="task")
    decrease = ss.percent_decrease(scores, reference="human", average="task", adjust="holm")
    auroc = ss.auroc(scores, "prob", "label", by="task")
    labels = {"method": METHODS, "human": METHODS["human"]}
    figure = ss.plot_intervals(means, decrease=decrease, auroc=auroc, labels=labels)
    iou = decrease[(decrease["metric"] == "iou") & decrease["method"].isin(IN_TABLE)]
    table = ss.table_decrease(
        iou, labels=labels, title="Decrease of IoU from the simulated annotator (handwritten digits)"
    )
    examples = ss.datasets.digits_examples()
    gallery = examples_of(ss.read_study(examples), examples / "images")
    picks = gallery.picks(scores, "gradcam", "iou")
    overlays = gallery.figure(picks, scores, Labels(labels))
    try:
        options.output.mkdir(parents=True, exist_ok=True)
        coverage = ss.plot_coverage(ss.datasets.load_coverage(), width=WIDTH_MM)
        for name, drawn in {"figure": figure, "gallery": overlays, "coverage": coverage}.items():
            file = options.output / f"{name}.png"
            ss.save_figure(drawn, file, width=WIDTH_MM, dpi=DPI, overwrite=options.overwrite)
        ss.save_table(table, options.output / "table.png", overwrite=options.overwrite)
        shrink(options.output / "table.png")
        with Image.open(options.output / "gallery.png") as image:
            few = image.convert("RGB").quantize(COLOURS, method=Image.Quantize.FASTOCTREE)
        few.save(options.output / "gallery.png", optimize=True)
    except (SalstatsError, OSError) as error:
        print(f"make_readme_images: {error}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
