# Marginal means at given values, on both scales, and simultaneous limits of contrasts, of R's emmeans.
#     Rscript values_and_limits.R     (in this folder; reads scores.csv, writes values_and_limits.csv)
suppressMessages({library(emmeans); library(lme4); library(lmerTest)})
d <- read.csv("scores.csv", stringsAsFactors = TRUE)
emm_options(msg.interaction = FALSE, msg.nesting = FALSE, lmerTest.limit = 1000, pbkrtest.limit = 1000)

models <- list(
  classical = lm(score ~ method * x + site, d),
  satterthwaite = lmer(score ~ method * x + site + (1 | patient), d),
  "kenward-roger" = lmer(score ~ method * x + site + (1 | patient), d),
  logit = glm(hit ~ method * x + site, binomial(), d, control = glm.control(epsilon = 1e-14, maxit = 100)))
values <- list(
  "x" = list(x = 1.5),
  "two_x" = list(x = c(1.5, 4)),
  "site" = list(site = c("north", "west"), x = 3))

out <- list()
add <- function(model, scale, at, adjust, by, summaries) {
  s <- as.data.frame(summaries)
  estimate <- intersect(c("emmean", "prob", "estimate", "odds.ratio"), names(s))[1]
  lower <- intersect(c("lower.CL", "asymp.LCL"), names(s))
  upper <- intersect(c("upper.CL", "asymp.UCL"), names(s))
  pairs <- if ("contrast" %in% names(s)) do.call(rbind, strsplit(as.character(s$contrast), " - ")) else
    cbind(as.character(s$method), "")
  out[[length(out) + 1]] <<- data.frame(model, scale, at, adjust,
    x = if (by) s$x else NA, method = pairs[, 1], reference = pairs[, 2],
    estimate = s[[estimate]], std_error = s$SE, df = s$df, conf_low = s[[lower]], conf_high = s[[upper]],
    p_value = if ("p.value" %in% names(s)) s$p.value else NA)
}

for (name in names(models)) {
  rg_df <- if (name %in% c("satterthwaite", "kenward-roger")) name else NULL
  for (at in names(values)) {
    for (by in if (at == "two_x") c(FALSE, TRUE) else FALSE) {
      scales <- if (name == "logit") c("link", "score", "response") else "score"
      for (scale in scales) {
        specs <- if (by) ~ method | x else ~ method
        grid <- ref_grid(models[[name]], at = values[[at]], lmer.df = rg_df)
        if (scale == "score" && name == "logit") grid <- regrid(grid, transform = "response")
        e <- emmeans(grid, specs)
        type <- if (scale == "response") "response" else "link"
        add(name, scale, at, "", by, summary(e, infer = c(TRUE, FALSE), type = type))
        if (scale == "response") next
        # a family of bonferroni is that of one value of x here, and all rows in salstats
        for (adjust in if (by) "tukey" else if (at == "x") c("none", "bonferroni", "tukey") else "none")
          add(name, scale, at, adjust, by, summary(contrast(e, "revpairwise"), infer = TRUE, adjust = adjust))
      }
    }
  }
}
table <- do.call(rbind, out)
numbers <- sapply(table, is.numeric)
table[numbers] <- lapply(table[numbers], function(v) sprintf("%.12g", v))
write.csv(table, "values_and_limits.csv", row.names = FALSE)
writeLines(c(R.version.string, sapply(c("emmeans", "lme4", "lmerTest", "pbkrtest"),
  function(p) paste(p, packageVersion(p)))), "values_and_limits_versions.txt")
