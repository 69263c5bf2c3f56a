/* Indexes as B+trees (R. Bayer, E. McCreight 1972; D. Comer 1979) of byte strings. A page is one sector. It stores the
 * prefix that its keys have in common only once (R. Bayer, K. Unterauer: Prefix B-trees, 1977). The prefix becomes
 * longer when the page has no room for a key, and shorter when a key with another beginning comes, which is then the
 * first or last key of the page.
 *
 * A page leaves the tree when it is empty; pages are not merged. Leaves are not chained. A cursor stays in its leaf as
 * long as no tree has changed. At the end of the leaf, and after a change, it descends again, which reads only the
 * pages of one path.
 */
#include "index.h"

#if LUNAR_WITH_TREE

struct entry {
  uint8_t* bytes;  /* u8 count, key, payload */
  uint32_t number; /* position among the page's entries */
};

/* A path from the root to a leaf. refs: the pages by level, the leaf at 0. entries: the entry that was followed in each
 * inner page. */
struct path {
  uint32_t refs[LN_TREE_HEIGHT_MAX];
  uint16_t entries[LN_TREE_HEIGHT_MAX];
  uint32_t height;
};

/* The first entry of an inner page has no key. */
static uint32_t keyless(const uint8_t* page) { return page[LN_TREE_LEVEL] ? 1 : 0; }
static uint32_t payload_bytes(const uint8_t* page) { return page[LN_TREE_LEVEL] ? 4 : 6; }
static uint32_t prefix_bytes(const uint8_t* page) { return page[LN_TREE_PREFIX]; }
static uint8_t* entries_of(uint8_t* page) { return page + LN_TREE_HEADER + prefix_bytes(page); }
static uint32_t entry_bytes(const uint8_t* page, const uint8_t* entry) { return 1u + entry[0] + payload_bytes(page); }
static uint32_t count_of(const uint8_t* page) { return ln_get16(page + LN_TREE_COUNT); }
static uint32_t end_of(const uint8_t* page) { return ln_get16(page + LN_TREE_END); }

static struct ln_place place_of(const uint8_t* entry) {
  const uint8_t* payload = entry + 1 + entry[0];
  return (struct ln_place){ln_load32(payload), ln_load16(payload + 4)};
}
static uint32_t child_of(const uint8_t* entry) { return ln_load32(entry + 1 + entry[0]); }

static int compare_bytes(const uint8_t* a, uint32_t a_bytes, const uint8_t* b, uint32_t b_bytes) {
  const int order = memcmp(a, b, a_bytes < b_bytes ? a_bytes : b_bytes);
  return order ? order : (int)a_bytes - (int)b_bytes;
}

static int compare_keys(const struct ln_key* a, const struct ln_key* b) {
  return compare_bytes(a->bytes, a->count, b->bytes, b->count);
}

/* Returns 0 if the key begins with the prefix of the page. Otherwise all keys of the page are less (negative) or
 * greater (positive) than the key. */
static int compare_prefix(const uint8_t* page, const struct ln_key* key) {
  const uint32_t bytes = prefix_bytes(page);
  return compare_bytes(page + LN_TREE_HEADER, bytes, key->bytes, key->count < bytes ? key->count : bytes);
}

/* Compares the key of an entry with `key`, which begins with the prefix of the page. The entry must have a key. */
static int compare(const uint8_t* page, const uint8_t* entry, const struct ln_key* key) {
  const uint32_t prefix = prefix_bytes(page);
  LUNAR_ASSERT(key->count >= prefix);
  return compare_bytes(entry + 1, entry[0], key->bytes + prefix, key->count - prefix);
}

static int is_key(const uint8_t* page, const uint8_t* entry, const struct ln_key* key) {
  return compare_prefix(page, key) == 0 && compare(page, entry, key) == 0;
}

/* Reads the key of an entry that has one. */
static void key_from(const uint8_t* page, const uint8_t* entry, struct ln_key* key) {
  const uint32_t prefix = prefix_bytes(page);
  key->count = (uint8_t)(prefix + entry[0]);
  memcpy(key->bytes, page + LN_TREE_HEADER, prefix);
  memcpy(key->bytes + prefix, entry + 1, entry[0]);
}

/* Returns 1 if the entries end where the header says and no key is too long, 0 if not. */
static int sound(const struct lunar* db, const uint8_t* page, uint32_t level) {
  const uint32_t end = end_of(page), prefix = prefix_bytes(page);
  uint32_t at = LN_TREE_HEADER + prefix, count = 0;
  if (page[LN_TREE_LEVEL] != level || end > db->config->sector_bytes || prefix > LUNAR_TREE_KEY_MAX ||
      page[LN_TREE_PAYLOAD] != payload_bytes(page))
    return 0;
  for (; at < end; count++) {
    if (page[at] + prefix > LUNAR_TREE_KEY_MAX) return 0;
    at += entry_bytes(page, page + at);
  }
  return at == end && count == count_of(page) && (level == 0 || count);
}

