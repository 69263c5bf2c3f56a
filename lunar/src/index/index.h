/* Indexes: from a key to the place of a row, by hashing or in a tree. */
#ifndef LUNAR_INDEX_H
#define LUNAR_INDEX_H

#include "../space/space.h"

/* The key of an index: a number for a hash index, bytes that compare in the order of the keys for a tree. */
struct ln_key {
  uint64_t number;
#if LUNAR_WITH_TREE
  uint8_t count;
  uint8_t bytes[LUNAR_TREE_KEY_MAX];
#endif
};
typedef int (*ln_matches)(void* context, struct ln_place place); /* 1: the row sought, 0: another, negative: error */

/* 1: an index had no room for an entry. In mode none the insertion has then changed nothing in the index; in the other
 * modes the caller undoes the operation. */
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
/* Points the entry of (key, from) to another place, or removes it if to.ref is LN_NONE. E_CORRUPT: no such entry. */
int ln_index_move(struct lunar* db, struct lunar_frame* meta, const struct ln_key* key, struct ln_place from,
                  struct ln_place to);
int ln_index_drop(struct lunar* db, struct lunar_frame* meta, int stays); /* stays: keeps an empty index */
#else                                                                     /* only hash indexes */
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
/* index.c: clears the index in the metadata page without reading its pages, which stay allocated. For a damaged index;
 * ln_index_create can follow. */
void ln_index_give_up(struct lunar* db, struct lunar_frame* meta);
/* Returns 1 if ln_index_give_up has cleared the index, 0 if not. A tree has its root in the field of the bucket count.
 */
static inline int ln_index_is_given_up(const struct lunar_frame* meta) {
  return ln_get32(meta->bytes + LN_META_BUCKETS) == 0 && ln_get32(meta->bytes + LN_META_TREE_HEIGHT) == 0;
}
/* Returns 1 if the index has the page at ref, 0 if not, or an error. The caller has checked that the page is sound, of
 * this kind, and the first of its block. */
int ln_index_has_page(struct lunar* db, struct lunar_frame* meta, uint32_t ref, int kind);
uint32_t ln_hash_segments(const struct lunar* db, uint32_t rows); /* segments of a hash index of this many rows */
int ln_hash_has_page(struct lunar* db, struct lunar_frame* meta, uint32_t ref, int kind);
#if LUNAR_WITH_TREE
int ln_tree_has_page(struct lunar* db, struct lunar_frame* meta, uint32_t ref);
#endif
#endif
#if LUNAR_WITH_CHECK || LUNAR_WITH_REPAIR
/* index.c: returns 0 if the index has this entry, E_NOT_FOUND if not, or an error. */
int ln_index_has(struct lunar* db, struct lunar_frame* meta, const struct ln_key* key, struct ln_place place);
#endif

#if LUNAR_WITH_SECONDARY
/* hash.c: insert and remove an entry of a secondary index, in which many entries may have the same key. */
int ln_hash_enter(struct lunar* db, struct lunar_frame* meta, uint64_t key, struct ln_place place);
int ln_hash_leave(struct lunar* db, struct lunar_frame* meta, uint64_t key, struct ln_place place);
#endif

#if LUNAR_WITH_CHECK || LUNAR_WITH_REPAIR
/* index.c: a walk over a whole index, in any order. Calls `block` for each block of the index and `entry` for each
 * entry. sector: the page that names the block or has the entry. sectors: size of the block; check.c passes 0 for the
 * blocks of a table, whose headers have the size. The walk ends if a call returns something other than 0, or if the
 * walk finds a problem. The callers put this struct at the beginning of their state. */
struct ln_walk {
  struct lunar* db;
  struct lunar_findings* found;
  int (*block)(struct ln_walk* walk, uint32_t ref, uint32_t sectors, uint32_t sector);
  int (*entry)(struct ln_walk* walk, const struct ln_key* key, struct ln_place place, uint32_t sector);
};
int ln_walk_problem(struct ln_walk* walk, enum lunar_problem problem, uint32_t sector); /* returns E_CORRUPT */
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
/* LN_AT_LEAST and LN_MORE search towards larger keys, LN_LESS and LN_AT_MOST towards smaller ones. */
enum ln_seek { LN_AT_LEAST, LN_MORE, LN_LESS, LN_AT_MOST };
#if LUNAR_WITH_CURSOR
/* Finds the entry next to the key in the direction of `seek`. key becomes that entry's key, leaf its position. On the
 * first call, leaf is zero. Returns 0, E_NOT_FOUND, or an error. */
int ln_tree_seek(struct lunar* db, struct lunar_frame* meta, enum ln_seek seek, struct ln_key* key,
                 struct ln_place* place, struct lunar_leaf* leaf);
#endif
#endif

#endif
