// Loggers wear no sector out: the README's sentence about wear is true.
#include "../bench/wear.h"

#include <gtest/gtest.h>

#include <fstream>
#include <iostream>
#include <regex>
#include <string>

#include "values.h"

namespace lunar_test {
namespace {

// The numbers of README: writes a row.
struct Promise {
  double metadata, hottest;
};
Promise promise(std::uint32_t sectors) {
  std::ifstream file(LUNAR_README);
  const std::string readme{std::istreambuf_iterator<char>(file), {}};
  std::smatch found, small;
  const std::regex sentence(R"(less than one row in (\d+),[^.]*more\s+often than for one row in (\d+))"),
      small_cards(R"(with 4 MB[^.]*\s+row in (\d+), with 2 MB for one in (\d+))");
  if (!std::regex_search(readme, found, sentence) || !std::regex_search(readme, small, small_cards)) return {};
  const std::string hottest = sectors == 4096 ? small[2] : sectors == 8192 ? small[1] : found[2];
  return {1 / std::stod(found[1]), 1 / std::stod(hottest)};
}

// In mode none no row is durable, and README promises nothing. With the least buffer it was 2.0 and 1.0.
constexpr Promise without_log = {0.25, 0.1};

struct Logger {
  const char* name;
  lunar_bench::Logging logging;
};
void PrintTo(const Logger& logger, std::ostream* to) { *to << logger.name << ", " << logger.logging.buffer_bytes; }

class Wear : public testing::TestWithParam<Logger> {};

TEST_P(Wear, of_a_logger_is_as_the_readme_says) {
  auto logging = GetParam().logging;
  const bool week = one_in(10) == 1;
  if (!week) logging.rows /= 10;
  const auto wear = lunar_bench::wear(logging);
  std::cout << GetParam().name << ", " << logging.buffer_bytes << " bytes: " << wear << "\n";
  const Promise most = logging.mode == LUNAR_MODE_NONE ? without_log : promise(logging.sectors);
  EXPECT_LE(wear["metadata_a_row"], most.metadata);
  EXPECT_LE(wear["hottest_a_row"], most.hottest * (week ? 1 : 1.5)); /* it goes round the device more slowly */
}

constexpr std::size_t least = LUNAR_BUFFER_BYTES_MIN(512);
INSTANTIATE_TEST_SUITE_P(
    Of, Wear,
    testing::Values(Logger{"ring", {.ring_rows = 4000}}, Logger{"ring", {.ring_rows = 4000, .buffer_bytes = 4096}},
                    Logger{"ring", {.ring_rows = 4000, .buffer_bytes = 16384}},
                    Logger{"ring, tree", {.ring_rows = 4000, .index = LUNAR_INDEX_TREE}},
                    Logger{"ring, tree", {.ring_rows = 4000, .buffer_bytes = 4096, .index = LUNAR_INDEX_TREE}},
                    Logger{"counters", {.counters = 10}}, Logger{"append", {.buffer_bytes = least}},
                    Logger{"append", {.buffer_bytes = 16384}}, Logger{"append, tree", {.index = LUNAR_INDEX_TREE}},
                    Logger{"append, tree", {.buffer_bytes = 4096, .index = LUNAR_INDEX_TREE}},
                    Logger{"append of 400", {.rows = 100'000, .text_bytes = 400}},
                    Logger{"ring of 400, tree",
                           {.ring_rows = 4000, .index = LUNAR_INDEX_TREE, .rows = 100'000, .text_bytes = 400}},
                    Logger{"append of 800, tree", {.index = LUNAR_INDEX_TREE, .rows = 100'000, .text_bytes = 800}},
                    Logger{"append of 800", {.buffer_bytes = 4096, .rows = 100'000, .text_bytes = 800}},
                    Logger{"append, metadata", {.mode = LUNAR_MODE_METADATA}},
                    Logger{"append, none", {.mode = LUNAR_MODE_NONE}},
                    Logger{"ring, none", {.ring_rows = 4000, .mode = LUNAR_MODE_NONE}},
                    Logger{"counters, none", {.counters = 10, .mode = LUNAR_MODE_NONE}},
                    Logger{"append, tree, none", {.index = LUNAR_INDEX_TREE, .mode = LUNAR_MODE_NONE}},
                    Logger{"ring, 2 MB", {.ring_rows = 4000, .sectors = 4096}},
                    Logger{"ring, 4 MB", {.ring_rows = 20'000, .sectors = 8192}},
                    Logger{"ring, tree, 8 MB", {.ring_rows = 20'000, .index = LUNAR_INDEX_TREE, .sectors = 16'384}}));

}  // namespace
}  // namespace lunar_test
