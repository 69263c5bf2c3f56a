/* Frames: sectors of the device in RAM. A frame that was not used for some time is evicted. A dirty frame never is: see
 * DESIGN.md, "Between checkpoints nothing in place changes". The search here is for few frames, buffer.c is for many.
 */
#include "pages.h"

static uint32_t sector_bytes(const struct lunar* db) { return db->config->sector_bytes; }

#if !LUNAR_WITH_BUFFER
struct lunar_frame* ln_cached(struct lunar* db, uint32_t sector) {
  for (uint32_t i = 0; i < db->frame_count; i++)
    if (db->frames[i].sector == sector) return &db->frames[i];
  return NULL;
}

/* The clock of F. Corbato (1968): a frame that was used since the hand's last pass gets another chance. */
struct lunar_frame* ln_buffer_oldest(struct lunar* db) {
  LUNAR_ASSERT(db->frame_count > 0 && db->clock < db->frame_count);
  for (uint32_t steps = 0; steps < 2u * db->frame_count; steps++) {
    struct lunar_frame* f = &db->frames[db->clock];
    db->clock = (uint16_t)(db->clock + 1) < db->frame_count ? (uint16_t)(db->clock + 1) : 0;
    if (f->pins || f->flags & LN_DIRTY) continue;
    if (!f->used) return f;
    f->used = 0;
  }
  return NULL;
}

void ln_buffer_assign(struct lunar* db, struct lunar_frame* frame, uint32_t sector) {
  (void)db;
  LUNAR_ASSERT(ln_is_frame(db, frame));
  LUNAR_ASSERT(sector == LN_NONE || !ln_cached(db, sector));
  *frame = (struct lunar_frame){.bytes = frame->bytes, .sector = sector, .used = sector != LN_NONE};
}
#endif

/* Asserts that the flags and pins of a frame are consistent. A frame without a sector has neither. */
static void frame_check(const struct lunar* db, const struct lunar_frame* f) {
  (void)db, (void)f; /* without assertions */
  LUNAR_ASSERT(ln_is_frame(db, f) && f->pins < UINT8_MAX);
  LUNAR_ASSERT(f->sector != LN_NONE || (f->flags == 0 && f->pins == 0));
  LUNAR_ASSERT(f->flags & LN_DIRTY || ln_waits(f) || !(f->flags & LN_KEPT));
  LUNAR_ASSERT(f->flags & LN_DIRTY || !(f->flags & (LN_PLAIN | LN_ROWS | LN_AGAIN)));
  LUNAR_ASSERT(!(f->flags & LN_KEPT) || f->flags & LN_LOGGED);
}

static void drop(struct lunar* db, struct lunar_frame* f) {
  frame_check(db, f);
  if (f->flags & (LN_DIRTY | LN_KEPT)) ln_cleaned(db, f);
  ln_buffer_assign(db, f, LN_NONE);
}

static int has_room(struct lunar* db) { return !ln_dirty_bound(db, 1u, 1u) && ln_buffer_oldest(db); }

static LN_APART int make_room(struct lunar* db) {
  for (uint32_t i = 0; i < db->frame_count && !has_room(db); i++) LN_TRY(ln_write_kept(db, &db->frames[i], 1));
  return has_room(db) ? 0 : ln_spill(db, 0);
}

/* Evicts a frame for the sector and pins it. The caller has called make_room. Returns E_BUFFER if all are pinned or
 * dirty. */
static int take(struct lunar* db, uint32_t sector, struct lunar_frame** frame) {
  struct lunar_frame* f = ln_buffer_oldest(db);
  if (!f) return LUNAR_E_BUFFER;
  LUNAR_ASSERT(f->pins == 0 && !(f->flags & LN_DIRTY));
  if (ln_waits(f)) LN_TRY(ln_write_waiting(db, f));
  ln_buffer_assign(db, f, sector);
  f->pins = 1;
  *frame = f;
  return 0;
}

/* A kept page counts as clean, because it is written in place when its frame is needed. In mode none it does not,
 * because writing another page costs no image. */
