#include "damage.h"

#include "recovery/recovery.h"

static struct emubd* device_of(struct lunar* db) { return db->config->context; }

static uint8_t* at(struct lunar* db, uint32_t sector) {
  return device_of(db)->sectors + (size_t)sector * db->config->sector_bytes;
}

static void seal(struct lunar* db, uint32_t sector) {
  uint8_t* page = at(db, sector);
  ln_put32(page, ln_checksum(db->geometry.volume ^ sector, page + 4, db->config->sector_bytes - 4));
}

static void set8(struct lunar* db, uint32_t sector, uint32_t offset, uint32_t v) {
  at(db, sector)[offset] = (uint8_t)v;
  seal(db, sector);
}
static void set16(struct lunar* db, uint32_t sector, uint32_t offset, uint32_t v) {
  ln_store16(at(db, sector) + offset, v);
  seal(db, sector);
}
static void set32(struct lunar* db, uint32_t sector, uint32_t offset, uint32_t v) {
  ln_store32(at(db, sector) + offset, v);
  seal(db, sector);
}
static uint32_t get16(struct lunar* db, uint32_t sector, uint32_t offset) { return ln_load16(at(db, sector) + offset); }
static uint32_t get32(struct lunar* db, uint32_t sector, uint32_t offset) { return ln_load32(at(db, sector) + offset); }

/* --- where things are --- */

static uint32_t meta(struct lunar* db) { return db->geometry.meta_at; }
static uint32_t first_ref(struct lunar* db) { return get32(db, meta(db), LN_META_FIRST); }
static uint32_t last_ref(struct lunar* db) { return get32(db, meta(db), LN_META_LAST); }
static uint32_t first_block(struct lunar* db) { return first_ref(db); }
static uint32_t last_block(struct lunar* db) { return last_ref(db); }
static uint32_t second_ref(struct lunar* db) { return get32(db, first_block(db), LN_BLOCK_NEXT); }
static uint32_t second_block(struct lunar* db) { return second_ref(db); }
static uint32_t bucket(struct lunar* db, uint32_t i) { /* 0 or 1: a segment each */
  return get32(db, meta(db), LN_META_SEGMENTS + 4 * i);
}
static uint32_t bucket_max(struct lunar* db) { return (db->config->sector_bytes - LN_BUCKET_HEADER) / LN_ENTRY; }

/* The first page of buckets 0, 1, 2, 3 that has one behind it, or has not. */
static uint32_t bucket_with_overflow(struct lunar* db, int overflows) {
  for (uint32_t b = 0; b < 4 && b < get32(db, meta(db), LN_META_BUCKETS); b++) {
    const uint32_t sector = b < 2 ? bucket(db, b) : bucket(db, 2) + b - 2;
    const uint32_t entries = get16(db, sector, LN_BUCKET_COUNT);
    const int has = get32(db, sector, LN_BUCKET_OVERFLOW) != LN_NONE;
    if (has == overflows && entries >= 1 && (has || entries < bucket_max(db))) return sector;
  }
  return LN_NONE;
}

/* The header of a block of table 0 with (at least as many) free and live slots among those of its first page. */
static uint32_t block_with(struct lunar* db, uint32_t free_slots, uint32_t live, int none_free) {
  for (uint32_t ref = first_ref(db); ref != LN_NONE; ref = get32(db, ref, LN_BLOCK_NEXT)) {
    const uint32_t sector = ref;
    const uint32_t free_there = get16(db, sector, LN_BLOCK_FREE);
    if (none_free ? free_there == 0 : free_there >= free_slots && get16(db, sector, LN_BLOCK_LIVE) >= live)
      return sector;
  }
  return LN_NONE;
}

static uint32_t slot_offset(uint32_t slot) { return LN_BLOCK_HEADER + 2 * slot; }

/* The first live slot of the block. */
static uint32_t live_slot(struct lunar* db, uint32_t block) {
  uint32_t slot = 0;
  while (get16(db, block, slot_offset(slot)) & LN_SLOT_FREE) slot++;
  return slot;
}

static uint8_t* row_of(struct lunar* db, uint32_t block, uint32_t slot) {
  return at(db, block) + 4 * (get16(db, block, slot_offset(slot)) & ~(uint32_t)LN_SLOT_FREE);
}

static uint8_t* some_row(struct lunar* db) { return row_of(db, last_block(db), live_slot(db, last_block(db))); }

static uint8_t* root_entry(struct lunar* db, uint32_t number) {
  return at(db, db->geometry.root_at) + LN_ROOT_HEADER + LN_ROOT_ENTRY * number;
}

