/* Numbers in lines of text, without stdio. */
#ifndef LUNAR_LINES_H
#define LUNAR_LINES_H

#include <stdint.h>

/* Prints text and blanks up to the width. */
void print_left(void (*print)(const char* text), const char* text, uint32_t width);
/* Prints blanks up to the width first. */
void print_integer(void (*print)(const char* text), int64_t number, int width);
/* Prints sum / things, rounded to two decimals; 0.00 for 0 things. */
void print_ratio(void (*print)(const char* text), uint64_t sum, uint64_t things, int width);

#endif
