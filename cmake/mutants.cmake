# Mutants: copies of a source with one piece of text replaced. A test demands that each is caught.
include_guard(GLOBAL)

# Writes the copy to the folder mutants/ or one below it and sets path_variable to its path. Fails where the source lacks
# the text.
function(edgejoule_mutated path_variable name source old new)
  get_filename_component(source ${source} ABSOLUTE)
  file(READ ${source} text)
  string(FIND "${text}" "${old}" position)
  if(position EQUAL -1)
    message(FATAL_ERROR "mutant ${name}: ${source} lacks the text: ${old}")
  endif()
  string(REPLACE "${old}" "${new}" text "${text}")
  get_filename_component(extension ${source} LAST_EXT)
  set(path ${CMAKE_CURRENT_BINARY_DIR}/mutants/${name}${extension})
  file(CONFIGURE OUTPUT ${path} CONTENT "${text}" @ONLY)
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${source})
  set_property(SOURCE ${path} PROPERTY COMPILE_OPTIONS -Wno-unused -Wno-unused-parameter -Wno-type-limits)
  set(${path_variable} ${path} PARENT_SCOPE)
endfunction()

# Adds the program `name` and the test TEST. The program links the copy before the library, so that the copy replaces the
# library's file.
# LINK: the program's object library and the library. OPTIONS: compile the copy. ARGUMENTS: of the program.
# BESIDE: for a header, sources of its folder that are compiled with it and headers through which they include it.
# The test passes if the program fails. With MESSAGE, a regular expression: if the program prints it, for an
# assertion. With UNCAUGHT: if the program succeeds, for a copy without a mistake.
function(edgejoule_mutant name source old new)
  cmake_parse_arguments(PARSE_ARGV 4 MUTANT UNCAUGHT "TEST;MESSAGE" "LINK;OPTIONS;ARGUMENTS;BESIDE")
  get_filename_component(folder ${source} DIRECTORY)
  if(MUTANT_BESIDE)
    get_filename_component(header ${source} NAME_WE)
    edgejoule_mutated(path ${name}-sources/${header} ${source} "${old}" "${new}")
    foreach(file ${MUTANT_BESIDE})
      configure_file(${folder}/${file} mutants/${name}-sources/${file} COPYONLY)
      list(APPEND path ${CMAKE_CURRENT_BINARY_DIR}/mutants/${name}-sources/${file})
    endforeach()
  else()
    edgejoule_mutated(path ${name} ${source} "${old}" "${new}")
  endif()
  add_executable(${name} ${path})
  target_include_directories(${name} PRIVATE ${folder})
  target_compile_options(${name} PRIVATE ${MUTANT_OPTIONS})
  target_link_libraries(${name} PRIVATE ${MUTANT_LINK} edgejoule_flags)
  set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_CURRENT_BINARY_DIR}/mutants)
  set(program $<TARGET_FILE:${name}> ${MUTANT_ARGUMENTS})
  if(MUTANT_UNCAUGHT)
    add_test(NAME ${MUTANT_TEST} COMMAND ${program})
  elseif(MUTANT_MESSAGE)
    # ctest calls an aborted program a failure whatever it printed.
    add_test(NAME ${MUTANT_TEST} COMMAND sh -c "\"$0\" \"$@\" 2>&1; true" ${program})
    set_property(TEST ${MUTANT_TEST} PROPERTY PASS_REGULAR_EXPRESSION "${MUTANT_MESSAGE}")
  else()
    # An aborted mutant is caught too. One that was not built is not.
    add_test(NAME ${MUTANT_TEST} COMMAND sh -c "test ! -x \"$0\" || \"$0\" \"$@\" || exit 1" ${program})
    set_property(TEST ${MUTANT_TEST} PROPERTY WILL_FAIL TRUE)
    set_property(TEST ${MUTANT_TEST} PROPERTY LABELS slow) # it checks a test and not the product
  endif()
  set_property(TEST ${MUTANT_TEST} PROPERTY TIMEOUT 400)
endfunction()
