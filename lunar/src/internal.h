/* What the files of the library share: the stored layouts, and the functions of each file.
 *
 * Stored numbers are little-endian. A *page* is one sector with a checksum in its first four bytes. A block reference
 * (ref) is the block's class in the four highest bits and its number, counted in blocks of the smallest class from the
 * beginning of DATA_ZONE, in the others.
 */
#ifndef LUNAR_INTERNAL_H
#define LUNAR_INTERNAL_H

#include <string.h>

#include "device/checksum.h"
#include "lunar.h"
#include "modules.h"

#define LN_NONE 0xffffffffu
#define LN_TRY(call)                   \
  do {                                 \
    const int ln_error = (call);       \
    if (ln_error < 0) return ln_error; \
  } while (0)

/* A function whose frame is not to be part of its caller's: what the caller calls next goes deep. */
#ifdef __GNUC__
#define LN_APART __attribute__((noinline))
#else
#define LN_APART
#endif

/* Pages: u32 checksum of the rest, u8 kind, then what the kind has. */
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
  LN_SUPER_END = 64
};
#define LN_MAGIC 0x524e554cu /* "LUNR" */
#define LN_VERSION 1u

/* A group: what happens together. */
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
  LN_PART = 1,    /* the operation or transaction goes on in the next group */
  LN_UNLOGGED = 2 /* of a checkpoint: mode none goes on from here */
};
/* The body of IMAGES and BEFORE: an entry (u32 sector, u32 checksum of the image) per image, padded to the sector; then
 * the images. BEFORE's extra is the log sector of the BEFORE group before it, LN_NONE for the first since a checkpoint.
 * The body of CHECKPOINT: u32 epoch of what follows, u32 checkpoints so far, u32 free chunks, then the open extents
 * (u32 block, u32 sector, u16 table, u16 0). */
enum { LN_IMAGES_MAX = 8, LN_CHECKPOINT_BODY = 12 + 12 * LUNAR_EXTENTS };

/* A record: u8 type, u8 allocated blocks, u16 table, u32 ref, u16 slot, u16 position, u32 bytes of what follows the
 * allocated refs; then the refs, then the content, padded to 4 bytes. */
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
  LN_PATCH_INDEXED = 11 /* of a column with a secondary index */
};

/* Allocation map: 8 bytes of page header, then an entry per chunk: u8 class (0xff: free), u8 blocks in use, u16
 * stamp: 1 + the checkpoints so far modulo 65535, when a block was freed here last, 16 bytes of bitmap. */
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

/* META_ZONE, two pages per table. */
enum {
  LN_META_INDEX = 5,
  LN_META_KEY = 6,
  LN_META_COLUMNS = 7,
  LN_META_ROWS = 8,
  LN_META_FIRST = 16,
  LN_META_LAST = 20,
  LN_META_SECTORS = 24,
  LN_META_REUSE = 28,
  LN_META_SERIAL = 32,
  LN_META_RING_LIMIT = 36,
  LN_META_RING = 44,    /* and LN_INDEXED */
  LN_META_BUCKETS = 48, /* hash index */
  LN_META_SEGMENTS = 52,
  LN_SEGMENTS = 28,
  LN_META_CREATION = LN_META_SEGMENTS + 4 * LN_SEGMENTS, /* tells from the tables that had the number; 0: dropped */
  LN_META_INDEXES = LN_META_CREATION + 4,                /* secondary indexes: number + 1 of each, 0: no more */
  LN_META_END = LN_META_INDEXES + 2 * LUNAR_INDEXES_MAX,
  LN_META_TABLE = 20,     /* of a secondary index, which has no columns and no blocks: the table's number */
  LN_META_TREE_ROOT = 48, /* tree index: refs of one page each */
  LN_META_TREE_HEIGHT = 52
};
enum { LN_INDEXED = 0x80 }; /* the table has secondary indexes: a build without them does not open it */
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
  LN_BLOCK_OLDEST = 26,
  LN_BLOCK_REUSE = 28,
  LN_BLOCK_SERIAL = 32,
  LN_BLOCK_STAMP = 36,
  LN_BLOCK_REUSE_BACK = 40,
  LN_BLOCK_HEADER = 44,
  LN_SLOT_PAGE_HEADER = 8,
  LN_SLOT_FREE = 0x8000
};
/* A row: u16 bytes, u16 room in units of 4 bytes (this header not counted), then the row. */
enum { LN_ROW_HEADER = 4 };

