# Mutants of the library that a suite must catch. Further arguments replace the suite's filter.
function(lunar_mutant_of suite name file old new)
  set(arguments ${ARGN})
  if(NOT arguments)
    set(arguments --gtest_filter=*${suite}.*)
  endif()
  if(NOT suite STREQUAL EveryCut)
    list(APPEND arguments --gtest_fail_fast)
  endif()
  edgejoule_mutant(lunar-mutant-${name} ../src/${file} "${old}" "${new}" TEST lunar_mutant.${name}_is_caught
    LINK lunar-${suite} lunar_emubd lunar_posix GTest::gtest_main ARGUMENTS ${arguments})
  set_tests_properties(lunar_mutant.${name}_is_caught PROPERTIES ENVIRONMENT LUNAR_ALL_CASES=1)
endfunction()

if(EDGEJOULE_SANITIZE MATCHES thread)
  lunar_mutant_of(Threads the_lock_is_given_back_at_once tables/session.c "db->config->lock(db->config);"
    "db->config->lock(db->config), db->config->unlock(db->config);")
  lunar_mutant_of(Threads a_get_without_the_lock api/operations.c
    "return ln_leave(table->db, get(table, key, row, row_bytes, values));"
    "(void)ln_leave(table->db, 0);\n  return get(table, key, row, row_bytes, values);")
endif()
if(EDGEJOULE_SANITIZE) # a mutant shows a sanitizer nothing new
  return()
endif()

include(assertions.cmake)

add_library(lunar-PowerCuts OBJECT power_cut_test.cc world.cc)
target_link_libraries(lunar-PowerCuts PRIVATE lunar_emubd GTest::gtest_main edgejoule_flags)
add_library(lunar-IoErrors OBJECT io_error_test.cc world.cc)
target_link_libraries(lunar-IoErrors PRIVATE lunar_emubd GTest::gtest_main edgejoule_flags)
add_library(lunar-Transaction OBJECT volume_test.cc world.cc)
target_link_libraries(lunar-Transaction PRIVATE lunar_emubd GTest::gtest_main edgejoule_flags)
add_library(lunar-PortableList OBJECT portable/lines.c portable/portable_tests.c portable_test.cc)
target_include_directories(lunar-PortableList PRIVATE ../src)
target_link_libraries(lunar-PortableList PRIVATE lunar_emubd lunar_posix GTest::gtest_main edgejoule_flags)
add_library(lunar-Prefetch OBJECT prefetch_test.cc)
target_link_libraries(lunar-Prefetch PRIVATE lunar_emubd GTest::gtest_main edgejoule_flags)

add_library(lunar-FullDevice OBJECT full_device_test.cc)
target_link_libraries(lunar-FullDevice PRIVATE lunar_emubd GTest::gtest_main edgejoule_flags)

function(lunar_mutant name file old new)
  set(arguments ${ARGN})
  if(NOT arguments)
    set(arguments --gtest_filter=*PowerCuts.*-CheckpointPowerCuts.*) # this one takes seconds, and one mutant alone needs it
  endif()
  lunar_mutant_of(PowerCuts "${name}" "${file}" "${old}" "${new}" ${arguments})
endfunction()

lunar_mutant_of(FullDevice rings_free_few_blocks api/operations.c
  "RING_BLOCKS_MAX = LN_CHUNK_BLOCKS_MAX" "RING_BLOCKS_MAX = 16" --gtest_filter=Ring.larger*)
lunar_mutant_of(FullDevice repairs_take_free_chunks_first space/alloc.c
  "#define PACKS(db) ((db)->building & LN_AVOIDS_BAD)" "#define PACKS(db) 0")
lunar_mutant_of(FullDevice repairs_leave_the_last_free_chunk recovery/repair.c "db->reclaiming = 1;" "")
lunar_mutant_of(FullDevice new_hash_indexes_have_all_segments recovery/repair.c "fewer <= TRIES_MORE &&" "0 &&")
lunar_mutant_of(FullDevice rings_give_up_nothing_for_a_repair recovery/repair.c "r.table.ring && r.rows > 1" "0"
  --gtest_filter=FullRing.*)
lunar_mutant_of(FullDevice damaged_tables_are_followed api/definitions.c "if (!damaged) return 0;"
  "if (damaged || !damaged) return 0;" --gtest_filter=DamagedTable.*)
lunar_mutant_of(FullDevice insertions_that_repair_trim_the_ring recovery/repair.c
  "db->lost_blocks += losses.blocks;\n  return 0;"
  "struct lunar_table t;\n  LN_TRY(ln_table_load(db, number, &t));\n  return ln_ring_trim(&t);" --gtest_filter=Ring.*)
lunar_mutant_of(FullDevice what_a_repair_took_belongs_to_the_insertion recovery/repair.c
  "ln_operation_begins(db); /* an insertion may follow */" "" --gtest_filter=Ring.*)
lunar_mutant_of(FullDevice rows_come_to_unreadable_sectors space/blocks.c "if (!readable) tail = (at + 1) * size;"
  "if (!readable && at == m->tail / size) tail = (at + 1) * size;" --gtest_filter=DamagedTable.*)
lunar_mutant_of(FullDevice rings_wait_for_others_to_make_room api/operations.c
  "error = insert_when_full(table, values);" "error = LUNAR_E_FULL;" --gtest_filter=Ring.*)
lunar_mutant_of(FullDevice repaired_rings_make_no_room api/operations.c
  "error == LUNAR_E_FULL && db->state == LN_READY ? insert_when_full(table, values) : error" "error"
  --gtest_filter=Ring.makes_room*)
lunar_mutant_of(FullDevice rings_keep_their_last_block api/operations.c
  "LUNAR_WITH_TRUNCATE && fit ?" "0 && fit ?" --gtest_filter=Ring.*)
