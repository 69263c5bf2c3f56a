/* The space of deleted rows. A block is freed when its last row has left it. So rows move out of the blocks with the
 * most dead bytes: a few at each change of the table, more when the device is full.
 *
 * Each move is a separate operation, with the record of an update that moves a row. A power cut leaves it done or not
 * begun. Moves would use up a transaction's room in the log, so its changes move no rows: lunar_begin moves them before
 * the next transaction.
 */
#include "api.h"

enum {
  DEAD_SHARE = 12,  /* rows begin to move when one of so many bytes of a table's blocks is dead */
  ROWS_EACH = 8,    /* rows that a change moves at most */
  BYTES_EACH = 16,  /* times the bytes of the changed row: after that no further one */
  SHORT_SHARE = 16, /* of the chunks */
  BLOCKS_MAX = 4    /* that an operation gets for which there is no room */
};

/* DUE: only while too much of the table is dead. ANY: every block of which a quarter is dead. FULL: every block. */
enum urgency { DUE, ANY, FULL };

/* Few chunks are left: cursors are no reason to wait. */
static int is_short(const struct lunar* db) {
  return db->chunks_free <= db->chunks_waiting + 1 + db->geometry.chunk_count / SHORT_SHARE;
}

static int is_due(const struct lunar* db, const struct lunar_frame* meta) {
  const uint8_t* m = meta->bytes;
  const uint64_t dead = 4 * ln_get64(m + LN_META_DEAD),
                 bytes = (uint64_t)ln_get32(m + LN_META_SECTORS) * db->config->sector_bytes;
  return dead * DEAD_SHARE > bytes;
}

/* The next row to move; E_NOT_FOUND: every block is dense. */
static int next_row(struct lunar* db, const struct lunar_frame* meta, enum urgency urgency, struct ln_place* place) {
  uint32_t ref = db->emptied;
  if (urgency < FULL || !ref) LN_TRY(ln_block_sparsest(db, meta, urgency == FULL, &ref));
  if (ref == LN_NONE) return LUNAR_E_NOT_FOUND;
  if (ref != db->emptied) db->emptied_slot = 0;
  db->emptied = ref;
  int error = ln_block_row(db, ref, db->emptied_slot, place);
  if (error == LUNAR_E_NOT_FOUND) error = ln_block_row(db, ref, 0, place); /* rows came into slots before */
  db->emptied_slot = (uint16_t)(place->slot + 1u);
  return error == LUNAR_E_NOT_FOUND ? LUNAR_E_CORRUPT : error; /* it would have left the table */
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

/* Moves a row out of the table's sparsest block. E_NOT_FOUND: every block is dense enough. */
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

/* What came of moves is no error of the operation that they precede. Nothing moves any more when a row or page cannot
 * be read: the operation itself may not need it. */
static int of_moves(struct lunar* db, int error) {
  if (db->state == LN_BROKEN) return error == LUNAR_E_IO ? error : LUNAR_E_FAILED; /* the way back failed */
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
    LUNAR_ASSERT(moved <= BYTES_EACH * row_bytes); /* of the rows before this one */
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
    if (error == LUNAR_E_CORRUPT || (!error && !table.creation)) return 0; /* it was dropped */
  }
  for (; rows && !error; rows--) error = move_one(&table, DUE, &bytes);
  return of_moves(db, error);
}

/* The table with the most dead bytes, if one of its blocks can be emptied. */
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

/* 1: a table gave up a block, which is available from now on; 0: none has one to give up. */
static LN_APART int reclaim_block(struct lunar* db) {
  struct lunar_table table;
  uint32_t bytes = 0;
  if (db->dense || db->unmovable || db->state != LN_READY) return 0;
  int error = find_table(db, FULL, &table);
  db->emptied = 0; /* one block, from its first row to its last */
  db->dense = error == LUNAR_E_NOT_FOUND;
  const uint32_t releases = db->releases;
  while (!error && db->releases == releases) error = move_one(&table, FULL, &bytes);
  if (!error) error = ln_checkpoint(db); /* from then on the block is available */
  return error ? of_moves(db, error) : 1;
}

/* Blocks freed since a checkpoint are available after the next one: an operation without room is tried once more then,
 * and again when rows of a sparse block have made room. */
int ln_retry(struct lunar* db, int* error, struct ln_attempts* attempts) {
  LUNAR_ASSERT(error && attempts);
  *error = ln_undo_change(db, *error);
  if (db->state != LN_READY) return 0;
  if (*error == LUNAR_E_TXN_FULL && !attempts->emptied) { /* a log without anything else may have room for it */
    attempts->emptied = 1;
    return 1;
  }
  if (*error != LUNAR_E_FULL) return 0;
  int failed = 0;
  if (attempts->freed) {
    attempts->freed = 0;
    if (db->freed) failed = ln_checkpoint(db); /* else the way back led over one */
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
