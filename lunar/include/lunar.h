/* lunar: tables on a raw block device, without a file system and without malloc.
 *
 * A program gives a device (struct lunar_config: read, write, sync) and a piece of RAM, formats the device once, mounts
 * it and works with tables. Every function that can fail returns 0 or a negative enum lunar_error, and an operation
 * that fails has changed nothing that this handle shows.
 *
 * When the device fails (LUNAR_E_IO), the function that needed the request returns that, and lunar_failed_request names
 * the request. After a write or a flush that failed the handle has failed too: the device's content is unknown, so
 * every further call returns LUNAR_E_FAILED and changes nothing. lunar_unmount and lunar_mount make it work again, and
 * find what a power cut at that moment would leave: the operation that failed wholly or not at all, and of the ones
 * before it what the mode keeps. As rows wait in RAM outside mode full, a read may be the function whose write fails. A
 * driver that can mend a failure by another try tries again itself. After a read that failed the handle works on; if
 * the operation was already recorded, or in mode none had begun to change something, the handle has failed as well.
 *
 * One handle is used by one thread at a time, or config.lock and unlock are given: then every function may be called
 * from any thread, but not from a signal handler or an interrupt, nor from a callback of the device. No function
 * allocates memory, and the library has no static variables. No pointer may be NULL unless stated:
 * only the fields of lunar_config are checked. A module that a build leaves out (src/modules.h) takes its functions
 * with it: lunar_cursor_* (CURSOR), lunar_index_* (SECONDARY), lunar_cache_* (CACHE), lunar_check, lunar_stat, those of
 * SQL are then missing when the program is linked.
 *
 * Source: X. Fan et al., "LUNAR: A Native Table Engine for Embedded Devices", LCTES '23. docs/DESIGN.md says what
 * differs and why, docs/FORMAT.md what lies where on the device.
 */
#ifndef LUNAR_H
#define LUNAR_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define LUNAR_MUST_CHECK __attribute__((warn_unused_result))

#define LUNAR_NAME_MAX 23     /* bytes of a table's or column's name */
#define LUNAR_COLUMNS_MAX 16  /* columns of a table */
#define LUNAR_TREE_KEY_MAX 64 /* bytes of a TEXT or BLOB key in a tree index */
#define LUNAR_EXTENTS 4       /* tables that take large rows in turn at no extra write */
#define LUNAR_INDEXES_MAX 4   /* secondary indexes of a table */

enum lunar_error {
  LUNAR_OK = 0,
  LUNAR_E_IO = -1,           /* the device failed a request, see lunar_failed_request; what was durable is on it */
  LUNAR_E_CORRUPT = -2,      /* what was read cannot have been written by lunar */
  LUNAR_E_FULL = -3,         /* no free block for this operation */
  LUNAR_E_NOT_FOUND = -4,    /* no row with this key */
  LUNAR_E_EXISTS = -5,       /* a row with this key, or a table of this name, is there */
  LUNAR_E_INVALID = -6,      /* an argument, or a field of the configuration, is outside its constraint */
  LUNAR_E_TOO_LARGE = -7,    /* the row does not fit into a block of the largest class */
  LUNAR_E_NO_TABLE = -8,     /* no table of this name; the open table has been dropped, or its creation undone */
  LUNAR_E_TABLES = -9,       /* no room for a further table (config.tables_max) */
  LUNAR_E_TXN = -10,         /* begin within a transaction, commit or rollback without one */
  LUNAR_E_TXN_FULL = -11,    /* no room left in the log (see lunar_begin); the transaction has been rolled back */
  LUNAR_E_BUFFER = -12,      /* config.buffer, or the caller's row buffer, is too small */
  LUNAR_E_DEVICE = -13,      /* the device has too few sectors for zones and one block */
  LUNAR_E_NO_VOLUME = -14,   /* there is no lunar volume on the device */
  LUNAR_E_VERSION = -15,     /* the volume was made by another version of the format */
  LUNAR_E_FAILED = -16,      /* an earlier call returned E_IO or E_CORRUPT and ended this handle; mount again */
  LUNAR_E_UNSUPPORTED = -17, /* not in this mode, or not in this build */
  LUNAR_E_UNCLEAN = -18,     /* mode none was cut off: mount in mode none, lunar_check, unmount; then any mode */
  LUNAR_E_SQL = -19,         /* the text is not of lunar's SQL: lunar_sql_error has the place and the reason */
  LUNAR_E_SCHEMA = -20 /* the table is not as it was when the statement was prepared: prepare it again. Or the index
                          by which a SELECT is reading was dropped */
  ,
  LUNAR_E_BUSY = -21 /* the volume is mounted by another handle, or was taken over by one: see lunar_mount */
};

/* What a program asks of the device. */
enum lunar_request { LUNAR_REQUEST_NONE = 0, LUNAR_REQUEST_READ = 1, LUNAR_REQUEST_WRITE = 2, LUNAR_REQUEST_SYNC = 3 };

/* What a power cut may take (the paper's Table 2; docs/FORMAT.md has it operation by operation). In every mode but none
 * the tables are whole afterwards. */
