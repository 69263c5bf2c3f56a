// Breaks what lunar.h demands of a program. A build with assertions must stop in that call and name the place. What a
// device has must stop none.
#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <cstring>
#include <functional>
#include <string>
#include <vector>

#include "lunar.h"
#include "reseal.h"

namespace lunar_test {
namespace {

constexpr uint32_t sector_bytes = 512, sector_count = 2048;

struct Device {
  static uint8_t* at(const lunar_config* config, uint32_t sector) {
    return static_cast<Device*>(config->context)->bytes.data() + size_t{sector} * sector_bytes;
  }

  Device() {
    config.context = this;
    config.read = [](const lunar_config* c, uint32_t sector, void* data, uint32_t count) {
      std::memcpy(data, at(c, sector), size_t{count} * sector_bytes);
      return 0;
    };
    config.write = [](const lunar_config* c, uint32_t sector, const void* data, uint32_t count) {
      std::memcpy(at(c, sector), data, size_t{count} * sector_bytes);
      return 0;
    };
    config.sync = [](const lunar_config*) { return 0; };
    config.sector_bytes = sector_bytes;
    config.sector_count = sector_count;
    config.buffer = buffer.data();
    config.buffer_bytes = sizeof buffer;

    lunar_schema schema{};
    std::strcpy(schema.columns[0].name, "id");
    schema.columns[0].type = LUNAR_INT32;
    std::strcpy(schema.columns[1].name, "name");
    schema.columns[1].type = LUNAR_TEXT;
    schema.column_count = 2;
    schema.index = LUNAR_INDEX_TREE;
    EXPECT_EQ(lunar_format(&config), 0);
    EXPECT_EQ(lunar_mount(&db, &config), 0);
    EXPECT_EQ(lunar_table_create(&db, "t", &schema), 0);
    EXPECT_EQ(lunar_table_open(&db, "t", &table), 0);
    EXPECT_EQ(insert(1, "one", 3), 0);
  }

  int insert(int64_t id, const char* text, uint32_t text_bytes) {
    std::array<lunar_value, 2> values{};
    values[0].type = LUNAR_INT64;
    values[0].as.integer = id;
    values[1].type = LUNAR_TEXT;
    values[1].bytes = text_bytes;
    values[1].as.data = text;
    return lunar_insert(&table, values.data());
  }

  std::vector<uint8_t> bytes = std::vector<uint8_t>(size_t{sector_bytes} * sector_count);
  std::array<uint64_t, 2048> buffer{}, other_buffer{};
  lunar_config config{};
  lunar db{};
  lunar_table table{};
};

struct Misuse {
  const char* name;
  const char* condition;  // of the assertion, a regular expression
  std::function<int(Device&)> make;
};

// The configuration changes between two calls.
Misuse changed(const char* name, const std::function<void(Device&)>& change) {
  return {name, "is_as_mounted", [change](Device& d) {
            change(d);
            return lunar_sync(&d.db);
          }};
}

const std::vector<Misuse> misuses = {
    {"NoValues", "table && values", [](Device& d) { return lunar_insert(&d.table, nullptr); }},
    {"NoFindings", "found", [](Device& d) { return lunar_check(&d.db, nullptr); }},
    {"NoCache", "cache", [](Device&) { return lunar_cache_close(nullptr); }},
    {"NoCacheToOpen", "table && cache", [](Device& d) { return lunar_cache_open(&d.table, nullptr, &d, 4096, 16); }},
    {"NoPlaceInAList", "at && info",
     [](Device& d) {
       lunar_index_info info;
       return lunar_index_list(&d.table, nullptr, &info);
     }},
    {"NoCursor", "cursor && table",
     [](Device& d) { return lunar_index_cursor(nullptr, &d.table, "i", nullptr, nullptr, 0); }},
    {"TextWithoutData", "as.data", [](Device& d) { return d.insert(2, nullptr, 3); }},
    {"OverwrittenBuffer", "frame",
     [](Device& d) {
       lunar* const mark = *d.db.holder;  // in the buffer too, without config.mounted
       d.buffer.fill(0x3333333333333333);
       *d.db.holder = mark;
       return d.insert(2, "two", 3);
     }},
    changed("OtherBuffer", [](Device& d) { d.config.buffer = d.other_buffer.data(); }),
    changed("SmallerBuffer", [](Device& d) { d.config.buffer_bytes = 4096; }),
    changed("OtherSectors", [](Device& d) { d.config.sector_bytes = 1024; }),
    changed("FewerSectors", [](Device& d) { d.config.sector_count = 128; }),
    changed("OtherMode", [](Device& d) { d.config.mode = LUNAR_MODE_FULL; }),
    changed("NoRead", [](Device& d) { d.config.read = nullptr; }),
    changed("NoSync", [](Device& d) { d.config.sync = nullptr; }),
};

class LunarMisuse : public testing::TestWithParam<Misuse> {};

TEST_P(LunarMisuse, StopsInTheCallAndNamesThePlace) {
  Device device;
  const std::string message = "[a-z]+\\.c:[0-9]+: internal error in lunar: .*" + std::string(GetParam().condition);
  EXPECT_DEATH((void)GetParam().make(device), message);
}

INSTANTIATE_TEST_SUITE_P(All, LunarMisuse, testing::ValuesIn(misuses),
                         [](const auto& parameter) { return std::string(parameter.param.name); });

TEST(LunarAssertions, TextOfNoBytesNeedsNoData) {
  Device device;
  EXPECT_EQ(device.insert(2, nullptr, 0), 0);
  EXPECT_EQ(lunar_unmount(&device.db), 0);
}

TEST(LunarAssertions, NoByteOfTheLogMakesOneFail) {
  Device device;
  const std::string large(1500, 'x');  // so that the log names an extent
  ASSERT_EQ(device.insert(2, large.data(), 1500), 0);
  ASSERT_EQ(lunar_checkpoint(&device.db), 0);
  ASSERT_EQ(device.insert(3, large.data(), 1500), 0);
  ASSERT_EQ(lunar_sync(&device.db), 0);
  const std::vector<uint8_t> image = device.bytes;
  int mounts = 0, refusals = 0;
  for (uint32_t sector = 0; sector < sector_count; ++sector) {
    if (sealed_as(image.data(), sector_count, sector) != SEALED_GROUP) continue;
    for (uint32_t byte = 0; byte < sector_bytes; ++byte) {
      device.bytes = image;
      device.bytes[size_t{sector} * sector_bytes + byte] ^= 0xff;
      reseal(device.bytes.data(), sector_count, sector, SEALED_GROUP);
      lunar db;
      const int error = lunar_mount(&db, &device.config);
      EXPECT_TRUE(error == 0 || error == LUNAR_E_CORRUPT || error == LUNAR_E_UNCLEAN)
          << error << ", sector " << sector << ", byte " << byte;
      ++mounts;
      if (error) ++refusals;
    }
  }
  EXPECT_GE(mounts, 512);
  EXPECT_GT(refusals, 0);
}

}  // namespace
}  // namespace lunar_test
