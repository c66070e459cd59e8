# Sidak's and multivariate t P values and limits of contrasts, of R's emmeans and mvtnorm.
#     Rscript simultaneous.R     (in this folder; reads scores.csv, writes simultaneous.csv)
# emmeans takes the multivariate t distribution from mvtnorm, which integrates with random points to an absolute
# error of about 1e-3, and rounds degrees of freedom down (it adds a quarter first). p_precise is the same P value
# with more points, and p_error the error that mvtnorm gives for it.
suppressMessages({library(emmeans); library(mvtnorm); library(lme4); library(lmerTest); library(sandwich)})
d <- read.csv("scores.csv", stringsAsFactors = TRUE)
d$cell <- factor(paste(d$method, d$site))
emm_options(msg.interaction = FALSE, msg.nesting = FALSE, lmerTest.limit = 1000)
precise <- GenzBretz(maxpts = 1e6, abseps = 2e-6)
set.seed(1)

p_mvt <- function(statistics, df, correlation) t(mapply(function(statistic, df) {
  bound <- rep(abs(statistic), ncol(correlation))
  inside <- pmvt(-bound, bound, df = if (is.finite(df)) df else 0, corr = correlation, algorithm = precise)
  c(p = 1 - as.numeric(inside), error = attr(inside, "error"))
}, statistics, df))

out <- list()
add <- function(model, contrasts, adjust, by) {
  s <- as.data.frame(summary(contrasts, infer = TRUE, adjust = adjust))
  pairs <- do.call(rbind, strsplit(gsub("[()]", "", as.character(s$contrast)), " - "))
  families <- if (is.null(by)) rep("", nrow(s)) else as.character(s[[by]])
  precise_p <- matrix(NA, nrow(s), 2, dimnames = list(NULL, c("p_precise", "p_error")))
  if (adjust == "mvt") for (family in unique(families)) {
    rows <- which(families == family)
    correlation <- cov2cor(vcov(contrasts)[rows, rows, drop = FALSE])
    df <- floor(s$df[rows] + 0.25)
    precise_p[rows, ] <- p_mvt((s$estimate / s$SE)[rows], df, correlation)
  }
  out[[length(out) + 1]] <<- data.frame(model, adjust, by = families, level = pairs[, 1], reference = pairs[, 2],
    estimate = s$estimate, std_error = s$SE, df = s$df, conf_low = s[[grep("CL$", names(s))[1]]],
    conf_high = s[[grep("CL$", names(s))[2]]], p_value = s$p.value, precise_p)
}

cells <- lm(score ~ cell + x, d)
crossed <- lm(score ~ method * site + x, d)
robust <- emmeans(cells, ~ cell, vcov. = vcovCL(cells, cluster = d$patient, type = "HC1"), df = nlevels(d$patient) - 1)
mixed <- lmer(score ~ method * x + site + (1 | patient), d)
logit <- glm(hit ~ method * x + site, binomial(), d, control = glm.control(epsilon = 1e-14, maxit = 100))
families <- list(
  "one reference" = list(contrast(emmeans(cells, ~ cell), "trt.vs.ctrl", ref = "human north"), NULL),
  robust = list(contrast(robust, "revpairwise"), NULL),
  crossed = list(contrast(emmeans(crossed, ~ method | site), "revpairwise"), "site"),
  mixed = list(contrast(emmeans(mixed, ~ method, lmer.df = "satterthwaite"), "revpairwise"), NULL),
  logit = list(contrast(emmeans(logit, ~ method), "revpairwise"), NULL))
# a family of Sidak's is that of one site here, and all rows in salstats
for (name in names(families)) for (adjust in c(if (name != "crossed") "sidak", "mvt"))
  suppressWarnings(add(name, families[[name]][[1]], adjust, families[[name]][[2]]))
table <- do.call(rbind, out)
numbers <- sapply(table, is.numeric)
table[numbers] <- lapply(table[numbers], function(v) sprintf("%.12g", v))
write.csv(table, "simultaneous.csv", row.names = FALSE)
writeLines(c(R.version.string, sapply(c("emmeans", "mvtnorm", "lme4", "lmerTest", "sandwich"),
  function(p) paste(p, packageVersion(p)))), "simultaneous_versions.txt")
