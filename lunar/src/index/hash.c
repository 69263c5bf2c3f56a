/* Indexes by linear hashing (W. Litwin, VLDB 1980). A bucket is a page and the overflow pages chained to it. Bucket b
 * lies in segment floor(log2 b) + 1 (bucket 0 in segment 0); the buckets of a segment are contiguous.
 *
 * A bucket is split over as many insertions as its chain needs: each insertion handles a few pages. Until the split is
 * complete, the chain of the old bucket may also have entries of the new one.
 */
#include "index.h"

/* SPLIT_PAGES: pages of a split that one insertion handles. A record names at most eight new blocks: an overflow page
 * for the new entry, and one for each page of the split. In the first step of a split, the page of the new bucket makes
 * one of them unnecessary, but the new bucket may need a segment. SPLIT_PAGES_SECONDARY is smaller: an operation that
 * changes several indexes has less of the log for each. */
enum { LOAD_PERCENT = 80, SPLIT_PAGES = 7, SPLIT_PAGES_SECONDARY = 4 };

static uint32_t capacity(const struct lunar* db) { return (db->config->sector_bytes - LN_BUCKET_HEADER) / LN_ENTRY; }

#if LUNAR_DEBUG
/* A pinned metadata page of a table, or the copy of that of a secondary index. */
static int is_meta(const struct lunar_frame* frame) {
  return frame->sector == LN_NONE || (frame->pins > 0 && frame->kind == LN_META);
}

#endif

/* The hash depends on the volume's number. A user who chooses the keys does not know it, so cannot choose keys that
 * share a bucket. The number is added before the first multiplication, so that consecutive keys stay as evenly spread
 * as without it. */
static uint32_t mixed(const struct lunar* db, uint64_t key) {
  key = (key + db->geometry.volume) * 0xff51afd7ed558ccdu;
  key = (key ^ key >> 33) * 0xc4ceb9fe1a85ec53u;
  return (uint32_t)(key ^ key >> 33);
}

static uint32_t log2_floor(uint32_t v) {
  uint32_t log = 0;
  while (v >>= 1) log++;
  return log;
}