/* A chunk that is divided and has a block free (behind one in use); its place in the first map page. */
static uint32_t chunk_with_free_block(struct lunar* db, uint32_t* index) {
  const uint32_t per_page = (db->config->sector_bytes - LN_MAP_HEADER) / LN_MAP_ENTRY;
  for (uint32_t i = 0; i < db->geometry.chunk_count && i < per_page; i++) {
    const uint8_t* e = at(db, db->geometry.map_at) + LN_MAP_HEADER + LN_MAP_ENTRY * i;
    if (e[0] == LN_CHUNK_FREE) continue;
    const uint32_t blocks = db->geometry.chunk_sectors / ln_class_sectors(db, e[0]);
    for (*index = 0; *index < blocks; ++*index)
      if (!(e[LN_MAP_BITS + *index / 8] >> *index % 8 & 1)) return LN_MAP_HEADER + LN_MAP_ENTRY * i;
  }
  return LN_NONE;
}

static struct lunar_extent* extent(struct lunar* db) {
  for (uint32_t i = 0; i < LUNAR_EXTENTS; i++)
    if (db->series.extents[i].block != LN_NONE) return &db->series.extents[i];
  return NULL;
}

int damage_begin(struct lunar* db) {
  LN_TRY(lunar_checkpoint(db));
  ln_forget_all(db);
  return 0;
}

/* --- the tree: a root above leaves whose keys are eight bytes --- */

static uint32_t entries_at(struct lunar* db, uint32_t page) { return LN_TREE_HEADER + at(db, page)[LN_TREE_PREFIX]; }

static uint32_t root(struct lunar* db) { return get32(db, meta(db), LN_META_TREE_ROOT); }

/* Where the root's entry has the ref of its child; the first one's key has no bytes. */
static uint32_t child_offset(struct lunar* db, uint32_t number) {
  uint32_t offset = entries_at(db, root(db));
  while (number--) offset += 1u + at(db, root(db))[offset] + 4;
  return offset + 1u + at(db, root(db))[offset];
}
static uint32_t leaf(struct lunar* db, uint32_t number) { return get32(db, root(db), child_offset(db, number)); }

/* Of each entry of a leaf. */
static uint32_t leaf_entry(struct lunar* db, uint32_t page) { return 1u + at(db, page)[entries_at(db, page)] + 6; }

static int hash_possible(struct lunar* db) {
  return get32(db, meta(db), LN_META_BUCKETS) >= 2 && get16(db, bucket(db, 0), LN_BUCKET_COUNT) &&
         get16(db, bucket(db, 1), LN_BUCKET_COUNT) && bucket_with_overflow(db, 1) != LN_NONE &&
         bucket_with_overflow(db, 0) != LN_NONE;
}

static uint32_t last_leaf(struct lunar* db) { return leaf(db, get16(db, root(db), LN_TREE_COUNT) - 1); }

static int tree_possible(struct lunar* db) {
  return get32(db, meta(db), LN_META_TREE_HEIGHT) == 2 && get16(db, root(db), LN_TREE_COUNT) >= 3 &&
         get16(db, leaf(db, 0), LN_TREE_COUNT) >= 2 && get16(db, leaf(db, 1), LN_TREE_COUNT) >= 2 &&
         get16(db, last_leaf(db), LN_TREE_END) + leaf_entry(db, last_leaf(db)) <= db->config->sector_bytes;
}

int damage_possible(struct lunar* db) {
  uint32_t index;
  const int tree = at(db, meta(db))[LN_META_INDEX] == LUNAR_INDEX_TREE;
  return (tree ? tree_possible(db) : hash_possible(db)) && first_ref(db) != LN_NONE && first_ref(db) != last_ref(db) &&
         second_ref(db) != last_ref(db) && get16(db, last_block(db), LN_BLOCK_LIVE) >= 2 &&
         block_with(db, 1, 1, 0) != LN_NONE && block_with(db, 0, 0, 1) != LN_NONE && extent(db) &&
         root_entry(db, 1)[0] && chunk_with_free_block(db, &index) != LN_NONE;
}

/* --- damages --- */

static void page_byte(struct lunar* db) { at(db, bucket(db, 0))[100] ^= 1; }
static void page_kind(struct lunar* db) { set8(db, last_block(db), LN_PAGE_KIND, LN_BUCKET); }
static void row_page_missing(struct lunar* db) { set32(db, meta(db), LN_META_FIRST, 0x0ffffffe); }