#if LUNAR_DEBUG
/* Returns 1 if the keys of the page are in ascending order, 0 if not. In a damaged page they may not be, before and
 * after a change. */
static int in_order(uint8_t* page) {
  const uint8_t* entry = entries_of(page);
  for (uint32_t i = 1; i < count_of(page); i++) {
    const uint8_t* next = entry + entry_bytes(page, entry);
    if (i > keyless(page) && compare_bytes(entry + 1, entry[0], next + 1, next[0]) > 0) return 0;
    entry = next;
  }
  return 1;
}

/* Asserts what holds for a page after a change of its entries. was: the entries were in order before the change. */
static void page_check(const struct lunar* db, uint8_t* page, int was) {
  LUNAR_ASSERT(sound(db, page, page[LN_TREE_LEVEL]) || count_of(page) == 0);
  LUNAR_ASSERT(!was || in_order(page));
}
#define ORDER_OF(page) in_order(page)
#else
#define ORDER_OF(page) 0
#define page_check(db, page, was) ((void)(was))
#endif

static int page_of(struct lunar* db, uint32_t ref, uint32_t level, struct lunar_frame** frame) {
  LUNAR_ASSERT(level < LN_TREE_HEIGHT_MAX);
  LN_TRY(ln_page(db, ref, LN_TREE, frame));
  const int known = (*frame)->flags & LN_SOUND && (*frame)->bytes[LN_TREE_LEVEL] == level;
  if (known || sound(db, (*frame)->bytes, level)) {
    (*frame)->flags |= LN_SOUND;
    return 0;
  }
  ln_put(*frame);
  return LUNAR_E_CORRUPT;
}

/* Finds the first entry whose key is at least `key` (more: greater than `key`), or the end of the entries if there is
 * none. */
static struct entry first_from(uint8_t* page, const struct ln_key* key, int more) {
  const int prefix = compare_prefix(page, key);
  struct entry e = {entries_of(page), 0};
  while (e.number < count_of(page)) {
    if (e.number >= keyless(page)) {
      const int order = prefix ? prefix : compare(page, e.bytes, key);
      if (more ? order > 0 : order >= 0) break;
    }
    e.bytes += entry_bytes(page, e.bytes);
    e.number++;
  }
  return e;
}

static struct entry entry_at(uint8_t* page, uint32_t number) {
  struct entry e = {entries_of(page), 0};
  for (; e.number < number; e.number++) e.bytes += entry_bytes(page, e.bytes);
  return e;
}

static int height_of(struct lunar_frame* meta, uint32_t* height) {
  *height = ln_get32(meta->bytes + LN_META_TREE_HEIGHT);
  return *height >= 1 && *height <= LN_TREE_HEIGHT_MAX ? 0 : LUNAR_E_CORRUPT;
}

static uint32_t root_of(struct lunar_frame* meta) { return ln_get32(meta->bytes + LN_META_TREE_ROOT); }

static void root_set(struct lunar* db, struct lunar_frame* meta, uint32_t ref, uint32_t height) {
  LUNAR_ASSERT(height > 0 && height <= LN_TREE_HEIGHT_MAX);
  ln_put32(meta->bytes + LN_META_TREE_ROOT, ref);
  ln_put32(meta->bytes + LN_META_TREE_HEIGHT, height);
  ln_dirty(db, meta);
}

/* Finds the path to the leaf that has the key, or would have it. */
static int descend(struct lunar* db, struct lunar_frame* meta, const struct ln_key* key, struct path* path) {
  LN_TRY(height_of(meta, &path->height));
  uint32_t ref = root_of(meta);
  for (uint32_t level = path->height; level-- > 0;) {
    struct lunar_frame* frame;
    path->refs[level] = ref;
    if (level == 0) break;
    LN_TRY(page_of(db, ref, level, &frame));
    const uint32_t after = first_from(frame->bytes, key, 1).number;
    path->entries[level] = (uint16_t)(after ? after - 1 : 0);
    ref = child_of(entry_at(frame->bytes, path->entries[level]).bytes);
    ln_put(frame);
  }
  return 0;
}