int ln_ensure_clean(struct lunar* db, uint32_t count) {
  uint32_t clean = 0, kept = 0;
  const int none = db->mode == LUNAR_MODE_NONE;
  LUNAR_ASSERT(db->frames_dirty <= db->frame_count);
  if (db->frames_dirty + count + LN_PINS_MAX <= ln_dirty_max(db)) return 0;
  for (uint32_t i = 0; i < db->frame_count; i++) {
    const struct lunar_frame* f = &db->frames[i];
    if (f->pins || (none && f->flags & LN_KEPT)) continue;
    kept += f->flags & LN_KEPT && f->flags & LN_DIRTY ? 1 : 0;
    clean += f->flags & LN_KEPT || !(f->flags & LN_DIRTY);
  }
  /* Without LUNAR_WITH_BUFFER the log does not limit the dirty frames. */
  const int too_many = LUNAR_WITH_BUFFER && db->frames_dirty - kept + count > ln_dirty_max(db);
  return clean >= count && !too_many ? 0 : ln_spill(db, 1);
}

static uint32_t page_sum(const struct lunar* db, uint32_t sector, const uint8_t* bytes) {
  return ln_checksum(db->geometry.volume ^ sector, bytes + 4, sector_bytes(db) - 4);
}

void ln_seal(struct lunar* db, struct lunar_frame* frame) {
  uint8_t* bytes = frame->bytes;
  if (frame->kind != LN_DATA) ln_put32(bytes, page_sum(db, frame->sector, bytes));
}

static int sound(const struct lunar* db, uint32_t sector, const uint8_t* bytes) {
  return ln_get32(bytes) == page_sum(db, sector, bytes);
}

#if LUNAR_WITH_CARDS
/* Returns a sector of the buffer whose content is not needed; NULL if there is none. data: content of the stage that
 * must not be overwritten; NULL: none. */
static uint8_t* scratch(struct lunar* db, const void* data) {
#if LUNAR_WITH_PREFETCH
  db->ahead_count = 0;
  if (db->ahead_max) return db->ahead;
#endif
  if (!db->stage_used && (uintptr_t)data - (uintptr_t)db->stage >= db->stage_bytes) return db->stage;
  for (struct lunar_frame* f = db->frames; f < db->frames + db->frame_count; f++) {
    if (f->pins || f->flags & (LN_DIRTY | LN_KEPT)) continue;
    drop(db, f);
    return f->bytes;
  }
  return NULL;
}

int ln_has_scratch(struct lunar* db) { return scratch(db, NULL) != NULL; }

int ln_same_volume(struct lunar* db, const void* data) {
  if (!db->doubtful) return 0;
  uint8_t* bytes = scratch(db, data);
  int error = bytes ? LUNAR_E_OTHER_VOLUME : LUNAR_E_IO;
  for (uint32_t copy = 0; bytes && copy < 2; copy++) {
    const int failed = ln_device_read(db, copy, bytes, 1);
    if (failed)
      error = failed;
    else if (ln_get32(bytes) == ln_checksum(LN_MAGIC, bytes + 4, sector_bytes(db) - 4)) {
      db->doubtful = ln_get32(bytes + LN_SUPER_VOLUME) != db->geometry.volume;
      error = db->doubtful ? LUNAR_E_OTHER_VOLUME : 0;
      break;
    }
  }
  if (error == LUNAR_E_OTHER_VOLUME || !bytes) db->state = LN_BROKEN;
  return error;
}

void ln_make_scratch(struct lunar* db) {
  for (uint32_t i = 0; i < db->frame_count; i++)
    if (!db->frames[i].pins && !(db->frames[i].flags & LN_PLAIN)) {
      drop(db, &db->frames[i]);
      return;
    }
}
#endif

#if LUNAR_WITH_CARDS || LUNAR_WITH_PREFETCH
int ln_sectors_write(struct lunar* db, uint32_t sector, const void* data, uint32_t count) {
#if LUNAR_WITH_CARDS
  const int error = ln_same_volume(db, data);
  if (error) db->state = LN_BROKEN; /* the data is not on the device */
  LN_TRY(error);
#endif
  ln_ahead_forget(db, sector, count);
  return ln_device_write(db, sector, data, count);
}
#endif

/* Returns how many sectors the second copy of a sector lies behind the first one; 0 if the sector is kept once. */
static LN_APART uint32_t copy_distance(const struct lunar* db, uint32_t sector) {
  const struct lunar_geometry* g = &db->geometry;
  const uint32_t zones = g->map_at + g->map_sectors - g->root_at;
  return g->kept_twice && sector - g->root_at < zones ? zones : 0;
}

