"""Statistics for saliency maps: scores in; intervals, contrasts, regressions, tables and figures out.

`import salstats as ss`. The first shelf does what most papers need; named shelves hold the rest.
`help(ss.NAME)` describes each function. A name is loaded when it is first used.
The coverage of default intervals was simulated: `ss.datasets.load_coverage` says where they fail.

First shelf, by the headings of `salstats --help`:

Read
    read_scores        Read a CSV, TSV, Parquet or XLSX file of per-case scores into a scores frame.
    read_study         Read a folder of maps and annotations; its format is recognised by its files.
    join_features      Join covariates to scores by case and task.

Score maps
    score              Score the maps and masks of a study: IoU, hits, distances, ...
    features           Measure size and shape of every finding.

Estimate
    describe           Count, mean (SD), median (quartiles), shares at 0 and 1 of each group.
    summarize          Mean score of each group with its interval.
    auroc              Area under the ROC curve, or the difference of two, with its interval.
    bootstrap          Bootstrap replicates of the mean score of each group.

Model
    normalize          Bring covariates to 0 ... 1, within a column's groups or over all rows.
    regress            Coefficients of a regression formula, one row per term.
    correlate          Correlation of two columns or metrics in each group.

Compare
    difference         Mean difference of each method from a reference, paired by case.
    percent_decrease   Percentage decrease of each method's mean from a reference's.
    adjust             Adjust p-values for multiple tests.

Report
    table_describe     Table of a description.
    table_estimates    Table of estimates with their intervals.
    table_decrease     Table of decreases or differences from a reference.
    table_regression   Table of regressions: terms as rows, models as columns.
    table_correlation  Table of correlations.
    save_table         Write a table as DOCX, LaTeX, HTML, CSV, Markdown, JSON or PNG.
    plot_intervals     Figure of estimates with their intervals.
    plot_decrease      Forest of decreases or differences from a reference.
    plot_pairs         Paired scores and their differences: an estimation plot.
    plot_box           Box plots of scores.
    plot_scatter       Scores against a covariate.
    plot_regression    Figure of coefficients.
    plot_correlation   Figure of correlations as tiles.
    plot_overlay       One case: image, map, and outlines of mask and truth.
    save_figure        Write a figure as PDF, SVG, PNG or TIFF at its exact size.
    report             Write a folder with every table, figure and frame, and one page that shows them.

Reproduce
    reproduce          Make the tables of a published study again.

Named shelves:

Files and studies
    read_data, read_chexlocalize, read_map_folder, read_mrxai2025, read_saliency_bench,
    study_from_arrays, write_frame, Study, Case

Maps and masks
    tune, segment, write_masks, map_repeatability, score_xaibenchmark, Preparation, Geometry,
    MapFolder, MapKey, plot_thresholds, plot_gallery

Gaze
    read_gaze, recordings, score_gaze, sampling_spread, sampled_scores, majority_labels, plot_gaze

More estimates
    describe_patients, table_patients, case_flow, empty_shares, letter_values, pick_cases,
    within_case_sd, over_views, medians, median_difference, pooled_rates, pooled_difference,
    mean_curves, missing_bounds, roc_curve, calibration, calibration_curve, plot_flow,
    plot_letter_values, plot_curves, plot_roc, plot_calibration, plot_forest,
    plot_heatmap

Models
    fit, Fit, quantile_regress, joint_test, fit_statistics, augment, tidy, fit_line,
    correlate_clustered, plot_residuals

Readers
    mrmc, mrmc_components, mrmc_readers, plot_readers

Agreement
    agreement, reader_overlap, plot_agreement

Ranks
    rank_stability, rank_frequencies, rank_limits, rank_agreement, significance_map, plot_ranks,
    plot_significance

Planning
    power, table_power, plot_power, power_sentence, ScoreModel, simulate_scores, simulation_truth,
    plot_coverage

Style and text
    inline_text, theme_salstats, Figure

Explain: `ss.explain` makes saliency maps from networks. It needs torch and is not in `__all__`.
Data sets: `ss.datasets` loads embedded, simulated and published data.
Errors and warnings: `salstats.errors`.
"""

from importlib import import_module
from typing import Any

import lazy_loader

_named, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)

__version__ = "0.3.0.dev0"


def __getattr__(name: str) -> Any:
    """A public name, or the torch side where that is asked for."""
    return import_module("salstats.explain") if name == "explain" else _named(name)
