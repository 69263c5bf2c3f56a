/* The layout of everything that is stored. docs/FORMAT.md explains the fields.
 *
 * Stored numbers are little-endian. A *page* is one sector with a checksum in its first four bytes. A block reference
 * (ref) is the block's first sector.
 */
#ifndef LUNAR_FORMAT_H
#define LUNAR_FORMAT_H

#include "lunar.h"
#include "modules.h"

#define LN_NONE 0xffffffffu

/* The header of a page: u32 checksum of the rest, u8 kind. Behind it are the fields of this kind. */
enum ln_kind {
  LN_DATA = 0,
  LN_MAP = 1,
  LN_ROOT = 2,
  LN_META = 3,
  LN_SCHEMA = 4,
  LN_BLOCK = 5,
  LN_BUCKET = 6,
  LN_TREE = 7
};
enum { LN_PAGE_KIND = 4 };

/* SUPER, two copies in sectors 0 and 1. */
enum {
  LN_SUPER_MAGIC = 4,
  LN_SUPER_VERSION = 8,
  LN_SUPER_SECTOR_SHIFT = 10,
  LN_SUPER_GROWTH = 11,
  LN_SUPER_VOLUME = 12,
  LN_SUPER_SECTORS = 16,
  LN_SUPER_ROOT = 20,
  LN_SUPER_META = 24,
  LN_SUPER_MAP = 28,
  LN_SUPER_LOG = 32,
  LN_SUPER_DATA = 36,
  LN_SUPER_MAP_SECTORS = 40,
  LN_SUPER_LOG_SECTORS = 44,
  LN_SUPER_CHUNKS = 48,
  LN_SUPER_UNIT = 52,
  LN_SUPER_CLASS_MIN = 54,
  LN_SUPER_CHUNK = 56,
  LN_SUPER_TABLES = 58,
  LN_SUPER_CLASSES = 60,
  LN_SUPER_TWICE = 61, /* 1: the zones from ROOT_ZONE to the map have a second copy between the map and LOG */
  LN_SUPER_END = 64
};
#define LN_MAGIC 0x524e554cu /* "LUNR" */
#define LN_VERSION LUNAR_FORMAT_VERSION

/* The header of a group. Recovery uses a group as a whole or not at all. */
enum {
  LN_GROUP_MAGIC = 0,
  LN_GROUP_KIND = 2,
  LN_GROUP_FLAGS = 3,
  LN_GROUP_EPOCH = 4,
  LN_GROUP_SEQUENCE = 8,
  LN_GROUP_CHECKPOINT = 12,
  LN_GROUP_BYTES = 16,
  LN_GROUP_COUNT = 20,
  LN_GROUP_EXTRA = 24,
  LN_GROUP_BODY_SUM = 28,
  LN_GROUP_SUM = 32,
  LN_GROUP_HEADER = 36
};
#define LN_GROUP 0x4c47u
enum ln_group { LN_RECORDS = 1, LN_IMAGES = 2, LN_CHECKPOINT = 3, LN_BEFORE = 4 };
enum {
  LN_PART = 1,     /* the operation or transaction continues in the next group */
  LN_UNLOGGED = 2, /* a checkpoint of mode none: the changes after it are not in the log */
  LN_UNMOUNTED = 4 /* a checkpoint of an unmount, without images */
};
/* The body of IMAGES and BEFORE: an entry (u32 sector, u32 checksum of the image) per image, padded to a sector; then
 * the images. LN_GROUP_EXTRA of BEFORE is the log sector of the previous BEFORE group, LN_NONE if there is none since
 * the checkpoint.
 *
 * The body of CHECKPOINT: u32 epoch of the groups that follow, u32 checkpoints so far, u32 free chunks, then the open
 * extents (u32 block, u32 next sector, u16 table, u16 sectors of the block). */
enum { LN_IMAGES_MAX = 8, LN_CHECKPOINT_BODY = 12 + 12 * LUNAR_EXTENTS };

/* A record: u8 type, u8 number of allocated blocks, u16 table, u32 ref, u16 slot, u16 position, u32 bytes of the
 * content; then the refs of the allocated blocks; then the content, padded to 4 bytes. A ref is LN_NONE if there was no
 * room for this block and the operation continued without it. */