static uint32_t bucket_of(const struct lunar* db, uint64_t key, uint32_t buckets) {
  const uint32_t level = 1u << log2_floor(buckets), low = mixed(db, key) & (2 * level - 1);
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

static int bucket_sector(struct lunar_frame* meta, uint32_t bucket, uint32_t* sector) {
  const uint32_t segment = segment_of(bucket);
  if (segment >= LN_SEGMENTS) return LUNAR_E_CORRUPT;
  *sector = ln_get32(segment_ref(meta, segment)) + bucket - segment_first(segment);
  return 0;
}

/* Returns the last page of the old bucket's chain from which the split has moved entries; the new bucket's page if the
 * split has handled none yet; LN_NONE if no bucket is being split. */
static uint32_t split_at(struct lunar_frame* meta) { return ln_get32(meta->bytes + LN_META_SPLIT); }

static void split_set(struct lunar* db, struct lunar_frame* meta, uint32_t sector) {
  ln_put32(meta->bytes + LN_META_SPLIT, sector);
  ln_dirty(db, meta);
}

/* Returns the bucket whose split makes, or has made, the last bucket. */
static uint32_t split_bucket(uint32_t buckets) {
  LUNAR_ASSERT(buckets > 1);
  return buckets - 1 - (1u << log2_floor(buckets - 1));
}

/* The pages in which an entry may lie: those of its bucket and, while a split fills this bucket, those of the bucket
 * that is split. sector: the page, LN_NONE behind the last. other: first page of the bucket that is split; LN_NONE:
 * none. steps: pages passed so far. */
struct chain {
  uint32_t bucket, sector, other, steps;
};

static int chain_of(struct lunar* db, struct lunar_frame* meta, uint64_t key, struct chain* chain) {
  const uint32_t buckets = buckets_of(meta);
  *chain = (struct chain){.bucket = bucket_of(db, key, buckets), .other = LN_NONE};
  if (buckets > 1 && chain->bucket == buckets - 1 && split_at(meta) != LN_NONE)
    LN_TRY(bucket_sector(meta, split_bucket(buckets), &chain->other));
  return bucket_sector(meta, chain->bucket, &chain->sector);
}

/* Moves on to the next page. A chain of more pages than the device has sectors is a cycle. */
static int next_of(struct lunar* db, const uint8_t* page, struct chain* chain) {
  chain->sector = ln_get32(page + LN_BUCKET_OVERFLOW);
  if (chain->sector == LN_NONE) {
    chain->sector = chain->other;
    chain->other = LN_NONE;
  }
  return ++chain->steps > db->config->sector_count ? LUNAR_E_CORRUPT : 0;
}

static uint8_t* entry_at(uint8_t* page, uint32_t i) { return page + LN_BUCKET_HEADER + LN_ENTRY * i; }

static int entry_is(const uint8_t* entry, uint64_t key, struct ln_place place) {
  return ln_get64(entry) == key && ln_get32(entry + 8) == place.ref && ln_get16(entry + 12) == place.slot;
}

#if LUNAR_DEBUG
/* Returns 1 if no entry of the page belongs to the bucket, 0 if one does. */
static int has_none_of(const struct lunar* db, const uint8_t* page, uint32_t bucket, uint32_t buckets) {
  const uint32_t count = ln_get16(page + LN_BUCKET_COUNT);
  LUNAR_ASSERT(count <= capacity(db));
  for (uint32_t i = 0; i < count; i++)
    if (bucket_of(db, ln_get64(page + LN_BUCKET_HEADER + LN_ENTRY * i), buckets) == bucket) return 0;
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

/* Returns the class of the block that the segment is, or of the chunks of which it consists. */
static uint8_t segment_class(const struct lunar* db, uint32_t segment) {
  uint8_t class = 0;
  while (class + 1 < db->geometry.class_count && ln_class_sectors(db, class) < segment_sectors(segment)) class ++;
  return class;
}

static int segment_alloc(struct lunar* db, struct lunar_frame* meta, uint32_t segment) {
  const uint32_t sectors = segment_sectors(segment), chunk = db->geometry.chunk_sectors;
  uint32_t ref;
  LUNAR_ASSERT(segment < LN_SEGMENTS);
  if (sectors <= chunk)
    LN_TRY(ln_alloc(db, segment_class(db, segment), LN_NONE, &ref));
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
  split_set(db, meta, LN_NONE);
  LN_TRY(bucket_sector(meta, 0, &sector));
  return fresh_bucket(db, sector);
}

int ln_hash_find(struct lunar* db, struct lunar_frame* meta, uint64_t key, ln_matches matches, void* context,
                 struct ln_place* place) {
  LUNAR_ASSERT(is_meta(meta) && place);
  struct chain chain;
  LN_TRY(chain_of(db, meta, key, &chain));
  while (chain.sector != LN_NONE) {
    struct lunar_frame* frame;
    LN_TRY(bucket_page(db, chain.sector, &frame));
    const uint32_t count = ln_get16(frame->bytes + LN_BUCKET_COUNT);
    int found = 0;
    for (uint32_t i = 0; i < count && !found; i++) {
      const uint8_t* entry = entry_at(frame->bytes, i);
      if (ln_get64(entry) != key) continue;
      *place = (struct ln_place){ln_get32(entry + 8), ln_get16(entry + 12)};
      found = matches ? matches(context, *place) : 1;
    }
    const int error = next_of(db, frame->bytes, &chain);
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

/* Adds an entry to the first page of the chain that has room. Adds an overflow page if none has. */
static int append(struct lunar* db, uint32_t sector, uint64_t key, struct ln_place place) {
  struct chain chain = {.sector = sector, .other = LN_NONE};
  for (;;) {
    struct lunar_frame* frame;
    LN_TRY(bucket_page(db, chain.sector, &frame));
    uint8_t* page = frame->bytes;
    const uint32_t count = ln_get16(page + LN_BUCKET_COUNT);
    if (count < capacity(db)) {
      put_entry(db, frame, key, place);
      ln_put(frame);
      return 0;
    }
    int error = next_of(db, page, &chain);
    if (!error && chain.sector == LN_NONE) {
      error = ln_alloc(db, 0, LN_NONE, &chain.sector);
      if (!error) {
        ln_put32(page + LN_BUCKET_OVERFLOW, chain.sector);
        ln_dirty(db, frame);
        error = fresh_bucket(db, chain.sector);
      }
    }
    ln_put(frame);
    LN_TRY(error);
  }
}

/* Moves the entries of one page of the old bucket that now belong to the new one. */
static int move_entries(struct lunar* db, struct lunar_frame* frame, uint32_t new_bucket, uint32_t new_sector,
                        uint32_t buckets) {
  uint8_t* page = frame->bytes;
  uint32_t count = ln_get16(page + LN_BUCKET_COUNT);
  for (uint32_t i = 0; i < count;) {
    uint8_t* entry = entry_at(page, i);
    if (bucket_of(db, ln_get64(entry), buckets) != new_bucket) {
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

static int unlink_page(struct lunar* db, uint32_t previous, uint32_t next) {
  struct lunar_frame* frame;
  LN_TRY(bucket_page(db, previous, &frame));
  ln_put32(frame->bytes + LN_BUCKET_OVERFLOW, next);
  ln_dirty(db, frame);
  ln_put(frame);
  return 0;
}

#if LUNAR_WITH_REPAIR
static uint32_t segments_max(const struct lunar* db) {
  const uint32_t limit = (uint32_t)db->building >> LN_FEWER_SEGMENTS;
  return limit ? limit : LN_SEGMENTS;
}

uint32_t ln_hash_segments(const struct lunar* db, uint32_t rows) {
  return segment_of(rows / (capacity(db) * LOAD_PERCENT / 100)) + 1;
}
#else
#define segments_max(db) LN_SEGMENTS
#endif

/* Adds a bucket, to which split_on will move entries. Returns 1; 0 if there is no room, so that chains become longer
 * instead; or an error. */
static int split_begin(struct lunar* db, struct lunar_frame* meta) {
  const uint32_t bucket = buckets_of(meta), segment = segment_of(bucket);
  uint32_t sector;
  if (segment >= segments_max(db)) return 0;
  if (bucket == segment_first(segment)) {
    const int error = segment_alloc(db, meta, segment);
    if (error) return error == LUNAR_E_FULL ? ln_go_without(db) : error;
  }
  LN_TRY(bucket_sector(meta, bucket, &sector));
  LN_TRY(fresh_bucket(db, sector));
  ln_put32(meta->bytes + LN_META_BUCKETS, bucket + 1);
  split_set(db, meta, sector);
  return 1;
}

/* Moves the entries of the next pages of the bucket that is split. If there is no room for an overflow page, the other
 * entries stay until a later insertion. */
static LN_APART int split_on(struct lunar* db, struct lunar_frame* meta, uint32_t pages) {
  const uint32_t buckets = buckets_of(meta);
  uint32_t new_sector, previous = split_at(meta), sector;
  struct lunar_frame* frame;
  LN_TRY(bucket_sector(meta, buckets - 1, &new_sector));
  if (previous == new_sector) {
    LN_TRY(bucket_sector(meta, split_bucket(buckets), &sector));
  } else {
    LN_TRY(bucket_page(db, previous, &frame));
    sector = ln_get32(frame->bytes + LN_BUCKET_OVERFLOW);
    ln_put(frame);
  }
  for (; pages && sector != LN_NONE; pages--) {
    const uint32_t here = sector;
    LN_TRY(bucket_page(db, here, &frame));
    const int error = move_entries(db, frame, buckets - 1, new_sector, buckets);
    const int empty = previous != new_sector && ln_get16(frame->bytes + LN_BUCKET_COUNT) == 0;
    sector = ln_get32(frame->bytes + LN_BUCKET_OVERFLOW);
    ln_put(frame);
    if (error) return error == LUNAR_E_FULL ? ln_go_without(db) : error;
    if (empty) {
      LN_TRY(unlink_page(db, previous, sector));
      LN_TRY(ln_free(db, here));
    } else {
      split_set(db, meta, previous = here);
    }
  }
  if (sector == LN_NONE) split_set(db, meta, LN_NONE);
  return 0;
}

static int grow(struct lunar* db, struct lunar_frame* meta, uint32_t pages) {
  if (split_at(meta) == LN_NONE) {
    const uint64_t rows = ln_get64(meta->bytes + LN_META_ROWS);
    if (rows * 100 <= (uint64_t)buckets_of(meta) * capacity(db) * LOAD_PERCENT) return 0;
    const int begun = split_begin(db, meta);
    if (begun <= 0) return begun;
  }
  return split_on(db, meta, pages);
}

static LN_APART int add(struct lunar* db, struct lunar_frame* meta, uint64_t key, struct ln_place place) {
  struct chain chain;
  LN_TRY(chain_of(db, meta, key, &chain));
  return append(db, chain.sector, key, place);
}

int ln_hash_insert(struct lunar* db, struct lunar_frame* meta, uint64_t key, struct ln_place place) {
  LUNAR_ASSERT(is_meta(meta) && place.ref != LN_NONE);
  LN_TRY(add(db, meta, key, place));
  return grow(db, meta, SPLIT_PAGES);
}

int ln_hash_move(struct lunar* db, struct lunar_frame* meta, uint64_t key, struct ln_place from, struct ln_place to) {
  LUNAR_ASSERT(is_meta(meta) && from.ref != LN_NONE);
  struct chain chain;
  LN_TRY(chain_of(db, meta, key, &chain));
  while (chain.sector != LN_NONE) {
    struct lunar_frame* frame;
    LN_TRY(bucket_page(db, chain.sector, &frame));
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
    const int error = next_of(db, page, &chain);
    ln_put(frame);
    LN_TRY(error);
  }
  return LUNAR_E_CORRUPT;
}

#if LUNAR_WITH_SECONDARY
/* Puts the entry into a new overflow page, directly behind the bucket's page. */
static int put_overflow(struct lunar* db, struct lunar_frame* bucket, uint64_t key, struct ln_place place) {
  struct lunar_frame* frame;
  uint32_t ref;
  LN_TRY(ln_alloc(db, 0, LN_NONE, &ref));
  LN_TRY(ln_page_fresh(db, ref, LN_BUCKET, &frame));
  ln_put32(frame->bytes + LN_BUCKET_OVERFLOW, ln_get32(bucket->bytes + LN_BUCKET_OVERFLOW));
  put_entry(db, frame, key, place);
  ln_put32(bucket->bytes + LN_BUCKET_OVERFLOW, frame->sector);
  ln_dirty(db, bucket);
  ln_put(frame);
  return 0;
}

/* Inserts an entry into the bucket's page or its first overflow page. The other overflow pages, of which many equal
 * keys make many, are not searched: they are normally full, because ln_hash_leave fills a gap in them with an entry of
 * the first one. */
static LN_APART int enter(struct lunar* db, struct lunar_frame* meta, uint64_t key, struct ln_place place) {
  struct lunar_frame *bucket, *frame;
  struct chain chain;
  LN_TRY(chain_of(db, meta, key, &chain));
  LN_TRY(bucket_page(db, chain.sector, &bucket));
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

int ln_hash_enter(struct lunar* db, struct lunar_frame* meta, uint64_t key, struct ln_place place) {
  LUNAR_ASSERT(is_meta(meta) && place.ref != LN_NONE);
  LN_TRY(enter(db, meta, key, place));
  return grow(db, meta, SPLIT_PAGES_SECONDARY);
}

/* Removes entry i of a page: the last entry of overflow page `first` takes its position, or the last one of the same
 * page if first is LN_NONE or empty. If `first` becomes empty, *emptied is its sector and *next that of the page behind
 * it. */
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

/* Returns 1 if a split reads or fills this bucket, 0 if not. Then no entry may move to another page of its chain, which
 * the split may already have handled. */
static int is_in_split(struct lunar_frame* meta, uint32_t bucket) {
  const uint32_t buckets = buckets_of(meta);
  return split_at(meta) != LN_NONE && buckets > 1 && (bucket == buckets - 1 || bucket == split_bucket(buckets));
}

int ln_hash_leave(struct lunar* db, struct lunar_frame* meta, uint64_t key, struct ln_place place) {
  LUNAR_ASSERT(is_meta(meta) && place.ref != LN_NONE);
  uint32_t first = LN_NONE, emptied = LN_NONE, next = LN_NONE;
  struct chain chain;
  LN_TRY(chain_of(db, meta, key, &chain));
  const uint32_t bucket = chain.sector;
  const int stays = is_in_split(meta, chain.bucket);
  while (chain.sector != LN_NONE) {
    struct lunar_frame* frame;
    LN_TRY(bucket_page(db, chain.sector, &frame));
    const uint32_t count = ln_get16(frame->bytes + LN_BUCKET_COUNT);
    uint32_t i = 0;
    while (i < count && !entry_is(entry_at(frame->bytes, i), key, place)) i++;
    int error = next_of(db, frame->bytes, &chain);
    if (chain.steps == 1 && !stays) first = chain.sector;
    if (i < count) error = replace(db, first, frame, i, &emptied, &next);
    ln_put(frame);
    LN_TRY(error);
    if (i == count) continue;
    if (emptied == LN_NONE) return 0;
    LN_TRY(unlink_page(db, bucket, next));
    return ln_free(db, emptied);
  }
  return LUNAR_E_CORRUPT;
}
#endif

static int drop_chain(struct lunar* db, uint32_t sector) {
  struct chain chain = {.sector = sector, .other = LN_NONE};
  while (chain.sector != LN_NONE) {
    struct lunar_frame* frame;
    const uint32_t here = chain.sector;
    LN_TRY(bucket_page(db, here, &frame));
    const int error = next_of(db, frame->bytes, &chain);
    ln_put(frame);
    LN_TRY(error);
    if (here != sector) LN_TRY(ln_free(db, here));
  }
  return 0;
}

#if LUNAR_WITH_TRUNCATE
static int empty_again(struct lunar* db, struct lunar_frame* meta) {
  struct lunar_frame* frame;
  ln_put32(meta->bytes + LN_META_BUCKETS, 1);
  split_set(db, meta, LN_NONE);
  LN_TRY(bucket_page(db, ln_get32(segment_ref(meta, 0)), &frame));
  ln_put16(frame->bytes + LN_BUCKET_COUNT, 0);
  ln_put32(frame->bytes + LN_BUCKET_OVERFLOW, LN_NONE);
  ln_dirty(db, frame);
  ln_put(frame);
  return 0;
}
#else
#define empty_again(db, meta) 0
#endif

int ln_hash_drop(struct lunar* db, struct lunar_frame* meta, int stays) {
  LUNAR_ASSERT(is_meta(meta));
  const uint32_t buckets = buckets_of(meta), chunk = db->geometry.chunk_sectors;
  if (buckets == 0) return LUNAR_E_CORRUPT;
  for (uint32_t b = 0; b < buckets; b++) {
    uint32_t sector;
    LN_TRY(bucket_sector(meta, b, &sector));
    LN_TRY(drop_chain(db, sector));
  }
  for (uint32_t s = LUNAR_WITH_TRUNCATE && stays ? 1 : 0; s <= segment_of(buckets - 1); s++) {
    const uint32_t ref = ln_get32(segment_ref(meta, s));
    for (uint32_t part = 0; part < segment_sectors(s); part += chunk) LN_TRY(ln_free(db, ref + part));
  }
  return LUNAR_WITH_TRUNCATE && stays ? empty_again(db, meta) : 0;
}

#if LUNAR_WITH_CHECK || LUNAR_WITH_REPAIR
static int walk_segments(struct lunar* db, struct lunar_frame* meta, uint32_t segments, struct ln_walk* walk) {
  for (uint32_t s = 0; s < segments; s++) {
    const uint32_t ref = ln_get32(segment_ref(meta, s)), block = ln_class_sectors(db, segment_class(db, s));
    if (ref < db->geometry.data_at || ref >= db->config->sector_count)
      return ln_walk_problem(walk, LUNAR_PROBLEM_INDEX_PAGE, meta->sector);
    for (uint32_t part = 0; part < segment_sectors(s); part += block)
      LN_TRY(walk->block(walk, ref + part, block, meta->sector));
  }
  return 0;
}

/* also: another bucket whose entries may lie in the page. */
static int walk_entries(struct lunar* db, const struct lunar_frame* frame, uint32_t bucket, uint32_t also,
                        uint32_t buckets, struct ln_walk* walk) {
  uint8_t* page = frame->bytes;
  const uint32_t count = ln_get16(page + LN_BUCKET_COUNT);
  if (count > capacity(db)) return ln_walk_problem(walk, LUNAR_PROBLEM_INDEX_PAGE, frame->sector);
  for (uint32_t i = 0; i < count; i++) {
    const uint8_t* entry = entry_at(page, i);
    const struct ln_place place = {ln_get32(entry + 8), ln_get16(entry + 12)};
    const uint32_t of = bucket_of(db, ln_get64(entry), buckets);
    if (of != bucket && of != also) return ln_walk_problem(walk, LUNAR_PROBLEM_INDEX_ORDER, frame->sector);
    const struct ln_key key = {.number = ln_get64(entry)};
    LN_TRY(walk->entry(walk, &key, place, frame->sector));
  }
  return 0;
}

static int walk_overflow(struct lunar* db, uint32_t sector, uint32_t from, struct ln_walk* walk) {
  if (sector == LN_NONE) return 0;
  if (sector < db->geometry.data_at) return ln_walk_problem(walk, LUNAR_PROBLEM_INDEX_PAGE, from);
  return walk->block(walk, sector, db->geometry.class_sectors_min, from);
}

int ln_hash_walk(struct ln_walk* walk, struct lunar_frame* meta) {
  struct lunar* db = walk->db;
  const uint32_t buckets = buckets_of(meta);
  if (buckets == 0 || segment_of(buckets - 1) >= LN_SEGMENTS)
    return ln_walk_problem(walk, LUNAR_PROBLEM_INDEX_PAGE, meta->sector);
  LN_TRY(walk_segments(db, meta, segment_of(buckets - 1) + 1, walk));
  const int splitting = split_at(meta) != LN_NONE;
  const uint32_t from = splitting && buckets > 1 ? split_bucket(buckets) : LN_NONE;
  int met = !splitting; /* 1: the walk has met the page that split_at returns */
  for (uint32_t bucket = 0; bucket < buckets; bucket++) {
    uint32_t sector;
    LN_TRY(bucket_sector(meta, bucket, &sector));
    const uint32_t also = bucket == from ? buckets - 1 : bucket;
    if (bucket == buckets - 1 && split_at(meta) == sector) met = 1;
    while (sector != LN_NONE) {
      struct lunar_frame* frame;
      if (bucket == from && sector == split_at(meta)) met = 1;
      LN_TRY(ln_walk_page(walk, sector, LN_BUCKET, &frame));
      int error = walk_entries(db, frame, bucket, also, buckets, walk);
      sector = ln_get32(frame->bytes + LN_BUCKET_OVERFLOW);
      if (!error) error = walk_overflow(db, sector, frame->sector, walk);
      ln_put(frame);
      LN_TRY(error);
    }
  }
  return met ? 0 : ln_walk_problem(walk, LUNAR_PROBLEM_INDEX_PAGE, meta->sector);
}
#endif

#if LUNAR_WITH_REPAIR
static int is_in_segment(struct lunar* db, struct lunar_frame* meta, uint32_t ref) {
  const uint32_t buckets = buckets_of(meta);
  for (uint32_t s = 0; s <= segment_of(buckets - 1) && s < LN_SEGMENTS; s++) {
    const uint32_t block = ln_class_sectors(db, segment_class(db, s)), sectors = segment_sectors(s);
    if (ref - ln_get32(segment_ref(meta, s)) < (sectors > block ? sectors : block)) return 1;
  }
  return 0;
}

static int chain_has(struct lunar* db, uint32_t sector, uint32_t ref) {
  struct chain chain = {.sector = sector, .other = LN_NONE};
  while (chain.sector != LN_NONE && chain.sector != ref) {
    struct lunar_frame* frame;
    LN_TRY(bucket_page(db, chain.sector, &frame));
    const int error = next_of(db, frame->bytes, &chain);
    ln_put(frame);
    LN_TRY(error);
  }
  return chain.sector == ref;
}

/* Searches the chains in which the first entry of the page may lie. For a page without entries, searches all chains. */
int ln_hash_has_page(struct lunar* db, struct lunar_frame* meta, uint32_t ref, int kind) {
  LUNAR_ASSERT(is_meta(meta));
  struct lunar_frame* frame;
  struct chain chain;
  const uint32_t buckets = buckets_of(meta);
  if (buckets == 0) return 0; /* given up */
  if (is_in_segment(db, meta, ref)) return 1;
  if (kind != LN_BUCKET) return 0;
  LN_TRY(bucket_page(db, ref, &frame));
  const uint32_t count = ln_get16(frame->bytes + LN_BUCKET_COUNT);
  const uint64_t key = ln_get64(entry_at(frame->bytes, 0));
  ln_put(frame);
  LN_TRY(chain_of(db, meta, key, &chain));
  const uint32_t first = count ? chain.bucket : 0, end = count ? chain.bucket + 1 : buckets;
  int has = count && chain.other != LN_NONE ? chain_has(db, chain.other, ref) : 0;
  for (uint32_t bucket = first; has == 0 && bucket < end; bucket++) {
    LN_TRY(bucket_sector(meta, bucket, &chain.sector));
    has = chain_has(db, chain.sector, ref);
  }
  return has;
}
#endif