lunar_mutant_of(FullDevice rings_are_emptied_in_vain api/operations.c "LUNAR_WITH_TRUNCATE && fit ?"
  "LUNAR_WITH_TRUNCATE ?" --gtest_filter=Ring.*)
lunar_mutant_of(FullDevice rings_have_small_blocks rows/place.c "!LUNAR_WITH_RING || !table->ring" "1"
  --gtest_filter=Ring.*)
lunar_mutant_of(FullDevice sectors_that_failed_for_a_while_end_the_log device/device.c
  "db->redoing |= LN_MISSED;" "(void)0;" --gtest_filter=Mount.*)
lunar_mutant_of(FullDevice sectors_that_failed_for_a_while_damage_tables recovery/recover.c
  "LN_TRY(missed(db, replay(db, 1)));" "LN_TRY(replay(db, 1));" --gtest_filter=Mount.*)
lunar_mutant_of(FullDevice rings_are_marked_for_a_repair_in_ram tables/tables.c
  "  meta->bytes[LN_META_RING] |= LN_MENDED;\n  ln_dirty(db, meta);\n  return 0;"
  "  if (!db->redoing) return 0;\n  meta->bytes[LN_META_RING] |= LN_MENDED;\n  ln_dirty(db, meta);\n  return 0;"
  --gtest_filter=Ring.has_its_rows*)
lunar_mutant_of(FullDevice reads_that_fail_once_are_damage recovery/repair.c
  "(error == LUNAR_E_IO && ln_can_be_read(db, db->failed_sector, 1) == 0)" "error == LUNAR_E_IO" --gtest_filter=Table.*)
lunar_mutant_of(FullDevice damage_met_by_a_truncation_ends_it api/definitions.c "LN_TRY(ln_empty(db, number));"
  "return error;" --gtest_filter=DamagedTable.*)
lunar_mutant_of(FullDevice patches_are_of_any_length api/operations.c
  "bytes == c.column_bytes && is_loggable(db, bytes)" "bytes == c.column_bytes"
  --gtest_filter=Update.*)

lunar_mutant(commit_without_flush pages/log.c "return ln_device_sync(db);" "return 0;")
lunar_mutant(checkpoint_before_its_rows pages/log.c "LN_TRY(ln_device_sync(db)); /* rows" "/* rows")
lunar_mutant(recovery_from_the_devices_cache recovery/recover.c "db->unsynced = 1;" "")
lunar_mutant(pages_before_their_checkpoint pages/log.c
  "LN_TRY(write_checkpoint_group(db, &images_at));\n  LN_TRY(ln_device_sync(db));" "LN_TRY(write_checkpoint_group(db, &images_at));")
lunar_mutant(pages_before_their_before_images pages/log.c "db->settled = 0;\n      LN_TRY(ln_device_sync(db));"
  "db->settled = 0;")
lunar_mutant(groups_unchecked recovery/recover.c "if (sum != group->body_sum) return 0;" "")
lunar_mutant(images_unchecked recovery/recover.c "if (sum != expected) return 0;" "")
lunar_mutant(nothing_put_back recovery/recover.c "LN_TRY(put_back(db, found->before, found->base, 0));" "")
lunar_mutant(images_ignored recovery/recover.c "if (put && group->kind" "if (0 && group->kind")
lunar_mutant(freed_blocks_at_once space/alloc.c "!stamped(db, e) &&" "")
lunar_mutant(extents_unaware_of_small_rows space/extents.c "series->extents[i].sector < sector" "0")
lunar_mutant(in_place_although_put_back tables/change.c "if (!db->settled ||" "if (")
lunar_mutant(in_place_although_logged pages/frames.c "(f && (f->flags & (LN_DIRTY | LN_PLAIN)) == LN_DIRTY)" "0")
lunar_mutant(in_place_although_in_a_group tables/change.c "return stamped < 0 ? stamped : !stamped;" "return 1;")
lunar_mutant(sync_without_updates_in_place api/volume.c ": ln_settle_plain(db, 0, LN_NONE));" ": 0);")
lunar_mutant(before_images_without_updates pages/frames.c "if (f->flags & LN_PLAIN && !plain) error = ln_write_frame(db, f);" "")
lunar_mutant(metadata_without_images pages/frames.c "if (kind >= LN_BLOCK) f->flags" "f->flags")
lunar_mutant(runs_over_what_is_staged pages/log.c "if (!db->stage_used) return db->stage_bytes" "return db->stage_bytes")
lunar_mutant(runs_of_one_content pages/log.c
  "memcpy(run + i * sector_bytes(db), next->bytes" "memcpy(run + i * sector_bytes(db), f->bytes")
lunar_mutant(runs_take_clean_neighbours pages/log.c "if (!f || !(f->flags & LN_DIRTY)) return f && ln_waits(f);" "if (!f) return 0;")
lunar_mutant(waiting_pages_are_not_written_before_the_next_checkpoint pages/log.c "return f && ln_waits(f);" "return 0;")
lunar_mutant(a_waiting_page_makes_room_unwritten pages/frames.c "if (ln_waits(f)) LN_TRY(ln_write_waiting(db, f));" "")
lunar_mutant(indexes_made_before_a_checkpoint_only tables/secondary.c "return error ? error : ln_checkpoint(db);" "return error;")
lunar_mutant(updates_again_without_their_indexes tables/redo.c "if (r->type == LN_PATCH_INDEXED) LN_TRY(" "if (0) LN_TRY(")
lunar_mutant(rows_again_without_their_indexes tables/redo.c "error = redo_index_insert(&table, from, &row);" "error = 0;")
lunar_mutant(no_log_kept_for_a_recovery pages/log.c "times * (db->series.log_used + db->log_before)" "times * db->series.log_used"
  --gtest_filter=*TransactionPowerCuts*)
