// eco-calibrate: measures the costs of RocksDB's operations on this machine. `edgejoule eco calibration` fits the costs
// and writes the file for eco-sim.
#include <fmt/format.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <csignal>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "command_line.h"
#include "measured_json.h"

namespace {

using namespace eco::calibrate;
namespace fs = std::filesystem;

constexpr char examples[] = R"(Examples:
  eco-calibrate --out measured.json                    values of 100 and 1000 bytes, Snappy and none, three rounds
  edgejoule eco calibration measured.json --out calibration.toml     fits the costs, for eco-sim
  eco-calibrate --quick                                a minute, to see what it does
  eco-calibrate --value-bytes 400 --codec ZSTD --write-buffer-mb 64 --rounds 5 --directory /mnt/disk
  eco-calibrate --no-offload                           without a worker; bytes moved keep assumed costs
It measures CPU time, so other programs disturb it less. The spread between rounds shows how much.)";

std::string processor() {
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);)
    if (line.rfind("model name", 0) == 0) return line.substr(line.find(':') + 2);
  return "unknown";
}

volatile std::sig_atomic_t interrupted = 0;

// Prints the progress, and ends the measurement on an interrupt.
class Progress {
 public:
  void operator()(const std::string& what, double part) const {
    if (interrupted != 0) throw std::runtime_error("interrupted");
    if (isatty(2) == 0) {
      eco::print_error(fmt::format("{:3.0f} % {}\n", 100 * part, what));
      return;
    }
    constexpr int width = 24;
    const int done = static_cast<int>(width * part);
    eco::print_error(
        fmt::format("\r\x1b[K[{:#>{}}{:.>{}}] {:3.0f} % {}", "", done, "", width - done, 100 * part, what));
  }
  void end() const {
    if (isatty(2) != 0) eco::print_error("\r\x1b[K");
  }
};

class Folder {
 public:
  explicit Folder(const fs::path& under) {
    std::string name = (under / "eco-calibrate-XXXXXX").string();
    if (mkdtemp(name.data()) == nullptr) throw std::runtime_error(under.string() + ": no folder can be made there");
    path_ = name;
  }
  ~Folder() {
    std::error_code ignored;
    fs::remove_all(path_, ignored);
  }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  [[nodiscard]] const fs::path& path() const { return path_; }

 private:
  fs::path path_;
};

std::string command_line(int argc, char** argv) {
  std::string command = "eco-calibrate";
  for (int i = 1; i < argc; ++i) command += fmt::format(" {}", argv[i]);
  return command;
}

int command(int argc, char** argv) {
  CLI::App app("Measures what RocksDB's operations cost on this machine, for eco-sim.", "eco-calibrate");
  app.footer(examples);
  Plan plan;
  std::string out, machine = processor();
  fs::path directory = fs::temp_directory_path();
  bool quick = false, no_offload = false;
  plan.ecod = (fs::read_symlink("/proc/self/exe").parent_path() / "ecod").string();
  app.add_option("--out", out, "file for the measurements (JSON); without it they go to standard output");
  app.add_option("--machine", machine, "name of this machine in the output")->capture_default_str();
  app.add_option("--value-bytes", plan.value_bytes, "bytes of a value; may be repeated")
      ->check(CLI::Range(1, 1 << 20))
      ->capture_default_str();
  app.add_option("--codec", plan.codecs,
                 "compression of the table files; the first is also used for the reference; may be repeated")
      ->check(CLI::IsMember(known_codecs()))
      ->capture_default_str();
  app.add_option("--write-buffer-mb", plan.write_buffer_mb,
                 "memtable size in MB; other sizes scale with it; may be repeated")
      ->check(CLI::Range(1, 1024))
      ->capture_default_str();
  app.add_option("--memtables", plan.memtables, "memtables filled per case")
      ->check(CLI::Range(5, 1000))
      ->capture_default_str();
  app.add_option("--rounds", plan.rounds, "rounds over all cases")->check(CLI::Range(1, 100))->capture_default_str();
  app.add_option("--seed", plan.seed, "seed of the random keys and values")->capture_default_str();
  app.add_option("--directory", directory, "where databases are made; tmpfs leaves the disk out")
      ->capture_default_str();
  app.add_option("--ecod", plan.ecod, "program whose worker takes jobs on loopback")->capture_default_str();
  app.add_flag("--no-offload", no_offload, "measure local compactions only");
  app.add_flag("--quick", quick, "memtables of 8 MB, two rounds");
  if (const auto code = eco::parse_arguments(app, argc, argv)) return *code;
  for (const int number : {SIGINT, SIGTERM}) std::signal(number, [](int) { interrupted = 1; });
  if (quick) plan.write_buffer_mb = {8}, plan.rounds = 2;
  if (no_offload) plan.ecod.clear();
  if (fs::path(out).extension() == ".toml")
    throw std::runtime_error(out + ": measurements are JSON; `edgejoule eco calibration MEASURED.json --out " + out +
                             "` fits the costs");
  if (!plan.ecod.empty() && access(plan.ecod.c_str(), X_OK) != 0)
    throw std::runtime_error(plan.ecod + ": cannot be started; --ecod PROGRAM, or --no-offload");
  const Folder folder(directory);
  plan.directory = folder.path();
  const Progress progress;
  const Measured measured = measure(plan, progress);
  progress.end();
  const std::string text = json_of(plan, measured, machine, command_line(argc, argv)).dump(1) + "\n";
  if (out.empty()) {
    fmt::print("{}", text);
    return 0;
  }
  std::ofstream file(out);
  file << text;
  if (!file.flush()) throw std::runtime_error(out + ": cannot be written");
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  return eco::run_program("eco-calibrate", [&] { return command(argc, argv); });
}
