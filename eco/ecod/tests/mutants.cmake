# Mutants of the server table that an assertion must catch: tracker.cc with its checks after each change, and a program
# that compares nothing.
add_library(eco-tracker-scenario OBJECT tracker_scenario.cc)
target_include_directories(eco-tracker-scenario SYSTEM PRIVATE ${ECO_ROCKSDB_INCLUDE})
target_link_libraries(eco-tracker-scenario PRIVATE eco_node fmt::fmt edgejoule_flags)

# condition: of the assertion, a regular expression. Without one: no mutant, and no assertion fails.
function(eco_tracker_mutant name old new)
  set(expected UNCAUGHT)
  if(ARGN)
    set(expected MESSAGE "internal error in eco: .*assertion failed: ${ARGN}")
  endif()
  edgejoule_mutant(eco-tracker-${name} ../tracker.cc "${old}" "${new}" TEST eco_tracker.${name} ${expected}
    LINK eco-tracker-scenario eco_node fmt::fmt OPTIONS -UNDEBUG)
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
