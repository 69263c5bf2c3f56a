/* The primary index by linear hashing (W. Litwin, VLDB 1980). A bucket is a page and the overflow pages chained to it.
 * Bucket b lies in segment floor(log2 b) + 1 (bucket 0 in segment 0); a segment's buckets are contiguous.
 */
#include "index.h"

/* The overflow pages of a bucket that is split may all be needed again, beside a page for the new entry and a segment:
 * a record names at most eight blocks. */
enum { LOAD_PERCENT = 80, OVERFLOWS_MAX = 6 };

static uint32_t capacity(const struct lunar* db) { return (db->config->sector_bytes - LN_BUCKET_HEADER) / LN_ENTRY; }

#if LUNAR_DEBUG
/* A table's pinned page, or a secondary index's copy of one. */
static int is_meta(const struct lunar_frame* frame) {
  return frame->sector == LN_NONE || (frame->pins > 0 && frame->kind == LN_META);
}

#endif

static uint32_t mixed(uint64_t key) {
  key = (key ^ key >> 33) * 0xff51afd7ed558ccdu;
  key = (key ^ key >> 33) * 0xc4ceb9fe1a85ec53u;
  return (uint32_t)(key ^ key >> 33);
}

static uint32_t log2_floor(uint32_t v) {
  uint32_t log = 0;
  while (v >>= 1) log++;
  return log;
}

static uint32_t bucket_of(uint64_t key, uint32_t buckets) {
  const uint32_t level = 1u << log2_floor(buckets), low = mixed(key) & (2 * level - 1);
  return low < buckets ? low : low - level;
}

static uint32_t segment_of(uint32_t bucket) { return bucket ? log2_floor(bucket) + 1 : 0; }
static uint32_t segment_first(uint32_t segment) { return segment ? 1u << (segment - 1) : 0; }
static uint32_t segment_sectors(uint32_t segment) { return segment ? 1u << (segment - 1) : 1; }

static uint32_t buckets_of(struct lunar_frame* meta) { return ln_get32(meta->bytes + LN_META_BUCKETS); }

static uint8_t* segment_ref(struct lunar_frame* meta, uint32_t segment) {
  LUNAR_ASSERT(segment < LN_SEGMENTS);
  return meta->bytes + LN_META_SEGMENTS + 4 * segment;
}

static int bucket_sector(struct lunar* db, struct lunar_frame* meta, uint32_t bucket, uint32_t* sector) {
  const uint32_t segment = segment_of(bucket);
  if (segment >= LN_SEGMENTS) return LUNAR_E_CORRUPT;
  *sector = ln_ref_sector(db, ln_get32(segment_ref(meta, segment))) + bucket - segment_first(segment);
  return 0;
}

static uint8_t* entry_at(uint8_t* page, uint32_t i) { return page + LN_BUCKET_HEADER + LN_ENTRY * i; }

static int entry_is(const uint8_t* entry, uint64_t key, struct ln_place place) {
  return ln_get64(entry) == key && ln_get32(entry + 8) == place.ref && ln_get16(entry + 12) == place.slot;
}

#if LUNAR_DEBUG
/* No entry of the page belongs to the bucket. */
static int has_none_of(const struct lunar* db, const uint8_t* page, uint32_t bucket, uint32_t buckets) {
  const uint32_t count = ln_get16(page + LN_BUCKET_COUNT);
  LUNAR_ASSERT(count <= capacity(db));
  for (uint32_t i = 0; i < count; i++)
    if (bucket_of(ln_get64(page + LN_BUCKET_HEADER + LN_ENTRY * i), buckets) == bucket) return 0;
  return 1;
}
#endif

static int bucket_page(struct lunar* db, uint32_t sector, struct lunar_frame** frame) {
  LN_TRY(ln_page(db, sector, LN_BUCKET, frame));
  if (ln_get16((*frame)->bytes + LN_BUCKET_COUNT) <= capacity(db)) return 0;
  ln_put(*frame);
  return LUNAR_E_CORRUPT;
}

static int fresh_bucket(struct lunar* db, uint32_t sector) {
  struct lunar_frame* frame;
  LN_TRY(ln_page_fresh(db, sector, LN_BUCKET, &frame));
  ln_put32(frame->bytes + LN_BUCKET_OVERFLOW, LN_NONE);
  ln_put(frame);
  return 0;
}

