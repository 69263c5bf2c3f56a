/* Recovery: after a power cut, for a rollback, and after an operation that failed half-way.
 *
 * Recovery reads the groups of a series one after the other. The group with the next number lies in an open extent, at
 * the log's head, or at the beginning of the log's next unit. A record that opens, fills or closes an extent changes
 * the reader's extents as it changed the writer's.
 */
#include "recovery.h"

struct group {
  uint16_t magic; /* from magic to sum: the header, as it is stored */
  uint8_t kind, flags;
  uint32_t epoch, sequence, checkpoint_at, bytes, count, extra, body_sum, sum;
  uint32_t sector, sectors; /* place of the group on the device */
};
_Static_assert(offsetof(struct group, sum) == LN_GROUP_SUM && offsetof(struct group, sector) == LN_GROUP_HEADER,
               "the fields lie as they are stored");

enum { BODY_BYTES_MAX = 128 * 1024 }; /* more than a block or a unit of the log has */

static uint32_t sector_bytes(const struct lunar* db) { return db->config->sector_bytes; }
static uint32_t sectors_of(const struct lunar* db, uint32_t bytes) {
  return (bytes + sector_bytes(db) - 1) / sector_bytes(db);
}
static uint32_t log_sector(const struct lunar* db, uint32_t at) { return db->geometry.log_at + at; }

/* Returns 1 if a group with a sound header begins at the sector, 0 if not, or an error. */
static int read_header(struct lunar* db, uint32_t sector, struct group* group) {
  uint8_t* head = (uint8_t*)group;
  LN_TRY(ln_read_bytes(db, sector, 0, head, LN_GROUP_HEADER));
  const uint32_t sum = ln_checksum(db->geometry.volume, head, LN_GROUP_SUM);
  group->magic = ln_get16(head);
  group->sector = sector;
  for (uint32_t* word = &group->epoch; word <= &group->sum; word++) *word = ln_get32((const uint8_t*)word);
  group->sectors = sectors_of(db, LN_GROUP_HEADER + group->bytes);
  return group->magic == LN_GROUP && group->bytes <= BODY_BYTES_MAX && group->sum == sum;
}

static int sum_of(struct lunar* db, uint32_t sector, uint32_t offset, uint32_t bytes, uint32_t* sum) {
  struct ln_sum state;
  uint8_t piece[64];
  ln_sum_begin(&state, db->geometry.volume);
  while (bytes) {
    const uint32_t n = bytes < sizeof piece ? bytes : (uint32_t)sizeof piece;
    LN_TRY(ln_read_bytes(db, sector, offset, piece, n));
    ln_sum_add(&state, piece, n);
    offset += n;
    bytes -= n;
  }
  *sum = ln_sum_end(&state);
  return 0;
}

static int has_images(const struct group* group) { return group->kind == LN_IMAGES || group->kind == LN_BEFORE; }

static int entry_of(struct lunar* db, const struct group* group, uint32_t i, uint32_t* sector, uint32_t* sum) {
  LUNAR_ASSERT(i < group->count);
  LN_FIELDS(entry, 8);
  LN_TRY(ln_read_bytes(db, group->sector, LN_GROUP_HEADER + 8 * i, entry, sizeof entry));
  *sector = ln_get32(entry);
  *sum = ln_get32(entry + 4);
  return 0;
}

/* Returns 1 if every byte of the group is as it was written, 0 if not, or an error. */
static int whole(struct lunar* db, const struct group* group) {
  uint32_t sum;
  if (has_images(group) && (group->count == 0 || group->count > LN_IMAGES_MAX)) return 0;
  LN_TRY(sum_of(db, group->sector, LN_GROUP_HEADER, has_images(group) ? 8 * group->count : group->bytes, &sum));
  if (sum != group->body_sum) return 0;
  for (uint32_t i = 0; has_images(group) && i < group->count; i++) {
    uint32_t sector, expected;
    LN_TRY(entry_of(db, group, i, &sector, &expected));
    LN_TRY(sum_of(db, group->sector + 1 + i, 0, sector_bytes(db), &sum));
    if (sum != expected) return 0;
  }
  return 1;
}

/* Returns `there`, the result of a search for the next group. With config.skip_unreadable (LN_SKIPPING) returns 0
 * instead of an error: an unreadable or damaged sector is no group. Then clears db->doubtful, because mount has just
 * read which volume this is. E_CORRUPT also sets LN_STALE: groups that were flushed later show that the end of the
 * series is damage. */
