/* A data logger: `logger card.img` appends ten readings to a ring of a day's, each durable when it returns. The plug
 * may be pulled at any moment. */
#include <stdio.h>
#include <string.h>

#include "lunar.h"
#include "posix.h"

static void* buffer[LUNAR_BUFFER_BYTES_MIN(512) / sizeof(void*)];
static const struct lunar_schema schema = {.columns = {{"time", LUNAR_INT64, 0}, {"celsius", LUNAR_REAL, 0}},
                                           .column_count = 2,
                                           .ring = LUNAR_RING_ROWS,
                                           .ring_limit = 24 * 60 * 60};

/* Behind the newest reading: the number of rows would not do, a full ring keeps it. */
static int next_time(struct lunar_table* table, int64_t* time) {
  struct lunar_cursor cursor;
  struct lunar_value values[2];
  uint8_t row[32];
  int error = lunar_cursor_open(&cursor, table, NULL, NULL, 1);
  if (!error) error = lunar_cursor_next(&cursor, row, sizeof row, values);
  lunar_cursor_close(&cursor);
  *time = error ? 0 : values[0].as.integer + 1;
  return error == LUNAR_E_NOT_FOUND ? 0 : error;
}

static int log_readings(struct lunar* db, struct lunar_table* table) {
  uint64_t rows;
  int64_t time = 0;
  int error = lunar_table_open(db, "readings", table);
  if (error == LUNAR_E_NO_TABLE) error = lunar_table_create(db, "readings", &schema);
  if (!error) error = lunar_table_open(db, "readings", table);
  if (!error) error = next_time(table, &time);
  for (int64_t end = time + 10; !error && time < end; time++) {
    const struct lunar_value row[] = {{.type = LUNAR_INT64, .as.integer = time},
                                      {.type = LUNAR_REAL, .as.real = 20 + (double)(time % 7) / 10}};
    error = lunar_insert(table, row);
  }
  if (!error) error = lunar_count(table, &rows);
  if (!error) printf("%llu readings\n", (unsigned long long)rows);
  return error;
}

int main(int argc, char** argv) {
  struct lunar_config config = {
      .sector_bytes = 512, .buffer = buffer, .buffer_bytes = sizeof buffer, .mode = LUNAR_MODE_FULL};
  struct lunar_posix card;
  struct lunar db;
  struct lunar_table table;
  if (argc != 2) return fputs("usage: logger CARD_OR_IMAGE\n", stderr), 2;
  int error = lunar_posix_open(&card, &config, argv[1], 0);
  if (error) return fprintf(stderr, "%s: %s\n", argv[1], strerror(error)), 2;
  error = lunar_mount(&db, &config);
  if (error == LUNAR_E_NO_VOLUME && (error = lunar_format(&config)) == 0) error = lunar_mount(&db, &config);
  if (!error) error = log_readings(&db, &table);
  if (!error) error = lunar_unmount(&db);
  if (error) fprintf(stderr, "%s: %s\n", argv[1], lunar_error_text(error));
  lunar_posix_close(&card);
  return error != 0;
}
