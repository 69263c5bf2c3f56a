/* Slotted blocks: a header with the first slots, further slot pages, then rows. Slots and rows never share a sector. */
#include "space.h"

static uint32_t sector_bytes(const struct lunar* db) { return db->config->sector_bytes; }
static uint32_t padded(uint32_t bytes) { return (bytes + 3) & ~3u; }

static uint32_t slots_first(const struct lunar* db) { return (sector_bytes(db) - LN_BLOCK_HEADER) / 2; }
static uint32_t slots_more(const struct lunar* db) { return (sector_bytes(db) - LN_SLOT_PAGE_HEADER) / 2; }
static uint32_t block_sectors(const struct lunar* db, const uint8_t* header) {
  return ln_class_sectors(db, header[LN_BLOCK_CLASS]);
}
static uint32_t block_bytes(const struct lunar* db, const uint8_t* header) {
  return block_sectors(db, header) * sector_bytes(db);
}

#if LUNAR_DEBUG
static int is_meta(const struct lunar_frame* frame) { return frame->pins > 0 && frame->kind == LN_META; }
#endif

static int is_ring_meta(const uint8_t* meta) {
  return (meta[LN_META_RING] & ~(LN_INDEXED | LN_SUMMED | LN_MENDED)) != LUNAR_RING_NONE;
}
static int is_ring(const struct lunar_frame* meta) { return is_ring_meta(meta->bytes); }

static int sound(struct lunar* db, uint32_t ref, const uint8_t* header) {
  if (header[LN_BLOCK_CLASS] >= db->geometry.class_count) return 0;
  const uint32_t sectors = block_sectors(db, header), slot_sectors = header[LN_BLOCK_SLOT_SECTORS];
  return (ref - db->geometry.data_at) % db->geometry.chunk_sectors % sectors == 0 && slot_sectors >= 1 &&
         slot_sectors < sectors &&
         ln_get16(header + LN_BLOCK_SLOTS) <= slots_first(db) + (slot_sectors - 1) * slots_more(db) &&
         4u * ln_get16(header + LN_BLOCK_TAIL) <= block_bytes(db, header);
}

int ln_block_header(struct lunar* db, uint32_t ref, struct lunar_frame** frame) {
  if (ref - db->geometry.data_at >= db->geometry.chunk_count * db->geometry.chunk_sectors) return LUNAR_E_CORRUPT;
  LN_TRY(ln_page(db, ref, LN_BLOCK, frame));
  if (sound(db, ref, (*frame)->bytes)) return 0;
  ln_put(*frame);
  return LUNAR_E_CORRUPT;
}

/* Pins the page that has the slot. Sets *bytes to the slot in it. */
static int slot_page(struct lunar* db, uint32_t ref, uint32_t slot, struct lunar_frame** frame, uint8_t** bytes) {
  const uint32_t first = slots_first(db), more = slots_more(db);
  uint32_t sector = ref, at = LN_BLOCK_HEADER + 2 * slot;
  if (slot >= first) {
    sector += 1 + (slot - first) / more;
    at = LN_SLOT_PAGE_HEADER + 2 * ((slot - first) % more);
  }
  LN_TRY(ln_page(db, sector, LN_BLOCK, frame));
  *bytes = (*frame)->bytes + at;
  return 0;
}

static int slot_write(struct lunar* db, uint32_t ref, uint32_t slot, uint32_t position) {
  struct lunar_frame* frame;
  uint8_t* bytes;
  LN_TRY(slot_page(db, ref, slot, &frame, &bytes));
  ln_put16(bytes, position);
  ln_dirty(db, frame);
  ln_put(frame);
  return 0;
}

int ln_slot_read(struct lunar* db, uint32_t ref, uint32_t slot, uint32_t* position, uint32_t* end) {
  LUNAR_ASSERT(position && end);
  struct lunar_frame* frame;
  uint8_t* bytes;
  LN_TRY(ln_block_header(db, ref, &frame));
  const uint32_t slots = ln_get16(frame->bytes + LN_BLOCK_SLOTS),
                 rows_at = frame->bytes[LN_BLOCK_SLOT_SECTORS] * sector_bytes(db);
  *end = block_bytes(db, frame->bytes);
  ln_put(frame);
  if (slot >= slots) return LUNAR_E_CORRUPT;
  LN_TRY(slot_page(db, ref, slot, &frame, &bytes));
  *position = ln_get16(bytes);
  ln_put(frame);
  const uint32_t at = 4u * (*position & ~(uint32_t)LN_SLOT_FREE);
  return at >= rows_at && at + LN_ROW_HEADER <= *end ? 0 : LUNAR_E_CORRUPT;
}

#if LUNAR_WITH_PREFETCH
/* Reads the sectors of a row in one request. The length of the row is not known yet. If the row of the next slot lies
 * behind it, assumes that a group header and a record header lie between the two rows. */