lunar_mutant(more_dirty_pages_than_the_log_holds api/volume.c "db->dirty_max = (uint16_t)smaller(frames, db->frame_count);" "db->dirty_max = db->frame_count;"
  --gtest_filter=*TransactionPowerCuts*)
lunar_mutant(images_left_out pages/log.c "const uint32_t sectors = together ? 1 + count : 1;" "const uint32_t sectors = 1;")

lunar_mutant_of(Transaction transactions_begin_in_a_full_log api/transactions.c "ln_make_room(db, 4)" "ln_make_room(db, 1)")
lunar_mutant_of(Transaction transactions_leave_room_for_all_dirty_pages api/volume.c "frames >= 2 * DIRTY_BOUNDED" "0")
lunar_mutant_of(PortableList rollback_undoes_nothing api/transactions.c
  "LN_TRY(ln_undo(db, 0));\n  return db->state == LN_BROKEN" "db->state = LN_READY;\n  return db->state == LN_BROKEN")
lunar_mutant_of(PortableList full_keeps_rows_in_ram pages/log.c "!syncs_each(db)) return 0;" "1) return 0;")
lunar_mutant_of(PortableList volumes_have_one_number api/volume.c "*number = ln_checksum(" "(void)ln_checksum(")
lunar_mutant_of(PortableList freed_chunks_are_lost space/alloc.c "if (--e[LN_MAP_USED] == 0)" "if (--e[LN_MAP_USED] == 255)")
lunar_mutant_of(PortableList integers_unchecked rows/rows.c "value->as.integer <= limit &&" "1 ||")
lunar_mutant_of(PortableList lock_kept_at_an_error tables/session.c "return error && db && db->config ? ln_leave(db, error) : error;" "return error;")
lunar_mutant_of(Prefetch read_ahead_of_writes pages/frames.c "  ln_ahead_forget(db, sector, count);" "")
lunar_mutant_of(Prefetch read_ahead_at_once pages/prefetch.c "STREAK = 4" "STREAK = 1")
lunar_mutant_of(Prefetch read_ahead_never pages/prefetch.c "db->ahead_streak < STREAK ||" "1 ||")

add_library(lunar-KeptTwice OBJECT damage_test.cc world.cc)
target_link_libraries(lunar-KeptTwice PRIVATE lunar_emubd GTest::gtest_main edgejoule_flags)
lunar_mutant_of(KeptTwice rows_that_cannot_be_read_stay recovery/repair.c
  "  return 0;\n}\n\n/* --- blocks --- */" "  return 1;\n}\n\n/* --- blocks --- */"
  --gtest_filter=Repair*:*DamagedSector.*)
lunar_mutant_of(KeptTwice repaired_tables_keep_their_index index/index.c
  "memset(meta->bytes + LN_META_BUCKETS, 0, LN_META_CREATION - LN_META_BUCKETS);" ""
  --gtest_filter=Repair*:*DamagedSector.*)
lunar_mutant_of(KeptTwice a_repair_leaves_no_mark recovery/repair.c "LN_TRY(marked(db, meta, 1));" ""
  --gtest_filter=Repair*)
lunar_mutant_of(KeptTwice rebuilt_blocks_have_removed_rows recovery/rebuild.c "(live ? 0u : (uint32_t)LN_SLOT_FREE)" "0u"
  --gtest_filter=Repair*)
lunar_mutant_of(KeptTwice rebuilt_blocks_miss_rows_with_their_records recovery/rebuild.c
  "int found = record_at(r, r->at, &slot, &at);" "int found = 0;" --gtest_filter=Repair*:*DamagedSector.*)
lunar_mutant_of(KeptTwice a_header_is_whole_before_its_slots space/blocks.c
  "ln_put16(header + LN_BLOCK_TABLE, LN_NO_TABLE);" "ln_put16(header + LN_BLOCK_TABLE, 0);" --gtest_filter=Repair*)
lunar_mutant_of(KeptTwice leaked_blocks_stay recovery/owner.c "if (owner == LN_LEAKED) {" "if (0) {"
  --gtest_filter=Repair*:*DamagedSector.*)
lunar_mutant_of(KeptTwice bad_sectors_are_used_again recovery/owner.c
  "return readable ? LN_LEAKED : LN_LOST;" "return LN_LEAKED;" --gtest_filter=Repair*:*DamagedSector.*)
lunar_mutant_of(KeptTwice a_block_without_rows_leads_to_the_next recovery/owner.c
  "const int owned = disown_lost(db, ref);" "const int owned = 0;" --gtest_filter=Repair.of_neighbouring*)
lunar_mutant_of(KeptTwice segments_with_old_pages_are_freed recovery/owner.c
  "if (!owned) owned = is_anywhere" "if (!owned && kind != LN_BLOCK) owned = is_anywhere" --gtest_filter=Repair.*)
lunar_mutant_of(KeptTwice the_oldest_row_ends_a_logger tables/ring.c
  "return ln_mark_damaged(table->db, meta, table->number, evict(table, meta, newest));" "return evict(table, meta, newest);"
  --gtest_filter=*DamagedSector.*)
lunar_mutant_of(KeptTwice a_damaged_checkpoint_ends_a_volume recovery/recover.c
  "if (stale) LN_TRY(find_checkpoint" "if (0) LN_TRY(find_checkpoint" --gtest_filter=*DamagedSector.*cut*)
lunar_mutant_of(KeptTwice a_repair_leaves_blocks_to_others space/alloc.c
  "return take_ref(db, ref, class) == 0;" "return 1;" --gtest_filter=*DamagedSector.*cut*)
lunar_mutant_of(KeptTwice numbers_of_blocks_come_again recovery/repair.c
  "if (serial > ln_get32(m + LN_META_SERIAL))" "if (0)" --gtest_filter=*DamagedSector.*cut*)