static int segment_alloc(struct lunar* db, struct lunar_frame* meta, uint32_t segment) {
  const uint32_t sectors = segment_sectors(segment), chunk = db->geometry.chunk_sectors;
  uint32_t ref;
  uint8_t class = 0;
  if (segment >= LN_SEGMENTS) return LUNAR_E_FULL;
  while (class + 1 < db->geometry.class_count && ln_class_sectors(db, class) < sectors) class ++;
  if (sectors <= chunk)
    LN_TRY(ln_alloc(db, class, LN_NONE, &ref));
  else
    LN_TRY(ln_alloc_run(db, sectors / chunk, &ref));
  ln_put32(segment_ref(meta, segment), ref);
  ln_dirty(db, meta);
  return 0;
}

int ln_hash_create(struct lunar* db, struct lunar_frame* meta) {
  LUNAR_ASSERT(is_meta(meta));
  uint32_t sector;
  LN_TRY(segment_alloc(db, meta, 0));
  ln_put32(meta->bytes + LN_META_BUCKETS, 1);
  LN_TRY(bucket_sector(db, meta, 0, &sector));
  return fresh_bucket(db, sector);
}

/* A chain longer than the device has sectors can only be a circle. */
static int next_of(struct lunar* db, const uint8_t* page, uint32_t* sector, uint32_t* steps) {
  *sector = ln_get32(page + LN_BUCKET_OVERFLOW);
  return ++*steps > db->config->sector_count ? LUNAR_E_CORRUPT : 0;
}

int ln_hash_find(struct lunar* db, struct lunar_frame* meta, uint64_t key, ln_matches matches, void* context,
                 struct ln_place* place) {
  LUNAR_ASSERT(is_meta(meta) && place);
  uint32_t sector, steps = 0;
  LN_TRY(bucket_sector(db, meta, bucket_of(key, buckets_of(meta)), &sector));
  while (sector != LN_NONE) {
    struct lunar_frame* frame;
    LN_TRY(bucket_page(db, sector, &frame));
    const uint32_t count = ln_get16(frame->bytes + LN_BUCKET_COUNT);
    int found = 0;
    for (uint32_t i = 0; i < count && !found; i++) {
      const uint8_t* entry = entry_at(frame->bytes, i);
      if (ln_get64(entry) != key) continue;
      *place = (struct ln_place){ln_get32(entry + 8), ln_get16(entry + 12)};
      found = matches ? matches(context, *place) : 1;
    }
    const int error = next_of(db, frame->bytes, &sector, &steps);
    ln_put(frame);
    if (found) return found < 0 ? found : 0;
    LN_TRY(error);
  }
  return LUNAR_E_NOT_FOUND;
}

static void put_entry(struct lunar* db, struct lunar_frame* frame, uint64_t key, struct ln_place place) {
  uint8_t* page = frame->bytes;
  const uint32_t count = ln_get16(page + LN_BUCKET_COUNT);
  LUNAR_ASSERT(frame->kind == LN_BUCKET && count < capacity(db));
  uint8_t* entry = entry_at(page, count);
  ln_put64(entry, key);
  ln_put32(entry + 8, place.ref);
  ln_put16(entry + 12, place.slot);
  ln_put16(entry + 14, 0);
  ln_put16(page + LN_BUCKET_COUNT, count + 1);
  ln_dirty(db, frame);
}

/* Appends to the first page of the chain that has room; makes one when none has. */
static int append(struct lunar* db, uint32_t sector, uint64_t key, struct ln_place place) {
  for (uint32_t steps = 0;;) {
    struct lunar_frame* frame;
    LN_TRY(bucket_page(db, sector, &frame));
    uint8_t* page = frame->bytes;
    const uint32_t count = ln_get16(page + LN_BUCKET_COUNT);
    if (count < capacity(db)) {
      put_entry(db, frame, key, place);
      ln_put(frame);
      return 0;
    }
    int error = next_of(db, page, &sector, &steps);
    if (!error && sector == LN_NONE) {
      uint32_t ref;
      error = ln_alloc(db, 0, LN_NONE, &ref);
      if (!error) {
        sector = ln_ref_sector(db, ref);
        ln_put32(page + LN_BUCKET_OVERFLOW, sector);
        ln_dirty(db, frame);
        error = fresh_bucket(db, sector);
      }
    }
    ln_put(frame);
    LN_TRY(error);
  }
}