enum {
  LN_RECORD_TYPE = 0,
  LN_RECORD_ALLOCATED = 1,
  LN_RECORD_TABLE = 2,
  LN_RECORD_REF = 4,
  LN_RECORD_SLOT = 8,
  LN_RECORD_POSITION = 10,
  LN_RECORD_BYTES = 12,
  LN_RECORD_HEADER = 16
};
enum ln_record {
  LN_OPEN = 1,
  LN_INSERT = 2,
  LN_PUT = 3,
  LN_PATCH = 4,
  LN_REMOVE = 5,
  LN_CREATE = 6,
  LN_DROP = 7,
  LN_EXTEND = 8,
  LN_MOVE = 9,
  LN_MOVE_PUT = 10,
  LN_PATCH_INDEXED = 11, /* a PATCH of a column that has a secondary index */
  LN_TRUNCATE = 12
};

/* Allocation map: 8 bytes of page header, then an entry per chunk: u8 class (0xff: free), u8 blocks in use, u16 stamp,
 * 16 bytes of bitmap. The stamp is set when a block of the chunk is freed: 1 + the checkpoints so far modulo 65535. */
enum {
  LN_MAP_HEADER = 8,
  LN_MAP_ENTRY = 20,
  LN_MAP_USED = 1,
  LN_MAP_STAMP = 2,
  LN_MAP_BITS = 4,
  LN_CHUNK_FREE = 0xff,
  LN_CHUNK_BLOCKS_MAX = 128
};

/* ROOT_ZONE: 8 bytes of page header, then an entry per table number: 24 bytes of name (all zero: free). */
enum { LN_ROOT_HEADER = 8, LN_ROOT_ENTRY = LUNAR_NAME_MAX + 1 };

/* META_ZONE: two pages per table number, first the metadata (these fields), then the schema. */
enum {
  LN_META_INDEX = 5,
  LN_META_KEY = 6,
  LN_META_COLUMNS = 7,
  LN_META_ROWS = 8,
  LN_META_FIRST = 16,
  LN_META_LAST = 20,
  LN_META_SECTORS = 24,
  LN_META_LISTS = 28, /* lists of blocks with dead bytes: list n has those with n dead quarters */
  LN_META_SERIAL = 44,
  LN_META_RING_LIMIT = 48,
  LN_META_RING = 56,    /* kind of ring, with LN_INDEXED, LN_SUMMED and LN_MENDED */
  LN_META_LATER = 57,   /* not 0: rows or entries use features of a later version; this one refuses the table */
  LN_META_DEAD = 60,    /* dead bytes of all blocks, in units of 4 */
  LN_META_BUCKETS = 68, /* hash index */
  LN_META_SPLIT = 72,   /* the last page that a split has handled; LN_NONE: no bucket is being split */
  LN_META_SEGMENTS = 76,
  LN_SEGMENTS = 28,
  LN_META_CREATION = LN_META_SEGMENTS + 4 * LN_SEGMENTS, /* distinguishes tables that had the same number; 0: dropped */
  LN_META_INDEXES = LN_META_CREATION + 4,                /* secondary indexes: number + 1 of each, 0: no more */
  LN_META_END = LN_META_INDEXES + 2 * LUNAR_INDEXES_MAX,
  LN_META_TABLE = 20,     /* number of the table; only in the metadata of a secondary index, which has no blocks */
  LN_META_TREE_ROOT = 68, /* tree index: ref of the root page */
  LN_META_TREE_HEIGHT = 72
};
enum { LN_LISTS = 4 };
enum { LN_OPEN_SECTORS = 8 }; /* in the slot of OPEN and EXTEND records, the block's sectors begin at this bit */
/* Flags in LN_META_RING. A build without the module does not open a table with LN_INDEXED or LN_SUMMED. */
enum {
  LN_INDEXED = 0x80, /* the table has secondary indexes */
  LN_SUMMED = 0x40   /* the rows of the table have checksums */
};
enum { LN_MENDED = 0x20 }; /* the table is damaged, or its repair has begun */
enum { LN_ROW_SUM = 4 };   /* bytes of the checksum behind a row, which the row's bytes include */
enum { LN_SCHEMA_COLUMNS = 8, LN_SCHEMA_COLUMN = LUNAR_NAME_MAX + 3 };

