// What real operations of RocksDB cost on this machine, in CPU time of the threads that did them: so others' work is
// not counted, though it makes caches colder and, where cores are shared, cycles fewer.
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
  std::size_t memtables = 8;  // written in each case
  std::size_t rounds = 3;
  std::uint64_t seed = 1;
  std::filesystem::path directory;  // where the databases are made
  std::string ecod{};               // program whose worker takes jobs; empty: nothing is offloaded
};

inline constexpr std::size_t key_bytes = 16;

// A sum over terms, each times a coefficient that is to be fitted. observed: seconds of CPU time, but for memtables.
struct Observation {
  std::vector<double> terms{};
  double observed = 0;
};

struct CodecCosts {
  std::vector<Observation> flushes;      // entries, bytes of keys and values
  std::vector<Observation> compactions;  // 1, entries, bytes in, bytes out
  std::vector<Observation> home;         // of an offloaded one: bytes in, bytes out
  std::vector<Observation> worker;       // what the worker takes more than a local one: 1, bytes in and out
};

struct Measured {
  std::vector<Observation> puts;                                       // 1, bytes of key and value
  std::vector<double> get_s, get_s_per_file, seek_s, seek_s_per_file;  // a value for each case and round
  std::map<std::string, CodecCosts> codecs;                            // by codec
  std::vector<Observation> memtables;  // entries, bytes of the buffer; of it, what is neither key nor value
  std::map<std::string, std::vector<double>> stored;  // by codec and value: bytes of files by those written
  std::map<std::string, std::map<std::string, std::vector<double>>> rounds;  // by figure and case: each round's
};

// Throws std::runtime_error. tell: what is being measured, and how much of all is done.
[[nodiscard]] Measured measure(const Plan& plan, const std::function<void(const std::string&, double)>& tell);

}  // namespace eco::calibrate
