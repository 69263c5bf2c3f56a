/* Sectors of the device in RAM, and the log that makes their changes last. */
#ifndef LUNAR_PAGES_H
#define LUNAR_PAGES_H

#include "../device/device.h"

/* PLAIN: dirty by updates without a record only (modes disorder and metadata): written in place at any time. LOGGED:
 * the log has what was on the device at the last checkpoint. FRESH and LOGGED stay with a clean frame. ROWS: counted in
 * rows_dirty. SOUND: a page of a tree whose entries were checked. KEPT: a page of which the last checkpoint has an
 * image, so that it can be written in place at any time: a dirty one stays in the buffer, a clean one waits for its
 * turn to be written; AGAIN: a dirty one that has changed since. */
enum {
  LN_DIRTY = 1,
  LN_FRESH = 2,
  LN_PLAIN = 4,
  LN_LOGGED = 8,
  LN_ROWS = 16,
  LN_SOUND = 32,
  LN_KEPT = 64,
  LN_AGAIN = 128
};

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
#if LUNAR_WITH_BUFFER
static inline int ln_waits(const struct lunar_frame* f) { return (f->flags & (LN_KEPT | LN_DIRTY)) == LN_KEPT; }
#else
#define ln_waits(f) 0
#endif
/* As much on every processor, so that a buffer has as many frames. */
_Static_assert(sizeof(struct lunar_frame) <= LUNAR_FRAME_BYTES, "pointers have at most 8 bytes");

/* frames.c: ln_device_write for every room above the device. */
#if LUNAR_WITH_CARDS || LUNAR_WITH_PREFETCH
int ln_sectors_write(struct lunar* db, uint32_t sector, const void* data, uint32_t count);
#else
#define ln_sectors_write ln_device_write
#endif
#if LUNAR_WITH_CARDS
/* After a failed read: E_OTHER_VOLUME, and the handle has failed, if the device has another volume now. data: content
 * of the stage that is needed; NULL: none. */
int ln_same_volume(struct lunar* db, const void* data);
int ln_has_scratch(struct lunar* db); /* a sector of the buffer to read into */
/* Gives up a frame for it. Only where all but the plain frames are given up next. */
void ln_make_scratch(struct lunar* db);
#else
#define ln_same_volume(db, data) 0
#define ln_make_scratch(db) ((void)0)
#endif

/* After an error of a read: 1: that sector cannot be read, and the operation may do without it; otherwise the error. */
static inline int ln_is_bad_sector(struct lunar* db, int error) {
  if (error != LUNAR_E_IO || db->state == LN_BROKEN) return error;
  LN_TRY(ln_same_volume(db, NULL));
  return 1;
}

/* prefetch.c: reads of rows and their blocks. */
#if LUNAR_WITH_PREFETCH
uint32_t ln_prefetch_sectors(const struct lunar_config* config);
void ln_ahead_forget(struct lunar* db, uint32_t sector, uint32_t count); /* these sectors change */
int ln_read_ahead(struct lunar* db, uint32_t sector, void* data, uint32_t count);
void ln_prefetch(struct lunar* db, uint32_t sector,
                 uint32_t count); /* sectors that are wanted next, unless in a scan */
#else
#define ln_prefetch_sectors(config) 0u
#define ln_ahead_forget(db, sector, count) ((void)0)
#define ln_read_ahead ln_device_read
#endif

/* buffer.c, or the plain version of it in frames.c: which frame has a sector, and which one makes room. */
struct lunar_frame* ln_cached(struct lunar* db, uint32_t sector);
/* Neither dirty nor pinned; it may wait to be written. NULL: there is none. */
struct lunar_frame* ln_buffer_oldest(struct lunar* db);
void ln_buffer_assign(struct lunar* db, struct lunar_frame* frame, uint32_t sector);
#if LUNAR_WITH_BUFFER
void ln_buffer_reset(struct lunar* db);
void ln_buffer_used(struct lunar* db, struct lunar_frame* frame);
void ln_buffer_dirty(struct lunar* db, struct lunar_frame* frame); /* it makes no room until it is clean */
void ln_buffer_clean(struct lunar* db, struct lunar_frame* frame);
void ln_buffer_plain(struct lunar* db, struct lunar_frame* frame); /* it is written without an image */
int ln_write_waiting(struct lunar* db, struct lunar_frame* frame); /* log.c; in place, and its neighbours */
#define ln_waiting(db) ((db)->frames_waiting)
#define ln_spare_waiting(db, on) ((void)((db)->taking = (on)))
#define ln_buffer_has_no_plain(db) ((db)->plain_dirty == 0)
#define ln_buffer_operation(db) ((void)++(db)->operation)
/* Rows wait for a checkpoint in so many frames that the index has too few. Of a few frames it never has enough. */
#define ln_buffer_crowded(db) (3u * (db)->rows_dirty > (db)->frame_count + 24u)
/* The log holds the images of fewer pages than there are frames: before more are dirty, they go in place. */
#define ln_dirty_max(db) ((uint32_t)(db)->dirty_max)
#define ln_dirty_bound(db, of, parts) \
  ((db)->dirty_max < (db)->frame_count && (db)->frames_dirty * (parts) >= (db)->dirty_max * (of))
