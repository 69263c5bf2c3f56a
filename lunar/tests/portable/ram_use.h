/* The RAM that an operation needs: painted stack, handle, buffer. */
#ifndef LUNAR_RAM_USE_H
#define LUNAR_RAM_USE_H

#include "lunar.h"

struct ram_use {
  const char* operation;
  uint32_t stack_bytes; /* maximum of its runs from the call on, with the device's callbacks; 0: not in this build */
};
enum { RAM_USES = 20 };

/* Runs each operation on the device in lives of tables: every index of the build, with the smallest buffer in mode full
 * and with the device's buffer in mode metadata, on a full device, with a full log, after damage. Returns the first
 * error, or 0. */
LUNAR_MUST_CHECK int measure_ram_use(const struct lunar_config* device, struct ram_use uses[RAM_USES]);

#endif
