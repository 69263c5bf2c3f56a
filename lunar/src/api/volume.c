/* The volume as a whole: format, mount, unmount, sync, and SUPER. */
#include "api.h"

enum {
  SECTORS_MIN = 128,
  TWICE_MIN = 16, /* names, metadata and the map are kept twice if a copy takes at most 1/16 of the sectors */
  STAGE_BYTES_MAX = 64 * 1024,
  CLASSES_MAX = 8,
  LOG_BYTES_MAX = 4 << 20,
  TRIES = 4
};

static int is_power_of_two(uint32_t v) { return v && !(v & (v - 1)); }
static uint32_t divided_up(uint32_t a, uint32_t b) { return (a + b - 1) / b; }
static uint32_t smaller(uint32_t a, uint32_t b) { return a < b ? a : b; }

static int config_check(const struct lunar_config* c, const char** why) {
  if (!c) return ln_refuse(why, "the configuration is NULL");
  if (!c->read || !c->write || !c->sync) return ln_refuse(why, "read, write or sync is NULL");
  if (!c->lock != !c->unlock) return ln_refuse(why, "one of lock and unlock is NULL");
  if (c->sector_bytes != 512 && c->sector_bytes != 4096) return ln_refuse(why, "sector_bytes is neither 512 nor 4096");
  if (c->mode > LUNAR_MODE_FULL) return ln_refuse(why, "mode is no enum lunar_mode");
  if ((uintptr_t)c->buffer % sizeof(void*)) return ln_refuse(why, "buffer is not aligned for a pointer");
  if (!c->buffer || c->buffer_bytes < LUNAR_BUFFER_BYTES_MIN(c->sector_bytes)) return LUNAR_E_BUFFER;
  return c->sector_count < SECTORS_MIN ? LUNAR_E_DEVICE : 0;
}

/* Divides the buffer into the stage, the sectors read ahead, the sectors of the frames, and the frames. The sectors
 * come first, so that they are aligned if the buffer is: a driver with DMA may need that. */
static void buffer_divide(struct lunar* db) {
  const uint32_t size = db->config->sector_bytes;
  uint8_t* buffer = db->config->buffer;
  const size_t word = db->config->mounted ? 0 : sizeof(void*); /* claim uses the last word */
  const size_t bytes = db->config->buffer_bytes / sizeof(void*) * sizeof(void*) - word;
  const uint32_t frame = size + LUNAR_FRAME_BYTES;
  uint32_t stage = (uint32_t)(bytes / 8 / size);
  if (stage < 1) stage = 1;
  if (stage > STAGE_BYTES_MAX / size) stage = STAGE_BYTES_MAX / size;
  const uint32_t ahead = ln_prefetch_sectors(db->config);
  size_t frames = (bytes - ((size_t)stage + ahead) * size) / frame;
  if (frames > 0xfff0) frames = 0xfff0;
  db->frame_count = (uint16_t)frames;
  db->stage = buffer;
  db->stage_bytes = stage * size;
  uint8_t* const sectors = buffer + db->stage_bytes + ahead * size;
#if LUNAR_WITH_PREFETCH
  db->ahead = buffer + db->stage_bytes, db->ahead_max = (uint16_t)ahead, db->ahead_next = LN_NONE;
#endif
  db->frames = (struct lunar_frame*)(void*)(sectors + frames * size);
  LUNAR_ASSERT(frames > 0 && (uint8_t*)(db->frames + frames) <= buffer + bytes);
  for (size_t i = 0; i < frames; i++) db->frames[i].bytes = sectors + i * size;
}

/* Limits the dirty pages to what the log can take: it must hold the images of all dirty pages twice, and what happens
 * between two checkpoints. If the limit is below DIRTY_BOUNDED, one operation may make as many pages dirty, so it
 * limits the number of frames, too. If the limit is at least twice DIRTY_BOUNDED, it is halved, which leaves
 * transactions the room that they are promised. Without LUNAR_WITH_BUFFER, the limit always limits the frames. */
enum { DIRTY_BOUNDED = 32 };

