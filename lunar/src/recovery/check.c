/* lunar_check: verifies that the parts of a volume agree. The memory that it needs does not grow with the volume.
 *
 * Two collections that must be the same set (the blocks in use and the blocks reached, a table's rows and the entries
 * of its index) are both counted, and a 64-bit hash of each member is summed up. Equal sums mean equal sets, except for
 * one chance in 2^64. So every page is read about once, in the order in which it lies. Only if the sums differ, each
 * member is searched, to find the one that is wrong.
 *
 * The walk cannot run in a circle: a block's header names the block before it, and the walk ends when it has reached
 * more blocks than are in use.
 */
#include "recovery.h"

#if LUNAR_WITH_CHECK

/* A set: number of members, sum of the members, sum of their hashes. */
struct tally {
  uint64_t count, sum, mixed;
};

#if LUNAR_WITH_SECONDARY
enum { CHECKED_MAX = 1 + LUNAR_INDEXES_MAX };
#else
enum { CHECKED_MAX = 1 };
#endif

enum phase { COUNT, FIND_ROWS, FIND_ENTRIES };

/* One of a table's indexes. */
struct checked {
  uint16_t number; /* whose metadata page has it */
  uint8_t kind, column;
  uint64_t stated; /* number of entries by its metadata */
  struct tally rows, entries;
};

struct check {
  struct ln_walk walk;        /* must be first: the callbacks of a walk cast it to struct check */
  struct tally used, reached; /* blocks: in use by the allocation map; reached by the walk */
  /* The following fields describe the table that is checked. */
  struct lunar_table table;
  struct tally listed[LN_LISTS];       /* blocks that belong in each list */
  uint64_t dead;                       /* units of 4 bytes */
  struct checked indexes[CHECKED_MAX]; /* the primary one, then the secondary ones */
  uint32_t index_count, index;         /* number of indexes; the one that is checked */
  uint32_t sectors, block_sectors /* of the block met last, by the map */;
  enum phase phase;
  uint8_t extents_seen; /* a bit for each open extent whose block was met */
};

struct block {
  uint32_t ref, sector, sectors, next, previous, serial, slots, live, free_slots, from, dead, tail, slot_sectors;
  uint16_t table;
};

static uint64_t mixed(uint64_t v) { /* the finaliser of MurmurHash3 */
  v = (v ^ v >> 33) * 0xff51afd7ed558ccdu;
  v = (v ^ v >> 33) * 0xc4ceb9fe1a85ec53u;
  return v ^ v >> 33;
}

static void add(struct tally* tally, uint64_t member) {
  tally->count++;
  tally->sum += member;
  tally->mixed += mixed(member + 1);
}

static int same(const struct tally* a, const struct tally* b) { return a->count == b->count && a->mixed == b->mixed; }

static uint64_t member(uint8_t kind, const struct ln_key* key, struct ln_place place) {
  uint64_t number = key->number;
#if LUNAR_WITH_TREE
  if (kind == LUNAR_INDEX_TREE)
    number = (uint64_t)ln_checksum(1, key->bytes, key->count) << 32 | ln_checksum(2, key->bytes, key->count);
#else
  (void)kind;
#endif
  return mixed(number) ^ ((uint64_t)place.ref << 16 | place.slot);
}

static int problem(struct check* check, enum lunar_problem what, uint32_t sector) {
  return ln_walk_problem(&check->walk, what, sector);
}

static int page(struct check* check, uint32_t sector, enum ln_kind kind, struct lunar_frame** frame) {
  return ln_walk_page(&check->walk, sector, kind, frame);
}

/* --- allocation map --- */

static int chunk_check(struct check* check, uint32_t chunk, const uint8_t* entry) {
  const struct lunar* db = check->walk.db;
  const uint8_t class = entry[0];
  const int is_free = class == LN_CHUNK_FREE;
  uint32_t used = 0;
  if (!is_free && class >= db->geometry.class_count) return 0;
  const uint32_t sectors = is_free ? 0 : ln_class_sectors(db, class);
  const uint32_t blocks = is_free ? 0 : db->geometry.chunk_sectors / sectors;
  for (uint32_t i = 0; i < LN_CHUNK_BLOCKS_MAX; i++) {
    if (!(entry[LN_MAP_BITS + i / 8] >> i % 8 & 1)) continue;
    if (i >= blocks) return 0;
    add(&check->used, db->geometry.data_at + chunk * db->geometry.chunk_sectors + i * sectors);
    used++;
  }
  if (is_free)
    check->walk.found->chunks_free++;
  else
    check->walk.found->chunks_used++;
  return used == entry[LN_MAP_USED] && is_free == (used == 0);
}