static uint32_t overflow_ref(const struct lunar* db, uint32_t sector) {
  return (sector - db->geometry.data_at) / db->geometry.class_sectors_min;
}

/* Moves the entries of one page of the old bucket that now belong to the new one. */
static int move_entries(struct lunar* db, struct lunar_frame* frame, uint32_t new_bucket, uint32_t new_sector,
                        uint32_t buckets) {
  uint8_t* page = frame->bytes;
  uint32_t count = ln_get16(page + LN_BUCKET_COUNT);
  for (uint32_t i = 0; i < count;) {
    uint8_t* entry = entry_at(page, i);
    if (bucket_of(ln_get64(entry), buckets) != new_bucket) {
      i++;
      continue;
    }
    LN_TRY(append(db, new_sector, ln_get64(entry), (struct ln_place){ln_get32(entry + 8), ln_get16(entry + 12)}));
    memmove(entry, entry_at(page, --count), LN_ENTRY);
    ln_put16(page + LN_BUCKET_COUNT, count);
    ln_dirty(db, frame);
  }
  LUNAR_ASSERT(has_none_of(db, page, new_bucket, buckets));
  return 0;
}

/* 1: the chain has more overflow pages than that. */
static int is_longer(struct lunar* db, uint32_t sector, uint32_t most) {
  for (uint32_t pages = 0; sector != LN_NONE; pages++) {
    struct lunar_frame* frame;
    if (pages > most) return 1;
    LN_TRY(bucket_page(db, sector, &frame));
    sector = ln_get32(frame->bytes + LN_BUCKET_OVERFLOW);
    ln_put(frame);
  }
  return 0;
}

static int unlink_page(struct lunar* db, uint32_t previous, uint32_t next) {
  struct lunar_frame* frame;
  LN_TRY(bucket_page(db, previous, &frame));
  ln_put32(frame->bytes + LN_BUCKET_OVERFLOW, next);
  ln_dirty(db, frame);
  ln_put(frame);
  return 0;
}

static LN_APART int split(struct lunar* db, struct lunar_frame* meta) {
  const uint32_t bucket = buckets_of(meta), old = bucket - (1u << log2_floor(bucket));
  uint32_t sector, new_sector, previous = LN_NONE, steps = 0;
  LN_TRY(bucket_sector(db, meta, old, &sector));
  const uint32_t segment = segment_of(bucket);
  const int begins = bucket == segment_first(segment);
  /* Without a log a split that fails half-way would be for good. */
  const uint32_t chunks = begins ? segment_sectors(segment) / db->geometry.chunk_sectors : 0;
  const int longer = is_longer(db, sector, ln_room_is_sure(db, chunks) ? OVERFLOWS_MAX : 0);
  if (longer) return longer < 0 ? longer : 0;
  if (begins) {
    const int error = segment_alloc(db, meta, segment);
    if (error) return error == LUNAR_E_FULL ? 0 : error; /* longer chains instead */
  }
  LN_TRY(bucket_sector(db, meta, bucket, &new_sector));
  LN_TRY(fresh_bucket(db, new_sector));
  ln_put32(meta->bytes + LN_META_BUCKETS, bucket + 1);
  ln_dirty(db, meta);
  while (sector != LN_NONE) {
    struct lunar_frame* frame;
    const uint32_t here = sector;
    LN_TRY(bucket_page(db, here, &frame));
    int error = move_entries(db, frame, bucket, new_sector, bucket + 1);
    const int empty = previous != LN_NONE && ln_get16(frame->bytes + LN_BUCKET_COUNT) == 0;
    if (!error) error = next_of(db, frame->bytes, &sector, &steps);
    ln_put(frame);
    LN_TRY(error);
    if (empty) {
      LN_TRY(unlink_page(db, previous, sector));
      LN_TRY(ln_free(db, overflow_ref(db, here)));
    } else {
      previous = here;
    }
  }
  return 0;
}

