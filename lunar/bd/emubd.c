#include "emubd.h"

#include <stdlib.h>
#include <string.h>

static struct emubd* of(const struct lunar_config* config) { return config->context; }

static int fails(struct emubd* bd, int changes, int syncing) {
  bd->syncing = (uint8_t)syncing;
  if (changes && bd->before_change) bd->before_change(bd->before_change_context);
  bd->calls++;
  if (changes) bd->changes++;
  if (bd->cut_at && changes && bd->changes >= bd->cut_at) return 1;
  return bd->fail_at && bd->calls >= bd->fail_at && bd->calls <= (bd->fail_until ? bd->fail_until : bd->fail_at);
}

static int touches_bad(const struct emubd* bd, uint32_t sector, uint32_t count, enum emubd_bad how) {
  for (uint32_t i = 0; i < count; i++)
    if (bd->bad[sector + i] & how) return 1;
  return 0;
}

static int failed(struct emubd* bd, enum lunar_request request, uint32_t sector) {
  bd->failed_request = (uint8_t)request, bd->failed_sector = sector;
  return -1;
}

static int read_sectors(const struct lunar_config* config, uint32_t sector, void* data, uint32_t count) {
  struct emubd* bd = of(config);
  if (fails(bd, 0, 0) || sector + count > bd->sector_count || touches_bad(bd, sector, count, EMUBD_BAD_READ))
    return failed(bd, LUNAR_REQUEST_READ, sector);
  bd->reads++, bd->sectors_read += count;
  if (bd->card) card_read(bd->card, (uint64_t)sector * bd->sector_bytes, (uint64_t)count * bd->sector_bytes);
  memcpy(data, bd->sectors + (size_t)sector * bd->sector_bytes, (size_t)count * bd->sector_bytes);
  return 0;
}

static int remember(struct emubd* bd, uint32_t sector) {
  if (bd->unsynced_count == bd->unsynced_max) {
    const uint32_t max = bd->unsynced_max ? 2 * bd->unsynced_max : 64;
    struct emubd_write* more = realloc(bd->unsynced, max * sizeof *more);
    if (!more) return -1;
    bd->unsynced = more, bd->unsynced_max = max;
  }
  uint8_t* old = malloc(bd->sector_bytes);
  if (!old) return -1;
  memcpy(old, bd->sectors + (size_t)sector * bd->sector_bytes, bd->sector_bytes);
  bd->unsynced[bd->unsynced_count++] = (struct emubd_write){sector, bd->bad[sector], old};
  return 0;
}

static void mark_changed(struct emubd* bd, uint32_t sector) {
  if (bd->is_changed[sector]) return;
  bd->is_changed[sector] = 1;
  bd->changed[bd->changed_count++] = sector;
}

static int store(struct emubd* bd, uint32_t sector, const uint8_t* data, uint32_t count) {
  for (uint32_t i = 0; i < count; i++) {
    if (!bd->careless && remember(bd, sector + i)) return -1;
    mark_changed(bd, sector + i);
    memcpy(bd->sectors + (size_t)(sector + i) * bd->sector_bytes, data + (size_t)i * bd->sector_bytes,
           bd->sector_bytes);
    if (bd->bad[sector + i] & EMUBD_HEALS) bd->bad[sector + i] = 0;
  }
  return 0;
}

static int write_sectors(const struct lunar_config* config, uint32_t sector, const void* data, uint32_t count) {
  struct emubd* bd = of(config);
  const int failing = fails(bd, 1, 0), cut = bd->cut_at && bd->changes >= bd->cut_at;
  if (sector + count > bd->sector_count || cut) return failed(bd, LUNAR_REQUEST_WRITE, sector);
  if (failing || touches_bad(bd, sector, count, EMUBD_BAD_WRITE)) {
    store(bd, sector, data, (count * bd->failing_write_256 + 255) / 256);
    return failed(bd, LUNAR_REQUEST_WRITE, sector);
  }
  bd->writes++, bd->sectors_written += count;
  if (bd->card) card_write(bd->card, (uint64_t)sector * bd->sector_bytes, (uint64_t)count * bd->sector_bytes);
  return store(bd, sector, data, count);
}

static void forget(struct emubd* bd) {
  for (uint32_t i = 0; i < bd->unsynced_count; i++) free(bd->unsynced[i].old);
  bd->unsynced_count = 0;
}

static int sync_sectors(const struct lunar_config* config) {
  struct emubd* bd = of(config);
  if (fails(bd, 1, 1)) return failed(bd, LUNAR_REQUEST_SYNC, 0);
  bd->syncs++;
  if (bd->card) card_flush(bd->card);
  if (!bd->ignore_sync) forget(bd);
  return 0;
}

