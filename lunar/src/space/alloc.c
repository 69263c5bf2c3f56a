/* Blocks of DATA_ZONE. A chunk (as large as the largest class) is free or divided into blocks of one class.
 *
 * A freed block is not available before the next checkpoint. Until then recovery may restore a state in which the block
 * is in use, and a new row, which is written in place at once, would have overwritten it. The stamp of a chunk tells
 * between which two checkpoints a block of it was freed last.
 */
#include "space.h"

enum {
  BLOCKS_SURE = 8, /* with this number of free chunks an operation gets its small blocks for certain */
  RUN = 8,         /* chunks of the run that is searched for a block of the largest class */
  WINDOW = 256,    /* chunks that are searched first */
  RESERVED_OF = 16 /* with fewer chunks than this, none is reserved */
};

struct entry {
  struct lunar_frame* frame;
  uint8_t* bytes;
};

uint32_t ln_class_sectors(const struct lunar* db, uint8_t class) {
  return db->geometry.class_growth == 1 ? db->geometry.chunk_sectors
                                        : (uint32_t)db->geometry.class_sectors_min << class;
}

uint8_t ln_class_of(const struct lunar* db, uint32_t sectors) {
  uint8_t class = 0;
  while (class < db->geometry.class_count && ln_class_sectors(db, class) != sectors) class ++;
  return class;
}

static uint32_t ref_of(const struct lunar* db, uint32_t chunk, uint32_t index, uint8_t class) {
  return db->geometry.data_at + chunk * db->geometry.chunk_sectors + index * ln_class_sectors(db, class);
}

/* Returns chunk_count or more if the sector is not in a chunk of DATA_ZONE. */
static uint32_t chunk_of(const struct lunar* db, uint32_t sector) {
  return (sector - db->geometry.data_at) / db->geometry.chunk_sectors;
}

/* Returns the number, within its chunk, of the block of this class that begins at the sector. LN_NONE: none does. */
static uint32_t index_of(const struct lunar* db, uint32_t sector, uint8_t class) {
  const uint32_t at = (sector - db->geometry.data_at) % db->geometry.chunk_sectors, size = ln_class_sectors(db, class);
  return at % size ? LN_NONE : at / size;
}

static uint32_t blocks_of(const struct lunar* db, uint8_t class) {
  return db->geometry.chunk_sectors / ln_class_sectors(db, class);
}

static int entry_get(struct lunar* db, uint32_t chunk, struct entry* entry) {
  LUNAR_ASSERT(chunk < db->geometry.chunk_count);
  const uint32_t per_page = (db->config->sector_bytes - LN_MAP_HEADER) / LN_MAP_ENTRY;
  LN_TRY(ln_page(db, db->geometry.map_at + chunk / per_page, LN_MAP, &entry->frame));
  entry->bytes = entry->frame->bytes + LN_MAP_HEADER + LN_MAP_ENTRY * (chunk % per_page);
  return 0;
}

/* Returns the stamp for the time since the last checkpoint. Never 0, the stamp of a chunk of which no block was
 * freed. */
static uint32_t stamp(const struct lunar* db) { return 1 + db->checkpoints % 0xffff; }

/* Returns 1 if a block of the chunk was freed since the last checkpoint. If db->freed is 0, no block was: an equal
 * stamp is 65,535 checkpoints old. */
static int stamped(const struct lunar* db, const uint8_t* entry) {
  return db->freed && ln_get16(entry + LN_MAP_STAMP) == stamp(db);
}

static int bit(const uint8_t* entry, uint32_t i) { return entry[LN_MAP_BITS + i / 8] >> i % 8 & 1; }

