#include "command.h"

#include <fcntl.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <iostream>
#include <iterator>
#include <map>
#include <random>
#include <sstream>
#include <stdexcept>
#include <string>

#include "card_file.h"
#include "checks.h"
#include "costs.h"
#include "guard.h"
#include "posix.h"
#include "power_cut.h"
#include "prediction.h"

namespace bdtest {
namespace {

constexpr int broken = 3;

std::atomic<bool> interrupted{false};

struct Options {
  std::string device, note, card, out;
  std::uint32_t sector_bytes = 512, seed = 0, repeats = 100, area_mib = 16;
  double seconds = 0;
  bool force = false;
  double active_mw = card_sandisk_ultra.write_w * 1e3, idle_uw = card_sandisk_ultra.idle_w * 1e6;
  Workload workload;
  std::string mode = "full";
  double rows_per_day = 86400, endurance_tb = 0, cycles = 0, size_gb = 0;
};

class Device {
 public:
  // overwrite: the contents will be lost, so they are checked first.
  Device(const Options& options, bool overwrite) : path_(options.device) {
    const auto use = overwrite ? in_use(path_) : "";
    if (!use.empty()) throw std::runtime_error(path_ + ": " + use + "; nothing was written");
    config.sector_bytes = options.sector_bytes;
    int error = lunar_posix_open(&posix_, &config, path_.c_str(), 1);
    if (error == EINVAL) error = lunar_posix_open(&posix_, &config, path_.c_str(), 0);
    if (error != 0) throw std::runtime_error(path_ + ": " + std::strerror(error));
    if (config.sector_count == 0) throw std::runtime_error(path_ + ": it has no sectors");
    const auto contents = overwrite ? contents_of(config) : "";
    if (!contents.empty() && !options.force)
      throw std::runtime_error(path_ + ": there is " + contents + " on it; --force overwrites it");
    if (overwrite && !options.force && is_nonzero_file(path_))
      throw std::runtime_error(path_ + ": it is not empty; --force overwrites it");
  }
  ~Device() { lunar_posix_close(&posix_); }
  Device(const Device&) = delete;
  Device& operator=(const Device&) = delete;

  lunar_config config{};

 private:
  std::string path_;
  lunar_posix posix_{};
};

int report(const Findings& findings) {
  static constexpr const char* labels[] = {"ok    ", "note  ", "BROKEN"};
  for (const auto& finding : findings)
    std::printf("%s  %s\n", labels[static_cast<int>(finding.verdict)], finding.what.c_str());
  return any_bad(findings) ? broken : 0;
}

int check(const Options& options) {
  const Device device(options, true);
  const auto seed = options.seed != 0 ? options.seed : std::random_device{}();
  std::printf("%s: %u sectors of %u bytes (seed %u)\n", options.device.c_str(), device.config.sector_count,
              device.config.sector_bytes, seed);
  return report(check_device(device.config, seed));
}

// The note, every line of it on its medium before the next round begins.
class NoteFile {
 public:
  explicit NoteFile(const std::string& path) : path_(path) {
    descriptor_ = path == "-" ? STDOUT_FILENO : open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
    if (descriptor_ < 0) throw std::runtime_error(path + ": " + std::strerror(errno));
  }
  ~NoteFile() {
    if (descriptor_ != STDOUT_FILENO) close(descriptor_);
  }
  NoteFile(const NoteFile&) = delete;
  NoteFile& operator=(const NoteFile&) = delete;

  void add(const std::string& line) {
    const bool written = ::write(descriptor_, line.data(), line.size()) == static_cast<ssize_t>(line.size());
    if (!written || (fsync(descriptor_) != 0 && errno != EINVAL && errno != EROFS))
      throw std::runtime_error(path_ + ": " + std::strerror(errno));
  }

