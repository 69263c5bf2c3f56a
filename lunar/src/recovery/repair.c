/* Repairs a damaged table: the table continues without the data that is lost.
 *
 * A block whose header or slots are lost gets new ones, or leaves the table's chain. Rows that cannot be read or do not
 * fit the schema leave their blocks. The indexes are built anew from the rows.
 *
 * First a mark (LN_MENDED) is set in the table's metadata: after a power cut the table can only be repaired again. Then
 * the blocks are mended, with checkpoints wherever the log is full. Then the indexes become empty, and blocks that no
 * table or index has any more are freed. The indexes are filled between the last two checkpoints, as a new secondary
 * index is.
 */
#include "recovery.h"

#if LUNAR_WITH_REPAIR

struct repair {
  struct lunar_table table;
  struct lunar_losses* losses;
  uint32_t counted; /* losses->rows before this repair */
  uint64_t before;  /* rows of the table; 0 if an earlier repair has begun */
  uint32_t rows;    /* rows in the mended chain */
  uint8_t segments; /* most segments of a hash index; 0: no limit */
};

enum { TRIES = 2 }; /* the card may have been out at the first one */

int ln_is_loss(struct lunar* db, int error) { return error == LUNAR_E_CORRUPT ? 1 : ln_is_bad_sector(db, error); }

int ln_is_damage(struct lunar* db, int error) {
  return error == LUNAR_E_CORRUPT || (error == LUNAR_E_IO && ln_can_be_read(db, db->failed_sector, 1) == 0);
}

/* --- rows --- */

static int can_be_read(struct lunar* db, uint32_t sector, uint32_t offset, uint32_t bytes) {
  const uint32_t size = db->config->sector_bytes;
  uint8_t byte;
  for (uint32_t at = offset; at < offset + bytes; at += size - at % size)
    LN_TRY(ln_read_bytes(db, sector, at, &byte, 1));
  return 1;
}

static int is_whole(struct repair* r, struct ln_place place, uint32_t position, uint32_t end) {
  struct lunar* db = r->table.db;
  LN_FIELDS(head, LN_ROW_HEADER);
  const uint32_t sum_bytes = ln_row_sum_bytes(&r->table), offset = 4 * position + LN_ROW_HEADER;
  LN_TRY(ln_read_bytes(db, place.ref, 4 * position, head, sizeof head));
  const uint32_t bytes = ln_get16(head), room = 4u * ln_get16(head + 2);
  if (bytes > room || offset + room > end || bytes < sum_bytes) return 0;
  const int sound = ln_row_is_sound(db, &r->table, place.ref, offset, bytes - sum_bytes);
  if (sound <= 0) return sound;
  return sum_bytes ? ln_row_is_whole(db, place.ref, offset, bytes) : can_be_read(db, place.ref, offset, bytes);
}

static int keeps(void* context, struct ln_place place, uint32_t position, uint32_t end) {
  struct repair* r = context;
  for (int tries = 0; tries < TRIES; tries++) {
    const int whole = is_whole(r, place, position, end);
    if (whole >= 0) return whole;
    LN_TRY(ln_is_loss(r->table.db, whole));
  }
  return 0;
}

/* --- blocks --- */

static int next_of(struct lunar* db, uint32_t ref, uint32_t* next) {
  struct lunar_frame* frame;
  LN_TRY(ln_block_header(db, ref, &frame));
  *next = ln_get32(frame->bytes + LN_BLOCK_NEXT);
  ln_put(frame);
  return 0;
}

static int block_is_whole(struct repair* r, uint32_t ref, uint32_t serial) {
  for (int tries = 0; tries < TRIES; tries++) {
    const int whole = ln_block_is_whole(r->table.db, ref, r->table.number, serial);
    if (whole >= 0) return whole;
    LN_TRY(ln_is_loss(r->table.db, whole));
  }
  return 0;
}

/* Reads a block's header. Returns the block's class, or an error. */
static int header_of(struct lunar* db, uint32_t ref, uint32_t* next, uint32_t* previous, uint32_t* serial) {
  struct lunar_frame* frame;
  LN_TRY(ln_block_header(db, ref, &frame));
  *next = ln_get32(frame->bytes + LN_BLOCK_NEXT);
  *previous = ln_get32(frame->bytes + LN_BLOCK_PREVIOUS);
  *serial = ln_get32(frame->bytes + LN_BLOCK_SERIAL);
  const uint8_t class = frame->bytes[LN_BLOCK_CLASS];
  ln_put(frame);
  return class;
}