/* Marks block number `index` of the chunk as used. The chunk is free or of this class. */
static int take(struct lunar* db, struct entry* entry, uint32_t index, uint8_t class) {
  if (entry->bytes[0] == LN_CHUNK_FREE) {
    entry->bytes[0] = class;
    entry->bytes[LN_MAP_USED] = 0;
    memset(entry->bytes + LN_MAP_BITS, 0, LN_CHUNK_BLOCKS_MAX / 8);
    db->chunks_free--;
  }
  if (entry->bytes[0] != class || index >= blocks_of(db, class)) return LUNAR_E_CORRUPT;
  if (bit(entry->bytes, index)) return LN_IS_STALE(db) ? 0 : LUNAR_E_CORRUPT;
  entry->bytes[LN_MAP_BITS + index / 8] |= (uint8_t)(1u << index % 8);
  entry->bytes[LN_MAP_USED]++;
  ln_dirty(db, entry->frame);
  return 0;
}

static int take_at(struct lunar* db, uint32_t chunk, uint32_t index, uint8_t class) {
  struct entry entry;
  LN_TRY(entry_get(db, chunk, &entry));
  const int error = take(db, &entry, index, class);
  ln_put(entry.frame);
  return error;
}

static int take_ref(struct lunar* db, uint32_t ref, uint8_t class) {
  const uint32_t chunk = chunk_of(db, ref), index = index_of(db, ref, class);
  if (chunk >= db->geometry.chunk_count || index == LN_NONE) return LUNAR_E_CORRUPT;
  return take_at(db, chunk, index, class);
}

/* Returns 1 if only the reserved free chunk is left. Only rows that are moved to make room, ring tables on a full
 * device and repairs (db->reclaiming) may take it. */
static int is_reserved(const struct lunar* db) {
  return !db->reclaiming && db->geometry.chunk_count >= RESERVED_OF && db->chunks_free <= db->chunks_waiting + 1;
}

#if LUNAR_WITH_REPAIR
/* A repair takes a free chunk only if no used chunk has room, because its new indexes have only about as much room as
 * the old ones left. */
#define PACKS(db) ((db)->building & LN_AVOIDS_BAD)
#else
#define PACKS(db) 0
#endif

/* Takes a block of the chunk, the first free one from number `first` on, and sets *ref to it. Returns 1, 0 if the chunk
 * has none for this class or more than `most` of its blocks are in use, or an error. */
static int try_chunk(struct lunar* db, uint32_t chunk, uint32_t first, uint8_t class, uint32_t most, uint32_t* ref) {
  struct entry entry;
  if (chunk >= db->geometry.chunk_count) return 0;
  LN_TRY(entry_get(db, chunk, &entry));
  const uint8_t* e = entry.bytes;
  const uint32_t blocks = blocks_of(db, class);
  const int opens = e[0] == LN_CHUNK_FREE && !is_reserved(db) && (!PACKS(db) || most == LN_NONE);
  const int fits = opens || (e[0] == class && e[LN_MAP_USED] <= most);
  const int usable = !stamped(db, e) && fits;
  int taken = 0;
  for (uint32_t i = 0; usable && !taken && i < blocks; i++) {
    const uint32_t index = (first + i) % blocks;
    if (e[0] == class && bit(e, index)) continue;
    *ref = ref_of(db, chunk, index, class);
    taken = take(db, &entry, index, class);
    taken = taken < 0 ? taken : 1;
  }
  if (!taken) entry.frame->used = 0;
  ln_put(entry.frame);
  return taken;
}

/* In a recovery: takes the next block that the record names. Returns E_FULL where the operation got no block. */
static int taken_before(struct lunar* db, uint8_t class, uint32_t* ref) {
  if (db->allocated_taken == db->allocated_count) return LUNAR_E_FULL;
  *ref = db->allocated[db->allocated_taken++];
  if (*ref == LN_NONE) return LUNAR_E_FULL;
  return take_ref(db, *ref, class);
}

static LN_APART int list_ref(struct lunar* db, uint32_t ref) {
  if (db->allocated_count == sizeof db->allocated / sizeof db->allocated[0]) return LUNAR_E_TOO_LARGE;
  db->allocated[db->allocated_count++] = ref;
  return 0;
}

