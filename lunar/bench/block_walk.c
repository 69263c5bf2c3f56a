#include "block_walk.h"

#include "tables/tables.h"

static int next_of(struct lunar* db, uint32_t* ref, uint32_t* sectors) {
  struct lunar_frame* frame;
  LN_TRY(ln_page(db, *ref, LN_BLOCK, &frame));
  *sectors = ln_class_sectors(db, frame->bytes[LN_BLOCK_CLASS]);
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
    const uint32_t here = ref;
    uint32_t sectors;
    LN_TRY(next_of(db, &ref, &sectors));
    visit(context, here, sectors);
  }
  return 0;
}
