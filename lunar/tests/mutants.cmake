# Mutants of the library that a suite must catch: one source file with one piece of text replaced, linked before the
# library, so that it takes the place of its own.
function(lunar_mutant_of suite name file old new)
  file(READ ${CMAKE_CURRENT_SOURCE_DIR}/../src/${file} source)
  string(FIND "${source}" "${old}" found)
  if(found EQUAL -1)
    message(FATAL_ERROR "lunar mutant ${name}: ${file} has no text: ${old}")
  endif()
  string(REPLACE "${old}" "${new}" mutated "${source}")
  set(path ${CMAKE_CURRENT_BINARY_DIR}/mutants/${name}.c)
  file(CONFIGURE OUTPUT ${path} CONTENT "${mutated}" @ONLY)
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/../src/${file})
  add_executable(lunar-mutant-${name} ${path} $<TARGET_OBJECTS:lunar-${suite}>)
  set_source_files_properties(${path} PROPERTIES COMPILE_OPTIONS "-Wno-unused;-Wno-type-limits")
  set_target_properties(lunar-mutant-${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_CURRENT_BINARY_DIR}/mutants)
  target_include_directories(lunar-mutant-${name} PRIVATE ../src)
  target_link_libraries(lunar-mutant-${name} PRIVATE lunar_emubd lunar_posix GTest::gtest_main edgejoule_flags)
  set(arguments ${ARGN})
  if(NOT arguments)
    set(arguments --gtest_filter=*${suite}.*)
  endif()
  # A mutant that ends itself is caught as well.
  add_test(NAME lunar_mutant.${name}_is_caught
    COMMAND sh -c "test ! -x \"$0\" || \"$0\" \"$@\" || exit 1" $<TARGET_FILE:lunar-mutant-${name}> ${arguments})
  set_tests_properties(lunar_mutant.${name}_is_caught PROPERTIES WILL_FAIL TRUE TIMEOUT 120)
endfunction()

if(EDGEJOULE_SANITIZE MATCHES thread)
  lunar_mutant_of(Threads the_lock_is_given_back_at_once operations.c "db->config->lock(db->config);"
    "db->config->lock(db->config), db->config->unlock(db->config);")
  lunar_mutant_of(Threads a_get_without_the_lock operations.c
    "return ln_leave(table->db, get(table, key, row, row_bytes, values));"
    "(void)ln_leave(table->db, 0);\n  return get(table, key, row, row_bytes, values);")
endif()
if(EDGEJOULE_SANITIZE) # it finds nothing else in a mutant
  return()
endif()

add_library(lunar-PowerCuts OBJECT power_cut_test.cc world.cc)
target_link_libraries(lunar-PowerCuts PRIVATE lunar_emubd GTest::gtest_main edgejoule_flags)
add_library(lunar-IoErrors OBJECT io_error_test.cc world.cc)
target_link_libraries(lunar-IoErrors PRIVATE lunar_emubd GTest::gtest_main edgejoule_flags)
add_library(lunar-PortableList OBJECT portable/lines.c portable/portable_tests.c portable_test.cc)
target_include_directories(lunar-PortableList PRIVATE ../src)
target_link_libraries(lunar-PortableList PRIVATE lunar_emubd lunar_posix GTest::gtest_main edgejoule_flags)
add_library(lunar-Prefetch OBJECT prefetch_test.cc)
target_link_libraries(lunar-Prefetch PRIVATE lunar_emubd GTest::gtest_main edgejoule_flags)

function(lunar_mutant name file old new)
  lunar_mutant_of(PowerCuts "${name}" "${file}" "${old}" "${new}")
endfunction()

lunar_mutant(commit_without_flush log.c "return db->unsynced ? ln_device_sync(db) : 0;" "return 0;")
lunar_mutant(checkpoint_before_its_rows log.c "if (db->unsynced) LN_TRY(ln_device_sync(db));" "")
lunar_mutant(pages_before_their_checkpoint log.c
  "LN_TRY(write_checkpoint_group(db, &images_at));\n  LN_TRY(ln_device_sync(db));" "LN_TRY(write_checkpoint_group(db, &images_at));")
lunar_mutant(pages_before_their_before_images log.c "if (first != LN_NONE) LN_TRY(ln_device_sync(db));" "")
lunar_mutant(groups_unchecked recover.c "if (sum != group->body_sum) return 0;" "")
lunar_mutant(images_unchecked recover.c "if (sum != expected) return 0;" "")
lunar_mutant(nothing_put_back recover.c "return restorable ? put_back(db, found->before, 1) : 0;" "return 0;")
lunar_mutant(images_ignored recover.c "LN_TRY(put_checkpoint(db, found->base));" "")
lunar_mutant(freed_blocks_at_once alloc.c "!stamped(db, e) &&" "")
lunar_mutant(extents_unaware_of_small_rows extents.c "series->extents[i].sector < sector" "0")
lunar_mutant(in_place_although_put_back operations.c "if (!db->settled ||" "if (")
lunar_mutant(in_place_although_logged frames.c "(f && (f->flags & (LN_DIRTY | LN_PLAIN)) == LN_DIRTY)" "0")
lunar_mutant(in_place_although_in_a_group operations.c "return stamped < 0 ? stamped : !stamped;" "return 1;")
lunar_mutant(sync_without_updates_in_place volume.c ": ln_settle_plain(db, 0, LN_NONE));" ": 0);")
lunar_mutant(before_images_without_updates frames.c "if (f->flags & LN_PLAIN && !plain) error = ln_write_frame(db, f);" "")
lunar_mutant(metadata_without_images frames.c "if (kind >= LN_BLOCK) f->flags" "f->flags")
lunar_mutant(runs_over_what_is_staged log.c "db->stage_used ? 1 : db->stage_bytes" "db->stage_bytes")
lunar_mutant(runs_of_one_content log.c
  "memcpy(db->stage + i * sector_bytes(db), next->bytes" "memcpy(db->stage + i * sector_bytes(db), f->bytes")