/* Data block: header page with the first slots, further slot pages, then rows. */
enum {
  LN_BLOCK_CLASS = 5,
  LN_BLOCK_SLOT_SECTORS = 6,
  LN_BLOCK_TABLE = 8,
  LN_BLOCK_SLOTS = 10,
  LN_BLOCK_LIVE = 12,
  LN_BLOCK_TAIL = 14,
  LN_BLOCK_NEXT = 16,
  LN_BLOCK_PREVIOUS = 20,
  LN_BLOCK_FREE = 24,
  LN_BLOCK_FROM = 26, /* first slot that may be in use (ring table) or free (other tables) */
  LN_BLOCK_REUSE = 28,
  LN_BLOCK_SERIAL = 32,
  LN_BLOCK_STAMP = 36,
  LN_BLOCK_DEAD = 38, /* dead bytes, in units of 4; always 0 in a ring table */
  LN_BLOCK_REUSE_BACK = 40,
  LN_BLOCK_HEADER = 44,
  LN_SLOT_PAGE_HEADER = 8,
  LN_NO_TABLE = 0xffff, /* in LN_BLOCK_TABLE: a repair is writing this header anew */
  LN_SLOT_FREE = 0x8000
};
/* A row: u16 bytes, u16 room (in units of 4 bytes, without this header), then the row. */
enum { LN_ROW_HEADER = 4 };

/* Bucket: page header, u8 0, u16 entries, u32 sector of the overflow page; entries: u64 key, u32 ref, u16 slot, u16 0.
 */
enum { LN_BUCKET_COUNT = 6, LN_BUCKET_OVERFLOW = 8, LN_BUCKET_HEADER = 12, LN_ENTRY = 16 };

/* Tree page: page header, u8 level (0: leaf), u16 entries, u16 end of the entries, u8 bytes of the prefix, u8 bytes of
 * the payload; the prefix, with which all keys of the page begin; the entries in the order of their keys. An entry: u8
 * bytes of the key without the prefix, the key without the prefix, the payload (u32 ref and, in a leaf, u16 slot). The
 * key of an entry of an inner page is a lower bound of the keys below it. The first one has no key. */
enum {
  LN_TREE_LEVEL = 5,
  LN_TREE_COUNT = 6,
  LN_TREE_END = 8,
  LN_TREE_PREFIX = 10,
  LN_TREE_PAYLOAD = 11,
  LN_TREE_HEADER = 12,
  LN_TREE_HEIGHT_MAX = 16
};

/* The layout must not change, because volumes have it. Each field begins where the one before it ends, or at the next
 * multiple of its own size. */
#define LN_FOLLOWS(field, before, bytes) _Static_assert((field) == (before) + (bytes), #field " follows " #before)
LN_FOLLOWS(LN_SUPER_VERSION, LN_SUPER_MAGIC, 4);
LN_FOLLOWS(LN_SUPER_SECTOR_SHIFT, LN_SUPER_VERSION, 2);
LN_FOLLOWS(LN_SUPER_GROWTH, LN_SUPER_SECTOR_SHIFT, 1);
LN_FOLLOWS(LN_SUPER_VOLUME, LN_SUPER_GROWTH, 1);
LN_FOLLOWS(LN_SUPER_SECTORS, LN_SUPER_VOLUME, 4);
LN_FOLLOWS(LN_SUPER_ROOT, LN_SUPER_SECTORS, 4);
LN_FOLLOWS(LN_SUPER_META, LN_SUPER_ROOT, 4);
LN_FOLLOWS(LN_SUPER_MAP, LN_SUPER_META, 4);
LN_FOLLOWS(LN_SUPER_LOG, LN_SUPER_MAP, 4);
LN_FOLLOWS(LN_SUPER_DATA, LN_SUPER_LOG, 4);
LN_FOLLOWS(LN_SUPER_MAP_SECTORS, LN_SUPER_DATA, 4);
LN_FOLLOWS(LN_SUPER_LOG_SECTORS, LN_SUPER_MAP_SECTORS, 4);
LN_FOLLOWS(LN_SUPER_CHUNKS, LN_SUPER_LOG_SECTORS, 4);
LN_FOLLOWS(LN_SUPER_UNIT, LN_SUPER_CHUNKS, 4);
LN_FOLLOWS(LN_SUPER_CLASS_MIN, LN_SUPER_UNIT, 2);
LN_FOLLOWS(LN_SUPER_CHUNK, LN_SUPER_CLASS_MIN, 2);
LN_FOLLOWS(LN_SUPER_TABLES, LN_SUPER_CHUNK, 2);
LN_FOLLOWS(LN_SUPER_CLASSES, LN_SUPER_TABLES, 2);
LN_FOLLOWS(LN_SUPER_TWICE, LN_SUPER_CLASSES, 1);
_Static_assert(LN_SUPER_MAGIC == 4 && LN_SUPER_END == 64, "SUPER: after the checksum, in 64 bytes");

