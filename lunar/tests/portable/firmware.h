/* The program of an emulated board: portable tests and YCSB on its disk, YCSB over RAM, and the RAM use. */
#ifndef LUNAR_FIRMWARE_H
#define LUNAR_FIRMWARE_H

/* Returns the number of failed parts. */
int firmware_main(void);

#endif
