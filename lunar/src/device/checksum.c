/* XXH32 in pieces, as its public specification defines it. The tests use the specification's own values. */
#include "device.h"

enum { STRIPE = 16 };
static const uint32_t P1 = 2654435761u, P2 = 2246822519u, P3 = 3266489917u, P4 = 668265263u, P5 = 374761393u;

static uint32_t rotate(uint32_t v, unsigned bits) { return v << bits | v >> (32 - bits); }

static uint32_t lane_round(uint32_t lane, uint32_t input) { return rotate(lane + input * P2, 13) * P1; }

static void stripe(uint32_t lanes[4], const uint8_t* p) {
  for (unsigned i = 0; i < 4; i++) lanes[i] = lane_round(lanes[i], ln_load32(p + 4 * i));
}

void ln_sum_begin(struct ln_sum* sum, uint32_t seed) {
  sum->lanes[0] = seed + P1 + P2;
  sum->lanes[1] = seed + P2;
  sum->lanes[2] = seed;
  sum->lanes[3] = seed - P1;
  sum->bytes = 0;
  sum->seed = seed;
}

void ln_sum_add(struct ln_sum* sum, const void* data, size_t bytes) {
  LUNAR_ASSERT(data || bytes == 0);
  const uint8_t* p = data;
  if (!bytes) return; /* data may be NULL then */
  const uint32_t held = sum->bytes % STRIPE;
  sum->bytes += (uint32_t)bytes;
  if (held) {
    const size_t taken = bytes < STRIPE - held ? bytes : STRIPE - held;
    memcpy(sum->rest + held, p, taken);
    p += taken;
    bytes -= taken;
    if (held + taken < STRIPE) return;
    stripe(sum->lanes, sum->rest);
  }
  for (; bytes >= STRIPE; p += STRIPE, bytes -= STRIPE) stripe(sum->lanes, p);
  memcpy(sum->rest, p, bytes);
}

uint32_t ln_sum_end(const struct ln_sum* sum) {
  const uint32_t* l = sum->lanes;
  uint32_t h =
      sum->bytes < STRIPE ? sum->seed + P5 : rotate(l[0], 1) + rotate(l[1], 7) + rotate(l[2], 12) + rotate(l[3], 18);
  h += sum->bytes;
  const uint8_t* p = sum->rest;
  uint32_t left = sum->bytes % STRIPE;
  for (; left >= 4; p += 4, left -= 4) h = rotate(h + ln_load32(p) * P3, 17) * P4;
  for (; left; p++, left--) h = rotate(h + *p * P5, 11) * P1;
  h = (h ^ h >> 15) * P2;
  h = (h ^ h >> 13) * P3;
  return h ^ h >> 16;
}

uint32_t ln_checksum(uint32_t seed, const void* data, size_t bytes) {
  struct ln_sum sum;
  ln_sum_begin(&sum, seed);
  ln_sum_add(&sum, data, bytes);
  return ln_sum_end(&sum);
}