static void fit_to_log(struct lunar* db) {
  const struct lunar_geometry* g = &db->geometry;
  const uint32_t operation = 4u * (g->unit_sectors + 2 * (1 + LN_IMAGES_MAX));
  uint32_t frames = g->log_sectors > operation ? (g->log_sectors - operation) * 4 / 9 : 4;
  if (frames < 4) frames = 4;
#if LUNAR_WITH_BUFFER
  if (frames >= 2 * DIRTY_BOUNDED) frames /= 2;
  db->dirty_max = (uint16_t)smaller(frames, db->frame_count);
  if (db->dirty_max < DIRTY_BOUNDED) db->frame_count = db->dirty_max;
#else
  db->frame_count = (uint16_t)smaller(frames, db->frame_count);
#endif
  if (db->stage_bytes > g->unit_sectors * db->config->sector_bytes)
    db->stage_bytes = g->unit_sectors * db->config->sector_bytes;
  LUNAR_ASSERT(db->frame_count >= 4 && db->stage_bytes >= db->config->sector_bytes);
  ln_forget_all(db);
}

/* Notes which handle has the volume: in *config.mounted or, without it, in the last word of the buffer. Returns E_BUSY
 * if *config.mounted names another handle. The word in the buffer has an unknown value after power-on, so it refuses no
 * handle; but a handle that used this buffer before finds its word overwritten (ln_lock). */
static int claim(struct lunar* db) {
  const struct lunar_config* c = db->config;
  db->holder = c->mounted;
  if (c->lock) c->lock(c);
  const int busy = c->mounted && *c->mounted && *c->mounted != db;
  if (!c->mounted) db->holder = (struct lunar**)c->buffer + c->buffer_bytes / sizeof(void*) - 1;
  if (!busy) *db->holder = db;
  if (c->unlock) c->unlock(c);
  return busy ? LUNAR_E_BUSY : 0;
}

static LN_APART int begin(struct lunar* db, const struct lunar_config* config) {
  *db = (struct lunar){.config = NULL};
  const char* why = "";
  LN_TRY(config_check(config, &why));
  db->config = config;
  LN_TRY(claim(db));
  buffer_divide(db);
  db->checkpoint_at = LN_NONE;
  db->before_last = LN_NONE;
  memset(db->series.extents, 0xff, sizeof db->series.extents);
  db->mode = (uint8_t)(config->mode ? config->mode : LUNAR_MODE_METADATA);
  return 0;
}

static int closed(struct lunar* db, int error) {
  db->state = LN_CLOSED;
  if (*db->holder == db) *db->holder = NULL;
  return error;
}

/* --- SUPER --- */

/* SUPER has these fields of struct lunar_geometry in the same order. */
enum { NUMBERS = 8, SIZES = 4 };
_Static_assert(offsetof(struct lunar_geometry, chunk_count) ==
                       offsetof(struct lunar_geometry, root_at) + 4 * (NUMBERS - 1) &&
                   LN_SUPER_CHUNKS == LN_SUPER_ROOT + 4 * (NUMBERS - 1),
               "from root_at to chunk_count");
_Static_assert(offsetof(struct lunar_geometry, tables_max) ==
                       offsetof(struct lunar_geometry, unit_sectors) + 2 * (SIZES - 1) &&
                   LN_SUPER_TABLES == LN_SUPER_UNIT + 2 * (SIZES - 1),
               "from unit_sectors to tables_max");

static void super_write(const struct lunar_config* c, const struct lunar_geometry* g, uint8_t* to) {
  memset(to, 0, c->sector_bytes);
  ln_put32(to + LN_SUPER_MAGIC, LN_MAGIC);
  ln_put16(to + LN_SUPER_VERSION, LN_VERSION);
  to[LN_SUPER_SECTOR_SHIFT] = c->sector_bytes == 512 ? 9 : 12;
  to[LN_SUPER_GROWTH] = g->class_growth;
  ln_put32(to + LN_SUPER_VOLUME, g->volume);
  ln_put32(to + LN_SUPER_SECTORS, c->sector_count);
  for (uint32_t i = 0; i < NUMBERS; i++) {
    uint32_t number;
    memcpy(&number, (const uint8_t*)g + offsetof(struct lunar_geometry, root_at) + 4 * i, 4);
    ln_put32(to + LN_SUPER_ROOT + 4 * i, number);
  }
  for (uint32_t i = 0; i < SIZES; i++) {
    uint16_t size;
    memcpy(&size, (const uint8_t*)g + offsetof(struct lunar_geometry, unit_sectors) + 2 * i, 2);
    ln_put16(to + LN_SUPER_UNIT + 2 * i, size);
  }
  to[LN_SUPER_CLASSES] = g->class_count;
  to[LN_SUPER_TWICE] = g->kept_twice;
  ln_put32(to, ln_checksum(LN_MAGIC, to + 4, c->sector_bytes - 4));
}