LN_FOLLOWS(LN_GROUP_KIND, LN_GROUP_MAGIC, 2);
LN_FOLLOWS(LN_GROUP_FLAGS, LN_GROUP_KIND, 1);
LN_FOLLOWS(LN_GROUP_EPOCH, LN_GROUP_FLAGS, 1);
LN_FOLLOWS(LN_GROUP_SEQUENCE, LN_GROUP_EPOCH, 4);
LN_FOLLOWS(LN_GROUP_CHECKPOINT, LN_GROUP_SEQUENCE, 4);
LN_FOLLOWS(LN_GROUP_BYTES, LN_GROUP_CHECKPOINT, 4);
LN_FOLLOWS(LN_GROUP_COUNT, LN_GROUP_BYTES, 4);
LN_FOLLOWS(LN_GROUP_EXTRA, LN_GROUP_COUNT, 4);
LN_FOLLOWS(LN_GROUP_BODY_SUM, LN_GROUP_EXTRA, 4);
LN_FOLLOWS(LN_GROUP_SUM, LN_GROUP_BODY_SUM, 4);
LN_FOLLOWS(LN_GROUP_HEADER, LN_GROUP_SUM, 4);
_Static_assert(LN_GROUP_HEADER == 36, "a group's header has 36 bytes");
_Static_assert(LN_GROUP_HEADER + LN_CHECKPOINT_BODY <= 512, "a checkpoint group is one sector");
_Static_assert(LN_CHECKPOINT_BODY == 3 * 4 + LUNAR_EXTENTS * (4 + 4 + 2 + 2), "three numbers, then the extents");
_Static_assert(LN_GROUP_HEADER + 8 * LN_IMAGES_MAX <= 512, "the entries of an image group are in its first sector");

LN_FOLLOWS(LN_RECORD_ALLOCATED, LN_RECORD_TYPE, 1);
LN_FOLLOWS(LN_RECORD_TABLE, LN_RECORD_ALLOCATED, 1);
LN_FOLLOWS(LN_RECORD_REF, LN_RECORD_TABLE, 2);
LN_FOLLOWS(LN_RECORD_SLOT, LN_RECORD_REF, 4);
LN_FOLLOWS(LN_RECORD_POSITION, LN_RECORD_SLOT, 2);
LN_FOLLOWS(LN_RECORD_BYTES, LN_RECORD_POSITION, 2);
LN_FOLLOWS(LN_RECORD_HEADER, LN_RECORD_BYTES, 4);
_Static_assert(LN_RECORD_HEADER == 16, "a record's header has 16 bytes");

LN_FOLLOWS(LN_MAP_STAMP, LN_MAP_USED, 1);
LN_FOLLOWS(LN_MAP_BITS, LN_MAP_STAMP, 2);
LN_FOLLOWS(LN_MAP_ENTRY, LN_MAP_BITS, LN_CHUNK_BLOCKS_MAX / 8);
_Static_assert(LN_MAP_HEADER == 8 && LN_MAP_ENTRY == 20 && LN_MAP_USED == 1, "a chunk's entry has 20 bytes");
_Static_assert(LN_ROOT_HEADER == 8 && LN_ROOT_ENTRY == 24, "a name's entry has 24 bytes");

