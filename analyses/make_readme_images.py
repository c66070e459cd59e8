"""The table and the figure of the README's first screen, made from the embedded (simulated) study.

Writes table.png and figure.png into OUT; the picture of the table needs Chromium.

Example: python analyses/make_readme_images.py -o analyses/images --overwrite
"""

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from PIL import Image

import salstats as ss
from salstats.checks import SalstatsError

WIDTH_MM, DPI, TABLE_PX = 183, 120, 1100


def shrink(file: Path) -> None:
    """Bring a picture of black on white to the width of a README and few greys."""
    with Image.open(file) as image:
        height = round(image.height * TABLE_PX / image.width)
        small = image.convert("L").resize((TABLE_PX, height), Image.Resampling.LANCZOS)
    small.quantize(16).save(file, optimize=True)


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "-o", "--output", type=Path, required=True, metavar="OUT", help="folder to write into"
    )
    parser.add_argument("--overwrite", action="store_true", help="replace files that are there")
    options = parser.parse_args(argv)
    scores = ss.datasets.load_simulated()
    means = ss.summarize(scores, average="task", n_replicates=10_000)
    decrease = ss.percent_decrease(
        scores, reference="human", average="task", adjust="holm", n_replicates=10_000
    )
    auroc = ss.auroc(scores, "prob", "label", by="task")
    labels = {"method": ["human"]}
    figure = ss.plot_intervals(means, decrease=decrease, auroc=auroc, labels=labels)
    iou = decrease[decrease["metric"] == "iou"]
    table = ss.table_decrease(
        iou, labels=labels, title="Decrease of IoU from the human benchmark (simulated)"
    )
    try:
        options.output.mkdir(parents=True, exist_ok=True)
        ss.save_figure(
            figure, options.output / "figure.png", width=WIDTH_MM, dpi=DPI, overwrite=options.overwrite
        )
        ss.save_table(table, options.output / "table.png", overwrite=options.overwrite)
        shrink(options.output / "table.png")
    except (SalstatsError, OSError) as error:
        print(f"make_readme_images: {error}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
