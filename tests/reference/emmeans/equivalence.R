# Equivalence and non-inferiority tests of R's emmeans, for tests/stats/models/test_margins.py.
#     Rscript equivalence.R     (in this folder; reads scores.csv, writes equivalence.csv)
suppressMessages({library(emmeans); library(sandwich)})
d <- read.csv("scores.csv", stringsAsFactors = TRUE)
d$method <- relevel(d$method, "human")
G <- length(unique(d$patient))
one <- function(model, errors, e) {
  tests <- c(equivalence = "equivalence", low = "noninferiority", high = "nonsuperiority")
  do.call(rbind, lapply(c(.05, .1, .3), function(delta) do.call(rbind, lapply(names(tests), function(side) {
    t <- as.data.frame(test(e, delta = delta, side = tests[[side]], adjust = "none"))
    data.frame(model, errors, margin = delta, side, contrast = as.character(t$contrast), p_margin = t$p.value)
  }))))
}
linear <- lm(score ~ method * site + x, d)
logit <- glm(hit ~ method * x + site, binomial(), d, control = glm.control(epsilon = 1e-14, maxit = 100))
pairs_of <- function(e) contrast(e, "revpairwise")
out <- rbind(
  one("crossed", "classical", pairs_of(emmeans(linear, ~method))),
  one("crossed", "cluster", pairs_of(emmeans(linear, ~method, vcov. = vcovCL(linear, cluster = d$patient, type = "HC1"), df = G - 1))),
  one("logit", "classical", pairs_of(emmeans(regrid(ref_grid(logit), transform = "response"), ~method))))
out$p_margin <- sprintf("%.17g", out$p_margin)
write.csv(out, "equivalence.csv", row.names = FALSE, quote = TRUE)
