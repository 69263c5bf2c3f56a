/* The primary index as a B+tree (R. Bayer, E. McCreight 1972; D. Comer 1979) of byte strings. A page is one sector; it
 * leaves the tree when it is empty and is not merged before. Leaves are not chained: who reads on stays in the leaf as
 * long as no tree has changed, and descends again, which needs no page but those of one path, at its end and after
 * that.
 */
#include "index.h"

#if LUNAR_WITH_TREE

struct entry {
  uint8_t* bytes;  /* u8 count, key, payload */
  uint32_t number; /* among the page's */
};

/* From the root to a leaf: the pages, and in each inner one the entry that was followed. */
struct path {
  uint32_t refs[LN_TREE_HEIGHT_MAX];
  uint16_t entries[LN_TREE_HEIGHT_MAX];
  uint32_t height;
};

static uint32_t payload_bytes(const uint8_t* page) { return page[LN_TREE_LEVEL] ? 4 : 6; }
static uint32_t entry_bytes(const uint8_t* page, const uint8_t* entry) { return 1u + entry[0] + payload_bytes(page); }
static uint32_t count_of(const uint8_t* page) { return ln_get16(page + LN_TREE_COUNT); }
static uint32_t end_of(const uint8_t* page) { return ln_get16(page + LN_TREE_END); }

static struct ln_place place_of(const uint8_t* entry) {
  const uint8_t* payload = entry + 1 + entry[0];
  return (struct ln_place){ln_load32(payload), ln_load16(payload + 4)};
}
static uint32_t child_of(const uint8_t* entry) { return ln_load32(entry + 1 + entry[0]); }

static int compare(const uint8_t* entry, const struct ln_key* key) {
  const uint32_t n = entry[0] < key->count ? entry[0] : key->count;
  const int order = memcmp(entry + 1, key->bytes, n);
  return order ? order : (int)entry[0] - (int)key->count;
}

static void key_from(const uint8_t* entry, struct ln_key* key) {
  key->count = entry[0];
  memcpy(key->bytes, entry + 1, entry[0]);
}

/* A page whose entries end where it says, none longer than a key may be. */
static int sound(const struct lunar* db, const uint8_t* page, uint32_t level) {
  const uint32_t end = end_of(page);
  uint32_t at = LN_TREE_HEADER, count = 0;
  if (page[LN_TREE_LEVEL] != level || end > db->config->sector_bytes) return 0;
  for (; at < end; count++) {
    if (page[at] > LUNAR_TREE_KEY_MAX) return 0;
    at += entry_bytes(page, page + at);
  }
  return at == end && count == count_of(page) && (level == 0 || count);
}

#if LUNAR_DEBUG
/* The keys of the page do not fall. They do in a damaged one, and a change leaves them so. */
static int in_order(const uint8_t* page) {
  const uint8_t* entry = page + LN_TREE_HEADER;
  for (uint32_t i = 1; i < count_of(page); i++) {
    const uint8_t* next = entry + entry_bytes(page, entry);
    const int order = memcmp(entry + 1, next + 1, entry[0] < next[0] ? entry[0] : next[0]);
    if (order > 0 || (order == 0 && entry[0] > next[0])) return 0;
    entry = next;
  }
  return 1;
}

/* What holds for a page after a change of its entries. was: they were in order before it. */
static void page_check(const struct lunar* db, const uint8_t* page, int was) {
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
  LN_TRY(ln_page(db, ln_ref_sector(db, ref), LN_TREE, frame));
  const int known = (*frame)->flags & LN_SOUND && (*frame)->bytes[LN_TREE_LEVEL] == level;
  if (known || sound(db, (*frame)->bytes, level)) {
    (*frame)->flags |= LN_SOUND;
    return 0;
  }
  ln_put(*frame);
  return LUNAR_E_CORRUPT;
}

/* The first entry whose key is at least key (or more than it); the end of the entries without one. */
static struct entry first_from(uint8_t* page, const struct ln_key* key, int more) {
  struct entry e = {page + LN_TREE_HEADER, 0};
  while (e.number < count_of(page)) {
    const int order = compare(e.bytes, key);
    if (more ? order > 0 : order >= 0) break;
    e.bytes += entry_bytes(page, e.bytes);
    e.number++;
  }
  return e;
}