static int remember(struct lunar* db, uint32_t chunk, uint8_t class, uint32_t ref) {
  LUNAR_ASSERT(chunk < db->geometry.chunk_count && class < db->geometry.class_count);
  db->class_hint[class] = chunk;
  if (chunk > db->chunk_last) db->chunk_last = chunk;
  return list_ref(db, ref);
}

int ln_go_without(struct lunar* db) { return db->redoing ? 0 : list_ref(db, LN_NONE); }

/* Returns 1 if the whole chunk can be allocated, 0 if not, or an error. */
static int is_free(struct lunar* db, uint32_t chunk) {
  struct entry entry;
  LN_TRY(entry_get(db, chunk, &entry));
  const int result = entry.bytes[0] == LN_CHUNK_FREE && !stamped(db, entry.bytes);
  entry.frame->used = 0; /* the frame is evicted next, so that a search does not evict others */
  ln_put(entry.frame);
  return result;
}

#if LUNAR_WITH_REPAIR
/* A repair must not put new pages into sectors that cannot be read. */
#define IS_GOOD(db, ref, sectors) ((db)->building & LN_AVOIDS_BAD ? ln_can_be_read(db, ref, sectors) : 1)
#else
#define IS_GOOD(db, ref, sectors) 1
#endif

/* Searches for the longest run of free chunks, from *chunk on, and sets *chunk to its first one. Stops at a run of the
 * wanted length. Returns the length of the run, or an error. nearby: searches only a window (WINDOW chunks). */
static LN_APART int find_run(struct lunar* db, int nearby, uint32_t wanted, uint32_t* chunk) {
  LUNAR_ASSERT(chunk && wanted > 0);
  const uint32_t chunks = db->geometry.chunk_count, start = *chunk, most = nearby ? WINDOW : chunks + wanted;
  uint32_t length = 0, longest = 0;
  for (uint32_t i = 0; i < most && longest < wanted; i++) {
    const uint32_t at = (start + i) % chunks;
    int free_here = is_free(db, at);
    if (free_here > 0 && !nearby) free_here = IS_GOOD(db, ref_of(db, at, 0, 0), db->geometry.chunk_sectors);
    LN_TRY(free_here);
    if (at == 0) length = 0; /* a run does not continue behind the last chunk */
    length = free_here ? length + 1 : 0;
    if (length > longest) {
      longest = length;
      *chunk = at + 1 - length;
    }
  }
  return (int)longest;
}

/* Tries the chunks of the whole map (see try_chunk): first a window from the hint on, then all chunks, beginning with
 * the last one that was ever used. The first pass avoids chunks that are more than half in use. Remembers a pass
 * without result (db->searched) until freed blocks become available. */
static LN_APART int search(struct lunar* db, uint8_t class, uint32_t* chunk, uint32_t* ref) {
  const uint32_t chunks = db->geometry.chunk_count;
  LUNAR_ASSERT(class < 8 && db->chunks_waiting <= db->chunks_free);
  uint32_t at = db->chunk_hint, most = blocks_of(db, class);
  if (!PACKS(db)) most /= 2; /* in nearly full chunks a table would be scattered */
  uint32_t bit = 1u << (class + (db->reclaiming ? 16 : 0));
  for (uint32_t pass = 0; pass < 2; pass++, bit <<= 8, at = 0, most = LN_NONE) {
    if (db->searched & bit) continue;
    for (uint32_t i = 0; i < WINDOW + chunks; i++, at = at + 1 < chunks ? at + 1 : 0) {
      if (i == WINDOW) at = db->chunk_last;
      const int taken = try_chunk(db, at, 0, class, most, ref);
      if (!taken) continue;
      *chunk = db->chunk_hint = at;
      return taken;
    }
    db->searched |= bit;
  }
  return 0;
}

