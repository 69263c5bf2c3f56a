/* Groups, the stage that collects them, and checkpoints.
 *
 * The stage holds the open group: its first stage_used bytes, which will be written at stage_sector. stage_used is 0 if
 * no group is open. The group gets its number and its checksums when it is written. A record that is larger than the
 * stage is a separate group and passes through the stage piece by piece, after its checksum has been computed.
 *
 * The LOG zone is a circle of units; no group crosses a unit's end. log_head is the next free sector, counted from the
 * zone's beginning. The log_used sectors before it, from checkpoint_at on, must not be overwritten.
 */
#include "pages.h"

static uint32_t sector_bytes(const struct lunar* db) { return db->config->sector_bytes; }
static uint32_t sectors_of(const struct lunar* db, uint32_t bytes) {
  return (bytes + sector_bytes(db) - 1) / sector_bytes(db);
}
static int syncs_each(const struct lunar* db) { return db->mode == LUNAR_MODE_FULL; }
static int in_log(const struct lunar* db, uint32_t sector) {
  return sector - db->geometry.log_at < db->geometry.log_sectors;
}

/* Returns E_TXN_FULL. sectors: size that the log would need, for lunar_log_wanted. */
static int too_short(struct lunar* db, uint32_t sectors) {
  db->log_wanted = sectors;
  return LUNAR_E_TXN_FULL;
}

/* Makes sure that the group of this size fits at the head. If the rest of the unit is too short, moves the head to the
 * next unit. Returns E_TXN_FULL if the log is too full, E_TOO_LARGE if a unit is too short. */
static int log_room(struct lunar* db, uint32_t sectors) {
  LUNAR_ASSERT(sectors > 0 && db->series.log_head < db->geometry.log_sectors);
  LUNAR_ASSERT(db->series.log_used <= db->geometry.log_sectors);
  const uint32_t unit = db->geometry.unit_sectors;
  if (sectors > unit) return LUNAR_E_TOO_LARGE;
  const uint32_t left = unit - db->series.log_head % unit;
  uint32_t skipped = 0;
  if (left < sectors) skipped = left;
  const uint32_t needed = db->series.log_used + skipped + sectors;
  if (needed > db->geometry.log_sectors) return too_short(db, needed);
  db->series.log_used += skipped;
  db->series.log_head = (db->series.log_head + skipped) % db->geometry.log_sectors;
  return 0;
}

static void log_advance(struct lunar* db, uint32_t sectors) {
  db->series.log_head = (db->series.log_head + sectors) % db->geometry.log_sectors;
  db->series.log_used += sectors;
  ln_log_check(db);
}

#if LUNAR_DEBUG
void ln_log_check(const struct lunar* db) {
  const uint32_t sectors = db->geometry.log_sectors;
  LUNAR_ASSERT(db->stage_used <= db->stage_bytes);
  LUNAR_ASSERT(db->stage_used == 0 || db->stage_used >= LN_GROUP_HEADER);
  LUNAR_ASSERT(db->series.log_head < sectors && db->series.log_used <= sectors);
  LUNAR_ASSERT(db->checkpoint_at < sectors);
  LUNAR_ASSERT((db->checkpoint_at + db->series.log_used) % sectors == db->series.log_head);
  LUNAR_ASSERT(db->before_last == LN_NONE || db->before_last < sectors);
}
#endif

static void header(struct lunar* db, uint8_t* to, enum ln_group kind, int flags, uint32_t bytes, uint32_t count,
                   uint32_t extra, uint32_t body_sum) {
  LUNAR_ASSERT(kind >= LN_RECORDS && kind <= LN_BEFORE);
  LUNAR_ASSERT(!(flags & LN_PART) || kind == LN_RECORDS);
  ln_put16(to + LN_GROUP_MAGIC, LN_GROUP);
  to[LN_GROUP_KIND] = (uint8_t)kind;
  to[LN_GROUP_FLAGS] = (uint8_t)flags;
  ln_put32(to + LN_GROUP_EPOCH, db->series.epoch);
  ln_put32(to + LN_GROUP_SEQUENCE, ++db->series.sequence);
  if (flags & LN_PART)
    db->parts = 1;
  else if (kind == LN_RECORDS || kind == LN_CHECKPOINT)
    db->committed = db->series.sequence;
  ln_put32(to + LN_GROUP_CHECKPOINT, db->checkpoint_at);
  ln_put32(to + LN_GROUP_BYTES, bytes);
  ln_put32(to + LN_GROUP_COUNT, count);
  ln_put32(to + LN_GROUP_EXTRA, extra);
  ln_put32(to + LN_GROUP_BODY_SUM, body_sum);
  ln_put32(to + LN_GROUP_SUM, ln_checksum(db->geometry.volume, to, LN_GROUP_SUM));
}

/* After a group was written at this sector: the next one in the log or in this extent follows it. */
static void advance(struct lunar* db, uint32_t sector, uint32_t sectors) {
  if (in_log(db, sector)) {
    log_advance(db, sectors);
    return;
  }
  for (uint32_t i = 0; i < LUNAR_EXTENTS; i++)
    if (db->series.extents[i].sector == sector) db->series.extents[i].sector += sectors;
}

