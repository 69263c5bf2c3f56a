// Devices that keep, lose, tear and reorder; the power goes at many places.
#include "power_cut.h"

#include <gtest/gtest.h>

#include <sstream>

#include "broken_device.h"

namespace {

using bdtest::Cut;
using bdtest::Findings;
using bdtest::Verdict;
using bdtest_tests::Emulated;

bool says(const Findings& findings, Verdict verdict, const std::string& text) {
  for (const auto& finding : findings) {
    if (finding.verdict == verdict && finding.what.find(text) != std::string::npos) return true;
  }
  return false;
}

struct Outcome {
  Findings findings;
  std::uint64_t flushed;
};

// Writes until the power goes at the given change, cuts, and judges.
Outcome after_cut(Emulated& emulated, std::uint64_t cut_at, std::uint64_t seed, unsigned survive,
                  std::uint32_t torn_bytes) {
  const Cut cut{static_cast<std::uint32_t>(seed), 512, 512};
  emulated.device.cut_at = cut_at;
  std::uint64_t noted = 0;
  bdtest::write_rounds(
      emulated.config, cut, [] { return true; }, [&](std::uint64_t round) { noted = round; });
  std::uint64_t random = seed | 1;
  emubd_cut(&emulated.device, &random, survive, torn_bytes);
  return {bdtest::verify_rounds(emulated.config, cut, noted), noted};
}

TEST(PowerCut, an_honest_device_passes_wherever_the_power_goes) {
  for (std::uint64_t at = 60; at < 400; at += 7) {
    for (const unsigned survive : {0U, 128U, 256U}) {
      Emulated emulated;
      const auto [findings, flushed] = after_cut(emulated, at, at, survive, at % 2 == 0 ? 64 : 0);
      EXPECT_FALSE(any_bad(findings)) << "cut at " << at << ": " << findings.front().what;
    }
  }
}

TEST(PowerCut, a_device_that_confirms_flushes_without_doing_them_is_found) {
  for (std::uint64_t at = 60; at < 400; at += 7) {
    Emulated emulated;
    emulated.device.ignore_sync = 1;
    const auto [findings, flushed] = after_cut(emulated, at, at, 128, 0);
    EXPECT_TRUE(any_bad(findings)) << "cut at " << at;
    EXPECT_TRUE(says(findings, Verdict::bad, "flush") || says(findings, Verdict::bad, "damaged"));
  }
}

TEST(PowerCut, torn_and_reordered_writes_are_noted) {
  int torn = 0, reordered = 0;
  for (std::uint64_t at = 60; at < 400; at += 7) {
    Emulated emulated;
    const auto [findings, flushed] = after_cut(emulated, at, at, 128, 64);
    torn += says(findings, Verdict::note, "torn");
    reordered += says(findings, Verdict::note, "reordered");
  }
  EXPECT_GT(torn, 5);
  EXPECT_GT(reordered, 5);
}

TEST(PowerCut, a_device_that_keeps_the_order_is_not_said_to_reorder) {
  for (std::uint64_t at = 60; at < 400; at += 7) {
    Emulated emulated;
    const auto [findings, flushed] = after_cut(emulated, at, at, 256, 0);
    EXPECT_FALSE(says(findings, Verdict::note, "")) << "cut at " << at;
  }
}

TEST(PowerCut, a_sector_that_nobody_wrote_to_and_is_damaged_is_found) {
  Emulated emulated;
  const Cut cut{3, 512, 512};
  bdtest::write_rounds(
      emulated.config, cut, [&] { return emulated.device.syncs < 40; }, [](std::uint64_t) {});
  for (std::uint32_t i = 0; i < 512; ++i) emulated.device.sectors[i * 512 + 300] ^= 1;
  EXPECT_TRUE(says(bdtest::verify_rounds(emulated.config, cut, 40), Verdict::bad, "damaged"));
}

TEST(PowerCut, another_sectors_content_is_found) {
  Emulated emulated;
  const Cut cut{3, 512, 512};
  bdtest::write_rounds(
      emulated.config, cut, [&] { return emulated.device.syncs < 40; }, [](std::uint64_t) {});
  std::memcpy(emulated.device.sectors, emulated.device.sectors + 100 * 512, 512 * 100);
  EXPECT_TRUE(says(bdtest::verify_rounds(emulated.config, cut, 40), Verdict::bad, "another sector"));
}

TEST(PowerCut, a_device_that_never_works_is_an_error) {
  Emulated emulated;
  emulated.device.cut_at = 1;
  EXPECT_THROW(bdtest::write_rounds(
                   emulated.config, {1, 512, 512}, [] { return true; }, [](std::uint64_t) {}),
               std::runtime_error);
}

TEST(Note, is_read_as_it_was_written) {
  std::stringstream text;
  const Cut cut{42, 512, 1000};
  bdtest::write_note_head(text, cut);
  text << "1\n2\n3\n4";
  const auto note = bdtest::read_note(text);
  EXPECT_EQ(note.cut, cut);
  EXPECT_EQ(note.flushed, 3U) << "the last line is not whole";
}

TEST(Note, that_is_none_is_refused) {
  const std::string head = "lunar-bdtest 1 seed 1 sector_bytes 512 area_sectors 9\n";
  for (const std::string& bad : {std::string(), std::string("hello\n1\n"), head, head + "2\n", head + "1\nx\n",
                                 std::string("lunar-bdtest 2 seed 1 sector_bytes 512 area_sectors 9\n1\n"),
                                 std::string("lunar-bdtest 1 seed 1 sector_bytes 0 area_sectors 9\n1\n")}) {
    std::istringstream text(bad);
    EXPECT_THROW((void)bdtest::read_note(text), std::runtime_error) << bad;
  }
}

}  // namespace
