/* Rebuilds the header or the slots of a block if they are lost.
 *
 * Slot numbers rise with the places of the rows, and the header of each room says how long the room is. So rebuilding
 * counts the rooms from the block's first row on. If a row was written with its group, the record in front of the row
 * names its slot. A room has a live row if the primary index has an entry with this slot for the row's key. Rooms
 * behind the last live row do not count.
 */
#include "recovery.h"

#if LUNAR_WITH_REPAIR

struct rooms {
  const struct lunar_table* table;
  struct lunar_frame* meta;
  uint32_t ref, end; /* the damaged block, and its size in bytes */
  uint32_t to;       /* the block that gets the slots: ref or its copy */
  uint32_t at;       /* where the next room may begin, in bytes from the beginning of the block */
  uint32_t slot;     /* slot of the next room, as far as is known */
};

static int read_or_lose(struct lunar* db, uint32_t ref, uint32_t at, uint8_t* bytes, uint32_t count) {
  const int error = ln_read_bytes(db, ref, at, bytes, count);
  return error ? ln_is_loss(db, error) : 0;
}

/* Returns 1 if a record begins at `at` that describes a row in this block with the slot r->slot or a later one, and
 * whose room follows; 0 if not; or an error. *slot: slot of the row. *room: where the room begins. */
static int record_at(const struct rooms* r, uint32_t at, uint32_t* slot, uint32_t* room) {
  struct lunar* db = r->table->db;
  LN_FIELDS(head, LN_RECORD_HEADER);
  if (at + LN_RECORD_HEADER > r->end) return 0;
  const int lost = read_or_lose(db, r->ref, at, head, sizeof head);
  if (lost) return lost < 0 ? lost : 0;
  const uint32_t type = head[LN_RECORD_TYPE], ahead = type == LN_MOVE ? 8 : 0;
  *slot = ln_get16(head + LN_RECORD_SLOT);
  *room = 4u * ln_get16(head + LN_RECORD_POSITION);
  return (type == LN_INSERT || type == LN_MOVE) && ln_get16(head + LN_RECORD_TABLE) == r->table->number &&
         ln_get32(head + LN_RECORD_REF) == r->ref && *slot >= r->slot &&
         *room == at + LN_RECORD_HEADER + 4u * head[LN_RECORD_ALLOCATED] + ahead;
}

/* As record_at, for the first record of a group that begins at `at`. */
static int group_at(const struct rooms* r, uint32_t at, uint32_t* slot, uint32_t* room) {
  LN_FIELDS(head, 4);
  if (at + LN_GROUP_HEADER > r->end) return 0;
  const int lost = read_or_lose(r->table->db, r->ref, at, head, sizeof head);
  if (lost) return lost < 0 ? lost : 0;
  return ln_get16(head) == LN_GROUP && head[LN_GROUP_KIND] == LN_RECORDS
             ? record_at(r, at + LN_GROUP_HEADER, slot, room)
             : 0;
}

/* Returns 1 if a room begins at `at`, 0 if not, or an error. *bytes: length of its row; 0 if there is no row that can
 * be read. *room: length of the room without its header. */
static int room_at(const struct rooms* r, uint32_t at, uint32_t* bytes, uint32_t* room) {
  struct lunar* db = r->table->db;
  LN_FIELDS(head, LN_ROW_HEADER);
  if (at + LN_ROW_HEADER > r->end) return 0;
  const int lost = read_or_lose(db, r->ref, at, head, sizeof head);
  if (lost) return lost < 0 ? lost : 0;
  const uint32_t sum_bytes = ln_row_sum_bytes(r->table);
  *bytes = ln_get16(head);
  *room = 4u * ln_get16(head + 2);
  if (*room == 0 || *bytes > *room || at + LN_ROW_HEADER + *room > r->end) return 0;
  if (*bytes == 0) return 1;
  if (*bytes < sum_bytes) return 0;
  const int sound = ln_row_is_sound(db, r->table, r->ref, at + LN_ROW_HEADER, *bytes - sum_bytes);
  if (sound < 0) {
    LN_TRY(ln_is_loss(db, sound));
    *bytes = 0;
  }
  return sound != 0;
}

/* Finds the next room: at r->at, behind a record at r->at, or in the next group that begins a sector. Sets r->at to its
 * beginning and r->slot to its slot. Returns 1, 0 if there is no further room, or an error. */
static int next_room(struct rooms* r, uint32_t* bytes, uint32_t* room) {
  const uint32_t size = r->table->db->config->sector_bytes;
  uint32_t at = r->at, slot = r->slot;
  int found = record_at(r, r->at, &slot, &at);
  if (found == 0 || slot != r->slot) at = r->at;
  slot = r->slot;
  if (found >= 0) found = room_at(r, at, bytes, room);
  for (uint32_t sector = (r->at + size - 1) / size; !found && sector * size < r->end; sector++) {
    slot = r->slot;
    found = group_at(r, sector * size, &slot, &at);
    if (found > 0) found = room_at(r, at, bytes, room);
  }
  r->at = at;
  r->slot = slot;
  return found;
}

