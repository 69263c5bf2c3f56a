/* lunar: tables on a raw block device, without a file system and without malloc.
 *
 * A program gives a device (struct lunar_config: read, write, sync) and a piece of RAM, formats the device once, mounts
 * it and works with tables. Every function that can fail returns 0 or a negative enum lunar_error. An operation that
 * fails has changed nothing that this handle shows.
 *
 * Failures of the device: the function that made the failed request returns LUNAR_E_IO, and lunar_failed_request names
 * the request. If repeating a request can help, the driver must do it. In all modes but full, rows wait in RAM: a
 * function that only reads may also write, and fail.
 * - After a failed write or flush the device's content is unknown. The handle has failed: every further call returns
 *   LUNAR_E_FAILED and changes nothing. Call lunar_unmount and lunar_mount: the volume is then as after a power cut at
 *   the moment of the failure: the failed operation took effect wholly or not at all.
 * - After a failed read the handle stays usable, except in three cases, in which it has failed, too: the operation was
 *   already recorded; a further read failed while the operation was undone; or, in mode none, the operation had begun
 *   to change something.
 * - The card may have been changed. So after an error, before the next operation and before any write, lunar reads
 *   which volume the device has (see lunar_revalidate).
 *
 * Threads: one thread at a time uses a handle. With config.lock and unlock every function may be called from any
 * thread, but not from a signal handler, an interrupt or a callback of the configuration.
 *
 * No function allocates memory, and the library has no static variables. No pointer may be NULL unless stated: only the
 * fields of lunar_config are checked. A build without a module (src/modules.h) lacks its functions, and a program
 * that calls them does not link: lunar_cursor_* (CURSOR), lunar_index_* (SECONDARY), lunar_cache_* (CACHE),
 * lunar_truncate (TRUNCATE), lunar_compact (COMPACT), lunar_revalidate (CARDS), lunar_check (CHECK), lunar_repair
 * (REPAIR), lunar_stat (STAT), lunar_prepare and what follows it (SQL).
 *
 * Source: X. Fan et al., "LUNAR: A Native Table Engine for Embedded Devices", LCTES '23. docs/DESIGN.md gives the
 * differences and their reasons, docs/FORMAT.md the bytes on the device.
 */
#ifndef LUNAR_H
#define LUNAR_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define LUNAR_MUST_CHECK __attribute__((warn_unused_result))

/* Version of the library. docs/COMPATIBILITY.md lists what stays the same between versions. */
#define LUNAR_VERSION_MAJOR 0
#define LUNAR_VERSION_MINOR 1
#define LUNAR_VERSION_PATCH 0
#define LUNAR_VERSION "0.1.0"
#define LUNAR_FORMAT_VERSION 2u /* version of the volumes that this library formats and mounts: docs/FORMAT.md */

#define LUNAR_NAME_MAX 23     /* bytes of a table's or column's name */
#define LUNAR_COLUMNS_MAX 16  /* columns of a table */
#define LUNAR_TREE_KEY_MAX 64 /* bytes of a TEXT or BLOB key in a tree index */
#define LUNAR_EXTENTS 4       /* tables that can receive large rows in turn without an extra write */
#define LUNAR_INDEXES_MAX 4   /* secondary indexes of a table */

enum lunar_error {
  LUNAR_OK = 0,
  LUNAR_E_IO = -1,            /* the device failed a request, see lunar_failed_request; durable rows are still on it */
  LUNAR_E_CORRUPT = -2,       /* lunar cannot have written the data that was read */
  LUNAR_E_FULL = -3,          /* no free block for this operation */
  LUNAR_E_NOT_FOUND = -4,     /* no row with this key */
  LUNAR_E_EXISTS = -5,        /* a row with this key, or a table or index of this name, exists */
  LUNAR_E_INVALID = -6,       /* an argument, or a field of the configuration, is invalid */
  LUNAR_E_TOO_LARGE = -7,     /* the row does not fit into a block of the largest class */
  LUNAR_E_NO_TABLE = -8,      /* no table of this name; the open table has been dropped, or its creation undone */
  LUNAR_E_TABLES = -9,        /* no room for a further table (config.tables_max) */
  LUNAR_E_TXN = -10,          /* refused in a transaction; commit, rollback: without one; it was lost: lunar_begin */
  LUNAR_E_TXN_FULL = -11,     /* no room left in the log: see lunar_begin, lunar_log_wanted; the transaction has been
                                 rolled back */
  LUNAR_E_BUFFER = -12,       /* config.buffer, the caller's row buffer or a statement's memory is too small */
  LUNAR_E_DEVICE = -13,       /* the device has too few sectors for the zones and one block */
  LUNAR_E_NO_VOLUME = -14,    /* there is no lunar volume on the device */
  LUNAR_E_VERSION = -15,      /* the volume was made by another version of the format */
  LUNAR_E_FAILED = -16,       /* an earlier call returned E_IO or E_CORRUPT and ended this handle; mount again */
  LUNAR_E_UNSUPPORTED = -17,  /* not in this mode, or not in this build */
  LUNAR_E_UNCLEAN = -18,      /* not unmounted in mode none: mount in mode none, lunar_check, unmount; then any mode */
  LUNAR_E_SQL = -19,          /* not valid in lunar's SQL: lunar_sql_error has the place and the reason */
  LUNAR_E_SCHEMA = -20,       /* after lunar_prepare the table was changed, or the index of a SELECT dropped */
  LUNAR_E_BUSY = -21,         /* another handle has mounted the volume or taken it over: see lunar_mount */
  LUNAR_E_INDEX_FULL = -22,   /* a tree index has its greatest height: no key that splits its root can be added */
  LUNAR_E_MOVED = -23,        /* rows were moved before the cursor read them: see lunar_cursor_close */
  LUNAR_E_OTHER_VOLUME = -24, /* the device has a volume that was not mounted: see lunar_revalidate */
  LUNAR_E_STOPPED = -25       /* config.progress stopped lunar_check */
};

/* Requests to the device. */
enum lunar_request { LUNAR_REQUEST_NONE = 0, LUNAR_REQUEST_READ = 1, LUNAR_REQUEST_WRITE = 2, LUNAR_REQUEST_SYNC = 3 };

