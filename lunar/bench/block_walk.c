#include "block_walk.h"

#include "tables/tables.h"

static int next_of(struct lunar* db, uint32_t* ref) {
  struct lunar_frame* frame;
  LN_TRY(ln_page(db, ln_ref_sector(db, *ref), LN_BLOCK, &frame));
  *ref = ln_get32(frame->bytes + LN_BLOCK_NEXT);
  ln_put(frame);
  return 0;
}

int lunar_block_walk(struct lunar_table* table, void (*visit)(void* context, uint32_t sector, uint32_t sectors),
                     void* context) {
  struct lunar* db = table->db;
  struct lunar_frame* meta;
  LN_TRY(ln_meta(db, table->number, &meta));
  uint32_t ref = ln_get32(meta->bytes + LN_META_FIRST);
  ln_put(meta);
  while (ref != LN_NONE) {
    visit(context, ln_ref_sector(db, ref), ln_class_sectors(db, ln_ref_class(ref)));
    LN_TRY(next_of(db, &ref));
  }
  return 0;
}
