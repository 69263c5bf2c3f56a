/* Reclaims the space of deleted rows. A block is freed when its last row has left it. So rows move out of the blocks
 * with the most dead bytes: a few at each change of the table, more when the device is full.
 *
 * Each move is a separate operation, with the record of an update that moves a row. After a power cut a move is
 * complete or has not begun. Moves would use up a transaction's room in the log, so its changes move no rows:
 * lunar_begin moves them before the next transaction.
 */
#include "api.h"

enum {
  DEAD_SHARE = 12,  /* rows move while more than 1/12 of the bytes in a table's blocks is dead */
  ROWS_EACH = 8,    /* most rows that a change moves */
  BYTES_EACH = 16,  /* a change moves no further row after 16 times the bytes of the changed row */
  SHORT_SHARE = 16, /* a device is nearly full when at most about 1/16 of its chunks is free */
  BLOCKS_MAX = 4    /* most blocks that are emptied for an operation without room */
};

/* Which blocks rows move out of. */
enum urgency {
  DUE, /* as ANY, but only while too much of the table is dead (is_due) */
  ANY, /* blocks of which at least a quarter is dead */
  FULL /* all blocks with dead bytes */
};

/* Returns 1 if few chunks are free. Then rows move although a cursor is in use. */
static int is_short(const struct lunar* db) {
  return db->chunks_free <= db->chunks_waiting + 1 + db->geometry.chunk_count / SHORT_SHARE;
}

static int is_due(const struct lunar* db, const struct lunar_frame* meta) {
  const uint8_t* m = meta->bytes;
  const uint64_t dead = 4 * ln_get64(m + LN_META_DEAD),
                 bytes = (uint64_t)ln_get32(m + LN_META_SECTORS) * db->config->sector_bytes;
  return dead * DEAD_SHARE > bytes;
}

/* Finds the next row to move. Returns E_NOT_FOUND if no block has enough dead bytes for this urgency. */
static int next_row(struct lunar* db, const struct lunar_frame* meta, enum urgency urgency, struct ln_place* place) {
  uint32_t ref = db->emptied;
  if (urgency < FULL || !ref) LN_TRY(ln_block_sparsest(db, meta, urgency == FULL, &ref));
  if (ref == LN_NONE) return LUNAR_E_NOT_FOUND;
  if (ref != db->emptied) db->emptied_slot = 0;
  db->emptied = ref;
  int error = ln_block_row(db, ref, db->emptied_slot, place);
  if (error == LUNAR_E_NOT_FOUND) error = ln_block_row(db, ref, 0, place); /* rows may have come into earlier slots */
  db->emptied_slot = (uint16_t)(place->slot + 1u);
  return error == LUNAR_E_NOT_FOUND ? LUNAR_E_CORRUPT : error; /* a block without rows would have left the table */
}

static int move(const struct lunar_table* table, struct lunar_frame* meta, enum urgency urgency, uint32_t* bytes) {
  struct lunar* db = table->db;
  struct ln_new_row row = {.table = table, .column = LN_NO_COLUMN};
  struct ln_key key;
  LN_TRY(next_row(db, meta, urgency, &row.old));
  LN_TRY(ln_row_at(db, row.old, &row.sector, &row.offset, &row.old_bytes));
  const int whole = table->checksum ? ln_row_is_whole(db, row.sector, row.offset, row.old_bytes) : row.old_bytes > 2;
  LN_TRY(whole);
  if (!whole) return LUNAR_E_CORRUPT;
  LN_TRY(ln_row_key(db, table, row.sector, row.offset, &key));
  row.row_bytes = row.old_bytes;
  *bytes = row.row_bytes;
#if LUNAR_WITH_SECONDARY /* an index created after the row leaves less room for it */
  uint8_t class, least;
  LN_TRY(ln_block_class(db, meta->bytes, row.row_bytes, &class, &least));
#endif
  if (db->scans) db->moves++;
  return ln_row_store(&row, meta, &key);
}

/* Moves a row out of the table's sparsest block. Returns E_NOT_FOUND if no block has enough dead bytes for this
 * urgency. */
static int move_one(const struct lunar_table* table, enum urgency urgency, uint32_t* bytes) {
  struct lunar* db = table->db;
  struct lunar_frame* meta;
  LN_TRY(ln_table_meta(table, &meta));
  int error = urgency > DUE || is_due(db, meta) ? 0 : LUNAR_E_NOT_FOUND;
  ln_put(meta);
  LN_TRY(error);
  LN_TRY(ln_make_room_for(table));
  LN_TRY(ln_table_meta(table, &meta));
  db->reclaiming = 1;
  error = move(table, meta, urgency, bytes);
  db->reclaiming = 0;
  ln_put(meta);
  error = ln_undo_change(db, error);
  ln_operation_begins(db);
  return error;
}

/* Converts an error of moves into a result for the operation that follows them; 0: the operation continues. Lack of
 * room for a move is no error of the operation. If a row or page cannot be read, sets db->unmovable, so that no row
 * moves any more: the operation itself may not need that row or page. */
static int of_moves(struct lunar* db, int error) {
  if (db->state == LN_BROKEN) return error == LUNAR_E_IO ? error : LUNAR_E_FAILED; /* the undo failed */
  if (LN_NO_ROOM(error) || error == LUNAR_E_TXN_FULL || error == LUNAR_E_NOT_FOUND || error == LUNAR_E_TOO_LARGE)
    return 0;
  if (db->state != LN_READY || (error != LUNAR_E_CORRUPT && error != LUNAR_E_IO)) return error;
  db->unmovable = 1;
  return ln_same_volume(db, NULL);
}

