"""An experiment as a bundle, as Parquet, as a table of runs."""