/* Bucket: page header, u8 0, u16 entries, u32 sector of the overflow page; entries: u64 key, u32 ref, u16 slot, u16 0.
 */
enum { LN_BUCKET_COUNT = 6, LN_BUCKET_OVERFLOW = 8, LN_BUCKET_HEADER = 12, LN_ENTRY = 16 };

/* Tree page: page header, u8 level (0: leaf), u16 entries, u16 bytes in use, u16 0; entries in the order of their keys:
 * u8 bytes of key, key, u32 ref; in a leaf also u16 slot. An inner entry leads to keys of at least its own; the first
 * one's has no bytes. */
enum { LN_TREE_LEVEL = 5, LN_TREE_COUNT = 6, LN_TREE_END = 8, LN_TREE_HEADER = 12, LN_TREE_HEIGHT_MAX = 7 };

_Static_assert(LN_SUPER_END <= 512 && LN_META_END <= 512, "a page holds it at the smallest sector");
_Static_assert(LN_SCHEMA_COLUMNS + LUNAR_COLUMNS_MAX * LN_SCHEMA_COLUMN <= 512, "a schema page holds all columns");
_Static_assert(LN_GROUP_HEADER + LN_CHECKPOINT_BODY <= 512, "a checkpoint group is one sector");
_Static_assert(LN_GROUP_HEADER + 8 * LN_IMAGES_MAX <= 512, "the entries of an image group are in its first sector");

/* PLAIN: dirty by updates without a record only (modes disorder and metadata): written in place at any time. LOGGED:
 * the log has what was on the device at the last checkpoint. FRESH and LOGGED stay with a clean frame. ROWS: counted in
 * rows_dirty. SOUND: a page of a tree whose entries were looked through. */
enum { LN_DIRTY = 1, LN_FRESH = 2, LN_PLAIN = 4, LN_LOGGED = 8, LN_ROWS = 16, LN_SOUND = 32 };

struct lunar_frame {
  uint8_t* bytes;
  uint32_t sector;
  uint8_t flags, pins, kind;
  uint8_t used; /* how often the clock's hand passes by before it takes the frame */
#if LUNAR_WITH_BUFFER
  uint16_t next;     /* of the frames whose sectors have the same hash */
  uint16_t first;    /* hash table: the first frame whose sector has this hash */
  uint8_t operation; /* which met it last */
#endif
};
/* As much on every processor, so that a buffer has as many frames. */
_Static_assert(sizeof(struct lunar_frame) <= LUNAR_FRAME_BYTES, "pointers have at most 8 bytes");

/* What redoing has in a recovery, and in that of a mount which takes an unreadable sector for the end. */
enum { LN_REDOING = 1, LN_SKIPPING = 2 };

enum ln_state { LN_CLOSED = 0, LN_READY = 1, LN_IN_TXN = 2, LN_BROKEN = 3, LN_TXN_LOST = 4 };

