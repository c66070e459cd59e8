# Weighted means, differences and models by R, for tests/stats/test_weights.py and tests/stats/models/test_weights.py.
#     Rscript weights.R     (in this folder; reads scores.csv, writes weights.csv and versions.txt)
suppressMessages({library(survey); library(sandwich); library(clubSandwich); library(estimatr)})
d <- read.csv("scores.csv", stringsAsFactors = TRUE)
out <- list()
put <- function(what, weights, names, estimate, std_error, df = NA, p_value = NA)
  out[[length(out) + 1]] <<- data.frame(what, weights, name = names, estimate = c(estimate), std_error = c(std_error), df, p_value)

for (w in c("sampling", "of_patient")) {
  d$w <- d[[w]]
  of <- function(formula, data) eval(bquote(lm(.(formula), data, weights = w)))
  # means of each task and method: survey's linearisation, CR2
  for (task in levels(d$task)) for (method in levels(d$method)) {
    one <- d[d$task == task & d$method == method & !is.na(d$score), ]
    m <- svymean(~score, svydesign(~patient, weights = ~w, data = one))
    put("svymean", w, paste(task, method), coef(m), SE(m), length(unique(one$patient)) - 1)
    fit <- of(score ~ 1, one)
    r <- coef_test(fit, vcovCR(fit, cluster = droplevels(one$patient), type = "CR2"), test = "Satterthwaite")
    put("mean CR2", w, paste(task, method), r$beta, r$SE, r$df_Satt)
    e <- lm_robust(score ~ 1, one, weights = w, clusters = patient, se_type = "CR2")
    put("mean CR2 estimatr", w, paste(task, method), coef(e), e$std.error, e$df)
  }
  # differences of complete pairs, and their average over tasks
  pair <- reshape(d[c("case", "patient", "task", "method", "score", "w")], direction = "wide",
                  idvar = c("case", "task"), timevar = "method", v.names = "score")
  pair$gap <- pair$score.gradcam - pair$score.human
  pair <- pair[!is.na(pair$gap), ]
  for (task in levels(d$task)) {
    one <- pair[pair$task == task, ]
    m <- svymean(~gap, svydesign(~patient, weights = ~w, data = one))
    put("svymean gap", w, task, coef(m), SE(m), length(unique(one$patient)) - 1)
    ratio <- svyratio(~score.gradcam, ~score.human, svydesign(~patient, weights = ~w, data = one))
    put("svyratio", w, task, c(coef(ratio)), c(SE(ratio)), length(unique(one$patient)) - 1)
  }
  # cells as the package has them: a mean for each method and task of the complete pairs
  long <- rbind(transform(pair, score = score.gradcam, cell = paste0("gradcam.", task)),
                transform(pair, score = score.human, cell = paste0("human.", task)))
  # a contrast is the first coefficient of another basis: linear_contrast() of clubSandwich 0.5.8 stops with weights
  C <- model.matrix(~ 0 + factor(cell), long)
  of_cells <- function(name, L) for (i in seq_len(nrow(L))) {
    basis <- rbind(L[i, ], diag(4)[-which(L[i, ] != 0)[1], ])
    long$Z <- C %*% solve(basis)
    fit <- of(score ~ 0 + Z, long)
    r <- coef_test(fit, vcovCR(fit, cluster = droplevels(long$patient), type = "CR2"), test = "Satterthwaite")[1, ]
    put(name, w, i, r$beta, r$SE, r$df_Satt, r$p_Satt)
  }
  of_cells("cells CR2", diag(4))
  of_cells("gap CR2", rbind(c(1, 0, -1, 0), c(0, 1, 0, -1), c(1, 1, -1, -1) / 2))
  of_cells("prevalence gap CR2", rbind(c(.2, .8, -.2, -.8)))

  # models
  linear <- of(score ~ method * task + x, d)
  known <- d[names(linear$residuals), ]
  names <- names(coef(linear))
  p <- droplevels(known$patient)
  frame_of <- function(what, V) { r <- coef(linear); put(what, w, names, r, sqrt(diag(V))) }
  for (kind in c("HC0", "HC1", "HC2", "HC3")) frame_of(paste("lm", tolower(kind)), vcovHC(linear, type = kind))
  frame_of("lm cluster", vcovCL(linear, cluster = p, type = "HC1"))
  V <- vcovCR(linear, cluster = p, type = "CR2")
  r <- coef_test(linear, V, test = "Satterthwaite")
  put("lm cr2", w, names, r$beta, r$SE, r$df_Satt, r$p_Satt)
  h <- Wald_test(linear, constrain_zero(c("methodhuman", "x", "methodhuman:tasknodule")), vcov = V, test = "HTZ")
  put("lm joint", w, "methodhuman + x + methodhuman:tasknodule", h$Fstat, NA, h$df_denom, h$p_val)
  s <- summary(linear)
  put("lm r_squared", w, c("r_squared", "adj_r_squared"), c(s$r.squared, s$adj.r.squared), NA)
  e <- lm_robust(score ~ method * task + x, d, weights = w, clusters = patient, se_type = "CR2")
  put("lm cr2 estimatr", w, names, coef(e), e$std.error, e$df)
  svy <- svyglm(score ~ method * task + x, svydesign(~patient, weights = ~w, data = known))
  put("svyglm", w, names, coef(svy), SE(svy))
  for (outcome in c("hit", "score")) {
    known$y <- known[[outcome]]
    logit <- svyglm(y ~ method + x, svydesign(~patient, weights = ~w, data = known), family = quasibinomial(),
                    epsilon = 1e-14, maxit = 100)
    put(paste("svyglm", outcome), w, names(coef(logit)), coef(logit), SE(logit))
    g <- suppressWarnings(glm(y ~ method + x, quasibinomial, known, weights = w, epsilon = 1e-14, maxit = 100))
    # its covariance is that of the last step but one
    g <- suppressWarnings(update(g, start = coef(g), epsilon = 1e-300, maxit = 5))
    put(paste("glm cluster", outcome), w, names(coef(g)), coef(g), sqrt(diag(vcovCL(g, cluster = p, type = "HC1"))))
    # weights of sampling: errors have the family's variance whatever the weight (the default divides by it)
    mu <- fitted(g)
    V <- vcovCR(g, cluster = p, type = "CR2", target = mu * (1 - mu), inverse_var = FALSE)
    r <- coef_test(g, V, test = "Satterthwaite")
    put(paste("glm cr2", outcome), w, names(coef(g)), r$beta, r$SE, r$df_Satt)
  }
}
result <- do.call(rbind, out)
numbers <- sapply(result, is.numeric)
result[numbers] <- lapply(result[numbers], function(v) ifelse(is.na(v), NA, sprintf("%.15g", v)))
write.csv(result, "weights.csv", row.names = FALSE, quote = FALSE)
writeLines(c(R.version.string, sapply(c("survey", "sandwich", "clubSandwich", "estimatr"),
  function(p) paste(p, packageVersion(p)))), "versions.txt")