static struct entry entry_at(uint8_t* page, uint32_t number) {
  struct entry e = {page + LN_TREE_HEADER, 0};
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

/* To the leaf in which the key is or would be. */
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
  LN_TRY(ln_page_fresh(db, ln_ref_sector(db, *ref), LN_TREE, frame));
  uint8_t* page = (*frame)->bytes;
  page[LN_TREE_LEVEL] = (uint8_t)level;
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
  const int found = e.number < count_of(frame->bytes) && compare(e.bytes, key) == 0;
  if (found) *place = place_of(e.bytes);
  ln_put(frame);
  return found ? 0 : LUNAR_E_NOT_FOUND;
}

/* --- insertion --- */

static void put_entry(uint8_t* page, uint8_t* at, const struct ln_key* key, struct ln_place place) {
  const uint32_t bytes = 1u + key->count + payload_bytes(page);
  memmove(at + bytes, at, (size_t)(page + end_of(page) - at));
  at[0] = key->count;
  memcpy(at + 1, key->bytes, key->count);
  ln_store32(at + 1 + key->count, place.ref);
  if (page[LN_TREE_LEVEL] == 0) ln_store16(at + 1 + key->count + 4, place.slot);
  ln_put16(page + LN_TREE_END, end_of(page) + bytes);
  ln_put16(page + LN_TREE_COUNT, count_of(page) + 1);
}

static void take_entry(uint8_t* page, uint8_t* at) {
  const uint32_t bytes = entry_bytes(page, at);
  memmove(at, at + bytes, (size_t)(page + end_of(page) - at) - bytes);
  ln_put16(page + LN_TREE_END, end_of(page) - bytes);
  ln_put16(page + LN_TREE_COUNT, count_of(page) - 1);
}

/* Half of the bytes stay; where the new entry is the last, as with rising keys, all of them. */
static struct entry split_point(uint8_t* page, uint32_t new_entry) {
  if (new_entry == count_of(page)) return entry_at(page, new_entry);
  struct entry e = {page + LN_TREE_HEADER, 0};
  while ((uint32_t)(e.bytes - page) < (LN_TREE_HEADER + end_of(page)) / 2) {
    e.bytes += entry_bytes(page, e.bytes);
    e.number++;
  }
  return e;
}

/* The shortest key that is above the left page's last and not above the right page's first. */
static void separator(uint8_t* left, uint8_t* right, struct ln_key* key) {
  const uint8_t* last = entry_at(left, count_of(left) - 1).bytes;
  key_from(right + LN_TREE_HEADER, key);
  uint8_t same = 0;
  while (same < last[0] && same < key->count && last[1 + same] == key->bytes[same]) same++;
  if (same < key->count) key->count = (uint8_t)(same + 1);
}

/* Puts the entry into the full page, whose upper part goes to a new one; then key and place lead to that. */
static int split(struct lunar* db, struct lunar_frame* frame, uint32_t number, struct ln_key* key,
                 struct ln_place* place) {
  uint8_t* page = frame->bytes;
  struct lunar_frame* right_frame;
  uint32_t ref;
  const int was_in_order = ORDER_OF(page);
  LUNAR_ASSERT(number <= count_of(page));
  LN_TRY(page_new(db, page[LN_TREE_LEVEL], &ref, &right_frame));
  uint8_t* right = right_frame->bytes;
  const struct entry from = split_point(page, number);
  const uint32_t moved = end_of(page) - (uint32_t)(from.bytes - page), count = count_of(page);
  memcpy(right + LN_TREE_HEADER, from.bytes, moved);
  ln_put16(right + LN_TREE_COUNT, count - from.number);
  ln_put16(right + LN_TREE_END, LN_TREE_HEADER + moved);
  ln_put16(page + LN_TREE_COUNT, from.number);
  ln_put16(page + LN_TREE_END, (uint32_t)(from.bytes - page));
  uint8_t* to = number < from.number || (number == from.number && number < count) ? page : right;
  put_entry(to, entry_at(to, to == page ? number : number - from.number).bytes, key, *place);
  page_check(db, page, was_in_order);
  page_check(db, right, was_in_order);
  ln_dirty(db, frame);
  ln_dirty(db, right_frame);
  if (page[LN_TREE_LEVEL] == 0) {
    separator(page, right, key);
  } else { /* the separator moves up: the page below it needs none */
    key_from(right + LN_TREE_HEADER, key);
    memmove(right + LN_TREE_HEADER + 1, right + LN_TREE_HEADER + 1 + key->count,
            end_of(right) - LN_TREE_HEADER - 1 - key->count);
    right[LN_TREE_HEADER] = 0;
    ln_put16(right + LN_TREE_END, end_of(right) - key->count);
    page_check(db, right, was_in_order);
  }
  ln_put(right_frame);
  *place = (struct ln_place){ref, 0};
  return 0;
}