/* What a power cut may lose (the paper's Table 2; docs/FORMAT.md has a table by operation). In every mode but none the
 * tables are consistent afterwards. */
enum lunar_mode {
  LUNAR_MODE_DEFAULT = 0,  /* metadata */
  LUNAR_MODE_NONE = 1,     /* the whole volume; no transactions */
  LUNAR_MODE_DISORDER = 2, /* as metadata */
  LUNAR_MODE_METADATA = 3, /* as data. If config.atomic_write_bytes is at least a sector, also the order of updates
                              since the last lunar_sync that do not change a value's length: such an update may be kept
                              although an earlier operation is lost, or in some of its sectors only */
  LUNAR_MODE_DATA = 4,     /* operations since the last lunar_sync, the newest ones first */
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

/* The device and the RAM. Do not move or change it between mount and unmount. */
struct lunar_config {
  void* context; /* for the device driver; lunar does not use it */

  /* Read or write count sectors. Return 0 for success, any other number for a failure. */
  int (*read)(const struct lunar_config* config, uint32_t sector, void* data, uint32_t count);
  int (*write)(const struct lunar_config* config, uint32_t sector, const void* data, uint32_t count);
  /* Returns 0 when everything written before is on the medium. A device that returns earlier loses rows. After a failed
   * sync, read must return the medium's content, or fail, because the next mount relies on it. Linux's page cache
   * returns data that it could not write; ports/posix drops this cache. */
  int (*sync)(const struct lunar_config* config);
  /* Optional: these sectors are not in use any more. Not called yet. */
  int (*trim)(const struct lunar_config* config, uint32_t sector, uint32_t count);
  /* Optional, both or none: a mutex. */
  void (*lock)(const struct lunar_config* config);
  void (*unlock)(const struct lunar_config* config);
  /* Optional: for a watchdog or a display, and to stop lunar_check. Every function, also lunar_format and lunar_mount,
   * calls it after each request to the device, also after a failed one. Between two calls there are one request, of at
   * most 64 KiB, and work in RAM. A result other than 0 ends lunar_check with E_STOPPED, except during the checkpoint
   * that it may write first; other functions ignore the result. progress must not call a function with the handle. */
  int (*progress)(const struct lunar_config* config);
  /* The mounted mark: a static variable, one for each device, to which every configuration of this device points.
   * lunar stores there which handle has the volume. While the volume is mounted, lunar_mount with another handle and
   * lunar_format return E_BUSY. lunar_unmount sets the mark to NULL; it must be NULL after a reset, too. Every port
   * sets this field. NULL: no mark, see lunar_mount. */
  struct lunar** mounted;

  uint32_t sector_bytes;       /* 512 or 4096 */
  uint32_t sector_count;       /* size of the device; at least 128. A volume copied to a larger device does not grow */
  uint32_t atomic_write_bytes; /* at a power cut the device writes this many bytes wholly or not at all; 0: unknown. If
                                  it is less than a sector, modes disorder and metadata keep what data keeps */

  void* buffer;         /* aligned for a pointer */
  size_t buffer_bytes;  /* at least LUNAR_BUFFER_BYTES_MIN(sector_bytes); a larger buffer is faster */
  enum lunar_mode mode; /* may differ from mount to mount */
  /* What lunar_mount does if the log may continue at a damaged or unreadable sector.
   * 0: it fails and changes nothing. E_IO: the sector is unreadable. E_CORRUPT: a later group shows that the damaged
   * sector had been flushed.
   * 1: the log ends at this sector, and operations committed after it are lost. If the last checkpoint is damaged,
   * mount uses the one before. If the sector is unreadable, or a later group shows the damage, every table needs a
   * repair: lunar_table_open repairs ring tables, lunar_repair repairs the others (E_CORRUPT until then). Other damage
   * looks like the torn end of the log after a power cut; lunar_check finds what it may have left. mount reads every
   * sector of the log once more. */
  uint8_t skip_unreadable;

  /* For lunar_format only. 0 selects the default. */
  uint32_t class_bytes_min; /* smallest block: a power of two, at least a sector (default: a sector) */
  uint32_t class_bytes_max; /* largest block: a power of two, at least two sectors, at most 64 KiB and
                             128 times the smallest (default: 64 KiB, less on a small device) */
  uint32_t class_growth;    /* 2 (default), or 1: all blocks have class_bytes_max */
  uint32_t log_bytes;  /* size of the LOG zone, at least 64 sectors. Default: 1/32 of the device; if that is less than
                          128 sectors, the smaller one of 128 sectors and 1/8 of the device, but at least 64 sectors; at
                          most 4 MiB. Rounded down to whole units: a unit has 64 KiB, halved until the log has 16 units
                          or a  unit has 8 sectors */
  uint16_t tables_max; /* tables and secondary indexes together; default 16 */
  uint32_t seed;       /* distinguishes this volume from earlier ones on the device: a clock, a noise source, or 0 */
};

/* Four frames of one sector with their descriptors, a stage of one sector, and a pointer to the buffer's handle. */
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
    const void* data; /* TEXT (without a final zero) and BLOB; in a row that was read: inside the caller's row buffer */
  } as;
};

/* Blocks that one operation may allocate: eight for the table, eight for each secondary index. */
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
  LUNAR_INDEX_TREE = 1 /* in the order of the keys: integers by value, TEXT and BLOB by their bytes: at most
                          LUNAR_TREE_KEY_MAX bytes (E_TOO_LARGE) */
};

/* The limit of a ring table. An insertion removes the oldest rows above it: at most four (two if the table has
 * secondary indexes); the next insertion removes the others. An update makes its row the newest one if the value's
 * length changes, or is about 4 KB or more.
 *
 * On a full device, an insertion outside a transaction removes the oldest rows until one of the table's blocks is free,
 * and repeats this up to 16 times if the row still does not fit. A table with one block loses all of its rows, unless
 * the new row is larger than this block (E_FULL). The rows are removed one by one, and stay removed even if the
 * insertion fails or a power cut ends it. */
enum lunar_ring {
  LUNAR_RING_NONE = 0,
  LUNAR_RING_ROWS = 1,  /* ring_limit rows */
  LUNAR_RING_BYTES = 2, /* ring_limit bytes of blocks. Whole blocks are removed, so the limit is at least four times the
                           largest row */
  LUNAR_RING_AGE = 3 /* the key, an integer, is a time: rows whose key is smaller than the inserted row's by more than
                        ring_limit are removed */
};

