/* Sectors of the device in RAM, and the log that makes their changes durable. */
#ifndef LUNAR_PAGES_H
#define LUNAR_PAGES_H

#include "../device/device.h"

/* Flags of a frame. LN_FRESH and LN_LOGGED remain set when the frame becomes clean. */
enum {
  LN_DIRTY = 1,  /* changed, and not written in place since; a waiting frame (LN_KEPT) is not dirty */
  LN_FRESH = 2,  /* the last checkpoint does not use the sector: needs no image */
  LN_PLAIN = 4,  /* dirty only by updates without a record (modes disorder, metadata): may be written at any time */
  LN_LOGGED = 8, /* the log has the content that the page had at the last checkpoint */
  LN_ROWS = 16,  /* counted in rows_dirty */
  LN_SOUND = 32, /* page of a tree whose entries have been checked */
  LN_KEPT = 64,  /* the last checkpoint has an image of the page, or the mode is none: it may be written in place at any
                    time. A dirty one stays in the buffer; a clean one waits for its turn to be written. */
  LN_AGAIN = 128 /* kept and dirty page that has changed again (see choose_kept in log.c) */
};

struct lunar_frame {
  uint8_t* bytes;
  uint32_t sector;
  uint8_t flags, pins, kind;
  uint8_t used; /* chances that the frame has left before the clock evicts it; see buffer.c */
#if LUNAR_WITH_BUFFER
  uint16_t next;     /* next frame of the chain: its sector has the same hash */
  uint16_t first;    /* entry of the hash table: first frame of a chain */
  uint8_t operation; /* number of the operation that used the frame last */
#endif
};
/* True for a frame that waits to be written in place. */
#if LUNAR_WITH_BUFFER
static inline int ln_waits(const struct lunar_frame* f) { return (f->flags & (LN_KEPT | LN_DIRTY)) == LN_KEPT; }
#else
#define ln_waits(f) 0
#endif
/* A frame takes the same room on every processor, so that a buffer of the same size has the same number of frames. */
_Static_assert(sizeof(struct lunar_frame) <= LUNAR_FRAME_BYTES, "pointers have at most 8 bytes");

/* frames.c: writes sectors. All rooms above the device use this instead of ln_device_write. Forgets sectors that were
 * read ahead, and checks that the card was not changed (LUNAR_WITH_CARDS). */
#if LUNAR_WITH_CARDS || LUNAR_WITH_PREFETCH
int ln_sectors_write(struct lunar* db, uint32_t sector, const void* data, uint32_t count);
#else
#define ln_sectors_write ln_device_write
#endif
#if LUNAR_WITH_CARDS
/* After a failed read (db->doubtful): reads SUPER to find out whether the device still has the same volume. Returns 0
 * if it has, or if no read has failed. Returns E_OTHER_VOLUME and ends the handle if it has another one. Returns an
 * error if SUPER cannot be read; E_IO also ends the handle if the buffer has no sector to read into. data: content of
 * the stage that must not be overwritten; NULL: none. */
int ln_same_volume(struct lunar* db, const void* data);
int ln_has_scratch(struct lunar* db); /* 1: the buffer has a sector to read into; 0: not */
/* Drops a frame that is not plain, dirty or not, so that ln_same_volume can read into its sector. For ln_undo only,
 * which writes the plain frames and drops all others. */
void ln_make_scratch(struct lunar* db);
#else
#define ln_same_volume(db, data) 0
#define ln_make_scratch(db) ((void)0)
#endif

/* After a read that returned `error`: returns 1 if a sector of this volume cannot be read, so that the operation may
 * continue without it. Otherwise returns an error. */
static inline int ln_is_bad_sector(struct lunar* db, int error) {
  if (error != LUNAR_E_IO || db->state == LN_BROKEN) return error;
  LN_TRY(ln_same_volume(db, NULL));
  return 1;
}

/* prefetch.c: reading ahead. */
#if LUNAR_WITH_PREFETCH
uint32_t ln_prefetch_sectors(const struct lunar_config* config);
/* Forgets what was read ahead if it includes one of these sectors, which are about to change. */
void ln_ahead_forget(struct lunar* db, uint32_t sector, uint32_t count);
/* As ln_device_read; uses sectors that were read ahead, and reads ahead. */
int ln_read_ahead(struct lunar* db, uint32_t sector, void* data, uint32_t count);
/* Reads sectors that are needed next with one request, unless a scan is reading ahead. */
void ln_prefetch(struct lunar* db, uint32_t sector, uint32_t count);
#else
#define ln_prefetch_sectors(config) 0u
#define ln_ahead_forget(db, sector, count) ((void)0)
#define ln_read_ahead ln_device_read
#endif

/* buffer.c; without LUNAR_WITH_BUFFER simpler versions in frames.c. */

