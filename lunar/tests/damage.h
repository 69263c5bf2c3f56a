/* Deliberate damage to a volume. Each renews its page's checksum, so that only lunar_check can detect it. */
#ifndef LUNAR_DAMAGE_H
#define LUNAR_DAMAGE_H

#include "emubd.h"
#include "lunar.h"

#ifdef __cplusplus
extern "C" {
#endif

struct damage {
  const char* name;
  enum lunar_problem problem; /* reported by lunar_check */
  enum lunar_index index;     /* of table number 0 */
  void (*make)(struct lunar* db);
};

extern const struct damage damages[];
extern const unsigned damage_count;
/* Damage to the secondary indexes 1 (hash) and 2 of table number 0. */
extern const struct damage index_damages[];
extern const unsigned index_damage_count;

/* Writes everything and empties the frames, so that the device holds the whole state. */
int damage_begin(struct lunar* db);
/* Returns whether the volume has the structures that the damages need. Table number 0: two buckets with entries and an
 * overflow page, or a tree of two levels with two leaves of two entries; three blocks, a block with free slots and one
 * without, a block with a free and a live slot, an open extent. Table number 1 must exist. */
int damage_possible(struct lunar* db);

/* Puts full inner pages above the root of table number 0, so that its tree has the greatest height. */
int damage_tree_height(struct lunar* db);
/* Gives every group that begins a unit of the log the largest size that its field can hold. */
void damage_group_bytes(struct lunar* db);
/* Creates a page in a pinned frame, or drops a pinned page. Both return the error. */
int damage_make_pinned_fresh(struct lunar* db);
int damage_forget_pinned(struct lunar* db);

#ifdef __cplusplus
}
#endif
#endif