struct lunar_schema {
  struct lunar_column columns[LUNAR_COLUMNS_MAX];
  uint8_t column_count;
  uint8_t key;         /* number of the primary key's column: an integer, TEXT or BLOB; its values are never NULL */
  uint8_t index;       /* enum lunar_index: of the primary key */
  uint8_t ring;        /* enum lunar_ring */
  uint8_t checksum;    /* 1: each row is stored with a checksum of 4 bytes, and reading a row with a wrong checksum
                          returns E_CORRUPT. 0: a damaged value may be returned; only pages have checksums */
  uint64_t ring_limit; /* at least 1 */
};

/* The following structures are public so that a program can allocate them. Only the library uses their fields. */

struct lunar_frame;

struct lunar_extent {
  uint32_t block;  /* first sector of the block; 0xffffffff: none */
  uint32_t sector; /* where the next group is written */
  uint16_t table;
  uint16_t sectors; /* size of the block */
};

/* A position in the series of groups: where the next group is written or, in a recovery, expected. */
struct lunar_series {
  uint32_t epoch, sequence; /* of the last group */
  uint32_t log_head, log_used;
  struct lunar_extent extents[LUNAR_EXTENTS];
};

struct lunar_geometry {
  uint32_t volume;                                    /* number of this volume: the seed of its checksums */
  uint32_t root_at, meta_at, map_at, log_at, data_at; /* first sectors of the zones */
  uint32_t map_sectors, log_sectors, chunk_count;
  uint16_t unit_sectors; /* size of a unit of the log */
  uint16_t class_sectors_min, chunk_sectors;
  uint16_t tables_max;
  uint8_t class_growth, class_count;
  uint8_t kept_twice; /* ROOT_ZONE, META_ZONE and the map: copy B lies behind copy A */
};

struct lunar {
  const struct lunar_config* config;
  struct lunar** holder; /* the mounted mark, or the last pointer in the buffer */
  uint8_t* stage;
  struct lunar_frame* frames;
  struct lunar_geometry geometry;
  /* log */
  struct lunar_series series;
  uint32_t checkpoint_at, before_last; /* log sectors */
  uint32_t log_before;                 /* sectors of log_used that BEFORE groups occupy */
  uint32_t committed, flushed; /* sequence numbers: the last group that ended an operation, the last flushed group */
  /* stage */
  uint32_t stage_bytes, stage_used, stage_sector;
  uint16_t stage_records;
  /* frames */
  uint16_t frame_count, frames_dirty;
  uint16_t clock;
  uint16_t rows_dirty, plain_dirty; /* parts of frames_dirty */
  uint16_t dirty_max;               /* dirty frames whose images fit into the log */
#if !defined(LUNAR_WITH_BUFFER) || LUNAR_WITH_BUFFER
  uint16_t frames_waiting; /* frames that wait to be written in place */
  uint16_t waiting_next;   /* where the search for the next one begins */
  uint8_t taking;          /* a run of chunks is being allocated */
#endif
  uint8_t operation;  /* number of the operation, modulo 256 */
  uint16_t creations; /* tables and indexes created since mount */
  uint16_t refused_version;
#if !defined(LUNAR_WITH_PREFETCH) || LUNAR_WITH_PREFETCH
  uint8_t* ahead; /* sectors read ahead */
  uint32_t ahead_sector, ahead_next;
  uint16_t ahead_count, ahead_max, ahead_window, ahead_streak;
#endif
  /* allocator */
  uint32_t chunks_free;
  uint32_t chunks_waiting; /* free chunks that are available after the next checkpoint */
  uint32_t chunk_hint, class_hint[8];
  uint32_t chunk_freed; /* the first chunk with blocks that the next checkpoint makes available */
  uint32_t run_missing; /* no run of this many free chunks exists */
  uint32_t searched;    /* a bit for each class without a free block: 0-7 in half-empty chunks, 8-15 in any chunk,
                           16-31 the same for rows that are moved to make room */
  uint32_t allocated[LUNAR_ALLOCATED];
  uint8_t allocated_count, allocated_taken;
  uint8_t extent_next; /* the extent that is replaced next */
  /* space of deleted rows */
  uint8_t reclaiming;        /* a row is moved to make room, or a table is repaired */
  uint8_t dense;             /* no table has a block that could be emptied */
  uint8_t unmovable;         /* a row or page of a sparse block cannot be read */
  uint16_t scans;            /* cursors that may miss a moved row */
  uint32_t moves;            /* rows moved while such a cursor was open */
  uint32_t emptied;          /* the block whose rows are being moved */
  uint16_t emptied_slot;     /* slot where the search for its next row begins */
  uint16_t owed, owed_table; /* operations in transactions that moved no rows; the table of the last one */
  uint8_t checking;          /* enum ln_checking */
  uint8_t many_pages;        /* one operation changes more pages than the log has room for, some repeatedly */
  /* state */
  uint8_t mode, state, redoing, unsynced, freed, no_way_back, parts, settled, wants_settled;
  uint8_t changing;       /* the operation has changed something: if it fails, it is undone */
  uint8_t failed_request; /* enum lunar_request */
  uint8_t doubtful;       /* a read has failed: the device may have another volume now */
  uint32_t failed_sector;
  uint32_t checkpoints;
  uint32_t log_wanted; /* sectors: lunar_log_wanted */
  uint32_t chunk_last; /* the last one that was ever taken: free ones may follow */
#if !defined(LUNAR_WITH_STAT) || LUNAR_WITH_STAT
  uint32_t spills, reads, writes, flushes, sectors_read, sectors_written, second_copies; /* counters of lunar_stat */
#endif
  uint32_t releases; /* number of blocks that left their table's chain, and of recoveries */
#if !defined(LUNAR_WITH_CURSOR) || LUNAR_WITH_CURSOR
  uint32_t tree_changes; /* number of changes of trees, and of recoveries */
#endif
#if !defined(LUNAR_WITH_TEXTS) || LUNAR_WITH_TEXTS
  const char* invalid; /* name of the argument that caused the last E_INVALID */
#endif
#if !defined(LUNAR_WITH_CACHE) || LUNAR_WITH_CACHE
  struct lunar_cache* caches;
#endif
#if LUNAR_ALLOCATED > 8u
  uint16_t index_sectors;          /* log sectors for the secondary indexes of the table used last */
  uint8_t indexes;                 /* number of these indexes */
  uint8_t building;                /* an index or a damaged table is being rebuilt: LN_BUILDS and the bits after it */
  uint16_t marked;                 /* number + 1 of a table that the operation found damaged; 0: none */
  uint16_t repairs;                /* tables repaired since mount */
  uint32_t lost_rows, lost_blocks; /* losses of repairs by insertions */
#endif
};