lunar_mutant_of(KeptTwice pages_later_than_the_checkpoint_count_as_sound recovery/recover.c
  "if (db->redoing & LN_STALE) LN_TRY(ln_mark_all(db));" "" --gtest_filter=DamagedCheckpoint.*)
lunar_mutant_of(KeptTwice an_unreadable_before_image_ends_a_mount pages/log.c
  "if (error) return LUNAR_WITH_REPAIR ? ln_is_bad_sector(db, error) : error;" "LN_TRY(error);" --gtest_filter=*DamagedSector.*cut*)
add_library(lunar-UnreadableLog OBJECT unreadable_log_test.cc)
target_link_libraries(lunar-UnreadableLog PRIVATE lunar_emubd GTest::gtest_main edgejoule_flags)
function(lunar_unreadable_mutant name file old new)
  lunar_mutant_of(UnreadableLog "${name}" "${file}" "${old}" "${new}" --gtest_filter=UnreadableLog.*hard)
endfunction()
lunar_unreadable_mutant(an_unreadable_group_is_none recovery/recover.c
  "!(beyond && next.sequence == series->sequence + 1))\n    db->redoing |= LN_STALE;"
  "!(beyond && next.sequence == series->sequence + 1))\n    db->redoing |= 0;")
lunar_unreadable_mutant(a_later_recovery_shows_no_damage recovery/recover.c
  "if (unreadable && later) db->redoing |= LN_STALE;" "")
lunar_mutant_of(UnreadableLog a_recovery_leaves_no_mark recovery/recover.c
  "if (mark != LN_NONE) LN_TRY(ln_log_mark(db, mark, found->epoch));" "" --gtest_filter=UnreadableLog.*damaged)
lunar_mutant_of(UnreadableLog before_images_are_put_back_twice recovery/recover.c
  "return epoch < found->epoch ? 0 : put_back(" "return put_back("
  --gtest_filter=UnreadableLog.*damaged)
lunar_unreadable_mutant(leaked_chains_stay recovery/owner.c "} while (again);" "} while (0);")
lunar_mutant_of(UnreadableLog names_without_metadata_stay recovery/recover.c
  "LN_TRY(ln_reconcile(db));" "(void)0;" --gtest_filter=UnreadableLog.*created)
lunar_mutant_of(UnreadableLog blocks_of_lost_tables_stay recovery/recover.c
  "LN_TRY(ln_free_unowned(db));" "(void)0;" --gtest_filter=UnreadableLog.*created)
lunar_mutant_of(Transaction the_last_checkpoint_is_not_read_back api/volume.c
  "ln_log_whole(db) <= 0" "ln_log_whole(db) < -99" --gtest_filter=Mount.after_an_unmount*)
add_library(lunar-ChangedCard OBJECT card_change_test.cc world.cc)
target_link_libraries(lunar-ChangedCard PRIVATE lunar_emubd GTest::gtest_main edgejoule_flags)
lunar_mutant_of(KeptTwice the_second_copy_is_not_written pages/frames.c
  "return distance ? ln_sectors_write(db, sector + distance, data, count) : 0;" "return 0;")
lunar_mutant_of(KeptTwice the_second_copy_is_not_written_at_recovery recovery/recover.c
  "LN_TRY(ln_home_write(db, sector, db->stage, 1));" "LN_TRY(ln_sectors_write(db, sector, db->stage, 1));")
lunar_mutant_of(KeptTwice a_damaged_page_is_its_before_image pages/log.c
  "LN_TRY(ln_home_read(db, f->sector, place));" "LN_TRY(ln_device_read(db, f->sector, place, 1));")
lunar_mutant_of(KeptTwice a_patched_row_keeps_its_checksum tables/change.c "return c->table->checksum ?" "return 0 ?"
  --gtest_filter=RowChecksum.*)
lunar_mutant_of(KeptTwice a_row_patched_again_keeps_its_checksum tables/redo.c "if (table.checksum)" "if (0)"
  --gtest_filter=RowChecksum.*)
lunar_mutant_of(KeptTwice values_change_before_their_checksum tables/change.c "|| c->table->checksum ||" "||"
  --gtest_filter=RowChecksum.*)
lunar_mutant_of(ChangedCard the_card_is_not_asked_before_a_write pages/frames.c
  "const int error = ln_same_volume(db, data);" "const int error = 0;\n  (void)data;")
lunar_mutant_of(ChangedCard another_card_is_a_damaged_one tables/session.c
  "if (error == LUNAR_E_CORRUPT) {" "if (0) {")
lunar_mutant_of(ChangedCard a_full_buffer_fails_the_revalidation api/volume.c
  "NONE || ln_has_scratch(db))" "NONE || ln_has_scratch(db) || db->state != LN_IN_TXN)" --gtest_filter=SameCard.*row)
lunar_mutant_of(ChangedCard a_full_buffer_fails_the_revalidation_in_a_transaction api/volume.c
  "NONE || ln_has_scratch(db))" "NONE || ln_has_scratch(db) || db->state == LN_IN_TXN)"
  --gtest_filter=SameCard.*transaction*)
lunar_mutant_of(ChangedCard the_card_is_not_asked_before_an_operation tables/session.c
  "LUNAR_E_TXN : ln_same_volume(db, NULL);" "LUNAR_E_TXN : 0;")

lunar_mutant_of(IoErrors writes_never_fail device/device.c "return answered(db, db->config->write(db->config, sector, data, count), LUNAR_REQUEST_WRITE, sector);"
  "(void)db->config->write(db->config, sector, data, count); return 0;")
lunar_mutant_of(IoErrors reads_never_fail device/device.c "do error = answered(db, c->read(c, sector, data, count), LUNAR_REQUEST_READ, sector);"
  "do (void)c->read(c, sector, data, count), error = 0;")
