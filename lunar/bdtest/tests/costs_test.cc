// The fit finds the card that the measured device was made of.
#include "costs.h"

#include <gtest/gtest.h>

#include "broken_device.h"
#include "card_file.h"
#include "prediction.h"

namespace {

using bdtest_tests::Emulated;

class Fit : public testing::TestWithParam<card_parameters> {};

TEST_P(Fit, finds_the_parameters_of_a_simulated_card) {
  const card_parameters& made = GetParam();
  Emulated emulated(65536);
  card card{};
  card_start(&card, &made);
  emulated.device.card = &card, emulated.device.careless = 1;
  const auto fit = bdtest::fit_card(
      emulated.config, [&] { return card.time_ns * 1e-9; }, 40, made);
  EXPECT_LT(fit.error, 0.02);
  EXPECT_NEAR(fit.card.read_request_ns, made.read_request_ns, 0.02 * made.read_request_ns);
  EXPECT_NEAR(fit.card.read_byte_ns, made.read_byte_ns, 0.02 * made.read_byte_ns);
  EXPECT_NEAR(fit.card.flush_ns, made.flush_ns, 0.02 * made.flush_ns);
  EXPECT_NEAR(fit.card.write_request_ns, made.write_request_ns, 0.1 * made.write_request_ns);
  EXPECT_NEAR(fit.card.write_byte_ns, made.write_byte_ns, 0.1 * made.write_byte_ns);
  EXPECT_NEAR(fit.card.write_random_ns, made.write_random_ns, 0.02 * made.write_random_ns + 1);
  EXPECT_EQ(fit.card.open_positions, made.open_positions);
  EXPECT_EQ(fit.card.page_bytes, made.page_bytes);
}

card_parameters changed(std::uint32_t page, std::uint32_t positions, double random_ns, double flush_ns) {
  card_parameters p = card_sandisk_ultra;
  p.page_bytes = page, p.open_positions = positions, p.write_random_ns = random_ns, p.flush_ns = flush_ns;
  return p;
}

INSTANTIATE_TEST_SUITE_P(Cards, Fit,
                         testing::Values(card_sandisk_ultra, changed(512, 4, 3e6, 1e6), changed(16384, 1, 8e6, 2e6),
                                         changed(4096, 64, 0, 50e3)));

TEST(Fit, reports_a_request_that_fails) {
  Emulated emulated;
  emulated.device.fail_at = 100;
  EXPECT_THROW((void)bdtest::fit_card(
                   emulated.config, [] { return 0.0; }, 10, card_sandisk_ultra),
               std::runtime_error);
}

TEST(Fit, wants_some_room) {
  Emulated emulated(1000);
  EXPECT_THROW((void)bdtest::fit_card(
                   emulated.config, [] { return 0.0; }, 10, card_sandisk_ultra),
               std::runtime_error);
}

TEST(CardFile, is_read_as_it_was_written) {
  const auto card = bdtest::card_from_text(bdtest::card_to_text(card_sandisk_ultra));
  EXPECT_EQ(bdtest::card_to_text(card), bdtest::card_to_text(card_sandisk_ultra));
}

TEST(CardFile, that_is_none_is_refused) {
  const auto good = bdtest::card_to_text(card_sandisk_ultra);
  auto replaced = [&](const std::string& from, const std::string& to) {
    auto text = good;
    return text.replace(text.find(from), from.size(), to);
  };
  for (const auto& bad :
       {std::string(), std::string("[]"), replaced("page_bytes", "pages"), replaced("4096", "0"),
        replaced("4096", "1.5"), replaced("64", "65"), replaced("4096", "\"x\""), replaced("4096", "-1")})
    EXPECT_THROW((void)bdtest::card_from_text(bad), std::runtime_error) << bad;
}

TEST(Prediction, charges_a_durable_small_row_about_a_write_and_a_flush) {
  bdtest::Workload workload;
  workload.rows = 2000, workload.kept = 100, workload.buffer_bytes = 1 << 18;
  const auto p = bdtest::predict(card_sandisk_ultra, workload);
  EXPECT_NEAR(p.flushes_per_row, 1, 0.1);
  EXPECT_GE(p.card_bytes_per_row, 4096);
  EXPECT_LT(p.card_bytes_per_row, 3 * 4096) << "checkpoints included";
  const double write_s = 1e-9 * (card_sandisk_ultra.write_request_ns + 4096 * card_sandisk_ultra.write_byte_ns);
  EXPECT_LT(p.rows_s, 1 / write_s);
  EXPECT_GT(p.rows_s, 0.25 / write_s);
  EXPECT_GT(p.row_j, write_s * card_sandisk_ultra.write_w);
}

TEST(Prediction, of_rows_without_a_flush_each_is_cheaper) {
  bdtest::Workload workload;
  workload.rows = 2000, workload.kept = 100, workload.buffer_bytes = 1 << 18;
  const auto full = bdtest::predict(card_sandisk_ultra, workload);
  workload.mode = LUNAR_MODE_DATA;
  const auto data = bdtest::predict(card_sandisk_ultra, workload);
  EXPECT_GT(data.rows_s, 1.5 * full.rows_s);
  EXPECT_LT(data.card_bytes_per_row, full.card_bytes_per_row);
}

TEST(Prediction, counts_years) {
  const bdtest::Prediction p{0, 0, 1000, 0};
  EXPECT_DOUBLE_EQ(bdtest::card_years(p, 1000, 365.25e6), 1);
}

TEST(Prediction, of_a_row_too_large_is_lunars_error) {
  bdtest::Workload workload;
  workload.row_bytes = 200000, workload.rows = 10;
  EXPECT_THROW((void)bdtest::predict(card_sandisk_ultra, workload), std::runtime_error);
}

}  // namespace