struct lunar_table {
  struct lunar* db;
  uint32_t creation;
  uint16_t number;
  uint8_t column_count, key, index, ring, checksum;
  uint8_t types[LUNAR_COLUMNS_MAX], flags[LUNAR_COLUMNS_MAX];
};

/* A query cache of a table (lunar_cache_open). The program may read and reset hits and misses. */
struct lunar_cache {
  struct lunar* db;
  struct lunar_cache* next;
  uint8_t* slots;
  uint32_t sets, slot_bytes, row_bytes, creation;
  uint32_t hits, misses; /* of lunar_get */
  uint16_t number;
};

/* The place of an entry in a tree. Valid until a tree changes. */
struct lunar_leaf {
  uint32_t ref, changes; /* changes: value of lunar.tree_changes; 0: no entry */
  uint16_t entry;
};

/* A position between two rows of a table. See lunar_cursor_close for a cursor that is not read to its end. */
struct lunar_cursor {
  struct lunar_table* table;
  struct lunar_value from, to; /* of type LUNAR_NULL: no bound */
  uint8_t descending, started, ended;
  uint8_t scans;  /* 1: counted in lunar.scans */
  uint32_t moves; /* lunar.moves when the cursor began */
  /* in the order of the blocks */
  uint16_t slot, end_slot;
  uint32_t ref, next; /* this block, and the next one in the cursor's direction */
  uint32_t serial, end_serial, releases;
  /* in the order of the keys */
  uint8_t key_bytes;
  uint8_t key[LUNAR_TREE_KEY_MAX];
  struct lunar_leaf leaf;
  /* by a secondary index */
  uint8_t bounds, index_kind, column;
  uint16_t index;
  uint32_t index_creation; /* 0: no index */
};

/* Each function below names its errors. A function with a handle may also return E_INVALID (the handle is not mounted),
 * E_BUSY (another handle took the volume over, see lunar_mount), E_FAILED (the handle has failed, see the top), E_IO,
 * E_OTHER_VOLUME (after E_IO, see lunar_revalidate), E_CORRUPT (a page that it read is damaged), and E_TXN (the
 * transaction was lost, see lunar_begin). */

/* Returns the last request that failed during or after lunar_mount. *sector is set to its first sector, to 0 for a
 * flush; sector may be NULL. */
static inline enum lunar_request lunar_failed_request(const struct lunar* db, uint32_t* sector) {
  if (sector) *sector = db->failed_sector;
  return (enum lunar_request)db->failed_request;
}

/* After E_TXN_FULL: returns how many sectors of log the transaction needed up to the operation that failed. The rest of
 * the transaction needs more. 0: no call has returned E_TXN_FULL since lunar_mount. lunar_statistics.log_bytes is the
 * log's size. */
static inline uint32_t lunar_log_wanted(const struct lunar* db) { return db->log_wanted; }

/* After E_VERSION of lunar_mount: returns the volume's format version. A program built with that version of lunar reads
 * the volume. */
static inline uint16_t lunar_refused_version(const struct lunar* db) { return db->refused_version; }

/* Makes an empty volume: everything on the device is lost. A power cut during the call may leave a volume that
 * lunar_mount refuses: format it again. E_BUSY (a handle has the volume mounted: unmount it first), E_INVALID,
 * E_BUFFER, E_DEVICE, E_IO. */
LUNAR_MUST_CHECK int lunar_format(const struct lunar_config* config);
/* Mounts the volume, also after a power cut; enum lunar_mode says what a cut may lose. db may be uninitialized, but
 * must not be a mounted handle. Do not move db before lunar_unmount. After an error db is not mounted.
 *
 * A volume has one handle.
 * - With config.mounted a second one is refused (E_BUSY). A program that has lost a mounted handle (its memory is gone)
 *   sets *config.mounted to NULL.
 * - Without config.mounted, a second handle or lunar_format with the same buffer takes the volume over: every call with
 *   the first handle returns E_BUSY and touches nothing.
 * - Without config.mounted, two handles with different buffers destroy the volume, and so does another processor or
 *   program that writes to the device. ports/posix.h locks the device against programs that ask for the lock.
 *
 * After a power cut mount with a buffer as large as before. With a much smaller buffer the log may be too small for the
 * recovery: mount fails, and nothing is lost.
 *
 * E_NO_VOLUME (both copies of the volume's head are overwritten), E_VERSION (see lunar_refused_version), E_CORRUPT (the
 * head or the log is damaged, see skip_unreadable), E_INVALID (also: the volume has sectors of another size),
 * E_BUFFER, E_DEVICE (sector_count is less than the volume's), E_UNCLEAN, E_IO (with skip_unreadable also after reads
 * that failed only for a while: mount again). */
LUNAR_MUST_CHECK int lunar_mount(struct lunar* db, const struct lunar_config* config);
/* For removable cards: call it when the card may have been changed, as after an interrupt of the card-detect switch. It
 * reads one sector. 0: the device has the volume that was mounted. E_OTHER_VOLUME: it has another volume, or none;
 * nothing was written to it, the handle has failed, and lunar_mount uses the new card. E_IO: no card; the handle stays
 * usable in case the same card comes back.
 *
 * If changes fill the buffer, it has no free sector for the read. Then lunar_revalidate repeats the operations since
 * the last checkpoint, as a mount does; an open transaction is lost (E_TXN); and without a card the handle fails
 * (E_IO). In mode none the handle fails (E_IO).
 *
 * After E_IO each function does this check first, and returns the same errors. If no sector is free then, the handle
 * fails (E_IO). */
