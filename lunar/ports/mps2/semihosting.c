#include "semihosting.h"

#include <string.h>

enum { OPEN = 0x01, WRITE = 0x05, READ = 0x06, SEEK = 0x0a, LENGTH = 0x0c, COMMAND_LINE = 0x15, EXIT = 0x18 };
enum { MODE_READ_WRITE_BINARY = 3, APPLICATION_EXIT = 0x20026, RUN_TIME_ERROR = 0x20023, LINE_BYTES = 256 };

static uint32_t call(uint32_t operation, const void* arguments) {
  register uint32_t r0 __asm__("r0") = operation;
  register const void* r1 __asm__("r1") = arguments;
  __asm__ volatile("bkpt 0xab" : "+r"(r0) : "r"(r1) : "memory");
  return r0;
}

static uint32_t address(const void* pointer) { return (uint32_t)(uintptr_t)pointer; }

int semihosting_argument(int number, char* word, uint32_t word_bytes) {
  char line[LINE_BYTES];
  const uint32_t arguments[2] = {address(line), sizeof line};
  if (call(COMMAND_LINE, arguments)) return -1;
  const char* from = line;
  for (; number && *from; number--) {
    from += strcspn(from, " ");
    from += *from == ' ';
  }
  const size_t bytes = strcspn(from, " ");
  if (bytes == 0 || bytes >= word_bytes) return -1;
  memcpy(word, from, bytes);
  word[bytes] = 0;
  return 0;
}

static int seek(struct semihosting_disk* disk, uint32_t at) {
  const uint32_t arguments[2] = {disk->handle, at};
  if (disk->at == at) return 0;
  disk->at = at;
  return call(SEEK, arguments) ? -1 : 0;
}

static int transfer(const struct lunar_config* config, uint32_t operation, uint32_t sector, const void* data,
                    uint32_t count) {
  struct semihosting_disk* disk = config->context;
  const uint32_t bytes = count * config->sector_bytes;
  const uint32_t arguments[3] = {disk->handle, address(data), bytes};
  if (seek(disk, sector * config->sector_bytes)) return -1;
  disk->at += bytes;
  return call(operation, arguments) ? -1 : 0; /* how many bytes were left */
}

static int read_sectors(const struct lunar_config* config, uint32_t sector, void* data, uint32_t count) {
  return transfer(config, READ, sector, data, count);
}

static int write_sectors(const struct lunar_config* config, uint32_t sector, const void* data, uint32_t count) {
  return transfer(config, WRITE, sector, data, count);
}

static int sync_device(const struct lunar_config* config) {
  (void)config;
  return 0;
}

int semihosting_open(struct semihosting_disk* disk, struct lunar_config* config, const char* path) {
  const uint32_t arguments[3] = {address(path), MODE_READ_WRITE_BINARY, (uint32_t)strlen(path)};
  *disk = (struct semihosting_disk){.handle = call(OPEN, arguments)};
  if (disk->handle == UINT32_MAX) return -1;
  const uint32_t bytes = call(LENGTH, &disk->handle);
  if (bytes == UINT32_MAX) return -1;
  config->context = disk, config->mounted = &disk->mounted;
  config->read = read_sectors, config->write = write_sectors, config->sync = sync_device;
  config->sector_count = bytes / config->sector_bytes;
  return 0;
}

void semihosting_exit(int failures) {
  for (;;) call(EXIT, (const void*)(uintptr_t)(failures ? RUN_TIME_ERROR : APPLICATION_EXIT));
}
