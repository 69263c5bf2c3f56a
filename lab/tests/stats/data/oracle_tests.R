# Usage: Rscript oracle_tests.R DESIGN.csv...   the file's name begins with its kind: groups-, lines- or plots-.
# Prints lines "design key value".
say <- function(design, values) {
  for (key in names(values)) cat(sprintf("%s\t%s\t%.17g\n", design, key, values[[key]]))
}

# ptukey with few and fractional df errs by up to 2e-6 of p (scipy agrees with this sum to 1e-13), so the sd is
# integrated out here: ptukey with infinite df is exact enough.
tukey_tail <- function(q, groups, df) {
  limits <- log(c(qchisq(1e-18, df), qchisq(1e-18, df, lower.tail = FALSE)) / df) / 2
  x <- seq(limits[1], limits[2], length.out = 300)  # the trapezoidal rule is spectral for smooth decaying integrands
  s <- exp(x)
  sum(ptukey(q * s, groups, Inf, lower.tail = FALSE) * dchisq(df * s^2, df) * 2 * df * s^2) * (x[2] - x[1])
}

quantile_polished <- function(alpha, groups, df) {
  uniroot(function(q) tukey_tail(q, groups, df) - alpha, c(1, 400), tol = 1e-11)$root
}

groups <- function(design, data) {
  g <- factor(data$g); y <- data$y
  test <- oneway.test(y ~ g)
  rank_test <- kruskal.test(y, g)
  say(design, list(welch_F = unname(test$statistic), welch_df2 = unname(test$parameter[2]), welch_p = test$p.value,
                   kruskal_H = unname(rank_test$statistic), kruskal_p = rank_test$p.value))
  m <- tapply(y, g, mean); v <- tapply(y, g, var); n <- tapply(y, g, length)
  r <- rank(y); big <- length(y); ties <- table(y)
  s2 <- big * (big + 1) / 12 - sum(ties^3 - ties) / (12 * (big - 1))
  mr <- tapply(r, g, mean)
  pooled <- lm(y ~ g)
  pairs <- combn(levels(g), 2)
  dunn <- p.adjust(apply(pairs, 2, function(p) 2 * pnorm(-abs(mr[p[1]] - mr[p[2]]) / sqrt(s2 * (1 / n[p[1]] + 1 / n[p[2]])))), "holm")
  margin <- 0.8
  same <- p.adjust(apply(pairs, 2, function(p) {
    a <- y[g == p[1]]; b <- y[g == p[2]]
    max(t.test(a, b, mu = margin, alternative = "less")$p.value, t.test(a, b, mu = -margin, alternative = "greater")$p.value)
  }), "holm")
  for (i in seq_len(ncol(pairs))) {
    a <- pairs[1, i]; b <- pairs[2, i]
    welch <- t.test(y[g == a], y[g == b])
    e <- sqrt((v[a] / n[a] + v[b] / n[b]) / 2)
    df <- unname(welch$parameter)
    reach <- quantile_polished(0.05, nlevels(g), df) * e
    name <- function(what) paste(what, a, b, sep = "|")
    sd <- sqrt((v[a] + v[b]) / 2)
    correction <- gamma(df / 2) / (sqrt(df / 2) * gamma((df - 1) / 2))
    row <- c(df, tukey_tail(abs(m[a] - m[b]) / e, nlevels(g), df), m[a] - m[b] - reach,
             m[a] - m[b] + reach, dunn[i], same[i], (m[a] - m[b]) / sd * correction,
             mean(sign(outer(y[g == a], y[g == b], "-"))))
    names(row) <- name(c("gh_df", "gh_p", "gh_low", "gh_high", "dunn_p", "tost_p", "hedges", "cliff"))
    say(design, as.list(row))
  }
  for (level in levels(g)) {
    limits <- t.test(y[g == level])$conf.int
    row <- list(limits[1], limits[2], one_sided_dunnett(n, level, df.residual(pooled)))
    names(row) <- paste(c("own_low", "own_high", "dunnett"), level, sep = "|")
    say(design, row)
  }
}

# Dunnett's one-sided critical value for unequal sizes, by nested integrate().
one_sided_dunnett <- function(n, control, df) {
  others <- n[names(n) != control]
  l <- sqrt(others / (others + n[[control]]))
  inside <- function(d) integrate(function(z) {
    value <- dnorm(z)
    for (one in l) value <- value * pnorm((d + one * z) / sqrt(1 - one^2))
    value
  }, -9, 9, rel.tol = 1e-11, subdivisions = 1000)$value
  covered <- function(d) integrate(function(s) {
    vapply(s, function(one) inside(d * one), 0) * dchisq(df * s^2, df) * 2 * df * s
  }, sqrt(qchisq(1e-14, df) / df), sqrt(qchisq(1e-14, df, lower.tail = FALSE) / df), rel.tol = 1e-10, subdivisions = 1000)$value
  uniroot(function(d) covered(d) - 0.95, c(1.2, 8), tol = 1e-11)$root
}