static void map_set(struct lunar* db, int count) {
  uint32_t index;
  const uint32_t entry = chunk_with_free_block(db, &index), page = db->geometry.map_at;
  at(db, page)[entry + LN_MAP_BITS + index / 8] |= (uint8_t)(1u << index % 8);
  set8(db, page, entry + LN_MAP_USED, at(db, page)[entry + LN_MAP_USED] + (count ? 1u : 0u));
}
static void map_bit(struct lunar* db) { map_set(db, 0); }
static void map_class(struct lunar* db) { set8(db, db->geometry.map_at, LN_MAP_HEADER, db->geometry.class_count); }
static void block_leaked(struct lunar* db) { map_set(db, 1); }

/* The last block of the table is free in the map, and the count with it. */
static void block_free(struct lunar* db) {
  const uint32_t chunk = db->geometry.chunk_sectors, at_sector = last_ref(db) - db->geometry.data_at;
  const uint32_t page = db->geometry.map_at, entry = LN_MAP_HEADER + LN_MAP_ENTRY * (at_sector / chunk);
  const uint32_t index = at_sector % chunk / ln_class_sectors(db, at(db, last_ref(db))[LN_BLOCK_CLASS]);
  uint8_t* e = at(db, page) + entry;
  e[LN_MAP_BITS + index / 8] &= (uint8_t) ~(1u << index % 8);
  if (--e[LN_MAP_USED] == 0) e[0] = LN_CHUNK_FREE, db->chunks_free++;
  seal(db, page);
}

static void chunks_free(struct lunar* db) { db->chunks_free--; }

static void name_behind_end(struct lunar* db) {
  root_entry(db, 0)[LUNAR_NAME_MAX] = 'x';
  seal(db, db->geometry.root_at);
}
static void name_twice(struct lunar* db) {
  memcpy(root_entry(db, 1), root_entry(db, 0), LN_ROOT_ENTRY);
  seal(db, db->geometry.root_at);
}
static void name_of_nothing(struct lunar* db) {
  memset(root_entry(db, 0), 0, LN_ROOT_ENTRY);
  root_entry(db, 0)[5] = 'x';
  seal(db, db->geometry.root_at);
}
static void table_lost(struct lunar* db) {
  memset(root_entry(db, 1), 0, LN_ROOT_ENTRY);
  seal(db, db->geometry.root_at);
}

static void columns_none(struct lunar* db) { set8(db, meta(db), LN_META_COLUMNS, 0); }
static void columns_many(struct lunar* db) { set8(db, meta(db), LN_META_COLUMNS, LUNAR_COLUMNS_MAX + 1); }
static void key_outside(struct lunar* db) { set8(db, meta(db), LN_META_KEY, 3); }
static void index_unknown(struct lunar* db) { set8(db, meta(db), LN_META_INDEX, 9); }

static void type_unknown(struct lunar* db) { set8(db, meta(db) + 1, LN_SCHEMA_COLUMNS + LUNAR_NAME_MAX + 1, 9); }
static void key_of_real(struct lunar* db) {
  set8(db, meta(db) + 1, LN_SCHEMA_COLUMNS + LUNAR_NAME_MAX + 1, LUNAR_REAL);
}
static void column_without_name(struct lunar* db) {
  memset(at(db, meta(db) + 1) + LN_SCHEMA_COLUMNS, 0, LN_ROOT_ENTRY);
  seal(db, meta(db) + 1);
}
static void columns_alike(struct lunar* db) {
  uint8_t* columns = at(db, meta(db) + 1) + LN_SCHEMA_COLUMNS;
  memcpy(columns + LN_SCHEMA_COLUMN, columns, LN_ROOT_ENTRY);
  seal(db, meta(db) + 1);
}

static void header_class(struct lunar* db) { set8(db, first_block(db), LN_BLOCK_CLASS, 7); }
static void header_slots(struct lunar* db) { set16(db, first_block(db), LN_BLOCK_SLOTS, 0xffff); }
static void header_slot_sectors(struct lunar* db) { set8(db, first_block(db), LN_BLOCK_SLOT_SECTORS, 0); }
static void header_tail(struct lunar* db) { set16(db, first_block(db), LN_BLOCK_TAIL, 0xffff); }
static void owner(struct lunar* db) { set16(db, second_block(db), LN_BLOCK_TABLE, 1); }

static void chain_cut(struct lunar* db) { set32(db, first_block(db), LN_BLOCK_NEXT, LN_NONE); }
static void chain_circle(struct lunar* db) { set32(db, last_block(db), LN_BLOCK_NEXT, first_ref(db)); }
static void chain_to_itself(struct lunar* db) { set32(db, second_block(db), LN_BLOCK_NEXT, second_ref(db)); }
static void chain_previous(struct lunar* db) { set32(db, second_block(db), LN_BLOCK_PREVIOUS, LN_NONE); }
static void chain_last(struct lunar* db) { set32(db, meta(db), LN_META_LAST, first_ref(db)); }
static void serial(struct lunar* db) {
  set32(db, second_block(db), LN_BLOCK_SERIAL, get32(db, first_block(db), LN_BLOCK_SERIAL));
}
/* Of both: back to its beginning, and agreeing about it. */
static void circle_that_agrees(struct lunar* db) {
  set32(db, last_block(db), LN_BLOCK_NEXT, first_ref(db));
  set32(db, first_block(db), LN_BLOCK_PREVIOUS, last_ref(db));
}

