# Quantile regressions, for tests/stats/models/test_quantile_regression.py.
#     Rscript regressions.R     (in this folder; writes rows.csv and regressions.csv)
suppressMessages(library(quantreg))
set.seed(5)
n <- 120
d <- data.frame(patient = sprintf("p%02d", rep(1:30, each = 4)), method = rep(c("cam", "human"), 60), x = round(runif(n), 4))
d$score <- round(plogis(rep(rnorm(30, 0, .8), each = 4) + .6 * (d$method == "human") + d$x - 1 + rnorm(n)), 5)
write.csv(d, "rows.csv", row.names = FALSE, quote = FALSE)
out <- do.call(rbind, lapply(c(.25, .5, .9), function(tau) {
  fit <- rq(score ~ method + x, tau, d)
  s <- summary(fit, se = "rank", iid = TRUE, alpha = .05)$coefficients
  data.frame(quantile = tau, term = rownames(s), estimate = s[, 1], rank_low = s[, 2], rank_high = s[, 3], row.names = NULL)
}))
for (c in c("estimate", "rank_low", "rank_high")) out[[c]] <- sprintf("%.15g", out[[c]])
write.csv(out, "regressions.csv", row.names = FALSE, quote = FALSE)