int ln_home_read(struct lunar* db, uint32_t sector, uint8_t* bytes) {
  const uint32_t distance = copy_distance(db, sector);
  const int error = ln_device_read(db, sector, bytes, 1);
  if (!distance || (!error && sound(db, sector, bytes))) return error;
  LN_TRY(ln_device_read(db, sector + distance, bytes, 1));
  if (!sound(db, sector, bytes)) return LUNAR_E_CORRUPT;
  LN_COUNT(db->second_copies, 1);
  db->doubtful = 0; /* its checksum includes the number of the volume, which is therefore the same */
  return 0;
}

/* A power cut between the copies is harmless, because the log has the page. */
int ln_home_write(struct lunar* db, uint32_t sector, const void* data, uint32_t count) {
  const uint32_t distance = copy_distance(db, sector);
  LUNAR_ASSERT(distance == copy_distance(db, sector + count - 1));
  LN_TRY(ln_sectors_write(db, sector, data, count));
  return distance ? ln_sectors_write(db, sector + distance, data, count) : 0;
}

/* Returns the sector's bytes in the open group, which is not on the device yet; NULL if the sector is not part of
 * it. */
static const uint8_t* staged(const struct lunar* db, uint32_t sector) {
  if (!db->stage_used || sector < db->stage_sector) return NULL;
  const uint32_t size = sector_bytes(db), at = sector - db->stage_sector; /* at * size may exceed 32 bits */
  return at < (db->stage_used + size - 1) / size ? db->stage + at * size : NULL;
}

int ln_page(struct lunar* db, uint32_t sector, enum ln_kind kind, struct lunar_frame** frame) {
  *frame = NULL; /* compilers that see the whole library in one file warn otherwise */
  if (sector == LN_NONE) return LUNAR_E_CORRUPT;
  struct lunar_frame* f = ln_cached(db, sector);
  if (f) {
    if (f->kind != kind) return LUNAR_E_CORRUPT; /* two structures claim the same sector */
    ln_buffer_used(db, f);
    f->pins++;
    frame_check(db, f);
    *frame = f;
    return 0;
  }
  LN_TRY(make_room(db));
  LN_TRY(take(db, sector, &f));
#if LUNAR_WITH_PREFETCH
  const int is_map = kind == LN_MAP && db->ahead_max; /* otherwise a failed read would be repeated below */
#else
  const int is_map = 0;
#endif
  const int ahead = kind == LN_DATA || kind == LN_BLOCK || is_map;
  int error = ahead ? ln_read_ahead(db, sector, f->bytes, 1) : 0;
  const int again = is_map && error != LUNAR_E_STOPPED && (error || !sound(db, sector, f->bytes));
  if (!ahead || again) error = ln_home_read(db, sector, f->bytes);
  if (!error && kind != LN_DATA && (f->bytes[LN_PAGE_KIND] != kind || !sound(db, sector, f->bytes)))
    error = LUNAR_E_CORRUPT;
  if (error) {
    drop(db, f);
    return error;
  }
  f->kind = (uint8_t)kind;
  *frame = f;
  return 0;
}

int ln_page_fresh(struct lunar* db, uint32_t sector, enum ln_kind kind, struct lunar_frame** frame) {
  *frame = NULL;
  struct lunar_frame* f = ln_cached(db, sector);
  if (f && f->pins) return LUNAR_E_CORRUPT; /* a sector in use is marked free */
  if (f) {
    f->pins++;
  } else {
    LN_TRY(make_room(db));
    LN_TRY(take(db, sector, &f));
  }
  memset(f->bytes, 0, sector_bytes(db));
  f->bytes[LN_PAGE_KIND] = (uint8_t)kind;
  f->kind = (uint8_t)kind;
  ln_dirty(db, f);
  _Static_assert(LN_TREE == LN_BLOCK + 2,
                 "the kinds that lie in blocks are the last: a new one is put before or counted");
  if (kind >= LN_BLOCK) f->flags |= LN_FRESH; /* in a block that no checkpoint knows */
  *frame = f;
  return 0;
}

