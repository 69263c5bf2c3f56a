/* XXH32 (the public specification), at once or in pieces. */
#ifndef LUNAR_CHECKSUM_H
#define LUNAR_CHECKSUM_H

#include <stddef.h>
#include <stdint.h>

struct ln_sum {
  uint32_t lanes[4];
  uint32_t bytes, seed;
  uint8_t rest[16];
};
void ln_sum_begin(struct ln_sum* sum, uint32_t seed);
void ln_sum_add(struct ln_sum* sum, const void* data, size_t bytes);
uint32_t ln_sum_end(const struct ln_sum* sum);
uint32_t ln_checksum(uint32_t seed, const void* data, size_t bytes);

#endif