LUNAR_MUST_CHECK int lunar_revalidate(struct lunar* db);
/* Makes everything durable and ends the use of the device. An open transaction is rolled back. */
LUNAR_MUST_CHECK int lunar_unmount(struct lunar* db);

/* Creates an empty table; lunar_table_open opens it. E_EXISTS, E_INVALID (name, schema), E_UNSUPPORTED (an index or
 * ring that this build lacks), E_TABLES, E_FULL, E_TXN_FULL. */
LUNAR_MUST_CHECK int lunar_table_create(struct lunar* db, const char* name, const struct lunar_schema* schema);
/* The table stays usable until it is dropped or the volume unmounted; there is no close, and it may be open several
 * times. E_NO_TABLE, E_INVALID (name). */
LUNAR_MUST_CHECK int lunar_table_open(struct lunar* db, const char* name, struct lunar_table* table);
/* Removes a table with its rows and indexes. A table that is damaged or waits for lunar_repair is emptied first, and a
 * power cut may leave it empty; in a transaction this is refused (E_TXN). E_NO_TABLE, E_INVALID (name), E_TXN_FULL
 * (also without a transaction, if the log is too small for a table with hundreds of the largest blocks, as with a small
 * class_bytes_max: remove its rows first). */
LUNAR_MUST_CHECK int lunar_table_drop(struct lunar* db, const char* name);
/* Lists tables: start with *number = 0, and call until E_NO_TABLE. Sets name to that of the first table whose number is
 * at least *number, and *number to the next number. */
LUNAR_MUST_CHECK int lunar_table_list(struct lunar* db, uint16_t* number, char name[LUNAR_NAME_MAX + 1]);
/* Sets *schema to the schema that the table was created with. E_NO_TABLE. */
LUNAR_MUST_CHECK int lunar_table_schema(struct lunar_table* table, struct lunar_schema* schema);

/* Inserts a row. values: one per column. A stored row takes 2 bytes, the bytes of its numbers, 2 bytes and the content
 * for each TEXT and BLOB, and 4 bytes if the table has checksums. It must fit into one block, less a sector and some
 * 100 bytes (64 KiB, sectors of 512 bytes: 64,916 bytes of TEXT and an integer). E_EXISTS, E_INVALID (type, range,
 * NULL), E_TOO_LARGE, E_FULL, E_INDEX_FULL (also from lunar_update and lunar_index_create, if a secondary tree cannot
 * take a key), E_TXN_FULL, E_NO_TABLE. */
LUNAR_MUST_CHECK int lunar_insert(struct lunar_table* table, const struct lunar_value* values);
/* Reads a row into row (row_bytes; E_BUFFER if it is too small). values: one per column; their TEXT and BLOB point into
 * row. E_NOT_FOUND, E_INVALID (the key's type, or an integer that its column cannot have), E_TOO_LARGE (a key that a
 * tree cannot have), E_NO_TABLE. */
LUNAR_MUST_CHECK int lunar_get(struct lunar_table* table, const struct lunar_value* key, void* row, size_t row_bytes,
                               struct lunar_value* values);
/* Sets one column of one row. The key's column cannot be set (E_INVALID). After E_IO and the next mount, a value
 * that modes disorder and metadata change in place may be changed in some of its sectors only. E_NOT_FOUND, E_INVALID
 * (of key or value: type, range, NULL), E_TOO_LARGE, E_FULL, E_TXN_FULL, E_NO_TABLE. */
LUNAR_MUST_CHECK int lunar_update(struct lunar_table* table, const struct lunar_value* key, uint8_t column,
                                  const struct lunar_value* value);
/* Removes a row. E_NOT_FOUND, E_INVALID (as lunar_get), E_TXN_FULL, E_NO_TABLE. */
LUNAR_MUST_CHECK int lunar_remove(struct lunar_table* table, const struct lunar_value* key);
/* Removes all rows or, if it fails, none, also on a full device. It reads each block's header and each page of the
 * indexes. The blocks are available after the next checkpoint. E_TXN_FULL (the log must hold the pages of the
 * allocation map twice, and some 60 sectors: 4 MiB of log are enough for about 10 GB of rows in blocks of 64 KiB. With
 * a smaller log remove the rows one by one), E_NO_TABLE. A table that is damaged or waits for lunar_repair is usable
 * afterwards, without its rows (E_TXN, E_IO or E_CORRUPT in a transaction). */
LUNAR_MUST_CHECK int lunar_truncate(struct lunar_table* table);
/* Sets *rows to the number of rows. E_NO_TABLE. */
LUNAR_MUST_CHECK int lunar_count(struct lunar_table* table, uint64_t* rows);

#define LUNAR_CACHED_ROW_BYTES 8u /* bytes of a cache for each row, in addition to the row (see lunar_insert) */

/* Opens a query cache. It holds approximately the rows of up to row_bytes that were read last. lunar_get, and SQL's
 * WHERE with a value of the primary key, then read these rows from memory, without the index and the device. A change
 * of a row removes it from the cache. A cache is worth it for short rows that are read repeatedly: in config.buffer
 * each would occupy a sector. memory: aligned for 4 bytes, in multiples of 4 * (LUNAR_CACHED_ROW_BYTES + row_bytes
 * rounded up to 4). E_EXISTS (the table has a cache, or cache is open), E_INVALID (row_bytes 0 or above 65535; memory),
 * E_BUFFER (memory for less than four rows), E_NO_TABLE. */
LUNAR_MUST_CHECK int lunar_cache_open(struct lunar_table* table, struct lunar_cache* cache, void* memory,
                                      size_t memory_bytes, uint32_t row_bytes);
/* Closes a query cache. The caller may then reuse cache and memory, as after lunar_unmount. E_INVALID (not open). */
LUNAR_MUST_CHECK int lunar_cache_close(struct lunar_cache* cache);

/* Opens a cursor over the rows of a table. With a hash index they come in the order of their blocks, about the
 * order of insertion, and from and to are NULL. With a tree index they come in the order of the keys, and only those
 * with from <= key <= to (NULL: no bound; TEXT and BLOB of a bound stay valid as long as the cursor is used).
 * descending: from the last to the first. This reads nothing and does not check the handle. E_UNSUPPORTED (bounds
 * without a tree index), E_INVALID (a bound's type, or an integer that the key's column cannot have; SQL clips such
 * bounds), E_TOO_LARGE (a key that a tree cannot have). */
