# Effect sizes of paired scores, for tests/stats/test_effect_sizes.py.
#     Rscript sizes.R     (in this folder; reads ../correlation/pairs.csv, writes sizes.csv and versions.txt)
suppressMessages(library(effectsize))
pairs <- read.csv("../correlation/pairs.csv")
rows <- lapply(split(pairs, pairs$set), function(d) {
  data.frame(set = d$set[1], d_z = cohens_d(d$x, d$y, paired = TRUE)[[1]],
             g_z = hedges_g(d$x, d$y, paired = TRUE)[[1]],
             cles = p_superiority(d$x, d$y, parametric = FALSE)[[1]])
})
rows <- do.call(rbind, rows)
rows[-1] <- lapply(rows[-1], function(v) format(v, digits = 17, trim = TRUE))
write.csv(rows, "sizes.csv", row.names = FALSE, quote = FALSE)
writeLines(c(R.version.string, paste("effectsize", packageVersion("effectsize"))), "versions.txt")
