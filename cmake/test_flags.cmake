# Included by a folder of tests: their sources are compiled with less optimisation than the product's, which they link.
# That halves the time of the build; the tests take as long.
add_compile_options($<IF:$<BOOL:${EDGEJOULE_SANITIZE}>,-O0,-O1>)