 private:
  std::string path_;
  int descriptor_;
};

int write(const Options& options) {
  const Device device(options, true);
  const std::uint64_t wanted = (std::uint64_t{options.area_mib} << 20) / options.sector_bytes;
  Cut cut;
  cut.seed = options.seed != 0 ? options.seed : std::random_device{}();
  cut.sector_bytes = options.sector_bytes;
  cut.area_sectors = static_cast<std::uint32_t>(std::min<std::uint64_t>(wanted, device.config.sector_count));
  NoteFile note(options.note);
  std::ostringstream head;
  write_note_head(head, cut);
  note.add(head.str());
  std::fprintf(stderr, "writing; cut the power at any moment, then: lunar bdtest verify %s --note %s\n",
               options.device.c_str(), options.note.c_str());
  const auto start = std::chrono::steady_clock::now();
  const auto go_on = [&] {
    const std::chrono::duration<double> passed = std::chrono::steady_clock::now() - start;
    return !interrupted && (options.seconds == 0 || passed.count() < options.seconds);
  };
  const auto rounds =
      write_rounds(device.config, cut, go_on, [&](std::uint64_t round) { note.add(std::to_string(round) + "\n"); });
  std::fprintf(stderr, "%llu rounds were flushed and recorded\n", static_cast<unsigned long long>(rounds));
  return 0;
}

int verify(Options options) {
  std::ifstream file(options.note);
  if (!file) throw std::runtime_error(options.note + ": " + std::strerror(errno));
  Note note{};
  try {
    note = read_note(file);
  } catch (const std::runtime_error& error) {
    throw std::runtime_error(options.note + ": " + error.what());
  }
  options.sector_bytes = note.cut.sector_bytes;
  const Device device(options, false);
  if (device.config.sector_count < note.cut.area_sectors)
    throw std::runtime_error(options.device + ": it is smaller than the device that the note names");
  return report(verify_rounds(device.config, note.cut, note.flushed));
}

int cost(const Options& options) {
  const Device device(options, true);
  card_parameters powers = card_sandisk_ultra;
  powers.read_w = powers.write_w = options.active_mw * 1e-3, powers.idle_w = options.idle_uw * 1e-6;
  const auto clock = [] {
    return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
  };
  const Fit fit = fit_card(device.config, clock, options.repeats, powers);
  std::fprintf(stderr, "%-20s %9s %12s %12s %12s\n", "us", "bytes", "median", "10 %", "90 %");
  for (const auto& c : fit.costs)
    std::fprintf(stderr, "%-20s %9llu %12.1f %12.1f %12.1f\n", c.what.c_str(), static_cast<unsigned long long>(c.bytes),
                 c.median_s * 1e6, c.tenth_s * 1e6, c.ninetieth_s * 1e6);
  std::fprintf(stderr, "the mean error of the fitted card is %.0f %%; its powers are not measured\n", 100 * fit.error);
  const auto text = card_to_text(fit.card);
  if (options.out.empty()) {
    std::fputs(text.c_str(), stdout);
  } else if (!(std::ofstream(options.out) << text << std::flush)) {
    throw std::runtime_error(options.out + ": cannot be written");
  }
  return 0;
}

card_parameters card_of(const Options& options) {
  if (options.card.empty()) return card_sandisk_ultra;
  std::ifstream file(options.card);
  if (!file) throw std::runtime_error(options.card + ": " + std::strerror(errno));
  try {
    return card_from_text({std::istreambuf_iterator<char>(file), {}});
  } catch (const std::runtime_error& error) {
    throw std::runtime_error(options.card + ": " + error.what());
  }
}

int prediction(Options options) {
  static const std::map<std::string, lunar_mode> modes{{"none", LUNAR_MODE_NONE},
                                                       {"disorder", LUNAR_MODE_DISORDER},
                                                       {"metadata", LUNAR_MODE_METADATA},
                                                       {"data", LUNAR_MODE_DATA},
                                                       {"full", LUNAR_MODE_FULL}};
  options.workload.mode = modes.at(options.mode);
  const auto p = predict(card_of(options), options.workload);
  std::printf("card: %s; mode %s, rows of %u bytes, %.0f %% updates, buffer of %zu bytes\n",
              options.card.empty() ? "the model's SanDisk Ultra" : options.card.c_str(), options.mode.c_str(),
              options.workload.row_bytes, 100 * options.workload.updates, options.workload.buffer_bytes);
  std::printf("%12.1f rows/s at most (the card alone)\n%12.3f mJ per row (modelled, the card alone)\n", p.rows_s,
              p.row_j * 1e3);
  std::printf("%12.0f bytes written per row, in whole pages; %.2f flushes\n", p.card_bytes_per_row, p.flushes_per_row);
  const double endurance =
      options.endurance_tb > 0 ? options.endurance_tb * 1e12 : options.cycles * options.size_gb * 1e9;
  if (endurance > 0)
    std::printf("%12.1f years until %.1f TB are written, at %.0f rows a day\n",
                card_years(p, options.rows_per_day, endurance), endurance / 1e12, options.rows_per_day);
  return 0;
}

// As CLI::PositiveNumber, whose message has a number of 309 digits.
const CLI::Validator positive(
    [](const std::string& text) {
      double value = 0;
      return CLI::detail::lexical_cast(text, value) && value > 0 ? "" : "expected a number above 0, found " + text;
    },
    "POSITIVE");

CLI::App* add(CLI::App& app, const char* name, const char* about, Options& options, bool overwrites) {
  auto* command = app.add_subcommand(name, about);
  command->add_option("device", options.device, "block device or image")->required();
  if (!overwrites) return command;
  command->add_flag(
      "--force", options.force,
      "overwrite a file system, a partition table, a lunar volume or a file that is not empty (never what is "
      "mounted)");
  command->add_option("--sector-bytes", options.sector_bytes)->check(CLI::IsMember({512, 4096}))->capture_default_str();
  return command;
}

void add_prediction(CLI::App& app, Options& o) {
  auto* command = app.add_subcommand("predict", "rows/s, joules per row and card years of a workload");
  command->add_option("--card", o.card, "file that cost wrote (default: the model's SanDisk Ultra)");
  command->add_option("--row-bytes", o.workload.row_bytes)->check(CLI::Range(1, 30000))->capture_default_str();
  command->add_option("--updates", o.workload.updates, "share of updates")->check(CLI::Range(0.0, 1.0));
  command->add_option("--mode", o.mode)
      ->check(CLI::IsMember({"none", "disorder", "metadata", "data", "full"}))
      ->capture_default_str();
  command->add_option("--buffer-bytes", o.workload.buffer_bytes, "lunar's RAM")
      ->check(CLI::Range(std::size_t{LUNAR_BUFFER_BYTES_MIN(512)}, std::size_t{1} << 24))
      ->capture_default_str();
  command->add_option("--rows-per-day", o.rows_per_day)->check(positive)->capture_default_str();
  auto* terabytes = command->add_option("--endurance-tb", o.endurance_tb, "terabytes that may be written to the card")
                        ->check(positive);
  auto* cycles =
      command->add_option("--cycles", o.cycles, "or erase cycles of its flash")->check(positive)->excludes(terabytes);
  auto* size = command->add_option("--size-gb", o.size_gb, "size of the card, with --cycles")->check(positive);
  cycles->needs(size), size->needs(cycles);
}

constexpr const char* examples = R"(Examples:
  lunar bdtest check /dev/sdX                      test reads, capacity, requests, order; erases the device
  lunar bdtest write /dev/sdX --note /media/note   then cut the power; keep the note on another device
  lunar bdtest verify /dev/sdX --note /media/note  check that all flushed data is there
  lunar bdtest cost /dev/sdX --out card.json       measure requests, fit the card model
  lunar bdtest predict --card card.json --row-bytes 64 --rows-per-day 86400 --endurance-tb 30

Exit codes: 0 success, 1 the test could not run, 2 wrong usage, 3 the device breaks a promise.)";

}  // namespace