LUNAR_MUST_CHECK int lunar_cursor_open(struct lunar_cursor* cursor, struct lunar_table* table,
                                       const struct lunar_value* from, const struct lunar_value* to, int descending);
/* Reads the next row as lunar_get does; E_NOT_FOUND after the last. E_BUFFER: the row is larger than row_bytes, and the
 * cursor stays before it. Between two calls rows may be inserted, changed and removed, also the one just read. In the
 * order of keys, each row that exists all the time is read once. In the order of blocks, a row that an update moves may
 * be missed or read twice, and rows inserted after the opening are mostly not read. E_NO_TABLE, E_MOVED (rows moved to
 * make room on a nearly full device: see lunar_cursor_close). */
LUNAR_MUST_CHECK int lunar_cursor_next(struct lunar_cursor* cursor, void* row, size_t row_bytes,
                                       struct lunar_value* values);

/* Ends the use of a cursor before its last row. While a cursor that reads rows in the order of blocks, or by a
 * secondary hash index, is in use, lunar moves no rows to reclaim space (see lunar_compact). If such a cursor is
 * abandoned without this call, the space of deleted rows comes back only when the device is nearly full: then rows are
 * moved nevertheless, and lunar_cursor_next of such cursors returns E_MOVED. lunar_reset and lunar_finalize close the
 * cursor of their statement. */
void lunar_cursor_close(struct lunar_cursor* cursor);

/* Creates an index of a column (numbered from 0). kind: enum lunar_index. The name must differ from all tables and
 * indexes of the volume, and the index counts as a table in config.tables_max. Every insertion, update and removal
 * updates the index. When this returns, the index and everything before it are durable. It writes checkpoints, so it is
 * refused in a transaction (E_TXN). The rows of the table are read once; the pages of the new index do not go to the
 * log. E_NO_TABLE, E_EXISTS (the name), E_INVALID (name, column, kind), E_UNSUPPORTED (an index that this build
 * lacks), E_TABLES (config.tables_max; LUNAR_INDEXES_MAX), E_FULL, E_TXN_FULL (config.log_bytes is too small: it needs
 * 59 sectors and 32 for each index, or 48 for each of a ring table; in a larger log two units and 43 instead of 59). */
LUNAR_MUST_CHECK int lunar_index_create(struct lunar* db, const char* table, const char* name, uint8_t column,
                                        uint8_t kind);
/* Removes an index. E_NO_TABLE (no index of this name), E_INVALID (name), E_TXN_FULL (as for lunar_table_drop),
 * E_CORRUPT (its table waits for lunar_repair). */
LUNAR_MUST_CHECK int lunar_index_drop(struct lunar* db, const char* name);

struct lunar_index_info {
  char name[LUNAR_NAME_MAX + 1];
  uint8_t column, kind;
};

/* Lists the table's secondary indexes: start with *at = 0, which each call increases, and call until E_NOT_FOUND.
 * E_NO_TABLE. */
LUNAR_MUST_CHECK int lunar_index_list(struct lunar_table* table, uint8_t* at, struct lunar_index_info* info);

/* Opens a cursor for lunar_cursor_next over the rows with from <= value <= to, by the secondary index of that name.
 *
 * Tree: the rows come in the order of their values, equal values in the order of the primary keys (TEXT and BLOB keys:
 * of their hashes). NULL is the least value, -0.0 equals 0.0, a NaN lies beyond the infinity of its sign. Only the
 * first 47 bytes of TEXT and BLOB determine the order (a byte of zero counts as two). If the pointer from or to is
 * NULL, there is no bound; a value of type LUNAR_NULL is a bound.
 *
 * Hash: from and to are the same pointer, to the value searched for. The rows are unordered.
 *
 * Between two calls of lunar_cursor_next rows may be inserted, changed and removed. Tree: each row that exists all the
 * time with its value is read once. Hash: a row that an update moves may be missed or read twice, and rows inserted
 * after the first call are mostly not read. E_NO_TABLE (also: no such index of the table; from lunar_cursor_next: it
 * was dropped), E_INVALID (name, a bound's type, or an integer that the column cannot have), E_UNSUPPORTED (by hashing:
 * anything but one value). */
LUNAR_MUST_CHECK int lunar_index_cursor(struct lunar_cursor* cursor, struct lunar_table* table, const char* name,
                                        const struct lunar_value* from, const struct lunar_value* to, int descending);

/* Reclaims the space of deleted rows in idle time. It moves up to this many rows out of blocks in which at least a
 * quarter of the bytes is dead, and sets *moved to the number of moved rows. If that is less than rows, no such block
 * is left, or there is no room for its rows. A block is free when its last row has moved.
 *
 * The call is optional. Every insertion or update of a table with more than a twelfth of dead bytes moves up to eight
 * rows itself: at most 16 times the bytes of its own row, or one row. A change within a transaction leaves this to the
 * next lunar_begin. An insertion or update that finds no free block empties up to four blocks of any table. Ring tables
 * need none of this. While a cursor that depends on the places of rows is in use, no row is moved (see
 * lunar_cursor_close). lunar_stat reports dead_bytes. E_TXN (in a transaction). */
LUNAR_MUST_CHECK int lunar_compact(struct lunar* db, uint32_t rows, uint32_t* moved);

/* Begins a transaction: all changes up to lunar_commit take effect, or none. This may write a checkpoint.
 *
 * Room: a transaction may use nearly half of the log, with secondary indexes at least two fifths, with a log of 32 KiB
 * an eighth. With secondary indexes and a log of 128 KiB or less it has room for a few rows. It uses the log for its
 * records, and two sectors for each page that leaves the buffer meanwhile. So rising keys and a larger buffer allow
 * more rows. Example: insertions of two numbers with random keys into 10,000 rows, smallest buffer, 512-byte sectors:
 * at least 890 with 4 MiB of log, 190 with 1 MiB, 6 with 64 KiB.
 *
 * Errors inside: an operation that changes something and fails for lack of room, or with the device, undoes the whole
 * transaction. The transaction is then lost: every function returns E_TXN until lunar_commit (E_TXN) or lunar_rollback
 * (0) ends it. After other errors it continues.
 *
 * E_TXN (a transaction is open), E_UNSUPPORTED (in mode none). */