enum lunar_mode {
  LUNAR_MODE_DEFAULT = 0,  /* metadata */
  LUNAR_MODE_NONE = 1,     /* anything since the last unmount; no transactions */
  LUNAR_MODE_DISORDER = 2, /* as metadata: here the order costs nothing */
  LUNAR_MODE_METADATA = 3, /* what came after some moment since the last lunar_sync; of updates in place (of equal
                              length, where config.atomic_write_bytes allows them) any since it, and parts of one */
  LUNAR_MODE_DATA = 4,     /* what came after some moment since the last lunar_sync */
  LUNAR_MODE_FULL = 5      /* nothing: each operation is durable when it returns */
};

enum lunar_type {
  LUNAR_NULL = 0, /* of a value only */
  LUNAR_INT8 = 1,
  LUNAR_INT16 = 2,
  LUNAR_INT32 = 3,
  LUNAR_INT64 = 4,
  LUNAR_REAL = 5,
  LUNAR_BOOLEAN = 6,
  LUNAR_TEXT = 7,
  LUNAR_BLOB = 8
};

struct lunar_config;

/* The device and the RAM. It must stay where it is, unchanged, from mount to unmount. */
struct lunar_config {
  void* context; /* the device driver's own */

  /* Reads or writes count sectors. Returns 0, or anything else for a failure. */
  int (*read)(const struct lunar_config* config, uint32_t sector, void* data, uint32_t count);
  int (*write)(const struct lunar_config* config, uint32_t sector, const void* data, uint32_t count);
  /* Returns when everything written before is on the medium. A device that lies about it loses rows. After it has
   * returned a failure, read must return the medium's content, or fail: a mount trusts it. Linux's page cache
   * goes on giving what could not be written; ports/posix drops it. */
  int (*sync)(const struct lunar_config* config);
  /* Optional: the content of these sectors is not needed any more. Not called yet. */
  int (*trim)(const struct lunar_config* config, uint32_t sector, uint32_t count);
  /* Optional, both or none. */
  void (*lock)(const struct lunar_config* config);
  void (*unlock)(const struct lunar_config* config);
  /* The mounted mark: a word of RAM for this device, the same in every configuration of it, NULL when the power comes
   * (a static variable is). lunar notes there which handle has the volume; as long as it is mounted, lunar_mount with
   * another handle and lunar_format return E_BUSY. lunar_unmount clears it, and so does a power cut, with the RAM.
   * Every port sets it. NULL: there is no mark, see lunar_mount. */
  struct lunar** mounted;

  uint32_t sector_bytes;       /* 512 or 4096 */
  uint32_t sector_count;       /* of the device; at least 128. Volumes on larger devices stay as large as they are */
  uint32_t atomic_write_bytes; /* what the device writes wholly or not at all; 0: not known. Less than a sector: modes
                                  disorder and metadata keep what data keeps */

  void* buffer;         /* aligned for a pointer */
  size_t buffer_bytes;  /* at least LUNAR_BUFFER_BYTES_MIN(sector_bytes); more makes everything faster */
  enum lunar_mode mode; /* may differ from mount to mount */
  /* 1: where mount looks for the operation after the last one, a sector that cannot be read or is damaged is taken for
   * none, and what was committed there and later is lost. 0: mount fails, with E_IO each time if the sector stays
   * unreadable, with E_CORRUPT where a later group says that the damaged one was flushed; then it erases nothing. */
  uint8_t skip_unreadable;

  /* For lunar_format only. 0 takes the default. */
  uint32_t class_bytes_min; /* smallest block: a power of two, at least a sector (default: a sector) */
  uint32_t class_bytes_max; /* largest block: a power of two, at least two sectors, at most 64 KiB and
                             128 times the smallest (default: 64 KiB, less on a small device) */
  uint32_t class_growth;    /* 2 (default), or 1: all blocks have class_bytes_max */
  uint32_t log_bytes; /* of the LOG zone, at least 64 sectors (default: a 32nd of the device, at least 128 sectors where
                         that is an eighth, at most 4 MiB) */
  uint16_t tables_max; /* default 16 */
  uint32_t seed;       /* distinguishes this volume from earlier ones on the device: a clock, a noise source, or 0 */
};

/* Four frames of a sector, what each needs beside it, a stage of one, and a word that says whose the buffer is. */
#if defined(LUNAR_WITH_BUFFER) && !LUNAR_WITH_BUFFER
#define LUNAR_FRAME_BYTES 16u
#else
#define LUNAR_FRAME_BYTES 24u
#endif
#define LUNAR_BUFFER_BYTES_MIN(sector_bytes) (5u * (sector_bytes) + 4u * LUNAR_FRAME_BYTES + 8u)

struct lunar_value {
  uint8_t type;   /* enum lunar_type; integers of any width: LUNAR_INT64 */
  uint32_t bytes; /* of TEXT and BLOB */
  union {
    int64_t integer; /* integers, and BOOLEAN: 0 or 1 */
    double real;
    const void* data; /* TEXT (no final zero needed) and BLOB; of a row that was read: inside the caller's row buffer */
  } as;
};