void ln_row_prefetch(struct lunar* db, struct ln_place place, uint32_t position) {
  struct lunar_frame* frame;
  uint8_t* bytes;
  const uint32_t size = sector_bytes(db), between = LN_GROUP_HEADER + LN_RECORD_HEADER;
  if (slot_page(db, place.ref, place.slot, &frame, &bytes)) return;
  const int is_last = bytes + 2 == frame->bytes + size;
  const uint32_t next = is_last ? 0 : 4u * (ln_get16(bytes + 2) & ~(uint32_t)LN_SLOT_FREE);
  ln_put(frame);
  if (next <= 4 * position + between) return;
  const uint32_t first = 4 * position / size, last = (next - between - 1) / size;
  ln_prefetch(db, place.ref + first, last - first + 1);
}
#endif

int ln_block_stamped(struct lunar* db, uint32_t ref) {
  struct lunar_frame* frame;
  LN_TRY(ln_block_header(db, ref, &frame));
  const int stamped = ln_get16(frame->bytes + LN_BLOCK_STAMP) == ((db->checkpoints + 1) & 0xffff);
  ln_put(frame);
  return stamped;
}

/* Reads the header of the block and the page of the slot into frames. */
int ln_slot_touch(struct lunar* db, uint32_t ref, uint32_t slot) {
  struct lunar_frame* frame;
  uint8_t* bytes;
  LN_TRY(ln_block_header(db, ref, &frame));
  ln_put(frame);
  LN_TRY(slot_page(db, ref, slot, &frame, &bytes));
  ln_put(frame);
  return 0;
}

static uint32_t slot_sectors_for(const struct lunar* db, uint32_t bytes, uint32_t row_bytes) {
  const uint32_t rows = bytes / (LN_ROW_HEADER + padded(row_bytes) + 12);
  return rows <= slots_first(db) ? 1 : 1 + (rows - slots_first(db) + slots_more(db) - 1) / slots_more(db);
}

/* Returns the size that a table's next block should have, in sectors. have: sectors of the table. Few different sizes
 * keep a large table in few pieces. On a device with few chunks, a quarter of the table wastes less space. */
static uint32_t sectors_wanted(const struct lunar* db, uint32_t have) {
  const uint32_t chunk = db->geometry.chunk_sectors;
  if (db->geometry.chunk_count < 64) return have / 4;
  if (have >= chunk / 2) return chunk;
  return have >= chunk / 8 ? chunk / 8 : 1;
}

/* Returns the length of rows, in bytes, for which a table's next block of `bytes` bytes gets enough slots: row_bytes,
 * or less if the table's rows are shorter and this row fits in beside the additional slots. Returns 0 if it does not
 * fit. */
uint32_t ln_block_rows(const struct lunar* db, const uint8_t* meta, uint32_t bytes, uint32_t row_bytes) {
  uint64_t have = (uint64_t)ln_get32(meta + LN_META_SECTORS) * sector_bytes(db) - 4 * ln_get64(meta + LN_META_DEAD),
           rows = ln_get64(meta + LN_META_ROWS);
  const uint32_t group =
      LN_GROUP_HEADER + LN_RECORD_HEADER + 4 * LN_ALLOCATED(db) + 8 + LN_ROW_HEADER + padded(row_bytes);
  for (; have > UINT32_MAX; have /= 2) rows /= 2; /* a 64-bit division would need a library function */
  if (rows && rows <= UINT32_MAX && !is_ring_meta(meta)) {
    const uint32_t mean = (uint32_t)have / (uint32_t)rows * 3 / 4;
    if (mean < row_bytes && slot_sectors_for(db, bytes, mean) * sector_bytes(db) + group <= bytes) return mean;
  }
  return slot_sectors_for(db, bytes, row_bytes) * sector_bytes(db) + group <= bytes ? row_bytes : 0;
}

/* Sets *class to the class of the next block, *least to the smallest class in which the row fits. Returns E_TOO_LARGE
 * if it fits in none. */
int ln_block_class(struct lunar* db, const uint8_t* meta, uint32_t row_bytes, uint8_t* class, uint8_t* least) {
  LUNAR_ASSERT(meta && class && least);
  int fits = 0;
  const uint32_t wanted = sectors_wanted(db, ln_get32(meta + LN_META_SECTORS));
  for (uint8_t c = 0; c < db->geometry.class_count; c++) {
    const uint32_t sectors = ln_class_sectors(db, c);
    if (ln_block_rows(db, meta, sectors * sector_bytes(db), row_bytes) == 0) continue;
    if (!fits) *least = c;
    fits = 1;
    *class = c;
    if (sectors >= wanted) break;
  }
  return fits ? 0 : LUNAR_E_TOO_LARGE;
}