/* Fields of pages and headers: each lies at a multiple of its size, u64 at one of 4. */
#if defined(__GNUC__) && __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
static inline uint16_t ln_get16(const uint8_t* p) {
  uint16_t v;
  __builtin_memcpy(&v, __builtin_assume_aligned(p, 2), 2);
  return v;
}
static inline uint32_t ln_get32(const uint8_t* p) {
  uint32_t v;
  __builtin_memcpy(&v, __builtin_assume_aligned(p, 4), 4);
  return v;
}
static inline void ln_put16(uint8_t* p, uint32_t v) {
  const uint16_t low = (uint16_t)v;
  __builtin_memcpy(__builtin_assume_aligned(p, 2), &low, 2);
}
static inline void ln_put32(uint8_t* p, uint32_t v) { __builtin_memcpy(__builtin_assume_aligned(p, 4), &v, 4); }
#else
static inline uint16_t ln_get16(const uint8_t* p) { return (uint16_t)(p[0] | p[1] << 8); }
static inline uint32_t ln_get32(const uint8_t* p) { return ln_get16(p) | (uint32_t)ln_get16(p + 2) << 16; }
static inline void ln_put16(uint8_t* p, uint32_t v) { p[0] = (uint8_t)v, p[1] = (uint8_t)(v >> 8); }
static inline void ln_put32(uint8_t* p, uint32_t v) { ln_put16(p, v), ln_put16(p + 2, v >> 16); }
#endif
static inline uint64_t ln_get64(const uint8_t* p) { return ln_get32(p) | (uint64_t)ln_get32(p + 4) << 32; }
static inline void ln_put64(uint8_t* p, uint64_t v) { ln_put32(p, (uint32_t)v), ln_put32(p + 4, (uint32_t)(v >> 32)); }

/* Anywhere. */
static inline uint16_t ln_load16(const uint8_t* p) { return (uint16_t)(p[0] | p[1] << 8); }
static inline uint32_t ln_load32(const uint8_t* p) { return ln_load16(p) | (uint32_t)ln_load16(p + 2) << 16; }
static inline void ln_store16(uint8_t* p, uint32_t v) { p[0] = (uint8_t)v, p[1] = (uint8_t)(v >> 8); }
static inline void ln_store32(uint8_t* p, uint32_t v) { ln_store16(p, v), ln_store16(p + 2, v >> 16); }

/* Some fields, in a function's own memory. */
#define LN_FIELDS(name, bytes) _Alignas(4) uint8_t name[bytes]

#if LUNAR_WITH_STAT
#define LN_COUNT(counter, count) ((void)((counter) += (count)))
#else
#define LN_COUNT(counter, count) ((void)0)
#endif

/* device.c: the device, with arguments checked and failures as E_IO. */
int ln_device_read(struct lunar* db, uint32_t sector, void* data, uint32_t count);
int ln_device_write(struct lunar* db, uint32_t sector, const void* data, uint32_t count);
int ln_device_sync(struct lunar* db);

/* prefetch.c: reads of rows and their blocks. */
#if LUNAR_WITH_PREFETCH
uint32_t ln_prefetch_sectors(const struct lunar_config* config);
/* ln_device_write for every room above the device: what was read ahead of these sectors is forgotten. */
int ln_sectors_write(struct lunar* db, uint32_t sector, const void* data, uint32_t count);
int ln_read_ahead(struct lunar* db, uint32_t sector, void* data, uint32_t count);
void ln_prefetch(struct lunar* db, uint32_t sector,
                 uint32_t count); /* sectors that are wanted next, unless in a scan */
#else
#define ln_prefetch_sectors(config) 0u
#define ln_sectors_write ln_device_write
#define ln_read_ahead ln_device_read
#endif

/* buffer.c, or the plain version of it in frames.c: which frame has a sector, and which one makes room. */
void ln_buffer_reset(struct lunar* db);
struct lunar_frame* ln_cached(struct lunar* db, uint32_t sector);
struct lunar_frame* ln_buffer_oldest(struct lunar* db); /* neither dirty nor pinned; NULL: there is none */
#if LUNAR_WITH_BUFFER
#define ln_buffer_operation(db) ((void)++(db)->operation)
/* Rows wait for a checkpoint in so many frames that the index has too few. Of a few frames it never has enough. */
#define ln_buffer_crowded(db) (3u * (db)->rows_dirty > (db)->frame_count + 24u)
/* The log holds the images of fewer pages than there are frames: before more are dirty, they go in place. */
#define ln_dirty_max(db) ((uint32_t)(db)->dirty_max)
#define ln_dirty_bound(db, of, parts) \
  ((db)->dirty_max < (db)->frame_count && (db)->frames_dirty * (parts) >= (db)->dirty_max * (of))