static int alloc(struct lunar* db, uint8_t class, uint32_t near, uint32_t* ref) {
  LN_TRY(ln_ensure_clean(db, 1));
  if (db->redoing) return taken_before(db, class, ref);
  const uint32_t blocks = blocks_of(db, class);
  uint32_t chunk = db->class_hint[class], first = 0;
  int taken = 0;
  if (near != LN_NONE) {
    chunk = chunk_of(db, near);
    first = (near - db->geometry.data_at) % db->geometry.chunk_sectors / ln_class_sectors(db, class);
    taken = try_chunk(db, chunk, first, class, blocks, ref);
    if (!taken) chunk = db->class_hint[class];
  }
  if (!taken && class + 1 == db->geometry.class_count && db->chunks_free && !is_reserved(db))
    LN_TRY(find_run(db, 1, RUN, &chunk)); /* so that large blocks lie together */
  if (!taken) taken = try_chunk(db, chunk, 0, class, blocks, ref);
  if (!taken) taken = search(db, class, &chunk, ref);
  if (taken <= 0) return taken < 0 ? taken : LUNAR_E_FULL;
  return remember(db, chunk, class, *ref);
}

/* Allocates a block of the class: in the chunk of sector `near`, from there on, if it has room; otherwise anywhere
 * (LN_NONE: anywhere). alloc makes room for a page of the map first, because a spill would need more stack later. */
int ln_alloc(struct lunar* db, uint8_t class, uint32_t near, uint32_t* ref) {
  LUNAR_ASSERT(ref && class < db->geometry.class_count);
  for (;;) {
    LN_TRY(alloc(db, class, near, ref));
    const int good = IS_GOOD(db, *ref, ln_class_sectors(db, class));
    if (good) return good < 0 ? good : 0;
    db->allocated_count--; /* the bad block stays allocated, and nothing uses it */
  }
}

static int take_run(struct lunar* db, uint32_t first, uint32_t chunks) {
  for (uint32_t chunk = first; chunk < first + chunks; chunk++)
    LN_TRY(take_at(db, chunk, 0, (uint8_t)(db->geometry.class_count - 1)));
  return 0;
}

/* Allocates `chunks` consecutive free chunks, each as one block of the largest class. Sets *ref to the first. */
static int alloc_run(struct lunar* db, uint32_t chunks, uint32_t* ref) {
  LUNAR_ASSERT(chunks > 0 && ref);
  const uint8_t class = (uint8_t)(db->geometry.class_count - 1);
  uint32_t first = db->chunk_last;
  if (db->redoing) {
    LN_TRY(taken_before(db, class, ref));
    first = chunk_of(db, *ref);
    return take_run(db, first + 1, chunks - 1);
  }
  LUNAR_ASSERT(db->run_missing > 0);
  if (chunks >= db->run_missing) return LUNAR_E_FULL;
  const int length = find_run(db, 0, chunks, &first);
  LN_TRY(length);
  if ((uint32_t)length < chunks) {
    db->run_missing = chunks;
    return LUNAR_E_FULL;
  }
  *ref = ref_of(db, first, 0, class);
  LN_TRY(remember(db, first, class, *ref));
  return take_run(db, first, chunks);
}

/* Waiting pages are evicted last meanwhile: otherwise each page of the map would evict one, and so write it. */
int ln_alloc_run(struct lunar* db, uint32_t chunks, uint32_t* ref) {
  ln_spare_waiting(db, 1);
  const int error = alloc_run(db, chunks, ref);
  ln_spare_waiting(db, 0);
  return error;
}