/* Finds the block behind a damaged one: *behind, LN_NONE if there is none. First choice: the whole block that names the
 * damaged one as the block before it. Second: another damaged block that a whole block names as the block before it; if
 * there are several, the whole block with the lowest serial decides. Third: `last`, the last block of the table. Whole
 * blocks count only if their serial is above `serial`. */
static int block_behind(struct repair* r, uint32_t damaged, uint32_t serial, uint32_t last, uint32_t* behind) {
  struct lunar* db = r->table.db;
  uint32_t ref = db->geometry.data_at, lowest = LN_NONE, next, previous, here;
  int sectors;
  const int known = block_is_whole(r, last, 0), is_behind = known > 0 ? block_is_whole(r, last, serial) : !known;
  LN_TRY(known);
  LN_TRY(is_behind); /* the metadata may be older than the chain, and `last` in front of the damaged block */
  *behind = damaged != last && is_behind ? last : LN_NONE;
  for (; (sectors = ln_next_used(db, &ref)) > 0; ref += (uint32_t)sectors) {
    int whole = ref == damaged ? 0 : block_is_whole(r, ref, serial);
    LN_TRY(whole);
    if (!whole) continue;
    LN_TRY(header_of(db, ref, &next, &previous, &here));
    if (previous == damaged) {
      *behind = ref;
      return 0;
    }
    if (here >= lowest || previous == LN_NONE) continue;
    LN_TRY(whole = block_is_whole(r, previous, 0));
    if (whole) continue;
    lowest = here;
    *behind = previous;
  }
  return sectors;
}

static int link_blocks(struct lunar* db, struct lunar_frame* meta, uint32_t previous, uint32_t ref) {
  struct lunar_frame* frame;
  if (previous == LN_NONE) {
    ln_put32(meta->bytes + LN_META_FIRST, ref);
    ln_dirty(db, meta);
    return 0;
  }
  LN_TRY(ln_block_header(db, previous, &frame));
  if (ln_get32(frame->bytes + LN_BLOCK_NEXT) != ref) {
    ln_put32(frame->bytes + LN_BLOCK_NEXT, ref);
    ln_dirty(db, frame);
  }
  ln_put(frame);
  return 0;
}

/* Returns 1 if the block is already in the mended part of the chain, 0 if not, or an error. A page in place that is
 * newer than the end of the log may lead back to it. */
static int is_in_front(struct lunar* db, const struct lunar_frame* meta, uint32_t before, uint32_t ref) {
  uint32_t at = before == LN_NONE ? LN_NONE : ln_get32(meta->bytes + LN_META_FIRST);
  while (at != ref && at != before) LN_TRY(next_of(db, at, &at));
  return at == ref && at != LN_NONE;
}

/* Frees a block without rows. A block with an unreadable sector stays allocated, and is never used again. */
static int give_back(struct lunar* db, uint32_t ref) {
  const int sectors = ln_used_sectors(db, ref);
  LN_TRY(sectors);
  const int readable = ln_can_be_read(db, ref, (uint32_t)sectors);
  return readable > 0 ? ln_free(db, ref) : readable;
}

