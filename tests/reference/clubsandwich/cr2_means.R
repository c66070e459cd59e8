# CR2 variances of means and of combinations of means, for tests/stats/test_cr2.py.
#     Rscript cr2_means.R     (in this folder; reads ../emmeans/scores.csv, writes cr2_means.csv and versions.txt)
suppressMessages(library(clubSandwich))
d <- read.csv("../emmeans/scores.csv", stringsAsFactors = TRUE)
d$cell <- interaction(d$method, d$site, drop = TRUE)
out <- list()
put <- function(name, fit, contrasts) {
  V <- vcovCR(fit, cluster = d$patient, type = "CR2")
  r <- linear_contrast(fit, vcov = V, contrasts = contrasts, test = "Satterthwaite", p_values = TRUE)
  out[[length(out) + 1]] <<- data.frame(name, row = seq_len(nrow(r)), estimate = r$Est, std_error = r$SE, df = r$df)
}
put("mean", lm(score ~ 1, d), matrix(1, 1, 1))
fit <- lm(score ~ 0 + cell, d)
k <- nlevels(d$cell)
put("cells", fit, diag(k))
put("average", fit, matrix(1 / k, 1, k))
put("difference", fit, matrix(c(1, -1, rep(0, k - 2)), 1, k))
write.csv(do.call(rbind, out), "cr2_means.csv", row.names = FALSE)
writeLines(c(R.version.string, paste("clubSandwich", packageVersion("clubSandwich"))), "versions.txt")