static int page_new(struct lunar* db, uint32_t level, uint32_t* ref, struct lunar_frame** frame) {
  LUNAR_ASSERT(level < LN_TREE_HEIGHT_MAX);
  LN_TRY(ln_alloc(db, 0, LN_NONE, ref));
  LN_TRY(ln_page_fresh(db, *ref, LN_TREE, frame));
  uint8_t* page = (*frame)->bytes;
  page[LN_TREE_LEVEL] = (uint8_t)level;
  page[LN_TREE_PAYLOAD] = (uint8_t)payload_bytes(page);
  ln_put16(page + LN_TREE_END, LN_TREE_HEADER);
  return 0;
}

int ln_tree_create(struct lunar* db, struct lunar_frame* meta) {
  LUNAR_ASSERT(meta);
  uint32_t ref;
  struct lunar_frame* frame;
  LN_TRY(page_new(db, 0, &ref, &frame));
  ln_put(frame);
  root_set(db, meta, ref, 1);
  return 0;
}

int ln_tree_find(struct lunar* db, struct lunar_frame* meta, const struct ln_key* key, struct ln_place* place) {
  LUNAR_ASSERT(key->count <= LUNAR_TREE_KEY_MAX && place);
  struct path path;
  struct lunar_frame* frame;
  LN_TRY(descend(db, meta, key, &path));
  LN_TRY(page_of(db, path.refs[0], 0, &frame));
  const struct entry e = first_from(frame->bytes, key, 0);
  const int found = e.number < count_of(frame->bytes) && is_key(frame->bytes, e.bytes, key);
  if (found) *place = place_of(e.bytes);
  ln_put(frame);
  return found ? 0 : LUNAR_E_NOT_FOUND;
}

/* --- insertion --- */

/* Inserts this many bytes at `at`, or removes them if the number is negative. */
static void shift(uint8_t* page, uint8_t* at, int bytes) {
  LUNAR_ASSERT(at >= page + LN_TREE_HEADER && at <= page + end_of(page));
  uint8_t* from = bytes < 0 ? at - bytes : at;
  memmove(from + bytes, from, (size_t)(page + end_of(page) - from));
  ln_put16(page + LN_TREE_END, (uint32_t)((int)end_of(page) + bytes));
}

static void put_bytes(uint8_t* page, uint8_t* at, const uint8_t* key, uint32_t count, struct ln_place place) {
  shift(page, at, (int)(1 + count + payload_bytes(page)));
  at[0] = (uint8_t)count;
  memcpy(at + 1, key, count);
  ln_store32(at + 1 + count, place.ref);
  if (page[LN_TREE_LEVEL] == 0) ln_store16(at + 1 + count + 4, place.slot);
  ln_put16(page + LN_TREE_COUNT, count_of(page) + 1);
}

/* Inserts an entry. The key begins with the prefix of the page. */
static void put_entry(uint8_t* page, uint8_t* at, const struct ln_key* key, struct ln_place place) {
  const uint32_t prefix = prefix_bytes(page);
  LUNAR_ASSERT(compare_prefix(page, key) == 0);
  put_bytes(page, at, key->bytes + prefix, key->count - prefix, place);
}

/* Returns how many bytes at the beginning of a and b are equal. */
static uint32_t common(const uint8_t* a, uint32_t a_bytes, const uint8_t* b, uint32_t b_bytes) {
  uint32_t same = 0;
  while (same < a_bytes && same < b_bytes && a[same] == b[same]) same++;
  return same;
}

/* Sets the length of the prefix, which all keys of the page have in common. The page has room for the change. */
static void prefix_set(uint8_t* page, uint32_t bytes) {
  const uint32_t was = prefix_bytes(page);
  uint8_t moved[LUNAR_TREE_KEY_MAX];
  LUNAR_ASSERT(bytes <= LUNAR_TREE_KEY_MAX);
  if (bytes == was) return;
  const uint32_t count = bytes < was ? was - bytes : bytes - was;
  if (bytes < was) {
    memcpy(moved, page + LN_TREE_HEADER + bytes, count);
    shift(page, page + LN_TREE_HEADER + bytes, -(int)count);
    page[LN_TREE_PREFIX] = (uint8_t)bytes;
  }
  struct entry e = {entries_of(page), 0};
  for (; e.number < count_of(page); e.bytes += entry_bytes(page, e.bytes), e.number++) {
    if (e.number < keyless(page)) continue;
    if (bytes > was) {
      memcpy(moved, e.bytes + 1, count);
      shift(page, e.bytes + 1, -(int)count);
      e.bytes[0] = (uint8_t)(e.bytes[0] - count);
    } else {
      shift(page, e.bytes + 1, (int)count);
      memcpy(e.bytes + 1, moved, count);
      e.bytes[0] = (uint8_t)(e.bytes[0] + count);
    }
  }
  if (bytes > was) {
    shift(page, page + LN_TREE_HEADER + was, (int)count);
    memcpy(page + LN_TREE_HEADER + was, moved, count);
    page[LN_TREE_PREFIX] = (uint8_t)bytes;
  }
}

