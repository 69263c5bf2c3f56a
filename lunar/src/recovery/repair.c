/* A damaged table goes on without what is lost.
 *
 * Blocks that cannot be read leave the table's chain, rows that cannot be read or do not fit the schema leave their
 * blocks, and the indexes are made anew from the rows. The blocks are mended with checkpoints in between, wherever the
 * log is full. A mark in the table's metadata is set before: after a power cut the table can only be repaired again.
 * The indexes become empty, and are filled between the last two checkpoints, as a new secondary index is.
 */
#include "recovery.h"

#if LUNAR_WITH_REPAIR

struct repair {
  struct lunar_table table;
  struct lunar_losses* losses;
  int rooms; /* of the second pass */
};

/* Whether an error means that something is lost. A device that does not answer at all loses nothing. */
static int is_loss(struct lunar* db, int error) {
  if (error == LUNAR_E_CORRUPT) return 1;
  if (error != LUNAR_E_IO || db->state != LN_READY) return error;
  LN_TRY(ln_same_volume(db, NULL));
  return 1;
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
  int whole = is_whole(r, place, position, end);
  if (whole == LUNAR_E_IO) { /* once more: the last try may have been without a card */
    LN_TRY(is_loss(r->table.db, whole));
    whole = is_whole(r, place, position, end);
  }
  if (whole >= 0) return whole;
  LN_TRY(is_loss(r->table.db, whole));
  return 0;
}

/* --- blocks --- */

static int next_of(struct lunar* db, uint32_t ref, uint32_t field, uint32_t* next) {
  struct lunar_frame* frame;
  LN_TRY(ln_block_header(db, ref, &frame));
  *next = ln_get32(frame->bytes + field);
  ln_put(frame);
  return 0;
}

static int block_is_whole(struct repair* r, uint32_t ref, uint32_t previous) {
  struct lunar* db = r->table.db;
  int whole = ln_block_is_whole(db, ref, r->table.number, previous);
  if (whole == LUNAR_E_IO) {
    LN_TRY(is_loss(db, whole));
    whole = ln_block_is_whole(db, ref, r->table.number, previous);
  }
  if (whole >= 0) return whole;
  LN_TRY(is_loss(db, whole));
  return 0;
}

/* The blocks before the first damaged one, from the table's beginning: *last, LN_NONE: none; *damaged, LN_NONE: all are
 * whole. */
static int whole_from_first(struct repair* r, uint32_t first, uint32_t* last, uint32_t* damaged) {
  struct lunar* db = r->table.db;
  uint32_t ref = first;
  *last = LN_NONE;
  for (uint32_t steps = 0; ref != LN_NONE && steps < db->config->sector_count; steps++) {
    const int whole = block_is_whole(r, ref, *last);
    LN_TRY(whole);
    if (!whole) break;
    *last = ref;
    LN_TRY(next_of(db, ref, LN_BLOCK_NEXT, &ref));
  }
  *damaged = ref;
  return 0;
}

/* The first of the blocks behind the last damaged one: *first, LN_NONE: none; *damaged: that one. */
static int whole_to_last(struct repair* r, uint32_t last, uint32_t* first, uint32_t* damaged) {
  struct lunar* db = r->table.db;
  uint32_t ref = last, previous;
  *first = LN_NONE;
  for (uint32_t steps = 0; ref != LN_NONE && steps < db->config->sector_count; steps++) {
    const int error = next_of(db, ref, LN_BLOCK_PREVIOUS, &previous);
    if (error) LN_TRY(is_loss(db, error));
    if (error) break;
    const int whole = block_is_whole(r, ref, previous);
    LN_TRY(whole);
    if (!whole) break;
    *first = ref;
    ref = previous;
  }
  *damaged = ref;
  return 0;
}

static int give_up_block(struct repair* r, uint32_t ref) {
  if (ref == LN_NONE) return 0;
  r->losses->blocks++;
  const int error = ln_free(r->table.db, ref);
  return error == LUNAR_E_CORRUPT ? 0 : error;
}