/* Blocks that one operation may take: some for each index. */
#if defined(LUNAR_WITH_SECONDARY) && !LUNAR_WITH_SECONDARY
#define LUNAR_ALLOCATED 8u
#else
#define LUNAR_ALLOCATED (8u * (1u + LUNAR_INDEXES_MAX))
#endif

enum { LUNAR_NOT_NULL = 1 };

struct lunar_column {
  char name[LUNAR_NAME_MAX + 1];
  uint8_t type;  /* enum lunar_type */
  uint8_t flags; /* LUNAR_NOT_NULL */
};

enum lunar_index {
  LUNAR_INDEX_HASH = 0,
  LUNAR_INDEX_TREE = 1 /* in the order of the keys: integers by value, TEXT and BLOB by their bytes, at most
                          LUNAR_TREE_KEY_MAX of them (E_TOO_LARGE) */
};

/* What makes the oldest rows go: with an insertion, at most four of them (two where the table has secondary indexes),
 * the others with the next. A row that an update makes larger may count as new. */
enum lunar_ring {
  LUNAR_RING_NONE = 0,
  LUNAR_RING_ROWS = 1,  /* more rows than ring_limit */
  LUNAR_RING_BYTES = 2, /* blocks of more than ring_limit bytes; whole blocks go, so the limit is at least four times
                           the largest row */
  LUNAR_RING_AGE = 3    /* an integer key below that of the row just inserted by more than ring_limit: a time */
};

struct lunar_schema {
  struct lunar_column columns[LUNAR_COLUMNS_MAX];
  uint8_t column_count;
  uint8_t key;         /* number of the primary key's column: an integer, TEXT or BLOB; it may not be NULL */
  uint8_t index;       /* enum lunar_index: of the primary key */
  uint8_t ring;        /* enum lunar_ring */
  uint64_t ring_limit; /* at least 1 */
};

/* What follows is laid out here so that a program can place it; its fields are the library's own. */

struct lunar_frame;

struct lunar_extent {
  uint32_t block;  /* block number; 0xffffffff: none */
  uint32_t sector; /* the next group's */
  uint16_t table;
};

/* A position in the series of groups: where the next one is written, or searched. */
struct lunar_series {
  uint32_t epoch, sequence; /* of the last group */
  uint32_t log_head, log_used;
  struct lunar_extent extents[LUNAR_EXTENTS];
};

struct lunar_geometry {
  uint32_t volume;                                    /* this volume's number: every checksum begins with it */
  uint32_t root_at, meta_at, map_at, log_at, data_at; /* first sectors of the zones */
  uint32_t map_sectors, log_sectors, chunk_count;
  uint16_t unit_sectors; /* of the log */
  uint16_t class_sectors_min, chunk_sectors;
  uint16_t tables_max;
  uint8_t class_growth, class_count;
};

struct lunar {
  const struct lunar_config* config;
  struct lunar** holder; /* the mounted mark, or what stands for it */
  uint8_t* stage;
  struct lunar_frame* frames;
  struct lunar_geometry geometry;
  /* log */
  struct lunar_series series;
  uint32_t checkpoint_at, before_last; /* log sectors */
  uint32_t log_before;                 /* how many of log_used before images take */
  uint32_t committed, flushed;         /* numbers of the last group that ended something, and of the last flushed one */
  /* stage */
  uint32_t stage_bytes, stage_used, stage_sector;
  uint16_t stage_records;
  /* frames */
  uint16_t frame_count, frames_dirty;
  uint16_t clock, rows_dirty /* of frames_dirty */, dirty_max /* frames whose images the log holds */;
  uint8_t operation;  /* the last digits of its number */
  uint16_t creations; /* since mount */
#if !defined(LUNAR_WITH_PREFETCH) || LUNAR_WITH_PREFETCH
  uint8_t* ahead; /* what was read ahead */
  uint32_t ahead_sector, ahead_next;
  uint16_t ahead_count, ahead_max, ahead_window, ahead_streak;
#endif
  /* allocator */
  uint32_t chunks_free, chunks_waiting /* of them, for a checkpoint */, chunk_hint, class_hint[8];
  uint32_t allocated[LUNAR_ALLOCATED];
  uint8_t allocated_count, allocated_taken;
  uint8_t extent_next; /* the extent that makes room */
  /* state */
  uint8_t mode, state, redoing, unsynced, freed, no_way_back, parts, settled, wants_settled;
  uint8_t changing;       /* the operation has changed something: an error of it is undone */
  uint8_t failed_request; /* enum lunar_request */
  uint32_t failed_sector;
  uint32_t checkpoints;
#if !defined(LUNAR_WITH_STAT) || LUNAR_WITH_STAT
  uint32_t spills, reads, writes, flushes, sectors_read, sectors_written; /* counters of lunar_stat */
#endif
  uint32_t releases; /* blocks that left their table's chain, and recoveries */
#if !defined(LUNAR_WITH_CURSOR) || LUNAR_WITH_CURSOR
  uint32_t tree_changes; /* and recoveries */
#endif
#if !defined(LUNAR_WITH_CACHE) || LUNAR_WITH_CACHE
  struct lunar_cache* caches;
#endif
#if LUNAR_ALLOCATED > 8u
  uint16_t index_sectors; /* of the log, for the secondary indexes of the table that was worked on last */
  uint8_t indexes;        /* their number */
  uint8_t building;       /* an index */
#endif
};