regress <- function(design, data) {
  g <- factor(data$g); x <- data$x; y <- data$y
  for (level in levels(g)) {
    model <- lm(y[g == level] ~ x[g == level])
    limits <- confint(model)
    row <- list(coef(model)[[2]], limits[2, 1], limits[2, 2], coef(model)[[1]], limits[1, 1], limits[1, 2],
                summary(model)$r.squared)
    names(row) <- paste(c("slope", "slope_low", "slope_high", "intercept", "intercept_low", "intercept_high", "r2"),
                        level, sep = "|")
    say(design, row)
  }
  nested <- list("equal slopes" = anova(lm(y ~ g + x), lm(y ~ g * x)),
                 "equal intercepts, whatever the slopes" = anova(lm(y ~ x:g), lm(y ~ g + x:g)),
                 "equal intercepts of parallel lines" = anova(lm(y ~ x), lm(y ~ g + x)),
                 "one common line" = anova(lm(y ~ x), lm(y ~ g * x)))
  for (name in names(nested)) {
    row <- list(nested[[name]]$F[2], nested[[name]]$`Pr(>F)`[2], nested[[name]]$Res.Df[2])
    names(row) <- paste(c("F", "p", "df2"), name, sep = "|")
    say(design, row)
  }
}

# Split plots: repetitions averaged; aov in strata where every load has every cell, nested lm otherwise.
plots <- function(design, data) {
  for (name in c("a", "b", "load")) data[[name]] <- factor(data[[name]])
  data <- aggregate(y ~ a + b + load, data, mean)
  data$load <- factor(data$load)
  complete <- all(table(data$load) == nlevels(data$b))
  rss <- function(formula) { model <- lm(formula, data); c(deviance(model), df.residual(model)) }
  full <- rss(y ~ load + a:b); only_b <- rss(y ~ load + b); none <- rss(y ~ load)
  ms_w <- full[1] / full[2]
  say(design, list(ms_within = ms_w, df_within = full[2]))
  row <- function(name, small, large) {
    df <- small[2] - large[2]
    f <- (small[1] - large[1]) / df / ms_w
    values <- list(f, pf(f, df, full[2], lower.tail = FALSE))
    names(values) <- paste(name, c("F", "p"), sep = "|")
    say(design, values)
  }
  row("b", none, only_b)
  row("a:b", only_b, full)

  # The mean of each load over all cells, as weights on the values: the procedure applied to unit vectors.
  grid <- expand.grid(load = levels(data$load), b = levels(data$b))
  grid$a <- data$a[match(grid$load, data$load)]
  predicted <- function(y) {
    data$y <- y
    suppressWarnings(predict(lm(y ~ load + a:b, data), grid))
  }
  weights <- sapply(seq_len(nrow(data)), function(i) predicted(as.numeric(seq_len(nrow(data)) == i)))
  over <- function(key) rowsum(weights, key) / as.vector(table(key))
  load_mean <- over(as.character(grid$load))
  of_load <- data$a[match(rownames(load_mean), data$load)]
  u <- as.vector(load_mean %*% data$y)
  between <- anova(lm(u ~ of_load))
  say(design, list("a|F" = between$`F value`[1], "a|p" = between$`Pr(>F)`[1], ms_between = between$`Mean Sq`[2],
                   df_between = between$Df[2]))
  if (complete) {
    strata <- summary(aov(y ~ a * b + Error(load), data))
    load_table <- strata[["Error: load"]][[1]]; within <- strata[["Error: Within"]][[1]]
    stopifnot(isTRUE(all.equal(load_table$`F value`[1], between$`F value`[1])),
              isTRUE(all.equal(within$`Mean Sq`[3], ms_w)))
    say(design, list("aov|a|F" = load_table$`F value`[1], "aov|b|F" = within$`F value`[1],
                     "aov|a:b|F" = within$`F value`[2], "aov|ss_between" = load_table$`Sum Sq`[2]))
  }
  cell <- paste(grid$a, grid$b, sep = ",")
  means <- over(cell)
  on_load <- means %*% model.matrix(~ 0 + load, data)
  m <- as.vector(means %*% data$y)
  design_u <- model.matrix(~ 0 + of_load)
  project <- diag(length(u)) - design_u %*% solve(crossprod(design_u), t(design_u))
  share <- sum(diag(project %*% load_mean %*% t(load_mean))) / between$Df[2]
  ms_u <- between$`Mean Sq`[2]
  names <- rownames(means)
  for (i in seq_along(names)) for (j in seq_along(names)) if (i != j) {
    cu <- sum((on_load[i, ] - on_load[j, ])^2)
    cw <- sum((means[i, ] - means[j, ])^2) - share * cu
    if (abs(cu) < 1e-12) cu <- 0
    if (abs(cw) < 1e-12) cw <- 0
    variance <- cu * ms_u + cw * ms_w
    df <- variance^2 / ((cu * ms_u)^2 / between$Df[2] + (cw * ms_w)^2 / full[2])
    p <- tukey_tail(abs(m[i] - m[j]) / sqrt(variance / 2), length(m), df)
    values <- list(m[i] - m[j], df, p)
    names(values) <- paste(c("diff", "df", "p"), names[i], names[j], sep = "|")
    say(design, values)
  }
}

for (path in commandArgs(trailingOnly = TRUE)) {
  design <- basename(path)
  data <- read.csv(path, stringsAsFactors = FALSE)
  kind <- sub("-.*", "", design)
  switch(kind, groups = groups(design, data), lines = regress(design, data), plots = plots(design, data))
}