static int map_check(struct check* check) {
  struct lunar* db = check->walk.db;
  const uint32_t per_page = (db->config->sector_bytes - LN_MAP_HEADER) / LN_MAP_ENTRY;
  for (uint32_t chunk = 0; chunk < db->geometry.chunk_count; chunk++) {
    struct lunar_frame* frame;
    const uint32_t sector = db->geometry.map_at + chunk / per_page;
    LN_TRY(page(check, sector, LN_MAP, &frame));
    const int sound = chunk_check(check, chunk, frame->bytes + LN_MAP_HEADER + LN_MAP_ENTRY * (chunk % per_page));
    ln_put(frame);
    if (!sound) return problem(check, LUNAR_PROBLEM_MAP, sector);
  }
  return check->walk.found->chunks_free == db->chunks_free
             ? 0
             : problem(check, LUNAR_PROBLEM_CHUNKS_FREE, db->geometry.map_at);
}

/* Returns the number of sectors of the block that begins at ref, by the allocation map; 0 if no block in use begins
 * there; or an error. */
static int in_use(struct check* check, uint32_t ref) {
  struct lunar* db = check->walk.db;
  struct lunar_frame* frame;
  const uint32_t at = ref - db->geometry.data_at, chunk = at / db->geometry.chunk_sectors;
  const uint32_t per_page = (db->config->sector_bytes - LN_MAP_HEADER) / LN_MAP_ENTRY;
  if (chunk >= db->geometry.chunk_count) return 0;
  LN_TRY(page(check, db->geometry.map_at + chunk / per_page, LN_MAP, &frame));
  const uint8_t* entry = frame->bytes + LN_MAP_HEADER + LN_MAP_ENTRY * (chunk % per_page);
  const uint32_t sectors = entry[0] < db->geometry.class_count ? ln_class_sectors(db, entry[0]) : 1;
  const uint32_t within = at % db->geometry.chunk_sectors, i = within / sectors;
  const int used =
      entry[0] < db->geometry.class_count && within % sectors == 0 && entry[LN_MAP_BITS + i / 8] >> i % 8 & 1;
  ln_put(frame);
  return used ? (int)sectors : 0;
}

static int meet_block(struct ln_walk* walk, uint32_t ref, uint32_t sectors, uint32_t sector) {
  struct check* check = (struct check*)walk;
  if (check->phase != COUNT) return 0;
  const int used = in_use(check, ref);
  LN_TRY(used);
  if (!used) return problem(check, LUNAR_PROBLEM_BLOCK_FREE, sector);
  if (sectors && sectors != (uint32_t)used) return problem(check, LUNAR_PROBLEM_INDEX_PAGE, sector);
  check->block_sectors = (uint32_t)used;
  add(&check->reached, ref);
  return check->reached.count <= check->used.count ? 0 : problem(check, LUNAR_PROBLEM_BLOCK_TWICE, sector);
}

/* --- rows --- */

static int row_is_indexed(struct check* check, const struct ln_key* key, struct ln_place place, uint32_t sector) {
  struct lunar_frame* meta;
  LN_TRY(ln_meta(check->walk.db, check->indexes[check->index].number, &meta));
  const int error = ln_index_has(check->walk.db, meta, key, place);
  ln_put(meta);
  return error == LUNAR_E_NOT_FOUND ? problem(check, LUNAR_PROBLEM_ROW_NOT_INDEXED, sector) : error;
}

/* Computes the key under which the index has the row whose bytes begin at offset. */
static int row_key(struct check* check, uint32_t index, struct ln_place place, uint32_t sector, uint32_t offset,
                   struct ln_key* key) {
#if LUNAR_WITH_SECONDARY
  const struct checked* of = &check->indexes[index];
  if (index) return ln_secondary_row_key(&check->table, of->kind, of->column, place, sector, offset, key);
#else
  (void)index, (void)place;
#endif
  return ln_row_key(check->walk.db, &check->table, sector, offset, key);
}

/* Checks a live row. offset: place of its header, in bytes from the beginning of the block. bytes: length of the row.
 */
