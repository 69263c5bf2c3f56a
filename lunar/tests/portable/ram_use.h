/* The RAM that an operation needs: painted stack, handle, buffer. */
#ifndef LUNAR_RAM_USE_H
#define LUNAR_RAM_USE_H

#include "lunar.h"

struct ram_use {
  const char* operation;
  uint32_t stack_bytes; /* the most that any of its runs needed, from the call on, the device's callbacks included */
};
enum { RAM_USES = 10 };

/* Runs each class of operations on the device with the smallest buffer in mode full. 0, or the error of the first call
 * that failed. */
LUNAR_MUST_CHECK int measure_ram_use(const struct lunar_config* device, struct ram_use uses[RAM_USES]);

#endif
