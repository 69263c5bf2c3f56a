# Rscript golden.R > golden.json: what R says about its own data sets PlantGrowth and warpbreaks.
number <- function(x) ifelse(is.na(x), "null", sprintf("%.17g", x))

object <- function(names, values) paste0("{", paste0('"', names, '": ', values, collapse = ", "), "}")

table_json <- function(model) {
  table <- summary(model)[[1]]
  rows <- vapply(seq_len(nrow(table)), function(i) {
    object(c("df", "ss", "ms", "F", "p"), number(unlist(table[i, ])))
  }, character(1))
  object(trimws(rownames(table)), rows)
}

tukey_json <- function(model, term) {
  pairs <- TukeyHSD(model, term)[[1]]
  rows <- vapply(seq_len(nrow(pairs)), function(i) {
    object(c("diff", "lwr", "upr", "p_adj"), number(pairs[i, ]))
  }, character(1))
  object(rownames(pairs), rows)
}

growth <- aov(weight ~ group, PlantGrowth)
breaks <- aov(breaks ~ wool * tension, warpbreaks)
shapiro <- function(model) {
  test <- shapiro.test(residuals(model))
  object(c("statistic", "p"), number(c(test$statistic, test$p.value)))
}
cat(object(c("r_version", "PlantGrowth", "warpbreaks"), c(
  paste0('"', getRversion(), '"'),
  object(c("anova", "tukey_group", "shapiro"),
         c(table_json(growth), tukey_json(growth, "group"), shapiro(growth))),
  object(c("anova", "tukey_wool", "tukey_tension", "tukey_wool:tension", "shapiro"),
         c(table_json(breaks), tukey_json(breaks, "wool"), tukey_json(breaks, "tension"),
           tukey_json(breaks, "wool:tension"), shapiro(breaks)))
)), "\n")