/* Gives each block of the chain a whole header and keeps its sound rows, or removes the block from the chain. */
static int mend_chain(struct repair* r, struct lunar_frame* meta) {
  struct lunar* db = r->table.db;
  uint8_t* m = meta->bytes;
  const uint32_t last = ln_get32(m + LN_META_LAST);
  uint32_t ref = ln_get32(m + LN_META_FIRST), before = LN_NONE, serial = 0, next, previous;
  ln_put64(m + LN_META_ROWS, 0);
  ln_put64(m + LN_META_DEAD, 0);
  ln_put32(m + LN_META_SECTORS, 0);
  memset(m + LN_META_LISTS, 0xff, 4 * LN_LISTS);
  ln_dirty(db, meta);
  for (uint32_t steps = 0; ref != LN_NONE; steps++, ref = next) {
    if (steps > db->config->sector_count) return LUNAR_E_CORRUPT;
    LN_TRY(ln_make_room(db, 1));
    int whole = block_is_whole(r, ref, serial), kept = 0;
    LN_TRY(whole);
    if (whole) {
      const int class = header_of(db, ref, &next, &previous, &serial);
      LN_TRY(class);
      LN_TRY(whole = ln_hold(db, ref, (uint8_t) class));
    } else {
      LN_TRY(block_behind(r, ref, serial, last, &next));
      const int seen = is_in_front(db, meta, before, ref);
      LN_TRY(seen);
      if (seen) continue;
      LN_TRY(whole = ln_rebuild_block(&r->table, meta, &ref, ++serial));
    }
    r->losses->blocks += whole ? 0 : 1;
    if (whole) LN_TRY(kept = ln_block_mend(db, meta, ref, before, keeps, r, &r->losses->rows));
    if (kept) {
      LN_TRY(link_blocks(db, meta, before, ref));
      before = ref;
    } else if (whole) {
      LN_TRY(give_back(db, ref));
    }
  }
  LN_TRY(link_blocks(db, meta, before, LN_NONE));
  ln_put32(m + LN_META_LAST, before);
  /* The blocks may be newer than the metadata. */
  if (serial > ln_get32(m + LN_META_SERIAL)) ln_put32(m + LN_META_SERIAL, serial);
  ln_dirty(db, meta);
  return 0;
}

/* --- the primary index --- */

static int same_key(void* context, struct ln_place place) {
  struct repair* r = ((void**)context)[0];
  const struct ln_place* mine = ((void**)context)[1];
  struct lunar* db = r->table.db;
  uint8_t a[64], b[64];
  uint32_t sector, offset, bytes, my_sector, my_offset, my_bytes, count = 0;
  const uint8_t type = r->table.types[r->table.key];
  if (type != LUNAR_TEXT && type != LUNAR_BLOB) return 1; /* the index stores these keys themselves, not a hash */
  LN_TRY(ln_row_at(db, place, &sector, &offset, &bytes));
  LN_TRY(ln_row_at(db, *mine, &my_sector, &my_offset, &my_bytes));
  LN_TRY(ln_read_bytes(db, my_sector, my_offset + 2, a, 2));
  count = 2u + ln_load16(a);
  for (uint32_t done = 0, n; done < count; done += n) {
    n = count - done < sizeof a ? count - done : (uint32_t)sizeof a;
    LN_TRY(ln_read_bytes(db, my_sector, my_offset + 2 + done, a, n));
    LN_TRY(ln_read_bytes(db, sector, offset + 2 + done, b, n));
    if (memcmp(a, b, n) != 0) return 0;
  }
  return 1;
}

/* Enters a row into the primary index. If another row in front of it has the same key, drops that row: a row that
 * replaces another one is written behind it, unless it goes into a freed slot. */
static int enter_row(struct repair* r, struct lunar_frame* meta, struct ln_place place) {
  struct lunar* db = r->table.db;
  struct ln_key key;
  struct ln_place found;
  uint32_t sector, offset, bytes;
  void* context[2] = {r, &place};
  db->allocated_count = 0;
  LN_TRY(ln_row_at(db, place, &sector, &offset, &bytes));
  LN_TRY(ln_row_key(db, &r->table, sector, offset, &key));
  const int error = ln_index_find(db, meta, &key, same_key, context, &found);
  if (!error) {
    r->losses->rows++;
    LN_TRY(ln_index_move(db, meta, &key, found, place));
    return ln_row_drop(db, meta, found);
  }
  if (error != LUNAR_E_NOT_FOUND) return error;
  return ln_index_insert(db, meta, &key, place);
}

static int enter_rows(struct repair* r, struct lunar_frame* meta) {
  struct lunar* db = r->table.db;
  uint32_t ref = ln_get32(meta->bytes + LN_META_FIRST), next;
  for (; ref != LN_NONE; ref = next) {
    LN_TRY(next_of(db, ref, &next));
    struct ln_place place = {ref, 0};
    int error = ln_block_row(db, ref, 0, &place);
    while (!error) {
      LN_TRY(enter_row(r, meta, place));
      if (place.slot == UINT16_MAX) break;
      error = ln_block_row(db, ref, (uint16_t)(place.slot + 1), &place);
    }
    if (error != LUNAR_E_NOT_FOUND) LN_TRY(error);
  }
  return 0;
}