/* Returns the length of the longest prefix that `key` and the keys of the page have in common. The key begins with the
 * prefix of the page. */
static uint32_t longest_prefix(uint8_t* page, const struct ln_key* key) {
  const uint32_t prefix = prefix_bytes(page), count = count_of(page);
  if (count <= keyless(page)) return prefix;
  const uint8_t *low = entry_at(page, keyless(page)).bytes, *high = entry_at(page, count - 1).bytes;
  const uint32_t all = common(low + 1, low[0], high + 1, high[0]);
  return prefix + common(low + 1, all, key->bytes + prefix, key->count - prefix);
}

/* Returns where the entries would end with a prefix of this length. */
static int end_with(const uint8_t* page, uint32_t prefix) {
  const int longer = (int)prefix - (int)prefix_bytes(page), keys = (int)count_of(page) - (int)keyless(page);
  return (int)end_of(page) - longer * (keys - 1);
}

/* Inserts the key and adapts the length of the prefix. Returns 1, or 0 if the page has no room. */
static int put_fitting(const struct lunar* db, uint8_t* page, const struct ln_key* key, struct ln_place place) {
  const int size = (int)db->config->sector_bytes, rest = (int)(1 + key->count + payload_bytes(page));
  uint32_t prefix = common(page + LN_TREE_HEADER, prefix_bytes(page), key->bytes, key->count);
  if (prefix == prefix_bytes(page) && end_with(page, prefix) + rest - (int)prefix > size)
    prefix = longest_prefix(page, key);
  if (end_with(page, prefix) + rest - (int)prefix > size) return 0;
  prefix_set(page, prefix);
  put_entry(page, first_from(page, key, 1).bytes, key, place);
  return 1;
}

static void take_entry(uint8_t* page, uint8_t* at) {
  const uint32_t bytes = entry_bytes(page, at);
  memmove(at, at + bytes, (size_t)(page + end_of(page) - at) - bytes);
  ln_put16(page + LN_TREE_END, end_of(page) - bytes);
  ln_put16(page + LN_TREE_COUNT, count_of(page) - 1);
}

/* Returns the first entry that moves to the new page. Half of the bytes stay. If the new entry is the last, as with
 * rising keys, all entries stay. If its key does not begin with the prefix, all keys of the page are greater, and all
 * of them move. */
static struct entry split_point(uint8_t* page, uint32_t new_entry, const struct ln_key* key) {
  if (new_entry == count_of(page)) return entry_at(page, new_entry);
  if (compare_prefix(page, key)) return entry_at(page, keyless(page));
  struct entry e = {entries_of(page), 0};
  while ((uint32_t)(e.bytes - page) < ((uint32_t)(entries_of(page) - page) + end_of(page)) / 2) {
    e.bytes += entry_bytes(page, e.bytes);
    e.number++;
  }
  return e;
}

/* Sets key to the shortest key that is greater than the last key of the left leaf and not greater than the first key of
 * the right one. */
static void separator(uint8_t* left, uint8_t* right, struct ln_key* key) {
  struct ln_key last;
  key_from(left, entry_at(left, count_of(left) - 1).bytes, &last);
  key_from(right, entries_of(right), key);
  const uint32_t same = common(last.bytes, last.count, key->bytes, key->count);
  if (same < key->count) key->count = (uint8_t)(same + 1);
}

/* Removes the key of the first entry of an inner page, which leads to all keys less than that of the second entry. */
static void lowest_first(uint8_t* page) {
  LUNAR_ASSERT(page[LN_TREE_LEVEL] > 0 && count_of(page) > 0);
  uint8_t* first = entries_of(page);
  shift(page, first + 1, -(int)first[0]);
  first[0] = 0;
}

/* Moves `from` and the entries behind it to the empty page `right`. */
static void move_upper(uint8_t* page, uint8_t* right, struct entry from) {
  const uint32_t moved = end_of(page) - (uint32_t)(from.bytes - page), count = count_of(page);
  if (from.number < count) {
    right[LN_TREE_PREFIX] = page[LN_TREE_PREFIX];
    memcpy(right + LN_TREE_HEADER, page + LN_TREE_HEADER, prefix_bytes(page));
  }
  memcpy(entries_of(right), from.bytes, moved);
  ln_put16(right + LN_TREE_COUNT, count - from.number);
  ln_put16(right + LN_TREE_END, (uint32_t)(entries_of(right) - right) + moved);
  ln_put16(page + LN_TREE_COUNT, from.number);
  ln_put16(page + LN_TREE_END, (uint32_t)(from.bytes - page));
  if (from.number <= keyless(page)) prefix_set(page, 0);
}