static uint32_t map_per_page(const struct lunar_config* c) { return (c->sector_bytes - LN_MAP_HEADER) / LN_MAP_ENTRY; }

/* Returns the first sector behind the zones of names, metadata and allocation with their second copies. */
static uint32_t copies_end(const struct lunar_geometry* g) {
  const uint32_t end = g->map_at + g->map_sectors;
  return g->kept_twice ? 2 * end - g->root_at : end;
}

static int geometry_sound(const struct lunar_config* c, const struct lunar_geometry* g) {
  const uint64_t data = (uint64_t)g->chunk_count * g->chunk_sectors;
  return g->class_sectors_min && g->chunk_sectors && g->chunk_count && g->tables_max && g->unit_sectors &&
         g->log_sectors && g->chunk_sectors % g->class_sectors_min == 0 &&
         g->chunk_sectors / g->class_sectors_min <= LN_CHUNK_BLOCKS_MAX &&
         (uint64_t)g->chunk_sectors * c->sector_bytes <= 128 * 1024 - 4 * 1024 &&
         (g->class_growth == 1 || g->class_growth == 2) && g->class_count && g->class_count <= CLASSES_MAX &&
         g->log_sectors % g->unit_sectors == 0 && g->root_at >= 2 && g->meta_at > g->root_at &&
         g->map_at >= g->meta_at + 2u * g->tables_max && g->kept_twice <= 1 && g->log_at >= copies_end(g) &&
         (uint64_t)g->map_sectors * map_per_page(c) >= g->chunk_count && g->data_at >= g->log_at + g->log_sectors &&
         (g->class_growth == 1 ? g->class_count == 1
                               : g->class_sectors_min << (g->class_count - 1) == g->chunk_sectors) &&
         g->data_at + data <= c->sector_count;
}

static int super_read(const struct lunar_config* c, const uint8_t* from, struct lunar_geometry* g) {
  if (ln_get32(from + LN_SUPER_MAGIC) != LN_MAGIC) return LUNAR_E_NO_VOLUME;
  /* This test comes before the checksum: with sectors of the other size, the checksum covers another number of bytes
   * and would indicate damage. */
  if (from[LN_SUPER_SECTOR_SHIFT] == (c->sector_bytes == 512 ? 12 : 9)) return LUNAR_E_INVALID;
  if (ln_get32(from) != ln_checksum(LN_MAGIC, from + 4, c->sector_bytes - 4)) return LUNAR_E_CORRUPT;
  if (ln_get16(from + LN_SUPER_VERSION) != LN_VERSION) return LUNAR_E_VERSION;
  if (from[LN_SUPER_SECTOR_SHIFT] != (c->sector_bytes == 512 ? 9 : 12)) return LUNAR_E_INVALID;
  if (ln_get32(from + LN_SUPER_SECTORS) > c->sector_count) return LUNAR_E_DEVICE;
  g->volume = ln_get32(from + LN_SUPER_VOLUME);
  for (uint32_t i = 0; i < NUMBERS; i++) {
    const uint32_t number = ln_get32(from + LN_SUPER_ROOT + 4 * i);
    memcpy((uint8_t*)g + offsetof(struct lunar_geometry, root_at) + 4 * i, &number, 4);
  }
  for (uint32_t i = 0; i < SIZES; i++) {
    const uint16_t size = ln_get16(from + LN_SUPER_UNIT + 2 * i);
    memcpy((uint8_t*)g + offsetof(struct lunar_geometry, unit_sectors) + 2 * i, &size, 2);
  }
  g->class_growth = from[LN_SUPER_GROWTH];
  g->class_count = from[LN_SUPER_CLASSES];
  g->kept_twice = from[LN_SUPER_TWICE];
  return geometry_sound(c, g) ? 0 : LUNAR_E_CORRUPT;
}