lunar_mutant(runs_take_clean_neighbours log.c "return f && f->flags & LN_DIRTY && (!only" "return f && (!only")
lunar_mutant(images_left_out log.c "together ? 1 + count : 1" "1")

lunar_mutant_of(PortableList rollback_undoes_nothing operations.c
  "LN_TRY(ln_undo(db, 0));\n  return db->state == LN_BROKEN" "db->state = LN_READY;\n  return db->state == LN_BROKEN")
lunar_mutant_of(PortableList full_keeps_rows_in_ram log.c "!syncs_each(db)) return 0;" "1) return 0;")
lunar_mutant_of(PortableList volumes_have_one_number volume.c "*number = ln_checksum(" "(void)ln_checksum(")
lunar_mutant_of(PortableList freed_chunks_are_lost alloc.c "if (--e[LN_MAP_USED] == 0)" "if (--e[LN_MAP_USED] == 255)")
lunar_mutant_of(PortableList integers_unchecked rows.c "value->as.integer <= limit &&" "1 ||")
lunar_mutant_of(PortableList lock_kept_at_an_error operations.c "return error && db->config ? ln_leave(db, error) : error;" "return error;")
lunar_mutant_of(Prefetch read_ahead_of_writes device.c "ln_prefetch_forget(db, sector, count);" "")
lunar_mutant_of(Prefetch read_ahead_at_once prefetch.c "STREAK = 4" "STREAK = 1")
lunar_mutant_of(Prefetch read_ahead_never prefetch.c "db->ahead_streak < STREAK ||" "1 ||")

lunar_mutant_of(IoErrors writes_never_fail device.c "return db->config->write(db->config, sector, data, count) ? LUNAR_E_IO : 0;"
  "(void)db->config->write(db->config, sector, data, count); return 0;")
lunar_mutant_of(IoErrors reads_never_fail device.c "return db->config->read(db->config, sector, data, count) ? LUNAR_E_IO : 0;"
  "(void)db->config->read(db->config, sector, data, count); return 0;")
lunar_mutant_of(IoErrors flushes_never_fail device.c "if (db->config->sync(db->config)) return LUNAR_E_IO;" "(void)db->config->sync(db->config);")
lunar_mutant_of(IoErrors undo_forgotten operations.c "return error && changing ? ln_undo(db, error) : error;" "return error;")
lunar_mutant_of(IoErrors a_failed_write_takes_the_stage log.c "db->stage_used = used, db->series.sequence--;" "")
lunar_mutant_of(IoErrors no_doubt log.c "if (error) db->doubtful = 1;" "")
lunar_mutant_of(IoErrors a_failed_mount_is_usable volume.c "db->state = error ? LN_CLOSED : LN_READY;" "")

# Cuts, failures and mounts in any order.
add_library(lunar-Calls OBJECT ../fuzz/calls.cc ../fuzz/calls_test.cc)
target_include_directories(lunar-Calls PRIVATE . ../fuzz)
target_link_libraries(lunar-Calls PRIVATE lunar_emubd GTest::gtest_main edgejoule_flags)
lunar_mutant_of(Calls epochs_of_groups_unchecked recover.c "if (group->epoch != series->epoch && !later) return 0;" "(void)later;")
lunar_mutant_of(Calls no_log_kept_for_a_recovery log.c "db->series.log_used + db->log_before + images" "db->series.log_used + images")
# One run in five has it.
set_property(TEST lunar_mutant.no_log_kept_for_a_recovery_is_caught PROPERTY ENVIRONMENT LUNAR_SEED=6)

# Those that need a cut at the one right place: every cut of a workload finds them.
add_library(lunar-EveryCut OBJECT every_cut.cc world.cc)
target_link_libraries(lunar-EveryCut PRIVATE lunar_emubd edgejoule_flags)
function(lunar_every_cut_mutant name file old new)
  lunar_mutant_of(EveryCut ${name} ${file} "${old}" "${new}" 40000 ${ARGN})
endfunction()
# One cut in a hundred thousand is of their kind; these seeds have one early.
lunar_every_cut_mutant(lost_groups_before_those_of_a_recovery recover.c
  "(beyond && next.epoch" "(beyond < 0 && next.epoch" 22)
lunar_every_cut_mutant(torn_groups_made_whole recover.c "return ln_device_write(db, at, db->stage, 1);" "return 0;" 131)
lunar_every_cut_mutant(recovery_keeps_its_epoch recover.c "= found.epoch + 1;" "= found.epoch;")
lunar_every_cut_mutant(sequence_unchecked recover.c "group->sequence != series->sequence + 1 ||" "0 ||")
lunar_every_cut_mutant(checkpoint_before_its_images log.c
  "LN_TRY(write_images_of_dirty(db, LN_IMAGES, &images_at));\n" "LN_TRY(ln_write_in_place(db, 0));\n")