/* Inserts the entry into a full page: its upper part moves to a new page. key and *place become the entry of the new
 * page in the level above. */
static int split(struct lunar* db, struct lunar_frame* frame, uint32_t number, struct ln_key* key,
                 struct ln_place* place) {
  uint8_t* page = frame->bytes;
  struct lunar_frame* right_frame;
  uint32_t ref;
  const int was_in_order = ORDER_OF(page);
  LUNAR_ASSERT(number <= count_of(page));
  LN_TRY(page_new(db, page[LN_TREE_LEVEL], &ref, &right_frame));
  uint8_t* right = right_frame->bytes;
  const struct entry from = split_point(page, number, key);
  const int stays = number < from.number || (number == from.number && number < count_of(page));
  move_upper(page, right, from);
  uint8_t* to = stays ? page : right;
  put_entry(to, entry_at(to, stays ? number : number - from.number).bytes, key, *place);
  if (page[LN_TREE_LEVEL] == 0) {
    separator(page, right, key);
  } else { /* the separator moves up; the first entry of the new page needs no key */
    key_from(right, entries_of(right), key);
    lowest_first(right);
  }
  page_check(db, page, was_in_order);
  page_check(db, right, was_in_order);
  ln_dirty(db, frame);
  ln_dirty(db, right_frame);
  ln_put(right_frame);
  *place = (struct ln_place){ref, 0};
  return 0;
}

static int grow(struct lunar* db, struct lunar_frame* meta, const struct ln_key* key, struct ln_place right) {
  uint32_t ref, height;
  struct lunar_frame* frame;
  LN_TRY(height_of(meta, &height));
  if (height == LN_TREE_HEIGHT_MAX) return LUNAR_E_INDEX_FULL;
  LN_TRY(page_new(db, height, &ref, &frame));
  uint8_t* page = frame->bytes;
  put_bytes(page, entries_of(page), key->bytes, 0, (struct ln_place){root_of(meta), 0});
  put_entry(page, page + end_of(page), key, right);
  page_check(db, page, 1);
  ln_dirty(db, frame);
  ln_put(frame);
  root_set(db, meta, ref, height + 1);
  return 0;
}

/* Returns 0 if all splits that an insertion may need can be made: the tree can become higher or an inner page on the
 * path has room, and there are enough free blocks. Otherwise returns E_INDEX_FULL or E_FULL. Called before the first
 * split, because mode none could not undo it if a later split failed. */
static int may_split(struct lunar* db, const struct path* path) {
  int room = path->height < LN_TREE_HEIGHT_MAX;
  for (uint32_t level = 1; !room && level < path->height; level++) {
    struct lunar_frame* frame;
    LN_TRY(page_of(db, path->refs[level], level, &frame));
    room = end_with(frame->bytes, 0) + 1 + LUNAR_TREE_KEY_MAX + (int)payload_bytes(frame->bytes) <=
           (int)db->config->sector_bytes;
    ln_put(frame);
  }
  if (!room) return LUNAR_E_INDEX_FULL;
  return ln_room_is_sure(db) ? 0 : LUNAR_E_FULL;
}

int ln_tree_insert(struct lunar* db, struct lunar_frame* meta, const struct ln_key* key, struct ln_place place) {
  LUNAR_ASSERT(key->count <= LUNAR_TREE_KEY_MAX && place.ref != LN_NONE);
  struct path path;
  struct ln_key up = *key;
  LN_TREES_CHANGE(db);
  LN_TRY(descend(db, meta, key, &path));
  for (uint32_t level = 0; level < path.height; level++) {
    struct lunar_frame* frame;
    LN_TRY(page_of(db, path.refs[level], level, &frame));
    uint8_t* page = frame->bytes;
    const uint32_t number = first_from(page, &up, 1).number;
    const int was_in_order = ORDER_OF(page), fits = put_fitting(db, page, &up, place);
    int error = 0;
    if (fits) {
      page_check(db, page, was_in_order);
      ln_dirty(db, frame);
    } else {
      error = level ? 0 : may_split(db, &path);
      if (!error) error = split(db, frame, number, &up, &place);
    }
    ln_put(frame);
    LN_TRY(error);
    if (fits) return 0;
  }
  return grow(db, meta, &up, place);
}

/* --- change and removal --- */

static int is_last_page(struct lunar_frame* meta, struct lunar_frame* frame) { return root_of(meta) == frame->sector; }