static int write_out(struct lunar* db, uint32_t sector, const uint8_t* data, uint32_t sectors) {
  LN_TRY(ln_forget(db, sector, sectors));
  return ln_sectors_write(db, sector, data, sectors);
}

#if LUNAR_WITH_REPAIR
int ln_log_mark(struct lunar* db, uint32_t at, uint32_t epoch) {
  LUNAR_ASSERT(db->redoing && db->stage_used == 0 && at < db->geometry.log_sectors);
  const struct lunar_series series = db->series;
  const uint32_t committed = db->committed;
  db->series.epoch = epoch;
  memset(db->stage, 0, sector_bytes(db));
  header(db, db->stage, LN_CHECKPOINT, 0, 0, 0, LN_NONE, ln_checksum(db->geometry.volume, db->stage, 0));
  db->series = series;
  db->committed = committed;
  return write_out(db, db->geometry.log_at + at, db->stage, 1);
}
#endif

int ln_stage_write(struct lunar* db, int part) {
  LUNAR_ASSERT(db->stage_used == 0 || (db->stage_used >= LN_GROUP_HEADER && db->stage_used <= db->stage_bytes));
  LUNAR_ASSERT(!part || db->state == LN_IN_TXN);
  if (!db->stage_used) return 0;
  const uint32_t sectors = sectors_of(db, db->stage_used);
  const uint32_t body = db->stage_used - LN_GROUP_HEADER;
  memset(db->stage + db->stage_used, 0, sectors * sector_bytes(db) - db->stage_used);
  /* The checksum covers the rows with their records, so recovery accepts no record whose row is not on the device. Mode
   * disorder does not promise this. */
  const uint32_t sum = ln_checksum(db->geometry.volume, db->stage + LN_GROUP_HEADER, body);
  header(db, db->stage, LN_RECORDS, part ? LN_PART : 0, body, db->stage_records, db->flushed, sum);
  db->stage_used = 0; /* already now: write_out drops frames but does not spill them, so it needs no stage */
  const int error = write_out(db, db->stage_sector, db->stage, sectors);
  if (error)
    db->state = LN_BROKEN; /* operations that returned 0 are not on the device */
  else
    advance(db, db->stage_sector, sectors);
  return error;
}

static uint32_t padded(uint32_t bytes) { return (bytes + 3) & ~3u; }

static uint32_t record_bytes(const struct lunar* db, const struct ln_record_header* record) {
  return LN_RECORD_HEADER + 4u * db->allocated_count + padded(record->bytes);
}

/* Returns how many bytes the open group may have. A group of the log does not cross the end of its unit. */
static uint32_t group_room(const struct lunar* db) {
  const uint32_t unit = db->geometry.unit_sectors;
  const uint32_t left = (unit - db->series.log_head % unit) * sector_bytes(db);
  return in_log(db, db->stage_sector) && left < db->stage_bytes ? left : db->stage_bytes;
}

/* Opens a group for a record of this size at extent_sector; LN_NONE: in the log. Keeps the open group if that lies
 * there and has room for the record, and writes it otherwise. */
static int open_group(struct lunar* db, uint32_t extent_sector, uint32_t bytes) {
  LUNAR_ASSERT(db->state != LN_BROKEN);
  if (db->stage_used) {
    const int there = extent_sector == LN_NONE ? in_log(db, db->stage_sector) : db->stage_sector == extent_sector;
    if (there && db->stage_used + bytes <= group_room(db)) return 0;
    LN_TRY(ln_stage_write(db, db->state == LN_IN_TXN));
  }
  if (extent_sector == LN_NONE) LN_TRY(log_room(db, sectors_of(db, LN_GROUP_HEADER + bytes)));
  db->stage_sector = extent_sector == LN_NONE ? db->geometry.log_at + db->series.log_head : extent_sector;
  db->stage_used = LN_GROUP_HEADER;
  db->stage_records = 0;
  return 0;
}

/* For the two receivers of a record's bytes: put_sum adds them to the checksum; put_stage copies them to the stage and
 * writes a full stage to the sector (LN_NONE: the record fits into the stage). */
struct passing {
  struct lunar* db;
  struct ln_sum sum;
  uint32_t sector;
};

static int put_sum(void* sink, const void* data, uint32_t bytes) {
  ln_sum_add(&((struct passing*)sink)->sum, data, bytes);
  return 0;
}

static int put_stage(void* sink, const void* data, uint32_t bytes) {
  LUNAR_ASSERT(((struct passing*)sink)->db->stage_used <= ((struct passing*)sink)->db->stage_bytes);
  struct passing* p = sink;
  struct lunar* db = p->db;
  const uint8_t* from = data;
  while (bytes) {
    const uint32_t room = db->stage_bytes - db->stage_used;
    const uint32_t n = bytes < room ? bytes : room;
    memcpy(db->stage + db->stage_used, from, n);
    db->stage_used += n;
    from += n;
    bytes -= n;
    if (db->stage_used < db->stage_bytes || p->sector == LN_NONE) continue;
    LN_TRY(write_out(db, p->sector, db->stage, db->stage_bytes / sector_bytes(db)));
    p->sector += db->stage_bytes / sector_bytes(db);
    db->stage_used = 0;
  }
  return 0;
}

