// Predicts the time and energy of a compaction on one server from its bytes, entries and codec. Learns from the
// compactions that ran there. The paper's regression on bytes alone (Section VII-C) stays for comparison: its error is
// one half where value sizes differ.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "linear_model.h"

namespace eco {

// The properties of a compaction that are known before it runs.
struct Job {
  std::uint64_t input_bytes = 0;    // stored size of the input files
  std::uint64_t input_entries = 0;  // entries in the input files
  std::string codec;                // of the outputs, by RocksDB's name: "NoCompression", "Snappy", "ZSTD"
};

struct Cost {
  double compute_s = 0;  // from start to end, without waits for the network
  double energy_j = 0;   // of the server that ran it, marginal: above what it would have used without the job
};

struct Prediction {
  Estimate compute_s;
  Estimate energy_j;
  double observations = 0;  // 0: the prediction has no basis
};

class CompactionModel {
 public:
  enum class Terms : std::uint8_t { bytes_and_entries, bytes };  // bytes: the paper's model
  struct State {
    LinearModel::State compute, energy;
  };

  explicit CompactionModel(Terms terms = Terms::bytes_and_entries) : terms_(terms) {}

  void learn(const Job& job, const Cost& cost);
  // Uses the model of the job's codec. If that has no observations, uses the codec that has most.
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