/* --- the whole --- */

/* Marks the blocks of a chain as in use in the map, up to the first block that is damaged. */
static int hold_chain(struct lunar* db, uint16_t number, uint32_t ref) {
  uint32_t serial = 0, previous, next;
  for (uint32_t steps = 0; ref != LN_NONE && steps < db->config->sector_count; steps++, ref = next) {
    const int whole = ln_block_is_whole(db, ref, number, serial);
    if (whole <= 0) return whole ? ln_is_loss(db, whole) : 0;
    LN_TRY(ln_make_room(db, 1));
    const int class = header_of(db, ref, &next, &previous, &serial);
    LN_TRY(class);
    LN_TRY(ln_hold(db, ref, (uint8_t) class));
  }
  return 0;
}

/* Marks the blocks of all damaged tables as in use in the map: after a recovery from before the last checkpoint, the
 * map may have some of them as free. */
static int hold_chains(struct lunar* db) {
  for (uint16_t number = 0; number < db->geometry.tables_max; number++) {
    struct lunar_frame* meta;
    LN_TRY(ln_meta(db, number, &meta));
    const uint8_t* m = meta->bytes;
    const int damaged = m[LN_META_COLUMNS] && ln_get32(m + LN_META_CREATION) && m[LN_META_RING] & LN_MENDED;
    const uint32_t first = ln_get32(m + LN_META_FIRST);
    ln_put(meta);
    if (damaged) LN_TRY(hold_chain(db, number, first));
  }
  return 0;
}

/* Sets the mark of a repair (begins 1) or clears it (0), and makes a checkpoint. */
static int marked(struct lunar* db, struct lunar_frame* meta, int begins) {
  uint8_t* ring = meta->bytes + LN_META_RING;
  *ring = (uint8_t)(begins ? *ring | LN_MENDED : *ring & ~LN_MENDED);
  ln_dirty(db, meta);
  return ln_checkpoint(db);
}

/* Gives up all indexes of the table and makes a checkpoint, so that no metadata on the device names their pages. Then
 * frees the blocks that no table or index has. */
static int give_up_indexes(struct repair* r, struct lunar_frame* meta) {
  struct lunar* db = r->table.db;
  LN_TRY(ln_make_room(db, 1));
  ln_index_give_up(db, meta);
  LN_TRY(ln_secondary_renew(&r->table, LN_GIVE_UP));
  LN_TRY(ln_checkpoint(db));
  LN_TRY(ln_free_leaked(db, r->table.number));
  LN_TRY(ln_count_free(db));
  return ln_checkpoint(db); /* makes the pages of the old indexes available */
}

static int repair_table(struct repair* r, struct lunar_frame* meta) {
  struct lunar* db = r->table.db;
  const struct ln_record_header close = {.type = LN_EXTEND, .table = r->table.number};
  LN_TRY(marked(db, meta, 1));
  LN_TRY(hold_chains(db));
  db->building = (uint8_t)(LN_AVOIDS_BAD | r->segments << LN_FEWER_SEGMENTS);
  ln_extents_follow(db, &db->series, &close);
  r->rows = 0;
  LN_TRY(mend_chain(r, meta));
  r->rows = (uint32_t)ln_get64(meta->bytes + LN_META_ROWS);
  LN_TRY(give_up_indexes(r, meta));
  db->allocated_count = 0;
  LN_TRY(ln_index_create(db, meta));
  LN_TRY(ln_secondary_renew(&r->table, LN_CREATE_EMPTY));
  LN_TRY(ln_checkpoint(db));
  db->building |= LN_BUILDS;
  db->many_pages = 1;
  db->allocated_count = 0;
  LN_TRY(enter_rows(r, meta));
  const uint64_t left = ln_get64(meta->bytes + LN_META_ROWS);
  if (r->before > left && r->before - left > r->losses->rows - r->counted) /* rows of blocks that were not found */
    r->losses->rows = r->counted + (uint32_t)(r->before - left);
  LN_TRY(ln_secondary_renew(&r->table, LN_FILL));
  return marked(db, meta, 0);
}