static int emit_record(struct lunar* db, const struct ln_record_header* record, ln_emit emit, void* context, void* sink,
                       int (*put)(void* sink, const void* data, uint32_t bytes)) {
  static const uint8_t zeros[3];
  LN_FIELDS(head, LN_RECORD_HEADER);
  head[LN_RECORD_TYPE] = (uint8_t)record->type;
  head[LN_RECORD_ALLOCATED] = db->allocated_count;
  ln_put16(head + LN_RECORD_TABLE, record->table);
  ln_put32(head + LN_RECORD_REF, record->ref);
  ln_put16(head + LN_RECORD_SLOT, record->slot);
  ln_put16(head + LN_RECORD_POSITION, record->position);
  ln_put32(head + LN_RECORD_BYTES, record->bytes);
  LN_TRY(put(sink, head, sizeof head));
  for (uint32_t i = 0; i < db->allocated_count; i++) {
    ln_put32(head, db->allocated[i]);
    LN_TRY(put(sink, head, 4));
  }
  if (emit) LN_TRY(emit(context, sink, put));
  return put(sink, zeros, padded(record->bytes) - record->bytes);
}

/* Writes a record that is larger than the stage, as a group. Emits it twice: first for its checksum, which the group's
 * header has, then through the stage to the device. */
static int pass_through(struct lunar* db, const struct ln_record_header* record, ln_emit emit, void* context) {
  struct passing p = {.db = db, .sector = LN_NONE};
  const uint32_t body = record_bytes(db, record), first = db->stage_sector;
  ln_sum_begin(&p.sum, db->geometry.volume);
  LN_TRY(emit_record(db, record, emit, context, &p, put_sum));
  header(db, db->stage, LN_RECORDS, db->state == LN_IN_TXN ? LN_PART : 0, body, 1, db->flushed, ln_sum_end(&p.sum));
  p.sector = first;
  const int error = emit_record(db, record, emit, context, &p, put_stage);
  const uint32_t rest = db->stage_used;
  db->stage_used = 0;
  LN_TRY(error);
  if (rest) {
    memset(db->stage + rest, 0, sectors_of(db, rest) * sector_bytes(db) - rest);
    LN_TRY(write_out(db, p.sector, db->stage, sectors_of(db, rest)));
  }
  advance(db, first, sectors_of(db, LN_GROUP_HEADER + body));
  return 0;
}

int ln_log_row(struct lunar* db, uint32_t extent_sector, const struct ln_record_header* record, ln_emit emit,
               void* context) {
  LUNAR_ASSERT(extent_sector == LN_NONE || !in_log(db, extent_sector));
  LUNAR_ASSERT(record->bytes == 0 || emit);
  if (db->redoing) return 0;
  const uint32_t bytes = record_bytes(db, record);
  LN_TRY(open_group(db, extent_sector, bytes));
  if (db->stage_used + bytes > db->stage_bytes) {
    LN_TRY(pass_through(db, record, emit, context));
  } else {
    struct passing p = {.db = db, .sector = LN_NONE};
    LN_TRY(emit_record(db, record, emit, context, &p, put_stage));
    db->stage_records++; /* after an error the incomplete record is not counted */
  }
  /* Outside of a transaction recovery would repeat the recorded operation, so it cannot be undone any more. LN_OPEN and
   * LN_EXTEND only open a block for the operation, and the block may stay. */
  db->no_way_back = db->state != LN_IN_TXN && record->type != LN_OPEN && record->type != LN_EXTEND;
  return 0;
}

int ln_log(struct lunar* db, const struct ln_record_header* record, ln_emit emit, void* context) {
  return db->mode == LUNAR_MODE_NONE ? 0 : ln_log_row(db, LN_NONE, record, emit, context);
}

struct plain {
  const void* bytes;
  uint32_t count;
};

static int emit_plain(void* context, void* sink, int (*put)(void* sink, const void* data, uint32_t bytes)) {
  const struct plain* p = context;
  return put(sink, p->bytes, p->count);
}

int ln_log_bytes(struct lunar* db, const struct ln_record_header* record, const void* bytes) {
  LUNAR_ASSERT(bytes || record->bytes == 0);
  struct plain plain = {bytes, record->bytes};
  return ln_log(db, record, emit_plain, &plain);
}

/* Prepares the stage for a record of this size in the extent, which must be logged next. Sets *offset to the place of
 * the record's content, in bytes from extent->sector. */
int ln_row_begin(struct lunar* db, const struct lunar_extent* extent, uint32_t bytes, uint32_t* offset) {
  LUNAR_ASSERT(extent && extent->block != LN_NONE && bytes > 0);
  const uint32_t ahead = LN_RECORD_HEADER + 4u * db->allocated_count;
  const int open = db->stage_used && db->stage_sector == extent->sector;
  if (db->stage_used && (!open || db->stage_used + ahead + padded(bytes) > db->stage_bytes))
    LN_TRY(ln_stage_write(db, db->state == LN_IN_TXN));
  *offset = (db->stage_used ? db->stage_used : LN_GROUP_HEADER) + ahead;
  return 0;
}