static int fresh_pages(struct lunar* db, struct lunar_frame* meta, uint16_t table, uint32_t ref, uint8_t class,
                       uint32_t row_bytes) {
  struct lunar_frame* frame;
  const uint32_t slot_sectors = slot_sectors_for(db, ln_class_sectors(db, class) * sector_bytes(db), row_bytes);
  for (uint32_t i = 1; i < slot_sectors; i++) {
    LN_TRY(ln_page_fresh(db, ref + i, LN_BLOCK, &frame));
    ln_put(frame);
  }
  LN_TRY(ln_page_fresh(db, ref, LN_BLOCK, &frame));
  uint8_t* header = frame->bytes;
  header[LN_BLOCK_CLASS] = class;
  header[LN_BLOCK_SLOT_SECTORS] = (uint8_t)slot_sectors;
  ln_put16(header + LN_BLOCK_TABLE, table);
  ln_put16(header + LN_BLOCK_TAIL, slot_sectors * sector_bytes(db) / 4);
  ln_put32(header + LN_BLOCK_NEXT, LN_NONE);
  ln_put32(header + LN_BLOCK_REUSE, LN_NONE);
  ln_put32(header + LN_BLOCK_REUSE_BACK, LN_NONE);
  uint8_t* m = meta->bytes;
  ln_put32(header + LN_BLOCK_PREVIOUS, ln_get32(m + LN_META_LAST));
  ln_put32(m + LN_META_SERIAL, ln_get32(m + LN_META_SERIAL) + 1);
  ln_put32(header + LN_BLOCK_SERIAL, ln_get32(m + LN_META_SERIAL));
  ln_dirty(db, meta);
  ln_put(frame);
  return 0;
}

static int link_to(struct lunar* db, uint32_t ref, uint32_t field, uint32_t to) {
  LUNAR_ASSERT(field == LN_BLOCK_NEXT || field == LN_BLOCK_PREVIOUS || field == LN_BLOCK_REUSE ||
               field == LN_BLOCK_REUSE_BACK);
  struct lunar_frame* frame;
  LN_TRY(ln_block_header(db, ref, &frame));
  ln_put32(frame->bytes + field, to);
  ln_dirty(db, frame);
  ln_put(frame);
  return 0;
}

/* --- dead bytes --- */

/* A table has a list of blocks for each quarter of a block that may be dead. The first list has the blocks of which
 * less than a quarter is dead, if they have a free slot. Ring tables have no lists: their oldest block is freed next
 * anyway. */
#define NO_LIST ((uint32_t)LN_LISTS)

static uint32_t list_of(const struct lunar* db, const struct lunar_frame* meta, const uint8_t* header) {
  const uint32_t quarter = block_bytes(db, header) / 4, list = 4u * ln_get16(header + LN_BLOCK_DEAD) / quarter;
  if (is_ring(meta) || (list == 0 && ln_get16(header + LN_BLOCK_FREE) == 0)) return NO_LIST;
  return list < LN_LISTS ? list : LN_LISTS - 1;
}

static int leave_list(struct lunar* db, struct lunar_frame* meta, uint32_t ref, uint32_t list) {
  LUNAR_ASSERT(is_meta(meta) && list < LN_LISTS);
  struct lunar_frame* frame;
  LN_TRY(ln_block_header(db, ref, &frame));
  const uint32_t next = ln_get32(frame->bytes + LN_BLOCK_REUSE), back = ln_get32(frame->bytes + LN_BLOCK_REUSE_BACK);
  ln_put(frame);
  if (next != LN_NONE) LN_TRY(link_to(db, next, LN_BLOCK_REUSE_BACK, back));
  if (back != LN_NONE) return link_to(db, back, LN_BLOCK_REUSE, next);
  ln_put32(meta->bytes + LN_META_LISTS + 4 * list, next);
  ln_dirty(db, meta);
  return 0;
}

static int enter_list(struct lunar* db, struct lunar_frame* meta, uint32_t ref, uint32_t list) {
  LUNAR_ASSERT(is_meta(meta) && list < LN_LISTS);
  const uint32_t next = ln_get32(meta->bytes + LN_META_LISTS + 4 * list);
  LN_TRY(link_to(db, ref, LN_BLOCK_REUSE, next));
  LN_TRY(link_to(db, ref, LN_BLOCK_REUSE_BACK, LN_NONE));
  if (next != LN_NONE) LN_TRY(link_to(db, next, LN_BLOCK_REUSE_BACK, ref));
  ln_put32(meta->bytes + LN_META_LISTS + 4 * list, ref);
  ln_dirty(db, meta);
  return 0;
}

/* Adds units of 4 bytes to the dead bytes of a block and its table. units > 0: a row has left its slot; units < 0: a
 * row has come into a free slot. */
static void count_dead(struct lunar* db, struct lunar_frame* meta, uint8_t* header, int32_t units) {
  uint8_t* m = meta->bytes;
  if (is_ring(meta)) return;
  LUNAR_ASSERT(units >= 0 || ln_get16(header + LN_BLOCK_DEAD) >= (uint32_t)-units);
  ln_put16(header + LN_BLOCK_DEAD, ln_get16(header + LN_BLOCK_DEAD) + (uint32_t)units);
  ln_put64(m + LN_META_DEAD, ln_get64(m + LN_META_DEAD) + (uint64_t)(int64_t)units);
  db->dense = 0;
  ln_dirty(db, meta);
}

