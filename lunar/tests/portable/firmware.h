/* What an emulated board runs: the portable tests and YCSB on its disk, YCSB over RAM, and the RAM that is needed. */
#ifndef LUNAR_FIRMWARE_H
#define LUNAR_FIRMWARE_H

/* 0, or how many parts failed. */
int firmware_main(void);

#endif
