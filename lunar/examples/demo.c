/* What lunar is for: a logger writes rows to a card, the power goes in the midst of it, and every row that was
 * acknowledged is there again. Then the same card, as an image file, in another program's hands.
 *
 * The card is simulated: at a cut any of the sectors that were not flushed are lost, and one may be torn.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "card.h"
#include "emubd.h"
#include "lunar.h"
#include "posix.h"

enum { SECTOR_BYTES = 512, SECTORS = 16384, CUTS = 25, PICTURE_BYTES = 4096, MEASURED_ROWS = 200 };

static void* buffer[16 * 1024 / sizeof(void*)];
static struct emubd card;
static struct card model;
static struct lunar_config config;
static struct lunar db;
static struct lunar_table table;
static uint64_t random_state;
static uint8_t picture[PICTURE_BYTES], row[PICTURE_BYTES + 64];

static void stop(const char* what, int error) {
  fprintf(stderr, "demo: %s: %s\n", what, lunar_error_text(error));
  exit(1);
}

static void must(const char* what, int error) {
  if (error) stop(what, error);
}

static uint32_t draw(uint32_t below) {
  random_state = random_state * 6364136223846793005u + 1442695040888963407u;
  return (uint32_t)(random_state >> 33) % below;
}

static double celsius_at(int64_t time) { return 20 + (double)(time % 17) / 4; }

/* Every fourth reading has a picture. */
static uint32_t picture_bytes_at(int64_t time) { return time % 4 ? 0 : PICTURE_BYTES; }

static int log_row(int64_t time, uint32_t picture_bytes) {
  memset(picture, (int)(time & 0xff), sizeof picture);
  const struct lunar_value values[] = {
      {.type = LUNAR_INT64, .as.integer = time},
      {.type = LUNAR_TEXT, .bytes = 6, .as.data = "boiler"},
      {.type = LUNAR_REAL, .as.real = celsius_at(time)},
      {.type = LUNAR_BLOB, .bytes = picture_bytes, .as.data = picture},
  };
  return lunar_insert(&table, values);
}

/* Rows 0, 1, 2 ... until the first that is not there; any with another content ends the demo. */
static int64_t rows_found(void) {
  struct lunar_value key = {.type = LUNAR_INT64}, values[4];
  for (;; key.as.integer++) {
    const int64_t time = key.as.integer;
    const int error = lunar_get(&table, &key, row, sizeof row, values);
    if (error == LUNAR_E_NOT_FOUND) return time;
    must("reading a row", error);
    const uint8_t* bytes = values[3].as.data;
    if (values[2].as.real < celsius_at(time) || values[2].as.real > celsius_at(time) ||
        values[3].bytes != picture_bytes_at(time) || (values[3].bytes && bytes[PICTURE_BYTES - 1] != (uint8_t)time))
      stop("a row differs from what was logged", LUNAR_E_CORRUPT);
  }
}

static void mount_and_open(void) {
  must("mount", lunar_mount(&db, &config));
  must("opening the table", lunar_table_open(&db, "readings", &table));
}

static void make_card(void) {
  static const struct lunar_schema schema = {.columns = {{"time", LUNAR_INT64, 0},
                                                         {"sensor", LUNAR_TEXT, 0},
                                                         {"celsius", LUNAR_REAL, 0},
                                                         {"picture", LUNAR_BLOB, 0}},
                                             .column_count = 4};
  if (emubd_open(&card, SECTOR_BYTES, SECTORS)) stop("memory", LUNAR_E_BUFFER);
  emubd_config(&card, &config);
  config.buffer = buffer, config.buffer_bytes = sizeof buffer, config.mode = LUNAR_MODE_FULL;
  must("format", lunar_format(&config));
  must("mount", lunar_mount(&db, &config));
  must("creating the table", lunar_table_create(&db, "readings", &schema));
  must("opening the table", lunar_table_open(&db, "readings", &table));
}