/* Returns 1 if the primary index has the row and all of the row can be read, 0 if not, or an error. */
static int is_live(const struct rooms* r, uint32_t bytes) {
  struct lunar* db = r->table->db;
  const uint32_t size = db->config->sector_bytes, first = r->at / size, end = r->at + LN_ROW_HEADER + bytes;
  struct ln_key key;
  const int readable = ln_can_be_read(db, r->ref + first, (end - 1) / size - first + 1);
  if (readable <= 0) return readable;
  int error = ln_row_key(db, r->table, r->ref, r->at + LN_ROW_HEADER, &key);
  if (!error) error = ln_index_has(db, r->meta, &key, (struct ln_place){r->ref, (uint16_t)r->slot});
  if (error == LUNAR_E_NOT_FOUND) return 0;
  if (!error) return 1;
  LN_TRY(ln_is_loss(db, error));
  return 0;
}

/* Writes a slot for each room that is found. *slots and *tail: number of slots and end of the rooms in bytes, up to the
 * last room with a live row. */
static int give_slots(struct rooms* r, uint32_t slots_max, uint32_t* slots, uint32_t* tail) {
  struct lunar* db = r->table->db;
  *slots = 0;
  *tail = r->at;
  for (uint32_t given = 0; given < slots_max; given++) {
    uint32_t bytes, room;
    const int found = next_room(r, &bytes, &room);
    if (found <= 0) return found;
    const int live = bytes ? is_live(r, bytes) : 0;
    LN_TRY(live);
    LN_TRY(ln_make_room(db, 1));
    LN_TRY(ln_slot_renew(db, r->to, given, r->at / 4 | (live ? 0u : (uint32_t)LN_SLOT_FREE)));
    r->at += LN_ROW_HEADER + room;
    r->slot++;
    if (!live) continue;
    *slots = given + 1;
    *tail = r->at;
  }
  return 0;
}

/* Sets *count to the number of sectors with slots, including the header's. If the header is lost, counts the sectors
 * behind it that are pages of a block. */
static int slot_sectors(struct lunar* db, uint32_t ref, uint32_t sectors, uint32_t* count) {
  struct lunar_frame* frame;
  int error = ln_block_header(db, ref, &frame);
  if (!error) {
    *count = frame->bytes[LN_BLOCK_SLOT_SECTORS];
    ln_put(frame);
    return 0;
  }
  LN_TRY(ln_is_loss(db, error));
  for (*count = 1; *count + 1 < sectors; ++*count) {
    error = ln_page(db, ref + *count, LN_BLOCK, &frame);
    if (!error) {
      ln_put(frame);
      continue;
    }
    LN_TRY(ln_is_loss(db, error));
    break;
  }
  return 0;
}

/* Allocates a block of the same size, *to, and copies the readable sectors of rows to the same places in it. pages:
 * number of sectors with slots, which are not copied. Returns 1, 0 if there is no room, or an error. */
static int copy_rows(struct lunar* db, uint32_t ref, uint32_t sectors, uint32_t pages, uint32_t* to) {
  const uint32_t size = db->config->sector_bytes;
  const int error = ln_alloc(db, ln_class_of(db, sectors), LN_NONE, to);
  db->allocated_count = 0;
  if (error) return error == LUNAR_E_FULL ? 0 : error;
  for (uint32_t i = pages; i < sectors; i++) {
    const int readable = ln_can_be_read(db, ref + i, 1);
    LN_TRY(readable);
    LN_TRY(ln_make_room(db, 1));
    if (readable) LN_TRY(ln_row_copy(db, (struct ln_content){ref + i, 0}, size, *to + i, 0, 0));
  }
  return 1;
}

int ln_rebuild_block(const struct lunar_table* table, struct lunar_frame* meta, uint32_t* ref, uint32_t serial) {
  struct lunar* db = table->db;
  uint32_t pages, slots, tail, to = *ref;
  const int used = ln_used_sectors(db, *ref);
  if (used <= 1) return used < 0 ? used : 0;
  const int is_of_another = ln_is_of_another(db, *ref, table->number);
  if (is_of_another) return is_of_another < 0 ? is_of_another : 0;
  const uint32_t sectors = (uint32_t)used, size = db->config->sector_bytes;
  LN_TRY(slot_sectors(db, *ref, sectors, &pages));
  const int keeps = ln_block_keeps_slots(db, *ref, pages);
  LN_TRY(keeps);
  if (!keeps) {
    const int copied = copy_rows(db, *ref, sectors, pages, &to);
    if (copied <= 0) return copied;
  }
  LN_TRY(ln_block_renew(db, to, sectors, pages, serial));
  struct rooms rooms = {
      .table = table, .meta = meta, .ref = *ref, .to = to, .end = sectors * size, .at = pages * size, .slot = 0};
  LN_TRY(give_slots(&rooms, ln_block_slots_max(db, pages), &slots, &tail));
  LUNAR_ASSERT(tail <= rooms.end);
  LN_TRY(ln_block_renewed(db, to, table->number, slots, tail));
  *ref = to;
  return 1;
}

#endif