struct lunar_table {
  struct lunar* db;
  uint32_t creation;
  uint16_t number;
  uint8_t column_count, key, index, ring;
  uint8_t types[LUNAR_COLUMNS_MAX], flags[LUNAR_COLUMNS_MAX];
};

/* What lunar_cache_open gives a table. hits and misses are the program's to read and to reset. */
struct lunar_cache {
  struct lunar* db;
  struct lunar_cache* next;
  uint8_t* slots;
  uint32_t sets, slot_bytes, row_bytes, creation;
  uint32_t hits, misses; /* of lunar_get */
  uint16_t number;
};

/* An entry of a tree, as long as no tree changes. */
struct lunar_leaf {
  uint32_t ref, changes; /* changes 0: none */
  uint16_t entry;
};

/* A place between two rows of a table. It holds nothing of the volume: it may be forgotten at any time. */
struct lunar_cursor {
  struct lunar_table* table;
  struct lunar_value from, to; /* of type LUNAR_NULL: no bound */
  uint8_t descending, started, ended;
  /* in the order of the blocks */
  uint16_t slot, end_slot;
  uint32_t ref, serial, end_serial, releases;
  /* in the order of the keys */
  uint8_t key_bytes;
  uint8_t key[LUNAR_TREE_KEY_MAX];
  struct lunar_leaf leaf;
  /* by a secondary index */
  uint8_t bounds, index_kind, column;
  uint16_t index;
  uint32_t index_creation; /* 0: by none */
};

/* Each function below names its errors. Those with a handle also have E_INVALID when it is not mounted, E_BUSY when
 * another one took the volume over (see lunar_mount), E_FAILED once the handle has failed (see the top; mount again),
 * E_IO, E_CORRUPT where a page they read is damaged, and E_TXN in a transaction that was lost (see lunar_begin). */

/* The request that the device failed last, since lunar_mount or in it; *sector: its first one, of a flush 0. */
static inline enum lunar_request lunar_failed_request(const struct lunar* db, uint32_t* sector) {
  *sector = db->failed_sector;
  return (enum lunar_request)db->failed_request;
}

/* Makes an empty volume: everything on the device is lost. E_BUSY (a handle has the volume mounted: unmount it first),
 * E_INVALID, E_BUFFER, E_DEVICE, E_IO. */
LUNAR_MUST_CHECK int lunar_format(const struct lunar_config* config);
/* Makes db ready, after a power cut too: every outcome is one that the mode permits. The earlier content of db is not
 * read at: the caller unmounts a mounted handle before. It stays where it is until it is unmounted. After an error it
 * is a handle that is not mounted.
 *
 * A volume has one handle. A second one is refused (E_BUSY) where config.mounted is given. A program that has abandoned
 * a handle without unmounting it (its memory is gone) sets *config.mounted to NULL itself. Where config.mounted is NULL
 * and the second handle or lunar_format uses the same buffer, they take the volume over, and every call with the first
 * one returns E_BUSY and touches nothing. Not noticed, and the end of the volume, are two handles with buffers of their
 * own without config.mounted, and another processor or program that reaches the device past a port that locks it, as
 * ports/posix.h does. E_NO_VOLUME,
 * E_VERSION, E_CORRUPT, E_INVALID (also: the volume has sectors of the other size), E_BUFFER, E_DEVICE (sector_count is
 * less than the volume's), E_UNCLEAN, E_IO. After a cut, with a much smaller buffer than before it, the recovery may
 * need more of the log than there is and be refused for it: nothing is lost, mount with a buffer as large as that. */
LUNAR_MUST_CHECK int lunar_mount(struct lunar* db, const struct lunar_config* config);
/* Makes everything durable and forgets the device. An open transaction is rolled back. */
LUNAR_MUST_CHECK int lunar_unmount(struct lunar* db);

/* E_EXISTS, E_INVALID (name, schema), E_UNSUPPORTED (an index or ring that this build has not), E_TABLES, E_FULL,
 * E_TXN_FULL. */
LUNAR_MUST_CHECK int lunar_table_create(struct lunar* db, const char* name, const struct lunar_schema* schema);
/* The table stays usable until it is dropped or the volume unmounted; there is no close, and it may be open several
 * times. E_NO_TABLE, E_INVALID (name). */
LUNAR_MUST_CHECK int lunar_table_open(struct lunar* db, const char* name, struct lunar_table* table);
/* E_NO_TABLE, E_INVALID (name), E_TXN_FULL (without a transaction too, where the log is short for a table of hundreds
 * of the largest blocks, as with a small class_bytes_max: remove its rows first). */
LUNAR_MUST_CHECK int lunar_table_drop(struct lunar* db, const char* name);
/* The name of the first table whose number is at least *number, which becomes its number + 1. E_NO_TABLE at the end. */
LUNAR_MUST_CHECK int lunar_table_list(struct lunar* db, uint16_t* number, char name[LUNAR_NAME_MAX + 1]);
/* The schema as it was given. E_NO_TABLE. */
LUNAR_MUST_CHECK int lunar_table_schema(struct lunar_table* table, struct lunar_schema* schema);