static void slot_outside(struct lunar* db) {
  const uint32_t block = last_block(db);
  set16(db, block, slot_offset(live_slot(db, block)), 0x7fff);
}
static void slot_among_slots(struct lunar* db) {
  const uint32_t block = last_block(db);
  set16(db, block, slot_offset(live_slot(db, block)), 2);
}
static void slots_alike(struct lunar* db) {
  const uint32_t block = last_block(db);
  set16(db, block, slot_offset(1), get16(db, block, slot_offset(0)));
}
static void slot_freed(struct lunar* db) {
  const uint32_t block = last_block(db), slot = live_slot(db, block);
  set16(db, block, slot_offset(slot), get16(db, block, slot_offset(slot)) | LN_SLOT_FREE);
}
static void slot_revived(struct lunar* db) {
  const uint32_t block = block_with(db, 1, 0, 0);
  uint32_t slot = 0;
  while (!(get16(db, block, slot_offset(slot)) & LN_SLOT_FREE)) slot++;
  set16(db, block, slot_offset(slot), get16(db, block, slot_offset(slot)) & ~(uint32_t)LN_SLOT_FREE);
}

static void row_longer_than_room(struct lunar* db) { ln_put16(some_row(db), 4u * ln_get16(some_row(db) + 2) + 1); }
static void room_behind_block(struct lunar* db) { ln_put16(some_row(db) + 2, 0x7fff); }
static void room_into_next(struct lunar* db) {
  uint8_t* row = row_of(db, last_block(db), 0);
  ln_put16(row + 2, ln_get16(row + 2) + (uint32_t)(row_of(db, last_block(db), 1) - row) / 4);
}
static void row_shorter(struct lunar* db) { ln_put16(some_row(db), ln_get16(some_row(db)) - 1u); }
static void row_of_one_byte(struct lunar* db) { ln_put16(some_row(db), 1); }
static void key_null(struct lunar* db) { some_row(db)[LN_ROW_HEADER] |= 1; }
static void null_of_no_column(struct lunar* db) { some_row(db)[LN_ROW_HEADER + 1] |= 0x80; }
static void text_longer(struct lunar* db) { ln_put16(some_row(db) + LN_ROW_HEADER + 2 + 8, 0xffff); }

static void tail(struct lunar* db) {
  set16(db, last_block(db), LN_BLOCK_TAIL, get16(db, last_block(db), LN_BLOCK_TAIL) - 1);
}
static void live_count(struct lunar* db) {
  set16(db, last_block(db), LN_BLOCK_LIVE, get16(db, last_block(db), LN_BLOCK_LIVE) + 1);
}
static void free_count(struct lunar* db) {
  set16(db, last_block(db), LN_BLOCK_FREE, get16(db, last_block(db), LN_BLOCK_FREE) + 1);
}

static void reuse_none(struct lunar* db) { set32(db, meta(db), LN_META_LISTS, LN_NONE); }
static void reuse_circle(struct lunar* db) {
  const uint32_t first = get32(db, meta(db), LN_META_LISTS);
  set32(db, first, LN_BLOCK_REUSE, first);
}
static void reuse_full_block(struct lunar* db) {
  const uint32_t full = block_with(db, 0, 0, 1), first = get32(db, meta(db), LN_META_LISTS);
  uint32_t ref = first_ref(db);
  while (ref != full) ref = get32(db, ref, LN_BLOCK_NEXT);
  set32(db, full, LN_BLOCK_REUSE, get32(db, first, LN_BLOCK_REUSE));
  set32(db, meta(db), LN_META_LISTS, ref); /* instead of the first: as many as there were */
}
static void reuse_outside(struct lunar* db) { set32(db, meta(db), LN_META_LISTS, 0x0ffffffe); }

static void sectors(struct lunar* db) {
  set32(db, meta(db), LN_META_SECTORS, get32(db, meta(db), LN_META_SECTORS) + 1);
}
static void rows(struct lunar* db) { set32(db, meta(db), LN_META_ROWS, get32(db, meta(db), LN_META_ROWS) + 1); }

