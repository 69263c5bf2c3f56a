# Included by a folder of tests: their sources are compiled with less optimisation than the product's, which they link.
# That shortens the build by a third; the tests take as long.
if(EDGEJOULE_SANITIZE)
  add_compile_options(-O0)
else()
  add_compile_options(-O1)
endif()