/* values: one per column. A row has 2 bytes, those of its numbers, and of TEXT and BLOB their bytes and 2; it lies in
 * one block, some 600 bytes less than the largest (64,916 bytes of TEXT beside an integer in one of 64 KiB).
 * E_EXISTS, E_INVALID (type, range, NULL), E_TOO_LARGE, E_FULL, E_TXN_FULL, E_NO_TABLE. */
LUNAR_MUST_CHECK int lunar_insert(struct lunar_table* table, const struct lunar_value* values);
/* Reads a row into row (row_bytes; E_BUFFER when it is too small) and points values (one per column) into it.
 * E_NOT_FOUND, E_INVALID (the key's type, or an integer that its column cannot have), E_TOO_LARGE (a key that a tree
 * cannot have), E_NO_TABLE. */
LUNAR_MUST_CHECK int lunar_get(struct lunar_table* table, const struct lunar_value* key, void* row, size_t row_bytes,
                               struct lunar_value* values);
/* Sets one column of one row. The key's column cannot be set (E_INVALID). After E_IO and the next mount, what modes
 * disorder and metadata change in place may be changed in part. E_NOT_FOUND, E_INVALID (of key or value: type, range,
 * NULL), E_TOO_LARGE, E_FULL, E_TXN_FULL, E_NO_TABLE. */
LUNAR_MUST_CHECK int lunar_update(struct lunar_table* table, const struct lunar_value* key, uint8_t column,
                                  const struct lunar_value* value);
/* E_NOT_FOUND, E_INVALID (as lunar_get), E_TXN_FULL, E_NO_TABLE. */
LUNAR_MUST_CHECK int lunar_remove(struct lunar_table* table, const struct lunar_value* key);
/* Rows of the table. E_NO_TABLE. */
LUNAR_MUST_CHECK int lunar_count(struct lunar_table* table, uint64_t* rows);

#define LUNAR_CACHED_ROW_BYTES 8u /* bytes of a cache for each row beside the row's (see lunar_insert) */

/* A query cache: from now on lunar_get, and SQL's WHERE with a value of the primary key, find rows of the table that
 * they read before in this memory, without index and device. It has the rows of up to row_bytes that were asked for
 * last, about; one that changes is read again. memory: aligned for 4 bytes, in multiples of
 * 4 * (LUNAR_CACHED_ROW_BYTES + row_bytes rounded up to 4). It pays where rows are asked for again and are short: in
 * config.buffer a row takes its sector. E_EXISTS (the table has one, or cache is open), E_INVALID (row_bytes 0 or above
 * 65535; memory), E_BUFFER (memory for less than four rows), E_NO_TABLE. */
LUNAR_MUST_CHECK int lunar_cache_open(struct lunar_table* table, struct lunar_cache* cache, void* memory,
                                      size_t memory_bytes, uint32_t row_bytes);
/* cache and memory are the caller's again, as they are after lunar_unmount. E_INVALID (it is not open). */
LUNAR_MUST_CHECK int lunar_cache_close(struct lunar_cache* cache);

/* Reads all rows of a table: with a hash index in the order in which they lie (about that of insertion), with a tree
 * index in the order of the keys, and then only those with from <= key <= to (NULL: no bound; TEXT and BLOB stay where
 * they are as long as the cursor is used). descending: from the last to the first. Nothing is read yet, and the handle
 * is not checked. E_UNSUPPORTED: bounds without a tree index. E_INVALID (a bound's type, or an integer that the key's
 * column cannot have; SQL clips such bounds), E_TOO_LARGE (a key that a tree cannot have). */
LUNAR_MUST_CHECK int lunar_cursor_open(struct lunar_cursor* cursor, struct lunar_table* table,
                                       const struct lunar_value* from, const struct lunar_value* to, int descending);
/* The next row, as lunar_get gives it; E_NOT_FOUND after the last. E_BUFFER: the row is larger than row_bytes; the
 * cursor stays before it. Rows may be written between two calls, also the one just read: by key, each row that is there
 * all the time is read once; by blocks, a row that an update moves may be missed or read twice, and those inserted
 * after the opening are not read. E_NO_TABLE. */
LUNAR_MUST_CHECK int lunar_cursor_next(struct lunar_cursor* cursor, void* row, size_t row_bytes,
                                       struct lunar_value* values);

/* Makes an index of column number column of that table, by hashing or as a tree, whose name is among those of the
 * tables and whose number is one of config.tables_max. Every insertion, update and removal keeps it. It is durable when
 * this returns, as is everything before it: with a checkpoint, so it is not for a transaction (E_TXN). A table that has
 * rows is read once; the pages of the new index need none of the log. E_NO_TABLE, E_EXISTS (the name), E_INVALID (name,
 * column, kind), E_UNSUPPORTED (an index that this build has not), E_TABLES (config.tables_max; LUNAR_INDEXES_MAX),
 * E_FULL, E_TXN_FULL (config.log_bytes, which needs 59 sectors and 32 for each index, or 48 for each of a ring table,
 * in a larger one two units and 43 instead of 59). */
