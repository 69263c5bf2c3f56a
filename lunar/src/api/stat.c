/* lunar_stat: sizes and counters. */
#include "api.h"

#if LUNAR_WITH_STAT

/* Counts tables and secondary indexes, and adds up the bytes and dead bytes of the blocks of all tables. Secondary
 * indexes have no blocks of rows. */
static int tables_sum(struct lunar* db, uint32_t* tables, uint64_t* bytes, uint64_t* dead) {
  const uint32_t per_page = (db->config->sector_bytes - LN_ROOT_HEADER) / LN_ROOT_ENTRY;
  for (uint32_t number = 0; number < db->geometry.tables_max; number++) {
    struct lunar_frame* frame;
    LN_TRY(ln_page(db, db->geometry.root_at + number / per_page, LN_ROOT, &frame));
    const int there = frame->bytes[LN_ROOT_HEADER + LN_ROOT_ENTRY * (number % per_page)] != 0;
    ln_put(frame);
    if (!there) continue;
    LN_TRY(ln_meta(db, (uint16_t)number, &frame));
    const uint8_t* m = frame->bytes;
    ++*tables;
    if (m[LN_META_COLUMNS]) {
      *bytes += (uint64_t)ln_get32(m + LN_META_SECTORS) * db->config->sector_bytes;
      *dead += 4 * ln_get64(m + LN_META_DEAD);
    }
    ln_put(frame);
  }
  return 0;
}

static void zones(const struct lunar_geometry* g, uint64_t sector_bytes, struct lunar_statistics* stat) {
  const uint64_t copies = (1u + g->kept_twice) * sector_bytes;
  stat->super_bytes = g->root_at * sector_bytes;
  stat->root_bytes = (g->meta_at - g->root_at) * copies;
  stat->meta_bytes = (g->map_at - g->meta_at) * copies;
  stat->map_bytes = g->map_sectors * copies;
  stat->log_bytes = g->log_sectors * sector_bytes;
  stat->data_bytes = (uint64_t)g->chunk_count * g->chunk_sectors * sector_bytes;
}

static int fill(struct lunar* db, struct lunar_statistics* stat) {
  const struct lunar_geometry* g = &db->geometry;
  const uint32_t sector_bytes = db->config->sector_bytes, chunk_bytes = g->chunk_sectors * sector_bytes;
  uint32_t tables = 0;
  uint64_t bytes = 0, dead = 0;
  LN_TRY(tables_sum(db, &tables, &bytes, &dead)); /* first, so that its reads are counted */
  *stat = (struct lunar_statistics) {
    .volume = g->volume, .sector_bytes = sector_bytes, .block_bytes_min = ln_class_sectors(db, 0) * sector_bytes,
    .block_bytes_max = chunk_bytes, .chunk_bytes = chunk_bytes, .chunks_free = db->chunks_free,
    .chunks_used = g->chunk_count - db->chunks_free, .free_bytes = (uint64_t)db->chunks_free * chunk_bytes,
    .live_bytes = bytes - dead, .dead_bytes = dead,
    .fragmented_bytes = (uint64_t)(g->chunk_count - db->chunks_free) * chunk_bytes - bytes, .tables = tables,
    .tables_max = g->tables_max, .frames = db->frame_count, .frames_dirty = db->frames_dirty,
    .stage_bytes = db->stage_bytes, .stage_bytes_used = db->stage_used,
    .log_bytes_used = (uint64_t)db->series.log_used * sector_bytes, .checkpoints = db->checkpoints,
    .spills = db->spills, .epoch = db->series.epoch, .reads = db->reads, .writes = db->writes, .flushes = db->flushes,
    .sectors_read = db->sectors_read, .sectors_written = db->sectors_written,
#if LUNAR_WITH_REPAIR
    .lost_rows = db->lost_rows, .lost_blocks = db->lost_blocks,
#endif
    .second_copies = db->second_copies, .mode = db->mode,
  };
  zones(g, sector_bytes, stat);
  for (uint32_t i = 0; i < db->frame_count; i++) stat->frames_pinned += db->frames[i].pins != 0;
  return 0;
}

int lunar_stat(struct lunar* db, struct lunar_statistics* stat) {
  LUNAR_ASSERT(stat);
  LN_TRY(ln_enter(db));
  return ln_leave(db, fill(db, stat));
}

#endif