/* Removes the root as long as it leads to one page only, which becomes the root. */
static int shrink(struct lunar* db, struct lunar_frame* meta) {
  uint32_t height;
  LN_TRY(height_of(meta, &height));
  while (height > 1) {
    struct lunar_frame* frame;
    const uint32_t root = root_of(meta);
    LN_TRY(page_of(db, root, height - 1, &frame));
    const uint32_t count = count_of(frame->bytes), child = child_of(entries_of(frame->bytes));
    ln_put(frame);
    if (count > 1) return 0;
    root_set(db, meta, child, --height);
    LN_TRY(ln_free(db, root));
  }
  return 0;
}

static int remove_entry(struct lunar* db, struct lunar_frame* meta, const struct path* path, uint32_t number) {
  LN_TREES_CHANGE(db);
  for (uint32_t level = 0;; level++, number = path->entries[level]) {
    struct lunar_frame* frame;
    LN_TRY(page_of(db, path->refs[level], level, &frame));
    uint8_t* page = frame->bytes;
    LUNAR_ASSERT(number < count_of(page));
    const int was_in_order = ORDER_OF(page);
    take_entry(page, entry_at(page, number).bytes);
    if (level && number == 0 && count_of(page)) lowest_first(page);
    page_check(db, page, was_in_order);
    ln_dirty(db, frame);
    const int stays = count_of(page) || is_last_page(meta, frame);
    ln_put(frame);
    if (stays) return shrink(db, meta);
    LN_TRY(ln_free(db, path->refs[level]));
  }
}

int ln_tree_move(struct lunar* db, struct lunar_frame* meta, const struct ln_key* key, struct ln_place from,
                 struct ln_place to) {
  LUNAR_ASSERT(key->count <= LUNAR_TREE_KEY_MAX && from.ref != LN_NONE);
  struct path path;
  struct lunar_frame* frame;
  LN_TRY(descend(db, meta, key, &path));
  LN_TRY(page_of(db, path.refs[0], 0, &frame));
  uint8_t* page = frame->bytes;
  const struct entry e = first_from(page, key, 0);
  int found = e.number < count_of(page) && is_key(page, e.bytes, key);
  if (found) {
    const struct ln_place here = place_of(e.bytes);
    found = here.ref == from.ref && here.slot == from.slot;
  }
  if (found && to.ref != LN_NONE) {
    ln_store32(e.bytes + 1 + e.bytes[0], to.ref);
    ln_store16(e.bytes + 1 + e.bytes[0] + 4, to.slot);
    ln_dirty(db, frame);
  }
  ln_put(frame);
  if (!found) return LUNAR_E_CORRUPT;
  return to.ref == LN_NONE ? remove_entry(db, meta, &path, e.number) : 0;
}

#if LUNAR_WITH_TRUNCATE
/* Makes the root an empty leaf, the only page of the tree. */
static int empty_again(struct lunar* db, struct lunar_frame* meta, uint32_t level) {
  struct lunar_frame* frame;
  const uint32_t root = root_of(meta), size = db->config->sector_bytes;
  LN_TRY(page_of(db, root, level, &frame));
  uint8_t* page = frame->bytes;
  memset(page + LN_TREE_LEVEL, 0, size - LN_TREE_LEVEL);
  page[LN_TREE_PAYLOAD] = (uint8_t)payload_bytes(page);
  ln_put16(page + LN_TREE_END, LN_TREE_HEADER);
  ln_dirty(db, frame);
  ln_put(frame);
  root_set(db, meta, root, 1);
  return 0;
}
#else
#define empty_again(db, meta, level) 0
#endif

/* Frees all pages, an inner page after those below it. */
int ln_tree_drop(struct lunar* db, struct lunar_frame* meta, int stays) {
  struct path path = {.refs = {0}};
  LN_TREES_CHANGE(db);
  LN_TRY(height_of(meta, &path.height));
  uint32_t level = path.height - 1;
  path.refs[level] = root_of(meta);
  while (level < path.height) {
    struct lunar_frame* frame;
    uint32_t count = 0, child = LN_NONE;
    if (level) {
      LN_TRY(page_of(db, path.refs[level], level, &frame));
      count = count_of(frame->bytes);
      if (path.entries[level] < count) child = child_of(entry_at(frame->bytes, path.entries[level]).bytes);
      ln_put(frame);
    }
    if (child != LN_NONE) {
      path.entries[level]++;
      path.refs[--level] = child;
      path.entries[level] = 0;
    } else {
      if (LUNAR_WITH_TRUNCATE && stays && level + 1 == path.height) return empty_again(db, meta, level);
      LN_TRY(ln_free(db, path.refs[level++]));
    }
  }
  return 0;
}