int ln_commit_group(struct lunar* db) {
  if (!db->stage_used && !db->parts) return 0;
  if (!db->stage_used) LN_TRY(open_group(db, LN_NONE, 0));
  return ln_stage_write(db, 0);
}

int ln_commit_point(struct lunar* db) {
  if (db->redoing || db->state == LN_IN_TXN || !syncs_each(db)) return 0;
  LN_TRY(ln_stage_write(db, 0));
  return ln_device_sync(db);
}

static int needs_no_image(const struct lunar* db, const struct lunar_frame* f) {
  return f->flags & (LN_FRESH | LN_PLAIN) || db->mode == LUNAR_MODE_NONE || LN_IS_BUILT(db, f);
}

int ln_write_frame(struct lunar* db, struct lunar_frame* f) {
  LUNAR_ASSERT((f->flags & LN_DIRTY || ln_waits(f)) && f->sector != LN_NONE);
  ln_seal(db, f);
  LN_TRY(ln_home_write(db, f->sector, f->bytes, 1));
  ln_cleaned(db, f);
  return 0;
}

/* Which pages are written in place. Kept dirty pages are not, except in mode none with DIRTY: its log has no image. */
enum which {
  DIRTY,         /* waiting and dirty pages */
  WITHOUT_IMAGE, /* waiting pages, and dirty ones that need no image */
  WAITING        /* waiting pages only */
};

static int goes_in_place(const struct lunar* db, const struct lunar_frame* f, enum which which) {
  if (!f || !(f->flags & LN_DIRTY)) return f && ln_waits(f);
  if (which == WAITING || (f->flags & LN_KEPT && (which != DIRTY || db->mode != LUNAR_MODE_NONE))) return 0;
  return which == DIRTY || needs_no_image(db, f);
}

/* --- pages that stay in the buffer ---
 *
 * A table's metadata page and the header of its last block change with every row, in a ring table also the header of
 * its first block. A page of the allocation map changes with every page that an index gets. A checkpoint logs these
 * pages but does not write them in place: their sectors would be written more often than all others, while the log
 * spreads its writes over many sectors. Recovery needs only the images of the last checkpoint, with which it begins.
 * A spill leaves one such page, because the log has its before image. Mode none has no images: there these pages stay
 * until a checkpoint, lunar_sync, or until their frames are needed.
 */
enum { KEPT_MAX = 8, KEPT_FOR = 8 /* checkpoints */ };

/* Chooses the page to stay if it is dirty and not yet kept. f: may be NULL. left: how many more may be chosen. */
static void keep(struct lunar_frame* f, uint32_t* left) {
  if (!*left || !f || (f->flags & (LN_DIRTY | LN_FRESH | LN_KEPT | LN_AGAIN)) != LN_DIRTY) return;
  f->flags |= LN_KEPT | LN_LOGGED;
  --*left;
}

/* Chooses the pages that stay in the buffer, at most `most`: after the checkpoint group has been written, or before
 * other pages are written by a spill or in mode none. Returns 0 if none may stay or wait, because their images must not
 * be needed after the checkpoint. With `releases` it releases the pages that have not changed since the last such call,
 * or since they were chosen. Every KEPT_FOR-th checkpoint does this, because logging their images is useless. In this
 * function, LN_AGAIN without LN_KEPT marks a released page, which keep() must not choose again. */
static int choose_kept(struct lunar* db, uint32_t most, int releases) {
  uint32_t left = db->frame_count < 2u * most ? db->frame_count / 2u : most;
  const int none = db->wants_settled || LN_INDEX_SECTORS(db) || db->redoing;
  for (uint32_t i = 0; i < db->frame_count; i++) {
    uint8_t* flags = &db->frames[i].flags;
    const int stays = (*flags & (LN_DIRTY | LN_KEPT)) == (LN_DIRTY | LN_KEPT); /* a kept page that is clean waits */
    if (stays && (none || (releases && !(*flags & LN_AGAIN)))) {
      *flags ^= LN_KEPT | LN_AGAIN; /* released: LN_AGAIN is set, unless none may stay */
      continue;
    }
    if (releases) *flags &= (uint8_t)~LN_AGAIN;
    if (stays && left) left--;
  }
  if (none) return 0;
  for (uint32_t i = 0; i < db->frame_count; i++) {
    struct lunar_frame* meta = &db->frames[i];
    if (meta->kind != LN_META || !(meta->flags & LN_DIRTY)) continue;
    keep(meta, &left);
    keep(ln_cached(db, ln_get32(meta->bytes + LN_META_LAST)), &left);
    if (meta->bytes[LN_META_RING]) keep(ln_cached(db, ln_get32(meta->bytes + LN_META_FIRST)), &left);
  }
  for (uint32_t i = 0; i < db->frame_count; i++)
    if (db->frames[i].kind == LN_MAP) keep(&db->frames[i], &left);
  return 1;
}

/* Finds memory for pages that are written with one request: the stage if it is empty, otherwise the memory for reading
 * ahead. Returns its size in sectors; 1 if there is none. */
