#include "card.h"

#include <string.h>

enum { SECTOR_BYTES = 512 };

void card_start(struct card* card, const struct card_parameters* parameters) {
  memset(card, 0, sizeof *card);
  card->parameters = *parameters;
}

static void busy(struct card* card, double ns, double watts) {
  card->time_ns += ns;
  card->busy_j += ns * 1e-9 * watts;
}

void card_read(struct card* card, uint64_t byte, uint64_t bytes) {
  (void)byte;
  const struct card_parameters* p = &card->parameters;
  card->reads++, card->bytes_read += bytes;
  busy(card, p->read_request_ns + (double)bytes * p->read_byte_ns, p->read_w);
}

/* Takes the open position that the request continues, or else the one that was used longest ago. */
static int continues(struct card* card, uint64_t byte, uint64_t bytes) {
  uint32_t oldest = 0, i;
  for (i = 0; i < card->parameters.open_positions; i++) {
    if (card->positions[i].used && card->positions[i].next == byte) break;
    if (card->positions[i].used < card->positions[oldest].used) oldest = i;
  }
  const int found = i < card->parameters.open_positions;
  struct card_position* position = &card->positions[found ? i : oldest];
  position->next = byte + bytes;
  position->used = ++card->clock;
  return found;
}

void card_write(struct card* card, uint64_t byte, uint64_t bytes) {
  const struct card_parameters* p = &card->parameters;
  const uint64_t first = byte / p->page_bytes, end = (byte + bytes + p->page_bytes - 1) / p->page_bytes;
  const int random = !continues(card, byte, bytes);
  card->writes++, card->bytes_written += bytes;
  card->pages_written += end - first, card->random_writes += (uint64_t)random;
  busy(card,
       p->write_request_ns + (double)((end - first) * p->page_bytes) * p->write_byte_ns +
           (random ? p->write_random_ns : 0),
       p->write_w);
}

void card_flush(struct card* card) {
  card->flushes++;
  busy(card, card->parameters.flush_ns, card->parameters.write_w);
}

void card_wait(struct card* card, double ns) { card->time_ns += ns; }

double card_energy_j(const struct card* card) { return card->busy_j + card->time_ns * 1e-9 * card->parameters.idle_w; }

int card_replay(struct card* card, FILE* trace, uint64_t* line_number) {
  char line[64], kind;
  unsigned long long sector, count;
  for (*line_number = 1; fgets(line, sizeof line, trace); ++*line_number) {
    const int fields = sscanf(line, "%c %llu %llu", &kind, &sector, &count);
    if (fields == 3 && kind == 'R')
      card_read(card, sector * SECTOR_BYTES, count * SECTOR_BYTES);
    else if (fields == 3 && kind == 'W')
      card_write(card, sector * SECTOR_BYTES, count * SECTOR_BYTES);
    else if (fields == 1 && kind == 'F')
      card_flush(card);
    else
      return -1;
  }
  return ferror(trace) ? -1 : 0;
}
