"""The Methods section as a template: sentences with slots, paragraph by paragraph."""

from string import Formatter
from typing import NamedTuple

from salstats.display.text.format import MINUS

#: Texts of a report that stand in slots, by the name of the slot; None where the report has no such text.
Slots = dict[str, str | None]


class Sentence(NamedTuple):
    """A sentence with slots, which is written if every slot, and the slot named as condition, has a text."""

    text: str
    condition: str = ""

    def fill(self, slots: Slots) -> str:
        """Return the sentence with the texts of its slots, "" where one of them has none."""
        names = [name for _, name, _, _ in Formatter().parse(self.text) if name]
        if self.condition:
            names.append(self.condition)
        if any(slots.get(name) is None for name in names):
            return ""
        return self.text.format_map(slots)


_TIMES = "\N{MULTIPLICATION SIGN}"
#: The section, paragraph by paragraph.
TEMPLATE = (
    (
        Sentence("{outcomes}."),
        Sentence("{metric_notes}"),
        Sentence("The unit of analysis was the {unit_definition} {unit_role}."),
        Sentence("No score was undefined{imputation}.", condition="all_defined"),
        Sentence(
            "Undefined scores ({n_undefined} of {n_scores}, {percent_undefined}{reasons}) were left out of "
            "the analyses that needed them{imputation}."
        ),
        Sentence(
            "Bounds of mean scores took each undefined score as the worst, or as the best, that its metric "
            "allows (Horowitz and Manski 2000).",
            condition="bounds",
        ),
    ),
    (
        Sentence("Scores are of the {slice} slice{slice_definition}."),
        Sentence(
            "Images that the truth does not hold are not among them, so an AUROC is of the others only.",
            condition="truth_only",
        ),
        Sentence("Maps, resized to their image and scaled to 0 to 1, became masks at {thresholds}."),
        Sentence("Masks were empty where the probability was below its cut-off.", condition="cutoff"),
        Sentence("Maps were smoothed with a box filter before the threshold.", condition="smooth"),
    ),
    (
        Sentence("{repeated_rows}"),
        Sentence(
            "{fixed_capital} were taken as fixed: intervals and P values apply to these {fixed}, not to "
            "{fixed} in general, which would take a multi-reader multi-case analysis{as_readers} "
            "(Obuchowski and Rockette 1995; salstats.mrmc{renamed}).",
        ),
    ),
    (
        Sentence(
            "Scores were described by mean, standard deviation, median and quartiles.", condition="continuous"
        ),
        Sentence(
            "Characteristics of {units}, each counted once, were described by numbers and percentages, or by "
            "median and quartiles.",
            condition="patients",
        ),
        Sentence("Mean scores were computed for each {mean_by}."),
        Sentence(
            "Averages over tasks weighted tasks equally, whatever their number of cases; tasks without a "
            "defined score (in comparisons: without a complete pair) were left out of them.",
            condition="averaged",
        ),
        Sentence("{weights}"),
        Sentence("{intervals}"),
        Sentence(
            "In each of {replicates} bootstrap replicates (seed {seed}), {units} were drawn with "
            "replacement, as many as there were{resampling}; the same draw served all methods, tasks and "
            "metrics, so that paired scores stayed paired."
        ),
        Sentence(
            "Replicates without a defined estimate (without a defined score{of_a_task}, or with a reference "
            "mean of 0) were left out, at most {most_undefined} of {replicates} for any estimate."
        ),
    ),
    (
        Sentence(
            "Each of the other methods was compared with {reference} on the pairs in which both scores were "
            "defined for the same case{on_task} (complete pairs)."
        ),
        Sentence("The difference was the mean score of the method minus that of {reference}."),
        Sentence(
            f"The percentage decrease was 100 {_TIMES} (R {MINUS} M) / R, with R the mean score of "
            "{reference} and M that of the method over the same pairs; for R above 0 it is positive where M "
            "is the smaller.",
            condition="decrease",
        ),
        Sentence(
            "Averaged over tasks, it was the decrease of the averages: R and M were averaged over tasks "
            "first (Saporta et al. 2022).",
            condition="averaged_decrease",
        ),
        Sentence("It was not taken of {without_zero}, whose zero does not mean that there is nothing."),
        Sentence(
            "The method with the best mean {best_metric} was compared with each of the others{on_pairs}."
        ),
        Sentence("{test}"),
        Sentence("Percentage decreases have the P values of the differences.", condition="tested_decrease"),
        Sentence("{adjusted}"),
        Sentence(
            "Those of the best method were adjusted by Bonferroni's procedure over the {n_others} "
            "comparisons, so that with {level}% confidence the truly best method is it, or one not shown to "
            "be worse (Gupta 1965)."
        ),
        Sentence(
            "Differences were also tested against a margin, to lie {margin}, by one-sided tests on either "
            "side that has a bound, each the one that the interval inverts (Schuirmann 1987): a method was "
            "taken as equivalent to {reference}, or with one bound as not inferior or not superior, where "
            "the larger P value{margin_adjusted} was below {alpha}."
        ),
        Sentence("A difference was taken as shown where its {level}% interval excluded 0{rule}."),
    ),
    (
        Sentence(
            "Scores were regressed on {covariates} by ordinary least squares, in one model for each "
            "{model_for}{but_reference}{with_task}{alone}."
        ),
        Sentence(
            "The same models were fitted to the gap, the score of {reference} minus that of the method on "
            "the same case.",
            condition="gaps",
        ),
        Sentence(
            "Covariates were rescaled to run from 0 (the smallest value among the cases with a score) to 1 "
            "(the largest), so that a slope is the difference in the mean outcome between these two.",
            condition="covariates",
        ),
        Sentence(
            "For {binary}, 0 or 1 for each case, this is a linear probability model, whose slopes are "
            "differences in rate."
        ),
        Sentence("{errors}"),
        Sentence("{adjusted_slopes}"),
    ),
    (
        Sentence(
            "Agreement of readers on the same cases was estimated by Krippendorff's alpha for squared "
            "differences of scores (Krippendorff 2004), with {level}% intervals from a jackknife "
            "of {units}.",
            condition="agreement",
        ),
    ),
    (
        Sentence("{coefficient}'s correlations of each metric with {prob} were computed{separately}."),
        Sentence("Their P values and intervals were {correlation_interval}."),
        Sentence(
            f"At a correlation of {MINUS}1 or 1 the P value is exact and there is no interval.",
            condition="perfect",
        ),
        Sentence("{adjusted_correlations}"),
        Sentence(
            "The area under the ROC curve (AUROC) of {predictor}{target} was computed{by_task}, with "
            "intervals from {area_interval}."
        ),
        Sentence(
            "Calibration was shown as the observed rate in bins of about equal numbers of predictions, with "
            "Wilson's score intervals (Wilson 1927), and estimated by the intercept and slope of a logistic "
            "recalibration (Cox 1958), with bias-reduced standard errors (CR2) clustered by {unit} "
            "(Pustejovsky and Tipton 2018), and by the Brier score.",
            condition="calibration",
        ),
    ),
    (
        Sentence(
            "Lines in scatter plots were fitted by ordinary least squares, by panel and group; their bands "
            "are pointwise {level}% confidence limits of the mean, with standard errors clustered by {unit} "
            "(CR2).",
            condition="lines",
        ),
        Sentence(
            "Distributions of covariates were shown by their letter values (Hofmann et al. 2017).",
            condition="letter_values",
        ),
    ),
    (Sentence("Statistics were computed with {software}."),),
)
