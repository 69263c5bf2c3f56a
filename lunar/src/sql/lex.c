/* Splits the text of a statement into tokens. */
#include "sql.h"

#if LUNAR_WITH_SQL

enum { LETTER = 1, DIGIT = 2, SPACE = 4, SCALE_MAX = 400 };

static int is_digit(char c) { return c >= '0' && c <= '9'; }
static char upper(char c) { return c >= 'a' && c <= 'z' ? (char)(c - 32) : c; }

/* Returns LETTER, DIGIT, SPACE or 0. Bytes above 127 belong to characters of UTF-8, which all count as letters. */
static int kind_of(char c) {
  const char up = upper(c);
  if ((up >= 'A' && up <= 'Z') || c == '_' || (uint8_t)c > 127) return LETTER;
  if (is_digit(c)) return DIGIT;
  return c == ' ' || (c >= '\t' && c <= '\r') ? SPACE : 0;
}

/* Skips characters of these kinds and returns the place behind them. */
static const char* behind(const char* p, const char* end, int kinds) {
  while (p < end && kind_of(*p) & kinds) p++;
  return p;
}

int ln_sql_same(const char* a, uint32_t a_bytes, const char* b, int exact) {
  for (uint32_t i = 0; i < a_bytes; i++)
    if (b[i] == 0 || (exact ? a[i] != b[i] : upper(a[i]) != upper(b[i]))) return 0;
  return b[a_bytes] == 0;
}

static uint8_t keyword(const char* text, uint32_t bytes) {
#define WORD(word) #word "\0"
  static const char keywords[] = LN_RESERVED(WORD) LN_UNRESERVED(WORD) LN_TYPES(WORD);
#undef WORD
  uint8_t kind = LN_KEYWORDS_BEFORE + 1;
  for (const char* word = keywords; *word; word += strlen(word) + 1, kind++)
    if (ln_sql_same(text, bytes, word, 0)) return kind;
  return LN_T_NAME;
}

/* Returns the place behind the quoted text that begins at p, NULL if its end is missing. Two quotes within the text
 * stand for one. */
static const char* quoted(const char* p, const char* end) {
  const char quote = *p++;
  for (; p < end; p++)
    if (*p == quote) {
      if (p + 1 == end || p[1] != quote) return p + 1;
      p++;
    }
  return NULL;
}

/* Returns the place behind space and comments. A comment that is not closed extends to the end, as in SQLite. */
static const char* skipped(const char* p, const char* end) {
  for (;;) {
    p = behind(p, end, SPACE);
    const int line = end - p > 1 && p[0] == '-' && p[1] == '-';
    if (!line && !(end - p > 1 && p[0] == '/' && p[1] == '*')) return p;
    for (p += 2; p < end; p++) {
      if (line ? *p == '\n' : *p == '*' && end - p > 1 && p[1] == '/') {
        p += 2 - line;
        break;
      }
    }
  }
}

void ln_sql_next(struct ln_token* token, const char* end) {
  LUNAR_ASSERT(token->text && token->text <= end);
  const char *from = skipped(token->text + token->bytes, end), *p = from + 1;
  const char c = from < end ? *from : 0, second = end - from > 1 ? *p : 0;
  const int blob = upper(c) == 'X' && second == '\'';
  uint8_t kind = (uint8_t)c;
  token->text = from;
  if (!c && p >= end) { /* a final zero counts as the end */
    p = from;
    kind = LN_T_END;
  } else if (blob || c == '\'' || c == '"' || c == '`') {
    p = quoted(from + blob, end);
    kind = c == '\'' ? LN_T_STRING : LN_T_QUOTED;
    if (blob) kind = LN_T_BLOB;
    if (!p) {
      p = end;
      kind = LN_T_BAD;
    }
  } else if (behind(from, p, LETTER) == p) {
    p = behind(p, end, LETTER | DIGIT);
    kind = keyword(from, (uint32_t)(p - from));
  } else if (is_digit(c) || (c == '.' && is_digit(second))) {
    struct lunar_value value;
    const char* number = from + ln_sql_number(from, (uint32_t)(end - from), &value);
    p = behind(number, end, LETTER | DIGIT);
    kind = p == number ? LN_T_NUMBER : LN_T_BAD;
  } else if (c == '?' || c == ':') {
    p = behind(p, end, c == '?' ? DIGIT : LETTER | DIGIT);
    kind = c == ':' && (p == from + 1 || is_digit(second)) ? LN_T_BAD : LN_T_PARAMETER;
  } else {
    static const char two[] = "===<=l>=g<>n!=n";
    for (const char* t = two; *t; t += 3)
      if (c == t[0] && second == t[1]) {
        kind = (uint8_t)t[2];
        p = from + 2;
      }
    if (p == from + 1 && (!c || !strchr("()*+,-;<=>", c))) kind = LN_T_BAD;
  }
  token->kind = kind;
  token->bytes = (uint32_t)(p - from);
}

