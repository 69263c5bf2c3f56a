/* The blocks of DATA_ZONE: the allocator, the open extents, and the content of a block. */
#ifndef LUNAR_SPACE_H
#define LUNAR_SPACE_H

#include "../pages/pages.h"

/* alloc.c: allocation of blocks. ln_alloc and ln_alloc_run return E_FULL if there is no room. */
int ln_alloc(struct lunar* db, uint8_t class, uint32_t near, uint32_t* ref);
int ln_alloc_run(struct lunar* db, uint32_t chunks, uint32_t* ref);
/* Called after E_FULL of ln_alloc or ln_alloc_run if the operation continues without the block. Enters LN_NONE into the
 * blocks of its record: otherwise recovery would use, in this place, a block that the operation allocated later. */
int ln_go_without(struct lunar* db);
/* Frees the block. It is available after the next checkpoint. */
int ln_free(struct lunar* db, uint32_t ref);
/* Returns 1 if an operation that needs some small blocks will certainly get them, or can be undone because there is a
 * log. Otherwise returns 0. */
int ln_room_is_sure(const struct lunar* db);
int ln_count_free(struct lunar* db); /* counts chunks_free in the map */
#if LUNAR_WITH_CURSOR || LUNAR_WITH_REPAIR
/* Returns the length of the block in use that begins at ref, in sectors; 0 if none begins there; or an error. */
int ln_used_sectors(struct lunar* db, uint32_t ref);
#endif
#if LUNAR_WITH_REPAIR
/* Sets *ref to the first block in use that begins at *ref or behind it. Returns its length in sectors, 0 if there is
 * none, or an error. */
int ln_next_used(struct lunar* db, uint32_t* ref);
/* Takes a block that a repair finds in a table, unless the map shows it as used: the map may be older than the block.
 * Returns 1, 0 if the map has other blocks there, or an error. */
int ln_hold(struct lunar* db, uint32_t ref, uint8_t class);
#endif
uint32_t ln_class_sectors(const struct lunar* db, uint8_t class);
/* Returns the class whose blocks have this number of sectors; class_count if there is none. */
uint8_t ln_class_of(const struct lunar* db, uint32_t sectors);

#if LUNAR_WITH_SECONDARY
#define LN_ALLOCATED(db) (8u * (1u + (db)->indexes)) /* most blocks that a record may name */
#else
#define LN_ALLOCATED(db) 8u
#endif

/* extents.c: updates the open extents of the series after a record. */
void ln_extents_follow(struct lunar* db, struct lunar_series* series, const struct ln_record_header* record);

/* Place of a row. ref: first sector of its block. */
struct ln_place {
  uint32_t ref;
  uint16_t slot;
};

/* blocks.c: slotted blocks of a table. meta: pinned metadata page of the table. */
struct ln_row {
  struct ln_place place;
  uint16_t position; /* of the row's header, from the beginning of the block, in units of 4 bytes */
  uint16_t room;     /* for the row without its header, in units of 4 bytes */
};
/* Pins the frame of a block's header and checks the fields that tell the size of the block and of its parts. */
int ln_block_header(struct lunar* db, uint32_t ref, struct lunar_frame** frame);
int ln_block_class(struct lunar* db, const uint8_t* meta, uint32_t row_bytes, uint8_t* class, uint8_t* least);
uint32_t ln_block_rows(const struct lunar* db, const uint8_t* meta, uint32_t bytes, uint32_t row_bytes);
int ln_block_add(struct lunar* db, struct lunar_frame* meta, uint16_t table, uint8_t class, uint32_t row_bytes,
                 uint32_t* ref);
int ln_block_room(struct lunar* db, uint32_t ref, uint16_t table, uint32_t* slot, uint32_t* tail, uint32_t* end);
/* Sets *position to the content of the slot (units of 4 bytes, plus LN_SLOT_FREE if it is free) and *end to the size of
 * the block in bytes. */
int ln_slot_read(struct lunar* db, uint32_t ref, uint32_t slot, uint32_t* position, uint32_t* end);
#if LUNAR_WITH_PREFETCH
void ln_row_prefetch(struct lunar* db, struct ln_place place, uint32_t position);
#else
#define ln_row_prefetch(db, place, position) ((void)0)
#endif
/* Returns 1 if a row was added to the block since the last checkpoint, 0 if not, or an error. */
int ln_block_stamped(struct lunar* db, uint32_t ref);
int ln_slot_touch(struct lunar* db, uint32_t ref, uint32_t slot);
int ln_row_add(struct lunar* db, struct lunar_frame* meta, const struct ln_row* row, uint32_t row_bytes);
int ln_row_drop(struct lunar* db, struct lunar_frame* meta, struct ln_place place);
int ln_block_sparsest(struct lunar* db, const struct lunar_frame* meta, int emergency, uint32_t* ref);
int ln_block_row(struct lunar* db, uint32_t ref, uint16_t from, struct ln_place* place);
int ln_row_reuse(struct lunar* db, struct lunar_frame* meta, uint32_t row_bytes, struct ln_row* row);
#if LUNAR_WITH_REPAIR
/* blocks.c: blocks of a damaged table. */

/* Returns 1 if the block belongs to the table, its serial is above this one and its pages can be read. Returns 0 if it
 * belongs to another table or its serial is not above this one; an error if a page is damaged or cannot be read. */
int ln_block_is_whole(struct lunar* db, uint32_t ref, uint16_t table, uint32_t serial);
/* Returns 1 if all sectors of slots can be read, or can be read after they were overwritten; 0 if not; or an error.
 * Unreadable ones are overwritten with zeros. */
int ln_block_keeps_slots(struct lunar* db, uint32_t ref, uint32_t slot_sectors);
/* Replace the header and the slot pages of a block: ln_block_renew writes empty ones, ln_slot_renew sets the slots, and
 * ln_block_renewed gives the block back to the table. Until then it belongs to no table (LN_NO_TABLE), so that after a
 * power cut the repair begins anew. */
int ln_block_renew(struct lunar* db, uint32_t ref, uint32_t sectors, uint32_t slot_sectors, uint32_t serial);
int ln_slot_renew(struct lunar* db, uint32_t ref, uint32_t slot, uint32_t position);
int ln_block_renewed(struct lunar* db, uint32_t ref, uint16_t table, uint32_t slots, uint32_t tail);
uint32_t ln_block_slots_max(const struct lunar* db, uint32_t slot_sectors);
/* Returns 1 if the row in this place is kept, 0 if it is lost, or an error. */
typedef int (*ln_keeps)(void* context, struct ln_place place, uint32_t position, uint32_t end);
/* Removes the slots of lost rows, moves the slots behind them up, sets the block's counts and its previous block, and
 * adds the block to the table's counts and lists. Increases *lost by the number of lost rows. Writes no sector of rows
 * except the header of the last room, if a sector behind it cannot be read (mend_tail). Returns 1, 0 if no row is left
 * (counts and lists are unchanged), or an error. */
int ln_block_mend(struct lunar* db, struct lunar_frame* meta, uint32_t ref, uint32_t previous, ln_keeps keeps,
                  void* context, uint32_t* lost);
#endif

#endif
