/* The RAM that an operation needs: painted stack, handle, buffer. */
#ifndef LUNAR_RAM_USE_H
#define LUNAR_RAM_USE_H

#include "lunar.h"

struct ram_use {
  const char* operation;
  uint32_t stack_bytes; /* maximum of its runs from the call on, with the device's callbacks */
};
enum { RAM_USES = 10 };

/* Runs each class of operations on the device with the smallest buffer in mode full. Returns the first error, or 0. */
LUNAR_MUST_CHECK int measure_ram_use(const struct lunar_config* device, struct ram_use uses[RAM_USES]);

#endif
