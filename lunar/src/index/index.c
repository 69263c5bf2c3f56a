/* The primary index of a table: by hashing, or a tree. */
#include "../internal.h"

#if LUNAR_WITH_TREE
static int is_tree(struct lunar_frame* meta) { return meta->bytes[LN_META_INDEX] == LUNAR_INDEX_TREE; }

#define EITHER(tree, hash) (is_tree(meta) ? (tree) : (hash))
#else
#define EITHER(tree, hash) (hash)
#endif

int ln_index_create(struct lunar* db, struct lunar_frame* meta) {
  return EITHER(ln_tree_create(db, meta), ln_hash_create(db, meta));
}

int ln_index_find(struct lunar* db, struct lunar_frame* meta, const struct ln_key* key, ln_matches matches,
                  void* context, struct ln_place* place) {
  return EITHER(ln_tree_find(db, meta, key, place), ln_hash_find(db, meta, key->number, matches, context, place));
}

int ln_index_insert(struct lunar* db, struct lunar_frame* meta, const struct ln_key* key, struct ln_place place) {
  return EITHER(ln_tree_insert(db, meta, key, place), ln_hash_insert(db, meta, key->number, place));
}

int ln_index_move(struct lunar* db, struct lunar_frame* meta, const struct ln_key* key, struct ln_place from,
                  struct ln_place to) {
  return EITHER(ln_tree_move(db, meta, key, from, to), ln_hash_move(db, meta, key->number, from, to));
}

int ln_index_drop(struct lunar* db, struct lunar_frame* meta) {
  return EITHER(ln_tree_drop(db, meta), ln_hash_drop(db, meta));
}

#if LUNAR_WITH_CHECK
int ln_index_check(struct lunar* db, struct lunar_frame* meta, struct ln_check* check) {
  return EITHER(ln_tree_check(db, meta, check), ln_hash_check(db, meta, check));
}
#endif
