/* The primary index of a table: by hashing, or a tree. */
#include "index.h"

#if LUNAR_WITH_TREE
static int is_tree(struct lunar_frame* meta) { return meta->bytes[LN_META_INDEX] == LUNAR_INDEX_TREE; }

#define EITHER(tree, hash) (is_tree(meta) ? (tree) : (hash))

int ln_index_create(struct lunar* db, struct lunar_frame* meta) {
  return EITHER(ln_tree_create(db, meta), ln_hash_create(db, meta));
}

int ln_index_find(struct lunar* db, struct lunar_frame* meta, const struct ln_key* key, ln_matches matches,
                  void* context, struct ln_place* place) {
  LUNAR_ASSERT(meta && key && place);
  return EITHER(ln_tree_find(db, meta, key, place), ln_hash_find(db, meta, key->number, matches, context, place));
}

int ln_index_insert(struct lunar* db, struct lunar_frame* meta, const struct ln_key* key, struct ln_place place) {
  LUNAR_ASSERT(meta && key && place.ref != LN_NONE);
  return EITHER(ln_tree_insert(db, meta, key, place), ln_hash_insert(db, meta, key->number, place));
}

int ln_index_move(struct lunar* db, struct lunar_frame* meta, const struct ln_key* key, struct ln_place from,
                  struct ln_place to) {
  LUNAR_ASSERT(meta && key && from.ref != LN_NONE);
  return EITHER(ln_tree_move(db, meta, key, from, to), ln_hash_move(db, meta, key->number, from, to));
}

int ln_index_drop(struct lunar* db, struct lunar_frame* meta, int stays) {
  return EITHER(ln_tree_drop(db, meta, stays), ln_hash_drop(db, meta, stays));
}

#endif

#if LUNAR_WITH_CHECK || LUNAR_WITH_REPAIR
static int is_place(void* context, struct ln_place place) {
  const struct ln_place* wanted = context;
  return place.ref == wanted->ref && place.slot == wanted->slot;
}

int ln_index_has(struct lunar* db, struct lunar_frame* meta, const struct ln_key* key, struct ln_place place) {
  struct ln_place found = {LN_NONE, 0};
  LN_TRY(ln_index_find(db, meta, key, is_place, &place, &found));
  return is_place(&place, found) ? 0 : LUNAR_E_NOT_FOUND;
}
#endif

#if LUNAR_WITH_REPAIR
void ln_index_give_up(struct lunar* db, struct lunar_frame* meta) {
  LN_TREES_CHANGE(db);
  memset(meta->bytes + LN_META_BUCKETS, 0, LN_META_CREATION - LN_META_BUCKETS);
  ln_dirty(db, meta);
}

int ln_index_has_page(struct lunar* db, struct lunar_frame* meta, uint32_t ref, int kind) {
#if LUNAR_WITH_TREE
  if (is_tree(meta)) return kind == LN_TREE ? ln_tree_has_page(db, meta, ref) : 0;
#endif
  return ln_hash_has_page(db, meta, ref, kind);
}
#endif

#if LUNAR_WITH_CHECK || LUNAR_WITH_REPAIR
int ln_index_walk(struct ln_walk* walk, struct lunar_frame* meta) {
  LUNAR_ASSERT(walk->block && walk->entry);
#if LUNAR_WITH_TREE
  if (is_tree(meta)) return ln_tree_walk(walk, meta);
#endif
  return ln_hash_walk(walk, meta);
}

int ln_walk_problem(struct ln_walk* walk, enum lunar_problem problem, uint32_t sector) {
  LUNAR_ASSERT(problem > LUNAR_PROBLEM_NONE && problem < LUNAR_PROBLEM_END);
  walk->found->problem = (uint8_t)problem;
  walk->found->sector = sector;
  return LUNAR_E_CORRUPT;
}

int ln_walk_page(struct ln_walk* walk, uint32_t sector, enum ln_kind kind, struct lunar_frame** frame) {
  const int error = ln_page(walk->db, sector, kind, frame);
  return error == LUNAR_E_CORRUPT ? ln_walk_problem(walk, LUNAR_PROBLEM_PAGE, sector) : error;
}
#endif