static void bucket_overfull(struct lunar* db) { set16(db, bucket(db, 0), LN_BUCKET_COUNT, bucket_max(db) + 1); }
static void buckets_none(struct lunar* db) { set32(db, meta(db), LN_META_BUCKETS, 0); }
static void buckets_many(struct lunar* db) { set32(db, meta(db), LN_META_BUCKETS, 0xffffffff); }
static void segment_class(struct lunar* db) { set32(db, meta(db), LN_META_SEGMENTS, 0xf0000000); }
static void overflow_outside(struct lunar* db) { set32(db, bucket_with_overflow(db, 0), LN_BUCKET_OVERFLOW, 1); }
static void overflow_circle(struct lunar* db) {
  const uint32_t page = get32(db, bucket_with_overflow(db, 1), LN_BUCKET_OVERFLOW);
  set32(db, page, LN_BUCKET_OVERFLOW, page);
}
static void overflow_in_free_block(struct lunar* db) {
  const uint32_t last = db->geometry.data_at + db->geometry.chunk_count * db->geometry.chunk_sectors - 1;
  set32(db, bucket_with_overflow(db, 0), LN_BUCKET_OVERFLOW, last);
}
static void overflow_lost(struct lunar* db) { set32(db, bucket_with_overflow(db, 1), LN_BUCKET_OVERFLOW, LN_NONE); }

static void entries_swapped(struct lunar* db) {
  uint8_t *a = at(db, bucket(db, 0)) + LN_BUCKET_HEADER, *b = at(db, bucket(db, 1)) + LN_BUCKET_HEADER;
  for (uint32_t i = 0; i < LN_ENTRY; i++) {
    const uint8_t byte = a[i];
    a[i] = b[i], b[i] = byte;
  }
  seal(db, bucket(db, 0)), seal(db, bucket(db, 1));
}
static void entry_missing(struct lunar* db) {
  const uint32_t page = bucket_with_overflow(db, 0);
  set16(db, page, LN_BUCKET_COUNT, get16(db, page, LN_BUCKET_COUNT) - 1);
}
static void entry_elsewhere(struct lunar* db) {
  const uint32_t page = bucket(db, 0), slot = LN_BUCKET_HEADER + 12;
  set16(db, page, slot, get16(db, page, slot) + 1);
}
static void entry_in_other_block(struct lunar* db) { set32(db, bucket(db, 0), LN_BUCKET_HEADER + 8, 0x0ffffffe); }
static void entry_added(struct lunar* db, uint32_t slot_to_add) {
  const uint32_t page = bucket_with_overflow(db, 0), count = get16(db, page, LN_BUCKET_COUNT);
  uint8_t* first = at(db, page) + LN_BUCKET_HEADER;
  memcpy(first + count * LN_ENTRY, first, LN_ENTRY);
  ln_put16(first + count * LN_ENTRY + 12, ln_get16(first + 12) + slot_to_add);
  set16(db, page, LN_BUCKET_COUNT, count + 1);
}
static void entry_twice(struct lunar* db) { entry_added(db, 0); }
static void entry_without_row(struct lunar* db) { entry_added(db, 0x4000); }

static void extent_over_rows(struct lunar* db) { extent(db)->sector = extent(db)->block; }
static void extent_behind_block(struct lunar* db) { extent(db)->sector += 1000; }
static void extent_of_other_table(struct lunar* db) { extent(db)->table = 1; }
static void extent_in_no_block(struct lunar* db) { extent(db)->block = get32(db, meta(db), LN_META_SEGMENTS); }

static void checkpoint_damaged(struct lunar* db) {
  at(db, db->geometry.log_at + db->checkpoint_at)[LN_GROUP_HEADER] ^= 1;
}

/* --- secondary indexes: numbers 1, by hashing, and 2 of table number 0 --- */

static uint32_t meta_of(struct lunar* db, uint32_t number) { return meta(db) + 2 * number; }
static void index_of_another_table(struct lunar* db) { set16(db, meta_of(db, 1), LN_META_TABLE, 2); }
static void index_of_no_column(struct lunar* db) { set8(db, meta_of(db, 1), LN_META_KEY, 3); }
static void index_not_listed(struct lunar* db) { set16(db, meta(db), LN_META_INDEXES + 2, 0); }
static void index_listed_twice(struct lunar* db) {
  set16(db, meta(db), LN_META_INDEXES + 2, get16(db, meta(db), LN_META_INDEXES));
}
static void table_as_index(struct lunar* db) { set16(db, meta(db), LN_META_INDEXES + 2, 0 + 1); }
static void index_out_of_the_volume(struct lunar* db) { set16(db, meta(db), LN_META_INDEXES + 2, 0xffff); }
static void index_without_a_name(struct lunar* db) {
  memset(root_entry(db, 1), 0, LN_ROOT_ENTRY);
  seal(db, db->geometry.root_at);
}
static void index_entries_miscounted(struct lunar* db) {
  set32(db, meta_of(db, 1), LN_META_ROWS, get32(db, meta_of(db, 1), LN_META_ROWS) + 1);
}
static void index_entry_lost(struct lunar* db) {
  uint32_t sector = get32(db, meta_of(db, 1), LN_META_SEGMENTS);
  while (get16(db, sector, LN_BUCKET_COUNT) == 0) sector = get32(db, sector, LN_BUCKET_OVERFLOW);
  set16(db, sector, LN_BUCKET_COUNT, get16(db, sector, LN_BUCKET_COUNT) - 1);
}

