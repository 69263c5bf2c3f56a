#include "sql_peek.h"

#include "sql/sql.h"

int sql_peek_several_passes(const struct lunar_statement* statement) { return statement->batch.bounded; }
const char* sql_peek_index(const struct lunar_statement* statement) { return statement->index; }
int sql_peek_ordered_by_index(const struct lunar_statement* statement) {
  return statement->ordered && statement->index[0];
}

const char* sql_peek_path(const struct lunar_statement* s) {
  const int secondary = s->index[0] != 0, tree = s->cursor.index_kind == LUNAR_INDEX_TREE;
  if (s->kind > LN_S_DELETE) return NULL;
  switch (s->access) {
    case LN_A_COUNT:
      return "path count";
    case LN_A_GET:
      return "path key";
    case LN_A_SCAN:
      return secondary ? "path index in order" : "path scan";
    case LN_A_RANGE:
      return secondary      ? s->path.like ? "path index like" : "path index range"
             : s->path.like ? "path key like"
                            : "path key range";
  }
  if (!secondary) return "path key in";
  if (s->path.values->op == LN_X_LINK) return tree ? "path index in, tree" : "path index in, hash";
  return tree ? "path index value, tree" : "path index value, hash";
}
