/* The YCSB runs of the paper (its section 4.3), small: rows of an 8-byte key and five columns of 100 bytes; a load,
 * then mixes of updates of one column and reads of whole rows, with zipfian keys of skew 0, 0.5 and 1.
 *
 * Integer arithmetic and an included generator give the same operations on every machine.
 */
#ifndef LUNAR_YCSB_H
#define LUNAR_YCSB_H

#include "lunar.h"

enum { YCSB_ROWS = 1000, YCSB_OPERATIONS = 400, YCSB_SECTORS = 6144 };

struct ycsb_phase {
  const char* name; /* "load", or "90/10 skew 0.5": percent written and read, and the skew */
  uint32_t operations;
  uint32_t sectors_read, sectors_written, flushes;
  uint64_t instructions;
};
enum { YCSB_PHASES = 13 };

/* Formats YCSB_SECTORS of the device and runs; each phase ends with a sync. instructions NULL: none are counted.
 * Returns the first error, or 0. */
LUNAR_MUST_CHECK int ycsb_run(const struct lunar_config* device, enum lunar_mode mode, uint64_t (*instructions)(void),
                              struct ycsb_phase phases[YCSB_PHASES]);

const char* ycsb_mode_name(enum lunar_mode mode);

#endif