static uint32_t run_room(struct lunar* db, uint8_t** room) {
  *room = db->stage;
  if (!db->stage_used) return db->stage_bytes / sector_bytes(db);
#if LUNAR_WITH_PREFETCH
  *room = db->ahead;
  db->ahead_count = 0;
  if (db->ahead_max && !db->doubtful) return db->ahead_max; /* doubtful: the write first reads SUPER into it */
#endif
  return 1;
}

/* Writes the frame in place, in one request with those of its neighbours on the device that are to be written, too. */
static int write_run(struct lunar* db, struct lunar_frame* f, enum which which) {
  uint8_t* run;
  const uint32_t most = run_room(db, &run);
  uint32_t first = f->sector, count = 1;
  while (f->sector - first + 1 < most && first && goes_in_place(db, ln_cached(db, first - 1), which)) first--;
  while (count < most && goes_in_place(db, ln_cached(db, first + count), which)) count++;
  if (count == 1) return ln_write_frame(db, f);
  for (uint32_t i = 0; i < count; i++) {
    struct lunar_frame* next = ln_cached(db, first + i);
    ln_seal(db, next);
    memcpy(run + i * sector_bytes(db), next->bytes, sector_bytes(db));
  }
  LN_TRY(ln_home_write(db, first, run, count));
  for (uint32_t i = 0; i < count; i++) ln_cleaned(db, ln_cached(db, first + i));
  return 0;
}

int ln_write_in_place(struct lunar* db, int only_without_image) {
  const enum which which = only_without_image ? WITHOUT_IMAGE : DIRTY;
  if (db->frames_dirty + ln_waiting(db) == 0) return 0;
  for (uint32_t i = 0; i < db->frame_count; i++) {
    struct lunar_frame* f = &db->frames[i];
    if (goes_in_place(db, f, which)) LN_TRY(write_run(db, f, which));
  }
  return 0;
}

#if LUNAR_WITH_BUFFER
int ln_write_waiting(struct lunar* db, struct lunar_frame* f) {
  LUNAR_ASSERT(ln_waits(f));
  /* Without the stage, a run would overwrite the sectors that were read ahead. Dirty neighbours are not written,
   * because the operation may be about to change them. */
  return db->stage_used ? ln_write_frame(db, f) : write_run(db, f, WAITING);
}

enum { SOME_REQUESTS = 16, SOME_FRAMES = 128 };

static uint32_t smaller(uint32_t a, uint32_t b) { return a < b ? a : b; }

/* Writes some of the waiting pages, before an operation. Writes them as late as possible, because a page that changes
 * while it waits need not be written. But the next checkpoint must write those that are left, and the dirty pages that
 * need no image. If there are many, the operation that makes the checkpoint takes long. log_left: sectors of the log
 * until that checkpoint. Estimates: an operation makes up to eight pages dirty, four of which need no image, and uses
 * one sector of the log for two of these pages. */
static int write_some(struct lunar* db, uint32_t log_left) {
  const uint32_t full = ln_dirty_max(db) * 3u / 4u, rows = db->frame_count + 24u - 3u * db->rows_dirty;
  LUNAR_ASSERT(db->frames_waiting <= db->frame_count);
  uint32_t left = full > db->frames_dirty ? full - db->frames_dirty : 0; /* pages still to become dirty */
  left = smaller(left, 2 * smaller(log_left, rows / 3));
  const int fresh = db->frames_dirty > SOME_REQUESTS + SOME_REQUESTS / 4 * left;
  if (!fresh && db->frames_waiting <= SOME_REQUESTS + SOME_REQUESTS / 8 * left) return 0;
  for (uint32_t i = 0, requests = 0; i < SOME_FRAMES && requests < SOME_REQUESTS; i++) {
    struct lunar_frame* f = &db->frames[db->waiting_next];
    db->waiting_next = (uint16_t)(db->waiting_next + 1u < db->frame_count ? db->waiting_next + 1u : 0);
    if (!goes_in_place(db, f, fresh ? WITHOUT_IMAGE : WAITING)) continue;
    LN_TRY(write_run(db, f, WITHOUT_IMAGE));
    requests++;
  }
  return 0;
}
#else
#define write_some(db, log_left) 0
#endif

int ln_write_kept(struct lunar* db, struct lunar_frame* frames, uint32_t count) {
  for (struct lunar_frame* f = frames; f < frames + count; f++)
    if (f->flags & LN_KEPT && !f->pins) LN_TRY(ln_waits(f) ? write_run(db, f, WAITING) : ln_write_frame(db, f));
  return 0;
}

#if LUNAR_WITH_BUFFER
/* After a checkpoint: makes the dirty pages wait, because their images are in the log. Each operation then writes some
 * of them in place (write_some). */
static void let_wait(struct lunar* db) {
  for (uint32_t i = 0; i < db->frame_count; i++) {
    struct lunar_frame* f = &db->frames[i];
    if ((f->flags & (LN_DIRTY | LN_KEPT)) != LN_DIRTY) continue;
    ln_cleaned(db, f);
    f->flags = LN_KEPT | LN_LOGGED;
    db->frames_waiting++;
  }
}
#else
#define let_wait(db) ((void)0)
#endif