lunar_mutant_of(IoErrors flushes_never_fail device/device.c "LN_TRY(answered(db, db->config->sync(db->config), LUNAR_REQUEST_SYNC, 0));" "(void)db->config->sync(db->config);")
lunar_mutant_of(IoErrors undo_forgotten recovery/undo.c "if (error && db->changing) error = ln_undo(db, error);" "")
lunar_mutant_of(IoErrors a_handle_goes_on_after_a_failed_write device/device.c "if (request != LUNAR_REQUEST_READ) db->state = LN_BROKEN;" "")
lunar_mutant_of(IoErrors a_recorded_operation_is_undone pages/log.c "db->no_way_back = db->state" "db->no_way_back = 0 && db->state")
lunar_mutant_of(IoErrors half_an_update_in_place_stays tables/change.c "db->no_way_back = 1;" ";"
  --gtest_filter=IoErrorsInPlace.*)
lunar_mutant_of(IoErrors errors_name_no_request device/device.c "db->failed_request = (uint8_t)request;" "")
lunar_mutant_of(IoErrors a_failed_mount_is_usable api/volume.c "return error ? closed(db, error) : 0;" "return error;"
  --gtest_filter=*IoErrors.of_mount*)

add_library(lunar-Mounted OBJECT mounted_test.cc)
target_link_libraries(lunar-Mounted PRIVATE lunar_emubd GTest::gtest_main edgejoule_flags)
lunar_mutant_of(Mounted second_handles_are_let_in api/volume.c "if (!busy) *db->holder = db;" "*db->holder = db;" --gtest_filter=*)
lunar_mutant_of(Mounted no_handle_is_refused api/volume.c "return busy ? LUNAR_E_BUSY : 0;" "return 0;" --gtest_filter=*)
lunar_mutant_of(Mounted a_handle_that_was_taken_over_goes_on tables/session.c
  "if (*db->holder != db) return LUNAR_E_BUSY;" "" --gtest_filter=*)
lunar_mutant_of(Mounted a_volume_stays_mounted api/volume.c "if (*db->holder == db) *db->holder = NULL;" "" --gtest_filter=*)

# What the program is told, and what it may stop.
add_library(lunar-Progress OBJECT progress_test.cc)
target_link_libraries(lunar-Progress PRIVATE lunar_emubd GTest::gtest_main edgejoule_flags)
lunar_mutant_of(Progress a_flush_is_not_told device/device.c
  "LN_TRY(answered(db, db->config->sync(db->config), LUNAR_REQUEST_SYNC, 0));" "if (db->config->sync(db->config)) return LUNAR_E_IO;")
lunar_mutant_of(Progress a_stop_is_forgotten_at_the_next_read device/device.c
  "if (stops && db->checking) db->checking = LN_STOPPED;\n  if (db->checking == LN_STOPPED) error" "if (stops && db->checking) error")
lunar_mutant_of(Progress a_stopped_handle_stays_so recovery/check.c "  db->checking = 0;\n" "")
lunar_mutant_of(Progress a_check_has_few_frames recovery/check.c "    LN_TRY(ln_write_kept(db, db->frames, db->frame_count));\n" "")
lunar_mutant_of(Progress every_call_can_be_stopped device/device.c "if (stops && db->checking)" "if (stops)")
lunar_mutant_of(Progress a_checkpoint_is_stopped recovery/check.c "if (db->state == LN_IN_TXN) return LUNAR_E_TXN;"
  "db->checking = LN_CHECKING;")

# Power cuts, failed requests and mounts in any order.
add_library(lunar-Calls OBJECT ../fuzz/calls.cc ../fuzz/calls_test.cc)
target_include_directories(lunar-Calls PRIVATE . ../fuzz)
target_link_libraries(lunar-Calls PRIVATE lunar_emubd GTest::gtest_main edgejoule_flags)
lunar_mutant_of(Calls rings_have_one_row_less tables/ring.c "ln_get64(m + LN_META_ROWS) > limit;"
  "ln_get64(m + LN_META_ROWS) >= limit;")

# A request of a mount fails.
add_library(lunar-FailedFlush OBJECT failed_flush_test.cc world.cc)
target_link_libraries(lunar-FailedFlush PRIVATE lunar_emubd GTest::gtest_main edgejoule_flags)
lunar_mutant_of(FailedFlush a_recovery_goes_on_after_a_failed_flush tables/redo.c
  "error && db->state != LN_BROKEN && db->redoing" "error && db->redoing")

# Damage in the log is distinguished from the effect of a cut.
add_library(lunar-DamagedLog OBJECT damaged_log_test.cc)
target_link_libraries(lunar-DamagedLog PRIVATE lunar_emubd GTest::gtest_main edgejoule_flags)
lunar_mutant_of(DamagedLog damage_ends_the_log_without_a_word recovery/recover.c "return next_group(db, &series, NULL);" "return 0;")
lunar_mutant_of(DamagedLog damage_is_looked_for_in_the_log_only recovery/recover.c
  ": flushed_behind(db, series, sector, room);" ": room > 16 ? 0 : flushed_behind(db, series, sector, room);")
lunar_mutant_of(DamagedLog groups_do_not_say_what_was_flushed device/device.c "db->flushed = db->committed;" "")

add_library(lunar-Trees OBJECT tables_test.cc)
target_link_libraries(lunar-Trees PRIVATE lunar_emubd GTest::gtest_main edgejoule_flags)
lunar_mutant_of(Trees a_cursor_stays_in_a_leaf_that_changed index/tree.c "leaf->changes != db->tree_changes" "!leaf->changes")

add_library(lunar-Secondary OBJECT secondary_test.cc)
target_link_libraries(lunar-Secondary PRIVATE lunar_emubd GTest::gtest_main edgejoule_flags)
function(lunar_secondary_mutant name file old new)
  lunar_mutant_of(Secondary ${name} ${file} "${old}" "${new}" --gtest_filter=*)