#else
#define ln_buffer_operation(db) ((void)0)
#define ln_buffer_crowded(db) 0
#define ln_dirty_max(db) ((uint32_t)(db)->frame_count)
#define ln_dirty_bound(db, of, parts) 0
#endif
void ln_buffer_assign(struct lunar* db, struct lunar_frame* frame, uint32_t sector);
void ln_buffer_used(struct lunar* db, struct lunar_frame* frame);
void ln_buffer_dirty(struct lunar* db, struct lunar_frame* frame); /* it makes no room until it is clean */
void ln_buffer_clean(struct lunar* db, struct lunar_frame* frame);

/* frames.c: pages and rows' sectors in RAM. A frame that was got is pinned until it is put. */
int ln_page(struct lunar* db, uint32_t sector, enum ln_kind kind, struct lunar_frame** frame);
int ln_page_fresh(struct lunar* db, uint32_t sector, enum ln_kind kind, struct lunar_frame** frame);
/* At least so many frames can take another sector without a spill. */
int ln_ensure_clean(struct lunar* db, uint32_t count);
void ln_dirty(struct lunar* db, struct lunar_frame* frame);
void ln_put(struct lunar_frame* frame);
void ln_cleaned(struct lunar* db, struct lunar_frame* frame);
int ln_forget(struct lunar* db, uint32_t sector, uint32_t count); /* E_CORRUPT: one is pinned */
void ln_forget_all(struct lunar* db);
void ln_seal(struct lunar* db, struct lunar_frame* frame);
/* Bytes of the device as an operation sees them: frames and stage before medium. */
int ln_read_bytes(struct lunar* db, uint32_t sector, uint32_t offset, void* data, uint32_t bytes);
/* Changes bytes of rows in frames. data NULL: nothing but marks. */
int ln_write_bytes(struct lunar* db, uint32_t sector, uint32_t offset, const void* data, uint32_t bytes);
/* Whether these bytes may be changed without a record; then the change. */
int ln_is_plain(struct lunar* db, uint32_t sector, uint32_t offset, uint32_t bytes);
int ln_write_plain(struct lunar* db, uint32_t sector, uint32_t offset, const void* data, uint32_t bytes);
/* Writes in place what is plain of these sectors. */
int ln_settle_plain(struct lunar* db, uint32_t sector, uint32_t count);

/* log.c: groups, the stage, checkpoints. */
struct ln_record_header {
  enum ln_record type;
  uint16_t table, slot, position;
  uint32_t ref, bytes;
};
typedef int (*ln_emit)(void* context, void* sink, int (*put)(void* sink, const void* data, uint32_t bytes));
int ln_log(struct lunar* db, const struct ln_record_header* record, ln_emit emit, void* context);
int ln_log_row(struct lunar* db, uint32_t extent_sector, const struct ln_record_header* record, ln_emit emit,
               void* context);
int ln_log_bytes(struct lunar* db, const struct ln_record_header* record, const void* bytes);
int ln_commit_group(struct lunar* db); /* what was written in parts since lunar_begin counts from here on */
int ln_commit_point(struct lunar* db);
int ln_write_in_place(struct lunar* db, int only_without_image);
int ln_write_frame(struct lunar* db, struct lunar_frame* frame);
int ln_stage_write(struct lunar* db, int part);
int ln_checkpoint(struct lunar* db);
int ln_spill(struct lunar* db);
int ln_make_room(struct lunar* db, uint32_t times);
int ln_row_begin(struct lunar* db, const struct lunar_extent* extent, uint32_t bytes, uint32_t* offset);