#if LUNAR_WITH_REPAIR
/* Finds a key of the page, or of a page below it. Returns 0, E_NOT_FOUND if there is none, or an error. */
static int key_in(struct lunar* db, uint32_t ref, uint32_t level, struct ln_key* key) {
  for (;; level--) {
    struct lunar_frame* frame;
    LN_TRY(page_of(db, ref, level, &frame));
    uint8_t* page = frame->bytes;
    const uint32_t keys = count_of(page) - (count_of(page) ? keyless(page) : 0);
    if (keys)
      key_from(page, entry_at(page, keyless(page)).bytes, key);
    else if (level)
      ref = child_of(entries_of(page));
    ln_put(frame);
    if (keys) return 0;
    if (level == 0) return LUNAR_E_NOT_FOUND;
  }
}

int ln_tree_has_page(struct lunar* db, struct lunar_frame* meta, uint32_t ref) {
  struct path path;
  struct ln_key key;
  struct lunar_frame* frame;
  if (ln_get32(meta->bytes + LN_META_TREE_HEIGHT) == 0) return 0; /* given up */
  LN_TRY(ln_page(db, ref, LN_TREE, &frame));
  const uint32_t level = frame->bytes[LN_TREE_LEVEL];
  ln_put(frame);
  if (level >= LN_TREE_HEIGHT_MAX) return 0;
  const int error = key_in(db, ref, level, &key);
  if (error == LUNAR_E_NOT_FOUND) return ref == root_of(meta);
  LN_TRY(error);
  LN_TRY(descend(db, meta, &key, &path));
  return level < path.height && path.refs[level] == ref;
}
#endif

/* --- cursors --- */

#if LUNAR_WITH_CURSOR
static void found(const struct lunar_frame* leaf_frame, struct entry e, struct ln_key* key, struct ln_place* place,
                  struct lunar_leaf* leaf) {
  *place = place_of(e.bytes);
  key_from(leaf_frame->bytes, e.bytes, key);
  leaf->ref = leaf_frame->sector;
  leaf->entry = (uint16_t)e.number;
}

/* Reads the entry next to the key's in its leaf. Returns 1, or 0 if the leaf cannot tell. */
static int seek_in_leaf(struct lunar* db, enum ln_seek seek, struct ln_key* key, struct ln_place* place,
                        struct lunar_leaf* leaf) {
  struct lunar_frame* frame;
  if (leaf->changes != db->tree_changes || (seek != LN_MORE && seek != LN_LESS)) return 0;
  LN_TRY(page_of(db, leaf->ref, 0, &frame));
  uint8_t* page = frame->bytes;
  const uint32_t to = seek == LN_MORE ? leaf->entry + 1u : leaf->entry - 1u;
  struct entry e = entry_at(page, leaf->entry < count_of(page) ? leaf->entry : 0);
  const int is_there = to < count_of(page) && is_key(page, e.bytes, key);
  if (is_there) {
    if (seek == LN_MORE) {
      e.bytes += entry_bytes(page, e.bytes);
      e.number++;
    } else {
      e = entry_at(page, to);
    }
    found(frame, e, key, place, leaf);
  }
  ln_put(frame);
  return is_there;
}

/* One descent. Returns 1 for a hit; 0 if the leaf has none, and sets bound to the separator behind which the search
 * continues; E_NOT_FOUND at the tree's end. */
static int seek_once(struct lunar* db, struct lunar_frame* meta, enum ln_seek seek, struct ln_key* key,
                     struct ln_key* bound, struct ln_place* place, struct lunar_leaf* leaf) {
  const int rising = seek == LN_AT_LEAST || seek == LN_MORE;
  uint32_t height, ref = root_of(meta);
  int bounded = 0;
  LN_TRY(height_of(meta, &height));
  for (uint32_t level = height; level-- > 0;) {
    struct lunar_frame* frame;
    LN_TRY(page_of(db, ref, level, &frame));
    uint8_t* page = frame->bytes;
    const uint32_t after = first_from(page, key, seek != LN_LESS && (level || seek != LN_AT_LEAST)).number;
    if (level) {
      const uint32_t number = after ? after - 1 : 0;
      const struct entry e = entry_at(page, number);
      ref = child_of(e.bytes);
      if (rising && number + 1 < count_of(page)) {
        key_from(page, entry_at(page, number + 1).bytes, bound);
        bounded = 1;
      }
      if (!rising && number) {
        key_from(page, e.bytes, bound);
        bounded = 1;
      }
    } else if (rising ? after < count_of(page) : after > 0) {
      found(frame, entry_at(page, rising ? after : after - 1), key, place, leaf);
      ln_put(frame);
      return 1;
    }
    ln_put(frame);
  }
  return bounded ? 0 : LUNAR_E_NOT_FOUND;
}

