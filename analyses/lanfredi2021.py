"""Tables 1 to 4 of Bigolin Lanfredi et al. (2021), on whether saliency maps lie where radiologists look.

Example: python analyses/lanfredi2021.py -o out
Scores in a file of the same columns: python analyses/lanfredi2021.py scores.csv -o out
`salstats reproduce lanfredi2021` also compares with print, and makes the tables of recordings of gaze.
"""

import argparse
from pathlib import Path

import numpy as np
import pandas as pd

import salstats as ss

parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
parser.add_argument("scores", nargs="?", help="file of scores (those of the study, which are embedded)")
parser.add_argument("-o", "--output", type=Path, required=True, help="folder for tables and figure")
options = parser.parse_args()
options.output.mkdir(parents=True, exist_ok=True)

# Every row is how well one map agrees with where one radiologist looked: 91 images, 5 readings, 5 networks.
if options.scores is None:
    scores = ss.datasets.load_lanfredi2021(sheet=None)
else:
    scores = ss.read_scores(options.scores)

# Grad-CAM's maps of the classes were mixed in three ways, each a data set; the other maps have no mixing, and
# the study took their scores from the first. Images with majority labels are a run of their own.
is_gradcam = scores["method"].str.startswith("gradcam")
scores["mixing"] = scores["mixing"].where(is_gradcam, "none")
scores["subset"] = scores["abnormal"].map({0: "normal", 1: "abnormal"}).fillna("all")
labelled = scores[scores["subset"] != "all"]
images = scores[(scores["subset"] == "all") & (is_gradcam | (scores["dataset"] == "thresholded"))]

# What each table shows.
shuffled = images["metric"].isin(["sncc", "sauc"])
baseline = images["method"].isin(["interobserver", "convex"])
shown = labelled["method"].isin(["interobserver", "gradcam_wag"]) & labelled["metric"].isin(["sncc", "sauc"])
rows = {
    "table1": images[shuffled & (images["method"] != "convex")],
    "table2": labelled[shown],
    "table3": images[~shuffled & baseline],
    "table4": images[shuffled & baseline],
}

# Each table as printed: mean -+ 1.96 SD over all rows / sqrt(number of images); and as it holds for other
# images: all rows of an image are one cluster.
by = ["subset", "method", "mixing", "metric"]
tables, clustered = {}, {}
for name, own in rows.items():
    groups = own.groupby(by, sort=False)
    means = groups["score"].mean()
    half = 1.96 * groups["score"].std() / np.sqrt(groups["case"].nunique())
    limits = {"estimate": means, "conf_low": means - half, "conf_high": means + half, "conf_level": 0.95}
    tables[name] = pd.DataFrame(limits).reset_index()
    clustered[name] = ss.summarize(own, by=by, unit="case", interval="t")
    tables[name].to_csv(options.output / f"{name}.csv", index=False)
    clustered[name].to_csv(options.output / f"{name}_clustered.csv", index=False)

# Table 1 with both intervals, and its figure.
labels = {
    "method": {
        "interobserver": "Interobserver",
        "gradcam_woag": "Grad-CAM (without gates)",
        "gradcam_wag": "Grad-CAM (with gates)",
        "am1": "AM1",
        "am2": "AM2",
    },
    "mixing": ["thresholded", "weighted", "uniform"],
}
both = pd.concat([tables["table1"].assign(limits="Printed"), clustered["table1"].assign(limits="Clustered")])
both["mixing"] = both["mixing"].replace("none", pd.NA)
shown = both[["method", "mixing", "metric", "limits", "estimate", "conf_low", "conf_high", "conf_level"]]
table = ss.table_estimates(shown, rows=["method", "mixing"], bold=False, labels=labels)
ss.save_table(table, options.output / "table1.html")

names = shown["method"].replace(labels["method"]) + (", " + shown["mixing"]).fillna("")
drawn = shown.assign(task=names, method=shown["limits"], term="mean").drop(columns=["mixing", "limits"])
ss.save_figure(ss.plot_intervals(drawn), options.output / "table1.png")