static LN_APART int add(struct lunar* db, struct lunar_frame* meta, uint64_t key, struct ln_place place) {
  uint32_t sector;
  LN_TRY(bucket_sector(db, meta, bucket_of(key, buckets_of(meta)), &sector));
  return append(db, sector, key, place);
}

int ln_hash_insert(struct lunar* db, struct lunar_frame* meta, uint64_t key, struct ln_place place) {
  LUNAR_ASSERT(is_meta(meta) && place.ref != LN_NONE);
  const uint32_t buckets = buckets_of(meta);
  LN_TRY(add(db, meta, key, place));
  const uint64_t rows = ln_get64(meta->bytes + LN_META_ROWS);
  return rows * 100 > (uint64_t)buckets * capacity(db) * LOAD_PERCENT ? split(db, meta) : 0;
}

int ln_hash_move(struct lunar* db, struct lunar_frame* meta, uint64_t key, struct ln_place from, struct ln_place to) {
  LUNAR_ASSERT(is_meta(meta) && from.ref != LN_NONE);
  uint32_t sector, steps = 0;
  LN_TRY(bucket_sector(db, meta, bucket_of(key, buckets_of(meta)), &sector));
  while (sector != LN_NONE) {
    struct lunar_frame* frame;
    LN_TRY(bucket_page(db, sector, &frame));
    uint8_t* page = frame->bytes;
    const uint32_t count = ln_get16(page + LN_BUCKET_COUNT);
    uint32_t i = 0;
    while (i < count && !entry_is(entry_at(page, i), key, from)) i++;
    if (i < count) {
      if (to.ref == LN_NONE) {
        memmove(entry_at(page, i), entry_at(page, count - 1), LN_ENTRY);
        ln_put16(page + LN_BUCKET_COUNT, count - 1);
      } else {
        ln_put32(entry_at(page, i) + 8, to.ref);
        ln_put16(entry_at(page, i) + 12, to.slot);
      }
      ln_dirty(db, frame);
      ln_put(frame);
      return 0;
    }
    const int error = next_of(db, page, &sector, &steps);
    ln_put(frame);
    LN_TRY(error);
  }
  return LUNAR_E_CORRUPT;
}

#if LUNAR_WITH_SECONDARY
/* A page for the entry, between the bucket's and the others. */
static int put_overflow(struct lunar* db, struct lunar_frame* bucket, uint64_t key, struct ln_place place) {
  struct lunar_frame* frame;
  uint32_t ref;
  LN_TRY(ln_alloc(db, 0, LN_NONE, &ref));
  LN_TRY(ln_page_fresh(db, ln_ref_sector(db, ref), LN_BUCKET, &frame));
  ln_put32(frame->bytes + LN_BUCKET_OVERFLOW, ln_get32(bucket->bytes + LN_BUCKET_OVERFLOW));
  put_entry(db, frame, key, place);
  ln_put32(bucket->bytes + LN_BUCKET_OVERFLOW, frame->sector);
  ln_dirty(db, bucket);
  ln_put(frame);
  return 0;
}

/* Into the bucket's page or its first overflow page: the others, of which many equal keys make many, are full, because
 * what leaves one of them is replaced from the first. */
static LN_APART int enter(struct lunar* db, struct lunar_frame* meta, uint64_t key, struct ln_place place) {
  struct lunar_frame *bucket, *frame;
  uint32_t sector;
  LN_TRY(bucket_sector(db, meta, bucket_of(key, buckets_of(meta)), &sector));
  LN_TRY(bucket_page(db, sector, &bucket));
  const uint32_t next = ln_get32(bucket->bytes + LN_BUCKET_OVERFLOW);
  int in = ln_get16(bucket->bytes + LN_BUCKET_COUNT) < capacity(db), error = 0;
  if (in) {
    put_entry(db, bucket, key, place);
  } else if (next != LN_NONE && (error = bucket_page(db, next, &frame)) == 0) {
    in = ln_get16(frame->bytes + LN_BUCKET_COUNT) < capacity(db);
    if (in) put_entry(db, frame, key, place);
    ln_put(frame);
  }
  if (!in && !error) error = put_overflow(db, bucket, key, place);
  ln_put(bucket);
  return error;
}

enum { OVERFLOWS_OF_ENTERED = 3 };

/* 1: the bucket that is split next has too many pages, for many entries may have one key: several indexes are changed
 * in one operation, and its log is short. */
