# CR2 of logit models, and of the least squares that a beta regression amounts to at its estimates, for
# tests/stats/models/test_standard_errors.py.
#     Rscript cr2_models.R     (in this folder; reads ../emmeans/scores.csv, writes cr2_models.csv and versions.txt)
suppressMessages(library(clubSandwich))
d <- read.csv("../emmeans/scores.csv", stringsAsFactors = TRUE)
d$row <- seq_len(nrow(d))
tight <- glm.control(epsilon = 1e-14, maxit = 100)
out <- list()
put <- function(model, unit, what, name, estimate, std_error, df, p_value)
  out[[length(out) + 1]] <<- data.frame(model, unit, what, name, estimate, std_error, df, p_value)

# coefficients, the HTZ test of method and site, and the mean of two coefficients
told <- function(model, fit, cluster, unit, terms) {
  V <- vcovCR(fit, cluster = cluster, type = "CR2")
  r <- coef_test(fit, vcov = V, test = "Satterthwaite")
  shown <- seq_along(terms)
  put(model, unit, "term", terms, r$beta[shown], r$SE[shown], r$df_Satt[shown], r$p_Satt[shown])
  k <- length(coef(fit))
  w <- Wald_test(fit, constraints = diag(k)[grep("method|site", terms), ], vcov = V, test = "HTZ")
  put(model, unit, "joint", "method + site", w$Fstat, NA, w$df_denom, w$p_val)
  half <- matrix(0, 1, k); half[1:2] <- 0.5
  l <- linear_contrast(fit, vcov = V, contrasts = half, test = "Satterthwaite", p_values = TRUE)
  put(model, unit, "combination", "half", l$Est, l$SE, l$df, l$p_val)
}
for (unit in c("patient", "row")) {
  told("gaussian", lm(score ~ method + site + x, d), d[[unit]], unit, names(coef(lm(score ~ method + site + x, d))))
  for (model in c("binomial", "fractional")) {
    # quasi: the same estimates, without a complaint of fractions
    f <- if (model == "binomial") hit ~ method + site + x else score ~ method + site + x
    fit <- glm(f, if (model == "binomial") binomial else quasibinomial, d, control = tight)
    told(model, fit, d[[unit]], unit, names(coef(fit)))
  }
}

# beta regression by Fisher's scoring: two rows for each score, of its logit mean and of log phi
X <- model.matrix(score ~ method + site + x, d); y <- d$score
pieces <- function(theta) {
  k <- ncol(X); phi <- exp(theta[k + 1]); mu <- plogis(drop(X %*% theta[1:k]))
  a <- mu * phi; b <- phi - a; dmu <- mu * (1 - mu)
  score <- cbind(phi * dmu * (qlogis(y) - digamma(a) + digamma(b)),
    phi * (mu * (qlogis(y) - digamma(a) + digamma(b)) + log(1 - y) - digamma(b) + digamma(phi)))
  information <- cbind((phi * dmu)^2 * (trigamma(a) + trigamma(b)),
    phi^2 * dmu * (trigamma(a) * mu - trigamma(b) * (1 - mu)),
    phi^2 * (trigamma(a) * mu^2 + trigamma(b) * (1 - mu)^2 - trigamma(phi)))
  rows <- errors <- list()
  for (i in seq_along(y)) {
    root <- chol(matrix(information[i, c(1, 2, 2, 3)], 2))
    rows[[i]] <- root %*% rbind(c(X[i, ], 0), c(rep(0, k), 1))
    errors[[i]] <- solve(t(root), score[i, ])
  }
  list(Z = do.call(rbind, rows), e = unlist(errors))
}
theta <- c(coef(lm(qlogis(y) ~ X - 1)), log(5))
for (i in 1:200) { p <- pieces(theta); theta <- theta + drop(solve(crossprod(p$Z), crossprod(p$Z, p$e))) }
p <- pieces(theta)
stopifnot(max(abs(crossprod(p$Z, p$e))) < 1e-9)
fit <- lm(I(drop(p$Z %*% theta) + p$e) ~ p$Z - 1)
for (unit in c("patient", "row")) told("beta", fit, rep(d[[unit]], each = 2), unit, colnames(X))

write.csv(do.call(rbind, out), "cr2_models.csv", row.names = FALSE)
writeLines(c(R.version.string, paste("clubSandwich", packageVersion("clubSandwich"))), "versions.txt")