/* recover.c */
int ln_recover(struct lunar* db); /* checkpoint_at LN_NONE: it has to be found */

/* extents.c: which blocks rows are written to in place. */
void ln_extents_follow(struct lunar* db, struct lunar_series* series, const struct ln_record_header* record);

/* redo of a record (redo.c). content: where the record's content lies. */
struct ln_content {
  uint32_t sector, offset;
};
int ln_redo(struct lunar* db, const struct ln_record_header* record, struct ln_content content);

/* alloc.c: blocks. */
int ln_alloc(struct lunar* db, uint8_t class, uint32_t near, uint32_t* ref);
int ln_alloc_run(struct lunar* db, uint32_t chunks, uint32_t* ref);
int ln_free(struct lunar* db, uint32_t ref);
/* Whether an operation may count on some small blocks beside so many free chunks; with a log it need not, because it
 * can be undone. */
int ln_room_is_sure(const struct lunar* db, uint32_t chunks);
int ln_count_free(struct lunar* db); /* chunks_free, from the map */
uint32_t ln_ref_sector(const struct lunar* db, uint32_t ref);
uint32_t ln_class_sectors(const struct lunar* db, uint8_t class);
static inline uint8_t ln_ref_class(uint32_t ref) { return (uint8_t)(ref >> 28); }

/* The key of an index: a number for the hash index, bytes whose order is that of the keys for the tree. */
struct ln_key {
  uint64_t number;
#if LUNAR_WITH_TREE
  uint8_t count;
  uint8_t bytes[LUNAR_TREE_KEY_MAX];
#endif
};
struct ln_place {
  uint32_t ref;
  uint16_t slot;
};
typedef int (*ln_matches)(void* context, struct ln_place place); /* 1: this row, 0: another, negative: error */

/* index.c: the primary index of either kind. meta: the table's pinned metadata page. */
int ln_index_create(struct lunar* db, struct lunar_frame* meta);
int ln_index_find(struct lunar* db, struct lunar_frame* meta, const struct ln_key* key, ln_matches matches,
                  void* context, struct ln_place* place);
int ln_index_insert(struct lunar* db, struct lunar_frame* meta, const struct ln_key* key, struct ln_place place);
/* Points the entry of (key, from) to another place; to.ref LN_NONE: removes it. */
int ln_index_move(struct lunar* db, struct lunar_frame* meta, const struct ln_key* key, struct ln_place from,
                  struct ln_place to);
int ln_index_drop(struct lunar* db, struct lunar_frame* meta);

/* hash.c */
int ln_hash_create(struct lunar* db, struct lunar_frame* meta);
int ln_hash_find(struct lunar* db, struct lunar_frame* meta, uint64_t key, ln_matches matches, void* context,
                 struct ln_place* place);
int ln_hash_insert(struct lunar* db, struct lunar_frame* meta, uint64_t key, struct ln_place place);
int ln_hash_move(struct lunar* db, struct lunar_frame* meta, uint64_t key, struct ln_place from, struct ln_place to);
int ln_hash_drop(struct lunar* db, struct lunar_frame* meta);

#if LUNAR_WITH_CHECK
/* recover.c. 1: the last checkpoint and its images are on the device as they were written. */
int ln_log_whole(struct lunar* db);
/* index.c. A walk over a whole index. It calls block for each block of the index and entry for each entry, in any
 * order, with the sector of the page that names it. What they return other than 0 ends the walk, as a problem of its
 * own does. check.c puts this at the beginning of what it knows. */