static int move_to_list(struct lunar* db, struct lunar_frame* meta, uint32_t ref, uint32_t from, uint32_t to) {
  if (from == to) return 0;
  if (from != NO_LIST) LN_TRY(leave_list(db, meta, ref, from));
  return to == NO_LIST ? 0 : enter_list(db, meta, ref, to);
}

/* Removes a block from its table and frees it. It must not be the last block of the table. */
static int release(struct lunar* db, struct lunar_frame* meta, uint32_t ref) {
  LUNAR_ASSERT(is_meta(meta));
  struct lunar_frame* frame;
  LN_TRY(ln_ensure_clean(db, 2));
  LN_TRY(ln_block_header(db, ref, &frame));
  const uint8_t* header = frame->bytes;
  const uint32_t next = ln_get32(header + LN_BLOCK_NEXT), previous = ln_get32(header + LN_BLOCK_PREVIOUS);
  const uint32_t list = list_of(db, meta, header), dead = ln_get16(header + LN_BLOCK_DEAD),
                 sectors = block_sectors(db, header);
  ln_put(frame);
  LN_TRY(move_to_list(db, meta, ref, list, NO_LIST));
  if (previous != LN_NONE)
    LN_TRY(link_to(db, previous, LN_BLOCK_NEXT, next));
  else
    ln_put32(meta->bytes + LN_META_FIRST, next);
  LN_TRY(link_to(db, next, LN_BLOCK_PREVIOUS, previous)); /* next exists: the last block is not released */
  uint8_t* m = meta->bytes;
  ln_put32(m + LN_META_SECTORS, ln_get32(m + LN_META_SECTORS) - sectors);
  ln_put64(m + LN_META_DEAD, ln_get64(m + LN_META_DEAD) - dead);
  ln_dirty(db, meta);
  db->releases++;
  LN_TRY(ln_ensure_clean(db, 1));
  return ln_free(db, ref);
}

static LN_APART int release_empty(struct lunar* db, struct lunar_frame* meta, uint32_t ref) {
  struct lunar_frame* frame;
  LN_TRY(ln_block_header(db, ref, &frame));
  const uint32_t live = ln_get16(frame->bytes + LN_BLOCK_LIVE);
  ln_put(frame);
  return live ? 0 : release(db, meta, ref);
}

static int sector_behind(struct lunar* db, uint32_t ref, uint32_t* sector) {
  struct lunar_frame* frame;
  LN_TRY(ln_block_header(db, ref, &frame));
  *sector = ref + block_sectors(db, frame->bytes);
  ln_put(frame);
  return 0;
}

/* Adds a block at the end of the table. Then frees the block before it if that is empty, because only the last block of
 * a table may be empty. */
int ln_block_add(struct lunar* db, struct lunar_frame* meta, uint16_t table, uint8_t class, uint32_t row_bytes,
                 uint32_t* ref) {
  LUNAR_ASSERT(is_meta(meta));
  uint8_t* m = meta->bytes;
  const uint32_t last = ln_get32(m + LN_META_LAST);
  uint32_t behind = LN_NONE;
  if (last != LN_NONE) LN_TRY(sector_behind(db, last, &behind));
  LN_TRY(ln_alloc(db, class, behind, ref)); /* on E_FULL nothing has changed, so nothing is undone */
  db->changing = 1;
  LN_TRY(fresh_pages(db, meta, table, *ref, class, row_bytes));
  if (last != LN_NONE)
    LN_TRY(link_to(db, last, LN_BLOCK_NEXT, *ref));
  else
    ln_put32(m + LN_META_FIRST, *ref);
  ln_put32(m + LN_META_LAST, *ref);
  ln_put32(m + LN_META_SECTORS, ln_get32(m + LN_META_SECTORS) + ln_class_sectors(db, class));
  ln_dirty(db, meta);
  return last == LN_NONE ? 0 : release_empty(db, meta, last);
}

/* Sets *slot to the next new slot, *tail to the end of the rows and *end to the end of the block, both in bytes.
 * Returns E_FULL if the block has no further slot, E_CORRUPT if it belongs to another table. */
int ln_block_room(struct lunar* db, uint32_t ref, uint16_t table, uint32_t* slot, uint32_t* tail, uint32_t* end) {
  LUNAR_ASSERT(slot && tail && end);
  struct lunar_frame* frame;
  LN_TRY(ln_block_header(db, ref, &frame));
  const uint8_t* header = frame->bytes;
  const uint32_t slots = slots_first(db) + (header[LN_BLOCK_SLOT_SECTORS] - 1u) * slots_more(db);
  *slot = ln_get16(header + LN_BLOCK_SLOTS);
  *tail = 4u * ln_get16(header + LN_BLOCK_TAIL);
  *end = block_bytes(db, header);
  const int owned = ln_get16(header + LN_BLOCK_TABLE) == table;
  ln_put(frame);
  if (!owned) return LUNAR_E_CORRUPT;
  return *slot < slots ? 0 : LUNAR_E_FULL;
}

