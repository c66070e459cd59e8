# Score limits of the difference and of the ratio of two paired proportions, for
# tests/stats/test_paired_shares.py.
#     Rscript shares.R PROPCIS RATESCI     (checkouts of cran/PropCIs and cran/ratesci; writes shares.csv and
#     versions.txt in this folder)
folders <- commandArgs(trailingOnly = TRUE)
source(file.path(folders[1], "R/scoreci.mp.R"))
source(file.path(folders[2], "R/pairbinci.R"))
# pairs where both score 1, only the method, only the reference, and neither
tables <- rbind(c(1, 1, 7, 12), c(43, 0, 1, 0), c(20, 12, 2, 16), c(39, 1, 0, 0), c(30, 4, 2, 4),
                c(2, 9, 30, 9), c(85, 6, 2, 7), c(0, 3, 5, 2), c(39, 0, 0, 1), c(12, 0, 6, 0))
rows <- list()
for (i in seq_len(nrow(tables))) for (level in c(.9, .95, .99)) {
  n <- tables[i, ]
  of <- function(contrast) {
    pairbinci(n, level = level, contrast = contrast, method = "Score_closed", skew = FALSE, bcf = FALSE,
              precis = 12)
  }
  difference <- of("RD")
  ratio <- of("RR")
  # PropCIs stops within 1e-7; its difference is the second proportion less the first
  grid <- scoreci.mp(n[3], n[2], sum(n), conf.level = level)$conf.int
  rows[[length(rows) + 1]] <- data.frame(
    both = n[1], only_method = n[2], only_reference = n[3], neither = n[4], level = level,
    difference_low = difference$estimates[1, "lower"], difference_high = difference$estimates[1, "upper"],
    ratio_low = ratio$estimates[1, "lower"], ratio_high = ratio$estimates[1, "upper"],
    p_value = unname(difference$pval[1, "pval2sided"]), propcis_low = grid[1], propcis_high = grid[2])
}
write.csv(format(do.call(rbind, rows), digits = 12, trim = TRUE), "shares.csv", row.names = FALSE, quote = FALSE)
version <- function(folder, name) paste(name, read.dcf(file.path(folder, "DESCRIPTION"), "Version"))
writeLines(c(R.version.string, version(folders[1], "PropCIs"), version(folders[2], "ratesci")), "versions.txt")