int emubd_open(struct emubd* bd, uint32_t sector_bytes, uint32_t sector_count) {
  *bd = (struct emubd){.sector_bytes = sector_bytes, .sector_count = sector_count};
  bd->sectors = calloc(sector_count, sector_bytes);
  bd->bad = calloc(sector_count, 1);
  bd->changed = malloc(sector_count * sizeof *bd->changed);
  bd->is_changed = calloc(sector_count, 1);
  return bd->sectors && bd->bad && bd->changed && bd->is_changed ? 0 : -1;
}

void emubd_close(struct emubd* bd) {
  forget(bd);
  free(bd->unsynced);
  free(bd->changed);
  free(bd->is_changed);
  free(bd->bad);
  free(bd->sectors);
}

void emubd_config(struct emubd* bd, struct lunar_config* config) {
  config->context = bd, config->mounted = &bd->mounted;
  config->read = read_sectors, config->write = write_sectors, config->sync = sync_sectors;
  config->sector_bytes = bd->sector_bytes, config->sector_count = bd->sector_count;
}

static uint32_t next(uint64_t* random) {
  *random ^= *random << 13, *random ^= *random >> 7, *random ^= *random << 17;
  return (uint32_t)(*random >> 32);
}

/* Decides what an unsynced write leaves: its first kept_bytes. What was written before a version that stays stays with
 * it, so writes are settled from the last to the first. */
static void settle(struct emubd* bd, uint32_t i, uint32_t kept_bytes) {
  struct emubd_write* w = &bd->unsynced[i];
  uint8_t* sector = bd->sectors + (size_t)w->sector * bd->sector_bytes;
  mark_changed(bd, w->sector);
  memcpy(sector + kept_bytes, w->old + kept_bytes, bd->sector_bytes - kept_bytes);
  if (kept_bytes == 0) {
    bd->bad[w->sector] = w->bad;
    return;
  }
  free(w->old);
  w->old = NULL; /* this version is on the medium: those before it are covered */
}

static int is_covered(const struct emubd* bd, uint32_t i) {
  for (uint32_t k = i + 1; k < bd->unsynced_count; k++)
    if (bd->unsynced[k].sector == bd->unsynced[i].sector && !bd->unsynced[k].old) return 1;
  return 0;
}

/* A sector that was written more than once since the sync may have any of its versions. */
void emubd_cut(struct emubd* bd, uint64_t* random, unsigned survive_256, uint32_t torn_bytes) {
  const uint32_t torn = torn_bytes && bd->unsynced_count ? next(random) % bd->unsynced_count : bd->unsynced_count;
  for (uint32_t i = bd->unsynced_count; i-- > 0;) {
    const int stays = next(random) % 256 < survive_256 || is_covered(bd, i);
    uint32_t kept_bytes = stays ? bd->sector_bytes : 0;
    if (i == torn) kept_bytes = next(random) % (bd->sector_bytes / torn_bytes) * torn_bytes;
    settle(bd, i, kept_bytes);
  }
  forget(bd);
  bd->mounted = NULL;
  emubd_reset(bd);
}

void emubd_cut_to(struct emubd* bd, const uint8_t* stays) {
  for (uint32_t i = bd->unsynced_count; i-- > 0;) settle(bd, i, stays[i] || is_covered(bd, i) ? bd->sector_bytes : 0);
  forget(bd);
  bd->mounted = NULL;
  emubd_reset(bd);
}

void emubd_reset(struct emubd* bd) { bd->calls = bd->changes = bd->fail_at = bd->fail_until = bd->cut_at = 0; }

void emubd_set_bad(struct emubd* bd, uint32_t sector, uint8_t bad) { bd->bad[sector] = bad; }

static int copy_unsynced(struct emubd* bd, const struct emubd* from) {
  forget(bd);
  for (uint32_t i = 0; i < from->unsynced_count; i++) { /* only the old contents are needed, in order */
    if (remember(bd, from->unsynced[i].sector)) return -1;
    memcpy(bd->unsynced[i].old, from->unsynced[i].old, bd->sector_bytes);
  }
  return 0;
}

static void copy_changed(struct emubd* bd, const struct emubd* from, struct emubd* changed) {
  const size_t bytes = bd->sector_bytes;
  for (uint32_t i = 0; i < changed->changed_count; i++) {
    const uint32_t sector = changed->changed[i];
    memcpy(bd->sectors + sector * bytes, from->sectors + sector * bytes, bytes);
    changed->is_changed[sector] = 0;
  }
  changed->changed_count = 0;
}

int emubd_copy(struct emubd* bd, const struct emubd* from) {
  memcpy(bd->sectors, from->sectors, (size_t)bd->sector_count * bd->sector_bytes);
  memset(bd->is_changed, 0, bd->sector_count);
  bd->changed_count = 0;
  return copy_unsynced(bd, from);
}

int emubd_update_copy(struct emubd* bd, struct emubd* from) {
  copy_changed(bd, from, from);
  copy_changed(bd, from, bd);
  return copy_unsynced(bd, from);
}
