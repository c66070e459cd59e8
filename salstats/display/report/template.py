"""The Methods section as a template: sentences with slots, paragraph by paragraph."""

from string import Formatter
from typing import NamedTuple

from salstats.display.text.format import MINUS

#: What is known of a report: slots and what stands in them; without a value, what is not told.
Known = dict[str, str | None]


class Said(NamedTuple):
    """A sentence with slots: it stands where all of them, and what it is told `when`, are known."""

    text: str
    when: str = ""

    def fill(self, known: Known) -> str:
        """The sentence, empty where it does not stand."""
        slots = [name for _, name, _, _ in Formatter().parse(self.text) if name]
        there = all(known.get(name) is not None for name in (*slots, *([self.when] if self.when else [])))
        return self.text.format_map(known) if there else ""


_TIMES = "\N{MULTIPLICATION SIGN}"
#: The section, paragraph by paragraph.
TEMPLATE = (
    (
        Said("{outcomes}."),
        Said("{metric_notes}"),
        Said("The unit of analysis was the {unit_and_why} {kept}{clusters}{independent}."),
        Said("No score was undefined{imputed}.", when="all_defined"),
        Said(
            "Undefined scores ({lost} of {total}, {share}{reasons}) were left out of the analyses that "
            "needed them{imputed}."
        ),
        Said(
            "Bounds of mean scores took each of them for the worst, or the best, that its metric allows "
            "(Horowitz and Manski 2000).",
            when="bounds",
        ),
    ),
    (
        Said("Scores are of the {slice} slice{slice_is}."),
        Said(
            "Images that the truth does not hold are not among them, so an AUROC is of the others only.",
            when="truth_only",
        ),
        Said("Maps, resized to their image and scaled to 0 to 1, became masks at {thresholds}."),
        Said("Masks were empty where the probability was below its cut-off.", when="cutoff"),
        Said("Maps were smoothed with a box filter before the threshold.", when="smooth"),
    ),
    (
        Said("{repeated_rows}"),
        Said(
            "{fixed_capital} were taken as fixed: intervals and P values speak of these {fixed}, not of "
            "{fixed} in general, which would take a multi-reader multi-case analysis{as_readers} "
            "(Obuchowski and Rockette 1995; salstats.mrmc{renamed}).",
        ),
    ),
    (
        Said("Scores were described by mean, standard deviation, median and quartiles.", when="continuous"),
        Said("Mean scores were computed for each {mean_by}."),
        Said(
            "Averages over tasks weighted tasks equally, whatever their number of cases; tasks without a "
            "defined score (in comparisons: without a complete pair) were left out of them.",
            when="averaged",
        ),
        Said("{weights}"),
        Said("{intervals}"),
        Said(
            "In each of {replicates} bootstrap replicates (seed {seed}), {units} were drawn with "
            "replacement, as many as there were{resampling}; the same draw served all methods, tasks and "
            "metrics, so that paired scores stayed paired."
        ),
        Said(
            "Replicates without a defined estimate (without a defined score{of_a_task}, or with a reference "
            "mean of 0) were left out, at most {most_undefined} of {replicates} for any estimate."
        ),
    ),
    (
        Said(
            "Each of the other methods was compared with {reference} on the pairs in which both scores were "
            "defined for the same case{on_task} (complete pairs)."
        ),
        Said("The difference was the mean score of the method minus that of {reference}."),
        Said(
            f"The percentage decrease was 100 {_TIMES} (R {MINUS} M) / R, with R the mean score of "
            "{reference} and M that of the method over the same pairs; for R above 0 it is positive where M "
            "is the smaller.",
            when="decrease",
        ),
        Said(
            "Averaged over tasks, it was the decrease of the averages: R and M were averaged over tasks "
            "first (Saporta et al. 2022).",
            when="averaged_decrease",
        ),
        Said("It was not taken of {without_zero}, whose zero does not mean that there is nothing."),
        Said("The method with the best mean {best_metric} was compared with each of the others likewise."),
        Said("{test}"),
        Said("They are those of the differences, which a percentage decrease shares.", when="decrease"),
        Said("{adjusted}"),
        Said(
            "Those of the best method were adjusted by Bonferroni's procedure over the {n_others} "
            "comparisons, so that with {level}% confidence the truly best method is it, or one not shown to "
            "be worse (Gupta 1965)."
        ),
        Said(
            "Differences were also tested against a margin, to lie {margin}, by one-sided tests on either "
            "side that has a bound, each the one that the interval inverts (Schuirmann 1987): a method was "
            "taken as equivalent to {reference}, or with one bound as not inferior or not superior, where "
            "the larger P value{margin_adjusted} was below {alpha}."
        ),
        Said("A difference was taken as shown where its {level}% interval excluded 0{rule}."),
    ),
    (
        Said(
            "Scores were regressed on {covariates} by ordinary least squares, in one model for each "
            "{model_for}{but_reference}{with_task}{alone}."
        ),
        Said(
            "The same models were fitted to the gap, the score of {reference} minus that of the method on "
            "the same case.",
            when="gaps",
        ),
        Said(
            "Covariates were rescaled to run from 0 (the smallest value among the cases with a score) to 1 "
            "(the largest), so that a slope is the difference in the mean outcome between these two.",
            when="covariates",
        ),
        Said(
            "For {binary}, 0 or 1 for each case, this is a linear probability model, whose slopes are "
            "differences in rate."
        ),
        Said("{errors}"),
        Said("{adjusted_slopes}"),
    ),
    (
        Said("{coefficient}'s correlations of each metric with {prob} were computed{separately}."),
        Said("Their P values and intervals were {correlation_interval}."),
        Said(
            f"At a correlation of {MINUS}1 or 1 the P value is exact and there is no interval.",
            when="perfect",
        ),
        Said("{adjusted_correlations}"),
        Said(
            "The area under the ROC curve (AUROC) of {predictor}{target} was computed{by_task}, with "
            "intervals from {area_interval}."
        ),
    ),
    (
        Said(
            "Lines in scatter plots were fitted by ordinary least squares, by panel and group; their bands "
            "are pointwise {level}% confidence limits of the mean, with standard errors clustered by {unit} "
            "(CR2).",
            when="lines",
        ),
        Said(
            "Distributions of covariates were shown by their letter values (Hofmann et al. 2017).",
            when="letter_values",
        ),
    ),
    (Said("Statistics were computed with {software}."),),
)
