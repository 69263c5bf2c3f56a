/* The blocks of a table in their order. It reads the library's own structures, which C++ cannot include. */
#ifndef LUNAR_BLOCK_WALK_H
#define LUNAR_BLOCK_WALK_H

#include "lunar.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Calls visit with each block's first sector and number of sectors. 0, or an error of lunar's. */
int lunar_block_walk(struct lunar_table* table, void (*visit)(void* context, uint32_t sector, uint32_t sectors),
                     void* context);

#ifdef __cplusplus
}
#endif
#endif