/* Returns the space of a row with its header, in units of 4 bytes. */
static uint32_t units_of(uint32_t row_bytes) { return (LN_ROW_HEADER + padded(row_bytes)) / 4; }

/* Sets the slot of a row, and counts the row in its block and table. The caller updates the index. */
int ln_row_add(struct lunar* db, struct lunar_frame* meta, const struct ln_row* row, uint32_t row_bytes) {
  LUNAR_ASSERT(is_meta(meta));
  struct lunar_frame* frame;
  const uint32_t ref = row->place.ref, slot = row->place.slot, units = units_of(row_bytes);
  LN_TRY(ln_block_header(db, ref, &frame));
  uint8_t* header = frame->bytes;
  const uint32_t slots = ln_get16(header + LN_BLOCK_SLOTS), end = row->position + units,
                 list = list_of(db, meta, header);
  uint32_t list_now = list;
  int error = 0;
  if (slot > slots || slot >= slots_first(db) + (header[LN_BLOCK_SLOT_SECTORS] - 1u) * slots_more(db) ||
      4 * end > block_bytes(db, header) || (slot < slots && !is_ring(meta) && ln_get16(header + LN_BLOCK_DEAD) < units))
    error = LUNAR_E_CORRUPT; /* a record of the log may name any place */
  if (!error) {
    LUNAR_ASSERT(row->position % LN_SLOT_FREE == row->position);
    ln_put16(header + LN_BLOCK_LIVE, ln_get16(header + LN_BLOCK_LIVE) + 1u);
    if (slot == slots) {
      ln_put16(header + LN_BLOCK_SLOTS, slots + 1);
    } else {
      ln_put16(header + LN_BLOCK_FREE, ln_get16(header + LN_BLOCK_FREE) - 1u);
      if (!is_ring(meta) && ln_get16(header + LN_BLOCK_FROM) == slot) ln_put16(header + LN_BLOCK_FROM, slot + 1);
      count_dead(db, meta, header, -(int32_t)units);
      list_now = list_of(db, meta, header);
    }
    if (end > ln_get16(header + LN_BLOCK_TAIL)) ln_put16(header + LN_BLOCK_TAIL, end);
    ln_put16(header + LN_BLOCK_STAMP, db->checkpoints + 1);
    ln_dirty(db, frame);
  }
  ln_put(frame);
  LN_TRY(error);
  LN_TRY(move_to_list(db, meta, ref, list, list_now));
  LN_TRY(slot_write(db, ref, slot, row->position));
  uint8_t* m = meta->bytes;
  ln_put64(m + LN_META_ROWS, ln_get64(m + LN_META_ROWS) + 1);
  ln_dirty(db, meta);
  return 0;
}

enum { CANDIDATES = 16 };

/* Sets *ref to the block with the most dead bytes among the first CANDIDATES blocks of the list, because a large block
 * frees a whole chunk. Excludes the last block of the table, which receives new rows. */
static int sparsest_of(struct lunar* db, const uint8_t* meta, uint32_t list, uint32_t* ref) {
  uint32_t most = 0, next = ln_get32(meta + LN_META_LISTS + 4 * list);
  for (uint32_t i = 0; next != LN_NONE && i < CANDIDATES; i++) {
    struct lunar_frame* frame;
    const uint32_t here = next;
    LN_TRY(ln_block_header(db, here, &frame));
    const uint32_t dead = ln_get16(frame->bytes + LN_BLOCK_DEAD);
    next = ln_get32(frame->bytes + LN_BLOCK_REUSE);
    ln_put(frame);
    if (dead <= most || here == ln_get32(meta + LN_META_LAST)) continue;
    *ref = here;
    most = dead;
  }
  return 0;
}

/* Sets *ref to a block with many dead bytes: at least a quarter of the block, in an emergency also less. LN_NONE if
 * there is none. */
int ln_block_sparsest(struct lunar* db, const struct lunar_frame* meta, int emergency, uint32_t* ref) {
  LUNAR_ASSERT(is_meta(meta) && ref);
  *ref = LN_NONE;
  for (uint32_t list = LN_LISTS; list-- > (emergency ? 0u : 1u) && *ref == LN_NONE;)
    LN_TRY(sparsest_of(db, meta->bytes, list, ref));
  return 0;
}

/* Sets *place to the first row of the block from slot `from` on. Returns E_NOT_FOUND if there is none. */
int ln_block_row(struct lunar* db, uint32_t ref, uint16_t from, struct ln_place* place) {
  LUNAR_ASSERT(place);
  struct lunar_frame* frame;
  LN_TRY(ln_block_header(db, ref, &frame));
  const uint32_t slots = ln_get16(frame->bytes + LN_BLOCK_SLOTS);
  ln_put(frame);
  for (uint32_t slot = from; slot < slots; slot++) {
    uint32_t position, end;
    LN_TRY(ln_slot_read(db, ref, slot, &position, &end));
    *place = (struct ln_place){ref, (uint16_t)slot};
    if (!(position & LN_SLOT_FREE)) return 0;
  }
  return LUNAR_E_NOT_FOUND;
}