static int row_check(struct check* check, const struct block* block, uint32_t slot, uint32_t offset, uint32_t bytes) {
  const uint32_t sector = block->sector + offset / check->walk.db->config->sector_bytes;
  const struct ln_place place = {block->ref, (uint16_t)slot};
  struct ln_key key;
  const uint32_t sum_bytes = ln_row_sum_bytes(&check->table);
  int sound = bytes >= sum_bytes ? ln_row_is_sound(check->walk.db, &check->table, block->sector, offset + LN_ROW_HEADER,
                                                   bytes - sum_bytes)
                                 : 0;
  LN_TRY(sound);
  if (!sound) return problem(check, LUNAR_PROBLEM_ROW, sector);
  if (sum_bytes) sound = ln_row_is_whole(check->walk.db, block->sector, offset + LN_ROW_HEADER, bytes);
  LN_TRY(sound);
  if (!sound) return problem(check, LUNAR_PROBLEM_ROW_CHECKSUM, sector);
  if (check->phase == FIND_ROWS) {
    LN_TRY(row_key(check, check->index, place, block->sector, offset + LN_ROW_HEADER, &key));
    return row_is_indexed(check, &key, place, sector);
  }
  for (uint32_t i = 0; i < check->index_count; i++) {
    LN_TRY(row_key(check, i, place, block->sector, offset + LN_ROW_HEADER, &key));
    add(&check->indexes[i].rows, member(check->indexes[i].kind, &key, place));
  }
  check->walk.found->rows++;
  check->walk.found->row_bytes += bytes;
  return 0;
}

/* --- blocks --- */

static int header_read(struct check* check, uint32_t ref, struct block* block) {
  struct lunar* db = check->walk.db;
  struct lunar_frame* frame;
  const uint32_t sector = ref, size = db->config->sector_bytes;
  LN_TRY(page(check, sector, LN_BLOCK, &frame));
  const uint8_t* h = frame->bytes;
  *block = (struct block){.ref = ref,
                          .sector = sector,
                          .next = ln_get32(h + LN_BLOCK_NEXT),
                          .previous = ln_get32(h + LN_BLOCK_PREVIOUS),
                          .serial = ln_get32(h + LN_BLOCK_SERIAL),
                          .slots = ln_get16(h + LN_BLOCK_SLOTS),
                          .live = ln_get16(h + LN_BLOCK_LIVE),
                          .free_slots = ln_get16(h + LN_BLOCK_FREE),
                          .from = ln_get16(h + LN_BLOCK_FROM),
                          .dead = ln_get16(h + LN_BLOCK_DEAD),
                          .tail = 4u * ln_get16(h + LN_BLOCK_TAIL),
                          .slot_sectors = h[LN_BLOCK_SLOT_SECTORS],
                          .table = ln_get16(h + LN_BLOCK_TABLE)};
  if (h[LN_BLOCK_CLASS] < db->geometry.class_count) block->sectors = ln_class_sectors(db, h[LN_BLOCK_CLASS]);
  ln_put(frame);
  const uint32_t slots_max =
      (size - LN_BLOCK_HEADER) / 2 + (block->slot_sectors - 1) * ((size - LN_SLOT_PAGE_HEADER) / 2);
  const int sound = block->sectors && block->slot_sectors >= 1 && block->slot_sectors < block->sectors &&
                    block->slots <= slots_max && block->tail <= block->sectors * size;
  if (!sound) return problem(check, LUNAR_PROBLEM_BLOCK_HEADER, sector);
  return block->table == check->table.number ? 0 : problem(check, LUNAR_PROBLEM_BLOCK_OWNER, sector);
}

static int slot_pages_check(struct check* check, const struct block* block) {
  for (uint32_t i = 1; i < block->slot_sectors; i++) {
    struct lunar_frame* frame;
    LN_TRY(page(check, block->sector + i, LN_BLOCK, &frame));
    ln_put(frame);
  }
  return 0;
}

/* Checks the slots of a block. Each slot, live or free, has a room for a row. The rooms lie in the order of the slots
 * and do not overlap. */