LUNAR_MUST_CHECK int lunar_index_create(struct lunar* db, const char* table, const char* name, uint8_t column,
                                        uint8_t kind);
/* A table that is dropped takes its indexes with it. E_NO_TABLE (no index of this name), E_INVALID (name), E_TXN_FULL
 * (as for lunar_table_drop). */
LUNAR_MUST_CHECK int lunar_index_drop(struct lunar* db, const char* name);

struct lunar_index_info {
  char name[LUNAR_NAME_MAX + 1];
  uint8_t column, kind;
};

/* The table's index number *at (from 0), which becomes *at + 1. E_NOT_FOUND at the end. E_NO_TABLE. */
LUNAR_MUST_CHECK int lunar_index_list(struct lunar_table* table, uint8_t* at, struct lunar_index_info* info);

/* A cursor, for lunar_cursor_next, over the rows with from <= value <= to by the index of that name. A tree has them in
 * the order of the values and, of equal ones, of the primary keys (of TEXT and BLOB ones: of their hashes). NULL is the
 * least value, -0.0 equals 0.0, a NaN lies at the end that its sign says; of TEXT and BLOB only the first 47 bytes
 * order (bytes of zero count twice). from or to NULL: no bound; a bound of type LUNAR_NULL is one. By hashing: from and
 * to are the same pointer, to the searched value, and the rows are unordered. Rows may be written between
 * two calls of lunar_cursor_next: by a tree, each row that is there all the time with its value is read once; by
 * hashing, a row that an update moves may be missed or read twice, and those inserted after the first call are mostly
 * not read. E_NO_TABLE (also: no such index of the table; from lunar_cursor_next: it was dropped), E_INVALID (name, a
 * bound's type, or an integer that the column cannot have), E_UNSUPPORTED (by hashing: anything but one value). */
LUNAR_MUST_CHECK int lunar_index_cursor(struct lunar_cursor* cursor, struct lunar_table* table, const char* name,
                                        const struct lunar_value* from, const struct lunar_value* to, int descending);

/* Everything between begin and commit happens wholly or not at all. It has at least two fifths of the log, nearly half
 * where the table has no secondary indexes (of 32 KiB an eighth; with indexes, of 128 KiB or less, a few rows): for
 * what it writes, and for the pages that leave the buffer meanwhile, two sectors each. So rising keys or a larger
 * buffer make room for more; insertions of two numbers with random keys into 10,000 rows were, with the smallest
 * buffer, 890 at the least with 4 MiB of log, 190 with 1 MiB and 6 with 64 KiB (512-byte sectors). For that room it may
 * begin with a checkpoint. An operation that changes something and fails for want of room, or with the device, has lost
 * the transaction: its changes are undone, and every function returns E_TXN until lunar_commit (E_TXN) or
 * lunar_rollback (0) ends it. After other errors it goes on. E_TXN: in a transaction. E_UNSUPPORTED: in mode none. */
LUNAR_MUST_CHECK int lunar_begin(struct lunar* db);
/* E_TXN: there is no transaction, or it was lost. */
LUNAR_MUST_CHECK int lunar_commit(struct lunar* db);
/* E_TXN: there is no transaction. */
LUNAR_MUST_CHECK int lunar_rollback(struct lunar* db);

/* Returns when every committed operation is durable. Mode full does so by itself. E_TXN. */
LUNAR_MUST_CHECK int lunar_sync(struct lunar* db);
/* Writes every committed operation to the device, without a flush. Afterwards the end of the program loses none of them
 * where the device outlives the program (a file, a block device of an operating system); a power cut may. E_TXN. */
LUNAR_MUST_CHECK int lunar_write_out(struct lunar* db);
/* Writes everything in place, so that the next mount has nothing to do. E_TXN. */
LUNAR_MUST_CHECK int lunar_checkpoint(struct lunar* db);

/* What lunar_check finds first. */
enum lunar_problem {
  LUNAR_PROBLEM_NONE = 0,
  LUNAR_PROBLEM_PAGE,
  LUNAR_PROBLEM_MAP,
  LUNAR_PROBLEM_CHUNKS_FREE,
  LUNAR_PROBLEM_NAME,
  LUNAR_PROBLEM_NAME_TWICE,
  LUNAR_PROBLEM_METADATA,
  LUNAR_PROBLEM_SCHEMA,
  LUNAR_PROBLEM_BLOCK_FREE,
  LUNAR_PROBLEM_BLOCK_TWICE,
  LUNAR_PROBLEM_BLOCK_LEAKED,
  LUNAR_PROBLEM_BLOCK_HEADER,
  LUNAR_PROBLEM_BLOCK_OWNER,
  LUNAR_PROBLEM_CHAIN,
  LUNAR_PROBLEM_SERIAL,
  LUNAR_PROBLEM_SLOT,
  LUNAR_PROBLEM_ROWS_OVERLAP,
  LUNAR_PROBLEM_ROW_ROOM,
  LUNAR_PROBLEM_ROW,
  LUNAR_PROBLEM_BLOCK_TAIL,
  LUNAR_PROBLEM_BLOCK_COUNTS,
  LUNAR_PROBLEM_REUSE,
  LUNAR_PROBLEM_SECTORS,
  LUNAR_PROBLEM_ROWS,
  LUNAR_PROBLEM_INDEX_PAGE,
  LUNAR_PROBLEM_INDEX_ORDER,
  LUNAR_PROBLEM_ROW_NOT_INDEXED,
  LUNAR_PROBLEM_ENTRY_WITHOUT_ROW,
  LUNAR_PROBLEM_ENTRY_TWICE,
  LUNAR_PROBLEM_EXTENT,
  LUNAR_PROBLEM_LOG,
  LUNAR_PROBLEM_END
};