/* Searches for a free slot whose room is large enough for the row, in the first block of the list with the most dead
 * bytes. Skips a list whose first block is being emptied (db->emptied). Returns E_NOT_FOUND if there is none among the
 * first free slots of the block. */
int ln_row_reuse(struct lunar* db, struct lunar_frame* meta, uint32_t row_bytes, struct ln_row* row) {
  LUNAR_ASSERT(is_meta(meta));
  uint32_t ref = LN_NONE;
  struct lunar_frame* frame;
  for (uint32_t list = LN_LISTS; list-- > 0 && (ref == LN_NONE || ref == db->emptied);)
    ref = ln_get32(meta->bytes + LN_META_LISTS + 4 * list);
  if (ref == LN_NONE || ref == db->emptied) return LUNAR_E_NOT_FOUND;
  LN_TRY(ln_block_header(db, ref, &frame));
  const uint32_t slots = ln_get16(frame->bytes + LN_BLOCK_SLOTS), free_slots = ln_get16(frame->bytes + LN_BLOCK_FREE),
                 from = ln_get16(frame->bytes + LN_BLOCK_FROM), end = block_bytes(db, frame->bytes);
  ln_put(frame);
  for (uint32_t slot = from, seen = 0; slot < slots && seen < free_slots && seen < 8; slot++) {
    LN_FIELDS(room, LN_ROW_HEADER);
    uint8_t* bytes;
    LN_TRY(slot_page(db, ref, slot, &frame, &bytes));
    uint32_t position = ln_get16(bytes);
    ln_put(frame);
    if (!(position & LN_SLOT_FREE)) continue;
    position &= ~(uint32_t)LN_SLOT_FREE;
    if (4 * position + LN_ROW_HEADER > end) return LUNAR_E_CORRUPT;
    const int error = ln_read_bytes(db, ref, 4 * position, room, sizeof room);
    if (error) LN_TRY(ln_is_bad_sector(db, error));
    if (error || 4u * ln_get16(room + 2) < row_bytes) { /* a room in an unreadable sector is not reused */
      seen++;
      continue;
    }
    *row = (struct ln_row){{ref, (uint16_t)slot}, (uint16_t)position, ln_get16(room + 2)};
    return 0;
  }
  return LUNAR_E_NOT_FOUND;
}

int ln_row_drop(struct lunar* db, struct lunar_frame* meta, struct ln_place place) {
  LUNAR_ASSERT(is_meta(meta));
  struct lunar_frame* frame;
  uint32_t position, end;
  LN_FIELDS(row, LN_ROW_HEADER);
  LN_TRY(ln_slot_read(db, place.ref, place.slot, &position, &end));
  if (position & LN_SLOT_FREE) return LUNAR_E_CORRUPT;
  LN_TRY(ln_read_bytes(db, place.ref, 4 * position, row, sizeof row));
  LN_TRY(slot_write(db, place.ref, place.slot, position | LN_SLOT_FREE));
  LN_TRY(ln_block_header(db, place.ref, &frame));
  uint8_t *header = frame->bytes, *m = meta->bytes;
  const uint32_t live = ln_get16(header + LN_BLOCK_LIVE) - 1u, free_slots = ln_get16(header + LN_BLOCK_FREE) + 1u,
                 list = list_of(db, meta, header);
  ln_put16(header + LN_BLOCK_LIVE, live);
  ln_put16(header + LN_BLOCK_FREE, free_slots);
  if (!is_ring(meta) && (free_slots == 1 || place.slot < ln_get16(header + LN_BLOCK_FROM)))
    ln_put16(header + LN_BLOCK_FROM, place.slot);
  count_dead(db, meta, header, (int32_t)units_of(ln_get16(row)));
  const uint32_t list_now = list_of(db, meta, header);
  ln_dirty(db, frame);
  ln_put(frame);
  LN_TRY(move_to_list(db, meta, place.ref, list, list_now));
  ln_put64(m + LN_META_ROWS, ln_get64(m + LN_META_ROWS) - 1);
  ln_dirty(db, meta);
  return live == 0 && place.ref != ln_get32(m + LN_META_LAST) ? release(db, meta, place.ref) : 0;
}

#if LUNAR_WITH_REPAIR
int ln_block_is_whole(struct lunar* db, uint32_t ref, uint16_t table, uint32_t serial) {
  struct lunar_frame* frame;
  LN_TRY(ln_block_header(db, ref, &frame));
  const uint32_t slot_sectors = frame->bytes[LN_BLOCK_SLOT_SECTORS];
  const int fits =
      ln_get16(frame->bytes + LN_BLOCK_TABLE) == table && ln_get32(frame->bytes + LN_BLOCK_SERIAL) > serial;
  ln_put(frame);
  for (uint32_t i = 1; fits && i < slot_sectors; i++) {
    LN_TRY(ln_page(db, ref + i, LN_BLOCK, &frame));
    ln_put(frame);
  }
  return fits;
}

