// What a workload would cost on a card: lunar itself runs it on the card model.
#pragma once

#include <cstddef>
#include <cstdint>

#include "card.h"
#include "lunar.h"

namespace bdtest {

struct Workload {
  std::uint32_t row_bytes = 100;  // beside the key
  double updates = 0;             // share of the rows that are updates of rows that are there
  std::uint32_t rows = 20000;     // that are tried
  std::uint32_t kept = 5000;      // rows there before
  std::size_t buffer_bytes = 4096;
  lunar_mode mode = LUNAR_MODE_FULL;
};

struct Prediction {
  double rows_s;  // of the card alone
  double row_j;
  double card_bytes_per_row;  // written, in whole pages
  double flushes_per_row;
};

// Throws std::runtime_error with lunar's error.
Prediction predict(const card_parameters& card, const Workload& workload);

// Years until the card has taken all it endures; rows and writes evenly over time.
double card_years(const Prediction& prediction, double rows_per_day, double endurance_bytes);

}  // namespace bdtest