const struct damage index_damages[] = {
    {"an index of another table", LUNAR_PROBLEM_METADATA, LUNAR_INDEX_HASH, index_of_another_table},
    {"an index of a column that is not there", LUNAR_PROBLEM_METADATA, LUNAR_INDEX_HASH, index_of_no_column},
    {"an index that its table does not list", LUNAR_PROBLEM_METADATA, LUNAR_INDEX_HASH, index_not_listed},
    {"an index that its table lists twice", LUNAR_PROBLEM_METADATA, LUNAR_INDEX_HASH, index_listed_twice},
    {"a table among its own indexes", LUNAR_PROBLEM_METADATA, LUNAR_INDEX_HASH, table_as_index},
    {"an index number that is none", LUNAR_PROBLEM_METADATA, LUNAR_INDEX_HASH, index_out_of_the_volume},
    {"an index without a name", LUNAR_PROBLEM_METADATA, LUNAR_INDEX_HASH, index_without_a_name},
    {"a wrong number of entries", LUNAR_PROBLEM_ROWS, LUNAR_INDEX_HASH, index_entries_miscounted},
    {"a row that is not in an index", LUNAR_PROBLEM_ROW_NOT_INDEXED, LUNAR_INDEX_HASH, index_entry_lost},
};
const unsigned index_damage_count = sizeof index_damages / sizeof index_damages[0];

void damage_group_bytes(struct lunar* db) {
  const struct lunar_geometry* g = &db->geometry;
  for (uint32_t unit = 0; unit < g->log_sectors; unit += g->unit_sectors) {
    uint8_t* group = at(db, g->log_at + unit);
    if (ln_get16(group) != LN_GROUP) continue;
    ln_put32(group + LN_GROUP_BYTES, 0xffffffffu - LN_GROUP_HEADER + 1);
    ln_put32(group + LN_GROUP_SUM, ln_checksum(g->volume, group, LN_GROUP_SUM));
  }
}

int damage_make_pinned_fresh(struct lunar* db) {
  struct lunar_frame *frame, *again;
  LN_TRY(ln_page(db, meta(db), LN_META, &frame));
  const int error = ln_page_fresh(db, meta(db), LN_BLOCK, &again);
  if (!error) ln_put(again);
  ln_put(frame);
  return error;
}

int damage_forget_pinned(struct lunar* db) {
  struct lunar_frame* frame;
  LN_TRY(ln_page(db, meta(db), LN_META, &frame));
  const int error = ln_forget(db, meta(db), 1), everywhere = ln_forget(db, 2, db->config->sector_count - 2);
  ln_put(frame);
  return error == everywhere ? error : 0;
}

/* Behind the child of all that is less, as many children as a page has room for, each above any other key. */
static void full_inner_page(struct lunar* db, uint32_t sector, uint32_t level, uint32_t child) {
  uint8_t* page = at(db, sector);
  uint32_t end = LN_TREE_HEADER, count = 0;
  memset(page, 0, db->config->sector_bytes);
  page[LN_PAGE_KIND] = LN_TREE;
  page[LN_TREE_LEVEL] = (uint8_t)level;
  page[LN_TREE_PAYLOAD] = 4;
  for (uint32_t bytes = 0; end + 1 + bytes + 4 <= db->config->sector_bytes; bytes = LUNAR_TREE_KEY_MAX, count++) {
    page[end] = (uint8_t)bytes;
    memset(page + end + 1, 0xff, bytes);
    if (bytes) page[end + bytes] = (uint8_t)count;
    ln_store32(page + end + 1 + bytes, child);
    end += 1 + bytes + 4;
  }
  ln_put16(page + LN_TREE_COUNT, count);
  set16(db, sector, LN_TREE_END, end);
}