LN_FOLLOWS(LN_META_INDEX, LN_PAGE_KIND, 1);
LN_FOLLOWS(LN_META_KEY, LN_META_INDEX, 1);
LN_FOLLOWS(LN_META_COLUMNS, LN_META_KEY, 1);
LN_FOLLOWS(LN_META_ROWS, LN_META_COLUMNS, 1);
LN_FOLLOWS(LN_META_FIRST, LN_META_ROWS, 8);
LN_FOLLOWS(LN_META_LAST, LN_META_FIRST, 4);
LN_FOLLOWS(LN_META_SECTORS, LN_META_LAST, 4);
LN_FOLLOWS(LN_META_LISTS, LN_META_SECTORS, 4);
LN_FOLLOWS(LN_META_SERIAL, LN_META_LISTS, 4 * LN_LISTS);
LN_FOLLOWS(LN_META_RING_LIMIT, LN_META_SERIAL, 4);
LN_FOLLOWS(LN_META_RING, LN_META_RING_LIMIT, 8);
LN_FOLLOWS(LN_META_LATER, LN_META_RING, 1);
LN_FOLLOWS(LN_META_DEAD, LN_META_LATER, 3);
LN_FOLLOWS(LN_META_BUCKETS, LN_META_DEAD, 8);
LN_FOLLOWS(LN_META_SPLIT, LN_META_BUCKETS, 4);
LN_FOLLOWS(LN_META_SEGMENTS, LN_META_SPLIT, 4);
LN_FOLLOWS(LN_META_CREATION, LN_META_SEGMENTS, 4 * LN_SEGMENTS);
LN_FOLLOWS(LN_META_INDEXES, LN_META_CREATION, 4);
LN_FOLLOWS(LN_META_TREE_HEIGHT, LN_META_TREE_ROOT, 4);
_Static_assert(LN_META_TREE_ROOT == LN_META_BUCKETS && LN_META_TABLE == LN_META_LAST, "fields that others have not");
_Static_assert((int)LUNAR_RING_AGE < (int)LN_MENDED, "the flags are beside the kind of ring");
_Static_assert(LN_SUPER_END <= 512 && LN_META_END <= 512, "a page holds it at the smallest sector");
_Static_assert(sizeof(struct lunar_column) == LN_SCHEMA_COLUMN && LN_SCHEMA_COLUMN == 26,
               "a column is stored as given");
_Static_assert(LN_SCHEMA_COLUMNS + LUNAR_COLUMNS_MAX * LN_SCHEMA_COLUMN <= 512, "a schema page holds all columns");

LN_FOLLOWS(LN_BLOCK_CLASS, LN_PAGE_KIND, 1);
LN_FOLLOWS(LN_BLOCK_SLOT_SECTORS, LN_BLOCK_CLASS, 1);
LN_FOLLOWS(LN_BLOCK_TABLE, LN_BLOCK_SLOT_SECTORS, 2);
LN_FOLLOWS(LN_BLOCK_SLOTS, LN_BLOCK_TABLE, 2);
LN_FOLLOWS(LN_BLOCK_LIVE, LN_BLOCK_SLOTS, 2);
LN_FOLLOWS(LN_BLOCK_TAIL, LN_BLOCK_LIVE, 2);
LN_FOLLOWS(LN_BLOCK_NEXT, LN_BLOCK_TAIL, 2);
LN_FOLLOWS(LN_BLOCK_PREVIOUS, LN_BLOCK_NEXT, 4);
LN_FOLLOWS(LN_BLOCK_FREE, LN_BLOCK_PREVIOUS, 4);
LN_FOLLOWS(LN_BLOCK_FROM, LN_BLOCK_FREE, 2);
LN_FOLLOWS(LN_BLOCK_REUSE, LN_BLOCK_FROM, 2);
LN_FOLLOWS(LN_BLOCK_SERIAL, LN_BLOCK_REUSE, 4);
LN_FOLLOWS(LN_BLOCK_STAMP, LN_BLOCK_SERIAL, 4);
LN_FOLLOWS(LN_BLOCK_DEAD, LN_BLOCK_STAMP, 2);
LN_FOLLOWS(LN_BLOCK_REUSE_BACK, LN_BLOCK_DEAD, 2);
LN_FOLLOWS(LN_BLOCK_HEADER, LN_BLOCK_REUSE_BACK, 4);
_Static_assert(LN_BLOCK_HEADER == 44 && LN_SLOT_PAGE_HEADER == 8 && LN_ROW_HEADER == 4, "where slots and rows begin");

LN_FOLLOWS(LN_BUCKET_OVERFLOW, LN_BUCKET_COUNT, 2);
LN_FOLLOWS(LN_BUCKET_HEADER, LN_BUCKET_OVERFLOW, 4);
_Static_assert(LN_BUCKET_HEADER == 12 && LN_ENTRY == 8 + 4 + 2 + 2, "an entry of a bucket: key, ref, slot, 0");
LN_FOLLOWS(LN_TREE_LEVEL, LN_PAGE_KIND, 1);
LN_FOLLOWS(LN_TREE_COUNT, LN_TREE_LEVEL, 1);
LN_FOLLOWS(LN_TREE_END, LN_TREE_COUNT, 2);
LN_FOLLOWS(LN_TREE_PREFIX, LN_TREE_END, 2);
LN_FOLLOWS(LN_TREE_PAYLOAD, LN_TREE_PREFIX, 1);
LN_FOLLOWS(LN_TREE_HEADER, LN_TREE_PAYLOAD, 1);
_Static_assert(LN_TREE_HEADER == 12, "where a tree page's entries begin");
_Static_assert(LN_TREE_HEADER + 3 * (1 + LUNAR_TREE_KEY_MAX + 6) <= 512,
               "a page that is split has entries on both sides");

