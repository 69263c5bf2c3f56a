// Measures the costs of RocksDB's operations on this machine, in CPU time of the threads that do them. Other processes'
// work is not counted, although it cools the caches and, on shared cores, costs cycles.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <string>
#include <vector>

namespace eco::calibrate {

[[nodiscard]] std::vector<std::string> known_codecs();  // RocksDB's names

struct Plan {
  std::vector<std::size_t> value_bytes{100, 1000};
  std::vector<std::string> codecs{"Snappy", "NoCompression"};
  std::vector<std::size_t> write_buffer_mb{16, 64};
  std::size_t memtables = 8;  // written per case
  std::size_t rounds = 3;
  std::uint64_t seed = 1;
  std::filesystem::path directory;  // for the databases
  std::string ecod{};               // program that runs as worker; empty: no offloading
};

inline constexpr std::size_t key_bytes = 16;

// One equation of the fit: observed = sum of terms times coefficients. observed: CPU seconds, except for memtables.
struct Observation {
  std::vector<double> terms{};
  double observed = 0;
};

struct CodecCosts {
  std::vector<Observation> flushes;      // entries, bytes of keys and values
  std::vector<Observation> compactions;  // 1, entries, bytes in, bytes out
  std::vector<Observation> home;         // home's part of an offloaded job: bytes in, bytes out
  std::vector<Observation> worker;       // the worker's excess over a local job: 1, bytes in and out
};

struct Measured {
  std::vector<Observation> puts;                                       // 1, bytes of key and value
  std::vector<double> get_s, get_s_per_file, seek_s, seek_s_per_file;  // one value per case and round
  std::map<std::string, CodecCosts> codecs;                            // by codec
  std::vector<Observation> memtables;  // entries, buffer bytes; observed: buffer bytes beyond keys and values
  std::map<std::string, std::vector<double>> stored;  // by codec and value: file bytes per byte written
  std::map<std::string, std::map<std::string, std::vector<double>>> rounds;  // by figure and case: one per round
};

// Throws std::runtime_error. tell: receives the current measurement and the completed share.
[[nodiscard]] Measured measure(const Plan& plan, const std::function<void(const std::string&, double)>& tell);

}  // namespace eco::calibrate