endfunction()
lunar_secondary_mutant(old_values_stay_in_an_index tables/secondary.c "old && !error && i < count" "old && !new && !error && i < count")
lunar_secondary_mutant(plain_updates_of_indexed_columns tables/change.c "const int plain = indexed ? 0 : needs" "const int plain = needs")
lunar_secondary_mutant(no_image_of_what_was_built_before pages/log.c "|| LN_IS_BUILT(db, f);" "|| db->building;")
lunar_secondary_mutant(no_way_back_in_mode_none tables/secondary.c "for (i--; i-- > 0;)" "for (i = 0; i-- > 0;)")
lunar_secondary_mutant(emptied_pages_stay_in_their_chain index/hash.c "if (last == 0) {\n      *emptied = first" "if (0) {\n      *emptied = first")
lunar_secondary_mutant(a_moved_row_is_read_again tables/secondary.c "if (error || !same_key(LUNAR_INDEX_TREE, &here, key))" "if (0)")
lunar_secondary_mutant(negative_numbers_above_the_others tables/secondary.c "? ~number : number ^ sign" "? ~number : number")
lunar_secondary_mutant(dropped_tables_leave_their_indexes tables/tables.c "LN_TRY(ln_secondary_drop(db, number));" "")

# Requests that grow with the volume.
add_library(lunar-Growth OBJECT growth_test.cc)
target_link_libraries(lunar-Growth PRIVATE lunar_emubd GTest::gtest_main edgejoule_flags)
function(lunar_growth_mutant name file old new filter)
  lunar_mutant_of(Growth ${name} ${file} "${old}" "${new}" --gtest_filter=${filter})
endfunction()
lunar_growth_mutant(a_search_is_repeated space/alloc.c "db->searched |= bit;" "" *a_refused_insert*)
lunar_growth_mutant(searches_pass_all_full_chunks space/alloc.c "if (i == WINDOW) at = db->chunk_last;" "" Mount.is*)
lunar_growth_mutant(a_missing_run_is_searched_again space/alloc.c "db->run_missing = chunks;" "" *hash_index_has_no_room*)
lunar_growth_mutant(all_volumes_hash_alike index/hash.c "(key + db->geometry.volume)" "((void)db, key)" *chosen_to_collide*)
lunar_growth_mutant(a_page_keeps_each_key_whole index/tree.c "    prefix = longest_prefix(page, key);" "    (void)longest_prefix;" *begin_alike*)
lunar_mutant_of(Trees a_cursor_goes_on_in_a_block_that_is_gone api/cursor.c "if (used <= 0) return used;" "(void)used;" --gtest_filter=*Cursors*)
lunar_growth_mutant(slots_are_searched_from_the_first space/blocks.c "from = ln_get16(frame->bytes + LN_BLOCK_FROM)" "from = 0" Slots*)
lunar_growth_mutant(a_cursor_walks_to_its_next_block api/cursor.c "there = is_block(c, c->next, &block);" "there = 0;" Cursor*)

# The space of deleted rows.
add_library(lunar-Space OBJECT space_test.cc)
target_link_libraries(lunar-Space PRIVATE lunar_emubd GTest::gtest_main edgejoule_flags)
function(lunar_space_mutant name file old new)
  lunar_mutant_of(Space ${name} ${file} "${old}" "${new}" --gtest_filter=Sparse.*:Transactions.*:UnreadableSectors.*:Removal.*:Indexes.*:LargeRows.*:Of/Space.*/7)
endfunction()
lunar_space_mutant(rows_move_below_a_cursor api/reclaim.c "if (db->scans && !is_short(db)) return 0;" "")
lunar_space_mutant(moves_are_not_reported_to_cursors api/reclaim.c "if (db->scans) db->moves++;" "")
lunar_space_mutant(a_closed_cursor_stays_in_use api/cursor.c "if (c->scans == 1 && db->scans) db->scans--;" "")
lunar_space_mutant(transactions_owe_nothing api/transactions.c "LN_TRY(ln_reclaim_owed(db));" "")
lunar_space_mutant(no_block_for_other_tables api/reclaim.c "failed = reclaim_block(db);" "failed = 0;")
lunar_space_mutant(a_sparse_block_is_freed_with_its_rows api/reclaim.c "return ln_row_store(&row, meta, &key);"
  "return ln_row_remove(table, meta, row.old);")
lunar_space_mutant(an_unreadable_sparse_block_stops_changes api/reclaim.c "db->unmovable = 1;\n  return ln_same_volume(db, NULL);" "return error;")
lunar_space_mutant(reused_slots_stay_dead space/blocks.c "count_dead(db, meta, header, -(int32_t)units);" "")
lunar_space_mutant(a_block_stays_in_its_list space/blocks.c "LN_TRY(move_to_list(db, meta, place.ref, list, list_now));" "")
lunar_space_mutant(a_freed_block_stays_in_its_list space/blocks.c "LN_TRY(move_to_list(db, meta, ref, list, NO_LIST));" "")
lunar_space_mutant(the_log_is_filled_for_ever api/definitions.c "LN_TRY(ln_has_room(db, 0));" "")
lunar_space_mutant(the_same_pages_fill_the_log pages/log.c "db->many_pages ? LN_NONE : LOGGED_GROUPS" "LOGGED_GROUPS")
lunar_space_mutant(rows_move_that_do_not_fit api/reclaim.c "LN_TRY(ln_block_class(db, meta->bytes, row.row_bytes, &class, &least));" "(void)class;")
lunar_mutant(a_move_loses_its_row api/reclaim.c "return ln_row_store(&row, meta, &key);"
  "return ln_row_remove(table, meta, row.old);") # the campaign of cuts has moves

