// The card model's single costs; a trace costs the same as its requests.
#include "card.h"

#include <gtest/gtest.h>

#include <cstdio>
#include <memory>
#include <string>

#include "emubd.h"

namespace {

constexpr card_parameters simple{.page_bytes = 4096,
                                 .open_positions = 2,
                                 .read_request_ns = 10,
                                 .read_byte_ns = 1,
                                 .write_request_ns = 1e6,
                                 .write_byte_ns = 1,
                                 .write_random_ns = 1e9,
                                 .flush_ns = 1e12,
                                 .read_w = 1,
                                 .write_w = 2,
                                 .idle_w = 0};

struct Card : testing::Test {
  Card() { card_start(&card, &simple); }
  double cost_of_write(std::uint64_t byte, std::uint64_t bytes) {
    const double before = card.time_ns;
    card_write(&card, byte, bytes);
    return card.time_ns - before;
  }
  struct card card {};
};

TEST_F(Card, charges_a_read_by_request_and_byte) {
  card_read(&card, 512, 512);
  EXPECT_DOUBLE_EQ(card.time_ns, 10 + 512);
}

TEST_F(Card, charges_whole_pages) {
  EXPECT_DOUBLE_EQ(cost_of_write(0, 512), 1e9 + 1e6 + 4096);
  EXPECT_DOUBLE_EQ(cost_of_write(512, 4096), 1e6 + 8192) << "it lies in two pages";
}

TEST_F(Card, charges_what_continues_none_of_the_open_positions) {
  EXPECT_GT(cost_of_write(0, 4096), 1e9);
  EXPECT_GT(cost_of_write(1 << 20, 4096), 1e9);
  EXPECT_LT(cost_of_write(4096, 4096), 1e9) << "the first position is open";
  EXPECT_LT(cost_of_write((1 << 20) + 4096, 4096), 1e9) << "so is the second";
  EXPECT_GT(cost_of_write(2 << 20, 4096), 1e9) << "takes the place of the one used longest ago";
  EXPECT_GT(cost_of_write(8192, 4096), 1e9);
  EXPECT_GT(cost_of_write(8192, 4096), 1e9) << "written again";
}

TEST_F(Card, counts_joules_of_requests_and_of_waiting) {
  card_parameters idle = simple;
  idle.idle_w = 0.5;
  card_start(&card, &idle);
  card_flush(&card);
  EXPECT_DOUBLE_EQ(card_energy_j(&card), 1000 * (2 + 0.5));
  card_wait(&card, 1e9);
  EXPECT_DOUBLE_EQ(card_energy_j(&card), 1000 * (2 + 0.5) + 0.5);
}

TEST_F(Card, the_models_random_write_of_4_kib_takes_what_was_published) {
  card_start(&card, &card_sandisk_ultra);
  EXPECT_NEAR(cost_of_write(1 << 20, 4096), 4096 / 2.18e6 * 1e9, 1e3);
}

struct File {
  explicit File(const std::string& text) : stream(std::tmpfile()) {
    std::fputs(text.c_str(), stream);
    std::rewind(stream);
  }
  ~File() { std::fclose(stream); }
  File(const File&) = delete;
  File& operator=(const File&) = delete;
  std::FILE* stream;
};

TEST_F(Card, charges_a_trace_like_the_requests) {
  card_read(&card, 8 * 512, 512);
  card_write(&card, 16 * 512, 1024);
  card_flush(&card);
  const double expected = card.time_ns;
  card_start(&card, &simple);
  const File file("R 8 1\nW 16 2\nF\n");
  std::uint64_t line = 0;
  EXPECT_EQ(card_replay(&card, file.stream, &line), 0);
  EXPECT_DOUBLE_EQ(card.time_ns, expected);
  EXPECT_EQ(card.reads + card.writes + card.flushes, 3U);
}

TEST_F(Card, says_which_line_is_no_request) {
  for (const char* bad : {"F\nW 1\n", "F\nX 1 2\n", "F\n\n"}) {
    const File file(bad);
    std::uint64_t line = 0;
    EXPECT_EQ(card_replay(&card, file.stream, &line), -1) << bad;
    EXPECT_EQ(line, 2U) << bad;
  }
}

TEST_F(Card, is_charged_by_the_simulated_device) {
  emubd device{};
  ASSERT_EQ(emubd_open(&device, 512, 64), 0);
  device.card = &card;
  lunar_config config{};
  emubd_config(&device, &config);
  char sector[512] = {};
  EXPECT_EQ(config.write(&config, 8, sector, 1), 0);
  EXPECT_EQ(config.read(&config, 8, sector, 1), 0);
  EXPECT_EQ(config.sync(&config), 0);
  EXPECT_DOUBLE_EQ(card.time_ns, (1e9 + 1e6 + 4096) + (10 + 512) + 1e12);
  emubd_close(&device);
}

}  // namespace