int ln_reclaim_some(const struct lunar_table* table, uint32_t row_bytes) {
  struct lunar* db = table->db;
  if (table->ring || db->redoing || db->unmovable) return 0;
  if (db->state == LN_IN_TXN) {
    db->owed_table = table->number;
    if (db->owed < UINT16_MAX) db->owed++;
    return 0;
  }
  if (db->scans && !is_short(db)) return 0;
  uint32_t moved = 0, bytes = 0;
  for (uint32_t rows = 0; rows < ROWS_EACH && moved <= BYTES_EACH * row_bytes; rows++, moved += bytes) {
    const int error = move_one(table, DUE, &bytes);
    if (error) return of_moves(db, error);
    LUNAR_ASSERT(moved <= BYTES_EACH * row_bytes); /* moved does not include this row */
  }
  return 0;
}

int ln_reclaim_owed(struct lunar* db) {
  struct lunar_table table;
  uint32_t bytes = 0;
  LUNAR_ASSERT(db->state == LN_READY);
  int error = 0;
  uint32_t rows = db->unmovable || (db->scans && !is_short(db)) ? 0 : (uint32_t)ROWS_EACH * db->owed;
  db->owed = 0;
  if (rows) {
    error = ln_table_load(db, db->owed_table, &table);
    if (error == LUNAR_E_CORRUPT || (!error && !table.creation)) return 0; /* the table was dropped */
  }
  for (; rows && !error; rows--) error = move_one(&table, DUE, &bytes);
  return of_moves(db, error);
}

/* Loads the table with the most dead bytes of those that have a block which can be emptied. Returns E_NOT_FOUND if
 * there is none. */
static int find_table(struct lunar* db, enum urgency urgency, struct lunar_table* table) {
  uint64_t most = 0;
  uint16_t found = 0;
  for (uint16_t number = 0; number < db->geometry.tables_max; number++) {
    struct lunar_frame* meta;
    uint32_t ref = LN_NONE;
    LN_TRY(ln_meta(db, number, &meta));
    const uint8_t* m = meta->bytes;
    int error = 0;
    const uint64_t dead = ln_get64(m + LN_META_DEAD);
    if (m[LN_META_COLUMNS] && ln_get32(m + LN_META_CREATION) && dead > most)
      error = ln_block_sparsest(db, meta, urgency == FULL, &ref);
    ln_put(meta);
    LN_TRY(error);
    if (ref == LN_NONE) continue;
    most = dead;
    found = number;
  }
  return most ? ln_table_load(db, found, table) : LUNAR_E_NOT_FOUND;
}

/* Empties a block of any table and makes a checkpoint, so that the block is available. Returns 1, 0 if no block could
 * be emptied, or an error. */
static LN_APART int reclaim_block(struct lunar* db) {
  struct lunar_table table;
  uint32_t bytes = 0;
  if (db->dense || db->unmovable || db->state != LN_READY) return 0;
  int error = find_table(db, FULL, &table);
  db->emptied = 0; /* begins with the first row of a block */
  db->dense = error == LUNAR_E_NOT_FOUND;
  const uint32_t releases = db->releases;
  while (!error && db->releases == releases) error = move_one(&table, FULL, &bytes);
  if (!error) error = ln_checkpoint(db);
  return error ? of_moves(db, error) : 1;
}

/* After E_FULL: the first try makes a checkpoint, which makes the blocks available that were freed since the last one.
 * Each further try empties a sparse block, at most BLOCKS_MAX blocks. After E_TXN_FULL: tries once more. */
int ln_retry(struct lunar* db, int* error, struct ln_attempts* attempts) {
  LUNAR_ASSERT(error && attempts);
  *error = ln_undo_change(db, *error);
  if (db->state != LN_READY) return 0;
  if (*error == LUNAR_E_TXN_FULL && !attempts->emptied) { /* a log with nothing else in it may have room */
    attempts->emptied = 1;
    return 1;
  }
  if (*error != LUNAR_E_FULL) return 0;
  int failed = 0;
  if (attempts->freed) {
    attempts->freed = 0;
    if (db->freed) failed = ln_checkpoint(db); /* otherwise the undo has made a checkpoint */
  } else {
    if (attempts->blocks++ == BLOCKS_MAX) return 0;
    failed = reclaim_block(db);
    if (!failed) return 0;
    if (failed > 0) failed = 0;
  }
  if (failed) *error = failed;
  return !failed;
}

#if LUNAR_WITH_COMPACT
static int compact(struct lunar* db, uint32_t rows, uint32_t* moved) {
  struct lunar_table table;
  uint32_t bytes = 0;
  int error = db->state == LN_IN_TXN ? LUNAR_E_TXN : 0;
  if (db->scans) return error;
  while (!error && *moved < rows) {
    const uint32_t releases = db->releases;
    error = find_table(db, ANY, &table);
    while (!error && *moved < rows && db->releases == releases) {
      error = move_one(&table, ANY, &bytes);
      *moved += !error;
    }
  }
  LN_TRY(error == LUNAR_E_IO || error == LUNAR_E_CORRUPT ? error : of_moves(db, error));
  return ln_commit_point(db);
}

int lunar_compact(struct lunar* db, uint32_t rows, uint32_t* moved) {
  LUNAR_ASSERT(moved);
  LN_TRY(ln_enter(db));
  *moved = 0;
  return ln_leave(db, compact(db, rows, moved));
}
#endif
