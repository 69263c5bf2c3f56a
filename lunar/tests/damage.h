/* Damages to a volume, made by hand, each with its page's checksum renewed: what lunar_check has to find by itself. */
#ifndef LUNAR_DAMAGE_H
#define LUNAR_DAMAGE_H

#include "emubd.h"
#include "lunar.h"

#ifdef __cplusplus
extern "C" {
#endif

struct damage {
  const char* name;
  enum lunar_problem problem; /* what lunar_check says */
  enum lunar_index index;     /* of table number 0 */
  void (*make)(struct lunar* db);
};

extern const struct damage damages[];
extern const unsigned damage_count;
/* To secondary indexes: number 1, by hashing, and 2 of table number 0. */
extern const struct damage index_damages[];
extern const unsigned index_damage_count;

/* Everything is written and nothing is in frames: from now on the device is what counts. */
int damage_begin(struct lunar* db);
/* Whether table number 0 has what the damages need: two buckets with entries and an overflow page, or a tree
 * of two levels with two leaves of two entries; three blocks, a block
 * with free slots and one without, a block with a free and a live slot, an open extent; and whether there is a table
 * number 1. */
int damage_possible(struct lunar* db);

/* Every group that begins a unit of the log has the largest number of bytes that can be written down. */
void damage_group_bytes(struct lunar* db);
/* What it is when a page that is pinned is made anew, or forgotten. */
int damage_make_pinned_fresh(struct lunar* db);
int damage_forget_pinned(struct lunar* db);

#ifdef __cplusplus
}
#endif
#endif
