# Mutants of the server table that an assertion must catch: tracker.cc with one piece of text replaced and its checks after
# each change, linked before the library, with a program that compares nothing.
add_library(eco-tracker-scenario OBJECT tracker_scenario.cc)
target_include_directories(eco-tracker-scenario SYSTEM PRIVATE ${ECO_ROCKSDB_INCLUDE})
target_link_libraries(eco-tracker-scenario PRIVATE eco_node fmt::fmt edgejoule_flags)

# condition: of the assertion, a regular expression. Without one: no mutant, and no assertion fails.
function(eco_tracker_mutant name old new)
  set(source_path ${CMAKE_CURRENT_SOURCE_DIR}/../tracker.cc)
  file(READ ${source_path} source)
  string(FIND "${source}" "${old}" found)
  if(found EQUAL -1)
    message(FATAL_ERROR "eco mutant ${name}: tracker.cc has no text: ${old}")
  endif()
  string(REPLACE "${old}" "${new}" mutated "${source}")
  set(path ${CMAKE_CURRENT_BINARY_DIR}/mutants/tracker_${name}.cc)
  file(CONFIGURE OUTPUT ${path} CONTENT "${mutated}" @ONLY)
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${source_path})
  add_executable(eco-tracker-${name} ${path} $<TARGET_OBJECTS:eco-tracker-scenario>)
  set_source_files_properties(${path} PROPERTIES COMPILE_OPTIONS "-UNDEBUG;-Wno-unused")
  target_include_directories(eco-tracker-${name} PRIVATE ..)
  set_target_properties(eco-tracker-${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_CURRENT_BINARY_DIR}/mutants)
  target_link_libraries(eco-tracker-${name} PRIVATE eco_node fmt::fmt edgejoule_flags)
  add_test(NAME eco_tracker.${name} COMMAND eco-tracker-${name})
  if(ARGN)
    set_tests_properties(eco_tracker.${name} PROPERTIES
      PASS_REGULAR_EXPRESSION "a mistake in eco: .*does not hold: ${ARGN}" TIMEOUT 60)
  endif()
endfunction()

eco_tracker_mutant(no_mutation "Tracker" "Tracker")
eco_tracker_mutant(catches_a_server_under_anothers_name "servers_[at->second] = server_of(state);"
  "servers_.front() = server_of(state);" "i < entries_.size.. && servers_.i..name == name")
eco_tracker_mutant(catches_ended_jobs_that_are_added "entry.state.jobs() - ended + placed" "entry.state.jobs() + ended + placed"
  "servers_.i..jobs <= entry.state.jobs")
eco_tracker_mutant(catches_placed_jobs_that_do_not_count "entry.state.jobs() - ended + placed" "entry.state.jobs() - ended"
  "servers_.i..jobs >= entry.placed.size")
eco_tracker_mutant(catches_servers_that_move_without_their_index "index_[servers_[i].name] = kept;" ""
  "i < entries_.size.. && servers_.i..name == name")
eco_tracker_mutant(catches_a_forgotten_server_in_the_index "index_.erase(servers_[i].name);" ""
  "index_.size.. == entries_.size")
