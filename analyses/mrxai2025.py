"""Blake et al. 2025, MRxaI: explanation tools compared, from a file of scores.

    python analyses/mrxai2025.py scores.csv -o out

The file has columns case, method, metric, score, of one task, and prob and label of the model, which may
stand in a file of their own (--features). Without one, the embedded digits stand in: saliency methods for
tools, the digit 8 on textured canvases for the tumour, one network. They are no data of the paper.

`salstats reproduce mrxai2025 --scores scores.csv` makes the same frames in the layout of the paper, and with
--simulations Figs. 1 to 6, which need no scores.
"""

import argparse
from pathlib import Path

import salstats as ss

parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
parser.add_argument("scores", type=Path, nargs="?", help="file of scores (the embedded digits)")
parser.add_argument("--features", type=Path, help="file of prob and label by case, where they stand apart")
parser.add_argument("-o", "--output", type=Path, required=True, help="folder to make")
parser.add_argument("--reference", default="gradcam", help="the tool that others are compared with (gradcam)")
options = parser.parse_args()
out = options.output
out.mkdir(parents=True)

BY = ["metric", "method"]

if options.scores is None:
    digits = ss.datasets.load_digits_scores()
    rows = (digits["dataset"] == "textured") & (digits["model"] == "residual") & (digits["task"] == "digit 8")
    # the annotator is no tool
    rows &= digits["method"] != "human"
    scores = digits[rows & digits["metric"].isin(["dice", "iou"])]
else:
    scores = ss.read_scores(options.scores, join=options.features)

# The cases compared have the finding, and the model says so.
compared = scores[(scores["label"] == 1) & (scores["prob"] >= 0.5)]

# Table 1 = mean and SD of each tool and metric; the intervals are not the paper's
spread = ss.describe(compared, by=BY)
table_1 = ss.summarize(compared, by=BY, interval="t").merge(spread[[*BY, "sd"]], on=BY, validate="1:1")
ss.write_frame(table_1, out / "table_1.csv")
ss.save_table(ss.table_describe(spread), out / "table_1.html")

# Fig. 7 = the scores of each tool and metric as box plots
ss.write_frame(spread, out / "figure_7.csv")
ss.save_figure(ss.plot_box(compared, by=BY, reference=options.reference), out / "figure_7.pdf")

# An explanation that marks nothing has no overlap: how often is that?
ss.write_frame(ss.empty_shares(compared), out / "empty.csv")

# Beyond the paper: each tool minus the reference on the same cases, with Holm's correction
paired = {"reference": options.reference, "by": "metric", "interval": "t", "adjust": "holm"}
differences = ss.difference(compared, **paired)
ss.write_frame(differences, out / "differences.csv")
ss.save_table(ss.table_decrease(differences), out / "differences.html")
ss.save_figure(ss.plot_decrease(differences), out / "differences.pdf")

# The same with every empty explanation at the worst overlap, which is 0
at_worst = compared.assign(score=compared["score"].fillna(0.0))
ss.write_frame(ss.difference(at_worst, **paired), out / "differences_at_worst.csv")