/* Reads the geometry from copy A, or from copy B if copy A is unreadable or damaged. If both fail, returns the error of
 * copy A; of copy B if copy A is no volume. */
static LN_APART int super_load(struct lunar* db) {
  struct lunar_geometry geometry;
  int first = LUNAR_E_CORRUPT;
  for (uint32_t copy = 0; copy < 2; copy++) {
    int error = ln_device_read(db, copy, db->stage, 1);
    if (!error) error = super_read(db->config, db->stage, &geometry);
    if (!error) {
      db->geometry = geometry;
      db->doubtful = 0;
      return 0;
    }
    if (error == LUNAR_E_VERSION) db->refused_version = ln_get16(db->stage + LN_SUPER_VERSION);
    if (copy == 0 || first == LUNAR_E_NO_VOLUME) first = error;
  }
  return first;
}

/* --- format --- */

static int classes_plan(const struct lunar_config* c, struct lunar_geometry* g, const char** why) {
  const uint32_t growth = c->class_growth ? c->class_growth : 2;
  const uint64_t device = (uint64_t)c->sector_count * c->sector_bytes;
  uint32_t max = c->class_bytes_max;
  if (!max) {
    max = 64 * 1024;
    while (max > 2 * c->sector_bytes && max > device / 32) max /= 2;
  }
  uint32_t min = max;
  if (growth != 1) min = c->class_bytes_min ? c->class_bytes_min : c->sector_bytes;
  if (growth != 1 && growth != 2) return ln_refuse(why, "class_growth is neither 1 nor 2");
  if (!is_power_of_two(min) || min < c->sector_bytes)
    return ln_refuse(why, "class_bytes_min is no power of two, or less than a sector");
  /* A block has at least a sector of slots and one of rows. */
  if (!is_power_of_two(max) || max < 2 * c->sector_bytes || max > 64 * 1024)
    return ln_refuse(why, "class_bytes_max is no power of two from two sectors to 64 KiB");
  if (max < min || max / min > LN_CHUNK_BLOCKS_MAX)
    return ln_refuse(why, "class_bytes_max is less than class_bytes_min, or more than 128 times as much");
  g->class_growth = (uint8_t)growth;
  g->class_count = 1;
  for (uint32_t size = min; size < max; size *= 2) g->class_count++;
  g->class_sectors_min = (uint16_t)(min / c->sector_bytes);
  g->chunk_sectors = (uint16_t)(max / c->sector_bytes);
  return 0;
}

static int log_plan(const struct lunar_config* c, struct lunar_geometry* g, const char** why) {
  uint32_t sectors = c->log_bytes / c->sector_bytes;
  /* Default: 1/32 of the device. On a small device 128 sectors, but at most 1/8 and at least 64 sectors. */
  if (!c->log_bytes) {
    sectors = c->sector_count / 32;
    if (sectors < 128) sectors = smaller(128, c->sector_count / 8);
    if (sectors < 64) sectors = 64;
    sectors = smaller(sectors, LOG_BYTES_MAX / c->sector_bytes);
  }
  uint32_t unit = 64 * 1024 / c->sector_bytes;
  while (unit > 8 && unit * 16 > sectors) unit /= 2;
  if (sectors < 64) return ln_refuse(why, "log_bytes is less than 64 sectors");
  g->unit_sectors = (uint16_t)unit;
  g->log_sectors = sectors / unit * unit;
  return 0;
}