int damage_tree_height(struct lunar* db) {
  LN_TRY(damage_begin(db));
  const struct lunar_geometry* g = &db->geometry;
  uint32_t sector = g->data_at + (g->chunk_count - 1) * g->chunk_sectors,
           level = get32(db, meta(db), LN_META_TREE_HEIGHT);
  for (; level < LN_TREE_HEIGHT_MAX; level++, sector++) {
    full_inner_page(db, sector, level, root(db));
    set32(db, meta(db), LN_META_TREE_ROOT, sector);
  }
  set32(db, meta(db), LN_META_TREE_HEIGHT, level);
  return 0;
}

static void leaf_entries_swapped(struct lunar* db) {
  const uint32_t bytes = leaf_entry(db, leaf(db, 1));
  uint8_t *a = at(db, leaf(db, 1)) + entries_at(db, leaf(db, 1)), *b = a + bytes;
  for (uint32_t i = 0; i < bytes; i++) {
    const uint8_t byte = a[i];
    a[i] = b[i], b[i] = byte;
  }
  seal(db, leaf(db, 1));
}
static void leaves_swapped(struct lunar* db) {
  const uint32_t a = child_offset(db, 0), b = child_offset(db, 1), ref = get32(db, root(db), a);
  set32(db, root(db), a, get32(db, root(db), b));
  set32(db, root(db), b, ref);
}
static void leaf_twice(struct lunar* db) {
  set32(db, root(db), child_offset(db, 1), get32(db, root(db), child_offset(db, 0)));
}
static void leaf_in_free_block(struct lunar* db) { set32(db, root(db), child_offset(db, 1), 0x0ffffffe); }
static void leaf_is_root(struct lunar* db) {
  set32(db, root(db), child_offset(db, 1), get32(db, meta(db), LN_META_TREE_ROOT));
}
static void leaf_end(struct lunar* db) { set16(db, leaf(db, 1), LN_TREE_END, get16(db, leaf(db, 1), LN_TREE_END) - 1); }
static void leaf_count(struct lunar* db) {
  set16(db, leaf(db, 1), LN_TREE_COUNT, get16(db, leaf(db, 1), LN_TREE_COUNT) - 1);
}
static void leaf_level(struct lunar* db) { set8(db, leaf(db, 1), LN_TREE_LEVEL, 1); }
static void tree_height(struct lunar* db) { set32(db, meta(db), LN_META_TREE_HEIGHT, 99); }
static void tree_height_of_none(struct lunar* db) { set32(db, meta(db), LN_META_TREE_HEIGHT, 0); }
static void leaf_entry_missing(struct lunar* db) {
  leaf_count(db);
  set16(db, leaf(db, 1), LN_TREE_END, get16(db, leaf(db, 1), LN_TREE_END) - leaf_entry(db, leaf(db, 1)));
}
static void leaf_entry_elsewhere(struct lunar* db) {
  const uint32_t slot = entries_at(db, leaf(db, 1)) + leaf_entry(db, leaf(db, 1)) - 2;
  set16(db, leaf(db, 1), slot, get16(db, leaf(db, 1), slot) + 1);
}
/* Behind the last leaf's last: the place of that, the key after it. */
static void leaf_entry_added(struct lunar* db) {
  const uint32_t last = last_leaf(db), end = get16(db, last, LN_TREE_END), bytes = leaf_entry(db, last);
  uint8_t* page = at(db, last);
  memcpy(page + end, page + end - bytes, bytes);
  page[end + bytes - 7]++; /* the key's last byte */
  ln_put16(page + LN_TREE_COUNT, ln_get16(page + LN_TREE_COUNT) + 1u);
  set16(db, last, LN_TREE_END, end + bytes);
}

