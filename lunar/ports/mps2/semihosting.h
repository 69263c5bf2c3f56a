/* A file of the host as lunar's device, by Arm semihosting (Semihosting for AArch32 and AArch64, 2.0): for an emulator
 * or a debugger. Semihosting knows no flush: the host's kernel has what was written, its disk may not.
 */
#ifndef LUNAR_SEMIHOSTING_H
#define LUNAR_SEMIHOSTING_H

#include "lunar.h"

struct semihosting_disk {
  uint32_t handle, at; /* at: where the next byte is read or written */
  struct lunar* mounted;
};

/* The word with this number of the command line (0: the program's name). 0, or -1: absent or longer. */
int semihosting_argument(int number, char* word, uint32_t word_bytes);
/* Opens the file and sets callbacks, context and sector_count of config, whose sector_bytes the caller has set. */
LUNAR_MUST_CHECK int semihosting_open(struct semihosting_disk* disk, struct lunar_config* config, const char* path);
_Noreturn void semihosting_exit(int failures);

#endif