/* What was counted, until the first problem, and that. */
struct lunar_findings {
  uint64_t rows, row_bytes; /* as they are stored, their headers not counted */
  uint64_t index_entries;
  uint32_t tables, blocks /* of rows */, index_blocks, chunks_free, chunks_used;
  uint32_t sector;                /* of the problem; 0xffffffff: no single one */
  char table[LUNAR_NAME_MAX + 1]; /* whose problem it is; empty: the volume's */
  uint8_t problem;                /* enum lunar_problem */
  const char* text;               /* the problem as text; empty in a build without texts */
};

/* Verifies the volume: names, schemas, blocks, rows, indexes, allocation and the last checkpoint agree with each other.
 * Nothing stored changes; where nearly every frame is dirty a checkpoint is written first. Memory: the handle's frames
 * and some hundred bytes of stack. Time: every page of metadata and index and every row's sectors are read about once
 * (names: tables^2); where an index and its rows differ, each row and entry is looked up. Not verified: the values of
 * columns, which have no checksum after the checkpoint that follows them. E_CORRUPT: see found. E_TXN. */
LUNAR_MUST_CHECK int lunar_check(struct lunar* db, struct lunar_findings* found);

/* Sizes and counters; those of the device since mount, all modulo 2^32. */
struct lunar_statistics {
  uint32_t sector_bytes, block_bytes_min, block_bytes_max, chunk_bytes;
  uint64_t super_bytes, root_bytes, meta_bytes, map_bytes, log_bytes, data_bytes; /* the zones */
  uint32_t chunks_free, chunks_used;
  uint64_t free_bytes; /* in free chunks; blocks that are free in used chunks are not counted */
  uint32_t tables /* and indexes */, tables_max;
  uint32_t frames, frames_dirty, frames_pinned;
  uint32_t stage_bytes, stage_bytes_used; /* where groups are collected */
  uint64_t log_bytes_used;                /* needed for a recovery from now */
  uint32_t checkpoints;                   /* since format */
  uint32_t spills;                        /* since mount: dirty pages made room before a checkpoint */
  uint32_t epoch;                         /* recoveries so far, and one */
  uint32_t reads, writes, flushes;        /* calls of the device */
  uint32_t sectors_read, sectors_written;
  uint8_t mode; /* enum lunar_mode */
};

/* Reads the root table and changes nothing. */
LUNAR_MUST_CHECK int lunar_stat(struct lunar* db, struct lunar_statistics* stat);

/* Returns the error's text, without a final full stop. */
const char* lunar_error_text(int error);

/* --- SQL: docs/SQL.md has the language. The calling order is SQLite's: prepare, bind, step, column, reset, finalize.
 */

/* A compiled statement, in memory that the caller gave. One thread at a time; with several threads on a handle the
 * program sees to it that no other thread changes tables while a statement does. */
struct lunar_statement;

/* What a statement complains about. */
struct lunar_sql_message {
  const char* text;  /* the reason as text, without a final full stop; empty: none, or a build without texts */
  const char* token; /* of an error in the text: the word there. Of one in a row: the column's name. No final zero */
  uint32_t bytes;    /* of token */
  uint32_t position; /* of token in the text that was prepared, in bytes; 0 for an error in a row */
};

/* Compiles the first statement of sql (sql_bytes) into memory, which stays the statement's until lunar_finalize; the
 * text need not stay. *statement: NULL where nothing but space and comments was, or the memory is too small for
 * anything; after another error it is there for lunar_sql_error only. A statement that is NULL, or that could not be
 * prepared, may be given to every function of SQL: E_INVALID, or nothing (0, NULL). *tail, unless tail is NULL: what
 * follows the statement and its semicolon, or after E_SQL the place of the error. The rest of the memory holds one
 * row at a time, and for ORDER BY and GROUP BY as many keys as fit: the more, the fewer passes over the table. E_SQL,
 * E_NO_TABLE, E_BUFFER, E_INVALID (a pointer but tail is NULL), E_UNSUPPORTED (an index or ring that this build has
 * not). */
LUNAR_MUST_CHECK int lunar_prepare(struct lunar* db, const char* sql, size_t sql_bytes, void* memory,
                                   size_t memory_bytes, struct lunar_statement** statement, const char** tail);
/* About the last error of this statement; after success empty. Never NULL. token is valid as long as the text that was
 * prepared, or the statement. */
const struct lunar_sql_message* lunar_sql_error(const struct lunar_statement* statement);