#define DAMAGE(problem, make) \
  { #make, LUNAR_PROBLEM_##problem, LUNAR_INDEX_HASH, make }
#define TREE_DAMAGE(problem, make) \
  { #make, LUNAR_PROBLEM_##problem, LUNAR_INDEX_TREE, make }

const struct damage damages[] = {
    DAMAGE(PAGE, page_byte),
    DAMAGE(PAGE, page_kind),
    DAMAGE(BLOCK_FREE, row_page_missing),
    DAMAGE(MAP, map_bit),
    DAMAGE(MAP, map_class),
    DAMAGE(BLOCK_LEAKED, block_leaked),
    DAMAGE(BLOCK_LEAKED, table_lost),
    DAMAGE(BLOCK_FREE, block_free),
    DAMAGE(BLOCK_FREE, overflow_in_free_block),
    DAMAGE(BLOCK_TWICE, overflow_circle),
    DAMAGE(CHUNKS_FREE, chunks_free),
    DAMAGE(NAME, name_behind_end),
    DAMAGE(NAME, name_of_nothing),
    DAMAGE(NAME_TWICE, name_twice),
    DAMAGE(METADATA, columns_none),
    DAMAGE(METADATA, columns_many),
    DAMAGE(METADATA, key_outside),
    DAMAGE(METADATA, index_unknown),
    DAMAGE(SCHEMA, type_unknown),
    DAMAGE(SCHEMA, key_of_real),
    DAMAGE(SCHEMA, column_without_name),
    DAMAGE(SCHEMA, columns_alike),
    DAMAGE(BLOCK_HEADER, header_class),
    DAMAGE(BLOCK_HEADER, header_slots),
    DAMAGE(BLOCK_HEADER, header_slot_sectors),
    DAMAGE(BLOCK_HEADER, header_tail),
    DAMAGE(BLOCK_OWNER, owner),
    DAMAGE(CHAIN, chain_cut),
    DAMAGE(CHAIN, chain_circle),
    DAMAGE(CHAIN, chain_to_itself),
    DAMAGE(CHAIN, chain_previous),
    DAMAGE(CHAIN, chain_last),
    DAMAGE(CHAIN, circle_that_agrees),
    DAMAGE(SERIAL, serial),
    DAMAGE(SLOT, slot_outside),
    DAMAGE(SLOT, slot_among_slots),
    DAMAGE(ROWS_OVERLAP, slots_alike),
    DAMAGE(ROWS_OVERLAP, room_into_next),
    DAMAGE(BLOCK_COUNTS, slot_freed),
    DAMAGE(BLOCK_COUNTS, slot_revived),
    DAMAGE(BLOCK_COUNTS, live_count),
    DAMAGE(BLOCK_COUNTS, free_count),
    DAMAGE(ROW_ROOM, row_longer_than_room),
    DAMAGE(ROW_ROOM, room_behind_block),
    DAMAGE(ROW, row_shorter),
    DAMAGE(ROW, row_of_one_byte),
    DAMAGE(ROW, key_null),
    DAMAGE(ROW, null_of_no_column),
    DAMAGE(ROW, text_longer),
    DAMAGE(BLOCK_TAIL, tail),
    DAMAGE(REUSE, reuse_none),
    DAMAGE(REUSE, reuse_circle),
    DAMAGE(REUSE, reuse_full_block),
    DAMAGE(REUSE, reuse_outside),
    DAMAGE(SECTORS, sectors),
    DAMAGE(ROWS, rows),
    DAMAGE(INDEX_PAGE, bucket_overfull),
    DAMAGE(INDEX_PAGE, buckets_none),
    DAMAGE(INDEX_PAGE, buckets_many),
    DAMAGE(INDEX_PAGE, segment_class),
    DAMAGE(INDEX_PAGE, overflow_outside),
    DAMAGE(INDEX_ORDER, entries_swapped),
    DAMAGE(ROW_NOT_INDEXED, entry_missing),
    DAMAGE(ROW_NOT_INDEXED, entry_elsewhere),
    DAMAGE(ROW_NOT_INDEXED, entry_in_other_block),
    DAMAGE(ROW_NOT_INDEXED, overflow_lost),
    DAMAGE(ENTRY_WITHOUT_ROW, entry_without_row),
    DAMAGE(ENTRY_TWICE, entry_twice),
    DAMAGE(EXTENT, extent_over_rows),
    DAMAGE(EXTENT, extent_behind_block),
    DAMAGE(EXTENT, extent_of_other_table),
    DAMAGE(EXTENT, extent_in_no_block),
    DAMAGE(LOG, checkpoint_damaged),
    TREE_DAMAGE(INDEX_ORDER, leaf_entries_swapped),
    TREE_DAMAGE(INDEX_ORDER, leaves_swapped),
    TREE_DAMAGE(INDEX_ORDER, leaf_twice),
    TREE_DAMAGE(BLOCK_FREE, leaf_in_free_block),
    TREE_DAMAGE(INDEX_PAGE, leaf_is_root),
    TREE_DAMAGE(INDEX_PAGE, leaf_end),
    TREE_DAMAGE(INDEX_PAGE, leaf_count),
    TREE_DAMAGE(INDEX_PAGE, leaf_level),
    TREE_DAMAGE(INDEX_PAGE, tree_height),
    TREE_DAMAGE(INDEX_PAGE, tree_height_of_none),
    TREE_DAMAGE(ROW_NOT_INDEXED, leaf_entry_missing),
    TREE_DAMAGE(ROW_NOT_INDEXED, leaf_entry_elsewhere),
    TREE_DAMAGE(ENTRY_WITHOUT_ROW, leaf_entry_added),
};
const unsigned damage_count = sizeof damages / sizeof damages[0];