static int grow(struct lunar* db, struct lunar_frame* meta, const struct ln_key* key, struct ln_place right) {
  uint32_t ref, height;
  struct lunar_frame* frame;
  LN_TRY(height_of(meta, &height));
  if (height == LN_TREE_HEIGHT_MAX) return LUNAR_E_FULL;
  LN_TRY(page_new(db, height, &ref, &frame));
  uint8_t* page = frame->bytes;
  static const struct ln_key lowest;
  put_entry(page, page + LN_TREE_HEADER, &lowest, (struct ln_place){root_of(meta), 0});
  put_entry(page, page + end_of(page), key, right);
  page_check(db, page, 1);
  ln_dirty(db, frame);
  ln_put(frame);
  root_set(db, meta, ref, height + 1);
  return 0;
}

/* 1: the tree can grow, or a split of the leaf ends below its root; and there are pages for all that it may need. It is
 * asked before the first of the splits: without a log one that fails after it would be for good. */
static int may_split(struct lunar* db, const struct path* path) {
  int room = path->height < LN_TREE_HEIGHT_MAX;
  for (uint32_t level = 1; !room && level < path->height; level++) {
    struct lunar_frame* frame;
    LN_TRY(page_of(db, path->refs[level], level, &frame));
    room = end_of(frame->bytes) + 1 + LUNAR_TREE_KEY_MAX + payload_bytes(frame->bytes) <= db->config->sector_bytes;
    ln_put(frame);
  }
  return room && ln_room_is_sure(db, 0);
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
    const struct entry at = first_from(page, &up, 1);
    const int fits = end_of(page) + 1 + up.count + payload_bytes(page) <= db->config->sector_bytes;
    int error = 0;
    if (fits) {
      const int was_in_order = ORDER_OF(page);
      put_entry(page, at.bytes, &up, place);
      page_check(db, page, was_in_order);
      ln_dirty(db, frame);
    } else {
      const int may = level ? 1 : may_split(db, &path);
      if (may > 0)
        error = split(db, frame, at.number, &up, &place);
      else if (may == 0)
        error = LUNAR_E_FULL;
      else
        error = may;
    }
    ln_put(frame);
    LN_TRY(error);
    if (fits) return 0;
  }
  return grow(db, meta, &up, place);
}

/* --- change and removal --- */

static int is_last_page(struct lunar* db, struct lunar_frame* meta, struct lunar_frame* frame) {
  return ln_ref_sector(db, root_of(meta)) == frame->sector;
}

/* The page that the inner page's first entry leads to takes what lies below the others. */
static void lowest_first(uint8_t* page) {
  LUNAR_ASSERT(page[LN_TREE_LEVEL] > 0 && count_of(page) > 0);
  uint8_t* first = page + LN_TREE_HEADER;
  const uint32_t bytes = first[0];
  memmove(first + 1, first + 1 + bytes, end_of(page) - LN_TREE_HEADER - 1 - bytes);
  first[0] = 0;
  ln_put16(page + LN_TREE_END, end_of(page) - bytes);
}

/* A root that leads to one page only gives way to it. */
static int shrink(struct lunar* db, struct lunar_frame* meta) {
  uint32_t height;
  LN_TRY(height_of(meta, &height));
  while (height > 1) {
    struct lunar_frame* frame;
    const uint32_t root = root_of(meta);
    LN_TRY(page_of(db, root, height - 1, &frame));
    const uint32_t count = count_of(frame->bytes), child = child_of(frame->bytes + LN_TREE_HEADER);
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
    const int stays = count_of(page) || is_last_page(db, meta, frame);
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
  int found = e.number < count_of(page) && compare(e.bytes, key) == 0;
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

/* From page to page, each inner one when all below it are freed. */
int ln_tree_drop(struct lunar* db, struct lunar_frame* meta) {
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
      LN_TRY(ln_free(db, path.refs[level++]));
    }
  }
  return 0;
}