/* Returns the frame that has the sector; NULL if none. */
struct lunar_frame* ln_cached(struct lunar* db, uint32_t sector);
/* Returns the frame to evict: neither dirty nor pinned, but it may wait to be written. NULL if there is none. */
struct lunar_frame* ln_buffer_oldest(struct lunar* db);
/* Gives the frame to another sector (LN_NONE: none) and clears its flags and pins. */
void ln_buffer_assign(struct lunar* db, struct lunar_frame* frame, uint32_t sector);
#if LUNAR_WITH_BUFFER
void ln_buffer_reset(struct lunar* db);
void ln_buffer_used(struct lunar* db, struct lunar_frame* frame);
void ln_buffer_dirty(struct lunar* db, struct lunar_frame* frame); /* counts a frame that has become dirty */
void ln_buffer_clean(struct lunar* db, struct lunar_frame* frame); /* no longer counts it; its flags are still set */
void ln_buffer_plain(struct lunar* db, struct lunar_frame* frame); /* sets LN_PLAIN */
/* log.c: writes a waiting frame in place, if possible together with waiting neighbours. */
int ln_write_waiting(struct lunar* db, struct lunar_frame* frame);
#define ln_waiting(db) ((db)->frames_waiting)
#define ln_spare_waiting(db, on) ((void)((db)->taking = (on)))
#define ln_buffer_has_no_plain(db) ((db)->plain_dirty == 0)
#define ln_buffer_operation(db) ((void)++(db)->operation)
/* True if dirty rows, which wait for a checkpoint, leave too few frames to the index. Never true with 12 frames or
 * fewer, which are too few for the index in any case. */
#define ln_buffer_crowded(db) (3u * (db)->rows_dirty > (db)->frame_count + 24u)
/* Limit of dirty frames: the log must have room for their images. */
#define ln_dirty_max(db) ((uint32_t)(db)->dirty_max)
/* True if the log limits the dirty frames, and at least of/parts of the limit is dirty. */
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
/* frames.c: asserts that each sector has at most one frame, that at most pins_max frames are pinned, and that the
 * counts of dirty frames are right. */
void ln_frames_check(struct lunar* db, uint32_t pins_max);
/* log.c: asserts that the used part of the log reaches from the last checkpoint to the head. */
void ln_log_check(const struct lunar* db);
#define ln_is_frame(db, frame) \
  ((uintptr_t)(frame) - (uintptr_t)(db)->frames < (db)->frame_count * sizeof(struct lunar_frame))
#else
#define ln_frames_check(db, pins_max) ((void)0)
#define ln_log_check(db) ((void)0)
#endif

enum { LN_PINS_MAX = 5 }; /* most frames that an operation has pinned at the same time */

/* frames.c: read and write pages in place. If a sector is kept twice, ln_home_read uses the second copy when the first
 * one is unreadable or damaged, and ln_home_write writes both. */
int ln_home_read(struct lunar* db, uint32_t sector, uint8_t* bytes);
int ln_home_write(struct lunar* db, uint32_t sector, const void* data, uint32_t count);

/* frames.c: pages and sectors of rows in RAM. ln_page and ln_page_fresh pin the frame that they return, ln_put unpins
 * it. ln_page reads the sector and checks its kind and checksum. ln_page_fresh fills it with zeros instead. */
int ln_page(struct lunar* db, uint32_t sector, enum ln_kind kind, struct lunar_frame** frame);
int ln_page_fresh(struct lunar* db, uint32_t sector, enum ln_kind kind, struct lunar_frame** frame);
/* Spills unless at least `count` frames can take another sector without a spill. */
int ln_ensure_clean(struct lunar* db, uint32_t count);
void ln_dirty(struct lunar* db, struct lunar_frame* frame);
void ln_put(struct lunar_frame* frame);
/* Marks a frame as clean: it was written in place, or is dropped. */
void ln_cleaned(struct lunar* db, struct lunar_frame* frame);
/* Drops the frames of these sectors without writing them. E_CORRUPT: one is pinned. */
int ln_forget(struct lunar* db, uint32_t sector, uint32_t count);
void ln_forget_all(struct lunar* db);
/* Puts the checksum into the page before it is written. A sector of rows (LN_DATA) has none. */
void ln_seal(struct lunar* db, struct lunar_frame* frame);
/* Returns the kind of the page in the sector; LN_DATA if the sector is no page or a damaged one; or an error. */
int ln_page_kind(struct lunar* db, uint32_t sector);
/* Returns 1 if all these sectors can be read, 0 if not, or an error that does not concern a single sector. */
int ln_can_be_read(struct lunar* db, uint32_t sector, uint32_t count);
/* Reads bytes as an operation sees them: from frames and stage, otherwise from the device. */
int ln_read_bytes(struct lunar* db, uint32_t sector, uint32_t offset, void* data, uint32_t bytes);
/* Changes bytes of rows in frames. plain: without a record; ln_is_plain must have returned 1. */
int ln_write_bytes(struct lunar* db, uint32_t sector, uint32_t offset, const void* data, uint32_t bytes, int plain);
/* Returns 1 if no change with a record to the sectors of these bytes is in a frame or in the stage, 0 if one is. */
int ln_is_plain(struct lunar* db, uint32_t sector, uint32_t offset, uint32_t bytes);
/* Writes the plain frames of these sectors in place. */
int ln_settle_plain(struct lunar* db, uint32_t sector, uint32_t count);

