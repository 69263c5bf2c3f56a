# Mutants of the library that an assertion must catch: linked with a library with assertions (src/modules.h) and with a
# program that compares nothing.
lunar_sources(sources)
add_library(lunar-asserting STATIC ${sources})
target_compile_features(lunar-asserting PRIVATE c_std_11)
target_include_directories(lunar-asserting PUBLIC ../include PRIVATE ../src)
target_compile_definitions(lunar-asserting PUBLIC LUNAR_DEBUG=1)
target_link_libraries(lunar-asserting PRIVATE edgejoule_flags)

add_library(lunar-scenario OBJECT assertions_scenario.cc)
target_link_libraries(lunar-scenario PRIVATE lunar-asserting edgejoule_flags)

add_executable(lunar-without-mutation $<TARGET_OBJECTS:lunar-scenario>)
target_link_libraries(lunar-without-mutation PRIVATE lunar-asserting edgejoule_flags)
set_target_properties(lunar-without-mutation PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_CURRENT_BINARY_DIR}/mutants)
add_test(NAME lunar_assertion.none_fails_without_a_mutant COMMAND lunar-without-mutation)

add_executable(lunar-misuse-tests misuse_test.cc ../fuzz/reseal.c)
target_include_directories(lunar-misuse-tests PRIVATE ../fuzz ../src)
target_link_libraries(lunar-misuse-tests PRIVATE lunar-asserting GTest::gtest_main edgejoule_flags)
gtest_discover_tests(lunar-misuse-tests NO_PRETTY_VALUES)

# condition: of the assertion, a regular expression.
function(lunar_assertion name file old new condition)
  edgejoule_mutant(lunar-asserted-${name} ../src/${file} "${old}" "${new}" TEST lunar_assertion.catches_${name}
    MESSAGE "internal error in lunar: ${condition}" LINK lunar-scenario lunar-asserting)
endfunction()

lunar_assertion(cleaned_frames_count_as_dirty pages/frames.c "  if (frame->flags & LN_DIRTY) db->frames_dirty--;\n" ""
  "(dirty == db->frames_dirty|db->frames_dirty == 0|db->frames_dirty <= db->frame_count)")
lunar_assertion(clean_rows_count_as_dirty pages/buffer.c "if (frame->flags & LN_ROWS) db->rows_dirty--;" ""
  "rows == db->rows_dirty")
lunar_assertion(a_frame_stays_pinned space/alloc.c "  if (!taken) entry.frame->used = 0;\n  ln_put(entry.frame);"
  "  if (!taken) entry.frame->used = 0;" "(pinned <= pins_max|ln_is_frame.db, f. && f->pins)")
lunar_assertion(a_frame_is_put_twice tables/tables.c "  name[LUNAR_NAME_MAX] = 0;\n" "  name[LUNAR_NAME_MAX] = 0;\n  ln_put(frame);\n"
  "frame->pins > 0")
lunar_assertion(a_sector_has_two_frames pages/frames.c "if (f) {\n    if (f->kind != kind)"
  "if (f && f->pins) {\n    if (f->kind != kind)" "sector == LN_NONE .. !ln_cached")
lunar_assertion(a_skipped_end_of_a_unit_is_not_in_use pages/log.c "  db->series.log_used += skipped;\n" ""
  ".db->checkpoint_at . db->series.log_used. % sectors == db->series.log_head")
lunar_assertion(the_log_is_as_full_after_a_checkpoint pages/log.c
  "  db->series.log_used = (db->series.log_head + db->geometry.log_sectors - images_at) % db->geometry.log_sectors;\n" ""
  ".db->checkpoint_at . db->series.log_used. % sectors == db->series.log_head")
lunar_assertion(a_key_goes_to_the_beginning_of_its_page index/tree.c
  "put_entry(page, first_from(page, key, 1).bytes, key, place);" "put_entry(page, entries_of(page), key, place);"
  "!was .. in_order")
lunar_assertion(a_key_goes_before_an_equal_beginning index/tree.c
  "return compare_bytes(entry + 1, entry[0], key->bytes + prefix, key->count - prefix);"
  "return memcmp(entry + 1, key->bytes + prefix, entry[0] < key->count - prefix ? entry[0] : key->count - prefix);"
  "!was .. in_order")
lunar_assertion(a_bucket_holds_one_entry_too_many index/hash.c "  if (count < capacity(db)) {" "  if (count <= capacity(db)) {"
  "frame->kind == LN_BUCKET && count < capacity")
lunar_assertion(a_split_bucket_keeps_entries index/hash.c "for (uint32_t i = 0; i < count;) {" "for (uint32_t i = 1; i < count;) {"
  "has_none_of.db, page, new_bucket, buckets")
lunar_assertion(sorted_rows_are_out_of_order sql/sort.c "      low = middle + 1;" "      low = high;"
  "(at == 0|at . 1 == b->count) .. order_of")