void ln_dirty(struct lunar* db, struct lunar_frame* frame) {
  LUNAR_ASSERT(frame->sector == LN_NONE || frame->pins > 0); /* a copy of a metadata page has no sector and is dirty */
  if (frame->flags & LN_DIRTY) {
    if (frame->flags & LN_KEPT) frame->flags |= LN_AGAIN;
    return;
  }
  frame_check(db, frame);
  if (ln_waits(frame)) ln_cleaned(db, frame); /* the next checkpoint logs its new content instead */
  frame->flags |= LN_DIRTY;
  db->frames_dirty++;
  ln_buffer_dirty(db, frame);
  LUNAR_ASSERT(db->frames_dirty <= db->frame_count);
}

void ln_cleaned(struct lunar* db, struct lunar_frame* frame) {
  frame_check(db, frame);
  LUNAR_ASSERT(frame->flags & LN_DIRTY ? db->frames_dirty > 0 : ln_waits(frame));
  ln_buffer_clean(db, frame);
  /* A page that waited is not LN_LOGGED any more, so its next spill writes a before image. In a recovery no page waits,
   * and each gets this image. So the operations write it, too, and reserve enough of the log for a recovery. */
  if (ln_waits(frame)) frame->flags = 0;
  if (frame->flags & LN_DIRTY) db->frames_dirty--;
  frame->flags &= LN_FRESH | LN_LOGGED; /* both hold until the next checkpoint */
}

void ln_put(struct lunar_frame* frame) {
  LUNAR_ASSERT(frame->pins > 0);
  frame->pins--;
}

/* most_frames and frame_among visit the frames of `count` sectors. If there are fewer frames than sectors, they check
 * each frame; otherwise they search for each sector. */
static uint32_t most_frames(const struct lunar* db, uint32_t count) {
  return count > db->frame_count ? db->frame_count : count;
}

/* Returns the frame of number i of this visit; NULL if the sector has no frame, or the frame none of the sectors. */
static struct lunar_frame* frame_among(struct lunar* db, uint32_t sector, uint32_t count, uint32_t i) {
  struct lunar_frame* f = count > db->frame_count ? &db->frames[i] : ln_cached(db, sector + i);
  return f && f->sector - sector < count ? f : NULL;
}

int ln_forget(struct lunar* db, uint32_t sector, uint32_t count) {
  for (uint32_t i = 0; i < most_frames(db, count); i++) {
    struct lunar_frame* f = frame_among(db, sector, count, i);
    if (!f) continue;
    if (f->pins) return LUNAR_E_CORRUPT; /* a block that is freed or written over is in use */
    drop(db, f);
  }
  return 0;
}

void ln_forget_all(struct lunar* db) {
  for (uint32_t i = 0; i < db->frame_count; i++)
    db->frames[i] = (struct lunar_frame){.bytes = db->frames[i].bytes, .sector = LN_NONE};
  db->frames_dirty = 0;
  ln_buffer_reset(db);
  ln_frames_check(db, 0);
}

#if LUNAR_DEBUG
void ln_frames_check(struct lunar* db, uint32_t pins_max) {
  uint32_t dirty = 0, plain = 0, rows = 0, pinned = 0, waiting = 0;
  for (uint32_t i = 0; i < db->frame_count; i++) {
    const struct lunar_frame* f = &db->frames[i];
    frame_check(db, f);
    LUNAR_ASSERT(f->sector == LN_NONE || ln_cached(db, f->sector) == f);
    dirty += f->flags & LN_DIRTY ? 1 : 0;
    plain += f->flags & LN_PLAIN ? 1 : 0;
    rows += f->flags & LN_ROWS ? 1 : 0;
    pinned += f->pins ? 1 : 0;
    waiting += ln_waits(f) ? 1 : 0;
  }
  LUNAR_ASSERT(dirty == db->frames_dirty);
  LUNAR_ASSERT(waiting == ln_waiting(db));
  LUNAR_ASSERT(pinned <= pins_max);
  LUNAR_ASSERT(db->clock < db->frame_count);
#if LUNAR_WITH_BUFFER
  LUNAR_ASSERT(rows == db->rows_dirty && plain == db->plain_dirty);
  LUNAR_ASSERT(db->dirty_max <= db->frame_count);
#else
  LUNAR_ASSERT(rows == 0 && plain <= dirty);
#endif
}
#endif