static int64_t log_through_cuts(void) {
  int64_t rows = 0, under_way = 0;
  uint64_t lost = 0;
  for (int cut = 0; cut < CUTS; cut++) {
    emubd_reset(&card);
    card.cut_at = 1 + draw(300);
    while (log_row(rows, picture_bytes_at(rows)) == 0) rows++;
    lost += card.unsynced_count;
    emubd_cut(&card, &random_state, draw(257), draw(2) ? 64 : 0);
    mount_and_open();
    const int64_t found = rows_found();
    if (found != rows && found != rows + 1) stop("an acknowledged row is gone", LUNAR_E_CORRUPT);
    under_way += found - rows;
    rows = found;
  }
  printf("The power went %d times in the midst of a write, with %" PRIu64 " sectors on the way to the card.\n", CUTS,
         lost);
  printf("Every acknowledged row was there each time: %" PRId64 " rows (%" PRId64 " had arrived unacknowledged).\n\n",
         rows, under_way);
  return rows;
}

/* Logs rows with so much RAM for the buffer, and prints what one costs. */
static int64_t measure(int64_t rows, uint32_t picture_bytes, size_t buffer_bytes) {
  must("unmount", lunar_unmount(&db));
  config.buffer_bytes = buffer_bytes;
  mount_and_open();
  card_start(&model, &card_sandisk_ultra);
  card.card = &model;
  for (int i = 0; i < MEASURED_ROWS; i++, rows++) must("logging a row", log_row(rows, picture_bytes));
  card.card = NULL;
  printf("%-23s %8zu %14.0f %8.2f %12.1f %8.1f\n", picture_bytes ? "22 bytes and a picture" : "22 bytes", buffer_bytes,
         (double)model.bytes_written / MEASURED_ROWS, (double)model.flushes / MEASURED_ROWS,
         model.time_ns / MEASURED_ROWS / 1e6, card_energy_j(&model) / MEASURED_ROWS * 1e3);
  return rows;
}

static void measure_all(int64_t rows) {
  printf("%-23s %8s %14s %8s %12s %8s\n", "a durable row", "buffer", "bytes written", "flushes", "card ms", "card mJ");
  for (uint32_t picture_bytes = 0; picture_bytes <= PICTURE_BYTES; picture_bytes += PICTURE_BYTES) {
    rows = measure(rows, picture_bytes, LUNAR_BUFFER_BYTES_MIN(SECTOR_BYTES));
    rows = measure(rows, picture_bytes, sizeof buffer);
  }
  printf("(A picture has 4096 bytes. Milliseconds and millijoules are modelled: bd/card_parameters.c)\n");
}

static void save(const char* path) {
  FILE* image = fopen(path, "wb");
  if (!image || fwrite(card.sectors, SECTOR_BYTES, SECTORS, image) != SECTORS || fclose(image)) {
    perror(path);
    exit(1);
  }
}

static void read_image(const char* path) {
  struct lunar_posix file;
  struct lunar_findings found;
  config = (struct lunar_config){.sector_bytes = SECTOR_BYTES, .buffer = buffer, .buffer_bytes = sizeof buffer};
  if (lunar_posix_open(&file, &config, path, 0)) {
    perror(path);
    exit(1);
  }
  mount_and_open();
  must("check", lunar_check(&db, &found));
  printf("\n%s, the card's content after a last cut: %" PRIu64 " rows, nothing damaged.\n", path, found.rows);
  must("unmount", lunar_unmount(&db));
  lunar_posix_close(&file);
}

int main(int argc, char** argv) {
  const char* path = argc > 1 ? argv[1] : "demo.img";
  const char* seed = getenv("LUNAR_SEED");
  random_state = seed ? strtoull(seed, NULL, 10) : (uint64_t)time(NULL);
  printf("A logger on a card of %d MB: each row durable when it is acknowledged (LUNAR_SEED=%" PRIu64 ").\n",
         SECTORS / 2048, random_state);
  printf("RAM: buffer %zu, handle %zu, table %zu bytes, and some stack.\n\n", sizeof buffer, sizeof db, sizeof table);
  make_card();
  measure_all(log_through_cuts());
  emubd_cut(&card, &random_state, 0, 0);
  save(path);
  read_image(path);
  emubd_close(&card);
  return 0;
}
