/* Cursors. A cursor holds no frame: it finds its position at each step, through the chain of
 * blocks (whose serial numbers rise) or by the last key in the tree.
 */
#include "api.h"

#if LUNAR_WITH_CURSOR

/* --- in the order of the blocks --- */

struct block {
  uint32_t next, previous, serial, slots;
  uint16_t table;
};

static int block_of(struct lunar* db, uint32_t ref, struct block* block) {
  struct lunar_frame* frame;
  LN_TRY(ln_block_header(db, ref, &frame));
  const uint8_t* header = frame->bytes;
  *block = (struct block){ln_get32(header + LN_BLOCK_NEXT), ln_get32(header + LN_BLOCK_PREVIOUS),
                          ln_get32(header + LN_BLOCK_SERIAL), ln_get16(header + LN_BLOCK_SLOTS),
                          ln_get16(header + LN_BLOCK_TABLE)};
  ln_put(frame);
  return 0;
}

static int ends_of(const struct lunar_cursor* c, uint32_t* first, uint32_t* last) {
  struct lunar_frame* meta;
  LN_TRY(ln_table_meta(c->table, &meta));
  *first = ln_get32(meta->bytes + LN_META_FIRST);
  *last = ln_get32(meta->bytes + LN_META_LAST);
  ln_put(meta);
  return 0;
}

/* Places the cursor before the first slot or, descending, behind the last one. Fixes where the cursor ends. */
static int begin_blocks(struct lunar_cursor* c) {
  LUNAR_ASSERT(!c->started);
  struct lunar* db = c->table->db;
  uint32_t first, last;
  struct block block;
  LN_TRY(ends_of(c, &first, &last));
  c->releases = db->releases;
  c->ended = first == LN_NONE;
  if (c->ended) return 0;
  LN_TRY(block_of(db, last, &block));
  c->end_serial = block.serial;
  c->end_slot = (uint16_t)block.slots;
  c->ref = c->descending ? last : first;
  c->slot = c->descending ? c->end_slot : 0;
  if (!c->descending) LN_TRY(block_of(db, first, &block));
  c->serial = block.serial;
  return 0;
}

/* Returns 1 if a block of the table begins at ref, 0 if not, or an error. The sectors of a block that the table gave up
 * may still look like a block, so the allocation map decides. */
static int is_block(const struct lunar_cursor* c, uint32_t ref, struct block* block) {
  struct lunar* db = c->table->db;
  if (ref == LN_NONE) return 0;
  const int used = ln_used_sectors(db, ref);
  if (used <= 0) return used;
  const int error = block_of(db, ref, block);
  if (error) return error == LUNAR_E_CORRUPT ? 0 : error; /* E_CORRUPT: the sector is a page of an index */
  return block->table == c->table->number;
}

static void go_to(struct lunar_cursor* c, uint32_t ref, const struct block* block) {
  c->ref = ref;
  c->serial = block->serial;
  c->slot = (uint16_t)(c->descending ? block->slots : 0);
}

/* Finds the cursor's block again after blocks left a chain or changes were undone. If the block no longer exists, moves
 * the cursor to the next block in its direction. New blocks come at the end of the chain only, so the next block is
 * still c->next, if that exists. Otherwise walks the chain from its beginning (descending: from its end). */
static int resume(struct lunar_cursor* c) {
  struct lunar* db = c->table->db;
  uint32_t first, last;
  struct block block;
  if (c->releases == db->releases) return 0;
  int there = is_block(c, c->ref, &block);
  LN_TRY(there);
  if (there && block.serial == c->serial) {
    c->releases = db->releases;
    return 0;
  }
  there = is_block(c, c->next, &block);
  LN_TRY(there);
  if (there && (c->descending ? block.serial < c->serial : block.serial > c->serial && block.serial <= c->end_serial)) {
    c->releases = db->releases;
    go_to(c, c->next, &block);
    return 0;
  }
  LN_TRY(ends_of(c, &first, &last));
  uint32_t ref = c->descending ? last : first;
  for (uint32_t steps = 0; ref != LN_NONE; ref = c->descending ? block.previous : block.next) {
    LN_TRY(block_of(db, ref, &block));
    if (++steps > db->config->sector_count) return LUNAR_E_CORRUPT;
    if (block.serial == c->serial || (block.serial > c->serial) == !c->descending) break;
  }
  c->releases = db->releases;
  c->ended = ref == LN_NONE || (!c->descending && block.serial > c->end_serial);
  if (c->ended) return 0;
  if (block.serial == c->serial)
    c->ref = ref; /* the undo of a transaction may give a block another place */
  else
    go_to(c, ref, &block);
  return 0;
}