static int plan(const struct lunar_config* c, struct lunar_geometry* g) {
  const char* why = "";
  LN_TRY(classes_plan(c, g, &why));
  LN_TRY(log_plan(c, g, &why));
  g->tables_max = c->tables_max ? c->tables_max : 16;
  const uint32_t per_root = (c->sector_bytes - LN_ROOT_HEADER) / LN_ROOT_ENTRY;
  g->root_at = 2;
  g->meta_at = g->root_at + divided_up(g->tables_max, per_root);
  g->map_at = g->meta_at + 2u * g->tables_max;
  if (g->map_at + g->log_sectors >= c->sector_count) return LUNAR_E_DEVICE;
  const uint32_t left = c->sector_count - g->map_at - g->log_sectors;
  g->map_sectors = divided_up(left / g->chunk_sectors, map_per_page(c));
  g->kept_twice = (copies_end(g) - g->root_at) * TWICE_MIN <= c->sector_count;
  g->log_at = copies_end(g);
  g->data_at = g->log_at + g->log_sectors;
  if (g->data_at >= c->sector_count) return LUNAR_E_DEVICE;
  g->chunk_count = (c->sector_count - g->data_at) / g->chunk_sectors;
  return g->chunk_count >= 2 && geometry_sound(c, g) ? 0 : LUNAR_E_DEVICE;
}

static enum ln_kind kind_at(const struct lunar_geometry* g, uint32_t sector) {
  if (sector < g->meta_at) return LN_ROOT;
  return sector < g->map_at ? LN_META : LN_MAP;
}

static int write_empty_pages(struct lunar* db) {
  const struct lunar_geometry* g = &db->geometry;
  for (uint32_t sector = g->root_at; sector < g->map_at + g->map_sectors; sector++) {
    struct lunar_frame* frame;
    const enum ln_kind kind = kind_at(g, sector);
    LN_TRY(ln_page_fresh(db, sector, kind, &frame));
    if (kind == LN_MAP) {
      uint8_t* entries = frame->bytes + LN_MAP_HEADER;
      for (uint32_t i = 0; i < map_per_page(db->config); i++) entries[LN_MAP_ENTRY * i] = LN_CHUNK_FREE;
    }
    ln_put(frame);
    if (db->frames_dirty >= ln_dirty_max(db)) LN_TRY(ln_write_in_place(db, 0));
  }
  return ln_write_in_place(db, 0);
}

static int write_zones(struct lunar* db) {
  const struct lunar_geometry* g = &db->geometry;
  memset(db->stage, 0, db->config->sector_bytes);
  /* If this format is cut off, the next one hashes the number (volume_number) and so gets another one. */
  ln_put32(db->stage + LN_SUPER_VOLUME, g->volume);
  for (uint32_t copy = 0; copy < 2; copy++)
    LN_TRY(ln_sectors_write(db, copy, db->stage, 1)); /* no valid SUPER until the volume is complete */
  LN_TRY(ln_device_sync(db));
  for (uint32_t at = 0; at < g->log_sectors; at += g->unit_sectors)
    LN_TRY(ln_sectors_write(db, g->log_at + at, db->stage, 1));
  LN_TRY(write_empty_pages(db));
  db->checkpoint_at = 0;
  db->series.epoch = 1;
  db->chunks_free = g->chunk_count;
  LN_TRY(ln_checkpoint(db));
  super_write(db->config, g, db->stage);
  for (uint32_t copy = 0; copy < 2; copy++) {
    LN_TRY(ln_sectors_write(db, copy, db->stage, 1));
    LN_TRY(ln_device_sync(db));
  }
  return 0;
}

/* Computes a volume number that differs from those of all volumes whose groups may still lie on the device. Hashes what
 * format overwrites: SUPER, and the first sector of each unit of the log. */
static int volume_number(struct lunar* db, uint32_t* number) {
  const struct lunar_geometry* g = &db->geometry;
  *number = db->config->seed;
  for (uint32_t i = 0; i < 2 + g->log_sectors / g->unit_sectors; i++) {
    LN_TRY(ln_device_read(db, i < 2 ? i : g->log_at + (i - 2) * g->unit_sectors, db->stage, 1));
    *number = ln_checksum(*number, db->stage, db->config->sector_bytes);
  }
  return 0;
}

