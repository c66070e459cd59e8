"""Tables 1 to 3 and Fig. 2 of Saporta et al. (2022), from a file of scores.

SCORES has a row per case, task, method (one is `human`) and metric (`iou`, `hit`), with the columns `score`,
`patient` and `label`; beside them or in FILE stand size and shape of the finding, and `prob`. FULL has IoU on
all images (`salstats score --slice full` writes it); without it Table 3 is of SCORES.

Example: python analyses/saporta2022.py scores.csv --full-scores full.csv --features features.csv -o out
"""

import argparse
from pathlib import Path

import pandas as pd

import salstats as ss

FEATURES = ["n_instances", "area_ratio", "elongation", "irrectangularity"]
RESAMPLED = {"interval": "percentile", "n_replicates": 1000}

parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
parser.add_argument("scores", metavar="SCORES", help="scores of the true-positive slice")
parser.add_argument("--full-scores", metavar="FULL", help="scores of the full slice, for Table 3")
parser.add_argument("--features", metavar="FILE", help="features, prob and label by case and task")
parser.add_argument("--errors", default="cr2", help="of slopes: cr2 (by patient), or classical as published")
parser.add_argument("-o", "--output", type=Path, required=True, metavar="OUT", help="folder to write into")
options = parser.parse_args()
options.output.mkdir(parents=True, exist_ok=True)


def save(name, frame, table, figure=None):
    """Write a result: its frame, its table and its figure."""
    ss.write_frame(frame, options.output / f"{name}.csv", overwrite=True)
    ss.save_table(table, options.output / f"{name}.docx", overwrite=True)
    if figure is not None:
        ss.save_figure(figure, options.output / f"{name}.pdf", overwrite=True)


# the findings that are there; a mask that misses one has no IoU, and is no hit
scores = ss.read_scores(options.scores, join=options.features)
scores = scores[scores["label"] == 1].reset_index(drop=True)
main = next(method for method in scores["method"] if method != "human")

# Table 1: mean IoU by resampled patients, hit rates with Wilson's interval; and the gap to people, in percent
means = ss.summarize(scores, average="task", **RESAMPLED)
hit_rates = ss.summarize(scores[scores["metric"] == "hit"], interval="wilson")
means = pd.concat([means.query("metric != 'hit' or task == 'Average'"), hit_rates], ignore_index=True)
decrease = ss.percent_decrease(scores, reference="human", average="task", **RESAMPLED)
save("table_1", means, ss.table_estimates(means, differences=decrease, exclude=["human"], n=True))

# Fig. 2: the main method and people, by task
main_means = means[means["method"].isin([main, "human"])].reset_index(drop=True)
own_decrease = decrease[decrease["method"] == main].reset_index(drop=True)
figure_2 = ss.plot_intervals(main_means, decrease=own_decrease)
save("figure_2", own_decrease, ss.table_decrease(own_decrease), figure_2)

# Table 2: localisation on each feature from its smallest to its largest value, Bonferroni for four features
pair = scores[scores["method"].isin([main, "human"])].reset_index(drop=True)
scaled = ss.normalize(pair, FEATURES)
slopes = []
for metric in ("iou", "hit"):
    formulas = [f"{metric} ~ {feature}" for feature in FEATURES]
    choice = {"by": "method", "errors": options.errors}  # all tasks together, as published
    of_main = ss.regress(scaled[scaled["method"] == main], formulas, **choice)
    gap = ss.regress(scaled, formulas, reference="human", **choice)
    slopes += [of_main.assign(outcome=metric), gap.assign(outcome=f"human minus saliency, {metric}")]
table_2 = pd.concat(slopes, ignore_index=True).query("term in @FEATURES").reset_index(drop=True)
table_2 = ss.adjust(table_2, procedure="bonferroni", within="outcome").drop(columns=["method", "reference"])
table_2.insert(0, "outcome", table_2.pop("outcome"))
save("table_2", table_2, ss.table_estimates(table_2, rows="term", columns="outcome", stars=True))

# Table 3: IoU on the model's probability, on all images but true negatives, which have no IoU
full = ss.read_scores(options.full_scores, join=options.features) if options.full_scores else scores
of_iou = (full["method"] == main) & (full["metric"] == "iou") & full["score"].notna()
full = full[of_iou].reset_index(drop=True)
slope = ss.regress(full, "iou ~ prob", by="task", overall=True, errors=options.errors)
rank = ss.correlate(full, "iou", "prob", by="task", overall=True, test="spearman")
table_3 = pd.concat([slope[slope["term"] == "prob"].assign(term="slope"), rank], ignore_index=True)
table_3 = table_3.drop(columns=["formula", "errors"])
figure = ss.plot_scatter(full, "prob", "iou", by="task")
save("table_3", table_3, ss.table_estimates(table_3, rows="task", columns="term"), figure)