int ln_free(struct lunar* db, uint32_t ref) {
  struct entry entry;
  const uint32_t chunk = chunk_of(db, ref);
  if (chunk >= db->geometry.chunk_count) return LUNAR_E_CORRUPT;
  LN_TRY(entry_get(db, chunk, &entry));
  uint8_t* e = entry.bytes;
  const uint8_t class = e[0];
  const uint32_t index = class < db->geometry.class_count ? index_of(db, ref, class) : LN_NONE;
  int error = 0;
  if (index == LN_NONE || !bit(e, index)) {
    error = LN_IS_STALE(db) ? 0 : LUNAR_E_CORRUPT;
  } else {
    e[LN_MAP_BITS + index / 8] &= (uint8_t) ~(1u << index % 8);
    ln_put16(e + LN_MAP_STAMP, stamp(db));
    db->freed = 1;
    if (--e[LN_MAP_USED] == 0) {
      e[0] = LN_CHUNK_FREE;
      db->chunks_free++;
      db->chunks_waiting++;
      LUNAR_ASSERT(db->redoing || db->chunks_waiting <= db->geometry.chunk_count);
    }
    if (e[LN_MAP_USED] <= blocks_of(db, class) / 2 && chunk < db->chunk_freed) db->chunk_freed = chunk;
    ln_dirty(db, entry.frame);
  }
  ln_put(entry.frame);
  LN_TRY(error);
  LN_TRY(ln_settle_plain(db, ref, ln_class_sectors(db, class))); /* a rollback needs these updates */
  return ln_forget(db, ref, ln_class_sectors(db, class));
}

#if LUNAR_WITH_CURSOR || LUNAR_WITH_REPAIR
int ln_used_sectors(struct lunar* db, uint32_t ref) {
  struct entry entry;
  const uint32_t chunk = chunk_of(db, ref);
  if (chunk >= db->geometry.chunk_count) return 0;
  LN_TRY(entry_get(db, chunk, &entry));
  const uint8_t class = entry.bytes[0];
  const uint32_t index = class < db->geometry.class_count ? index_of(db, ref, class) : LN_NONE;
  const int used = index != LN_NONE && bit(entry.bytes, index);
  ln_put(entry.frame);
  return used ? (int)ln_class_sectors(db, class) : 0;
}
#endif

#if LUNAR_WITH_REPAIR
/* Sets *ref to the chunk's first block in use that begins at *ref or behind it. Returns its length in sectors, 0 if
 * there is none, or an error. */
static int used_in(struct lunar* db, uint32_t chunk, uint32_t* ref) {
  struct entry entry;
  uint32_t sectors = 0;
  LN_TRY(entry_get(db, chunk, &entry));
  const uint8_t class = entry.bytes[0];
  const uint32_t blocks = class < db->geometry.class_count ? blocks_of(db, class) : 0;
  for (uint32_t i = 0; i < blocks && !sectors; i++) {
    const uint32_t block = ref_of(db, chunk, i, class);
    if (block < *ref || !bit(entry.bytes, i)) continue;
    *ref = block;
    sectors = ln_class_sectors(db, class);
  }
  ln_put(entry.frame);
  return (int)sectors;
}

int ln_hold(struct lunar* db, uint32_t ref, uint8_t class) {
  const int sectors = ln_used_sectors(db, ref);
  if (sectors) return sectors < 0 ? sectors : (uint32_t)sectors == ln_class_sectors(db, class);
  return take_ref(db, ref, class) == 0; /* no read can fail: the page of the map has just been read */
}

int ln_next_used(struct lunar* db, uint32_t* ref) {
  LUNAR_ASSERT(*ref >= db->geometry.data_at);
  for (uint32_t chunk = chunk_of(db, *ref); chunk < db->geometry.chunk_count; chunk++) {
    const int sectors = used_in(db, chunk, ref);
    if (sectors) return sectors;
  }
  return 0;
}
#endif

int ln_count_free(struct lunar* db) {
  db->chunks_free = 0;
  for (uint32_t chunk = 0; chunk < db->geometry.chunk_count; chunk++) {
    struct entry entry;
    LN_TRY(entry_get(db, chunk, &entry));
    db->chunks_free += entry.bytes[0] == LN_CHUNK_FREE;
    ln_put(entry.frame);
  }
  return 0;
}

int ln_room_is_sure(const struct lunar* db) {
  return db->mode != LUNAR_MODE_NONE || db->redoing || db->chunks_free >= db->chunks_waiting + BLOCKS_SURE;
}