int ln_read_bytes(struct lunar* db, uint32_t sector, uint32_t offset, void* data, uint32_t bytes) {
  const uint32_t size = sector_bytes(db);
  uint8_t* to = data;
  sector += offset / size;
  offset %= size;
  while (bytes) {
    const uint32_t n = bytes < size - offset ? bytes : size - offset;
    if (n == size && !ln_cached(db, sector) && !staged(db, sector)) {
      uint32_t run = 1;
      while (run < bytes / size && !ln_cached(db, sector + run) && !staged(db, sector + run)) run++;
      LN_TRY(ln_read_ahead(db, sector, to, run));
      to += run * size;
      bytes -= run * size;
      sector += run;
      continue;
    }
    const uint8_t* from = staged(db, sector);
    struct lunar_frame* f = ln_cached(db, sector);
    if (from && !(f && f->flags & LN_DIRTY)) {
      memcpy(to, from + offset, n);
    } else {
      LN_TRY(ln_page(db, sector, LN_DATA, &f));
      memcpy(to, f->bytes + offset, n);
      ln_put(f);
    }
    to += n;
    bytes -= n;
    sector++;
    offset = 0;
  }
  return 0;
}

int ln_write_bytes(struct lunar* db, uint32_t sector, uint32_t offset, const void* data, uint32_t bytes, int plain) {
  const uint32_t size = sector_bytes(db);
  const uint8_t* from = data;
  sector += offset / size;
  offset %= size;
  while (bytes) {
    const uint32_t n = bytes < size - offset ? bytes : size - offset;
    struct lunar_frame* f = NULL;
    if (staged(db, sector))
      LN_TRY(ln_stage_write(db, db->state == LN_IN_TXN));    /* otherwise the frame would lack the rows in the stage */
    if (ln_dirty_bound(db, 1u, 1u)) LN_TRY(ln_spill(db, 0)); /* a frame that exists may become dirty */
    LN_TRY(ln_page(db, sector, LN_DATA, &f));
    int error = 0;
    if (f->flags & LN_PLAIN && !plain) error = ln_write_frame(db, f); /* the before image must have these updates */
    if (!error) {
      memcpy(f->bytes + offset, from, n);
      ln_dirty(db, f);
      if (plain) ln_buffer_plain(db, f);
    }
    ln_put(f);
    LN_TRY(error);
    from += n;
    bytes -= n;
    sector++;
    offset = 0;
  }
  return 0;
}

int ln_is_plain(struct lunar* db, uint32_t sector, uint32_t offset, uint32_t bytes) {
  const uint32_t size = sector_bytes(db), end = offset + bytes;
  for (uint32_t at = offset / size; at * size < end; at++) {
    const struct lunar_frame* f = ln_cached(db, sector + at);
    if (staged(db, sector + at) || (f && (f->flags & (LN_DIRTY | LN_PLAIN)) == LN_DIRTY)) return 0;
  }
  return 1;
}

int ln_settle_plain(struct lunar* db, uint32_t sector, uint32_t count) {
  if (ln_buffer_has_no_plain(db)) return 0;
  for (uint32_t i = 0; i < most_frames(db, count); i++) {
    struct lunar_frame* f = frame_among(db, sector, count, i);
    if (f && f->flags & LN_PLAIN) LN_TRY(ln_write_frame(db, f));
  }
  return 0;
}

#if LUNAR_WITH_REPAIR
/* Reads the sector unless it has a frame. Drops the frame, because the sector may be a page of another kind. */
static int try_read(struct lunar* db, uint32_t sector) {
  struct lunar_frame* f;
  if (ln_cached(db, sector)) return 0;
  LN_TRY(ln_page(db, sector, LN_DATA, &f));
  ln_put(f);
  drop(db, f);
  return 0;
}

int ln_can_be_read(struct lunar* db, uint32_t sector, uint32_t count) {
  for (; count--; sector++) {
    const int error = try_read(db, sector);
    if (!error) continue;
    LN_TRY(ln_is_bad_sector(db, error));
    return 0;
  }
  return 1;
}

int ln_page_kind(struct lunar* db, uint32_t sector) {
  struct lunar_frame* f = ln_cached(db, sector);
  if (f) return f->kind;
  LN_TRY(ln_page(db, sector, LN_DATA, &f));
  if (sound(db, sector, f->bytes)) f->kind = f->bytes[LN_PAGE_KIND];
  ln_put(f);
  return f->kind;
}
#endif