/* Gives parameter number (from 1) a value, until another is given; before that it is NULL. TEXT and BLOB stay where
 * they are as long as the statement is used. Not between two rows of a result (lunar_reset first). E_INVALID (also: the
 * statement or the value is NULL, or the data of a TEXT or BLOB that has bytes). */
LUNAR_MUST_CHECK int lunar_bind(struct lunar_statement* statement, unsigned number, const struct lunar_value* value);
unsigned lunar_bind_parameter_count(const struct lunar_statement* statement); /* the highest number */
/* The number of the parameter of this name (with its colon), 0: none. */
unsigned lunar_bind_parameter_index(const struct lunar_statement* statement, const char* name);

enum { LUNAR_DONE = 0, LUNAR_ROW = 1 };

/* LUNAR_ROW: the columns have the next row, until the next call with this statement. LUNAR_DONE: the statement has run
 * to its end; a further call runs it again. A statement that changes rows does so wholly or not at all: it begins a
 * separate transaction unless one is open (mode none has none: changes before an error stay). Within a
 * transaction an error after its first change loses the transaction (see lunar_begin).
 * E_INVALID (a value that its column or place cannot have: lunar_sql_error says which), E_EXISTS, E_NO_TABLE, E_SCHEMA,
 * E_BUFFER (a row, or a key to be sorted, is larger than the memory), E_UNSUPPORTED (in mode none: BEGIN; indexes in a
 * build without them), E_TOO_LARGE, E_FULL, E_TABLES, E_TXN, E_TXN_FULL. */
LUNAR_MUST_CHECK int lunar_step(struct lunar_statement* statement);
uint64_t lunar_changes(const struct lunar_statement* statement); /* rows that its last run inserted, changed, removed */

unsigned lunar_column_count(const struct lunar_statement* statement); /* 0: it gives no rows */
/* Columns are counted from 0. The name stays until lunar_finalize; NULL: there is no such column. */
const char* lunar_column_name(const struct lunar_statement* statement, unsigned column);
/* The value in the current row; of type LUNAR_NULL where there is no row, or no such column. */
const struct lunar_value* lunar_column_value(const struct lunar_statement* statement, unsigned column);

/* Before the first row again; parameters keep their values. */
void lunar_reset(struct lunar_statement* statement);
/* The memory is the caller's again. NULL is allowed. */
void lunar_finalize(struct lunar_statement* statement);

/* As SQLite's; numbers become one another, TEXT and BLOB are not converted (0, NULL), and TEXT has no final zero. */
static inline int lunar_bind_null(struct lunar_statement* statement, unsigned number) {
  struct lunar_value value;
  value.type = LUNAR_NULL, value.bytes = 0, value.as.integer = 0;
  return lunar_bind(statement, number, &value);
}
static inline int lunar_bind_int64(struct lunar_statement* statement, unsigned number, int64_t integer) {
  struct lunar_value value;
  value.type = LUNAR_INT64, value.bytes = 0, value.as.integer = integer;
  return lunar_bind(statement, number, &value);
}
static inline int lunar_bind_double(struct lunar_statement* statement, unsigned number, double real) {
  struct lunar_value value;
  value.type = LUNAR_REAL, value.bytes = 0, value.as.real = real;
  return lunar_bind(statement, number, &value);
}
static inline int lunar_bind_text(struct lunar_statement* statement, unsigned number, const char* text, size_t bytes) {
  struct lunar_value value;
  value.type = LUNAR_TEXT, value.bytes = (uint32_t)bytes, value.as.data = text;
  return lunar_bind(statement, number, &value);
}
static inline int lunar_bind_blob(struct lunar_statement* statement, unsigned number, const void* data, size_t bytes) {
  struct lunar_value value;
  value.type = LUNAR_BLOB, value.bytes = (uint32_t)bytes, value.as.data = data;
  return lunar_bind(statement, number, &value);
}
static inline int lunar_column_type(const struct lunar_statement* statement, unsigned column) {
  return lunar_column_value(statement, column)->type;
}
static inline int64_t lunar_column_int64(const struct lunar_statement* statement, unsigned column) {
  const struct lunar_value* value = lunar_column_value(statement, column);
  if (value->type != LUNAR_REAL)
    return value->type == LUNAR_INT64 || value->type == LUNAR_BOOLEAN ? value->as.integer : 0;
  if (value->as.real >= 9223372036854775808.0) return INT64_MAX;
  return value->as.real >= -9223372036854775808.0 ? (int64_t)value->as.real : INT64_MIN;
}
static inline double lunar_column_double(const struct lunar_statement* statement, unsigned column) {
  const struct lunar_value* value = lunar_column_value(statement, column);
  return value->type == LUNAR_REAL ? value->as.real : (double)lunar_column_int64(statement, column);
}
static inline const void* lunar_column_data(const struct lunar_statement* statement, unsigned column) {
  const struct lunar_value* value = lunar_column_value(statement, column);
  return value->type >= LUNAR_TEXT ? value->as.data : NULL;
}
static inline uint32_t lunar_column_bytes(const struct lunar_statement* statement, unsigned column) {
  const struct lunar_value* value = lunar_column_value(statement, column);
  return value->type >= LUNAR_TEXT ? value->bytes : 0;
}

#ifdef __cplusplus
}
#endif
#endif
