# Linear mixed models by lme4, their tests by lmerTest and pbkrtest, limits of variances by lme4's deviance.
# Rscript mixed.R
suppressMessages({library(lme4); library(lmerTest); library(pbkrtest)})
options(digits = 17, warn = 1)
d <- read.csv("scores.csv")
d$method <- relevel(factor(d$method), "human")
for (k in c("case", "patient", "reader", "room")) d[[k]] <- factor(d[[k]])
w <- function(x, file) write.csv(format(x, digits = 17, trim = TRUE), file, row.names = FALSE, quote = FALSE)

# bobyqa, then Newton's steps on the deviance's differences where all is inside
newton <- function(fn, par, lower, upper, control = list(), ...) {
  a <- minqa::bobyqa(par, fn, lower = lower, upper = upper, control = list(rhobeg = 2e-2, rhoend = 1e-10, maxfun = 1e6))
  x <- a$par
  if (all(x[lower == 0] > 1e-3)) for (i in 1:6) {
    step <- solve(numDeriv::hessian(fn, x), numDeriv::grad(fn, x))
    if (max(abs(step)) > 1e-3) break
    x <- x - step
    if (max(abs(step)) < 1e-11) break
  }
  list(par = x, fval = fn(x), conv = 0, convergence = 0, message = "")
}
control <- lmerControl(optimizer = newton, calc.derivs = FALSE)
models <- list(
  crossed = score ~ method + prob + (1 | reader) + (1 | case),
  slopes = score ~ method + prob + (1 + method | reader) + (1 | case),
  nested = score ~ method * prob + (1 + prob | reader) + (1 | patient/case),
  independent = score ~ method + prob + (1 + prob || reader) + (1 | case),
  room = score ~ method + prob + (1 | reader) + (1 | case) + (1 | room),
  perfect = score ~ method + prob + (1 + method | room) + (1 | case)
)
fixed <- variances <- fits <- effects <- tests <- limits <- drops <- NULL
for (id in names(models)) for (reml in c(TRUE, FALSE)) {
  fit <- suppressMessages(lmerTest::lmer(models[[id]], d, REML = reml, control = control))
  a <- summary(fit)$coefficients
  x <- data.frame(model = id, reml, term = rownames(a), estimate = a[, 1], std_error = a[, 2], df = a[, 3], kr_error = NA, kr_df = NA)
  if (reml) { k <- summary(fit, ddf = "Kenward-Roger")$coefficients; x$kr_error <- k[, 2]; x$kr_df <- k[, 3] }
  fixed <- rbind(fixed, x)
  v <- as.data.frame(VarCorr(fit))
  variances <- rbind(variances, data.frame(model = id, reml, group = v$grp, first = v$var1, second = v$var2, covariance = v$vcov, sd_or_correlation = v$sdcor))
  fits <- rbind(fits, data.frame(model = id, reml, log_likelihood = as.numeric(logLik(fit)), aic = AIC(fit), singular = isSingular(fit)))
  p <- length(fixef(fit)); sets <- list(method = grep("method", names(fixef(fit))), all = 2:p)
  for (s in names(sets)) {
    L <- diag(p)[sets[[s]], , drop = FALSE]
    f <- contestMD(fit, L)
    tests <- rbind(tests, data.frame(model = id, reml, set = s, test = "satterthwaite", statistic = f[["F value"]], df_num = f$NumDF, df_den = f$DenDF))
    if (reml) {
      k <- KRmodcomp(as(fit, "lmerMod"), L)$test["Ftest", ]
      tests <- rbind(tests, data.frame(model = id, reml, set = s, test = "kenward-roger", statistic = k$stat, df_num = k$ndf, df_den = k$ddf))
    }
  }
  r <- as.data.frame(ranef(fit, condVar = TRUE))
  effects <- rbind(effects, data.frame(model = id, reml, group = r$grpvar, effect = r$term, level = r$grp, estimate = r$condval, std_error = r$condsd))
  one <- ranova(fit, reduce.terms = FALSE)
  keep <- !is.na(one$LRT)
  drops <- rbind(drops, data.frame(model = id, reml, dropped = rownames(one)[keep], statistic = one$LRT[keep], df = one$Df[keep], p_value = one$`Pr(>Chisq)`[keep]))
  if (!reml && id %in% c("crossed", "nested", "independent", "room")) {
    # where the profiled deviance is 3.84 above its least; the others searched anew at each value
    dd <- lme4:::devfun2(as(fit, "lmerMod"), useSc = TRUE, signames = FALSE)
    best <- attr(dd, "optimum")[seq_len(length(getME(fit, "theta")) + 1)]; low <- ifelse(grepl("^cor_", names(best)), -1, 0); up <- ifelse(grepl("^cor_", names(best)), 1, Inf)
    base <- attr(dd, "basedev"); cut <- base + qchisq(0.95, 1)
    for (k in seq_along(best)) {
      start <- best[-k]
      above <- function(value) {
        fn <- function(others) { full <- best; full[k] <- value; full[-k] <- others; dd(full) }
        o <- minqa::bobyqa(pmin(pmax(start, low[-k]), up[-k]), fn, lower = low[-k], upper = up[-k], control = list(rhobeg = 1e-2, rhoend = 1e-9, maxfun = 1e5))
        start <<- o$par
        o$fval - cut
      }
      edge <- if (names(best)[k] == "sigma") c(0.3, 3) * best[k] else if (grepl("^cor_", names(best)[k])) c(-0.999999, 0.999999) else c(0, 4 * best[k] + 1)
      root <- function(a, b) if (above(a) * above(b) > 0) NA else uniroot(above, sort(c(a, b)), tol = 1e-9)$root
      start <- best[-k]; lo <- root(best[k], edge[1]); start <- best[-k]; hi <- root(best[k], edge[2])
      limits <- rbind(limits, data.frame(model = id, parameter = names(best)[k], estimate = best[k], conf_low = lo, conf_high = hi))
    }
  }
}
w(fixed, "fixed.csv"); w(variances, "variances.csv"); w(fits, "fits.csv"); w(effects, "effects.csv")
w(tests, "tests.csv"); w(drops, "drops.csv"); w(limits, "limits.csv")
writeLines(c(R.version.string, sapply(c("lme4", "lmerTest", "pbkrtest", "minqa", "numDeriv"), function(p) paste(p, packageVersion(p)))), "versions.txt")