LUNAR_MUST_CHECK int lunar_begin(struct lunar* db);
/* Ends the transaction; in mode full it is durable. E_TXN (there is no transaction, or it was lost). */
LUNAR_MUST_CHECK int lunar_commit(struct lunar* db);
/* Ends the transaction and undoes its changes. E_TXN (there is no transaction). */
LUNAR_MUST_CHECK int lunar_rollback(struct lunar* db);

/* Returns when every committed operation is durable. Mode full needs no call. E_TXN (in a transaction). */
LUNAR_MUST_CHECK int lunar_sync(struct lunar* db);
/* Writes every committed operation to the device, without a flush. If the program ends afterwards, none of them is
 * lost, as long as the device keeps its data (a file, a block device of an operating system). A power cut may lose
 * them. E_TXN. */
LUNAR_MUST_CHECK int lunar_write_out(struct lunar* db);
/* Makes every committed operation durable and writes all pages in place, so that the next mount has nothing to recover.
 * E_TXN. */
LUNAR_MUST_CHECK int lunar_checkpoint(struct lunar* db);

/* The first problem that lunar_check finds. */
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
  LUNAR_PROBLEM_ROW_CHECKSUM,
  LUNAR_PROBLEM_END
};

/* The result of lunar_check: counts until the first problem, and this problem. config.progress may read the counts. */
struct lunar_findings {
  uint64_t rows, row_bytes; /* bytes of stored rows, without their headers */
  uint64_t index_entries;
  uint32_t tables;
  uint32_t blocks, index_blocks; /* blocks of rows, of indexes */
  uint32_t chunks_free, chunks_used;
  uint32_t blocks_lost;           /* blocks with an unreadable sector, which are not used any more */
  uint32_t sector;                /* sector of the problem; 0xffffffff: no single sector */
  char table[LUNAR_NAME_MAX + 1]; /* table with the problem; empty: a problem of the volume */
  uint8_t problem;                /* enum lunar_problem */
  const char* text;               /* the problem as text; empty in a build without texts */
};

/* Verifies that names, schemas, blocks, rows, indexes, allocation and the last checkpoint agree with each other. It
 * does not verify the values of columns, which have no checksum after the next checkpoint. It changes no row, but
 * first writes pages that wait to be written, and a checkpoint if nearly every frame is dirty. Memory: the handle's
 * frames and some hundred bytes of stack. Time: it reads every page of metadata and indexes and every row's sectors
 * about once, and compares names tables^2 times; if an index and its rows differ, it searches each row and entry.
 * config.progress serves a watchdog, and can stop the check. E_CORRUPT (found has the problem), E_IO (a sector cannot
 * be read; after lunar_checkpoint the sectors of the last checkpoint are not needed), E_STOPPED (the handle stays
 * usable), E_TXN (in a transaction). */
LUNAR_MUST_CHECK int lunar_check(struct lunar* db, struct lunar_findings* found);

/* The losses of a repair. */
struct lunar_losses {
  uint32_t rows;   /* unreadable rows, rows that do not match the schema, their checksum or their key, rows of lost
                      blocks */
  uint32_t blocks; /* blocks that do not keep what is written to them, and for whose copies there was no room */
};

/* Makes a damaged table usable again, when reads of some sectors fail every time. Rows in readable sectors are kept:
 * the header and the slots of a block are rebuilt from its rows, and the indexes from all rows. Rows are lost if their
 * block's header is lost together with their entries in the primary index, with a sector of the rows in front of them,
 * or with the headers of the blocks before and behind it. Copy the readable rows first (the shell's .export). losses is
 * set to the losses. The time grows with the table and the volume: it reads each row twice, once more for each index,
 * and the first sector of each block in use. Blocks that belong to no table are free afterwards, except those with an
 * unreadable sector, which are never used again. After an error or a power cut during the call, every call with the
 * table returns E_CORRUPT until the table is repaired again; losses then lacks the losses of the first repair. If reads
 * failed for a while only, some sound blocks may stay allocated: lunar_check then returns E_CORRUPT (a block in use is
 * used by nothing), and another repair frees them.
 *
 * Insertions into ring tables, and lunar_table_open of a ring table after a mount that met damage, repair the table
 * themselves, so that a logger goes on; the call then takes as long as a repair. A table with LUNAR_RING_AGE may have
 * rows that are too old until the next insertion.
 *
 * On a full volume the new indexes replace the old ones, and hash indexes get longer chains if necessary. If they still
 * do not fit, a ring table gives up its oldest rows, and another table returns E_FULL, which is rare. Then free space
 * in other tables and repeat the call, or call lunar_truncate or lunar_table_drop, which also work on damaged tables.
 * E_TXN (in a transaction), E_NO_TABLE. */
LUNAR_MUST_CHECK int lunar_repair(struct lunar_table* table, struct lunar_losses* losses);

/* Sizes and counters. Counters of the device count since mount, modulo 2^32. */
struct lunar_statistics {
  uint32_t volume; /* its number, see config.seed */
  uint32_t sector_bytes, block_bytes_min, block_bytes_max, chunk_bytes;
  uint64_t super_bytes, root_bytes, meta_bytes, map_bytes, log_bytes, data_bytes; /* sizes of the zones */
  uint32_t chunks_free, chunks_used;
  uint64_t free_bytes;         /* in free chunks; some are available after the next checkpoint */
  uint64_t live_bytes;         /* of the tables' blocks, without dead_bytes */
  uint64_t dead_bytes;         /* of deleted rows, in these blocks: see lunar_compact */
  uint64_t fragmented_bytes;   /* the rest of the chunks in use: indexes, and free blocks between others */
  uint32_t tables, tables_max; /* tables and secondary indexes */
  uint32_t frames, frames_dirty, frames_pinned;
  uint32_t stage_bytes, stage_bytes_used; /* RAM in which groups are collected */
  uint64_t log_bytes_used;                /* log that a recovery would need now */
  uint32_t checkpoints;                   /* since format */
  uint32_t spills;                        /* dirty pages written before a checkpoint, for lack of frames; since mount */
  uint32_t epoch;                         /* rises with each recovery */
  uint32_t reads, writes, flushes;        /* calls of the device */
  uint32_t sectors_read, sectors_written;
  uint32_t lost_rows, lost_blocks; /* losses of repairs by insertions into ring tables, since mount */
  uint32_t second_copies;          /* pages read from their second copy because the first is unreadable or damaged */
  uint8_t mode;                    /* enum lunar_mode */
};