#else
#define ln_buffer_reset(db) ((void)((db)->clock = 0))
#define ln_buffer_used(db, frame) ((void)((frame)->used = 1))
#define ln_buffer_dirty(db, frame) ((void)(db))
#define ln_buffer_clean(db, frame) ((void)(db))
#define ln_buffer_plain(db, frame) ((void)((frame)->flags |= LN_PLAIN))
#define ln_write_waiting(db, frame) 0
#define ln_waiting(db) 0u
#define ln_spare_waiting(db, on) ((void)0)
#define ln_buffer_has_no_plain(db) 0
#define ln_buffer_operation(db) ((void)0)
#define ln_buffer_crowded(db) 0
#define ln_dirty_max(db) ((uint32_t)(db)->frame_count)
#define ln_dirty_bound(db, of, parts) 0
#endif

#if LUNAR_DEBUG
/* Assert that each sector is in one frame at most, that so many frames are pinned at most, and that the counts of dirty
 * frames are right (frames.c); that what the log has in use reaches from the last checkpoint to the head (log.c). */
void ln_frames_check(struct lunar* db, uint32_t pins_max);
void ln_log_check(const struct lunar* db);
#define ln_is_frame(db, frame) \
  ((uintptr_t)(frame) - (uintptr_t)(db)->frames < (db)->frame_count * sizeof(struct lunar_frame))
#else
#define ln_frames_check(db, pins_max) ((void)0)
#define ln_log_check(db) ((void)0)
#endif

enum { LN_PINS_MAX = 5 }; /* of an operation, at any time */

/* frames.c: pages in their place. Of a sector that is kept twice, the second copy is read where the first one is
 * unreadable or damaged, and both are written. */
int ln_home_read(struct lunar* db, uint32_t sector, uint8_t* bytes);
int ln_home_write(struct lunar* db, uint32_t sector, const void* data, uint32_t count);

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
int ln_page_kind(struct lunar* db, uint32_t sector);                   /* LN_DATA: it is no page, or a damaged one */
int ln_can_be_read(struct lunar* db, uint32_t sector, uint32_t count); /* 1, 0, or an error of the device as a whole */
/* Bytes of the device as an operation sees them: frames and stage before medium. */
int ln_read_bytes(struct lunar* db, uint32_t sector, uint32_t offset, void* data, uint32_t bytes);
/* Changes bytes of rows in frames. plain: without a record, which ln_is_plain allows. */
int ln_write_bytes(struct lunar* db, uint32_t sector, uint32_t offset, const void* data, uint32_t bytes, int plain);
int ln_is_plain(struct lunar* db, uint32_t sector, uint32_t offset, uint32_t bytes);
/* Writes the plain ones of these sectors in place. */
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
int ln_write_kept(struct lunar* db, struct lunar_frame* frames, uint32_t count); /* in place, unless pinned */
int ln_stage_write(struct lunar* db, int part);
/* Writes a checkpoint without a body at this place in LOG. No recovery begins there, but each sees its epoch. */
#if LUNAR_WITH_REPAIR
int ln_log_mark(struct lunar* db, uint32_t at, uint32_t epoch);
#else
#define ln_log_mark(db, at, epoch) 0
#endif
enum { LN_AT_UNMOUNT = 2 }; /* wants_settled in an unmount: a checkpoint without images gets the flag LN_UNMOUNTED */
int ln_checkpoint(struct lunar* db);
int ln_spill(struct lunar* db);
int ln_make_room(struct lunar* db, uint32_t times);
int ln_row_begin(struct lunar* db, const struct lunar_extent* extent, uint32_t bytes, uint32_t* offset);

/* Before the record of an operation that may have spilled many pages: whether the log has enough room behind it, and
 * for a recovery, which spills them again (E_TXN_FULL). */
int ln_has_room(struct lunar* db, uint32_t rest);

#if LUNAR_WITH_SECONDARY
/* The same for a change of a row of this table. all: nothing is changed after the record. */
int ln_room_stays(const struct lunar_table* table, int all);
uint32_t ln_operation_sectors(const struct lunar* db); /* of the log, what an operation may need without its indexes */
#define LN_INDEX_SECTORS(db) ((uint32_t)(db)->index_sectors)
/* In db->building: an index is made that no checkpoint knows; new blocks get no sector that cannot be read; and from
 * the bit LN_FEWER_SEGMENTS on the limit of the hash indexes' segments, 0: none. */
enum { LN_BUILDS = 1, LN_AVOIDS_BAD = 2, LN_FEWER_SEGMENTS = 2 };
/* A page of an index that no checkpoint knows, whatever became of its frame. */
#define LN_IS_BUILT(db, frame) ((db)->building & LN_BUILDS && (frame)->kind >= LN_BUCKET)
_Static_assert(LN_TREE == LN_BUCKET + 1, "the pages of indexes are the last kinds: a new one is put before or counted");
#else
#define ln_room_stays(table, all) 0
#define LN_INDEX_SECTORS(db) 0u
#define LN_IS_BUILT(db, frame) 0
#endif

#endif