static int skipping(struct lunar* db, int there) {
  if (there >= 0 || !(db->redoing & LN_SKIPPING)) return there;
  if (there == LUNAR_E_CORRUPT) db->redoing |= LN_STALE;
  db->doubtful = 0;
  return 0;
}

/* Clears LN_ENDED, because the series has a group behind the last checkpoint. */
static void goes_on(struct lunar* db) {
  if (LUNAR_WITH_REPAIR) db->redoing &= (uint8_t)~LN_ENDED;
}

/* Returns 1 if group number a is later than b. The numbers wrap around after the largest. */
static int later_number(uint32_t a, uint32_t b) { return a != b && a - b < 0x80000000u; }

static int newer(const struct group* a, uint32_t epoch, uint32_t sequence) {
  return a->epoch > epoch || (a->epoch == epoch && later_number(a->sequence, sequence));
}

/* Returns 1 if the next group of the series lies at the sector and is whole, 0 if not, or an error. room: sectors from
 * there to the end of the extent or unit. */
static int next_at(struct lunar* db, const struct lunar_series* series, uint32_t sector, uint32_t room,
                   struct group* group) {
  const int there = read_header(db, sector, group);
  if (there <= 0) return there;
  if (group->sequence != series->sequence + 1 || group->sectors > room) return 0;
  if (group->checkpoint_at != db->checkpoint_at) return 0;                     /* follows a lost checkpoint */
  const int later = group->epoch > series->epoch && group->kind != LN_RECORDS; /* written by a recovery */
  if (group->epoch != series->epoch && !later) return 0;
  return whole(db, group);
}

/* Searches `count` sectors behind the end of the series for signs that damage ended it. Returns 0 if there are none.
 * Returns E_CORRUPT if a group there says that groups were flushed which the series lacks: a power cut cannot cause
 * this, so a sector is damaged. With LN_SKIPPING returns E_CORRUPT also if the next group cannot be read, because it
 * may have the before images of pages in place; but not if the series ends with an unmount (LN_ENDED), because then
 * nothing is lost. Stops at the first group that is older than the series: newer groups lie in front of older ones. */
static int flushed_behind(struct lunar* db, const struct lunar_series* series, uint32_t sector, uint32_t count) {
  struct group group;
  if (LUNAR_WITH_REPAIR && (db->redoing & (LN_SKIPPING | LN_ENDED)) == LN_SKIPPING &&
      next_at(db, series, sector, count, &group) < 0) {
    LN_TRY(ln_same_volume(db, NULL));
    return LUNAR_E_CORRUPT;
  }
  for (; count--; sector++) {
    const int there = read_header(db, sector, &group);
    if (there < 0) LN_TRY(ln_same_volume(db, NULL));
    if (there <= 0) continue; /* an unreadable sector proves nothing */
    if (!newer(&group, series->epoch, series->sequence)) break;
    group.sequence = group.extra;
    if (group.kind == LN_RECORDS && newer(&group, series->epoch, series->sequence)) return LUNAR_E_CORRUPT;
  }
  return 0;
}

static int is_next(struct lunar* db, const struct lunar_series* series, uint32_t sector, uint32_t room,
                   struct group* group) {
  return group ? next_at(db, series, sector, room, group) : flushed_behind(db, series, sector, room);
}

/* Returns the place in LOG where the series may continue: its head (skip 0), or the beginning of the next unit (skip
 * 1). */
static uint32_t log_place(const struct lunar* db, const struct lunar_series* series, uint32_t skip) {
  LUNAR_ASSERT(series->log_head < db->geometry.log_sectors);
  const uint32_t unit = db->geometry.unit_sectors, head = series->log_head;
  return (head + (skip ? unit - head % unit : 0)) % db->geometry.log_sectors;
}

/* Returns the number of sectors from the head of the series to the end of this group of LOG; 0 if no group can lie
 * there. */
static uint32_t distance(const struct lunar* db, const struct lunar_series* series, const struct group* group) {
  const uint32_t log = db->geometry.log_sectors, unit = db->geometry.unit_sectors;
  const uint32_t at = group->sector - db->geometry.log_at;
  const uint32_t sectors = (at + log - series->log_head) % log + group->sectors;
  return group->sectors > unit - at % unit || series->log_used + sectors > log ? 0 : sectors;
}

/* Moves the series behind this group of LOG and returns 1. Returns 0 if the group cannot lie there. */
static int step(struct lunar* db, struct lunar_series* series, const struct group* group) {
  LUNAR_ASSERT(group->sectors > 0);
  const uint32_t sectors = distance(db, series, group);
  if (!sectors) return 0;
  goes_on(db);
  series->log_used += sectors;
  series->log_head = (series->log_head + sectors) % db->geometry.log_sectors;
  series->sequence = group->sequence;
  series->epoch = group->epoch;
  return 1;
}