/* Returns digits * 10^scale. Digits below 2^53 and powers up to 10^22 are exact doubles, so that one operation rounds
 * only once (W. Clinger, PLDI 1990). Otherwise a mantissa of 64 bits is repeatedly multiplied or divided by 10^8. The
 * error stays below a tenth of half a unit in the last place of the double, so a double that was written with 17 digits
 * is read back as the same double. */
static double scaled(uint64_t digits, int32_t scale) {
  LUNAR_ASSERT(scale >= -SCALE_MAX && scale <= SCALE_MAX);
  int32_t exponent = 0;
  double number = (double)digits, power = 1;
  if (digits >> 53 == 0 && scale >= -22 && scale <= 22) {
    for (int32_t i = scale < 0 ? -scale : scale; i; i--) power *= 10;
    return scale < 0 ? number / power : number * power;
  }
  for (; !(digits >> 63); digits <<= 1) exponent--;
  while (scale) {
    const int divides = scale < 0;
    uint32_t factor = 1, low = 0;
    for (uint32_t i = 0; i < 8 && scale; i++, scale += divides ? 1 : -1) factor *= 10;
    if (divides) {
      uint64_t rest = digits % factor;
      digits /= factor;
      for (; !(digits >> 63); digits <<= 1, rest <<= 1) exponent--;
      digits += rest / factor;
    } else {
      const uint64_t below = (digits & UINT32_MAX) * factor;
      digits = (digits >> 32) * factor + (below >> 32);
      exponent += 32;
      for (low = (uint32_t)below; !(digits >> 63); low <<= 1, exponent--) digits = digits << 1 | low >> 31;
    }
  }
  number = (double)digits;
  for (; exponent > 0; exponent--) number *= 2;
  for (; exponent < -1000; exponent++) power /= 2; /* a result below 2^-1022 loses bits only in the last line */
  for (; exponent < 0; exponent++) number /= 2;
  return number * power;
}

uint32_t ln_sql_number(const char* text, uint32_t bytes, struct lunar_value* value) {
  LUNAR_ASSERT(text || bytes == 0);
  uint64_t digits = 0;
  int32_t scale = 0;
  uint32_t i = 0, seen = 0;
  uint8_t real = 0;
  for (; i < bytes; i++) {
    if (text[i] == '.' && !real) {
      real = 1;
    } else if (is_digit(text[i])) {
      seen = 1;
      if (digits < (UINT64_MAX - 9) / 10) {
        digits = 10 * digits + (uint64_t)(text[i] - '0');
        scale -= real;
      } else {
        scale += !real;
      }
    } else {
      break;
    }
  }
  if (!seen) return 0;
  uint32_t k = i + 1;
  if (i < bytes && upper(text[i]) == 'E') {
    const int minus = k < bytes && text[k] == '-';
    int32_t exponent = 0;
    if (k < bytes && (minus || text[k] == '+')) k++;
    if (k < bytes && is_digit(text[k])) {
      for (; k < bytes && is_digit(text[k]); k++)
        if (exponent < 10000) exponent = 10 * exponent + (text[k] - '0');
      scale += minus ? -exponent : exponent;
      i = k;
      real = 1;
    }
  }
  *value = (struct lunar_value){.type = LUNAR_INT64};
  value->as.integer = (int64_t)digits;
  if (!real && !scale && digits <= INT64_MAX) return i;
  value->type = LUNAR_REAL;
  if (digits == 0) return i; /* 0.0 has the same bits as the integer 0 */
  if (scale > SCALE_MAX) scale = SCALE_MAX;
  if (scale < -SCALE_MAX) scale = -SCALE_MAX;
  value->as.real = scaled(digits, scale);
  return i;
}

#endif