/* Returns the next frame, from number *i on, whose image belongs into a group of this kind, and moves *i behind it.
 * NULL if there is no further one. */
static struct lunar_frame* next_image(struct lunar* db, enum ln_group kind, uint32_t* i) {
  while (*i < db->frame_count) {
    struct lunar_frame* f = &db->frames[(*i)++];
    const int logged = kind == LN_BEFORE && f->flags & LN_LOGGED;
    if (f->flags & LN_DIRTY && !logged && !needs_no_image(db, f)) return f;
  }
  return NULL;
}

/* Writes one image to the sector `at` of the device. at LN_NONE: copies it to `place` in the stage, because the group
 * is written with one request. The image is the frame; of a BEFORE group, the page in place, which is read into
 * `place`. */
static int write_image(struct lunar* db, enum ln_group kind, struct lunar_frame* f, uint8_t* place, uint32_t at,
                       uint32_t* sum) {
  LUNAR_ASSERT(kind == LN_IMAGES || kind == LN_BEFORE);
  LUNAR_ASSERT(f && f->flags & LN_DIRTY);
  const uint8_t* image = f->bytes;
  if (kind == LN_BEFORE) {
    LN_TRY(ln_home_read(db, f->sector, place));
    image = place;
  } else {
    ln_seal(db, f);
    if (at == LN_NONE) memcpy(place, image, sector_bytes(db));
  }
  *sum = ln_checksum(db->geometry.volume, image, sector_bytes(db));
  return at == LN_NONE ? 0 : write_out(db, at, image, 1);
}

/* Groups of images in the stage that have not been written: their first sector on the device, and their length. */
struct batch {
  uint32_t sector, sectors;
};

static int write_batch(struct lunar* db, struct batch* batch) {
  const uint32_t sectors = batch->sectors;
  batch->sectors = 0;
  return sectors ? write_out(db, batch->sector, db->stage, sectors) : 0;
}

/* Writes a group with the images of `count` frames, from number *from on, or adds it to the batch. Moves *from behind
 * the last of these frames. If *first is LN_NONE, sets it to the group's log sector. */
static int write_images(struct lunar* db, enum ln_group kind, uint32_t* from, uint32_t count, uint32_t* first,
                        struct batch* batch) {
  LUNAR_ASSERT(kind == LN_IMAGES || kind == LN_BEFORE);
  LUNAR_ASSERT(count > 0 && count <= LN_IMAGES_MAX && count < db->geometry.unit_sectors);
  uint32_t sums[LN_IMAGES_MAX];
  LN_TRY(log_room(db, 1 + count));
  const uint32_t head = db->series.log_head, at = db->geometry.log_at + head;
  if (*first == LN_NONE) *first = head;
  const uint32_t most = db->stage_bytes / sector_bytes(db);
  const int together = most >= 1 + count;
  if (LUNAR_WITH_BUFFER && (at != batch->sector + batch->sectors || batch->sectors + 1 + count > most)) {
    LN_TRY(write_batch(db, batch));
    batch->sector = at;
  }
  uint8_t* const stage = db->stage + (LUNAR_WITH_BUFFER ? batch->sectors * sector_bytes(db) : 0);
  for (uint32_t i = 0, next = *from; i < count; i++)
    LN_TRY(write_image(db, kind, next_image(db, kind, &next), stage + (together ? (i + 1) * sector_bytes(db) : 0),
                       together ? LN_NONE : at + 1 + i, &sums[i]));
  memset(stage, 0, sector_bytes(db));
  for (uint32_t i = 0; i < count; i++) {
    struct lunar_frame* f = next_image(db, kind, from);
    ln_put32(stage + LN_GROUP_HEADER + 8 * i, f->sector);
    ln_put32(stage + LN_GROUP_HEADER + 8 * i + 4, sums[i]);
    if (kind == LN_BEFORE) f->flags |= LN_LOGGED;
  }
  header(db, stage, kind, 0, (count + 1) * sector_bytes(db) - LN_GROUP_HEADER, count,
         kind == LN_BEFORE ? db->before_last : 0, ln_checksum(db->geometry.volume, stage + LN_GROUP_HEADER, 8 * count));
  const uint32_t sectors = together ? 1 + count : 1;
  if (LUNAR_WITH_BUFFER && together)
    batch->sectors += sectors;
  else
    LN_TRY(write_out(db, at, stage, sectors));
  if (kind == LN_BEFORE) db->before_last = head;
  log_advance(db, 1 + count);
  return 0;
}

static int write_images_of_dirty(struct lunar* db, enum ln_group kind, uint32_t* first) {
  const uint32_t most = db->geometry.unit_sectors > LN_IMAGES_MAX ? LN_IMAGES_MAX : db->geometry.unit_sectors - 1u;
  struct batch batch = {0, 0};
  int error = 0;
  for (uint32_t from = 0; !error;) {
    uint32_t count = 0, next = from;
    while (count < most && next_image(db, kind, &next)) count++;
    if (!count) break;
    error = write_images(db, kind, &from, count, first, &batch);
  }
  if (!LUNAR_WITH_BUFFER || db->state == LN_BROKEN) return error;
  const int failed = write_batch(db, &batch); /* after an error, too: these pages are already marked LN_LOGGED */
  return error ? error : failed;
}