/* Returns the number of sectors left in an open extent. Returns LN_NONE if the extent is impossible, which a damaged
 * checkpoint or record may cause. */
static uint32_t extent_room(const struct lunar* db, const struct lunar_extent* extent) {
  const struct lunar_geometry* g = &db->geometry;
  const uint32_t begin = extent->block, sectors = extent->sectors, used = extent->sector - begin;
  if (sectors == 0 || sectors > g->chunk_sectors) return LN_NONE;
  return begin - g->data_at > g->chunk_count * g->chunk_sectors - sectors || used > sectors ? LN_NONE : sectors - used;
}

/* Moves the series behind its next group and returns 1, or returns 0 if the series ends here. If group is NULL, the end
 * is already known: returns E_CORRUPT if damage ended the series (with LN_SKIPPING: sets LN_STALE and returns 0). */
static int next_group(struct lunar* db, struct lunar_series* series, struct group* group) {
  for (uint32_t i = 0; i < LUNAR_EXTENTS; i++) {
    struct lunar_extent* extent = &series->extents[i];
    const uint32_t room = extent->block == LN_NONE ? 0 : extent_room(db, extent);
    if (room == 0) continue;
    if (room == LN_NONE) return LUNAR_E_CORRUPT;
    const int found = skipping(db, is_next(db, series, extent->sector, room, group));
    if (found < 0) return found;
    if (!found || group->kind != LN_RECORDS) continue;
    goes_on(db);
    extent->sector += group->sectors;
    series->sequence = group->sequence;
    series->epoch = group->epoch;
    return 1;
  }
  for (uint32_t skip = 0; skip < 2; skip++) {
    const uint32_t at = log_place(db, series, skip), unit = db->geometry.unit_sectors;
    const int found = skipping(db, is_next(db, series, log_sector(db, at), unit - at % unit, group));
    if (found) return found < 0 ? found : step(db, series, group);
  }
  return 0;
}

/* Reads the records of a group in turn, and repeats their operations if redo is set. */
static int each_record(struct lunar* db, struct lunar_series* series, const struct group* group, int redo) {
  uint32_t offset = LN_GROUP_HEADER;
  const uint32_t end = LN_GROUP_HEADER + group->bytes;
  for (uint32_t i = 0; i < group->count; i++) {
    LN_FIELDS(head, LN_RECORD_HEADER);
    if (end - offset < sizeof head) return LUNAR_E_CORRUPT;
    LN_TRY(ln_read_bytes(db, group->sector, offset, head, sizeof head));
    const struct ln_record_header record = {
        .type = (enum ln_record)head[LN_RECORD_TYPE],
        .table = ln_get16(head + LN_RECORD_TABLE),
        .slot = ln_get16(head + LN_RECORD_SLOT),
        .position = ln_get16(head + LN_RECORD_POSITION),
        .ref = ln_get32(head + LN_RECORD_REF),
        .bytes = ln_get32(head + LN_RECORD_BYTES),
    };
    db->allocated_count = head[LN_RECORD_ALLOCATED];
    db->allocated_taken = 0;
    offset += (uint32_t)sizeof head;
    if (db->allocated_count > sizeof db->allocated / 4 || record.bytes > end - offset ||
        4u * db->allocated_count + record.bytes > end - offset)
      return LUNAR_E_CORRUPT;
    for (uint32_t k = 0; k < db->allocated_count; k++, offset += 4) {
      LN_TRY(ln_read_bytes(db, group->sector, offset, head, 4));
      db->allocated[k] = ln_get32(head);
    }
    ln_extents_follow(db, series, &record);
    if (redo) LN_TRY(ln_redo(db, &record, (struct ln_content){group->sector, offset}));
    offset += (record.bytes + 3) & ~3u;
  }
  return 0;
}

/* Reads the next group of a checkpoint and moves the series behind it. Returns 1 if the group is whole, 0 if this is no
 * whole checkpoint, or an error. If series->log_used is 0, the group is the first one of the checkpoint: it lies at
 * log_head and may have any number and epoch. */
static int checkpoint_group(struct lunar* db, struct lunar_series* series, struct group* group) {
  for (uint32_t skip = 0; skip < 2; skip++) {
    const int first = series->log_used == 0;
    const int there = read_header(db, log_sector(db, log_place(db, series, skip)), group);
    if (there < 0) return there;
    if (there && (first || (group->sequence == series->sequence + 1 && group->epoch == series->epoch)))
      return (group->kind == LN_IMAGES || group->kind == LN_CHECKPOINT) && step(db, series, group) ? whole(db, group)
                                                                                                   : 0;
    if (first) return 0;
  }
  return 0;
}

