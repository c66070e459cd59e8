# Rankings of scores.csv, and of every draw of its cases, by challengeR's definitions.
# Rscript ranks.R CHALLENGER: the folder of a checkout of wiesenfa/challengeR (its R/rankNA2.R and R/testBased.R).
# aggregateThenRank, rankThenAggregate and testThenRank of challengeR are an aggregate by algorithm and rankNA2.
# Writes ranks.csv, significance.csv, tau.csv, versions.txt.
checkout <- commandArgs(TRUE)[1]
source(file.path(checkout, "R", "rankNA2.R"))
source(file.path(checkout, "R", "testBased.R"))
options(digits = 17, warn = 1)
scores <- read.csv("scores.csv")
draws <- as.matrix(read.csv("draws.csv", header = FALSE)) + 1
ids <- sort(unique(scores$case))
alpha <- 0.05

decide <- function(data, adjust) {
  a <- list(data, "score", "method", "case", alpha, TRUE, p.adjust.method = adjust, alternative = "greater")
  m <- do.call(Decision, a)
  m[is.na(m)] <- 0
  m
}
by_case_ranks <- function(data, ties) {
  parts <- lapply(split(data, data$case), function(d) {
    d$score <- rankNA2(d$score, ties.method = ties, largeBetter = TRUE)
    d
  })
  do.call(rbind, parts)
}
values <- function(data, scheme, ties) {
  of <- function(d, f) tapply(d$score, d$method, f)
  switch(scheme,
    mean = of(data, mean), median = of(data, median),
    "mean-rank" = of(by_case_ranks(data, ties), mean), "median-rank" = of(by_case_ranks(data, ties), median),
    test = { m <- decide(data, "none"); rowSums(m) / (ncol(m) - 1) })
}
drawn <- function(data, index) {
  do.call(rbind, lapply(seq_along(index), function(i) {
    d <- data[data$case == ids[index[i]], ]
    d$case <- sprintf("%02d", i)
    d
  }))
}
ranks <- NULL
for (task in unique(scores$task)) for (scheme in c("mean", "median", "mean-rank", "median-rank", "test"))
  for (ties in c("average", "min")) for (b in 0:nrow(draws)) {
    data <- scores[scores$task == task, ]
    if (b > 0) data <- drawn(data, draws[b, ])
    v <- values(data, scheme, ties)
    # sums in another order differ in their last bits, which here make no tie
    r <- rankNA2(round(v, 12), ties.method = ties, largeBetter = !grepl("rank", scheme))
    ranks <- rbind(ranks, data.frame(task, scheme, ties, draw = b, method = names(v), value = as.numeric(v), rank = as.numeric(r)))
  }
keys <- c("task", "scheme", "ties", "draw")
wide <- reshape(ranks, idvar = keys, timevar = "method", direction = "wide")
write.csv(wide, "ranks.csv", row.names = FALSE, quote = FALSE)

signif <- NULL
for (task in unique(scores$task)) {
  data <- scores[scores$task == task, ]
  m <- sort(unique(data$method))
  pairs <- subset(expand.grid(method = m, reference = m, stringsAsFactors = FALSE), method != reference)
  wide <- sapply(m, function(k) { d <- data[data$method == k, ]; d$score[match(ids, d$case)] })
  p <- mapply(function(a, b) suppressWarnings(wilcox.test(wide[, a], wide[, b], alternative = "greater",
    exact = FALSE, paired = TRUE)$p.value), pairs$method, pairs$reference)
  holm <- decide(data, "holm")
  signif <- rbind(signif, data.frame(task, pairs, p_value = p, p_holm = p.adjust(p, "holm"),
    better = mapply(function(a, b) holm[a, b], pairs$method, pairs$reference)))
}
write.csv(signif, "significance.csv", row.names = FALSE, quote = FALSE)

tau <- NULL
tasks <- unique(scores$task)
for (scheme in unique(ranks$scheme)) for (b in 0:nrow(draws)) for (i in 1:2) for (j in (i + 1):3) {
  of <- function(t) { d <- ranks[ranks$task == t & ranks$scheme == scheme & ranks$ties == "average" & ranks$draw == b, ]; d$rank[order(d$method)] }
  tau <- rbind(tau, data.frame(scheme, draw = b, task = tasks[i], other_task = tasks[j],
    tau = suppressWarnings(cor(of(tasks[i]), of(tasks[j]), method = "kendall"))))
}
write.csv(tau, "tau.csv", row.names = FALSE, quote = FALSE)
writeLines(c(R.version.string, paste("reshape2", packageVersion("reshape2")), "challengeR R/testBased.R at 0f298ef, R/rankNA2.R at 199b311"), "versions.txt")
