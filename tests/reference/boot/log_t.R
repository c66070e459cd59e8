# Bootstrap-t limits on the log scale of R's boot.ci, for tests/stats/test_intervals.py.
#     Rscript log_t.R     (in this folder; reads scores.csv, writes draws.csv, limits.csv and versions.txt)
suppressMessages(library(boot))
d <- read.csv("scores.csv")
set.seed(1)
stat <- function(x, i) { s <- x[i]; c(mean(s), var(s) / length(s)) }
b <- boot(d$score, stat, R = 399)
write.table(boot.array(b, indices = TRUE) - 1, "draws.csv", sep = ",", row.names = FALSE, col.names = FALSE)
# (399 + 1) * 0.025 is a whole number, so that boot.ci takes order statistics and interpolates nothing
log_t <- boot.ci(b, conf = 0.95, type = "stud", h = log, hdot = function(m) 1 / m, hinv = exp)$student
plain <- boot.ci(b, conf = 0.95, type = "stud")$student
limits <- data.frame(interval = c("bootstrap_t_log", "studentized"), conf_low = c(log_t[4], plain[4]),
                     conf_high = c(log_t[5], plain[5]))
write.csv(format(limits, digits = 15), "limits.csv", row.names = FALSE, quote = FALSE)
writeLines(c(R.version.string, paste("boot", packageVersion("boot"))), "versions.txt")