struct ln_walk {
  struct lunar* db;
  struct lunar_findings* found;
  int (*block)(struct ln_walk* walk, uint32_t ref, uint32_t sector);
  int (*entry)(struct ln_walk* walk, const struct ln_key* key, struct ln_place place, uint32_t sector);
};
int ln_walk_problem(struct ln_walk* walk, enum lunar_problem problem, uint32_t sector); /* reports it: E_CORRUPT */
int ln_walk_page(struct ln_walk* walk, uint32_t sector, enum ln_kind kind, struct lunar_frame** frame);
int ln_index_walk(struct ln_walk* walk, struct lunar_frame* meta);
int ln_hash_walk(struct ln_walk* walk, struct lunar_frame* meta);
#if LUNAR_WITH_TREE
int ln_tree_walk(struct ln_walk* walk, struct lunar_frame* meta);
#endif
#endif

/* tree.c */
#if LUNAR_WITH_TREE && LUNAR_WITH_CURSOR
#define LN_TREES_CHANGE(db) ((db)->tree_changes++)
#else
#define LN_TREES_CHANGE(db) ((void)0)
#endif
#if LUNAR_WITH_TREE
int ln_tree_create(struct lunar* db, struct lunar_frame* meta);
int ln_tree_find(struct lunar* db, struct lunar_frame* meta, const struct ln_key* key, struct ln_place* place);
int ln_tree_insert(struct lunar* db, struct lunar_frame* meta, const struct ln_key* key, struct ln_place place);
int ln_tree_move(struct lunar* db, struct lunar_frame* meta, const struct ln_key* key, struct ln_place from,
                 struct ln_place to);
int ln_tree_drop(struct lunar* db, struct lunar_frame* meta);
/* The entry next to the key in that direction; key becomes the entry's. */
enum ln_seek { LN_AT_LEAST, LN_MORE, LN_LESS, LN_AT_MOST };
#if LUNAR_WITH_CURSOR
/* leaf: where the last one was found, or of zeros. */
int ln_tree_seek(struct lunar* db, struct lunar_frame* meta, enum ln_seek seek, struct ln_key* key,
                 struct ln_place* place, struct lunar_leaf* leaf);
#endif
#endif

/* secondary.c: further indexes of a table. */
#define LN_NO_COLUMN 0xffu
#if LUNAR_WITH_SECONDARY
/* Where an index finds the values of a row. */
struct ln_source {
  const struct lunar_value* values; /* NULL: the row is stored, */
  uint32_t sector, offset;          /* here, */
  uint8_t column;                   /* but for this column, */
  const struct lunar_value* value;  /* which is this, or, when it is NULL, */
  struct ln_content stored;         /* what is stored here */
};
/* The indexes forget a row that was at from (old NULL: there was none) and get to know the one at to (new NULL: none).
 * Blocks are taken before any are given back; with E_FULL nothing has changed. */
int ln_secondary_change(const struct lunar_table* table, const struct ln_source* old, struct ln_place from,
                        const struct ln_source* new, struct ln_place to);
int ln_secondary_forget(const struct lunar_table* table, struct ln_place place); /* the row that is stored there */
/* ln_make_room for an operation on this table; then, before its record, whether the log still has what is needed behind
 * that, and for a recovery (E_TXN_FULL). all: nothing is changed after the record. */
int ln_make_room_for(const struct lunar_table* table);
int ln_room_stays(const struct lunar_table* table, int all);
int ln_is_indexed(const struct lunar_table* table, uint8_t column);
/* Before that number is dropped: a table's indexes go, an index leaves its table's list. */
int ln_secondary_drop(struct lunar* db, uint16_t number);
int ln_is_table(struct lunar* db, uint16_t number); /* E_NO_TABLE: it is an index */
int ln_secondary_list(struct lunar* db, uint16_t number, uint16_t numbers[LUNAR_INDEXES_MAX]); /* how many there are */
int ln_secondary_row_key(const struct lunar_table* table, uint8_t kind, uint8_t column, struct ln_place place,
                         uint32_t sector, uint32_t offset, struct ln_key* key);
