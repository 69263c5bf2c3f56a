# Mutants of the driver that an assertion must catch, with a program that compares nothing (assertions_scenario.cc).
add_library(driver-scenario OBJECT assertions_scenario.cc)
target_link_libraries(driver-scenario PRIVATE edgejoule_driver_run edgejoule_flags)

add_executable(driver-without-mutation $<TARGET_OBJECTS:driver-scenario>)
target_link_libraries(driver-without-mutation PRIVATE edgejoule_driver_run edgejoule_flags)
set_target_properties(driver-without-mutation PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_CURRENT_BINARY_DIR}/mutants)
add_test(NAME driver_mutant.none_ends_without_an_assertion COMMAND driver-without-mutation)

# message: of the assertion, a regular expression.
function(driver_mutant name file old new message)
  edgejoule_mutant(driver-mutant-${name} ../${file} "${old}" "${new}" TEST driver_mutant.${name}_is_caught
    MESSAGE "internal error: .*assertion failed: ${message}" LINK driver-scenario edgejoule_driver_run ZLIB::ZLIB
    ${ARGN})
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

# Of the key distributions. The client of YCSB's core workload includes the header.
function(driver_keys_mutant name old new message)
  driver_mutant(${name} workload/core/key_chooser.h "${old}" "${new}" "${message}" BESIDE core_workload.h core_client.h core_client.cc)
endfunction()
driver_keys_mutant(uniform_keys_end_one_too_high "random.below(requests_.count);\n      case" "random.below(requests_.count + 1);\n      case"
  "number - requests_.first < requests_.count")
driver_keys_mutant(zipfian_keys_begin_at_0 "return requests_.first + zipfian_" "return zipfian_" "number >= requests_.first")
driver_keys_mutant(latest_key_is_yet_to_be_inserted "latest_.next(random, end - 1)" "latest_.next(random, end)" "number < end")
driver_keys_mutant(the_hot_set_counts_twice "random.below(requests_.count - requests_.hot)" "random.below(requests_.count)"
  "number - requests_.first < requests_.count")
driver_keys_mutant(exponential_ages_begin_at_0 "return end - 1 - std::min" "return end - std::min" "number < end")
driver_keys_mutant(sequential_keys_do_not_wrap "if (position_ >= requests_.count) position_ -= requests_.count;" ""
  "position_ < requests_.count")
driver_mutant(the_ranges_of_mixgraph_begin_at_1 workload/db_bench/mixgraph_law.cc
  "range_keys_ * ranges_->place(draws[i])" "range_keys_ * (ranges_->place(draws[i]) + 1)" "keys.i. < parameters_.keys")
driver_mutant(sequential_reads_end_one_row_late workload/sqlite_bench/read_clients.cc
  "sequential_ && place_ >= rows_" "sequential_ && place_ > rows_" "row < rows_")