/* log.c: groups, the stage, checkpoints. */
struct ln_record_header {
  enum ln_record type;
  uint16_t table, slot, position;
  uint32_t ref, bytes;
};
/* Passes the content of a record to `put`, piece by piece. Is called twice for a record larger than the stage. */
typedef int (*ln_emit)(void* context, void* sink, int (*put)(void* sink, const void* data, uint32_t bytes));
/* Adds a record to the log. Mode none has no log: ln_log and ln_log_bytes do nothing. */
int ln_log(struct lunar* db, const struct ln_record_header* record, ln_emit emit, void* context);
/* Adds a record to the group at extent_sector; LN_NONE: in the log. Does nothing in a recovery. */
int ln_log_row(struct lunar* db, uint32_t extent_sector, const struct ln_record_header* record, ln_emit emit,
               void* context);
int ln_log_bytes(struct lunar* db, const struct ln_record_header* record, const void* bytes);
/* Ends a transaction: writes a group that is no part (LN_PART), so that recovery repeats the whole transaction. */
int ln_commit_group(struct lunar* db);
/* Makes an operation durable in mode full, outside of a transaction. */
int ln_commit_point(struct lunar* db);
/* Writes in place the waiting frames and the dirty ones that are not kept. only_without_image: of the dirty ones, only
 * those that need no image. Mode none: all dirty ones, but only_without_image leaves the kept ones. */
int ln_write_in_place(struct lunar* db, int only_without_image);
int ln_write_frame(struct lunar* db, struct lunar_frame* frame); /* in place; the frame is clean afterwards */
/* Writes the kept ones of `count` frames in place, except pinned ones. */
int ln_write_kept(struct lunar* db, struct lunar_frame* frames, uint32_t count);
/* Writes the open group, if any. part: the transaction continues in a later group. */
int ln_stage_write(struct lunar* db, int part);
/* Writes a checkpoint group without a body at this place in LOG. No recovery starts from it, but every recovery sees
 * its epoch. */
#if LUNAR_WITH_REPAIR
int ln_log_mark(struct lunar* db, uint32_t at, uint32_t epoch);
#else
#define ln_log_mark(db, at, epoch) 0
#endif
enum { LN_AT_UNMOUNT = 2 }; /* wants_settled during an unmount: a checkpoint without images has the flag LN_UNMOUNTED */
int ln_checkpoint(struct lunar* db);
/* Writes before images of the dirty pages and then the pages in place, so that their frames are clean. keeps: how
 * many pages that change with every row may stay dirty. They count as clean, see ln_ensure_clean; but with more than
 * one, too few frames are left, and there are more spills. */
int ln_spill(struct lunar* db, uint32_t keeps);
int ln_make_room(struct lunar* db, uint32_t times);
int ln_row_begin(struct lunar* db, const struct lunar_extent* extent, uint32_t bytes, uint32_t* offset);

/* Called before the record of an operation that may have spilled many pages. Returns 0 if the log has room for the rest
 * of the operation and for a recovery, which spills the same pages again; otherwise E_TXN_FULL. rest: most log sectors
 * that the operation's changes after the record need. */
int ln_has_room(struct lunar* db, uint32_t rest);

#if LUNAR_WITH_SECONDARY
/* As ln_has_room, for a change of a row of this table. all: no page is changed after the record. */
int ln_room_stays(const struct lunar_table* table, int all);
/* Returns the log sectors that an operation may need, without those for secondary indexes. */
uint32_t ln_operation_sectors(const struct lunar* db);
#define LN_INDEX_SECTORS(db) ((uint32_t)(db)->index_sectors)
/* db->building. */
enum {
  LN_BUILDS = 1,        /* flag: an index is being built that no checkpoint knows */
  LN_AVOIDS_BAD = 2,    /* flag: new blocks must not have unreadable sectors */
  LN_FEWER_SEGMENTS = 2 /* first bit of a number: the limit of a hash index's segments; 0: no limit */
};
/* True for a page of an index while one is being built. No checkpoint knows the page, even if its frame was evicted and
 * has lost LN_FRESH. */
#define LN_IS_BUILT(db, frame) ((db)->building & LN_BUILDS && (frame)->kind >= LN_BUCKET)
_Static_assert(LN_TREE == LN_BUCKET + 1, "the pages of indexes are the last kinds: a new one is put before or counted");
#else
#define ln_room_stays(table, all) 0
#define LN_INDEX_SECTORS(db) 0u
#define LN_IS_BUILT(db, frame) 0
#endif

#endif
