# Quantiles, and sign-test limits of independent scores, for tests/stats/test_medians.py.
#     Rscript quantiles.R     (in this folder; writes scores.csv, quantiles.csv and versions.txt)
suppressMessages(library(quantreg))
set.seed(3)
n <- 61
d <- data.frame(case = sprintf("c%03d", 1:n), a = round(rbeta(n, 1, 2), 4), b = round(rbeta(n, 2, 2), 4))
d$a[sample(n, 20)] <- 0; d$b[sample(n, 9)] <- 1
write.csv(d, "scores.csv", row.names = FALSE, quote = FALSE)
out <- list()
for (m in c("a", "b")) for (tau in c(.1, .25, .5, .75, .9)) {
  y <- sort(d[[m]])
  fit <- suppressWarnings(rq(y ~ 1, tau = tau))
  # an exact test of the share of scores below: order statistics
  low <- qbinom(.025, n, tau); high <- qbinom(.975, n, tau) + 1
  out[[length(out) + 1]] <- data.frame(method = m, quantile = tau, type2 = unname(quantile(y, tau, type = 2)), rq = unname(coef(fit)),
    order_low = if (low < 1) NA else y[low], order_high = if (high > n) NA else y[high])
}
write.csv(do.call(rbind, out), "quantiles.csv", row.names = FALSE, quote = FALSE)
writeLines(c(R.version.string, paste("quantreg", packageVersion("quantreg")), as.character(Sys.Date())), "versions.txt")