static int put_images(struct lunar* db, const struct group* group) {
  for (uint32_t i = 0; i < group->count; i++) {
    uint32_t sector, sum;
    LN_TRY(entry_of(db, group, i, &sector, &sum));
    LN_TRY(ln_read_bytes(db, group->sector + 1 + i, 0, db->stage, sector_bytes(db)));
    LN_TRY(ln_forget(db, sector, 1));
    LN_TRY(ln_home_write(db, sector, db->stage, 1));
  }
  return 0;
}

/* Reads the checkpoint whose first group lies at images_at in LOG. Sets the series to the position behind it, with the
 * epoch that begins there and the open extents; sets db->checkpoints and db->chunks_free. If put is set, also writes
 * the images of the checkpoint in place. Returns 1, 0 if this is no whole checkpoint, or an error. */
static int begin_at(struct lunar* db, uint32_t images_at, struct lunar_series* series, struct group* group, int put) {
  LN_FIELDS(body, LN_CHECKPOINT_BODY);
  *series = (struct lunar_series){.log_head = images_at};
  do {
    const int there = checkpoint_group(db, series, group);
    if (there <= 0) return there;
    if (put && group->kind == LN_IMAGES) LN_TRY(put_images(db, group));
  } while (group->kind != LN_CHECKPOINT);
  if (group->extra != images_at || group->bytes != LN_CHECKPOINT_BODY) return 0;
  if (LUNAR_WITH_REPAIR && db->redoing && group->flags & LN_UNMOUNTED) db->redoing |= LN_ENDED;
  LN_TRY(ln_read_bytes(db, group->sector, LN_GROUP_HEADER, body, sizeof body));
  series->epoch = ln_get32(body);
  db->checkpoints = ln_get32(body + 4);
  db->chunks_free = ln_get32(body + 8);
  for (uint32_t i = 0; i < LUNAR_EXTENTS; i++)
    series->extents[i] = (struct lunar_extent){ln_get32(body + 12 + 12 * i), ln_get32(body + 16 + 12 * i),
                                               ln_get16(body + 20 + 12 * i), ln_get16(body + 22 + 12 * i)};
  return 1;
}

/* Finds the first group of the unit at `at`. With LN_SKIPPING the unit's first sectors may be damaged: takes the first
 * group behind them. Returns 1, 0 if there is no group, or an error. */
static int first_of_unit(struct lunar* db, uint32_t at, struct group* group) {
  int there = read_header(db, log_sector(db, at), group);
  for (uint32_t i = 1; db->redoing & LN_SKIPPING && there <= 0 && i < db->geometry.unit_sectors; i++)
    there = read_header(db, log_sector(db, at + i), group);
  return skipping(db, there);
}

/* Finds the newest of the units' first groups. Ignores groups that name the lost checkpoint. Returns E_CORRUPT if there
 * is none. */
static int newest_unit(struct lunar* db, uint32_t lost, struct group* newest) {
  int found = 0;
  for (uint32_t at = 0; at < db->geometry.log_sectors; at += db->geometry.unit_sectors) {
    struct group group;
    const int there = first_of_unit(db, at, &group);
    if (there < 0) return there;
    if (LUNAR_WITH_REPAIR && group.checkpoint_at == lost) continue;
    if (there && (!found || newer(&group, newest->epoch, newest->sequence))) {
      found = 1;
      *newest = group;
    }
  }
  return found ? 0 : LUNAR_E_CORRUPT;
}

/* Finds a checkpoint from which the series reaches to the end of the log; *images_at becomes the place of its images in
 * LOG. Takes the checkpoint that the last group of the newest unit names, or a later whole checkpoint in this unit,
 * because the one before it may have been overwritten. lost: place of a damaged checkpoint, which is ignored; LN_NONE:
 * none. */