# Several tables of a full volume.
add_library(lunar-SharedVolume OBJECT shared_volume_test.cc)
target_link_libraries(lunar-SharedVolume PRIVATE lunar_emubd GTest::gtest_main edgejoule_flags)
function(lunar_shared_volume_mutant name file old new)
  lunar_mutant_of(SharedVolume ${name} ${file} "${old}" "${new}" --gtest_filter=*once_lost_them)
endfunction()
lunar_shared_volume_mutant(recovery_uses_a_block_too_early space/alloc.c "return db->redoing ? 0 : list_ref(db, LN_NONE);" "(void)db;\n  return 0;")
lunar_shared_volume_mutant(recovery_finds_no_frame pages/buffer.c "(CHANCES + 3u)" "(CHANCES + 2u)")

# Pages that checkpoints leave in the buffer.
add_library(lunar-Wear OBJECT wear_test.cc ../bench/wear.cc)
target_compile_definitions(lunar-Wear PRIVATE LUNAR_README="${CMAKE_CURRENT_SOURCE_DIR}/../README.md")
target_link_libraries(lunar-Wear PRIVATE lunar_emubd nlohmann_json::nlohmann_json GTest::gtest_main edgejoule_flags)
lunar_mutant_of(Wear pages_go_in_place_at_every_checkpoint pages/log.c "const int none = db->wants_settled" "const int none = 1 || db->wants_settled"
  --gtest_filter=Of/Wear.*/6)
lunar_mutant_of(Wear spills_write_every_page pages/log.c "if (keeps) (void)choose_kept(db, keeps, 0);" ""
  --gtest_filter=Of/Wear.*/12)
lunar_mutant_of(IoErrors spills_forget_pages_that_wait pages/log.c "(*flags & (LN_DIRTY | LN_KEPT)) == (LN_DIRTY | LN_KEPT)"
  "(*flags & LN_KEPT) != 0"
  --gtest_filter=Modes/IoErrors.in_bad_sectors*)
lunar_mutant(syncs_leave_pages_in_mode_none pages/log.c
  "(which != DIRTY || db->mode != LUNAR_MODE_NONE)" "1" --gtest_filter=CheckInModeNone.*)
lunar_mutant(kept_pages_are_logged_once pages/log.c "if (f->flags & LN_DIRTY && !logged" "if (!(f->flags & LN_KEPT) && f->flags & LN_DIRTY && !logged")
lunar_mutant(kept_pages_are_put_back_to_what_came_later recovery/recover.c
  "LN_TRY(put_back(db, found->before, found->base, 0));\n  const int there = begin_at(db, found->base, &db->series, &group, 1);"
  "const int there = begin_at(db, found->base, &db->series, &group, 1);\n  LN_TRY(put_back(db, found->before, found->base, 0));")

# Mutants that only one place of a cut reveals. 10,000 cuts of the campaign include it.
add_library(lunar-EveryCut OBJECT cut_campaign.cc every_cut.cc world.cc)
target_link_libraries(lunar-EveryCut PRIVATE lunar_emubd edgejoule_flags)
function(lunar_every_cut_mutant name file old new)
  lunar_mutant_of(EveryCut ${name} ${file} "${old}" "${new}" 10000 1 ${ARGN})
endfunction()
lunar_every_cut_mutant(before_images_behind_a_torn_group recovery/recover.c "group->extra == before ||" "1 ||")
lunar_every_cut_mutant(before_images_of_an_older_recovery recovery/recover.c
  "group->extra == LN_NONE && group->epoch > series->epoch" "0")
lunar_every_cut_mutant(recovery_keeps_its_epoch recovery/recover.c "= found.epoch + 1;" "= found.epoch;")
# With these mutants a mount takes a cut for damage.
lunar_every_cut_mutant(groups_say_flushed_too_early pages/log.c "stage_records, db->flushed," "stage_records, db->committed,")
lunar_every_cut_mutant(groups_within_a_transaction_count_as_its_end pages/log.c
  "db->parts = 1;\n  else if (kind == LN_RECORDS || kind == LN_CHECKPOINT)\n    db->committed"
  "db->parts = 1;\n  db->committed")
lunar_every_cut_mutant(sequence_unchecked recovery/recover.c "group->sequence != series->sequence + 1 ||" "0 ||")
lunar_every_cut_mutant(checkpoint_before_its_images pages/log.c
  "LN_TRY(write_images_of_dirty(db, LN_IMAGES, &images_at));\n" "LN_TRY(ln_write_in_place(db, 0));\n")
# Few worlds reveal these mutants: the seed is that of a world that does.
lunar_mutant_of(EveryCut lost_groups_before_those_of_a_recovery recovery/recover.c
  "(beyond && next.epoch" "(beyond < 0 && next.epoch" 10000 1000023 "recoveries: data")
lunar_mutant_of(EveryCut epochs_of_groups_unchecked recovery/recover.c
  "if (group->epoch != series->epoch && !later) return 0;" "(void)later;" 10000 10000011 "metadata, 12 frames")
lunar_mutant_of(EveryCut recoveries_forget_which_pages_need_no_image pages/buffer.c
  "db->redoing ? f->flags & LN_FRESH :" "db->redoing ? 0 :" 11540 19052008 "spills: data")
lunar_every_cut_mutant(a_truncation_forgets_an_index tables/tables.c "LN_TRY(ln_secondary_each(db, number, clear_index));" ""
  "truncations")
lunar_every_cut_mutant(a_truncation_is_not_repeated tables/redo.c "return ln_table_redo_truncate(db, record->table);" "return 0;"
  "truncations")
lunar_every_cut_mutant(a_sparse_block_is_freed_before_its_rows_are_elsewhere api/reclaim.c
  "return ln_row_store(&row, meta, &key);" "return ln_row_remove(table, meta, row.old);" "compaction")