int lunar_format(const struct lunar_config* config) {
  struct lunar db;
  LN_TRY(begin(&db, config));
  int error = plan(config, &db.geometry);
  if (!error) {
    fit_to_log(&db);
    error = volume_number(&db, &db.geometry.volume);
  }
  return closed(&db, error ? error : write_zones(&db));
}

#if LUNAR_WITH_TEXTS
const char* lunar_config_fault(const struct lunar_config* config) {
  struct lunar_geometry geometry;
  const char* why = "";
  if (config_check(config, &why) == 0 && classes_plan(config, &geometry, &why) == 0)
    (void)(log_plan(config, &geometry, &why) == 0);
  return why;
}
#endif

/* --- mount and after --- */

int lunar_mount(struct lunar* db, const struct lunar_config* config) {
  if (!db) return LUNAR_E_INVALID;
  LN_TRY(begin(db, config));
  int error = super_load(db);
  if (!error) {
    fit_to_log(db);
    if (config->skip_unreadable) db->redoing = LN_SKIPPING;
    error = ln_recover(db);
  }
  return error ? closed(db, error) : 0;
}

#if LUNAR_WITH_CARDS
int lunar_revalidate(struct lunar* db) {
  int error = ln_enter_for_commit(db);
  if (error) return error;
  db->doubtful = 1;
  /* If changes fill the buffer, no sector of it is free for the read. The undo makes one free, reads, and repeats the
   * committed operations. Mode none cannot repeat them. */
  if (db->mode == LUNAR_MODE_NONE || ln_has_scratch(db))
    error = ln_same_volume(db, NULL);
  else
    error = ln_undo(db, db->state == LN_IN_TXN ? LUNAR_E_TXN : 0);
  return ln_leave(db, error);
}
#endif

static int everything(struct lunar* db) {
  if (db->state == LN_IN_TXN) return LUNAR_E_TXN;
  LN_TRY(ln_checkpoint(db));
  return ln_write_kept(db, db->frames, db->frame_count);
}

int lunar_checkpoint(struct lunar* db) {
  LN_TRY(ln_enter(db));
  return ln_leave(db, everything(db));
}

static int write_out(struct lunar* db, int flush) {
  LUNAR_ASSERT(db->state != LN_BROKEN);
  if (db->state == LN_IN_TXN) return LUNAR_E_TXN;
  /* The log has all pages that are not in place, except those changed without a record. Modes data and full have none
   * of these. */
  if (db->mode <= LUNAR_MODE_METADATA)
    LN_TRY(db->mode == LUNAR_MODE_NONE ? ln_write_in_place(db, 0) : ln_settle_plain(db, 0, LN_NONE));
  LN_TRY(ln_stage_write(db, 0));
  return flush ? ln_device_sync(db) : 0;
}

static LN_APART int enter_and_write_out(struct lunar* db, int flush) {
  LN_TRY(ln_enter(db));
  return ln_leave(db, write_out(db, flush));
}

int lunar_write_out(struct lunar* db) { return enter_and_write_out(db, 0); }

int lunar_sync(struct lunar* db) { return enter_and_write_out(db, 1); }

static int finish(struct lunar* db) {
  if (db->state == LN_IN_TXN) LN_TRY(ln_undo(db, 0));
  if (db->state == LN_BROKEN) return LUNAR_E_FAILED;
  if (db->mode == LUNAR_MODE_NONE) LN_TRY(ln_write_in_place(db, 0));
  db->mode = LUNAR_MODE_FULL; /* the next mount may use any mode */
  db->wants_settled = LN_AT_UNMOUNT;
  LN_TRY(everything(db));
  if (!db->settled) LN_TRY(ln_checkpoint(db)); /* the next mount needs no image */
#if LUNAR_WITH_CHECK
  /* Writes the checkpoint again, in other sectors, if it cannot be read back. */
  for (int tries = 0; tries < TRIES && ln_log_whole(db) <= 0; tries++) LN_TRY(ln_checkpoint(db));
#endif
  return ln_device_sync(db);
}

int lunar_unmount(struct lunar* db) {
  int error = ln_lock(db);
  if (!db || !db->config) return error;
  if (!error) error = finish(db);
  return ln_leave(db, closed(db, error));
}