/* Reads the root table and the tables' metadata pages, and changes nothing. */
LUNAR_MUST_CHECK int lunar_stat(struct lunar* db, struct lunar_statistics* stat);

/* Returns the error's text, without a final full stop. */
const char* lunar_error_text(int error);

/* After E_INVALID of a function with a handle or table: the name of the invalid argument ("bound": from or to). Empty:
 * no call has returned it, or the build has no texts. The following functions name the field or column. */
const char* lunar_invalid_argument(const struct lunar* db);
/* After E_INVALID: the invalid field of the configuration or schema, as text; empty: every field is valid, or the build
 * has no texts. lunar_config_fault also checks the fields that only lunar_format uses. */
const char* lunar_config_fault(const struct lunar_config* config);
const char* lunar_schema_fault(const struct lunar_schema* schema);
/* After E_INVALID or E_TOO_LARGE of lunar_insert: the number of the first column with an invalid value; -1: every value
 * is valid, or the build has no texts. */
int lunar_values_fault(const struct lunar_table* table, const struct lunar_value* values);

/* --- SQL. docs/SQL.md describes the language. The order of calls is SQLite's: prepare, bind, step, column, reset,
 * finalize. */

/* A compiled statement, in the caller's memory. One thread at a time uses it. While it changes rows, no other thread
 * may change tables of the handle: config.lock does not ensure this. */
struct lunar_statement;

/* The error of a statement. */
struct lunar_sql_message {
  const char* text;  /* the reason, without a final full stop; empty: no error, or a build without texts */
  const char* token; /* the token with the error; for an error in a row the column's name or the key. No final zero */
  uint32_t bytes;    /* of token */
  uint32_t position; /* of token in the text that was prepared, in bytes; 0 for an error in a row */
};

/* Compiles the first statement of sql (sql_bytes; a final zero may be counted) into memory, which belongs to the
 * statement until lunar_finalize. The caller may discard the text.
 * - *statement: NULL if the text has only space and comments, or if the memory is too small for anything. After another
 *   error it is valid for lunar_sql_error only. Every function of SQL accepts a statement that is NULL or was not
 *   prepared, and returns E_INVALID, 0 or NULL.
 * - *tail, unless tail is NULL: the text after the statement and its semicolon, or after E_SQL the place of the error.
 * - memory: docs/SQL.md gives the sizes. The part that the statement does not use holds one row and, for ORDER BY and
 *   GROUP BY, keys: the more fit, the fewer passes over the table.
 *
 * E_SQL, E_NO_TABLE, E_BUFFER, E_INVALID (a pointer other than tail is NULL), E_UNSUPPORTED (an index or ring that this
 * build lacks). */
LUNAR_MUST_CHECK int lunar_prepare(struct lunar* db, const char* sql, size_t sql_bytes, void* memory,
                                   size_t memory_bytes, struct lunar_statement** statement, const char** tail);
/* Returns the last error of this statement, never NULL; after success its text is empty. token is valid as long as the
 * prepared text and the statement both are. */
const struct lunar_sql_message* lunar_sql_error(const struct lunar_statement* statement);

/* Sets a parameter (number from 1). It keeps its value until the next call; without a call it is NULL. The bytes of
 * TEXT and BLOB are not copied: they stay valid as long as the statement is used. Between two rows of a result call
 * lunar_reset first. E_INVALID (also: the statement or the value is NULL, or so is the data of a TEXT or BLOB that
 * is not empty). */
LUNAR_MUST_CHECK int lunar_bind(struct lunar_statement* statement, unsigned number, const struct lunar_value* value);
unsigned lunar_bind_parameter_count(const struct lunar_statement* statement); /* the highest number */
/* Returns the number of the parameter with this name (":name"); 0: no such parameter. */
unsigned lunar_bind_parameter_index(const struct lunar_statement* statement, const char* name);

enum { LUNAR_DONE = 0, LUNAR_ROW = 1 };

/* Runs the statement. LUNAR_ROW: lunar_column_* return the next row, until the next call with this statement.
 * LUNAR_DONE: the statement has ended; a further call runs it again. A statement that changes rows makes all of its
 * changes or none: it begins a transaction unless one is open (mode none has none: changes before an error stay).
 * Inside a transaction an error after the statement's first change loses the transaction (see lunar_begin).
 * E_INVALID (a value that is invalid in its column or place: lunar_sql_error says which), E_EXISTS, E_NO_TABLE,
 * E_SCHEMA, E_BUFFER (a row, or a key to be sorted, is larger than the memory), E_UNSUPPORTED (in mode none: BEGIN;
 * indexes in a build without them), E_TOO_LARGE, E_FULL, E_MOVED (rows were moved on a nearly full device before they
 * were read: run it again), E_TABLES, E_TXN, E_TXN_FULL. */
LUNAR_MUST_CHECK int lunar_step(struct lunar_statement* statement);
uint64_t lunar_changes(const struct lunar_statement* statement); /* rows that the last run inserted, updated, removed */

unsigned lunar_column_count(const struct lunar_statement* statement); /* 0: the statement returns no rows */
/* Columns are numbered from 0. The name is valid until lunar_finalize; NULL: no such column. */
const char* lunar_column_name(const struct lunar_statement* statement, unsigned column);
/* The value in the current row; of type LUNAR_NULL if there is no row, or no such column. */
const struct lunar_value* lunar_column_value(const struct lunar_statement* statement, unsigned column);

/* Goes back to before the first row. Parameters keep their values. */
void lunar_reset(struct lunar_statement* statement);
/* Ends the statement; the caller may reuse its memory. NULL is allowed. */
void lunar_finalize(struct lunar_statement* statement);

/* As in SQLite, but only numbers are converted: the functions for numbers return 0 for TEXT and BLOB, and
 * lunar_column_data returns NULL for numbers. TEXT has no final zero. */
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