static int slots_check(struct check* check, const struct block* block) {
  struct lunar* db = check->walk.db;
  const uint32_t size = db->config->sector_bytes;
  uint32_t end = block->slot_sectors * size, live = 0, dead = 0;
  for (uint32_t slot = 0; slot < block->slots; slot++) {
    uint32_t position, limit;
    LN_FIELDS(head, LN_ROW_HEADER);
    const int error = ln_slot_read(db, block->ref, slot, &position, &limit);
    if (error == LUNAR_E_CORRUPT) return problem(check, LUNAR_PROBLEM_SLOT, block->sector);
    LN_TRY(error);
    const uint32_t at = 4 * (position & ~(uint32_t)LN_SLOT_FREE);
    LN_TRY(ln_read_bytes(db, block->sector, at, head, sizeof head));
    const uint32_t bytes = ln_get16(head), room = 4u * ln_get16(head + 2);
    if (at < end) return problem(check, LUNAR_PROBLEM_ROWS_OVERLAP, block->sector + at / size);
    end = at + LN_ROW_HEADER + room;
    if (end > block->sectors * size) return problem(check, LUNAR_PROBLEM_ROW_ROOM, block->sector + at / size);
    if (position & LN_SLOT_FREE) {
      if (check->table.ring == LUNAR_RING_NONE && slot < block->from)
        return problem(check, LUNAR_PROBLEM_BLOCK_COUNTS, block->sector);
      dead += (LN_ROW_HEADER + room) / 4;
      continue;
    }
    if (bytes > room) return problem(check, LUNAR_PROBLEM_ROW_ROOM, block->sector + at / size);
    LN_TRY(row_check(check, block, slot, at, bytes));
    dead += room / 4 - (bytes + 3) / 4;
    live++;
  }
  if (end != block->tail) return problem(check, LUNAR_PROBLEM_BLOCK_TAIL, block->sector);
  if (check->table.ring) dead = 0;
  return live == block->live && live + block->free_slots == block->slots && dead == block->dead
             ? 0
             : problem(check, LUNAR_PROBLEM_BLOCK_COUNTS, block->sector);
}

/* Checks that the next group of an open extent begins behind the rows of its block, including the rows in the stage. */
static int extent_check(struct check* check, const struct block* block) {
  const struct lunar* db = check->walk.db;
  const uint32_t size = db->config->sector_bytes;
  for (uint32_t i = 0; i < LUNAR_EXTENTS; i++) {
    const struct lunar_extent* extent = &db->series.extents[i];
    if (extent->block != block->ref) continue;
    const int staged = db->stage_used && db->stage_sector == extent->sector;
    const uint32_t at = extent->sector - block->sector + (staged ? (db->stage_used + size - 1) / size : 0);
    if (extent->table != block->table || extent->sector < block->sector || at > block->sectors ||
        at * size < block->tail)
      return problem(check, LUNAR_PROBLEM_EXTENT, block->sector);
    check->extents_seen |= (uint8_t)(1u << i);
  }
  return 0;
}

static int block_check(struct check* check, uint32_t ref, struct block* block) {
  const uint32_t sector = ref;
  LN_TRY(meet_block(&check->walk, ref, 0, sector));
  LN_TRY(header_read(check, ref, block));
  if (check->phase == COUNT && block->sectors != check->block_sectors)
    return problem(check, LUNAR_PROBLEM_BLOCK_HEADER, sector);
  LN_TRY(slot_pages_check(check, block));
  LN_TRY(slots_check(check, block));
  if (check->phase != COUNT) return 0;
  check->walk.found->blocks++;
  check->sectors += block->sectors;
  const uint32_t list = 16 * block->dead / (block->sectors * check->walk.db->config->sector_bytes);
  check->dead += block->dead;
  if (check->table.ring == LUNAR_RING_NONE && (list || block->free_slots)) add(&check->listed[list], ref);
  return extent_check(check, block);
}

/* Checks the blocks of a table from the first to the last. *last becomes the last block; LN_NONE if there is none. */
static int chain_check(struct check* check, uint32_t ref, uint32_t* last) {
  struct block block = {.serial = 0};
  *last = LN_NONE;
  while (ref != LN_NONE) {
    const uint32_t serial = block.serial;
    LN_TRY(block_check(check, ref, &block));
    if (block.previous != *last) return problem(check, LUNAR_PROBLEM_CHAIN, block.sector);
    if (block.serial <= serial) return problem(check, LUNAR_PROBLEM_SERIAL, block.sector);
    *last = ref;
    ref = block.next;
  }
  return 0;
}

static int list_check(struct check* check, uint32_t list, uint32_t ref, uint32_t sector) {
  struct tally listed = {0};
  uint32_t back = LN_NONE;
  while (ref != LN_NONE) {
    struct block block;
    const int used = in_use(check, ref);
    LN_TRY(used);
    if (!used || listed.count == check->listed[list].count) return problem(check, LUNAR_PROBLEM_REUSE, sector);
    add(&listed, ref);
    LN_TRY(header_read(check, ref, &block));
    struct lunar_frame* frame;
    LN_TRY(page(check, sector = block.sector, LN_BLOCK, &frame));
    const uint8_t* header = frame->bytes;
    const int agree = ln_get32(header + LN_BLOCK_REUSE_BACK) == back;
    back = ref;
    ref = ln_get32(header + LN_BLOCK_REUSE);
    ln_put(frame);
    if (!agree) return problem(check, LUNAR_PROBLEM_REUSE, sector);
  }
  return same(&listed, &check->listed[list]) ? 0 : problem(check, LUNAR_PROBLEM_REUSE, sector);
}

