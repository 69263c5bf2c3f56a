/* From a key to a place: by hashing, or a tree. */
#ifndef LUNAR_INDEX_H
#define LUNAR_INDEX_H

#include "../space/space.h"

/* The key of an index: a number for the hash index, bytes whose order is that of the keys for the tree. */
struct ln_key {
  uint64_t number;
#if LUNAR_WITH_TREE
  uint8_t count;
  uint8_t bytes[LUNAR_TREE_KEY_MAX];
#endif
};
typedef int (*ln_matches)(void* context, struct ln_place place); /* 1: this row, 0: another, negative: error */

/* An insertion without room for its entry has changed nothing in the index. */
#define LN_NO_ROOM(error) ((error) == LUNAR_E_FULL || (error) == LUNAR_E_INDEX_FULL)

/* hash.c */
int ln_hash_create(struct lunar* db, struct lunar_frame* meta);
int ln_hash_find(struct lunar* db, struct lunar_frame* meta, uint64_t key, ln_matches matches, void* context,
                 struct ln_place* place);
int ln_hash_insert(struct lunar* db, struct lunar_frame* meta, uint64_t key, struct ln_place place);
int ln_hash_move(struct lunar* db, struct lunar_frame* meta, uint64_t key, struct ln_place from, struct ln_place to);
int ln_hash_drop(struct lunar* db, struct lunar_frame* meta, int stays);

#if LUNAR_WITH_TREE
/* index.c: the primary index of either kind. meta: the table's pinned metadata page. */
int ln_index_create(struct lunar* db, struct lunar_frame* meta);
int ln_index_find(struct lunar* db, struct lunar_frame* meta, const struct ln_key* key, ln_matches matches,
                  void* context, struct ln_place* place);
int ln_index_insert(struct lunar* db, struct lunar_frame* meta, const struct ln_key* key, struct ln_place place);
/* Points the entry of (key, from) to another place; to.ref LN_NONE: removes it. */
int ln_index_move(struct lunar* db, struct lunar_frame* meta, const struct ln_key* key, struct ln_place from,
                  struct ln_place to);
int ln_index_drop(struct lunar* db, struct lunar_frame* meta, int stays); /* stays: without entries */
#else                                                                     /* it is by hashing */
static inline int ln_index_create(struct lunar* db, struct lunar_frame* meta) { return ln_hash_create(db, meta); }
static inline int ln_index_find(struct lunar* db, struct lunar_frame* meta, const struct ln_key* key,
                                ln_matches matches, void* context, struct ln_place* place) {
  return ln_hash_find(db, meta, key->number, matches, context, place);
}
static inline int ln_index_insert(struct lunar* db, struct lunar_frame* meta, const struct ln_key* key,
                                  struct ln_place place) {
  return ln_hash_insert(db, meta, key->number, place);
}
static inline int ln_index_move(struct lunar* db, struct lunar_frame* meta, const struct ln_key* key,
                                struct ln_place from, struct ln_place to) {
  return ln_hash_move(db, meta, key->number, from, to);
}
static inline int ln_index_drop(struct lunar* db, struct lunar_frame* meta, int stays) {
  return ln_hash_drop(db, meta, stays);
}
#endif

#if LUNAR_WITH_REPAIR
/* index.c: a damaged index is no more, and ln_index_create can follow. Its pages are leaked. */
void ln_index_give_up(struct lunar* db, struct lunar_frame* meta);
static inline int ln_index_is_given_up(const struct lunar_frame* meta) { /* the height of a tree is behind its root */
  return ln_get32(meta->bytes + LN_META_BUCKETS) == 0 && ln_get32(meta->bytes + LN_META_TREE_HEIGHT) == 0;
}
/* 1: the index has the page, which is of this kind, sound, and the first of its block. */
int ln_index_has_page(struct lunar* db, struct lunar_frame* meta, uint32_t ref, int kind);
uint32_t ln_hash_segments(const struct lunar* db, uint32_t rows); /* of a hash index of so many */
int ln_hash_has_page(struct lunar* db, struct lunar_frame* meta, uint32_t ref, int kind);
#if LUNAR_WITH_TREE
int ln_tree_has_page(struct lunar* db, struct lunar_frame* meta, uint32_t ref);
#endif
#endif
#if LUNAR_WITH_CHECK || LUNAR_WITH_REPAIR
/* index.c: 0, where the index has this entry; E_NOT_FOUND. */
int ln_index_has(struct lunar* db, struct lunar_frame* meta, const struct ln_key* key, struct ln_place place);
#endif

#if LUNAR_WITH_SECONDARY
/* hash.c: many entries may have one key. */
int ln_hash_enter(struct lunar* db, struct lunar_frame* meta, uint64_t key, struct ln_place place);
int ln_hash_leave(struct lunar* db, struct lunar_frame* meta, uint64_t key, struct ln_place place);
#endif

#if LUNAR_WITH_CHECK || LUNAR_WITH_REPAIR
/* index.c. A walk over a whole index. It calls block for each block of the index and entry for each entry, in any
 * order, with the sector of the page that names it. sectors: of the block, 0: its header says how many. A result other
 * than 0 ends the walk, as a problem of its own does. check.c puts this at the beginning of its state. */
struct ln_walk {
  struct lunar* db;
  struct lunar_findings* found;
  int (*block)(struct ln_walk* walk, uint32_t ref, uint32_t sectors, uint32_t sector);
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
int ln_tree_drop(struct lunar* db, struct lunar_frame* meta, int stays);
/* The entry next to the key in that direction; key becomes the entry's. */
enum ln_seek { LN_AT_LEAST, LN_MORE, LN_LESS, LN_AT_MOST };
#if LUNAR_WITH_CURSOR
/* leaf: the position of the last one, or zeros. */
int ln_tree_seek(struct lunar* db, struct lunar_frame* meta, enum ln_seek seek, struct ln_key* key,
                 struct ln_place* place, struct lunar_leaf* leaf);
#endif
#endif

#endif
