# Intraclass correlations of readings with gaps: one way from aov, two ways by REML (lme4).
suppressMessages(library(lme4))
d <- read.csv("gaps.csv", stringsAsFactors = TRUE)
# a case that one reader read says nothing of agreement
d <- droplevels(d[d$case %in% names(which(table(d$case) > 1)), ])
one <- summary(aov(score ~ case, d))[[1]]$`Mean Sq`
m <- table(d$case)
n0 <- (sum(m) - sum(m^2) / sum(m)) / (length(m) - 1)
icc1 <- (one[1] - one[2]) / (one[1] + (n0 - 1) * one[2])
v <- as.data.frame(VarCorr(lmer(score ~ 1 + (1 | case) + (1 | reader), d,
  control = lmerControl(optimizer = "bobyqa", optCtrl = list(rhoend = 1e-10)))))$vcov
names(v) <- c("case", "reader", "error")
out <- data.frame(term = c("icc1", "icc2_reml", "icc3_reml"),
  estimate = c(icc1, v["case"] / sum(v), v["case"] / (v["case"] + v["error"])))
out$estimate <- sprintf("%.15g", out$estimate)
write.csv(out, "gaps_expected.csv", row.names = FALSE, quote = FALSE)
writeLines(c(R.version.string, paste("lme4", packageVersion("lme4"))), "versions.txt")
