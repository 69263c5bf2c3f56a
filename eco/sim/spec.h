// The specification of a simulation: an experiment file, the tiers and the calibration that it names. Internal units
// are bytes, seconds and joules; README.md has the files' keys and units.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "policy.h"
#include "server.h"
#include "strict_toml.h"

namespace eco::sim {

using SpecError = TomlError;

// Costs in CPU time of one core.
struct Costs {
  double put_s = 0, put_s_per_byte = 0;  // per put, and per byte of its key and value
  double get_s = 0, get_s_per_file = 0;  // per get, and per level 0 file that it may search
  double seek_s = 0, seek_s_per_file = 0;
  double memtable_bytes_per_entry = 0, memtable_unused = 0;  // beyond key and value; share of the write buffer
  double flush_s_per_entry = 0, flush_s_per_byte = 0;
  double compaction_s = 0, compaction_s_per_entry = 0, compaction_s_per_byte = 0;  // of the stored inputs
  double compaction_s_per_output_byte = 0;
  double transfer_s_per_byte = 0;              // at home
  double verify_s_per_byte = 0;                // of the outputs received
  double worker_s = 0, worker_s_per_byte = 0;  // per offloaded job, and per byte that it reads and sends
};

struct Tier {
  std::string name;
  double cores = 1;
  double link_bytes_s = 0;  // in each direction
  std::uint32_t slots = 1;
  Power power;
  Costs costs;  // on this tier's cores
  std::map<std::string, Costs> costs_by_codec{};

  // Costs of flushes and compactions by the outputs' codec; an unknown codec has the reference's.
  [[nodiscard]] const Costs& costs_of(const std::string& codec) const {
    const auto found = costs_by_codec.find(codec);
    return found != costs_by_codec.end() ? found->second : costs;
  }
};

struct DatabaseOptions {  // RocksDB's names and defaults, in other units
  double write_buffer_bytes = 64 << 20;
  double max_write_buffer_number = 2;
  double level0_file_num_compaction_trigger = 4;
  double level0_slowdown_writes_trigger = 20;
  double level0_stop_writes_trigger = 36;
  double max_bytes_for_level_base = 256 << 20;
  double max_bytes_for_level_multiplier = 10;
  double target_file_size_base = 64 << 20;
  double max_background_jobs = 2;
  double delayed_write_rate = 16 << 20;
  double stall_threshold = 0;  // the paper's S_WST; 0: the stop trigger
};

struct Workload {
  std::string name;
  double put = 1, get = 0, seek = 0;  // shares of the operations; their sum is 1
  double threads = 1;
  double rate_ops_s = 0;                   // offered rate; 0: as fast as possible
  double swing = 0, swing_period_s = 120;  // sine on the rate: relative amplitude, in [0, 1)
  std::vector<double> rate_steps_ops_s{};  // offered in turn, cyclically; override rate_ops_s
  double step_s = 20;
  double reader_threads = 0;  // additional threads that read as fast as they can
  double key_bytes = 16;
  std::vector<double> value_bytes{1000};  // each memtable has values of one of these sizes
  double keys = 1e9;                      // size of the key space, drawn uniformly
  double stored = 1;                      // file bytes per byte of keys and values
  std::string codec = "Snappy";
};

struct ServerSpec {
  std::string name;
  std::size_t tier = 0, workload = 0;
  bool idle = false;  // has no application
  double energy_weight = 1;
  double battery = -1;                     // -1: none
  double slow_share = 0, slow_factor = 1;  // share of guest jobs that are slow, and how many times longer they last
};

struct Fault {
  enum class Kind : std::uint8_t { worker_down, worker_up, drain };
  Kind kind;
  double at_s = 0;
  std::size_t server = 0;
};

struct Spec {
  std::string name, question;
  double duration_s = 600;
  std::vector<std::uint64_t> seeds;
  std::vector<Policy> policies;
  double beat_s = 1, alive_s = 3.5, heartbeat_s = 2, placement_s = 0.001;
  double noise = 0.03;   // standard deviation of the logarithm of a compaction's cost
  bool records = false;  // records each job and each observation of the input
  DatabaseOptions database;
  std::vector<Tier> tiers;
  std::vector<Workload> workloads;
  std::vector<ServerSpec> servers;
  std::vector<Fault> faults;
};

// A factor on one of a tier's figures: "high.busy_core_w=1.5".
struct Scale {
  std::string tier, figure;
  double factor = 1;
};
[[nodiscard]] Scale scale_of(const std::string& text);

// Throws SpecError if a policy "static:NAME" names no server.
void expect_targets(const Spec& spec);

// Throws SpecError.
[[nodiscard]] Spec read_spec(const std::filesystem::path& file, const std::vector<Scale>& scales = {});

}  // namespace eco::sim
