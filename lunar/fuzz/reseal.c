#include "reseal.h"

#include "device/device.h"

enum { SECTOR = 512 };

static uint32_t volume_of(const uint8_t* image) { return ln_get32(image + LN_SUPER_VOLUME); }

static uint32_t page_sum(const uint8_t* image, uint32_t sector) {
  return ln_checksum(volume_of(image) ^ sector, image + (size_t)sector * SECTOR + 4, SECTOR - 4);
}

static uint32_t header_sum(const uint8_t* image, uint32_t sector) {
  return ln_checksum(volume_of(image), image + (size_t)sector * SECTOR, LN_GROUP_SUM);
}

enum sealed sealed_as(const uint8_t* image, uint32_t sectors, uint32_t sector) {
  const uint8_t* at = image + (size_t)sector * SECTOR;
  if (sector >= sectors) return SEALED_NOT;
  if (sector < 2) return SEALED_SUPER;
  if (ln_get16(at) == LN_GROUP && ln_get32(at + LN_GROUP_SUM) == header_sum(image, sector)) return SEALED_GROUP;
  return ln_get32(at) == page_sum(image, sector) ? SEALED_PAGE : SEALED_NOT;
}

static void reseal_images(uint8_t* image, uint32_t sectors, uint32_t sector) {
  uint8_t* at = image + (size_t)sector * SECTOR;
  const uint32_t count = ln_get32(at + LN_GROUP_COUNT);
  for (uint32_t i = 0; i < count && i < LN_IMAGES_MAX && sector + 1 + i < sectors; i++)
    ln_put32(at + LN_GROUP_HEADER + 8 * i + 4, ln_checksum(volume_of(image), at + (size_t)(i + 1) * SECTOR, SECTOR));
}

static void reseal_group(uint8_t* image, uint32_t sectors, uint32_t sector) {
  uint8_t* at = image + (size_t)sector * SECTOR;
  const int images = at[LN_GROUP_KIND] == LN_IMAGES || at[LN_GROUP_KIND] == LN_BEFORE;
  const uint32_t left = (sectors - sector) * SECTOR - LN_GROUP_HEADER;
  if (images) reseal_images(image, sectors, sector);
  const uint32_t covered = images ? 8 * ln_get32(at + LN_GROUP_COUNT) : ln_get32(at + LN_GROUP_BYTES);
  if (covered <= left) ln_put32(at + LN_GROUP_BODY_SUM, ln_checksum(volume_of(image), at + LN_GROUP_HEADER, covered));
  ln_put32(at + LN_GROUP_SUM, header_sum(image, sector));
}

void reseal(uint8_t* image, uint32_t sectors, uint32_t sector, enum sealed as) {
  uint8_t* at = image + (size_t)sector * SECTOR;
  if (as == SEALED_SUPER) ln_put32(at, ln_checksum(LN_MAGIC, at + 4, SECTOR - 4));
  if (as == SEALED_PAGE) ln_put32(at, page_sum(image, sector));
  if (as == SEALED_GROUP) reseal_group(image, sectors, sector);
}
