# Power and widths by formula: pwr's paired t test, two one-sided t tests by integration over the SD, how wide a
# t interval will be, and Hillis' noncentral F for readers and cases. `Rscript planning.R` writes planning.csv.
library(pwr)
rows <- NULL
add <- function(what, n, effect, sd, level, low = NA, high = NA, width = NA, readers = NA, ddf = NA, value)
  rows <<- rbind(rows, data.frame(what, n, effect, sd, level, low, high, width, readers, ddf, value))

for (n in c(5, 20, 64, 300)) for (effect in c(0, 0.02, -0.1)) for (level in c(0.9, 0.95)) {
  found <- pwr.t.test(n = n, d = abs(effect) / 0.2, sig.level = 1 - level, type = "paired")
  add("t", n, effect, 0.2, level, value = found$power)
}
for (effect in c(0.05, 0.1)) {
  found <- pwr.t.test(d = effect / 0.2, power = 0.8, type = "paired")
  add("n", ceiling(found$n), effect, 0.2, 0.95, value = 0.8)
}
# both one-sided t tests at 1 - level reject: low + t s/sqrt(n) < mean < high - t s/sqrt(n), s^2 ~ sd^2 chi^2/df
tost <- function(n, effect, sd, level, low, high) {
  df <- n - 1; se <- sd / sqrt(n); q <- qt(level, df)
  most <- if (is.finite(low) && is.finite(high)) (high - low) / (2 * q * se) else 20
  inside <- function(r) {
    reach <- q * se * r
    both <- pnorm((high - reach - effect) / se) - pnorm((low + reach - effect) / se)
    pmax(both, 0) * 2 * df * r * dchisq(df * r^2, df)
  }
  integrate(inside, 0, min(most, 20), rel.tol = 1e-11, subdivisions = 2000)$value
}
for (n in c(10, 40, 150)) for (effect in c(0, -0.02)) for (level in c(0.95, 0.975)) {
  add("margin", n, effect, 0.1, level, -0.05, 0.05, value = tost(n, effect, 0.1, level, -0.05, 0.05))
  add("margin", n, effect, 0.1, level, -0.05, Inf,
      value = pt(qt(level, n - 1), n - 1, (effect + 0.05) / (0.1 / sqrt(n)), lower.tail = FALSE))
}
# mean width of the interval, 2 t E(s)/sqrt(n), and the chance that it is no wider than asked
for (n in c(10, 40, 150)) for (level in c(0.9, 0.95)) {
  q <- qt((1 + level) / 2, n - 1)
  mean_s <- 0.2 * sqrt(2 / (n - 1)) * exp(lgamma(n / 2) - lgamma((n - 1) / 2))
  add("mean width", n, NA, 0.2, level, value = 2 * q * mean_s / sqrt(n))
  for (width in c(0.07, 0.13))
    add("width", n, NA, 0.2, level, width = width,
        value = pchisq((n - 1) * n * (width / (2 * q * 0.2))^2, n - 1))
}
# Hillis, Obuchowski and Berbaum 2011, with the jackknife's components of Van Dyke's readers (114 cases)
v <- c(tr = 0.0002004025235814551, var = 0.000802288265572067, cov1 = 0.00034661370944073208,
       cov2 = 0.00034407482886088904, cov3 = 0.00023902837089215378)
for (readers in c(4, 6, 20)) for (n in c(60, 114, 400)) for (effect in c(0.03, 0.05)) for (level in c(0.95, 0.99)) {
  scaled <- v[-1] * 114 / n
  gap <- max(scaled["cov2"] - scaled["cov3"], 0)
  both <- v["tr"] + scaled["var"] - scaled["cov1"] + (readers - 1) * gap
  without <- v["tr"] + scaled["var"] - scaled["cov1"] - gap
  ddf <- unname(both^2 / (without^2 / (readers - 1)))
  ncp <- unname(readers * effect^2 / 2 / both)
  add("mrmc", n, effect, NA, level, readers = readers, ddf = ddf,
      value = pf(qf(level, 1, ddf), 1, ddf, ncp, lower.tail = FALSE))
}
write.csv(format(rows, digits = 15, trim = TRUE), "planning.csv", row.names = FALSE, quote = FALSE)
writeLines(c(R.version.string, paste("pwr", packageVersion("pwr"))), "versions.txt")
