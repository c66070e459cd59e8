# Run the R calls of the tables in docs/howto/r.md, for tests/r/test_forty_calls.py.
#     Rscript forty_calls.R PAGE     (reads scores.csv; writes draws.csv, forty_calls.json and versions.txt)
packages <- c("boot", "lme4", "lmerTest", "emmeans", "sandwich", "lmtest", "multcomp", "clubSandwich", "car", "geepack",
  "quantreg", "pROC", "effectsize", "psych", "pwr")
for (package in packages) suppressMessages(library(package, character.only = TRUE))
page <- readLines(commandArgs(TRUE)[1])

# the block that reads the data and fits the models
first_line <- grep("^scores <- read.csv", page)
last_line <- first_line + min(which(page[-seq_len(first_line)] == "```")) - 1
set.seed(1)
suppressMessages(eval(parse(text = page[first_line:last_line])))

calls_below <- function(header) {
  rows <- page[-seq_len(which(page == header) + 1)]
  rows <- rows[seq_len(min(which(rows == "")) - 1)]
  cells <- sapply(strsplit(rows, "(?<!\\\\)\\|", perl = TRUE), function(row) row[3])
  gsub("\\|", "|", gsub("^ `|` $", "", cells), fixed = TRUE)
}
calls <- c(calls_below("| package | in R | here | both give |"),
  calls_below("| package | in R | here | R gives | here | why |"))
numbers <- lapply(calls, function(call) {
  value <- suppressMessages(suppressWarnings(eval(parse(text = call))))
  I(signif(as.numeric(unlist(value)), 12))
})
names(numbers) <- calls
writeLines(jsonlite::toJSON(numbers, digits = NA, pretty = 1), "forty_calls.json")
versions <- sapply(packages, function(package) paste(package, packageVersion(package)))
writeLines(c(R.version.string, versions), "versions.txt")
