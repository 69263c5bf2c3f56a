/* Rows that lunar_get has read, in slots of equal size in the caller's RAM. A row's key selects a set of WAYS slots. A
 * row takes an empty slot of its set, or replaces a row that was not requested again. A change of a row empties its
 * slot. Truncating or dropping a table, a repair and a recovery empty all slots.
 */
#include "tables.h"

#if LUNAR_WITH_CACHE

enum { WAYS = 4 };

struct slot {
  uint32_t tag;
  uint16_t bytes;     /* 0: empty */
  uint8_t referenced; /* requested again since the last sweep */
};
_Static_assert(sizeof(struct slot) == LUNAR_CACHED_ROW_BYTES, "what a row needs beside its bytes");

static uint8_t* row_of(struct slot* slot) { return (uint8_t*)(slot + 1); }

static struct lunar_cache* cache_of(const struct lunar_table* table) {
  struct lunar_cache* cache = table->db->caches;
  while (cache && (cache->number != table->number || cache->creation != table->creation)) cache = cache->next;
  return cache;
}

/* Returns the first slot of the set that the key selects; the slots of a set lie slot_bytes apart. *tag is another part
 * of the hash: a slot with another tag does not have the key. */
static uint8_t* set_of(const struct lunar_cache* cache, const struct lunar_table* table, const struct ln_key* key,
                       uint32_t* tag) {
  uint64_t mixed = key->number;
#if LUNAR_WITH_TREE
  if (table->index == LUNAR_INDEX_TREE) {
    mixed = 0;
    for (uint32_t i = 0; i < key->count; i++) mixed = (mixed ^ key->bytes[i]) * 0x100000001b3u;
  }
#else
  (void)table;
#endif
  mixed = (mixed ^ mixed >> 32) * 0x9e3779b97f4a7c15u;
  *tag = (uint32_t)mixed;
  return cache->slots + (size_t)((mixed >> 32) * cache->sets >> 32) * WAYS * cache->slot_bytes;
}

static struct slot* slot_at(const struct lunar_cache* cache, uint8_t* set, uint32_t way) {
  LUNAR_ASSERT(way < cache->sets * WAYS);
  return (struct slot*)(void*)(set + way * (size_t)cache->slot_bytes);
}

int ln_cache_get(const struct lunar_table* table, const struct lunar_value* value, void* row, size_t row_bytes,
                 struct lunar_value* values) {
  struct lunar_cache* const cache = cache_of(table);
  struct ln_key key;
  uint32_t tag;
  if (!cache) return LUNAR_E_NOT_FOUND;
  LN_TRY(ln_argument(table->db, ln_value_check(table->types[table->key], LUNAR_NOT_NULL, value), "key"));
  LN_TRY(ln_key_of(table, value, &key));
  uint8_t* const set = set_of(cache, table, &key, &tag);
  for (uint32_t way = 0; way < WAYS; way++) {
    struct slot* const slot = slot_at(cache, set, way);
    if (!slot->bytes || slot->tag != tag || !ln_row_is_of(table, row_of(slot), value)) continue;
    cache->hits++;
    slot->referenced = 1;
    if (slot->bytes > row_bytes) return LUNAR_E_BUFFER;
    memcpy(row, row_of(slot), slot->bytes);
    return ln_row_decode(table, row, slot->bytes, values);
  }
  cache->misses++;
  return LUNAR_E_NOT_FOUND;
}