enum { LOGGED_GROUPS = 4 };

/* Marks the dirty pages LN_LOGGED that have a before image from an earlier spill since the checkpoint: they need no
 * second one. Reads only the last BEFORE groups, because reading all of them at each spill would cost more than writing
 * the images. But an operation that changes the same pages repeatedly (many_pages) would fill any log with images, so
 * then reads all groups if necessary. */
static LN_APART int mark_logged(struct lunar* db) {
  uint32_t at = db->before_last;
  const uint32_t most = db->many_pages ? LN_NONE : LOGGED_GROUPS;
  for (uint32_t steps = 0, i = 0; at != LN_NONE && steps < most && next_image(db, LN_BEFORE, &i); steps++, i--) {
    if (at >= db->geometry.log_sectors) return LUNAR_E_CORRUPT;
    const int error = ln_device_read(db, db->geometry.log_at + at, db->stage, 1);
    /* The pages of an unreadable group get a second image. Recovery puts the newer image back first, then the older. */
    if (error) return LUNAR_WITH_REPAIR ? ln_is_bad_sector(db, error) : error;
    const uint32_t count = ln_get32(db->stage + LN_GROUP_COUNT);
    for (uint32_t k = 0; k < count && k < LN_IMAGES_MAX; k++) {
      struct lunar_frame* f = ln_cached(db, ln_get32(db->stage + LN_GROUP_HEADER + 8 * k));
      if (f && f->flags & LN_DIRTY) f->flags |= LN_LOGGED;
    }
    at = ln_get32(db->stage + LN_GROUP_EXTRA);
  }
  return 0;
}

static int spill(struct lunar* db, uint32_t keeps) {
  if (db->mode != LUNAR_MODE_NONE) {
    uint32_t first = LN_NONE;
    LN_TRY(mark_logged(db));
    const uint32_t used = db->series.log_used;
    const int error = write_images_of_dirty(db, LN_BEFORE, &first);
    db->log_before += db->series.log_used - used;
    if (first != LN_NONE && db->state != LN_BROKEN) { /* after an error, too: other pages are marked LN_LOGGED */
      db->settled = 0;
      LN_TRY(ln_device_sync(db));
    }
    LN_TRY(error);
  }
  if (keeps) (void)choose_kept(db, keeps, 0);
  return ln_write_in_place(db, keeps && db->mode == LUNAR_MODE_NONE);
}

int ln_spill(struct lunar* db, uint32_t keeps) {
  LN_COUNT(db->spills, 1);
  LN_TRY(ln_stage_write(db, db->state == LN_IN_TXN));
  LN_TRY(spill(db, keeps));
  LUNAR_ASSERT(db->frames_dirty <= KEPT_MAX);
  ln_frames_check(db, LN_PINS_MAX);
  return 0;
}

static int write_checkpoint_group(struct lunar* db, uint32_t* images_at) {
  LN_TRY(log_room(db, 1));
  if (*images_at == LN_NONE) *images_at = db->series.log_head;
  uint8_t* body = db->stage + LN_GROUP_HEADER;
  memset(db->stage, 0, sector_bytes(db));
  ln_put32(body, db->series.epoch);
  ln_put32(body + 4, db->checkpoints);
  ln_put32(body + 8, db->chunks_free);
  if (db->mode == LUNAR_MODE_NONE) /* recovery must not repeat groups in the extents */
    memset(db->series.extents, 0xff, sizeof db->series.extents);
  for (uint32_t i = 0; i < LUNAR_EXTENTS; i++) {
    ln_put32(body + 12 + 12 * i, db->series.extents[i].block);
    ln_put32(body + 16 + 12 * i, db->series.extents[i].sector);
    ln_put16(body + 20 + 12 * i, db->series.extents[i].table);
    ln_put16(body + 22 + 12 * i, db->series.extents[i].sectors);
  }
  const int last = LUNAR_WITH_REPAIR && db->wants_settled == LN_AT_UNMOUNT && db->settled ? LN_UNMOUNTED : 0;
  header(db, db->stage, LN_CHECKPOINT, db->mode == LUNAR_MODE_NONE ? LN_UNLOGGED : last, LN_CHECKPOINT_BODY,
         db->chunk_last, *images_at, ln_checksum(db->geometry.volume, body, LN_CHECKPOINT_BODY));
  LN_TRY(write_out(db, db->geometry.log_at + db->series.log_head, db->stage, 1));
  log_advance(db, 1);
  return 0;
}

/* Makes the freed blocks available: forgets which searches of the allocator have failed. */
static void freed_are_available(struct lunar* db) {
  LUNAR_ASSERT(db->chunk_hint < db->geometry.chunk_count);
  if (db->chunk_freed < db->chunk_hint) db->chunk_hint = db->chunk_freed;
  db->chunk_freed = LN_NONE;
  db->run_missing = LN_NONE;
  db->searched = 0;
  db->chunks_waiting = 0;
  db->freed = 0;
}

/* Writes a checkpoint. Until its group is durable, recovery can restore the pages of the previous checkpoint; from then
 * on, those of this one. */
