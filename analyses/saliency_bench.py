"""Zhang et al., Saliency-Bench: Tables 2 to 4 and the ranking of the methods, from a file of scores.

    python analyses/saliency_bench.py scores.csv -o out

The file has columns case, dataset, model, method, metric and score. Without one, the embedded digits study is
taken: real networks' maps of handwritten digits on three canvas designs, which stand for data sets. It is no
data of the paper. `salstats reproduce saliency_bench --scores scores.csv` makes the same frames in the layout
of the paper, and compares them with the printed numbers where the names are the paper's.
"""

import argparse
from itertools import combinations
from pathlib import Path

import pandas as pd

import salstats as ss

parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
parser.add_argument("scores", type=Path, nargs="?", help="file of scores (the embedded digits)")
parser.add_argument("-o", "--output", type=Path, required=True, help="folder to make")
options = parser.parse_args()
out = options.output
out.mkdir(parents=True)

# Mean IoU, the pointing game and the insertion AUC. The paper's pointing game counts any maximum: hit_any.
METRICS = ["iou", "hit", "insertion"]
CELL = ["dataset", "model", "method", "metric"]

scores = ss.datasets.load_digits_scores() if options.scores is None else ss.read_scores(options.scores)
# people drew no map of a model's
scores = scores[scores["metric"].isin(METRICS) & (scores["method"] != "human")]

# Each mean is of one data set, model, method and metric; the paper has means alone, without intervals.
means = ss.summarize(scores, by=CELL, interval="percentile", n_replicates=1000)
n_methods = means.groupby("model")["method"].transform("nunique")

# Table 2 = the means of the models that several methods explain, the best method of each row in bold
table_2 = means[n_methods > 1].reset_index(drop=True)
ss.write_frame(table_2, out / "table_2.csv")
table = ss.table_estimates(table_2, rows=["dataset", "metric"], columns="method", groups="model")
ss.save_table(table, out / "table_2.html")

# Table 4 = the means of the models with one explanation of their own, such as attention
table_4 = means[n_methods == 1].reset_index(drop=True)
if len(table_4):
    ss.write_frame(table_4, out / "table_4.csv")
    ss.save_table(ss.table_estimates(table_4, rows="dataset", columns="metric"), out / "table_4.html")

# Table 3 = the correlation of two metrics' means over the data sets, for each model and method
wide = means.pivot(index=["model", "method", "dataset"], columns="metric", values="estimate").reset_index()
by_pair = []
for x, y in combinations(METRICS, 2):
    by_pair.append(ss.correlate(wide, x, y, by=["model", "method"], test="pearson", interval="fisher"))
table_3 = pd.concat(by_pair, ignore_index=True)
ss.write_frame(table_3, out / "table_3.csv")
ss.save_table(ss.table_correlation(table_3), out / "table_3.html")

# Beyond the paper: how the ranking of the methods moves when cases are drawn again
ranks = ss.rank_stability(scores, by=["metric", "dataset", "model"], n_replicates=1000)
ss.write_frame(ranks, out / "ranks.csv")
ss.save_figure(ss.plot_ranks(ranks), out / "ranks.pdf")