/* --- index --- */

/* Checks that the place of an entry has a live row of the table with this key. */
static int entry_has_row(struct check* check, const struct ln_key* key, struct ln_place place, uint32_t sector) {
  struct lunar* db = check->walk.db;
  struct block block;
  uint32_t position, end;
  struct ln_key there;
  int sound = in_use(check, place.ref);
  LN_TRY(sound);
  if (sound && header_read(check, place.ref, &block) == LUNAR_E_CORRUPT) sound = 0;
  if (sound) sound = place.slot < block.slots;
  if (sound) LN_TRY(ln_slot_read(db, place.ref, place.slot, &position, &end));
  if (sound) sound = !(position & LN_SLOT_FREE);
  if (sound) {
    const uint8_t kind = check->indexes[check->index].kind;
    LN_TRY(row_key(check, check->index, place, block.sector, 4 * position + LN_ROW_HEADER, &there));
    sound = member(kind, &there, place) == member(kind, key, place);
  }
  return sound ? 0 : problem(check, LUNAR_PROBLEM_ENTRY_WITHOUT_ROW, sector);
}

static int meet_entry(struct ln_walk* walk, const struct ln_key* key, struct ln_place place, uint32_t sector) {
  struct check* check = (struct check*)walk;
  struct checked* index = &check->indexes[check->index];
  if (check->phase == FIND_ENTRIES) return entry_has_row(check, key, place, sector);
  add(&index->entries, member(index->kind, key, place));
  check->walk.found->index_entries++;
  return 0;
}

static int index_check(struct check* check) {
  struct lunar_frame* meta;
  LN_TRY(ln_meta(check->walk.db, check->indexes[check->index].number, &meta));
  const uint64_t before = check->reached.count;
  const int error = ln_index_walk(&check->walk, meta);
  ln_put(meta);
  check->walk.found->index_blocks += (uint32_t)(check->reached.count - before);
  return error;
}

/* Finds the row or entry that is wrong, after the sums of rows and entries differed. If each row has its entry and each
 * entry its row, an entry is there twice. */
static int find_difference(struct check* check, uint32_t first, uint32_t sector) {
  uint32_t last;
  check->phase = FIND_ROWS;
  LN_TRY(chain_check(check, first, &last));
  check->phase = FIND_ENTRIES;
  LN_TRY(index_check(check));
  return problem(check, LUNAR_PROBLEM_ENTRY_TWICE, sector);
}

static int indexes_compare(struct check* check, uint32_t first) {
  for (check->index = 0; check->index < check->index_count; check->index++) {
    const struct checked* index = &check->indexes[check->index];
    check->phase = COUNT;
    LN_TRY(index_check(check));
    if (!same(&index->rows, &index->entries))
      return find_difference(check, first, check->walk.db->geometry.meta_at + 2u * index->number);
    if (index->entries.count != index->stated)
      return problem(check, LUNAR_PROBLEM_ROWS, check->walk.db->geometry.meta_at + 2u * index->number);
  }
  return 0;
}

/* --- tables --- */

static int name_read(struct check* check, uint16_t number, char name[LN_ROOT_ENTRY], uint32_t* sector) {
  struct lunar* db = check->walk.db;
  const uint32_t per_page = (db->config->sector_bytes - LN_ROOT_HEADER) / LN_ROOT_ENTRY;
  struct lunar_frame* frame;
  *sector = db->geometry.root_at + number / per_page;
  LN_TRY(page(check, *sector, LN_ROOT, &frame));
  memcpy(name, frame->bytes + LN_ROOT_HEADER + LN_ROOT_ENTRY * (number % per_page), LN_ROOT_ENTRY);
  ln_put(frame);
  return 0;
}

/* Returns 1 if the name is not empty, ends with a zero, and has only zeros behind it. */
static int name_sound(const char* name) {
  uint32_t i = 0;
  while (i < LN_ROOT_ENTRY && name[i]) i++;
  if (i == 0 || i == LN_ROOT_ENTRY) return 0;
  while (i < LN_ROOT_ENTRY && !name[i]) i++;
  return i == LN_ROOT_ENTRY;
}

