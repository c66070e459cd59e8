"""The papers behind the report's methods, by how its text cites them."""

from collections.abc import Sequence

#: Author and year, as the Methods section writes it, and the reference.
REFERENCES = {
    "Davison and Hinkley 1997": "Davison AC, Hinkley DV. Bootstrap Methods and their Application. Cambridge "
    "University Press; 1997. doi:10.1017/CBO9780511802843",
    "Field and Welsh 2007": "Field CA, Welsh AH. Bootstrapping clustered data. J R Stat Soc B "
    "2007;69:369-390. doi:10.1111/j.1467-9868.2007.00593.x",
    "Efron 1987": "Efron B. Better bootstrap confidence intervals. J Am Stat Assoc 1987;82:171-185. "
    "doi:10.1080/01621459.1987.10478410",
    "Fieller 1954": "Fieller EC. Some problems in interval estimation. J R Stat Soc B 1954;16:175-185. "
    "doi:10.1111/j.2517-6161.1954.tb00159.x",
    "Saporta et al. 2022": "Saporta A, Gui X, Agrawal A, et al. Benchmarking saliency methods for chest "
    "X-ray interpretation. Nat Mach Intell 2022;4:867-878. doi:10.1038/s42256-022-00536-x",
    "Holm 1979": "Holm S. A simple sequentially rejective multiple test procedure. Scand J Stat "
    "1979;6:65-70. https://www.jstor.org/stable/4615733",
    "Hochberg 1988": "Hochberg Y. A sharper Bonferroni procedure for multiple tests of significance. "
    "Biometrika 1988;75:800-802. doi:10.1093/biomet/75.4.800",
    "Hommel 1988": "Hommel G. A stagewise rejective multiple test procedure based on a modified Bonferroni "
    "test. Biometrika 1988;75:383-386. doi:10.1093/biomet/75.2.383",
    "Benjamini and Hochberg 1995": "Benjamini Y, Hochberg Y. Controlling the false discovery rate. J R Stat "
    "Soc B 1995;57:289-300. doi:10.1111/j.2517-6161.1995.tb02031.x",
    "Benjamini and Yekutieli 2001": "Benjamini Y, Yekutieli D. The control of the false discovery rate in "
    "multiple testing under dependency. Ann Stat 2001;29:1165-1188. doi:10.1214/aos/1013699998",
    "Wilcoxon 1945": "Wilcoxon F. Individual comparisons by ranking methods. Biometrics Bulletin "
    "1945;1:80-83. doi:10.2307/3001968",
    "McNemar 1947": "McNemar Q. Note on the sampling error of the difference between correlated proportions "
    "or percentages. Psychometrika 1947;12:153-157. doi:10.1007/BF02295996",
    "Cameron and Miller 2015": "Cameron AC, Miller DL. A practitioner's guide to cluster-robust inference. "
    "J Hum Resour 2015;50:317-372. doi:10.3368/jhr.50.2.317",
    "Pustejovsky and Tipton 2018": "Pustejovsky JE, Tipton E. Small-sample methods for cluster-robust "
    "variance estimation and hypothesis testing in fixed effects models. J Bus Econ Stat 2018;36:672-683. "
    "doi:10.1080/07350015.2016.1247004",
    "Bonett and Wright 2000": "Bonett DG, Wright TA. Sample size requirements for estimating Pearson, "
    "Kendall and Spearman correlations. Psychometrika 2000;65:23-28. doi:10.1007/BF02294183",
    "DeLong et al. 1988": "DeLong ER, DeLong DM, Clarke-Pearson DL. Comparing the areas under two or more "
    "correlated receiver operating characteristic curves. Biometrics 1988;44:837-845. doi:10.2307/2531595",
    "Obuchowski 1997": "Obuchowski NA. Nonparametric analysis of clustered ROC curve data. Biometrics "
    "1997;53:567-578. doi:10.2307/2533958",
    "Hofmann et al. 2017": "Hofmann H, Wickham H, Kafadar K. Letter-value plots: boxplots for large data. "
    "J Comput Graph Stat 2017;26:469-477. doi:10.1080/10618600.2017.1305277",
}


def methods_references(paragraphs: Sequence[str]) -> tuple[str, ...]:
    """Return the references that paragraphs cite, in the order in which they are first cited."""
    text = "\n".join(paragraphs)
    cited = [(text.index(key), reference) for key, reference in REFERENCES.items() if key in text]
    return tuple(reference for _, reference in sorted(cited))