/* Returns 1 if the sector can be read, or can be read after it was overwritten with zeros; 0 if not; or an error. */
static int keeps_writes(struct lunar* db, uint32_t sector) {
  const int readable = ln_can_be_read(db, sector, 1);
  if (readable) return readable;
  LN_TRY(ln_stage_write(db, 0));
  memset(db->stage, 0, sector_bytes(db));
  LN_TRY(ln_sectors_write(db, sector, db->stage, 1));
  LN_TRY(ln_device_sync(db));
  return ln_can_be_read(db, sector, 1);
}

uint32_t ln_block_slots_max(const struct lunar* db, uint32_t slot_sectors) {
  LUNAR_ASSERT(slot_sectors > 0);
  return slots_first(db) + (slot_sectors - 1) * slots_more(db);
}

static void renew_header(const struct lunar* db, uint8_t* header, uint32_t sectors, uint32_t slot_sectors,
                         uint32_t serial) {
  header[LN_BLOCK_CLASS] = ln_class_of(db, sectors);
  header[LN_BLOCK_SLOT_SECTORS] = (uint8_t)slot_sectors;
  ln_put16(header + LN_BLOCK_TABLE, LN_NO_TABLE);
  ln_put16(header + LN_BLOCK_TAIL, slot_sectors * sector_bytes(db) / 4);
  ln_put32(header + LN_BLOCK_NEXT, LN_NONE);
  ln_put32(header + LN_BLOCK_PREVIOUS, LN_NONE);
  ln_put32(header + LN_BLOCK_REUSE, LN_NONE);
  ln_put32(header + LN_BLOCK_REUSE_BACK, LN_NONE);
  ln_put32(header + LN_BLOCK_SERIAL, serial);
}

int ln_block_keeps_slots(struct lunar* db, uint32_t ref, uint32_t slot_sectors) {
  for (uint32_t i = 0; i < slot_sectors; i++) {
    const int kept = keeps_writes(db, ref + i);
    if (kept <= 0) return kept;
  }
  return 1;
}

int ln_block_renew(struct lunar* db, uint32_t ref, uint32_t sectors, uint32_t slot_sectors, uint32_t serial) {
  LUNAR_ASSERT(slot_sectors > 0 && slot_sectors < sectors);
  struct lunar_frame* frame;
  for (uint32_t i = 0; i < slot_sectors; i++) {
    LN_TRY(ln_make_room(db, 1));
    LN_TRY(ln_forget(db, ref + i, 1));
    LN_TRY(ln_page_fresh(db, ref + i, LN_BLOCK, &frame));
    if (i == 0) renew_header(db, frame->bytes, sectors, slot_sectors, serial);
    ln_put(frame);
    if (i == 0) LN_TRY(ln_checkpoint(db)); /* the header with LN_NO_TABLE must be durable before slots are lost */
  }
  return 0;
}

int ln_slot_renew(struct lunar* db, uint32_t ref, uint32_t slot, uint32_t position) {
  return slot_write(db, ref, slot, position);
}

int ln_block_renewed(struct lunar* db, uint32_t ref, uint16_t table, uint32_t slots, uint32_t tail) {
  struct lunar_frame* frame;
  LN_TRY(ln_checkpoint(db));
  LN_TRY(ln_block_header(db, ref, &frame));
  LUNAR_ASSERT(tail % 4 == 0 && tail <= block_bytes(db, frame->bytes));
  ln_put16(frame->bytes + LN_BLOCK_TABLE, table);
  ln_put16(frame->bytes + LN_BLOCK_SLOTS, slots);
  ln_put16(frame->bytes + LN_BLOCK_TAIL, tail / 4);
  ln_dirty(db, frame);
  ln_put(frame);
  return 0;
}

struct mended {
  uint32_t slots, live, free_slots, dead; /* slots: number of kept slots; dead: units of 4 bytes */
  uint32_t tail, last;                    /* end and beginning of the last room, in bytes */
};

/* Checks a slot of a damaged block. Its room ends at the latest where that of the next slot begins. Returns 1 if the
 * slot is kept, and counts it in *m; 0 if it is dropped; or an error. *lost counts the rows that `keeps` refuses. */
static int mend_slot(struct lunar* db, struct ln_place place, uint32_t slots, uint32_t tail, ln_keeps keeps,
                     void* context, struct mended* m, uint32_t* lost) {
  LN_FIELDS(head, LN_ROW_HEADER);
  uint32_t position, end, next = tail / 4, behind;
  int error = ln_slot_read(db, place.ref, place.slot, &position, &end);
  if (!error && place.slot + 1u < slots) error = ln_slot_read(db, place.ref, place.slot + 1u, &next, &behind);
  if (error) return error == LUNAR_E_CORRUPT ? 0 : error;
  next &= ~(uint32_t)LN_SLOT_FREE;
  const int is_free = (position & LN_SLOT_FREE) != 0;
  position &= ~(uint32_t)LN_SLOT_FREE;
  const int kept = is_free || next <= position ? is_free : keeps(context, place, position, 4 * next);
  LN_TRY(kept);
  if (!kept) {
    ++*lost;
    return 0;
  }
  error = ln_read_bytes(db, place.ref, 4 * position, head, sizeof head);
  if (error) {
    LN_TRY(ln_is_bad_sector(db, error));
    return 0;
  }
  const uint32_t room = ln_get16(head + 2);
  if (4 * position < m->tail || position + 1 + room > next) return 0; /* a free slot's room is damaged */
  m->slots++;
  m->last = 4 * position;
  m->tail = 4 * (position + 1 + room);
  if (is_free) {
    m->free_slots++;
    m->dead += room + 1;
  } else {
    m->live++;
    m->dead += room + 1 - units_of(ln_get16(head));
  }
  return 1;
}

