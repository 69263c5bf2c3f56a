/* A simulated device: sectors in RAM, what a power cut would take, and injected failures. For tests and the card model.
 *
 * What was written but not synced is kept apart, request by request: a cut keeps any subset of those sectors, the last
 * of them torn where the device promises no atomic sector.
 */
#ifndef LUNAR_EMUBD_H
#define LUNAR_EMUBD_H

#include "card.h"
#include "lunar.h"

#ifdef __cplusplus
extern "C" {
#endif

struct emubd_write { /* an unsynced sector with its previous contents */
  uint32_t sector;
  uint8_t bad; /* before this write */
  uint8_t* old;
};

enum emubd_bad {
  EMUBD_BAD_READ = 1,
  EMUBD_BAD_WRITE = 2,
  EMUBD_HEALS = 4 /* a write that no cut takes away makes it readable again */
};

struct emubd {
  uint32_t sector_bytes, sector_count;
  uint8_t* sectors;
  struct emubd_write* unsynced;
  uint32_t unsynced_count, unsynced_max;
  /* The sectors that changed since the device became a copy, or gave one, by emubd_update_copy; each once. */
  uint32_t* changed;
  uint8_t* is_changed;
  uint32_t changed_count;
  /* counters */
  uint64_t reads, writes, syncs, sectors_read, sectors_written;
  /* failures: the call with this number (from 1, of all calls since emubd_reset) fails; 0: none */
  uint64_t calls, fail_at;
  uint64_t fail_until;       /* all calls from fail_at to this one */
  uint8_t failed_request;    /* the last one that failed: enum lunar_request */
  uint32_t failed_sector;    /* its first sector */
  uint8_t failing_write_256; /* so much of a failing write reaches the medium nevertheless, in 256ths of its sectors */
  uint8_t* bad;              /* per sector: enum emubd_bad */
  uint64_t cut_at;           /* writes and syncs from this one on fail: the power is gone */
  uint64_t changes;          /* writes and syncs so far */
  uint8_t syncing;           /* for before_change: it is a sync */
  uint8_t ignore_sync;       /* the device lies */
  uint8_t careless;          /* nothing is kept for a cut: for measurements */
  void (*before_change)(void* context); /* called before every write and sync; NULL: not */
  void* before_change_context;
  struct lunar* mounted; /* gone with the RAM at a cut: see lunar_config */
  struct card* card;     /* is charged with every request; NULL: none */
};

/* Allocates with malloc. Returns 0, or -1 if out of memory. */
int emubd_open(struct emubd* bd, uint32_t sector_bytes, uint32_t sector_count);
void emubd_close(struct emubd* bd);
/* Sets sectors, callbacks and context of a configuration. */
void emubd_config(struct emubd* bd, struct lunar_config* config);
/* Takes the power away: each unsynced sector keeps its new content with the given chance in 256, else gets back its old
 * one; torn_bytes not 0: one of the sectors that stay is torn at a multiple of it. Then the power is back. */
void emubd_cut(struct emubd* bd, uint64_t* random, unsigned survive_256, uint32_t torn_bytes);
/* Takes the power away: the unsynced sector number i keeps its new content where stays[i] is not 0. */
void emubd_cut_to(struct emubd* bd, const uint8_t* stays);
/* The other device's content, and what a cut would take of it; both have the same size. 0, or -1: no memory. */
int emubd_copy(struct emubd* bd, const struct emubd* from);
/* The same for a bd that is a copy of from already: copies only what one of the two has changed since then. from may
 * have one such copy. */
int emubd_update_copy(struct emubd* bd, struct emubd* from);
/* Requests that touch the sector fail from now on, as the bits of enum emubd_bad say; 0 heals it. */
void emubd_set_bad(struct emubd* bd, uint32_t sector, uint8_t bad);
/* A fresh series of numbers for fail_at and cut_at; failures off. */
void emubd_reset(struct emubd* bd);

#ifdef __cplusplus
}
#endif
#endif
