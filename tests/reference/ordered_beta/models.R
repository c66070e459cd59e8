# Ordered beta and zero-one-inflated beta models, for tests/stats/models/test_ordered_beta.py and test_inflated_beta.py.
#     Rscript models.R     (in this folder; writes scores.csv, models.csv and versions.txt)
# The likelihoods are written out and maximised; glmmTMB's ordbeta() says the same to what its optimiser leaves.
# The expected information is the integral of squared numerical scores; CR2 is clubSandwich's of the least
# squares of a step of scoring, and Mancl and DeRouen's its CR3; averages over rows are differentiated numerically (delta method).
suppressMessages({library(numDeriv); library(clubSandwich); library(glmmTMB)})
set.seed(20)
G <- 60
d <- data.frame(patient = rep(sprintf("p%02d", 1:G), each = 2), method = rep(c("gradcam", "human"), G))
d$x <- round(rep(runif(G), each = 2) + rnorm(2 * G, 0, .05), 4)
eta <- -.3 + .7 * (d$method == "human") + .5 * d$x + rep(rnorm(G, 0, .5), each = 2)
v <- runif(2 * G); mu <- plogis(eta)
d$score <- round(ifelse(v > plogis(eta + 1.5), 0, ifelse(v < plogis(eta - 1.8), 1, rbeta(2 * G, 4 * mu, 4 - 4 * mu))), 6)
d$no_ones <- ifelse(d$score == 1, .95, d$score)
write.csv(d, "scores.csv", row.names = FALSE, quote = FALSE)
X <- function(data) model.matrix(~ method * x, data)
r <- 4

# log-likelihood of scores at predictors: (eta, c0, c1, log phi) or (mean, zero, one, log phi)
beta_part <- function(y, mu, phi) dbeta(y, mu * phi, (1 - mu) * phi, log = TRUE)
inner <- function(y) ifelse(y > 0 & y < 1, y, .5)
ordered <- list(
  each = function(y, p) ifelse(y == 0, plogis(p[, 2] - p[, 1], log.p = TRUE), ifelse(y == 1, plogis(p[, 1] - p[, 3], log.p = TRUE),
    log(plogis(p[, 1] - p[, 2]) - plogis(p[, 1] - p[, 3])) + beta_part(inner(y), plogis(p[, 1]), exp(p[, 4])))),
  shares = function(p) cbind(plogis(p[, 2] - p[, 1]), plogis(p[, 1] - p[, 3])))
inflated <- list(
  each = function(y, p) { w <- 1 + exp(p[, 2]) + exp(p[, 3]); ifelse(y == 0, p[, 2] - log(w), ifelse(y == 1, p[, 3] - log(w),
    -log(w) + beta_part(inner(y), plogis(p[, 1]), exp(p[, 4])))) },
  shares = function(p) { w <- 1 + exp(p[, 2]) + exp(p[, 3]); cbind(exp(p[, 2]), exp(p[, 3])) / w })
# predictors of a parameter vector; what is absent is held far away
predictors <- list(
  ordered = function(t, x) cbind(x %*% t[1:r], t[r + 1], t[r + 2], t[r + 3]),
  ordered_no_ones = function(t, x) cbind(x %*% t[1:r], t[r + 1], Inf, t[r + 2]),
  inflated = function(t, x) cbind(x %*% t[1:r], x %*% t[r + 1:r], x %*% t[2 * r + 1:r], t[3 * r + 1]),
  inflated_no_ones = function(t, x) cbind(x %*% t[1:r], x %*% t[r + 1:r], -Inf, t[2 * r + 1]))
starts <- list(ordered = c(rep(0, r), -1, 1, 1), ordered_no_ones = c(rep(0, r), -1, 1), inflated = c(rep(0, 3 * r), 1), inflated_no_ones = c(rep(0, 2 * r), 1))

out <- list()
put <- function(model, kind, name, estimate, errors = "", se = NA, df = NA)
  out[[length(out) + 1]] <<- data.frame(model, kind, name, estimate, errors, std_error = se, df = df, row.names = NULL)