static int is_too_long(struct lunar* db, struct lunar_frame* meta) {
  const uint32_t bucket = buckets_of(meta);
  uint32_t sector;
  LN_TRY(bucket_sector(db, meta, bucket - (1u << log2_floor(bucket)), &sector));
  return is_longer(db, sector, OVERFLOWS_OF_ENTERED);
}

int ln_hash_enter(struct lunar* db, struct lunar_frame* meta, uint64_t key, struct ln_place place) {
  LUNAR_ASSERT(is_meta(meta) && place.ref != LN_NONE);
  LN_TRY(enter(db, meta, key, place));
  const uint64_t rows = ln_get64(meta->bytes + LN_META_ROWS);
  if (rows * 100 <= (uint64_t)buckets_of(meta) * capacity(db) * LOAD_PERCENT) return 0;
  const int stays = is_too_long(db, meta);
  if (stays < 0) return stays;
  return stays ? 0 : split(db, meta);
}

/* Fills the entry's place with the last entry of the bucket's first overflow page. *emptied: that page, when it was its
 * only one. */
static int replace(struct lunar* db, uint32_t first, struct lunar_frame* frame, uint32_t i, uint32_t* emptied,
                   uint32_t* next) {
  struct lunar_frame* from = frame;
  if (first != LN_NONE) LN_TRY(bucket_page(db, first, &from));
  if (ln_get16(from->bytes + LN_BUCKET_COUNT) == 0) {
    ln_put(from);
    from = frame;
    first = LN_NONE;
  }
  LUNAR_ASSERT(i < ln_get16(frame->bytes + LN_BUCKET_COUNT) && ln_get16(from->bytes + LN_BUCKET_COUNT) > 0);
  const uint32_t last = ln_get16(from->bytes + LN_BUCKET_COUNT) - 1u;
  memmove(entry_at(frame->bytes, i), entry_at(from->bytes, last), LN_ENTRY);
  ln_put16(from->bytes + LN_BUCKET_COUNT, last);
  ln_dirty(db, frame);
  ln_dirty(db, from);
  if (first != LN_NONE) {
    if (last == 0) {
      *emptied = first;
      *next = ln_get32(from->bytes + LN_BUCKET_OVERFLOW);
    }
    ln_put(from);
  }
  return 0;
}

int ln_hash_leave(struct lunar* db, struct lunar_frame* meta, uint64_t key, struct ln_place place) {
  LUNAR_ASSERT(is_meta(meta) && place.ref != LN_NONE);
  uint32_t bucket, sector, first = LN_NONE, steps = 0, emptied = LN_NONE, next = LN_NONE;
  LN_TRY(bucket_sector(db, meta, bucket_of(key, buckets_of(meta)), &bucket));
  for (sector = bucket; sector != LN_NONE;) {
    struct lunar_frame* frame;
    LN_TRY(bucket_page(db, sector, &frame));
    const uint32_t count = ln_get16(frame->bytes + LN_BUCKET_COUNT);
    uint32_t i = 0;
    while (i < count && !entry_is(entry_at(frame->bytes, i), key, place)) i++;
    int error = next_of(db, frame->bytes, &sector, &steps);
    if (steps == 1) first = sector;
    if (i < count) error = replace(db, first, frame, i, &emptied, &next);
    ln_put(frame);
    LN_TRY(error);
    if (i == count) continue;
    if (emptied == LN_NONE) return 0;
    LN_TRY(unlink_page(db, bucket, next));
    return ln_free(db, overflow_ref(db, emptied));
  }
  return LUNAR_E_CORRUPT;
}
#endif

static int drop_chain(struct lunar* db, uint32_t sector) {
  for (uint32_t steps = 0, first = 1; sector != LN_NONE; first = 0) {
    struct lunar_frame* frame;
    const uint32_t here = sector;
    LN_TRY(bucket_page(db, here, &frame));
    const int error = next_of(db, frame->bytes, &sector, &steps);
    ln_put(frame);
    LN_TRY(error);
    if (!first) LN_TRY(ln_free(db, overflow_ref(db, here)));
  }
  return 0;
}

