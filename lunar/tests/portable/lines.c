#include "lines.h"

#include <string.h>

enum { CHARACTERS = 32 };

static char* digits(char* end, uint64_t number) {
  do *--end = (char)('0' + number % 10);
  while (number /= 10);
  return end;
}

static void print_padded(void (*print)(const char* text), const char* text, int characters, int width) {
  for (; characters < width; characters++) print(" ");
  print(text);
}

void print_left(void (*print)(const char* text), const char* text, uint32_t width) {
  print(text);
  for (uint32_t i = (uint32_t)strlen(text); i < width; i++) print(" ");
}

void print_integer(void (*print)(const char* text), int64_t number, int width) {
  char text[CHARACTERS];
  char* const end = text + CHARACTERS - 1;
  *end = 0;
  char* at = digits(end, number < 0 ? 0u - (uint64_t)number : (uint64_t)number);
  if (number < 0) *--at = '-';
  print_padded(print, at, (int)(end - at), width);
}

void print_ratio(void (*print)(const char* text), uint64_t sum, uint64_t things, int width) {
  char text[CHARACTERS];
  char* const end = text + CHARACTERS - 1;
  const uint64_t hundredths = things ? (sum * 100 + things / 2) / things : 0;
  *end = 0;
  digits(end, 100 + hundredths % 100);
  end[-3] = '.';
  char* const at = digits(end - 3, hundredths / 100);
  print_padded(print, at, (int)(end - at), width);
}