/* Other files depend on the order of these values. */
_Static_assert(LN_DATA == 0 && LN_BLOCK == 5 && LN_BUCKET == 6 && LN_TREE == 7,
               "kinds from LN_BLOCK on lie in blocks, those from LN_BUCKET on belong to an index");
_Static_assert(LUNAR_NULL == 0 && LUNAR_INT8 == 1 && LUNAR_INT64 == 4 && LUNAR_REAL == 5 && LUNAR_BOOLEAN == 6 &&
                   LUNAR_TEXT == 7 && LUNAR_BLOB == 8,
               "integers, then other numbers, then bytes; rows.c and eval.c have tables of them");
_Static_assert(LUNAR_MODE_NONE == 1 && LUNAR_MODE_DISORDER == 2 && LUNAR_MODE_METADATA == 3 && LUNAR_MODE_FULL == 5,
               "each mode keeps more than the one before");

/* Read or write a field of a page or header. It lies at a multiple of its size, a u64 at a multiple of 4. */
#if defined(__GNUC__) && __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
static inline uint16_t ln_get16(const uint8_t* p) {
  uint16_t v;
  LUNAR_ASSERT((uintptr_t)p % 2 == 0);
  __builtin_memcpy(&v, __builtin_assume_aligned(p, 2), 2);
  return v;
}
static inline uint32_t ln_get32(const uint8_t* p) {
  uint32_t v;
  LUNAR_ASSERT((uintptr_t)p % 4 == 0);
  __builtin_memcpy(&v, __builtin_assume_aligned(p, 4), 4);
  return v;
}
static inline void ln_put16(uint8_t* p, uint32_t v) {
  const uint16_t low = (uint16_t)v;
  LUNAR_ASSERT((uintptr_t)p % 2 == 0);
  __builtin_memcpy(__builtin_assume_aligned(p, 2), &low, 2);
}
static inline void ln_put32(uint8_t* p, uint32_t v) {
  LUNAR_ASSERT((uintptr_t)p % 4 == 0);
  __builtin_memcpy(__builtin_assume_aligned(p, 4), &v, 4);
}
#else
static inline uint16_t ln_get16(const uint8_t* p) { return (uint16_t)(p[0] | p[1] << 8); }
static inline uint32_t ln_get32(const uint8_t* p) { return ln_get16(p) | (uint32_t)ln_get16(p + 2) << 16; }
static inline void ln_put16(uint8_t* p, uint32_t v) {
  p[0] = (uint8_t)v;
  p[1] = (uint8_t)(v >> 8);
}
static inline void ln_put32(uint8_t* p, uint32_t v) {
  ln_put16(p, v);
  ln_put16(p + 2, v >> 16);
}
#endif
static inline uint64_t ln_get64(const uint8_t* p) { return ln_get32(p) | (uint64_t)ln_get32(p + 4) << 32; }
static inline void ln_put64(uint8_t* p, uint64_t v) {
  ln_put32(p, (uint32_t)v);
  ln_put32(p + 4, (uint32_t)(v >> 32));
}

/* The same at any address. */
static inline uint16_t ln_load16(const uint8_t* p) { return (uint16_t)(p[0] | p[1] << 8); }
static inline uint32_t ln_load32(const uint8_t* p) { return ln_load16(p) | (uint32_t)ln_load16(p + 2) << 16; }
static inline void ln_store16(uint8_t* p, uint32_t v) {
  p[0] = (uint8_t)v;
  p[1] = (uint8_t)(v >> 8);
}
static inline void ln_store32(uint8_t* p, uint32_t v) {
  ln_store16(p, v);
  ln_store16(p + 2, v >> 16);
}

/* Declares a local array of fields, aligned for ln_get32 and ln_get64. */
#define LN_FIELDS(name, bytes) _Alignas(4) uint8_t name[bytes]

#endif