static int mend_blocks(struct repair* r, struct lunar_frame* meta, uint32_t first, uint32_t until, uint32_t* previous) {
  struct lunar* db = r->table.db;
  uint32_t ref = first, next;
  for (uint32_t steps = 0; ref != LN_NONE; steps++, ref = next) {
    if (steps > db->config->sector_count) return LUNAR_E_CORRUPT;
    LN_TRY(next_of(db, ref, LN_BLOCK_NEXT, &next));
    if (ref == until) next = LN_NONE;
    LN_TRY(ln_make_room(db, 1));
    LN_TRY(ln_block_mend(db, meta, ref, *previous, r->rooms, keeps, r, &r->losses->rows));
    *previous = ref;
  }
  return 0;
}

static int end_chain(struct lunar* db, struct lunar_frame* meta, uint32_t last) {
  struct lunar_frame* frame;
  uint8_t* m = meta->bytes;
  if (last == LN_NONE) {
    ln_put32(m + LN_META_FIRST, LN_NONE);
  } else {
    LN_TRY(ln_block_header(db, last, &frame));
    ln_put32(frame->bytes + LN_BLOCK_NEXT, LN_NONE);
    ln_dirty(db, frame);
    ln_put(frame);
  }
  ln_put32(m + LN_META_LAST, last);
  ln_dirty(db, meta);
  return 0;
}

/* Blocks without rows, but the last one, leave the table, as at a removal. */
static int drop_empty(struct repair* r, struct lunar_frame* meta) {
  struct lunar* db = r->table.db;
  uint32_t ref = ln_get32(meta->bytes + LN_META_FIRST), next;
  while (ref != LN_NONE && ref != ln_get32(meta->bytes + LN_META_LAST)) {
    struct lunar_frame* frame;
    LN_TRY(ln_make_room(db, 1));
    LN_TRY(ln_block_header(db, ref, &frame));
    const int empty = ln_get16(frame->bytes + LN_BLOCK_LIVE) == 0;
    next = ln_get32(frame->bytes + LN_BLOCK_NEXT);
    ln_put(frame);
    if (empty) LN_TRY(ln_block_unlink(db, meta, ref));
    ref = next;
  }
  return 0;
}

static int mend_chain(struct repair* r, struct lunar_frame* meta) {
  struct lunar* db = r->table.db;
  uint8_t* m = meta->bytes;
  const uint32_t first = ln_get32(m + LN_META_FIRST), last = ln_get32(m + LN_META_LAST);
  uint32_t before, damaged, behind = LN_NONE, other = LN_NONE, previous = LN_NONE;
  LN_TRY(whole_from_first(r, first, &before, &damaged));
  if (damaged != LN_NONE) LN_TRY(whole_to_last(r, last, &behind, &other));
  const struct ln_record_header close = {.type = LN_EXTEND, .table = r->table.number};
  ln_extents_follow(db, &db->series, &close);
  ln_put64(m + LN_META_ROWS, 0);
  ln_put64(m + LN_META_DEAD, 0);
  ln_put32(m + LN_META_SECTORS, 0);
  memset(m + LN_META_LISTS, 0xff, 4 * LN_LISTS);
  ln_dirty(db, meta);
  if (before != LN_NONE) LN_TRY(mend_blocks(r, meta, first, before, &previous));
  if (behind != LN_NONE) LN_TRY(mend_blocks(r, meta, behind, last, &previous));
  LN_TRY(end_chain(db, meta, previous));
  LN_TRY(drop_empty(r, meta));
  LN_TRY(give_up_block(r, damaged));
  return other == damaged ? 0 : give_up_block(r, other);
}

/* --- the primary index --- */

