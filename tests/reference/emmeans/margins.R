# Marginal means, contrasts and slopes of R, for tests/stats/models/test_margins.py.
#     Rscript margins.R     (in this folder; reads scores.csv, writes margins.csv and versions.txt)
suppressMessages({library(emmeans); library(sandwich); library(clubSandwich)})
d <- read.csv("scores.csv", stringsAsFactors = TRUE)
d$method <- relevel(d$method, "human")
G <- length(unique(d$patient))
out <- list()
put <- function(model, vcov, average, kind, by, level, reference, estimate, se, df)
  out[[length(out) + 1]] <<- data.frame(model, vcov, average, kind, by = as.character(by),
    level = as.character(level), reference = as.character(reference), estimate, std_error = se,
    df = df, row.names = NULL)
refs <- function(contrast, sep = " - ") do.call(rbind, strsplit(gsub("[()]", "", as.character(contrast)), sep, fixed = TRUE))

# the grid: emmeans and emtrends; of a logit model after regridding to the scale of the response
grid <- function(model, vcov, fit, V, df, response = FALSE) {
  rg <- if (is.null(df)) ref_grid(fit, vcov. = V) else ref_grid(fit, vcov. = V, df = df)
  if (response) rg <- regrid(rg, transform = "response")
  add <- function(kind, e, by = NULL) {
    s <- as.data.frame(summary(e, infer = c(FALSE, FALSE)))
    value <- intersect(c("emmean", "prob", "estimate", "x.trend"), names(s))[1]
    pair <- if (kind %in% c("contrast", "pairwise")) refs(s$contrast) else cbind(if ("method" %in% names(s)) as.character(s$method) else "", "")
    put(model, vcov, "grid", kind, if (is.null(by)) "" else s[[by]], pair[, 1], pair[, 2], s[[value]], s$SE, s$df)
  }
  add("mean", emmeans(rg, ~method)); add("mean", emmeans(rg, ~method | site), "site")
  add("contrast", contrast(emmeans(rg, ~method), "trt.vs.ctrl", ref = "human"))
  add("contrast", contrast(emmeans(rg, ~method | site), "trt.vs.ctrl", ref = "human"), "site")
  add("pairwise", contrast(emmeans(rg, ~method), "revpairwise"))
  if (!response) {
    tr <- if (is.null(df)) emtrends(fit, ~method, var = "x", vcov. = V) else emtrends(fit, ~method, var = "x", vcov. = V, df = df)
    add("slope", tr)
  }
}
# the rows: averages over the data, each with its gradient written out (delta method)
over_rows <- function(model, vcov, fit, V, df, logit) {
  b <- coef(fit); tt <- delete.response(terms(fit))
  X <- function(nd) model.matrix(tt, nd, xlev = fit$xlevels)
  mu <- if (logit) plogis else identity
  d1 <- if (logit) function(e) plogis(e) * (1 - plogis(e)) else function(e) rep(1, length(e))
  d2 <- if (logit) function(e) d1(e) * (1 - 2 * plogis(e)) else function(e) rep(0, length(e))
  se <- function(g) sqrt(drop(g %*% V %*% g))
  mean_of <- function(nd) { x <- X(nd); e <- drop(x %*% b); list(est = mean(mu(e)), g = colMeans(d1(e) * x)) }
  for (s in c("", levels(d$site))) {
    own <- if (s == "") d else d[d$site == s, ]
    m <- lapply(levels(d$method), function(l) { own$method <- factor(l, levels(d$method)); mean_of(own) })
    for (i in seq_along(m)) put(model, vcov, "rows", "mean", s, levels(d$method)[i], "", m[[i]]$est, se(m[[i]]$g), df)
    for (i in 2:length(m)) put(model, vcov, "rows", "contrast", s, levels(d$method)[i], "human", m[[i]]$est - m[[1]]$est, se(m[[i]]$g - m[[1]]$g), df)
  }
  for (l in c("", levels(d$method))) {
    own <- if (l == "") d else d[d$method == l, ]
    x <- X(own); up <- own; up$x <- up$x + 1; dx <- X(up) - x   # linear in x
    e <- drop(x %*% b); de <- drop(dx %*% b)
    put(model, vcov, "rows", "slope", "", l, "", mean(d1(e) * de), se(colMeans(d2(e) * de * x + d1(e) * dx)), df)
  }
}
specs <- list(crossed = score ~ method * site + x, slopes = score ~ method * x + site)
for (id in names(specs)) {
  fit <- lm(specs[[id]], d); fit$call$formula <- specs[[id]]
  V <- list(classical = vcov(fit), hc3 = vcovHC(fit, type = "HC3"), cluster = vcovCL(fit, cluster = d$patient, type = "HC1"))
  for (k in names(V)) {
    df <- if (k == "cluster") G - 1 else df.residual(fit)
    grid(id, k, fit, V[[k]], if (k == "cluster") G - 1 else NULL)
    over_rows(id, k, fit, V[[k]], df, FALSE)
  }
  CR <- vcovCR(fit, cluster = d$patient, type = "CR2")
  e <- contrast(emmeans(fit, ~method), "trt.vs.ctrl", ref = "human")
  ct <- linear_contrast(fit, vcov = CR, contrasts = e@linfct, test = "Satterthwaite")
  p <- refs(as.data.frame(e)$contrast)
  put(id, "cr2", "grid", "contrast", "", p[, 1], p[, 2], ct$Est, ct$SE, ct$df)
}
fit <- glm(hit ~ method * x + site, binomial(), d, control = glm.control(epsilon = 1e-14, maxit = 100))
V <- list(classical = vcov(fit), cluster = vcovCL(fit, cluster = d$patient, type = "HC1"))
for (k in names(V)) {
  grid("logit", k, fit, V[[k]], if (k == "cluster") G - 1 else NULL, TRUE)
  over_rows("logit", k, fit, V[[k]], if (k == "cluster") G - 1 else Inf, TRUE)
}
o <- do.call(rbind, out)
o[sapply(o, is.numeric)] <- lapply(o[sapply(o, is.numeric)], function(v) sprintf("%.17g", v))
write.csv(o, "margins.csv", row.names = FALSE, quote = TRUE)
writeLines(c(R.version.string, sapply(c("emmeans", "sandwich", "clubSandwich"), function(p) paste(p, packageVersion(p))), format(Sys.Date())), "versions.txt")
