/* Numbers in lines of text, without stdio. */
#ifndef LUNAR_LINES_H
#define LUNAR_LINES_H

#include <stdint.h>

/* Blanks follow, up to the width. */
void print_left(void (*print)(const char* text), const char* text, uint32_t width);
/* width: at least so many characters, blanks first. */
void print_integer(void (*print)(const char* text), int64_t number, int width);
/* Two decimals, rounded: of 0 things 0.00. */
void print_ratio(void (*print)(const char* text), uint64_t sum, uint64_t things, int width);

#endif