/* Moves the cursor to the next block in its direction, or ends the cursor if there is none. */
static int next_block(struct lunar_cursor* c, const struct block* block) {
  LUNAR_ASSERT(!c->ended);
  struct block next;
  const uint32_t ref = c->descending ? block->previous : block->next;
  c->ended = ref == LN_NONE || (!c->descending && block->serial >= c->end_serial);
  if (c->ended) return 0;
  LN_TRY(block_of(c->table->db, ref, &next));
  if ((next.serial > c->serial) == c->descending) return LUNAR_E_CORRUPT;
  go_to(c, ref, &next);
  return 0;
}

/* Finds the next slot with a row and leaves the cursor on it: next() moves past it once the row has been read. */
static int seek_slot(struct lunar_cursor* c, struct ln_place* place) {
  struct lunar* db = c->table->db;
  LN_TRY(resume(c));
  while (!c->ended) {
    struct block block;
    LN_TRY(block_of(db, c->ref, &block));
    c->next = c->descending ? block.previous : block.next;
    const uint32_t end =
        !c->descending && block.serial == c->end_serial && c->end_slot < block.slots ? c->end_slot : block.slots;
    if (c->descending && c->slot > block.slots) c->slot = (uint16_t)block.slots;
    for (; c->descending ? c->slot > 0 : c->slot < end; c->slot = (uint16_t)(c->slot + (c->descending ? -1 : 1))) {
      uint32_t position, behind;
      *place = (struct ln_place){c->ref, (uint16_t)(c->slot - c->descending)};
      LN_TRY(ln_slot_read(db, c->ref, place->slot, &position, &behind));
      if (!(position & LN_SLOT_FREE)) return 0;
    }
    LN_TRY(next_block(c, &block));
  }
  return LUNAR_E_NOT_FOUND;
}

/* --- in the order of the keys --- */

#if LUNAR_WITH_TREE
static int within(const struct lunar_cursor* c, const struct ln_key* key) {
  const struct lunar_value* bound = c->descending ? &c->from : &c->to;
  struct ln_key end;
  if (bound->type == LUNAR_NULL) return 1;
  LN_TRY(ln_key_of(c->table, bound, &end));
  const int order = memcmp(key->bytes, end.bytes, key->count < end.count ? key->count : end.count);
  const int compared = order ? order : (int)key->count - (int)end.count;
  return c->descending ? compared >= 0 : compared <= 0;
}

static int seek_key(struct lunar_cursor* c, struct ln_key* key, struct ln_place* place) {
  static const struct ln_key lowest;
  const struct lunar_value* bound = c->descending ? &c->to : &c->from;
  struct lunar* db = c->table->db;
  struct lunar_frame* meta;
  enum ln_seek seek = c->descending ? LN_LESS : LN_MORE;
  if (c->started) {
    key->count = c->key_bytes;
    memcpy(key->bytes, c->key, c->key_bytes);
  } else if (bound->type != LUNAR_NULL) {
    LN_TRY(ln_key_of(c->table, bound, key));
    seek = c->descending ? LN_AT_MOST : LN_AT_LEAST;
  } else if (!c->descending) {
    *key = lowest;
    seek = LN_AT_LEAST;
  } else {
    memset(key->bytes, 0xff, sizeof key->bytes);
    key->count = sizeof key->bytes;
    seek = LN_AT_MOST;
  }
  LN_TRY(ln_table_meta(c->table, &meta));
  const int error = ln_tree_seek(db, meta, seek, key, place, &c->leaf);
  ln_put(meta);
  LN_TRY(error);
  const int inside = within(c, key);
  if (inside < 0) return inside;
  return inside ? 0 : LUNAR_E_NOT_FOUND;
}
#endif

