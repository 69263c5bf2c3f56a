/* A model of an SD card: what each request costs in time and energy, on a virtual clock.
 *
 * A write is charged in whole pages, and more when it does not continue one of the positions that the card holds open.
 * Reads are charged by the byte. The processor's time is not in it. emubd charges a card when it has one; a recorded
 * trace of another program's block requests is charged by the same functions.
 */
#ifndef LUNAR_CARD_H
#define LUNAR_CARD_H

#include <stdint.h>
#include <stdio.h>

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

struct card_position {
  uint64_t next; /* byte where a write continues it */
  uint64_t used; /* 0: never */
};

struct card {
  struct card_parameters parameters;
  double time_ns, busy_j;
  uint64_t reads, writes, flushes, random_writes;
  uint64_t bytes_read, bytes_written, pages_written;
  struct card_position positions[CARD_POSITIONS_MAX];
  uint64_t clock;
};

/* A card that has served nothing yet, at time 0. */
void card_start(struct card* card, const struct card_parameters* parameters);
void card_read(struct card* card, uint64_t byte, uint64_t bytes);
void card_write(struct card* card, uint64_t byte, uint64_t bytes);
void card_flush(struct card* card);
/* Time passes in which nothing is asked of the card. */
void card_wait(struct card* card, double ns);
/* Joules so far. */
double card_energy_j(const struct card* card);
/* Charges the requests of a text file, one per line: `R sector count`, `W sector count` (sectors of 512 bytes), `F`.
 * Returns 0, or -1 if line_number is not a request or cannot be read. */
int card_replay(struct card* card, FILE* trace, uint64_t* line_number);

#ifdef __cplusplus
}
#endif
#endif