static int repair_once(struct repair* r) {
  struct lunar* db = r->table.db;
  struct lunar_frame* meta;
  LN_TRY(ln_make_room_for(&r->table));
  LN_TRY(ln_meta(db, r->table.number, &meta));
  if (!(meta->bytes[LN_META_RING] & LN_MENDED)) r->before = ln_get64(meta->bytes + LN_META_ROWS);
  db->changing = 1;
  db->no_way_back = 0;
  db->marked = 0;
  db->repairs++;
  db->reclaiming = 1;
  const int error = repair_table(r, meta);
  db->reclaiming = 0;
  db->building = 0;
  db->releases++;
  db->moves++;
  db->unmovable = db->dense = 0;
  db->emptied = 0;
  LN_TREES_CHANGE(db);
  ln_cache_forget_all(db);
  ln_put(meta);
  const int undone = ln_undo_change(db, error);
  ln_operation_begins(db); /* an insertion may follow */
  return undone;
}

/* Removes the oldest rows of a ring whose chain is mended. */
static int give_up_oldest(struct repair* r, uint32_t rows) {
  struct lunar* db = r->table.db;
  struct lunar_frame* meta;
  int error = 0;
  LN_TRY(ln_make_room(db, 1));
  LN_TRY(ln_meta(db, r->table.number, &meta));
  LUNAR_ASSERT(meta->bytes[LN_META_RING] & LN_MENDED && rows < r->rows);
  db->changing = 1;
  for (uint32_t i = 0; i < rows && !error; i++) error = ln_ring_drop_oldest(db, meta);
  ln_put(meta);
  r->losses->rows += rows;
  return ln_undo_change(db, error ? error : ln_checkpoint(db));
}

/* If the new indexes have no room, tries again with fewer segments for hash indexes. Their chains become fewer and
 * longer, have more entries in each page, and grow again later. If that is not enough, a ring table gives up its oldest
 * rows: a sixteenth of them, then twice the share at each further try, up to half of them. */
int ln_repair(struct lunar* db, uint16_t number, struct lunar_losses* losses) {
  enum { TRIES_MORE = 3, SIXTEENTH = 4 };
  struct repair r = {.losses = losses, .counted = losses->rows};
  if (db->state != LN_READY) return LUNAR_E_TXN;
  LN_TRY(ln_table_load(db, number, &r.table));
  for (uint32_t fewer = 1, share = SIXTEENTH;; fewer++) {
    const int error = repair_once(&r);
    if (error != LUNAR_E_FULL || db->state != LN_READY) return error;
    const uint32_t segments = ln_hash_segments(db, r.rows);
    if (fewer <= TRIES_MORE && fewer < segments) {
      r.segments = (uint8_t)(segments - fewer);
    } else if (r.table.ring && r.rows > 1) {
      LN_TRY(give_up_oldest(&r, (r.rows - 1) >> share | 1u));
      if (share > 1) share--;
    } else {
      return error;
    }
  }
}

int ln_repair_ring(struct lunar* db, uint16_t number) {
  struct lunar_losses losses = {0, 0};
  LN_TRY(ln_repair(db, number, &losses));
  db->lost_rows += losses.rows;
  db->lost_blocks += losses.blocks;
  return 0;
}

int ln_empty(struct lunar* db, uint16_t number) {
  struct lunar_losses losses = {0, 0};
  struct lunar_frame* meta;
  if (db->state != LN_READY) return LUNAR_E_TXN;
  LN_TRY(ln_make_room(db, 1));
  LN_TRY(ln_meta(db, number, &meta));
  db->changing = 1;
  meta->bytes[LN_META_RING] |= LN_MENDED;
  ln_without_blocks(meta->bytes);
  ln_dirty(db, meta);
  ln_put(meta);
  return ln_repair(db, number, &losses);
}

int lunar_repair(struct lunar_table* table, struct lunar_losses* losses) {
  LUNAR_ASSERT(table && losses);
  struct lunar_frame* meta;
  LN_TRY(ln_enter(table->db));
  *losses = (struct lunar_losses){0, 0};
  int error = table->db->state == LN_READY ? ln_table_meta(table, &meta) : LUNAR_E_TXN;
  if (!error) ln_put(meta);
  if (!error || error == LUNAR_E_CORRUPT) /* the mark of a repair that was cut off causes E_CORRUPT */
    error = ln_repair(table->db, table->number, losses);
  return ln_leave(table->db, error);
}

#endif