int ln_secondary_next(struct lunar_cursor* cursor, void* row, size_t row_bytes, struct lunar_value* values);
/* hash.c: many entries may have one key. */
int ln_hash_enter(struct lunar* db, struct lunar_frame* meta, uint64_t key, struct ln_place place);
int ln_hash_leave(struct lunar* db, struct lunar_frame* meta, uint64_t key, struct ln_place place);
/* tables.c */
int ln_name_find(struct lunar* db, const char* name, uint16_t* number); /* E_INVALID: it cannot be a name */
int ln_name_free(struct lunar* db, uint16_t* number);                   /* E_TABLES: there is none */
int ln_name_read(struct lunar* db, uint16_t number, char name[LUNAR_NAME_MAX + 1]);
int ln_name_write(struct lunar* db, uint16_t number, const char name[LUNAR_NAME_MAX + 1]);
/* log.c: of the log, what an operation may need without them. */
uint32_t ln_operation_sectors(const struct lunar* db);
#define LN_RING_OF (0xff & ~LN_INDEXED)
#define LN_ALLOCATED(db) (8u * (1u + (db)->indexes))
#define LN_INDEX_SECTORS(db) ((uint32_t)(db)->index_sectors)
/* A page of an index that no checkpoint knows, whatever became of its frame. */
#define LN_IS_BUILT(db, frame) ((db)->building && (frame)->kind >= LN_BUCKET)
#else
#define ln_secondary_forget(table, place) 0
#define ln_make_room_for(table) ln_make_room((table)->db, 1)
#define ln_room_stays(table, all) 0
#define ln_is_indexed(table, column) 0
#define ln_secondary_drop(db, number) 0
#define ln_is_table(db, number) 0
#define LN_RING_OF 0xff
#define LN_ALLOCATED(db) 8u
#define LN_INDEX_SECTORS(db) 0u
#define LN_IS_BUILT(db, frame) 0
#endif

/* rows.c: a row is u16 of NULL bits (by column), the key's column, then the other columns in order. Integers, REAL and
 * BOOLEAN have their width; TEXT and BLOB u16 bytes and the bytes. NULL takes no bytes. */
int ln_values_check(const struct lunar_table* table, const struct lunar_value* values);
uint32_t ln_row_bytes(const struct lunar_table* table, const struct lunar_value* values);
int ln_row_emit(const struct lunar_table* table, const struct lunar_value* values, void* sink,
                int (*put)(void* sink, const void* data, uint32_t bytes));
int ln_row_decode(const struct lunar_table* table, const uint8_t* row, uint32_t bytes, struct lunar_value* values);
int ln_key_of(const struct lunar_table* table, const struct lunar_value* value, struct ln_key* key);
/* The key of a row, which lies (its header not counted) at that offset. */
int ln_row_key(struct lunar* db, const struct lunar_table* table, uint32_t sector, uint32_t offset, struct ln_key* key);
int ln_row_has_key(struct lunar* db, const struct lunar_table* table, uint32_t sector, uint32_t offset,
                   const struct lunar_value* key);
/* Where a column lies in a row: its offset and bytes (0 and -1 offset when NULL). */
int ln_row_column(struct lunar* db, const struct lunar_table* table, uint32_t sector, uint32_t offset, uint8_t column,
                  uint32_t* column_offset, uint32_t* column_bytes);
uint32_t ln_value_bytes(uint8_t type, const struct lunar_value* value);
int ln_value_emit(uint8_t type, const struct lunar_value* value, void* sink,
                  int (*put)(void* sink, const void* data, uint32_t bytes));
int ln_value_check(uint8_t type, uint8_t flags, const struct lunar_value* value);

/* blocks.c: slotted blocks of a table. meta: its pinned metadata page. */
struct ln_row {
  struct ln_place place;
  uint16_t position; /* of the row's header, from the block's beginning, in units of 4 bytes */
  uint16_t room;     /* for the row without its header, in units of 4 bytes */
};
int ln_block_header(struct lunar* db, uint32_t ref, struct lunar_frame** frame); /* pinned and sound */
int ln_block_class(struct lunar* db, const uint8_t* meta, uint32_t row_bytes, uint8_t* class);
int ln_block_add(struct lunar* db, struct lunar_frame* meta, uint16_t table, uint8_t class, uint32_t row_bytes,
                 uint32_t* ref);
