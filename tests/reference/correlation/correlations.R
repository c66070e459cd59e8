# Partial, semi-partial, percentage-bend and repeated-measures correlations, for tests/stats/test_correlation.py.
#     Rscript correlations.R     (in this folder; reads pairs.csv, writes the other CSV files and versions.txt)
suppressMessages({library(ppcor); library(WRS2); library(rmcorr)})
pairs <- read.csv("pairs.csv")
write <- function(rows, file) {
  numbers <- sapply(rows, is.numeric)
  rows[numbers] <- lapply(rows[numbers], function(v) format(v, digits = 17, trim = TRUE))
  write.csv(rows, file, row.names = FALSE, quote = FALSE)
}

partial <- list(); bend <- list(); repeated <- list()
for (set in unique(pairs$set)) {
  d <- pairs[pairs$set == set, ]
  for (method in c("pearson", "spearman")) for (covariates in list("age", c("age", "size"))) {
    # spcor() takes covariates out of the column, [1, 2] is x with what is left of y
    variables <- d[c("x", "y", covariates)]
    found <- list(both = list(pcor(variables, method), 1, 2), y = list(spcor(variables, method), 1, 2),
                  x = list(spcor(variables, method), 2, 1))
    for (of in names(found)) {
      f <- found[[of]][[1]]; i <- found[[of]][[2]]; j <- found[[of]][[3]]
      r <- f$estimate[i, j]
      reach <- qnorm(0.975) / sqrt(f$n - f$gp - 3)
      partial[[length(partial) + 1]] <- data.frame(
        set = set, test = method, covariates = paste(covariates, collapse = " "), of = of,
        estimate = r, statistic = f$statistic[i, j], df = f$n - 2 - f$gp, p_value = f$p.value[i, j],
        conf_low = tanh(atanh(r) - reach), conf_high = tanh(atanh(r) + reach))
    }
  }
  b <- pbcor(d$x, d$y)
  bend[[length(bend) + 1]] <- data.frame(set = set, estimate = b$cor, statistic = b$test, p_value = b$p.value,
                                         n = b$n)
  d$participant <- factor(d$unit)
  r <- suppressWarnings(rmcorr(participant, x, y, d))
  repeated[[length(repeated) + 1]] <- data.frame(set = set, estimate = r$r, df = r$df, p_value = r$p,
                                                 conf_low = r$CI[1], conf_high = r$CI[2])
}
write(do.call(rbind, partial), "partial.csv")
write(do.call(rbind, bend), "percbend.csv")
write(do.call(rbind, repeated), "rm.csv")
versions <- sapply(c("ppcor", "WRS2", "rmcorr"), function(p) paste(p, packageVersion(p)))
writeLines(c(R.version.string, versions), "versions.txt")
