// What a compaction takes on one server, learnt from those that ran there: seconds and joules, by bytes, entries and
// codec. The paper's regression on bytes alone (Section VII-C) is kept for comparison: it errs by half where the sizes
// of values differ.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "linear_model.h"

namespace eco {

// What is known of a compaction before it runs.
struct Job {
  std::uint64_t input_bytes = 0;    // of the files to merge, as stored
  std::uint64_t input_entries = 0;  // in them
  std::string codec;                // of the outputs, RocksDB's name: "NoCompression", "Snappy", "ZSTD"
};

// What it took.
struct Cost {
  double compute_s = 0;  // from its begin to its end, waits for the network not included
  double energy_j = 0;   // of the server that ran it: marginal, what it would not have drawn otherwise
};

struct Prediction {
  Estimate compute_s;
  Estimate energy_j;
  double observations = 0;  // 0: nothing is known
};

class CompactionModel {
 public:
  enum class Terms : std::uint8_t { bytes_and_entries, bytes };  // bytes: the paper's
  struct State {
    LinearModel::State compute, energy;
  };

  explicit CompactionModel(Terms terms = Terms::bytes_and_entries) : terms_(terms) {}

  void learn(const Job& job, const Cost& cost);
  // By what is known of the job's codec; where nothing is, by the codec that is known best.
  [[nodiscard]] Prediction predict(const Job& job) const;

  // By codec.
  [[nodiscard]] std::map<std::string, State> state() const;
  void set_state(const std::map<std::string, State>& state);

 private:
  struct Models {
    LinearModel compute, energy;
  };

  [[nodiscard]] LinearModel::Terms terms_of(const Job& job) const;
  [[nodiscard]] const Models* models_for(const std::string& codec) const;

  std::map<std::string, Models> by_codec_;
  Terms terms_;
};

}  // namespace eco