static int find_checkpoint(struct lunar* db, uint32_t lost, uint32_t* images_at) {
  struct group group, checkpoint;
  struct lunar_series series;
  LN_TRY(newest_unit(db, lost, &group));
  uint32_t at = group.sector - db->geometry.log_at;
  const uint32_t end = at - at % db->geometry.unit_sectors + db->geometry.unit_sectors;
  int passed = 0;
  uint32_t epoch = group.epoch, sequence = group.sequence - 1;
  while (at < end) {
    int there = skipping(db, read_header(db, log_sector(db, at), &group));
    if (there < 0) return there;
    if (!there || !newer(&group, epoch, sequence)) {
      if (db->redoing & LN_SKIPPING && (!there || passed)) {
        passed = 1; /* a later checkpoint may lie behind a damaged one and its images, which are no groups */
        at++;
        continue;
      }
      break;
    }
    epoch = group.epoch;
    sequence = group.sequence;
    at += group.sectors;
    if (!LUNAR_WITH_REPAIR || group.checkpoint_at != lost) *images_at = group.checkpoint_at;
    if (group.kind != LN_CHECKPOINT || group.extra >= db->geometry.log_sectors) continue;
    there = begin_at(db, group.extra, &series, &checkpoint, 0);
    there = skipping(db, there);
    LN_TRY(there);
    if (there && checkpoint.sector == group.sector) *images_at = group.extra;
  }
  return *images_at < db->geometry.log_sectors ? 0 : LUNAR_E_CORRUPT;
}

/* The last whole checkpoint and the last group of before images since, as log_groups finds them in LOG alone. Recovery
 * writes the images of both in place before it reads other groups, because a spilled page may have changed a row that
 * the checksum of such a group covers. */
struct state {
  /* Log sectors: of the checkpoint; of the last BEFORE group since, LN_NONE if there is none. */
  uint32_t base, before;
  uint32_t epoch; /* the latest in LOG */
  uint8_t flags;  /* of the checkpoint */
};
/* Added to the epoch after damage. The groups behind the damage stay in LOG, and some may be from earlier recoveries.
 * The higher epoch makes the groups of this recovery newer than all of them. */
enum { EPOCHS_LOST = 0x10000 };

/* Returns 1 if a later group lies at this place in LOG (see log_place) and is whole, 0 if not, or an error. */
static int log_group(struct lunar* db, const struct lunar_series* series, uint32_t skip, struct group* group) {
  const int there = read_header(db, log_sector(db, log_place(db, series, skip)), group);
  if (there <= 0) return there;
  if (!later_number(group->sequence, series->sequence) || group->epoch < series->epoch || !distance(db, series, group))
    return 0;
  return whole(db, group);
}

/* Returns 0 if the group is a BEFORE group that does not continue the list of before images that ends with `before`;
 * otherwise 1. A BEFORE group continues the list if it names that group. A BEFORE group that names none starts a new
 * list in the epoch of a recovery, which had put back all older before images. Any other BEFORE group lies behind a
 * torn group: the flush after both was not reached, so the pages of the BEFORE group were not overwritten. */
static int continues(const struct lunar_series* series, uint32_t before, const struct group* group) {
  return group->kind != LN_BEFORE || group->extra == before ||
         (group->extra == LN_NONE && group->epoch > series->epoch);
}

/* Finds the next group in LOG, at the series' head or at the beginning of the next unit, and moves the series behind
 * it. Returns 1, 0 if there is none, or an error. If both places have a group, the one at the head may be lost: a
 * recovery without room in its unit continued in the next unit and used the number of that group again. The later epoch
 * of the group in the next unit shows this. */
static int following_group(struct lunar* db, struct lunar_series* series, uint32_t before, struct group* group) {
  struct group next;
  int there = log_group(db, series, 0, group), beyond = log_group(db, series, 1, &next);
  if (there > 0) there = continues(series, before, group);
  if (beyond > 0) beyond = continues(series, before, &next);
  const int unreadable = there < 0 || (there == 0 && beyond < 0); /* the sector may have had a flushed group */
  LN_TRY(there = skipping(db, there));
  LN_TRY(beyond = skipping(db, beyond));
  if (LUNAR_WITH_REPAIR && unreadable && !(db->redoing & LN_ENDED) &&
      !(beyond && next.sequence == series->sequence + 1))
    db->redoing |= LN_STALE;
  if (!there && !beyond) return 0;
  const int skips = !there || (beyond && next.epoch > group->epoch && !later_number(next.sequence, group->sequence));
  if (skips) *group = next;
  return step(db, series, group);
}

/* Reads the groups of LOG from the checkpoint at images_at on. Fills *found; *end becomes the end of the series in LOG.
 */