static int next(struct lunar_cursor* c, void* row, size_t row_bytes, struct lunar_value* values) {
  struct ln_place place = {LN_NONE, 0};
  if (c->ended) return LUNAR_E_NOT_FOUND;
  if (c->scans && c->moves != c->table->db->moves) return LUNAR_E_MOVED;
#if LUNAR_WITH_SECONDARY
  if (c->index_creation) return ln_secondary_next(c, row, row_bytes, values);
#endif
#if LUNAR_WITH_TREE
  if (c->table->index == LUNAR_INDEX_TREE) {
    struct ln_key key;
    const int error = seek_key(c, &key, &place);
    if (error == LUNAR_E_NOT_FOUND) c->ended = 1;
    LN_TRY(error);
    LN_TRY(ln_row_get(c->table, place, row, row_bytes, values));
    c->started = 1;
    c->key_bytes = key.count;
    memcpy(c->key, key.bytes, key.count);
    return 0;
  }
#endif
  if (!c->started) {
    LN_TRY(begin_blocks(c));
    ln_scan_begin(c);
  }
  c->started = 1;
  LN_TRY(seek_slot(c, &place));
  LN_TRY(ln_row_get(c->table, place, row, row_bytes, values));
  c->slot = (uint16_t)(c->slot + (c->descending ? -1 : 1));
  return 0;
}

static int bound_check(const struct lunar_table* table, const struct lunar_value* bound) {
  if (!bound) return 0;
  if (table->index != LUNAR_INDEX_TREE) return LUNAR_E_UNSUPPORTED;
  LN_TRY(ln_argument(table->db, ln_value_check(table->types[table->key], LUNAR_NOT_NULL, bound), "bound"));
  struct ln_key key;
  return ln_key_of(table, bound, &key);
}

int lunar_cursor_open(struct lunar_cursor* cursor, struct lunar_table* table, const struct lunar_value* from,
                      const struct lunar_value* to, int descending) {
  LUNAR_ASSERT(cursor && table);
  LN_TRY(bound_check(table, from));
  LN_TRY(bound_check(table, to));
  *cursor = (struct lunar_cursor){.table = table, .descending = descending != 0};
  if (from) cursor->from = *from;
  if (to) cursor->to = *to;
  return 0;
}

/* Notes that a cursor is in use that depends on the places of rows. Until it ends, no row moves to make room, except on
 * a nearly full device. */
void ln_scan_begin(struct lunar_cursor* c) {
  LUNAR_ASSERT(!c->scans);
  c->scans = 1;
  c->moves = c->table->db->moves;
  c->table->db->scans++;
}

enum { NOT_COUNTED = 2 };

static void scan_end(struct lunar_cursor* c) {
  struct lunar* db = c->table->db;
  if (c->scans == 1 && db->scans) db->scans--; /* scans is 0 if the volume was mounted again since */
  if (c->scans) c->scans = NOT_COUNTED;
}

int lunar_cursor_next(struct lunar_cursor* cursor, void* row, size_t row_bytes, struct lunar_value* values) {
  LUNAR_ASSERT(cursor && cursor->table && values && (row || row_bytes == 0));
  struct lunar* db = cursor->table->db;
  LN_TRY(ln_enter(db));
  const int error = next(cursor, row, row_bytes, values);
  if (cursor->ended || error == LUNAR_E_MOVED || error == LUNAR_E_NO_TABLE) scan_end(cursor);
  return ln_leave(db, error);
}

void lunar_cursor_close(struct lunar_cursor* cursor) {
  LUNAR_ASSERT(cursor);
  cursor->ended = 1;
  if (cursor->scans != 1 || !cursor->table->db->config) return;
  const int error = ln_lock(cursor->table->db); /* the cursor ends also if the handle has failed */
  scan_end(cursor);
  (void)ln_leave(cursor->table->db, error);
}

#endif
