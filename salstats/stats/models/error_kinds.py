"""Kinds of standard errors of coefficients, as records with their names and descriptions."""

from dataclasses import dataclass

from salstats.stats.engine.intervals import RECOMMENDED


@dataclass(frozen=True)
class StandardErrorKind:
    """A kind of standard errors of coefficients; `{unit}` in its texts is the name of the clusters."""

    #: Value of the option `errors`.
    name: str
    #: Name in a figure's caption.
    brief: str
    #: Name in a table's note.
    label: str
    #: Description in a Methods section.
    note: str
    #: True if rows of a cluster may depend on each other.
    clustered: bool = False
    #: The residuals of a cluster, which the fit makes too small, are multiplied by this power of I - H_gg,
    #: H_gg being the cluster's hat matrix. None without this correction.
    hat_exponent: float | None = None
    #: True for errors of mixed models.
    mixed: bool = False


_KINDS = (
    StandardErrorKind(
        name="cr2",
        brief="cluster-robust (CR2)",
        label="bias-reduced standard errors clustered by {unit} (CR2)",
        note=(
            "Standard errors were clustered by {unit}, with the bias-reduced linearization (CR2) of Bell and "
            "McCaffrey 2002; P values and confidence intervals were from Student's t distribution with "
            "Satterthwaite's degrees of freedom (Pustejovsky and Tipton 2018)."
        ),
        clustered=True,
        hat_exponent=-0.5,
    ),
    StandardErrorKind(
        name="cluster",
        brief="cluster-robust (CR1)",
        label="standard errors clustered by {unit} (CR1)",
        note=(
            "Standard errors were clustered by {unit} (CR1, with the factor G/(G \N{MINUS SIGN} 1) "
            "\N{MULTIPLICATION SIGN} (n \N{MINUS SIGN} 1)/(n \N{MINUS SIGN} k) for G clusters, n rows and k "
            "coefficients; Cameron and Miller 2015); P values and confidence intervals were from Student's t "
            "distribution with G \N{MINUS SIGN} 1 degrees of freedom."
        ),
        clustered=True,
    ),
    *(
        StandardErrorKind(
            name=f"hc{i}",
            brief=f"robust (HC{i})",
            label=f"heteroscedasticity-robust standard errors (HC{i})",
            note=f"Standard errors were heteroscedasticity-consistent (HC{i}).",
        )
        for i in range(4)
    ),
    StandardErrorKind(
        name="classical",
        brief="classical",
        label="classical standard errors",
        note="Standard errors were those for independent errors of equal variance.",
    ),
    StandardErrorKind(
        name="mancl-derouen",
        brief="cluster-robust (Mancl-DeRouen)",
        label="bias-corrected standard errors clustered by {unit} (Mancl and DeRouen)",
        note=(
            "Standard errors were clustered by {unit}, with the correction of Mancl and DeRouen 2001; P "
            "values and confidence intervals were from Student's t distribution with Satterthwaite's "
            "degrees of freedom."
        ),
        clustered=True,
        hat_exponent=-1.0,
    ),
    StandardErrorKind(
        name="cr0",
        brief="cluster-robust (CR0)",
        label="standard errors clustered by {unit} (CR0)",
        note=(
            "Standard errors were clustered by {unit}, without a correction for their number (CR0; Liang and "
            "Zeger 1986); P values and confidence intervals were from the normal distribution."
        ),
        clustered=True,
    ),
    StandardErrorKind(
        name="satterthwaite",
        brief="by the model, with Satterthwaite's degrees of freedom",
        label="t tests with Satterthwaite's degrees of freedom",
        note=(
            "P values and confidence intervals were from Student's t distribution with Satterthwaite's "
            "degrees of freedom (Kuznetsova et al. 2017)."
        ),
        mixed=True,
    ),
    StandardErrorKind(
        name="kenward-roger",
        brief="Kenward and Roger's",
        label="Kenward and Roger's standard errors and degrees of freedom",
        note=(
            "Standard errors and the degrees of freedom of Student's t distribution were those of Kenward "
            "and Roger 1997."
        ),
        mixed=True,
    ),
)
#: Every kind by its name.
ERRORS = {kind.name: kind for kind in _KINDS}
#: Kinds for models without random effects.
FIXED_EFFECTS_ERRORS = tuple(kind.name for kind in _KINDS if not kind.mixed)
#: Kinds for mixed models.
MIXED_MODEL_ERRORS = tuple(kind.name for kind in _KINDS if kind.mixed)
#: Kinds for beta models, the recommended one first. With ten units, or two huge ones, limits by CR2 covered
#: the true value in only 84 to 92 % of simulated studies.
BETA_ERRORS = ("mancl-derouen", "cr2", "cluster", "cr0", "hc0", "hc1", "classical")
#: Values of `errors=`.
CHOICES = (RECOMMENDED, *ERRORS)
#: Kinds that let the rows of a cluster depend on each other.
CLUSTERED_ERRORS = tuple(kind.name for kind in _KINDS if kind.clustered)
