/* The blocks of DATA_ZONE: which are free, which take rows in place, and what lies in one. */
#ifndef LUNAR_SPACE_H
#define LUNAR_SPACE_H

#include "../pages/pages.h"

/* alloc.c: blocks. */
int ln_alloc(struct lunar* db, uint8_t class, uint32_t near, uint32_t* ref);
int ln_alloc_run(struct lunar* db, uint32_t chunks, uint32_t* ref);
/* After E_FULL of these two: the operation goes on without the block. The record says so, because recovery must not
 * give it a block that the operation got afterwards. */
int ln_go_without(struct lunar* db);
int ln_free(struct lunar* db, uint32_t ref);
/* Whether an operation gets some small blocks for certain; with a log it need not be, because it can be undone. */
int ln_room_is_sure(const struct lunar* db);
int ln_count_free(struct lunar* db); /* chunks_free, from the map */
#if LUNAR_WITH_CURSOR || LUNAR_WITH_REPAIR
int ln_used_sectors(struct lunar* db, uint32_t ref); /* of the block in use that begins there; 0: none does */
#endif
#if LUNAR_WITH_REPAIR
/* *ref becomes the first block in use that begins there or behind; returns its sectors, 0: there is none. */
int ln_next_used(struct lunar* db, uint32_t* ref);
/* A block that a repair meets is in use from here on, also where the map is older than it. 0: the map has others there.
 */
int ln_hold(struct lunar* db, uint32_t ref, uint8_t class);
#endif
uint32_t ln_class_sectors(const struct lunar* db, uint8_t class);
/* The class whose blocks have so many sectors; class_count: none has. */
uint8_t ln_class_of(const struct lunar* db, uint32_t sectors);

#if LUNAR_WITH_SECONDARY
#define LN_ALLOCATED(db) (8u * (1u + (db)->indexes)) /* blocks that a record may name */
#else
#define LN_ALLOCATED(db) 8u
#endif

/* extents.c: which blocks rows are written to in place. */
void ln_extents_follow(struct lunar* db, struct lunar_series* series, const struct ln_record_header* record);

/* Where a row lies: in the block that begins at sector ref. */
struct ln_place {
  uint32_t ref;
  uint16_t slot;
};

/* blocks.c: slotted blocks of a table. meta: its pinned metadata page. */
struct ln_row {
  struct ln_place place;
  uint16_t position; /* of the row's header, from the block's beginning, in units of 4 bytes */
  uint16_t room;     /* for the row without its header, in units of 4 bytes */
};
int ln_block_header(struct lunar* db, uint32_t ref, struct lunar_frame** frame); /* pinned and sound */
int ln_block_class(struct lunar* db, const uint8_t* meta, uint32_t row_bytes, uint8_t* class, uint8_t* least);
uint32_t ln_block_rows(const struct lunar* db, const uint8_t* meta, uint32_t bytes, uint32_t row_bytes);
int ln_block_add(struct lunar* db, struct lunar_frame* meta, uint16_t table, uint8_t class, uint32_t row_bytes,
                 uint32_t* ref);
int ln_block_room(struct lunar* db, uint32_t ref, uint16_t table, uint32_t* slot, uint32_t* tail, uint32_t* end);
/* *end: of the block, in bytes. */
int ln_slot_read(struct lunar* db, uint32_t ref, uint32_t slot, uint32_t* position, uint32_t* end);
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
int ln_block_sparsest(struct lunar* db, const struct lunar_frame* meta, int emergency, uint32_t* ref);
int ln_block_row(struct lunar* db, uint32_t ref, uint16_t from, struct ln_place* place);
int ln_row_reuse(struct lunar* db, struct lunar_frame* meta, uint32_t row_bytes, struct ln_row* row);
#if LUNAR_WITH_REPAIR
/* A damaged table's blocks. 1: the block is the table's, its serial is above this one, and all its slots can be read.
 */
int ln_block_is_whole(struct lunar* db, uint32_t ref, uint16_t table, uint32_t serial);
/* 1: the device keeps what is written to the sectors of slots; those that cannot be read are zeroed. */
int ln_block_keeps_slots(struct lunar* db, uint32_t ref, uint32_t slot_sectors);
/* A new header and slot pages replace those that are lost; ln_slot_renew gives them the slots, and ln_block_renewed
 * makes the block the table's again. Until then it is no table's (LN_NO_TABLE): a power cut changes nothing. */
int ln_block_renew(struct lunar* db, uint32_t ref, uint32_t sectors, uint32_t slot_sectors, uint32_t serial);
int ln_slot_renew(struct lunar* db, uint32_t ref, uint32_t slot, uint32_t position);
int ln_block_renewed(struct lunar* db, uint32_t ref, uint16_t table, uint32_t slots, uint32_t tail);
uint32_t ln_block_slots_max(const struct lunar* db, uint32_t slot_sectors);
/* 1: the row in that place is kept, 0: it is lost. */
typedef int (*ln_keeps)(void* context, struct ln_place place, uint32_t position, uint32_t end);
/* The slots of lost rows go, and those behind them move up; the block is counted anew, and enters the table's counts
 * and lists; the neighbour before it is set. Sectors of rows are not written, but where the next row could not be read.
 * 0: no row is left, and nothing has changed. */
int ln_block_mend(struct lunar* db, struct lunar_frame* meta, uint32_t ref, uint32_t previous, ln_keeps keeps,
                  void* context, uint32_t* lost);
#endif

#endif