static int checkpoint(struct lunar* db) {
  LN_TRY(ln_write_in_place(db, db->mode != LUNAR_MODE_NONE));
  LUNAR_ASSERT(ln_waiting(db) == 0);
  LN_TRY(ln_device_sync(db)); /* rows and spilled pages must be durable before the checkpoint */
  uint32_t images_at = LN_NONE;
  LN_TRY(write_images_of_dirty(db, LN_IMAGES, &images_at));
  db->settled = images_at == LN_NONE; /* without images, recovery does not overwrite later updates in place */
  db->checkpoints++;
  if (db->freed) freed_are_available(db);
  LN_TRY(write_checkpoint_group(db, &images_at));
  LN_TRY(ln_device_sync(db));
  db->checkpoint_at = images_at;
  db->before_last = LN_NONE;
  db->log_before = 0;
  db->series.log_used = (db->series.log_head + db->geometry.log_sectors - images_at) % db->geometry.log_sectors;
  if (choose_kept(db, KEPT_MAX, db->checkpoints % KEPT_FOR == 0) && LUNAR_WITH_BUFFER)
    let_wait(db);
  else
    LN_TRY(ln_write_in_place(db, 0));
  for (uint32_t i = 0; i < db->frame_count; i++)
    db->frames[i].flags &= db->frames[i].flags & LN_KEPT ? LN_DIRTY | LN_KEPT | LN_AGAIN | LN_LOGGED : 0;
  LUNAR_ASSERT(db->frames_dirty <= KEPT_MAX);
  ln_frames_check(db, LN_PINS_MAX);
  ln_log_check(db);
  return 0;
}

int ln_checkpoint(struct lunar* db) {
  LN_TRY(ln_stage_write(db, 0));
  const int error = checkpoint(db);
  if (error) db->state = LN_BROKEN; /* only a recovery can find out whether the new checkpoint is valid */
  return error;
}

static uint32_t images_sectors(const struct lunar* db) {
  return ln_dirty_max(db) + ln_dirty_max(db) / LN_IMAGES_MAX + 2;
}
static uint32_t operation_sectors(const struct lunar* db) {
  return db->geometry.unit_sectors + 2 * (1 + LN_IMAGES_MAX);
}

/* Provides clean frames and room in the log before an operation; for this, writes pages, spills or makes a checkpoint.
 * The log needs room for the operation, for the next checkpoint, and for a recovery, which spills the same pages again
 * behind the operation. In a transaction returns E_TXN_FULL if there is too little. times: factor by which the used
 * part of the log counts. */
int ln_make_room(struct lunar* db, uint32_t times) {
  LUNAR_ASSERT(times > 0 && (db->state == LN_READY || db->state == LN_IN_TXN));
  if (db->redoing) return 0;
  const uint32_t images = images_sectors(db), operation = operation_sectors(db) + LN_INDEX_SECTORS(db);
  const uint32_t dirty_max = ln_dirty_max(db);
  if (db->frames_dirty * 4u >= dirty_max * 3u) {
    if (db->mode == LUNAR_MODE_NONE) (void)choose_kept(db, KEPT_MAX, 1);
    LN_TRY(ln_write_in_place(db, 1));
  }
  const uint32_t used = times * (db->series.log_used + db->log_before);
  const uint32_t log_used = used + images + 2 * operation, log_sectors = db->geometry.log_sectors;
  const int log_full = log_used > log_sectors;
  if (db->state == LN_IN_TXN) {
    if (log_full) {
      db->changing = 1; /* the caller undoes the transaction */
      return too_short(db, log_used);
    }
    return ln_dirty_bound(db, 3u, 4u) ? ln_spill(db, 0) : write_some(db, log_sectors - log_used);
  }
  if (!log_full && !ln_buffer_crowded(db) && db->frames_dirty + 1u < dirty_max &&
      db->frames_dirty * 4u < dirty_max * 3u)
    return write_some(db, log_sectors - log_used);
  LN_TRY(ln_checkpoint(db));
  if (!db->wants_settled && !LN_INDEX_SECTORS(db)) return 0; /* the images may leave too little room for indexes */
  db->wants_settled = 0;
  return db->settled ? 0 : ln_checkpoint(db);
}

int ln_has_room(struct lunar* db, uint32_t rest) {
  LUNAR_ASSERT(!db->redoing);
  const uint32_t needed =
      db->series.log_used + db->log_before + images_sectors(db) + 2 * (db->geometry.unit_sectors + rest);
  return needed <= db->geometry.log_sectors ? 0 : too_short(db, needed);
}

#if LUNAR_WITH_SECONDARY
uint32_t ln_operation_sectors(const struct lunar* db) { return operation_sectors(db); }

enum { ROW_SECTORS = 12 }; /* log sectors for the pages that a row changes outside of the indexes */

int ln_room_stays(const struct lunar_table* table, int all) {
  struct lunar* db = table->db;
  if (db->mode == LUNAR_MODE_NONE || !db->indexes) return 0;
  return ln_has_room(db, all ? 0 : ROW_SECTORS + (table->ring ? db->index_sectors / 2u : 0));
}
#endif
