"""What replaces things that are gone."""

#: What replaces `edgejoule eco trial`.
TRIAL = (
    "it is an ordinary study now, `edgejoule run experiments/eco-real` (root); of its options `--rounds N` is "
    "`--set design.replications=N`, `--duration S` is `--set fixed.duration_s=S`, `--out` is `--store`. CHANGELOG, "
    "Removed, has the others"
)