int ln_cache_put(const struct lunar_table* table, const void* row, const struct lunar_value* values) {
  LUNAR_ASSERT(row && values);
  struct lunar_cache* const cache = cache_of(table);
  struct ln_key key;
  uint32_t tag, way = 0;
  if (!cache) return 0;
  const uint32_t bytes = ln_row_bytes(table, values);
  if (bytes > cache->row_bytes) return 0;
  LN_TRY(ln_key_of(table, &values[table->key], &key));
  uint8_t* const set = set_of(cache, table, &key, &tag);
  while (way < WAYS && slot_at(cache, set, way)->bytes) way++;
  for (uint32_t i = 0; way == WAYS && i < 2 * WAYS; i++) {
    struct slot* const slot = slot_at(cache, set, (cache->misses + i) % WAYS);
    if (!slot->referenced) way = (cache->misses + i) % WAYS;
    slot->referenced = 0;
  }
  LUNAR_ASSERT(way < WAYS);
  struct slot* const slot = slot_at(cache, set, way);
  slot->tag = tag;
  slot->bytes = (uint16_t)bytes;
  slot->referenced = 0;
  memcpy(row_of(slot), row, bytes);
  return 0;
}

void ln_cache_forget(const struct lunar_table* table, const struct ln_key* key) {
  struct lunar_cache* const cache = cache_of(table);
  uint32_t tag;
  if (!cache) return;
  uint8_t* const set = set_of(cache, table, key, &tag);
  for (uint32_t way = 0; way < WAYS; way++)
    if (slot_at(cache, set, way)->tag == tag) slot_at(cache, set, way)->bytes = 0;
}

static void clear(struct lunar_cache* cache) {
  for (uint32_t i = 0; i < cache->sets * WAYS; i++) slot_at(cache, cache->slots, i)->bytes = 0;
}

void ln_cache_forget_all(struct lunar* db) {
  for (struct lunar_cache* cache = db->caches; cache; cache = cache->next) clear(cache);
}

/* Returns the link that points to the cache, or the list's last link if the cache is not open. */
static struct lunar_cache** link_of(struct lunar* db, const struct lunar_cache* cache) {
  struct lunar_cache** at = &db->caches;
  while (*at && *at != cache) at = &(*at)->next;
  return at;
}

static int cache_open(struct lunar_table* table, struct lunar_cache* cache, void* memory, size_t memory_bytes,
                      uint32_t row_bytes) {
  struct lunar_frame* meta;
  LN_TRY(ln_table_meta(table, &meta));
  ln_put(meta);
  if (cache_of(table) || *link_of(table->db, cache)) return LUNAR_E_EXISTS;
  const int sized = row_bytes >= 1 && row_bytes <= 0xffff;
  if (!sized || (uintptr_t)memory % sizeof(uint32_t))
    return ln_argument(table->db, LUNAR_E_INVALID, sized ? "memory" : "row_bytes");
  const uint32_t slot_bytes = LUNAR_CACHED_ROW_BYTES + ((row_bytes + 3) & ~3u);
  const size_t sets = memory_bytes / slot_bytes / WAYS;
  if (!sets) return LUNAR_E_BUFFER;
  *cache = (struct lunar_cache){.db = table->db,
                                .next = table->db->caches,
                                .slots = memory,
                                .sets = sets < LN_NONE ? (uint32_t)sets : LN_NONE,
                                .slot_bytes = slot_bytes,
                                .row_bytes = row_bytes,
                                .creation = table->creation,
                                .number = table->number};
  clear(cache);
  table->db->caches = cache;
  return 0;
}

int lunar_cache_open(struct lunar_table* table, struct lunar_cache* cache, void* memory, size_t memory_bytes,
                     uint32_t row_bytes) {
  LUNAR_ASSERT(table && cache && (memory || memory_bytes == 0));
  LN_TRY(ln_enter(table->db));
  return ln_leave(table->db, cache_open(table, cache, memory, memory_bytes, row_bytes));
}

static int cache_close(struct lunar_cache* cache) {
  LUNAR_ASSERT(cache->db);
  struct lunar_cache** const at = link_of(cache->db, cache);
  if (!*at) return ln_argument(cache->db, LUNAR_E_INVALID, "cache");
  *at = cache->next;
  return 0;
}

int lunar_cache_close(struct lunar_cache* cache) {
  LUNAR_ASSERT(cache);
  LN_TRY(ln_enter_for_commit(cache->db));
  return ln_leave(cache->db, cache_close(cache));
}

#endif