static int same_key(void* context, struct ln_place place) {
  struct repair* r = ((void**)context)[0];
  const struct ln_place* mine = ((void**)context)[1];
  struct lunar* db = r->table.db;
  uint8_t a[64], b[64];
  uint32_t sector, offset, bytes, my_sector, my_offset, my_bytes, count = 0;
  const uint8_t type = r->table.types[r->table.key];
  if (type != LUNAR_TEXT && type != LUNAR_BLOB) return 1; /* the index has the number itself */
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

/* A second row of a key is damage: it goes. */
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
    return ln_row_drop(db, meta, place);
  }
  if (error != LUNAR_E_NOT_FOUND) return error;
  return ln_index_insert(db, meta, &key, place);
}

static int enter_rows(struct repair* r, struct lunar_frame* meta) {
  struct lunar* db = r->table.db;
  uint32_t ref = ln_get32(meta->bytes + LN_META_FIRST), next;
  for (; ref != LN_NONE; ref = next) {
    LN_TRY(next_of(db, ref, LN_BLOCK_NEXT, &next));
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

static int marked(struct lunar* db, struct lunar_frame* meta, int begins) {
  uint8_t* ring = meta->bytes + LN_META_RING;
  *ring = (uint8_t)(begins ? *ring | LN_MENDED : *ring & ~LN_MENDED);
  ln_dirty(db, meta);
  return ln_checkpoint(db);
}

static int repair_table(struct repair* r, struct lunar_frame* meta) {
  struct lunar* db = r->table.db;
  LN_TRY(marked(db, meta, 1));
  LN_TRY(mend_chain(r, meta));
  LN_TRY(ln_checkpoint(db));
  r->rooms = 1;
  LN_TRY(mend_chain(r, meta));
  LN_TRY(ln_make_room(db, 1));
  LN_TRY(ln_index_give_up(db, meta));
  LN_TRY(ln_index_create(db, meta));
  LN_TRY(ln_secondary_renew(&r->table, 0));
  LN_TRY(ln_checkpoint(db)); /* from here on the pages of the old indexes are available */
  db->building = 1;
  db->allocated_count = 0;
  LN_TRY(enter_rows(r, meta));
  LN_TRY(ln_secondary_renew(&r->table, 1));
  return marked(db, meta, 0);
}

int ln_repair(struct lunar* db, uint16_t number, struct lunar_losses* losses) {
  struct lunar_frame* meta;
  struct repair repair = {.losses = losses};
  if (db->state != LN_READY) return LUNAR_E_TXN;
  LN_TRY(ln_table_load(db, number, &repair.table));
  LN_TRY(ln_make_room_for(&repair.table));
  LN_TRY(ln_meta(db, number, &meta));
  db->changing = 1;
  db->no_way_back = 0;
  db->marked = 0;
  db->repairs++;
  const int error = repair_table(&repair, meta);
  db->building = 0;
  ln_put(meta);
  db->releases++;
  db->moves++;
  db->unmovable = db->dense = 0;
  db->emptied = 0;
  LN_TREES_CHANGE(db);
  ln_cache_forget_all(db);
  return ln_undo_change(db, error);
}

int ln_repair_ring(struct lunar* db, uint16_t number) {
  struct lunar_losses losses = {0, 0};
  struct lunar_table table;
  LN_TRY(ln_table_load(db, number, &table));
  if (!table.ring) return 0;
  LN_TRY(ln_repair(db, number, &losses));
  db->lost_rows += losses.rows;
  db->lost_blocks += losses.blocks;
  db->changing = 1;
  return ln_undo_change(db, ln_ring_trim(&table));
}

int lunar_repair(struct lunar_table* table, struct lunar_losses* losses) {
  LUNAR_ASSERT(table && losses);
  struct lunar_frame* meta;
  LN_TRY(ln_enter(table->db));
  *losses = (struct lunar_losses){0, 0};
  int error = table->db->state == LN_READY ? ln_table_meta(table, &meta) : LUNAR_E_TXN;
  if (!error) ln_put(meta);
  if (!error || error == LUNAR_E_CORRUPT) /* a power cut may have ended a repair */
    error = ln_repair(table->db, table->number, losses);
  return ln_leave(table->db, error);
}

#endif
