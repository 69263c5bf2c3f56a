# Rscript golden_tests.R > golden_tests.json: what R says about documented data sets, and the data sets as CSV.
# Welch, Kruskal-Wallis, split plots in Error strata, lines; Games-Howell and Dunn by their formulas.
number <- function(x) ifelse(is.na(x), "null", sprintf("%.17g", x))
object <- function(names, values) paste0("{", paste0('"', names, '": ', values, collapse = ", "), "}")
figures <- function(...) {
  values <- c(...)
  object(names(values), number(values))
}
save <- function(data, name) write.csv(data, paste0(name, ".csv"), row.names = FALSE, quote = FALSE)

strata <- function(model) {
  parts <- summary(model)
  rows <- character()
  for (stratum in names(parts)) {
    table <- parts[[stratum]][[1]]
    for (i in seq_len(nrow(table))) {
      key <- paste(sub("Error: ", "", stratum), trimws(rownames(table)[i]), sep = "|")
      row <- unlist(table[i, ])
      rows[key] <- figures(df = row[[1]], ss = row[[2]], F = if (ncol(table) > 3) row[[4]] else NA,
                           p = if (ncol(table) > 3) row[[5]] else NA)
    }
  }
  object(names(rows), rows)
}

welch <- function(formula, data) {
  test <- oneway.test(formula, data)
  figures(F = unname(test$statistic), df1 = unname(test$parameter[1]), df2 = unname(test$parameter[2]), p = test$p.value)
}

kruskal <- function(formula, data) {
  test <- kruskal.test(formula, data)
  figures(H = unname(test$statistic), df = unname(test$parameter), p = test$p.value)
}

games_howell <- function(y, g) {
  m <- tapply(y, g, mean); v <- tapply(y, g, var) / tapply(y, g, length); n <- tapply(y, g, length)
  pairs <- combn(names(m), 2)
  rows <- apply(pairs, 2, function(pair) {
    a <- pair[1]; b <- pair[2]
    df <- (v[a] + v[b])^2 / (v[a]^2 / (n[a] - 1) + v[b]^2 / (n[b] - 1))
    q <- abs(m[a] - m[b]) / sqrt((v[a] + v[b]) / 2)
    figures(diff = unname(m[b] - m[a]), df = unname(df), p = unname(ptukey(q, length(m), df, lower.tail = FALSE)))
  })
  object(apply(pairs, 2, paste, collapse = "|"), rows)
}

dunn <- function(y, g) {
  r <- rank(y); big <- length(y); ties <- table(y)
  s2 <- big * (big + 1) / 12 - sum(ties^3 - ties) / (12 * (big - 1))
  m <- tapply(r, g, mean); n <- tapply(r, g, length)
  pairs <- combn(names(m), 2)
  z <- apply(pairs, 2, function(pair) (m[pair[2]] - m[pair[1]]) / sqrt(s2 * (1 / n[pair[1]] + 1 / n[pair[2]])))
  p <- p.adjust(2 * pnorm(-abs(z)), "holm")
  object(apply(pairs, 2, paste, collapse = "|"), mapply(function(z, p) figures(z = z, p = p), z, p))
}

lines_json <- function(y, x, g) {
  rows <- vapply(levels(g), function(level) {
    model <- lm(y[g == level] ~ x[g == level])
    limits <- confint(model)
    figures(intercept = unname(coef(model)[1]), slope = unname(coef(model)[2]), r2 = summary(model)$r.squared,
            slope_low = limits[2, 1], slope_high = limits[2, 2],
            intercept_low = limits[1, 1], intercept_high = limits[1, 2])
  }, character(1))
  slopes <- anova(lm(y ~ g + x), lm(y ~ g * x))
  free <- anova(lm(y ~ x:g), lm(y ~ g + x:g))
  parallel <- anova(lm(y ~ x), lm(y ~ g + x))
  one <- anova(lm(y ~ x), lm(y ~ g * x))
  tests <- c(slopes$F[2], slopes$`Pr(>F)`[2], free$F[2], free$`Pr(>F)`[2], parallel$F[2], parallel$`Pr(>F)`[2],
             one$F[2], one$`Pr(>F)`[2])
  names(tests) <- c("slopes_F", "slopes_p", "free_F", "free_p", "parallel_F", "parallel_p", "one_F", "one_p")
  object(c(levels(g), "tests"), c(rows, figures(tests)))
}

oats <- data.frame(
  block = factor(rep(1:6, each = 12)),
  variety = factor(rep(rep(c("Victory", "Golden.rain", "Marvellous"), each = 4), 6)),
  nitrogen = factor(rep(c(0, 0.2, 0.4, 0.6), 18)),
  yield = c(111, 130, 157, 174, 117, 114, 161, 141, 105, 140, 118, 156, 61, 91, 97, 100, 70, 108, 126, 149, 96, 124,
            121, 144, 68, 64, 112, 86, 60, 102, 89, 96, 89, 129, 132, 124, 74, 89, 81, 122, 64, 103, 132, 133, 70, 89,
            104, 117, 62, 90, 100, 116, 80, 82, 94, 126, 63, 70, 109, 99, 53, 74, 118, 113, 89, 82, 86, 104, 97, 99,
            119, 121))
oats$plot <- factor(paste(oats$block, oats$variety, sep = "."))
save(oats, "oats")
plants <- data.frame(plant = CO2$Plant, origin = CO2$Type, treatment = CO2$Treatment, conc = factor(CO2$conc),
                     uptake = CO2$uptake)
save(plants, "CO2")
save(npk, "npk")
save(InsectSprays, "InsectSprays")
air <- na.omit(data.frame(month = factor(airquality$Month), ozone = airquality$Ozone))
save(air, "airquality")
flowers <- data.frame(species = iris$Species, petal = iris$Petal.Length, sepal = iris$Sepal.Length)
save(flowers, "iris")

breaks <- interaction(warpbreaks$wool, warpbreaks$tension, sep = ",")
cat(object(
  c("r_version", "PlantGrowth", "warpbreaks", "InsectSprays", "airquality", "CO2", "npk", "oats", "iris"), c(
  paste0('"', getRversion(), '"'),
  object(c("welch", "games_howell"),
         c(welch(weight ~ group, PlantGrowth), games_howell(PlantGrowth$weight, PlantGrowth$group))),
  object(c("welch", "games_howell"),
         c(welch(breaks ~ interaction(wool, tension), warpbreaks), games_howell(warpbreaks$breaks, breaks))),
  object(c("kruskal", "dunn"), c(kruskal(count ~ spray, InsectSprays), dunn(InsectSprays$count, InsectSprays$spray))),
  object(c("kruskal", "dunn", "welch"), c(kruskal(ozone ~ month, air), dunn(air$ozone, air$month),
                                          welch(ozone ~ month, air))),
  strata(aov(uptake ~ origin * treatment * conc + Error(plant), plants)),
  strata(aov(yield ~ N * P * K + Error(block), npk)),
  strata(aov(yield ~ nitrogen * variety + Error(block / variety), oats)),
  lines_json(flowers$sepal, flowers$petal, flowers$species)
)), "\n")
