/* A model of an SD card: what each request costs in time and energy, on a virtual clock.
 *
 * A write is charged in whole pages, and more when it does not continue one of the positions that the card holds open.
 * Reads are charged by the byte. The processor's time is not in it. emubd charges a card when it has one; a recorded
 * trace of another program's block requests is charged by the same functions.
 */
#ifndef LUNAR_CARD_H
#define LUNAR_CARD_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

enum { CARD_POSITIONS_MAX = 64 };

struct card_parameters {
  uint32_t page_bytes;
  uint32_t open_positions; /* at most CARD_POSITIONS_MAX */
  double read_request_ns, read_byte_ns;
  double write_request_ns, write_byte_ns;
  double write_random_ns; /* once per request that continues no open position */
  double flush_ns;
  double read_w, write_w; /* while a request is served; a flush counts as a write */
  double idle_w;          /* all the time, in addition */
};

/* The 64 GB SanDisk Ultra of the board paper. card_parameters.c names each figure's source. */
extern const struct card_parameters card_sandisk_ultra;

#ifdef __cplusplus
}
#endif
#endif
