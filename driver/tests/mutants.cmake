# Mutants that an assertion must catch: one source of the driver with one piece of text replaced, linked before the
# library, so that it replaces the library's file, with a program that compares nothing (assertions_scenario.cc).
add_library(driver-scenario OBJECT assertions_scenario.cc)
target_link_libraries(driver-scenario PRIVATE edgejoule_driver_run edgejoule_flags)

add_executable(driver-without-mutation $<TARGET_OBJECTS:driver-scenario>)
target_link_libraries(driver-without-mutation PRIVATE edgejoule_driver_run edgejoule_flags)
set_target_properties(driver-without-mutation PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_CURRENT_BINARY_DIR}/mutants)
add_test(NAME driver_mutant.none_ends_without_an_assertion COMMAND driver-without-mutation)

# message: of the assertion, a regular expression.
function(driver_mutant name file old new message)
  get_filename_component(source_path ${CMAKE_CURRENT_SOURCE_DIR}/../${file} ABSOLUTE)
  get_filename_component(folder ${source_path} DIRECTORY)
  file(READ ${source_path} source)
  string(FIND "${source}" "${old}" found)
  if(found EQUAL -1)
    message(FATAL_ERROR "driver mutant ${name}: ${file} has no text: ${old}")
  endif()
  string(REPLACE "${old}" "${new}" mutated "${source}")
  set(path ${CMAKE_CURRENT_BINARY_DIR}/mutants/${name}.cc)
  file(CONFIGURE OUTPUT ${path} CONTENT "${mutated}" @ONLY)
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${source_path})
  add_executable(driver-mutant-${name} ${path} $<TARGET_OBJECTS:driver-scenario>)
  set_source_files_properties(${path} PROPERTIES COMPILE_OPTIONS "-Wno-unused;-Wno-unused-parameter")
  set_target_properties(driver-mutant-${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_CURRENT_BINARY_DIR}/mutants)
  target_include_directories(driver-mutant-${name} PRIVATE ${folder})
  target_link_libraries(driver-mutant-${name} PRIVATE edgejoule_driver_run ZLIB::ZLIB edgejoule_flags)
  # ctest calls an aborted program a failure whatever it printed.
  add_test(NAME driver_mutant.${name}_is_caught COMMAND sh -c "\"$0\" 2>&1; true" $<TARGET_FILE:driver-mutant-${name}>)
  set_tests_properties(driver_mutant.${name}_is_caught PROPERTIES
    PASS_REGULAR_EXPRESSION "a mistake in the program: .*does not hold: ${message}" TIMEOUT 60)
endfunction()

driver_mutant(the_largest_latency_is_not_merged run/histogram.cc
  "i <= index_of(other.max_); ++i) {" "i < index_of(other.max_); ++i) {" "added == other.count_")
driver_mutant(an_emptied_histogram_has_its_count run/histogram.cc
  "count_ = sum_ = max_ = 0" "sum_ = max_ = 0" "(added == other.count_|latencies.count|sum_ == 0|counts_)")
driver_mutant(the_last_counter_is_not_encoded run/histogram_codec.cc
  "Histogram::index_of(histogram.max()) + 1" "Histogram::index_of(histogram.max())" "counted == histogram.count")
driver_mutant(one_operation_too_many_is_shared_out run/crew.cc
  "place < operations % count" "place <= operations % count" "shared_out == operations")
driver_mutant(the_client_writes_what_it_handed_over run/client.cc
  "measured_ = empty;" "" "(empty != measured_|.*latencies.count|added == other.count_)")
driver_mutant(returned_calls_are_not_counted run/client.cc
  "+= calls;\n  const auto service_ns" "+= 0 * calls;\n  const auto service_ns" "latencies.count.. <= returns")
driver_mutant(a_batch_is_always_whole workload/core/core_client.cc
  "std::min<std::uint64_t>(batch_.size(), most)" "batch_.size() + 0 * most" "count <= planned - worked")
driver_mutant(another_insert_is_acknowledged workload/core/core_client.cc
  "inserted.acknowledge(number)" "inserted.acknowledge(number + 1)" "(number < next_|number - first|!done_)")
driver_mutant(keys_begin_one_too_high workload/core/zipfian.cc
  ": first_(first), places_" ": first_(first + 1), places_" "number - requests_.first < requests_.count")
driver_mutant(operations_are_due_in_a_pause run/rate_schedule.cc
  "std::ranges::upper_bound(law.end_ops, rest)" "std::ranges::lower_bound(law.end_ops, rest)" "step < law.steps.size")