lunar_every_cut_mutant(a_sparse_block_is_written_before_its_rows_are_durable space/alloc.c "!stamped(db, e) &&" ""
  "compaction")
lunar_every_cut_mutant(a_reused_slot_has_no_image pages/log.c "kind == LN_BEFORE && f->flags & LN_LOGGED;"
  "kind == LN_BEFORE ? f->flags & LN_LOGGED : f->kind == LN_DATA;" "compaction")

# Compares SQL results with SQLite's.
if(TARGET lunar-SqlBesideSqlite)
  function(lunar_sql_mutant name file old new)
    lunar_mutant_of(SqlBesideSqlite sql_${name} ${file} "${old}" "${new}")
    target_link_libraries(lunar-mutant-sql_${name} PRIVATE ${EDGEJOULE_SQLITE_LIBRARY})
  endfunction()
  lunar_sql_mutant(a_nan_is_added sql/eval.c "if (v.type == LUNAR_NULL || is_nan(&v)) continue;" "if (v.type == LUNAR_NULL) continue;")
  lunar_sql_mutant(a_sum_begins_anew_after_both_infinities sql/eval.c
    "if (sums->type == LUNAR_NULL) sums->type = LUNAR_REAL;" "")
  lunar_sql_mutant(an_average_of_both_infinities_is_a_nan sql/eval.c "if (is_nan(value)) value->type = LUNAR_NULL;" "")
  lunar_sql_mutant(not_of_null_is_true sql/eval.c "truth < 0 ? truth : !truth" "truth < 1")
  lunar_sql_mutant(in_forgets_null sql/eval.c "found = -1;\n    else" "found = 0;\n    else")
  lunar_sql_mutant(text_is_no_number sql/eval.c "if (la == NUMBER || ra == NUMBER) {" "if (la == NUMBER && ra == NUMBER) {")
  lunar_sql_mutant(fractions_are_equal sql/eval.c "return fraction > 0 ? -1 : fraction < 0;" "return 0;")
  lunar_sql_mutant(a_pass_takes_what_was_left_out sql/sort.c "(b->full && at == b->count)" "0")
  lunar_sql_mutant(a_pass_loses_its_first_row sql/sort.c "(b->bounded && at == 0) ||" "(b->bounded && at <= 1) ||")
  lunar_sql_mutant(groups_keep_texts_that_are_gone sql/sort.c "same &= " "same |= ")
  lunar_sql_mutant(descending_is_ascending sql/sort.c "if (s->batch.descending >> i & 1) order = -order;" "")
  lunar_sql_mutant(updates_meet_moved_rows sql/plan.c ": moves && s->access" ": 0 && s->access")
  lunar_sql_mutant(ranges_are_mirrored sql/plan.c "(e->op == LN_X_GT || e->op == LN_X_GE) == mirrored" "!(e->op == LN_X_GT || e->op == LN_X_GE)")
  lunar_sql_mutant(half_a_statement_stays sql/run.c "if (s->decided || !several) return 0;" "if (s->decided || several < 2) return 0;")
  lunar_sql_mutant(rows_of_an_index_untested sql/plan.c "if (!s->where) return 0;" "if (!s->where || s->index[0]) return 0;")
  lunar_sql_mutant(ranges_of_an_index_end_early tables/secondary.c "c->descending ? order < 0 : order > 0" "c->descending ? order <= 0 : order >= 0")
  lunar_sql_mutant(texts_end_early tables/secondary.c "compare_bytes(value, &c->to) <= 0" "compare_bytes(value, &c->to) < 0")
  lunar_sql_mutant(values_of_in_twice sql/plan.c "if (before != here) continue;" "if (before != here) before = here;")
  lunar_sql_mutant(null_is_nowhere sql/plan.c "v.type == LUNAR_NULL && !s->path.is" "v.type == LUNAR_NULL")
  lunar_sql_mutant(updates_meet_rows_moved_in_the_index sql/plan.c "s->index[0] ? s->kind != LN_S_SELECT" "s->index[0] ? 0")
  lunar_sql_mutant(texts_in_the_order_of_their_beginnings sql/plan.c "(number && s->order_count == 1)" "(s->order_count == 1)")
  lunar_sql_mutant(an_index_has_every_order sql/plan.c "(number && s->order_count == 1)" "number")
  lunar_sql_mutant(the_least_integer_is_no_real sql/plan.c "v->as.real == -9223372036854775808.0)" "0)")
  lunar_sql_mutant(like_knows_the_case sql/plan.c "(char)high;" "(char)low;")
  lunar_sql_mutant(half_a_statement_stays_in_a_transaction sql/run.c "if (!s->own) return lose(s->db, error);" "if (!s->own) return error;")
endif()

add_library(lunar-Cache OBJECT cache_test.cc)
target_link_libraries(lunar-Cache PRIVATE lunar_emubd GTest::gtest_main edgejoule_flags)
function(lunar_cache_mutant name file old new)
  lunar_mutant_of(Cache ${name} ${file} "${old}" "${new}" --gtest_filter=*)
endfunction()
lunar_cache_mutant(an_update_leaves_the_cached_row api/operations.c "ln_cache_forget(table, &number);" "")
lunar_cache_mutant(a_removal_leaves_the_cached_row tables/change.c "ln_cache_forget(table, &key);" "")
lunar_cache_mutant(the_way_back_leaves_cached_rows recovery/recover.c "ln_cache_forget_all(db);" "")
lunar_cache_mutant(cached_rows_of_other_keys tables/cache.c "|| !ln_row_is_of(table, row_of(slot), value)) continue;" ") continue;")
lunar_cache_mutant(cached_rows_of_a_dropped_table tables/cache.c "(cache->number != table->number || cache->creation != table->creation)" "cache->number != table->number")
lunar_cache_mutant(the_row_asked_for_again_makes_room tables/cache.c "if (!slot->referenced) way" "way")