int ln_hash_drop(struct lunar* db, struct lunar_frame* meta) {
  LUNAR_ASSERT(is_meta(meta));
  const uint32_t buckets = buckets_of(meta), chunk = db->geometry.chunk_sectors;
  if (buckets == 0) return LUNAR_E_CORRUPT;
  for (uint32_t b = 0; b < buckets; b++) {
    uint32_t sector;
    LN_TRY(bucket_sector(db, meta, b, &sector));
    LN_TRY(drop_chain(db, sector));
  }
  for (uint32_t s = 0; s <= segment_of(buckets - 1); s++) {
    const uint32_t ref = ln_get32(segment_ref(meta, s));
    const uint32_t step = chunk / db->geometry.class_sectors_min;
    for (uint32_t part = 0; part * chunk < segment_sectors(s); part++) LN_TRY(ln_free(db, ref + part * step));
  }
  return 0;
}

#if LUNAR_WITH_CHECK
static int walk_segments(struct lunar* db, struct lunar_frame* meta, uint32_t segments, struct ln_walk* walk) {
  const uint32_t chunk = db->geometry.chunk_sectors, step = chunk / db->geometry.class_sectors_min;
  for (uint32_t s = 0; s < segments; s++) {
    const uint32_t ref = ln_get32(segment_ref(meta, s)), sectors = segment_sectors(s);
    if (ln_ref_class(ref) >= db->geometry.class_count ||
        ln_class_sectors(db, ln_ref_class(ref)) < (sectors < chunk ? sectors : chunk))
      return ln_walk_problem(walk, LUNAR_PROBLEM_INDEX_PAGE, meta->sector);
    for (uint32_t part = 0; part * chunk < sectors; part++) LN_TRY(walk->block(walk, ref + part * step, meta->sector));
  }
  return 0;
}

static int walk_entries(struct lunar* db, const struct lunar_frame* frame, uint32_t bucket, uint32_t buckets,
                        struct ln_walk* walk) {
  uint8_t* page = frame->bytes;
  const uint32_t count = ln_get16(page + LN_BUCKET_COUNT);
  if (count > capacity(db)) return ln_walk_problem(walk, LUNAR_PROBLEM_INDEX_PAGE, frame->sector);
  for (uint32_t i = 0; i < count; i++) {
    const uint8_t* entry = entry_at(page, i);
    const struct ln_place place = {ln_get32(entry + 8), ln_get16(entry + 12)};
    if (bucket_of(ln_get64(entry), buckets) != bucket)
      return ln_walk_problem(walk, LUNAR_PROBLEM_INDEX_ORDER, frame->sector);
    const struct ln_key key = {.number = ln_get64(entry)};
    LN_TRY(walk->entry(walk, &key, place, frame->sector));
  }
  return 0;
}

static int walk_overflow(struct lunar* db, uint32_t sector, uint32_t from, struct ln_walk* walk) {
  const uint32_t at = sector - db->geometry.data_at;
  if (sector == LN_NONE) return 0;
  if (sector < db->geometry.data_at || at % db->geometry.class_sectors_min)
    return ln_walk_problem(walk, LUNAR_PROBLEM_INDEX_PAGE, from);
  return walk->block(walk, overflow_ref(db, sector), from);
}

int ln_hash_walk(struct ln_walk* walk, struct lunar_frame* meta) {
  struct lunar* db = walk->db;
  const uint32_t buckets = buckets_of(meta);
  if (buckets == 0 || segment_of(buckets - 1) >= LN_SEGMENTS)
    return ln_walk_problem(walk, LUNAR_PROBLEM_INDEX_PAGE, meta->sector);
  LN_TRY(walk_segments(db, meta, segment_of(buckets - 1) + 1, walk));
  for (uint32_t bucket = 0; bucket < buckets; bucket++) {
    uint32_t sector;
    LN_TRY(bucket_sector(db, meta, bucket, &sector));
    while (sector != LN_NONE) {
      struct lunar_frame* frame;
      LN_TRY(ln_walk_page(walk, sector, LN_BUCKET, &frame));
      int error = walk_entries(db, frame, bucket, buckets, walk);
      sector = ln_get32(frame->bytes + LN_BUCKET_OVERFLOW);
      if (!error) error = walk_overflow(db, sector, frame->sector, walk);
      ln_put(frame);
      LN_TRY(error);
    }
  }
  return 0;
}
#endif