static int name_check(struct check* check, uint16_t number, const char* name, uint32_t sector) {
  char other[LN_ROOT_ENTRY];
  if (!name_sound(name)) return problem(check, LUNAR_PROBLEM_NAME, sector);
  for (uint16_t i = 0; i < number; i++) {
    uint32_t at;
    LN_TRY(name_read(check, i, other, &at));
    if (memcmp(name, other, LN_ROOT_ENTRY) == 0) return problem(check, LUNAR_PROBLEM_NAME_TWICE, sector);
  }
  return 0;
}

static int column_sound(const uint8_t* columns, uint32_t i, uint32_t key) {
  const uint8_t* column = columns + LN_SCHEMA_COLUMN * i;
  const uint8_t type = column[LUNAR_NAME_MAX + 1];
  for (uint32_t k = 0; k < i; k++)
    if (memcmp(column, columns + LN_SCHEMA_COLUMN * k, LN_ROOT_ENTRY) == 0) return 0;
  return name_sound((const char*)column) && type >= LUNAR_INT8 && type <= LUNAR_BLOB &&
         column[LUNAR_NAME_MAX + 2] <= LUNAR_NOT_NULL && (i != key || (type != LUNAR_REAL && type != LUNAR_BOOLEAN));
}

static int schema_check(struct check* check, uint16_t number, uint32_t columns, uint32_t key) {
  struct lunar_frame* frame;
  const uint32_t sector = check->walk.db->geometry.meta_at + 2u * number + 1;
  LN_TRY(page(check, sector, LN_SCHEMA, &frame));
  int sound = 1;
  for (uint32_t i = 0; i < columns; i++)
    if (!column_sound(frame->bytes + LN_SCHEMA_COLUMNS, i, key)) sound = 0;
  ln_put(frame);
  return sound ? ln_table_load(check->walk.db, number, &check->table) : problem(check, LUNAR_PROBLEM_SCHEMA, sector);
}

struct metadata {
  uint64_t rows, dead;
  uint32_t first, last, sectors, lists[LN_LISTS], serial;
  uint8_t index, key, columns;
};

static int metadata_read(struct check* check, uint32_t sector, struct metadata* m) {
  struct lunar_frame* frame;
  LN_TRY(page(check, sector, LN_META, &frame));
  const uint8_t* p = frame->bytes;
  *m = (struct metadata){.rows = ln_get64(p + LN_META_ROWS),
                         .first = ln_get32(p + LN_META_FIRST),
                         .last = ln_get32(p + LN_META_LAST),
                         .sectors = ln_get32(p + LN_META_SECTORS),
                         .dead = ln_get64(p + LN_META_DEAD),
                         .serial = ln_get32(p + LN_META_SERIAL),
                         .index = p[LN_META_INDEX],
                         .key = p[LN_META_KEY],
                         .columns = p[LN_META_COLUMNS]};
  for (uint32_t i = 0; i < LN_LISTS; i++) m->lists[i] = ln_get32(p + LN_META_LISTS + 4 * i);
  ln_put(frame);
  return 0;
}

#if LUNAR_WITH_SECONDARY
static int lists(struct check* check, uint16_t table, uint16_t number) {
  uint16_t numbers[LUNAR_INDEXES_MAX];
  int listed = 0,
      count = table < check->walk.db->geometry.tables_max ? ln_secondary_list(check->walk.db, table, numbers) : 0;
  LN_TRY(count);
  while (count-- > 0) listed += numbers[count] == number;
  return listed;
}

/* Returns 1 if the number is a secondary index, which its table lists once; 0 if it is a table; or an error. */
static int is_index(struct check* check, uint16_t number) {
  struct lunar_frame* frame;
  const uint32_t sector = check->walk.db->geometry.meta_at + 2u * number;
  LN_TRY(page(check, sector, LN_META, &frame));
  const int is = frame->bytes[LN_META_COLUMNS] == 0 && ln_get32(frame->bytes + LN_META_CREATION);
  const uint16_t table = ln_get16(frame->bytes + LN_META_TABLE);
  ln_put(frame);
  if (!is) return 0;
  const int listed = lists(check, table, number);
  LN_TRY(listed);
  return listed == 1 ? 1 : problem(check, LUNAR_PROBLEM_METADATA, sector);
}