int ln_block_room(struct lunar* db, uint32_t ref, uint16_t table, uint32_t* slot, uint32_t* tail, uint32_t* end);
int ln_slot_read(struct lunar* db, uint32_t ref, uint32_t slot, uint32_t* position);
#if LUNAR_WITH_PREFETCH
void ln_row_prefetch(struct lunar* db, struct ln_place place, uint32_t position);
#else
#define ln_row_prefetch(db, place, position) ((void)0)
#endif
/* 1: rows came into the block since the last checkpoint. */
int ln_block_stamped(struct lunar* db, uint32_t ref);
int ln_slot_touch(struct lunar* db, uint32_t ref, uint32_t slot);
int ln_row_add(struct lunar* db, struct lunar_frame* meta, const struct ln_row* row, uint32_t row_bytes);
int ln_row_drop(struct lunar* db, struct lunar_frame* meta, struct ln_place place);
int ln_row_reuse(struct lunar* db, struct lunar_frame* meta, uint32_t row_bytes, struct ln_row* row);

/* tables.c */
int ln_meta(struct lunar* db, uint16_t number, struct lunar_frame** meta);
int ln_table_meta(const struct lunar_table* table, struct lunar_frame** meta); /* E_NO_TABLE: it was dropped */
int ln_table_load(struct lunar* db, uint16_t number, struct lunar_table* table);
int ln_table_redo_create(struct lunar* db, uint16_t number, struct ln_content content, uint32_t bytes);
int ln_table_redo_drop(struct lunar* db, uint16_t number);

/* cache.c: rows that were read by their keys. */
#if LUNAR_WITH_CACHE
int ln_cache_get(const struct lunar_table* table, const struct lunar_value* value, void* row, size_t row_bytes,
                 struct lunar_value* values); /* as lunar_get; E_NOT_FOUND: it has not got the row */
int ln_cache_put(const struct lunar_table* table, const void* row, const struct lunar_value* values);
void ln_cache_forget(const struct lunar_table* table, const struct ln_key* key);
void ln_cache_forget_all(struct lunar* db);
/* rows.c */
int ln_row_is_of(const struct lunar_table* table, const uint8_t* row, const struct lunar_value* key);
#else
#define ln_cache_get(table, key, row, row_bytes, values) LUNAR_E_NOT_FOUND
#define ln_cache_put(table, row, values) 0
#define ln_cache_forget(table, key) ((void)0)
#define ln_cache_forget_all(db) ((void)0)
#endif

/* ring.c: what an insertion of the row with that key makes go. */
#if LUNAR_WITH_RING
int ln_ring_evict(const struct lunar_table* table, struct lunar_frame* meta, const struct ln_key* newest);
#else
#define ln_ring_evict(table, meta, newest) 0
#endif

/* operations.c */
int ln_row_at(struct lunar* db, struct ln_place place, uint32_t* sector, uint32_t* offset, uint32_t* bytes);
int ln_row_get(const struct lunar_table* table, struct ln_place place, void* row, size_t row_bytes,
               struct lunar_value* values);
/* Index and block forget the row. */
int ln_row_remove(const struct lunar_table* table, struct lunar_frame* meta, struct ln_place place);
int ln_undo(struct lunar* db, int error);
int ln_undo_change(struct lunar* db,
                   int error); /* ln_undo, when there is an error and the operation changed something */
int ln_enter(struct lunar* db);
int ln_lock(struct lunar* db);             /* its error comes with the lock, where there is a configuration */
int ln_enter_for_commit(struct lunar* db); /* a transaction, or all */
int ln_leave(struct lunar* db, int error);
int ln_retry_after_checkpoint(struct lunar* db, int* error, int* freed);

#endif