/* --- reading on --- */

#if LUNAR_WITH_CURSOR
static void found(uint32_t ref, struct entry e, struct ln_key* key, struct ln_place* place, struct lunar_leaf* leaf) {
  *place = place_of(e.bytes);
  key_from(e.bytes, key);
  leaf->ref = ref;
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
  const int is_there = to < count_of(page) && compare(e.bytes, key) == 0;
  if (is_there) {
    if (seek == LN_MORE) {
      e.bytes += entry_bytes(page, e.bytes);
      e.number++;
    } else {
      e = entry_at(page, to);
    }
    found(leaf->ref, e, key, place, leaf);
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
        key_from(entry_at(page, number + 1).bytes, bound);
        bounded = 1;
      }
      if (!rising && number) {
        key_from(e.bytes, bound);
        bounded = 1;
      }
    } else if (rising ? after < count_of(page) : after > 0) {
      found(ref, entry_at(page, rising ? after : after - 1), key, place, leaf);
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
  return LUNAR_E_CORRUPT; /* no page is empty */
}
#endif

#if LUNAR_WITH_CHECK
/* Checks that keys rise from left to right; a separator may equal the entry after it. */
struct rise {
  struct ln_key last;
  uint8_t begun, separator;
};

static int rises(struct rise* rise, const uint8_t* entry, int is_separator) {
  const int order = rise->begun ? compare(entry, &rise->last) : 1;
  key_from(entry, &rise->last);
  const int sound = order > 0 || (order == 0 && rise->separator && !is_separator);
  rise->begun = 1;
  rise->separator = (uint8_t)is_separator;
  return sound;
}

static int walk_leaf(const struct lunar_frame* frame, struct rise* rise, struct ln_walk* walk) {
  uint8_t* page = frame->bytes;
  struct entry e = {page + LN_TREE_HEADER, 0};
  for (; e.number < count_of(page); e.bytes += entry_bytes(page, e.bytes), e.number++) {
    if (!rises(rise, e.bytes, 0)) return ln_walk_problem(walk, LUNAR_PROBLEM_INDEX_ORDER, frame->sector);
    LN_TRY(walk->entry(walk, &rise->last, place_of(e.bytes), frame->sector));
  }
  return 0;
}

/* The next entry of an inner page: *child, LN_NONE behind the last. */
static int walk_inner(const struct lunar_frame* frame, uint32_t number, struct rise* rise, uint32_t* child,
                      struct ln_walk* walk) {
  uint8_t* page = frame->bytes;
  *child = LN_NONE;
  if (number == count_of(page)) return 0;
  const struct entry e = entry_at(page, number);
  *child = child_of(e.bytes);
  if (number == 0 ? e.bytes[0] == 0 : rises(rise, e.bytes, 1)) return 0;
  return ln_walk_problem(walk, LUNAR_PROBLEM_INDEX_ORDER, frame->sector);
}

static int walk_page(struct lunar* db, uint32_t ref, uint32_t level, struct lunar_frame** frame, struct ln_walk* walk) {
  LN_TRY(ln_walk_page(walk, ln_ref_sector(db, ref), LN_TREE, frame));
  if (sound(db, (*frame)->bytes, level)) return 0;
  ln_put(*frame);
  return ln_walk_problem(walk, LUNAR_PROBLEM_INDEX_PAGE, ln_ref_sector(db, ref));
}

int ln_tree_walk(struct ln_walk* walk, struct lunar_frame* meta) {
  struct lunar* db = walk->db;
  struct path path = {.refs = {0}};
  struct rise rise = {.begun = 0};
  if (height_of(meta, &path.height)) return ln_walk_problem(walk, LUNAR_PROBLEM_INDEX_PAGE, meta->sector);
  uint32_t level = path.height - 1, child = root_of(meta), from = meta->sector;
  LN_TRY(walk->block(walk, child, from));
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
    LN_TRY(walk->block(walk, child, from));
    path.refs[--level] = child;
    path.entries[level] = 0;
  }
  return 0;
}
#endif

#endif