int ln_tree_seek(struct lunar* db, struct lunar_frame* meta, enum ln_seek seek, struct ln_key* key,
                 struct ln_place* place, struct lunar_leaf* leaf) {
  LUNAR_ASSERT(key->count <= LUNAR_TREE_KEY_MAX && place && leaf);
  struct ln_key bound;
  int is_there = seek_in_leaf(db, seek, key, place, leaf);
  if (is_there) return is_there < 0 ? is_there : 0;
  leaf->changes = db->tree_changes;
  for (uint32_t tries = 0; tries <= LN_TREE_HEIGHT_MAX; tries++) {
    is_there = seek_once(db, meta, seek, key, &bound, place, leaf);
    if (is_there) return is_there < 0 ? is_there : 0;
    *key = bound;
    seek = seek == LN_AT_LEAST || seek == LN_MORE ? LN_AT_LEAST : LN_LESS;
  }
  return LUNAR_E_CORRUPT; /* too many leaves without an entry: a sound tree has none */
}
#endif

#if LUNAR_WITH_CHECK || LUNAR_WITH_REPAIR
/* Checks that keys rise from left to right; a separator may equal the entry after it. */
struct rise {
  struct ln_key last;
  uint8_t begun, separator;
};

static int rises(struct rise* rise, const uint8_t* page, const uint8_t* entry, int is_separator) {
  struct ln_key key;
  key_from(page, entry, &key);
  const int order = rise->begun ? compare_keys(&key, &rise->last) : 1;
  rise->last = key;
  const int sound = order > 0 || (order == 0 && rise->separator && !is_separator);
  rise->begun = 1;
  rise->separator = (uint8_t)is_separator;
  return sound;
}

static int walk_leaf(const struct lunar_frame* frame, struct rise* rise, struct ln_walk* walk) {
  uint8_t* page = frame->bytes;
  struct entry e = {entries_of(page), 0};
  for (; e.number < count_of(page); e.bytes += entry_bytes(page, e.bytes), e.number++) {
    if (!rises(rise, page, e.bytes, 0)) return ln_walk_problem(walk, LUNAR_PROBLEM_INDEX_ORDER, frame->sector);
    LN_TRY(walk->entry(walk, &rise->last, place_of(e.bytes), frame->sector));
  }
  return 0;
}

/* Checks entry `number` of an inner page. *child becomes the page to which it leads, LN_NONE behind the last entry. */
static int walk_inner(const struct lunar_frame* frame, uint32_t number, struct rise* rise, uint32_t* child,
                      struct ln_walk* walk) {
  uint8_t* page = frame->bytes;
  *child = LN_NONE;
  if (number == count_of(page)) return 0;
  const struct entry e = entry_at(page, number);
  *child = child_of(e.bytes);
  if (number == 0 ? e.bytes[0] == 0 : rises(rise, page, e.bytes, 1)) return 0;
  return ln_walk_problem(walk, LUNAR_PROBLEM_INDEX_ORDER, frame->sector);
}

static int walk_page(struct lunar* db, uint32_t ref, uint32_t level, struct lunar_frame** frame, struct ln_walk* walk) {
  LN_TRY(ln_walk_page(walk, ref, LN_TREE, frame));
  if (sound(db, (*frame)->bytes, level)) return 0;
  ln_put(*frame);
  return ln_walk_problem(walk, LUNAR_PROBLEM_INDEX_PAGE, ref);
}

int ln_tree_walk(struct ln_walk* walk, struct lunar_frame* meta) {
  struct lunar* db = walk->db;
  struct path path = {.refs = {0}};
  struct rise rise = {.begun = 0};
  if (height_of(meta, &path.height)) return ln_walk_problem(walk, LUNAR_PROBLEM_INDEX_PAGE, meta->sector);
  uint32_t level = path.height - 1, child = root_of(meta), from = meta->sector;
  LN_TRY(walk->block(walk, child, db->geometry.class_sectors_min, from));
  path.refs[level] = child;
  while (level < path.height) {
    struct lunar_frame* frame;
    LN_TRY(walk_page(db, path.refs[level], level, &frame, walk));
    from = frame->sector;
    child = LN_NONE;
    int error = level ? walk_inner(frame, path.entries[level]++, &rise, &child, walk) : walk_leaf(frame, &rise, walk);
    ln_put(frame);
    LN_TRY(error);
    if (child == LN_NONE) {
      level++;
      continue;
    }
    LN_TRY(walk->block(walk, child, db->geometry.class_sectors_min, from));
    path.refs[--level] = child;
    path.entries[level] = 0;
  }
  return 0;
}
#endif

#endif