static int index_begin(struct check* check, uint16_t number, struct checked* index) {
  struct lunar_frame* frame;
  char name[LN_ROOT_ENTRY];
  uint32_t at;
  const uint32_t sector = check->walk.db->geometry.meta_at + 2u * number;
  if (number >= check->walk.db->geometry.tables_max) return problem(check, LUNAR_PROBLEM_METADATA, LN_NONE);
  LN_TRY(page(check, sector, LN_META, &frame));
  const uint8_t* m = frame->bytes;
  *index = (struct checked){
      .number = number, .kind = m[LN_META_INDEX], .column = m[LN_META_KEY], .stated = ln_get64(m + LN_META_ROWS)};
  const int sound = m[LN_META_COLUMNS] == 0 && ln_get32(m + LN_META_CREATION) && index->kind <= LUNAR_INDEX_TREE &&
                    index->column < check->table.column_count && ln_get16(m + LN_META_TABLE) == check->table.number &&
                    ln_get32(m + LN_META_FIRST) == LN_NONE;
  ln_put(frame);
  if (!sound) return problem(check, LUNAR_PROBLEM_METADATA, sector);
  LN_TRY(name_read(check, number, name, &at));
  const int listed = lists(check, check->table.number, number);
  LN_TRY(listed);
  return name[0] && listed == 1 ? 0 : problem(check, LUNAR_PROBLEM_METADATA, sector);
}

static int indexes_begin(struct check* check) {
  uint16_t numbers[LUNAR_INDEXES_MAX];
  const int count = ln_secondary_list(check->walk.db, check->table.number, numbers);
  LN_TRY(count);
  for (int i = 0; i < count; i++) {
    LN_TRY(index_begin(check, numbers[i], &check->indexes[1 + i]));
    check->index_count++;
  }
  return 0;
}
#else
#define is_index(check, number) 0
#define indexes_begin(check) 0
#endif

static int table_check(struct check* check, uint16_t number) {
  const uint32_t sector = check->walk.db->geometry.meta_at + 2u * number;
  struct metadata m;
  uint32_t last;
  check->phase = COUNT;
  check->sectors = 0;
  check->dead = 0;
  memset(check->listed, 0, sizeof check->listed);
  LN_TRY(metadata_read(check, sector, &m));
  if (m.index > LUNAR_INDEX_TREE || m.columns == 0 || m.columns > LUNAR_COLUMNS_MAX || m.key >= m.columns)
    return problem(check, LUNAR_PROBLEM_METADATA, sector);
  LN_TRY(schema_check(check, number, m.columns, m.key));
  check->indexes[0] = (struct checked){.number = number, .kind = m.index, .column = m.key, .stated = m.rows};
  check->index_count = 1;
  LN_TRY(indexes_begin(check));
  LN_TRY(chain_check(check, m.first, &last));
  if (last != m.last) return problem(check, LUNAR_PROBLEM_CHAIN, sector);
  if (check->sectors != m.sectors) return problem(check, LUNAR_PROBLEM_SECTORS, sector);
  if (check->indexes[0].rows.count != m.rows) return problem(check, LUNAR_PROBLEM_ROWS, sector);
  if (check->dead != m.dead) return problem(check, LUNAR_PROBLEM_SECTORS, sector);
  for (uint32_t i = 0; i < LN_LISTS; i++) LN_TRY(list_check(check, i, m.lists[i], sector));
  LN_TRY(indexes_compare(check, m.first));
  check->walk.found->tables++;
  return 0;
}

static int tables_check(struct check* check) {
  static const char free_name[LN_ROOT_ENTRY];
  for (uint16_t number = 0; number < check->walk.db->geometry.tables_max; number++) {
    char name[LN_ROOT_ENTRY];
    uint32_t sector;
    LN_TRY(name_read(check, number, name, &sector));
    if (memcmp(name, free_name, sizeof free_name) == 0) continue;
    memcpy(check->walk.found->table, name, LUNAR_NAME_MAX);
    LN_TRY(name_check(check, number, name, sector));
    const int index = is_index(check, number);
    LN_TRY(index);
    if (!index) LN_TRY(table_check(check, number));
    memset(check->walk.found->table, 0, sizeof check->walk.found->table);
  }
  return 0;
}

/* --- the whole --- */

#if LUNAR_WITH_REPAIR
/* Finds the blocks that no table or index has. Those that cannot be read are no problem, because a repair gave them up:
 * counts them as reached. *leaked becomes the first of the others. */
static int leave_out_lost(struct check* check, uint32_t* leaked) {
  uint32_t ref = check->walk.db->geometry.data_at;
  int sectors;
  while ((sectors = ln_next_used(check->walk.db, &ref)) > 0) {
    const int owner = ln_owner_of(check->walk.db, ref, (uint32_t)sectors, LN_NO_TABLE);
    LN_TRY(owner);
    if (owner == LN_LEAKED && *leaked == LN_NONE) *leaked = ref;
    if (owner == LN_LOST) {
      check->walk.found->blocks_lost++;
      add(&check->reached, ref);
    }
    ref += (uint32_t)sectors;
  }
  return sectors;
}
#endif