static int log_groups(struct lunar* db, uint32_t images_at, struct state* found, struct lunar_series* end) {
  struct group group, checkpoint;
  struct lunar_series later;
  int there = skipping(db, begin_at(db, images_at, end, &group, 0));
  LN_TRY(there);
  if (!there) return LUNAR_E_CORRUPT;
  *found = (struct state){images_at, LN_NONE, end->epoch, group.flags};
  for (uint32_t steps = 0; (there = following_group(db, end, found->before, &group)) > 0;) {
    if (++steps > db->geometry.log_sectors) return LUNAR_E_CORRUPT; /* the groups form a circle */
    found->epoch = end->epoch;
    if (group.kind == LN_BEFORE) found->before = group.sector - db->geometry.log_at;
    if (group.kind != LN_CHECKPOINT || group.extra >= db->geometry.log_sectors) continue;
    there = begin_at(db, group.extra, &later, &checkpoint, 0);
    LN_TRY(there = skipping(db, there));
    if (!there || checkpoint.sector != group.sector) continue;
    *end = later;
    *found = (struct state){group.extra, LN_NONE, end->epoch, checkpoint.flags};
  }
  return there;
}

/* Returns the number of sectors from the head of LOG to the beginning of the next unit; 0 if the head is at a
 * beginning. */
static uint32_t sectors_to_unit(const struct lunar* db) {
  const uint32_t unit = db->geometry.unit_sectors;
  return (unit - db->series.log_head % unit) % unit;
}

/* Recovery writes a mark before anything else in LOG, and so before it can destroy the evidence of damage. If this
 * recovery is cut off, the next one finds the mark, or a group in its place, and sees from its epoch that all before
 * images of earlier epochs have been put back. When damage is first found, the epoch rises by EPOCHS_LOST, otherwise by
 * 1. The mark lies where the checkpoint of this recovery will begin. Returns that place in LOG. Returns LN_NONE if LOG
 * has no room, or if no mark is needed: no before image was put back, there is no damage, and mount skips no unreadable
 * sectors or LOG ends with an unmount. */
static uint32_t place_of_mark(struct lunar* db, struct state* found) {
  const uint32_t skipped = sectors_to_unit(db), log_sectors = db->geometry.log_sectors;
  if (!LUNAR_WITH_REPAIR) return LN_NONE;
  const int lost = found->epoch - db->series.epoch >= EPOCHS_LOST;
  if (lost) db->redoing |= LN_STALE;
  const int skips = (db->redoing & (LN_SKIPPING | LN_ENDED)) == LN_SKIPPING;
  if (found->before == LN_NONE && !skips && !(db->redoing & LN_STALE)) return LN_NONE;
  found->epoch += db->redoing & LN_STALE && !lost ? EPOCHS_LOST : 1;
  return db->series.log_used + skipped < log_sectors ? (db->series.log_head + skipped) % log_sectors : LN_NONE;
}

/* Erases the header of a torn group behind the end of the series. Recovery may write the missing sectors of this group
 * with the same content. If recovery were cut off then, the group would be whole again, although its state no longer
 * exists. Writes the mark first (see place_of_mark). */
static int forget_torn(struct lunar* db, const struct lunar_series* end, struct state* found) {
  uint32_t torn[2];
  for (uint32_t skip = 0; skip < 2; skip++) {
    struct group group;
    torn[skip] = log_place(db, end, skip);
    const int there = skipping(db, read_header(db, log_sector(db, torn[skip]), &group));
    LN_TRY(there);
    if (!there || !later_number(group.sequence, end->sequence) || group.epoch < end->epoch)
      torn[skip] = LN_NONE;
    else if (group.epoch > found->epoch)
      found->epoch = group.epoch;
  }
  const uint32_t mark = place_of_mark(db, found);
  if (mark != LN_NONE) LN_TRY(ln_log_mark(db, mark, found->epoch));
  if (db->redoing & LN_STALE) LN_TRY(ln_device_sync(db));
  for (uint32_t skip = 0; skip < 2; skip++) {
    const uint32_t at = log_sector(db, torn[skip]);
    if (torn[skip] == LN_NONE || torn[skip] == mark) continue;
    LN_TRY(ln_forget(db, at, 1));
    memset(db->stage, 0, sector_bytes(db));
    LN_TRY(ln_sectors_write(db, at, db->stage, 1));
  }
  return ln_device_sync(db);
}

/* Puts back the before images, from the last group to the first. before: log sector of the last group; each group names
 * the one before it. behind 0: log_groups has found all groups whole. Otherwise the groups have not been checked, and
 * `behind` is their epoch: the first group that is damaged, or of another epoch or checkpoint (base), ends the list. */
static int put_back(struct lunar* db, uint32_t before, uint32_t base, uint32_t behind) {
  for (uint32_t steps = 0; before < db->geometry.log_sectors && steps < db->geometry.log_sectors; steps++) {
    struct group group;
    int there = read_header(db, log_sector(db, before), &group);
    if (behind && there > 0)
      there = group.kind == LN_BEFORE && group.epoch == behind && group.checkpoint_at == base && whole(db, &group) > 0;
    if (there <= 0) return behind ? skipping(db, there) : there ? there : LUNAR_E_CORRUPT;
    LN_TRY(put_images(db, &group));
    before = group.extra;
  }
  return 0;
}

