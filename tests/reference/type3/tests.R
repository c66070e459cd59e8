# Type III tests: car's Anova and linearHypothesis, and clubSandwich's Wald_test, of models coded by contr.sum;
# lmerTest's anova, whose tests do not depend on the coding.
# Rscript tests.R
suppressMessages({library(car); library(clubSandwich); library(lme4); library(lmerTest); library(pbkrtest)})
d <- read.csv("scores.csv", stringsAsFactors = TRUE)
sums <- function(formula, ...) {
  names <- intersect(c("method", "site"), all.vars(formula))
  list(formula = formula, data = d, contrasts = sapply(names, function(x) "contr.sum", simplify = FALSE), ...)
}
row <- function(model, errors, term, statistic, df, df_residual, p_value)
  data.frame(model, errors, term, statistic, df, df_residual, p_value, row.names = NULL)
out <- NULL

linear <- list(
  crossed = score ~ method * site,
  covariate = score ~ method * size,
  both = score ~ method * site + method * size,
  threeway = score ~ method * site * size,
  nested = score ~ site + site:method,
  means = score ~ 0 + method + site
)
for (id in names(linear)) {
  fit <- do.call(lm, sums(linear[[id]]))
  stopifnot(!anyNA(coef(fit)))
  terms <- attr(terms(fit), "term.labels")
  if (id %in% c("crossed", "covariate", "both", "threeway")) for (white in list(FALSE, "hc3")) {
    a <- if (isFALSE(white)) Anova(fit, type = 3) else suppressMessages(Anova(fit, type = 3, white.adjust = white))
    out <- rbind(out, row(id, if (isFALSE(white)) "classical" else white, terms, a[terms, grep("^F", names(a))], a[terms, "Df"], df.residual(fit), a[terms, "Pr(>F)"]))
  } else for (k in seq_along(terms)) {
    h <- linearHypothesis(fit, names(coef(fit))[fit$assign == k], test = "F")
    out <- rbind(out, row(id, "classical", terms[k], h$F[2], h$Df[2], df.residual(fit), h$`Pr(>F)`[2]))
  }
  for (k in seq_along(terms)) {
    w <- Wald_test(fit, constrain_zero(which(fit$assign == k)), vcov = vcovCR(fit, d$case, "CR2"), test = "HTZ")
    out <- rbind(out, row(id, "cr2", terms[k], w$Fstat, w$df_num, w$df_denom, w$p_val))
  }
}

hits <- do.call(glm, sums(hit ~ method * site, family = binomial, epsilon = 1e-14, maxit = 100))
a <- Anova(hits, type = 3, test.statistic = "Wald")
keep <- rownames(a) != "(Intercept)"
out <- rbind(out, row("hits", "classical", rownames(a)[keep], a$Chisq[keep] / a$Df[keep], a$Df[keep], NA, a$`Pr(>Chisq)`[keep]))

# bobyqa, then Newton's steps on the deviance's differences
newton <- function(fn, par, lower, upper, control = list(), ...) {
  x <- minqa::bobyqa(par, fn, lower = lower, upper = upper, control = list(rhobeg = 2e-2, rhoend = 1e-10, maxfun = 1e6))$par
  for (i in 1:6) {
    step <- solve(numDeriv::hessian(fn, x), numDeriv::grad(fn, x))
    x <- x - step
    if (max(abs(step)) < 1e-11) break
  }
  list(par = x, fval = fn(x), conv = 0, convergence = 0, message = "")
}
mixed <- list(
  mixed_covariate = score ~ method * size + (1 | case),
  mixed_both = score ~ method * site + method * size + (1 | case)
)
for (id in names(mixed)) {
  fit <- lmer(mixed[[id]], d, control = lmerControl(optimizer = newton, calc.derivs = FALSE))
  for (ddf in c("Satterthwaite", "Kenward-Roger")) {
    a <- anova(fit, ddf = ddf)
    out <- rbind(out, row(id, tolower(ddf), rownames(a), a$`F value`, a$NumDF, a$DenDF, a$`Pr(>F)`))
  }
}
write.csv(format(out, digits = 17, trim = TRUE), "tests.csv", row.names = FALSE, quote = FALSE)
packages <- c("car", "clubSandwich", "lme4", "lmerTest", "pbkrtest", "minqa", "numDeriv")
writeLines(c(R.version.string, sapply(packages, function(p) paste(p, packageVersion(p)))), "versions.txt")