int command(int argc, char** argv) {
  Options options;
  CLI::App app("Tests whether a device is fit for lunar, measures its costs and predicts its life.", "lunar bdtest");
  app.require_subcommand(1);
  app.footer(examples);
  add(app, "check", "what a device must do while the power is on", options, true)
      ->add_option("--seed", options.seed, "seed of an earlier run (default: random)");
  auto* writing = add(app, "write", "write and flush until the power goes", options, true);
  writing->add_option("--note", options.note, "a file outside the device, or - for standard output")->required();
  writing->add_option("--area-mib", options.area_mib, "how much of the device is written")
      ->check(CLI::Range(1, 1 << 20))
      ->capture_default_str();
  writing->add_option("--seconds", options.seconds, "stop after this time (default: never)")->check(positive);
  writing->add_option("--seed", options.seed);
  add(app, "verify", "check what the power cut left; writes nothing", options, false)
      ->add_option("--note", options.note, "the file that write filled")
      ->required();
  auto* costing = add(app, "cost", "measure requests and fit the card model", options, true);
  costing->add_option("--repeats", options.repeats)->check(CLI::Range(5, 100000))->capture_default_str();
  costing->add_option("--out", options.out, "file for the card model (default: standard output)");
  costing->add_option("--active-mw", options.active_mw, "power while busy in mW; not measured, copied to the card")
      ->capture_default_str();
  costing->add_option("--idle-uw", options.idle_uw, "power while idle in uW; not measured, copied to the card")
      ->capture_default_str();
  add_prediction(app, options);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : 2;
  }
  std::signal(SIGINT, [](int) { interrupted = true; });
  try {
    if (app.got_subcommand("check")) return check(options);
    if (app.got_subcommand("write")) return write(options);
    if (app.got_subcommand("verify")) return verify(options);
    return app.got_subcommand("cost") ? cost(options) : prediction(options);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "lunar bdtest: %s\n", error.what());
    return 1;
  }
}

}  // namespace bdtest