#if LUNAR_WITH_REPAIR
/* With config.skip_unreadable, a damaged sector may seem to be the end of the log. Puts back the before images behind
 * this end, because their pages may have been overwritten. A power cut may leave before images behind the end, too:
 * their pages were not overwritten, so putting the images back changes nothing. Before images of an earlier epoch than
 * the latest in LOG have already been put back. Sets LN_STALE if LOG has an unreadable sector and groups of a later
 * recovery: they show that the unreadable sector was not the end. */
static int put_back_behind(struct lunar* db, const struct lunar_series* end, struct state* found) {
  struct group group;
  uint32_t before = LN_NONE, epoch = end->epoch, sequence = end->sequence;
  int unreadable = 0, later = 0;
  if (!(db->redoing & LN_SKIPPING)) return 0;
  for (uint32_t at = 0; at < db->geometry.log_sectors; at++) {
    int there = read_header(db, log_sector(db, at), &group);
    unreadable |= there < 0;
    LN_TRY(there = skipping(db, there));
    later |= there && group.epoch > end->epoch;
    if (unreadable && later) db->redoing |= LN_STALE;
    if (!there || group.checkpoint_at != found->base) continue;
    if (group.epoch > found->epoch) found->epoch = group.epoch;
    if (group.kind != LN_BEFORE || !newer(&group, epoch, sequence)) continue;
    epoch = group.epoch;
    sequence = group.sequence;
    before = at;
  }
  return epoch < found->epoch ? 0 : put_back(db, before, found->base, epoch);
}
#else
#define put_back_behind(db, end, found) 0
#endif

static void begin_unit(struct lunar* db) {
  const uint32_t skipped = sectors_to_unit(db);
  db->series.log_head = (db->series.log_head + skipped) % db->geometry.log_sectors;
  db->series.log_used += skipped;
}

/* Reads the groups since the last checkpoint. redo 0: sets db->series to the position behind the last group that ends
 * an operation or a transaction. redo 1, called afterwards: repeats the operations up to this position. */
static LN_APART int replay(struct lunar* db, int redo) {
  struct group group;
  struct lunar_series series;
  int there = begin_at(db, db->checkpoint_at, &series, &group, 0);
  const uint32_t committed = db->series.sequence;
  if (there > 0 && !redo) db->series = series;
  while (there > 0 && (!redo || series.sequence != committed)) {
    LN_TRY(ln_ensure_clean(db, 1));
    there = next_group(db, &series, &group);
    if (there == 0 && !redo) return next_group(db, &series, NULL);
    if (there <= 0 || group.kind != LN_RECORDS) continue;
    LN_TRY(each_record(db, &series, &group, redo));
    if (!redo && !(group.flags & LN_PART)) db->series = series;
  }
  if (there > 0) memcpy(db->series.extents, series.extents, sizeof series.extents);
  return there ? there : LUNAR_E_CORRUPT;
}

#if LUNAR_WITH_REPAIR
/* Returns 1 if the checkpoint at images_at, which a later group names, is damaged; 0 if not; or an error. Returns 0
 * without config.skip_unreadable. For a damaged checkpoint the caller uses the one before it and sets LN_STALE: pages
 * in place may be newer, so every table must be repaired. */
static int is_lost(struct lunar* db, uint32_t images_at) {
  struct lunar_series series;
  struct group group;
  if (!(db->redoing & LN_SKIPPING)) return 0;
  const int there = skipping(db, begin_at(db, images_at, &series, &group, 0));
  return there < 0 ? there : !there;
}

/* Returns `error`; or E_IO instead of success or E_CORRUPT, if a sector that could not be read can be read now and was
 * not written since. This sector is not damaged: the log may continue behind what seemed to be its end, or a table may
 * be sound. */
static int missed(struct lunar* db, int error) {
  if (error < 0 && error != LUNAR_E_CORRUPT) return error;
  for (int tries = 0; tries < 4 && (db->redoing & (LN_MISSED | LN_FOUND)) == LN_MISSED; tries++)
    LN_TRY(ln_can_be_read(db, db->failed_sector, 1));
  return db->redoing & LN_FOUND ? LUNAR_E_IO : error;
}
#else
#define is_lost(db, images_at) 0
#define missed(db, error) (error)
#define ln_mark_all(db) 0
#define ln_reconcile(db) 0
#define ln_free_unowned(db) 0
#endif

