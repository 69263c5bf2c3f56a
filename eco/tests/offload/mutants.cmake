# Mutants of the job table that an assertion must catch: attempts.cc with its checks after each change, and a program that
# compares no result.
add_library(eco-attempts-scenario OBJECT attempts_scenario.cc)
target_link_libraries(eco-attempts-scenario PRIVATE eco-bench-bed edgejoule_flags)

# condition: of the assertion, a regular expression. Without one: no mutant, and no assertion fails.
function(eco_attempts_mutant name old new)
  set(expected UNCAUGHT)
  if(ARGN)
    set(expected MESSAGE "internal error in eco: .*assertion failed: ${ARGN}")
  endif()
  edgejoule_mutant(eco-attempts-${name} ../../offload/attempts.cc "${old}" "${new}" TEST eco_attempts.${name} ${expected}
    LINK eco-attempts-scenario eco-bench-bed OPTIONS -UNDEBUG)
  set_tests_properties(eco_attempts.${name} PROPERTIES LABELS slow)
endfunction()

eco_attempts_mutant(no_mutation "Attempts" "Attempts")
eco_attempts_mutant(catches_an_accepted_job_that_is_still_at_its_worker "  tracked.remote.reset();\n" ""
  ".job.remote != nullptr. != job.accepted")
eco_attempts_mutant(catches_a_failed_job_that_stays "  jobs_.erase(id);\n  if constexpr" "  if constexpr"
  ".job.remote != nullptr. != job.accepted")
eco_attempts_mutant(catches_an_installed_job_that_stays "job = jobs_.erase(job);" "++job;" "job.report.job.. == id")
eco_attempts_mutant(catches_a_job_without_an_address "tracked.address = placement.address();" "" "job.report.job.. == id")
eco_attempts_mutant(catches_a_failure_that_counts_twice "ended.elsewhere = true;\n  if constexpr"
  "ended.elsewhere = true, ++statistics_.fell_back;\n  if constexpr" "s.installed . s.fell_back <= s.asked")