static int blocks_compare(struct check* check) {
  const struct tally *used = &check->used, *reached = &check->reached;
  uint32_t leaked = LN_NONE;
  if (same(used, reached)) return 0;
#if LUNAR_WITH_REPAIR
  LN_TRY(leave_out_lost(check, &leaked));
  if (same(used, reached)) return 0;
#endif
  const int one = used->count == reached->count + 1; /* the sums differ by the ref of the leaked block */
  return problem(check, LUNAR_PROBLEM_BLOCK_LEAKED, one ? (uint32_t)(used->sum - reached->sum) : leaked);
}

static int extents_compare(struct check* check) {
  for (uint32_t i = 0; i < LUNAR_EXTENTS; i++)
    if (check->walk.db->series.extents[i].block != LN_NONE && !(check->extents_seen >> i & 1))
      return problem(check, LUNAR_PROBLEM_EXTENT, LN_NONE);
  return 0;
}

static int log_check(struct check* check) {
  const int whole = ln_log_whole(check->walk.db);
  LN_TRY(whole);
  return whole ? 0 : problem(check, LUNAR_PROBLEM_LOG, check->walk.db->geometry.log_at + check->walk.db->checkpoint_at);
}

#define FRAMES_CLEAN 4u

static int everything(struct check* check) {
  struct lunar* db = check->walk.db;
  if (db->state == LN_IN_TXN) return LUNAR_E_TXN;
  if (db->frames_dirty + FRAMES_CLEAN > ln_dirty_max(db)) {
    LN_TRY(ln_checkpoint(db));
    LN_TRY(ln_write_kept(db, db->frames, db->frame_count));
  }
  if (ln_waiting(db)) LN_TRY(ln_write_kept(db, db->frames, db->frame_count));
  db->checking = LN_CHECKING; /* from here on the check only reads */
  LN_TRY(map_check(check));
  LN_TRY(tables_check(check));
  LN_TRY(blocks_compare(check));
  LN_TRY(extents_compare(check));
  return log_check(check);
}

#if LUNAR_WITH_TEXTS
static const char* problem_text(uint32_t problem) {
  static const char* const texts[] = {
      "no problem",
      "a page's checksum or kind is wrong",
      "a chunk's blocks in use are not those of its bits",
      "the number of free chunks is wrong",
      "a table's name has no end, or something behind it",
      "two tables have one name",
      "a table's metadata are outside their limits",
      "a column's name or type is none",
      "a block is used that the allocation map has as free",
      "a block is used twice",
      "a block in use is used by nothing",
      "a block's header does not fit the block",
      "a block has another table's number",
      "a block's neighbours do not agree about it",
      "the numbers of the blocks do not rise",
      "a slot points out of its block",
      "two rows overlap",
      "a row is larger than its room, or the room than its block",
      "a row does not fit the schema",
      "the end of a block's rows is wrong",
      "a block's counts are not those of its slots",
      "the list of blocks with free slots is wrong",
      "the table's size is not that of its blocks",
      "the table's number of rows is wrong",
      "an index page is outside its limits",
      "an index entry is in the wrong place",
      "a row is not in the index",
      "an index entry points to no row of its key",
      "an index entry is there twice",
      "rows would be written where others are, or outside their block",
      "the last checkpoint is not whole",
      "a row's checksum is wrong",
  };
  _Static_assert(sizeof texts / sizeof texts[0] == LUNAR_PROBLEM_END, "a text for each problem");
  return texts[problem];
}
#else
static const char* problem_text(uint32_t problem) {
  (void)problem;
  return "";
}
#endif

int lunar_check(struct lunar* db, struct lunar_findings* found) {
  LUNAR_ASSERT(found);
  struct check check = {.walk = {.db = db, .found = found, .block = meet_block, .entry = meet_entry}};
  *found = (struct lunar_findings){.sector = LN_NONE, .text = problem_text(LUNAR_PROBLEM_NONE)};
  LN_TRY(ln_enter(db));
  const int error = everything(&check);
  db->checking = 0;
  if (error == LUNAR_E_CORRUPT && !found->problem) problem(&check, LUNAR_PROBLEM_PAGE, LN_NONE);
  found->text = problem_text(found->problem);
  return ln_leave(db, error);
}

#endif