/* Puts the pages in place as they were at the last checkpoint, and finds the end of the operations committed since. */
static LN_APART int go_back(struct lunar* db, struct state* found) {
  struct lunar_series end;
  struct group group;
  uint32_t images_at = db->checkpoint_at;
  if (images_at == LN_NONE) LN_TRY(find_checkpoint(db, LN_NONE, &images_at));
  const int stale = is_lost(db, images_at);
  LN_TRY(stale);
  if (stale) LN_TRY(find_checkpoint(db, images_at, &images_at));
  LN_TRY(log_groups(db, images_at, found, &end));
  if (stale) db->redoing |= LN_STALE;
  if (found->flags & LN_UNLOGGED && db->mode != LUNAR_MODE_NONE) return LUNAR_E_UNCLEAN;
  /* The before images come before the images of the checkpoint: the before image of a page that the checkpoint left in
   * the buffer may be newer than the checkpoint. */
  LN_TRY(put_back_behind(db, &end, found));
  LN_TRY(put_back(db, found->before, found->base, 0));
  const int there = begin_at(db, found->base, &db->series, &group, 1);
  if (there <= 0) return there ? there : LUNAR_E_CORRUPT;
  db->chunk_last = group.count; /* not checked: searches may begin anywhere */
  LN_TRY(ln_device_sync(db));
  ln_forget_all(db);
  db->checkpoint_at = found->base;
  db->before_last = LN_NONE;
  LN_TRY(missed(db, replay(db, 0)));
  return forget_torn(db, &end, found);
}

int ln_recover(struct lunar* db) {
  struct state found;
  db->stage_used = 0;
  db->allocated_count = 0;
  db->redoing |= LN_REDOING;
  db->state = LN_READY;
  db->many_pages = 1; /* the log may have no room for two images of a page */
  db->releases++;
  LN_TREES_CHANGE(db);
  ln_cache_forget_all(db);
  ln_forget_all(db);
  db->unsynced = 1; /* data that recovery reads may be in the device's cache only, and recovery writes because of it */
  LN_TRY(ln_device_sync(db));
  int error = go_back(db, &found);
  LN_TRY(error == LUNAR_E_CORRUPT ? missed(db, error) : error);
  /* The volume was in another mode, and mode none can restore no page. So recovery runs in mode full until every page
   * is in place, and then changes to mode none. */
  if (!(found.flags & LN_UNLOGGED) && db->mode == LUNAR_MODE_NONE) db->mode = LUNAR_MODE_FULL;
  /* From here on recovery overwrites what follows the last committed group. However often recovery is cut off, it takes
   * no more of the log. */
  db->series.epoch = found.epoch + 1;
  /* Empties the frames, so that pages get the same frames whatever was read before. A recovery that was cut off in its
   * checkpoint may have left some groups of it, and this recovery must write exactly the same groups. */
  ln_forget_all(db);
  if (db->redoing & LN_STALE) LN_TRY(ln_mark_all(db));
  LN_TRY(missed(db, replay(db, 1)));
  if (db->redoing & LN_STALE) {
    LN_TRY(ln_reconcile(db));
    LN_TRY(ln_free_unowned(db));
  }
  const int counts = found.flags & LN_UNLOGGED || db->redoing & LN_STALE; /* the map may be newer than chunks_free */
  db->redoing = 0;
  db->allocated_count = 0;
  LUNAR_ASSERT(db->series.log_head < db->geometry.log_sectors && db->checkpoint_at < db->geometry.log_sectors);
  if (counts) LN_TRY(ln_count_free(db));
  db->freed = 1; /* blocks that lost operations took are available again */
  /* The checkpoint begins a unit, so that the first group of the unit is newer than all remains of lost groups. */
  begin_unit(db);
  LN_TRY(ln_checkpoint(db));
  if (db->mode == LUNAR_MODE_NONE || db->config->mode != LUNAR_MODE_NONE) return 0;
  LN_TRY(ln_write_kept(db, db->frames, db->frame_count)); /* the next checkpoint has no images */
  db->mode = LUNAR_MODE_NONE;
  return ln_checkpoint(db);
}

#if LUNAR_WITH_CHECK
int ln_log_whole(struct lunar* db) {
  struct lunar_series series;
  struct group group;
  const uint32_t checkpoints = db->checkpoints, chunks_free = db->chunks_free;
  const int there = begin_at(db, db->checkpoint_at, &series, &group, 0);
  db->checkpoints = checkpoints;
  db->chunks_free = chunks_free; /* begin_at has set both to their values at the checkpoint */
  return there;
}
#endif