grid <- seq(-60, 60, length.out = 6001)
for (model in names(predictors)) {
  family <- if (startsWith(model, "ordered")) ordered else inflated
  of <- predictors[[model]]; y <- if (endsWith(model, "no_ones")) d$no_ones else d$score
  x <- X(d)
  value <- function(t) { l <- sum(family$each(y, of(t, x))); if (is.finite(l)) -l else 1e10 }
  t <- optim(starts[[model]], value, method = "BFGS", control = list(maxit = 5000, reltol = 1e-14))$par
  for (i in 1:6) t <- t - solve(hessian(value, t), grad(value, t))
  stopifnot(max(abs(grad(value, t))) < 1e-7)
  # information and scores of each row by its predictors, and by the parameters
  p <- of(t, x); n <- nrow(d); k <- which(is.finite(p[1, ]))
  rows <- list(); errors <- list(); scores <- matrix(0, n, length(t))
  for (i in 1:n) {
    at <- function(y, e) { full <- p[i, ]; full[k] <- e; family$each(y, matrix(full, length(y), 4, byrow = TRUE)) }
    inside <- plogis(grid); weight <- exp(at(inside, p[i, k])) * inside * plogis(-grid) * (grid[2] - grid[1])
    ok <- inside > 0 & inside < 1 & is.finite(weight) & weight > 1e-40
    ys <- c(inside[ok], 0, 1); w <- c(weight[ok], family$shares(p[i, , drop = FALSE]))
    keep <- w > 0; ys <- ys[keep]; w <- w[keep]
    stopifnot(abs(sum(w) - 1) < 1e-9)
    S <- jacobian(function(e) at(ys, e), p[i, k])
    J <- crossprod(S * sqrt(w)); s <- drop(jacobian(function(e) at(y[i], e), p[i, k]))
    Z <- jacobian(function(t) of(t, x[i, , drop = FALSE])[, k], t)
    root <- chol(J)
    rows[[i]] <- root %*% Z; errors[[i]] <- backsolve(root, s, transpose = TRUE); scores[i, ] <- s %*% Z
  }
  R <- do.call(rbind, rows); e <- unlist(errors); cluster <- rep(d$patient, each = length(k))
  bread <- solve(crossprod(R))
  U <- rowsum(scores, d$patient); p_all <- length(t)
  step <- lm(e ~ 0 + R)
  V <- list(classical = bread, hc0 = bread %*% crossprod(scores) %*% bread,
    cluster = G / (G - 1) * (n - 1) / (n - p_all) * bread %*% crossprod(U) %*% bread,
    cr2 = vcovCR(step, cluster = cluster, type = "CR2"), "mancl-derouen" = vcovCR(step, cluster = cluster, type = "CR3"))
  average <- function(t, data) { q <- of(t, X(data)); s <- family$shares(q); mean((1 - rowSums(s)) * plogis(q[, 1]) + s[, 2]) }
  h <- function(m) transform(d, method = factor(m, levels = c("gradcam", "human")))
  d$method <- factor(d$method)
  asked <- list(gradcam = function(t) average(t, h("gradcam")), human = function(t) average(t, h("human")),
    "human - gradcam" = function(t) average(t, h("human")) - average(t, h("gradcam")),
    "slope of x" = function(t) grad(function(delta) average(t, transform(d, x = x + delta)), 0))
  put(model, "fit", "log_lik", -value(t))
  for (errors_of in names(V)) {
    for (j in seq_along(t)) {
      df <- if (inherits(V[[errors_of]], "vcovCR")) coef_test(step, vcov = V[[errors_of]], test = "Satterthwaite")$df_Satt[j] else NA
      put(model, "parameter", as.character(j), t[j], errors_of, sqrt(V[[errors_of]][j, j]), df)
    }
    for (name in names(asked)) {
      g <- grad(asked[[name]], t)
      df <- if (inherits(V[[errors_of]], "vcovCR")) linear_contrast(step, vcov = V[[errors_of]], contrasts = matrix(g, 1), test = "Satterthwaite")$df else NA
      put(model, "average", name, asked[[name]](t), errors_of, sqrt(drop(g %*% V[[errors_of]] %*% g)), df)
    }
  }
  if (model == "ordered") {
    fit <- glmmTMB(score ~ method * x, d, family = ordbeta(), start = list(psi = c(-1, 1)), control = glmmTMBControl(optCtrl = list(rel.tol = 1e-14, iter.max = 2000, eval.max = 2000)))
    b <- fixef(fit)$cond
    for (name in names(b)) put("glmmTMB", "parameter", name, b[[name]])
    put("glmmTMB", "fit", "log_lik", as.numeric(logLik(fit))); put("glmmTMB", "fit", "precision", sigma(fit))
    for (i in c(1, 2, 60)) put("glmmTMB", "predict", as.character(i), predict(fit, type = "response")[i])
  }
}
out <- do.call(rbind, out)
for (c in c("estimate", "std_error", "df")) out[[c]] <- ifelse(is.na(out[[c]]), "", sprintf("%.15g", out[[c]]))
write.csv(out, "models.csv", row.names = FALSE, quote = TRUE)
writeLines(c(R.version.string, sapply(c("numDeriv", "clubSandwich", "glmmTMB"), function(p) paste(p, packageVersion(p))), as.character(Sys.Date())), "versions.txt")
