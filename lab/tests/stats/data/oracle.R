# Usage: Rscript oracle.R DESIGN.csv...   one design a file; columns y, factors f1..fk, optional block.
# Prints lines "design key value": ss/df/F/p of types I, II and III, cell means, pair differences, limits and p.
options(contrasts = c("contr.sum", "contr.poly"))

quantile_polished <- function(groups, df) {
  uniroot(function(q) ptukey(q, groups, df) - 0.95, c(0.5, 500), tol = 1e-13)$root
}

say <- function(design, ...) {
  values <- list(...)
  for (key in names(values)) cat(sprintf("%s\t%s\t%.17g\n", design, key, values[[key]]))
}

sources_of <- function(factors, blocked) {
  terms <- if (blocked) "block" else character()
  for (order in seq_along(factors)) {
    terms <- c(terms, combn(factors, order, paste, collapse = ":"))
  }
  terms
}

contains <- function(larger, smaller) {
  all(strsplit(smaller, ":")[[1]] %in% strsplit(larger, ":")[[1]])
}

fit <- function(terms, data) lm(reformulate(c("1", terms), "y"), data)

term_row <- function(design, type, term, base, more, data, full) {
  small <- fit(base, data)
  large <- fit(c(base, more), data)
  df <- df.residual(small) - df.residual(large)
  ss <- deviance(small) - deviance(large)
  f <- (ss / df) / (deviance(full) / df.residual(full))
  name <- function(what) paste(type, term, what, sep = "|")
  row <- setNames(list(df, ss, f, pf(f, df, df.residual(full), lower.tail = FALSE)),
                  c(name("df"), name("ss"), name("F"), name("p")))
  do.call(say, c(list(design), row))
}

for (path in commandArgs(trailingOnly = TRUE)) {
  design <- basename(path)
  data <- read.csv(path, stringsAsFactors = FALSE)
  data[names(data) != "y"] <- lapply(data[names(data) != "y"], factor)
  factors <- setdiff(names(data), c("y", "block"))
  blocked <- "block" %in% names(data)
  terms <- sources_of(factors, blocked)
  full <- fit(terms, data)
  say(design, error_ss = deviance(full), error_df = df.residual(full))
  complete <- all(table(data[factors]) > 0)

  for (at in seq_along(terms)) {
    term <- terms[at]
    not_above <- terms[!vapply(terms, contains, logical(1), smaller = term)]
    term_row(design, "I", term, terms[seq_len(at - 1)], term, data, full)
    term_row(design, "II", term, not_above, term, data, full)
  }
  if (complete) {
    third <- drop1(full, scope = terms, test = "F")
    for (term in terms) {
      row <- setNames(list(third[term, "Sum of Sq"], third[term, "F value"]), paste("III", term, c("ss", "F"), sep = "|"))
      do.call(say, c(list(design), row))
    }
  }

  # Cell means at the average block, their covariance, and all pairs.
  data$cell <- factor(do.call(paste, c(data[factors], sep = ",")))
  cells <- lm(if (blocked) y ~ 0 + cell + block else y ~ 0 + cell, data)
  own <- paste0("cell", levels(data$cell))
  mean <- coef(cells)[own]
  covariance <- vcov(cells)[own, own]
  critical <- quantile_polished(length(own), df.residual(cells))
  for (i in seq_along(own)) {
    reach <- qt(0.975, df.residual(cells)) * sqrt(covariance[i, i])
    row <- setNames(list(mean[i], mean[i] - reach, mean[i] + reach),
                    paste(c("mean", "low", "high"), levels(data$cell)[i], sep = "|"))
    do.call(say, c(list(design), row))
    for (j in seq_along(own)) if (i != j) {
      difference <- mean[i] - mean[j]
      scale <- sqrt((covariance[i, i] + covariance[j, j] - 2 * covariance[i, j]) / 2)
      p <- ptukey(abs(difference) / scale, length(own), df.residual(cells), lower.tail = FALSE)
      row <- setNames(list(difference, difference - critical * scale, difference + critical * scale, p),
                      paste("pair", levels(data$cell)[i], levels(data$cell)[j], c("diff", "low", "high", "p"), sep = "|"))
      do.call(say, c(list(design), row))
    }
  }
  residuals <- residuals(cells)
  deviation <- abs(residuals - ave(residuals, data$cell, FUN = median))
  shapiro <- shapiro.test(residuals)
  levene <- anova(lm(deviation ~ data$cell))
  say(design, shapiro_statistic = unname(shapiro$statistic), shapiro_p = shapiro$p.value,
      brown_forsythe_statistic = levene[1, "F value"], brown_forsythe_p = levene[1, "Pr(>F)"])
}