/* Makes the last room end behind the last unreadable sector of the block, so that no new row uses unreadable
 * sectors. */
static int mend_tail(struct lunar* db, uint32_t ref, uint32_t sectors, struct mended* m) {
  LN_FIELDS(head, LN_ROW_HEADER);
  const uint32_t size = sector_bytes(db);
  uint32_t tail = m->tail;
  for (uint32_t at = tail / size; at < sectors; at++) {
    const int readable = ln_can_be_read(db, ref + at, 1);
    if (readable < 0) return readable;
    if (!readable) tail = (at + 1) * size;
  }
  const uint32_t rest = (tail - m->tail) / 4;
  if (!rest) return 0;
  LN_TRY(ln_read_bytes(db, ref, m->last, head, sizeof head));
  ln_put16(head + 2, ln_get16(head + 2) + rest);
  m->tail = tail;
  m->dead += rest;
  return ln_write_bytes(db, ref, m->last, head, sizeof head, 0);
}

int ln_block_mend(struct lunar* db, struct lunar_frame* meta, uint32_t ref, uint32_t previous, ln_keeps keeps,
                  void* context, uint32_t* lost) {
  LUNAR_ASSERT(is_meta(meta) && keeps && lost);
  struct lunar_frame* frame;
  struct mended mended;
  LN_TRY(ln_block_header(db, ref, &frame));
  const uint32_t slots = ln_get16(frame->bytes + LN_BLOCK_SLOTS), tail = 4u * ln_get16(frame->bytes + LN_BLOCK_TAIL),
                 rows_at = frame->bytes[LN_BLOCK_SLOT_SECTORS] * sector_bytes(db);
  ln_put(frame);
  int moves = 0; /* 0: only checks the slots. 1, after a checkpoint: moves them, too */
  for (;;) {
    uint32_t lost_here = 0;
    mended = (struct mended){.tail = rows_at};
    for (uint32_t slot = 0; slot < slots; slot++) {
      uint32_t position, end;
      const int kept =
          mend_slot(db, (struct ln_place){ref, (uint16_t)slot}, slots, tail, keeps, context, &mended, &lost_here);
      LN_TRY(kept);
      if (!kept || !moves || mended.slots == slot + 1) continue;
      LN_TRY(ln_slot_read(db, ref, slot, &position, &end));
      LN_TRY(slot_write(db, ref, mended.slots - 1, position));
    }
    if (moves || mended.slots == slots) {
      *lost += lost_here;
      break;
    }
    LN_TRY(ln_checkpoint(db));
    moves = 1;
  }
  if (mended.live == 0) return 0;
  LN_TRY(ln_make_room(db, 1));
  LN_TRY(ln_block_header(db, ref, &frame));
  const uint32_t sectors = block_sectors(db, frame->bytes);
  ln_put(frame);
  LN_TRY(mend_tail(db, ref, sectors, &mended));
  LN_TRY(ln_block_header(db, ref, &frame));
  uint8_t *header = frame->bytes, *m = meta->bytes;
  ln_put16(header + LN_BLOCK_SLOTS, mended.slots);
  ln_put16(header + LN_BLOCK_TAIL, mended.tail / 4);
  ln_put16(header + LN_BLOCK_LIVE, mended.live);
  ln_put16(header + LN_BLOCK_FREE, mended.free_slots);
  ln_put16(header + LN_BLOCK_FROM, 0);
  ln_put16(header + LN_BLOCK_DEAD, is_ring(meta) ? 0 : mended.dead);
  ln_put32(header + LN_BLOCK_PREVIOUS, previous);
  ln_put32(header + LN_BLOCK_REUSE, LN_NONE);
  ln_put32(header + LN_BLOCK_REUSE_BACK, LN_NONE);
  ln_dirty(db, frame);
  const uint32_t list = list_of(db, meta, header);
  ln_put(frame);
  ln_put64(m + LN_META_ROWS, ln_get64(m + LN_META_ROWS) + mended.live);
  ln_put32(m + LN_META_SECTORS, ln_get32(m + LN_META_SECTORS) + sectors);
  if (!is_ring(meta)) ln_put64(m + LN_META_DEAD, ln_get64(m + LN_META_DEAD) + mended.dead);
  ln_dirty(db, meta);
  LN_TRY(move_to_list(db, meta, ref, NO_LIST, list));
  return 1;
}
#endif
