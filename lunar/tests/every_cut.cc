// lunar-every-cut CUTS [SEED [NAME]]: cuts the power at the writes and flushes of many workloads, until CUTS distinct
// cuts were made in all kinds of worlds together, or in the kinds whose name begins with NAME. Prints a line for each
// kind. Every outcome must be one that the mode permits (FORMAT.md, "What a power cut may leave"); mode none promises
// only that mounting and reading end. Exit code 1: an outcome was not permitted, and its kind ended there. The same
// CUTS with the printed seed and kind begin with that world.
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <string_view>
#include <vector>

#include "cut_campaign.h"

namespace lunar_test {
namespace {

// Returns the buffer for a stage of one sector and this many frames.
constexpr std::size_t buffer_of(std::size_t frames) { return 512 + frames * (512 + 24); }

// With a small table operations soon run into a checkpoint or a spill.
std::vector<Setting> small_worlds() {
  const std::size_t least = LUNAR_BUFFER_BYTES_MIN(512);
  return {
      {"full", {.mode = LUNAR_MODE_FULL, .buffer_bytes = least}},
      {"full, 16 KiB, tree", {.mode = LUNAR_MODE_FULL, .buffer_bytes = 16384, .index = LUNAR_INDEX_TREE}},
      {"full, ring", {.mode = LUNAR_MODE_FULL, .buffer_bytes = 4096, .ring_rows = 9}},
      {"data", {.mode = LUNAR_MODE_DATA, .buffer_bytes = least}},
      {"data, 16 KiB, tree", {.mode = LUNAR_MODE_DATA, .buffer_bytes = 16384, .index = LUNAR_INDEX_TREE}},
      {"metadata", {.mode = LUNAR_MODE_METADATA, .buffer_bytes = least, .atomic_sectors = true}},
      {"metadata, 16 KiB", {.mode = LUNAR_MODE_METADATA, .buffer_bytes = 16384, .atomic_sectors = true}},
      {"disorder", {.mode = LUNAR_MODE_DISORDER, .buffer_bytes = 4096, .atomic_sectors = true}},
      {"none", {.mode = LUNAR_MODE_NONE, .buffer_bytes = 4096}},
      // Enough frames that pages stay after a spill, too few to hold all.
      {"full, 8 frames, tree",
       {.mode = LUNAR_MODE_FULL,
        .sectors = 512,
        .buffer_bytes = buffer_of(8),
        .log_bytes = 144 * 512,
        .keys = 100,
        .index = LUNAR_INDEX_TREE}},
      {"metadata, 12 frames",
       {.mode = LUNAR_MODE_METADATA,
        .sectors = 512,
        .buffer_bytes = buffer_of(12),
        .log_bytes = 144 * 512,
        .keys = 100,
        .atomic_sectors = true}},
      {"full, checksums", {.mode = LUNAR_MODE_FULL, .buffer_bytes = 4096, .checksums = true}},
      {"metadata, checksums",
       {.mode = LUNAR_MODE_METADATA, .buffer_bytes = buffer_of(8), .atomic_sectors = true, .checksums = true}},
      {"full, secondary",
       {.mode = LUNAR_MODE_FULL, .sectors = 384, .buffer_bytes = least, .log_bytes = 192 * 512, .secondary = 3}},
      {"data, secondary, ring",
       {.mode = LUNAR_MODE_DATA,
        .sectors = 384,
        .buffer_bytes = 4096,
        .log_bytes = 208 * 512,
        .index = LUNAR_INDEX_TREE,
        .ring_rows = 9,
        .secondary = 2}},
      {"metadata, secondary",
       {.mode = LUNAR_MODE_METADATA,
        .sectors = 384,
        .buffer_bytes = buffer_of(8),
        .log_bytes = 144 * 512,
        .atomic_sectors = true,
        .secondary = 1}},
  };
}

// Draws the properties that differ between worlds of one kind: buffer, log, index and row length.
Options drawn(Options options, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  const auto one_of = [&random](const auto& values) { return values[random() % values.size()]; };
  // Three indexes and a ring need 7 + 2 (unit + 18 + 24 n) sectors.
  constexpr std::uint32_t log_sectors[] = {64, 72, 104, 128, 192, 256, 384, 512, 1024, 2048, 4096};
  const std::uint32_t log_min = options.secondary == 0 ? 64 : options.secondary == 1 ? 128 : 256;
  constexpr std::size_t buffers[] = {
      LUNAR_BUFFER_BYTES_MIN(512), buffer_of(6), buffer_of(10), 8192, 16384, 32768, 65536};
  constexpr std::uint32_t text_bytes[] = {60, 200, 600};
  std::uint32_t log = 0;
  while (log < log_min) log = one_of(std::to_array(log_sectors));
  options.buffer_bytes = one_of(std::to_array(buffers));
  options.text_bytes_max = one_of(std::to_array(text_bytes));
  options.log_bytes = log * 512;
  options.sectors = log + 1024;
  options.index = random() % 2 == 0 ? LUNAR_INDEX_TREE : LUNAR_INDEX_HASH;
  options.keys = 300, options.first_rows = 200, options.spills_max = 50;
  return options;
}

Kind large(const char* name, const Options& options, std::size_t share) {
  return {.name = name,
          .options = [options](std::uint64_t seed) { return drawn(options, seed); },
          .share = share,
          .random_cuts_at_write = 0,
          .one_lost_at_flush = 4,
          .few_lost_at_flush = 2,
          .random_cuts_at_flush = 2,
          .checks = true};
}

// Few frames, short units of the log, transactions of a few spills: recoveries spill too, and are cut repeatedly.
Kind recoveries(const char* name, const Options& options) {
  Kind kind = large(name, options, 2);
  kind.options = [options](std::uint64_t seed) {
    Options chosen = drawn(options, seed);
    chosen.buffer_bytes = seed % 2 == 0 ? LUNAR_BUFFER_BYTES_MIN(512) : buffer_of(6);
    chosen.log_bytes = (seed % 4 < 2 ? 144 : 240) * 512;
    chosen.sectors = 768, chosen.text_bytes_max = 200, chosen.spills_max = 4;
    chosen.keys = 120, chosen.first_rows = 80;
    return chosen;
  };
  kind.recovery_cuts_of_4 = 3;
  return kind;
}

// The default volume of lunar_format on 8 MB, with a thousand rows.
Kind default_volume(const char* name, std::uint32_t log_bytes) {
  const Options options = {.sectors = 16384,
                           .buffer_bytes = 16384,
                           .log_bytes = log_bytes,
                           .keys = 1100,
                           .text_bytes_max = 200,
                           .index = LUNAR_INDEX_TREE,
                           .first_rows = 1000,
                           .spills_max = 10,
                           .statements = true};
  Kind kind = large(name, options, 1);
  kind.options = [options](std::uint64_t) { return options; };
  return kind;
}

std::vector<Kind> kinds() {
  std::vector<Kind> all;
  for (const auto& [name, options] : small_worlds())
    all.push_back({.name = name, .options = [options = options](std::uint64_t) { return options; }});
  const Options full = {.mode = LUNAR_MODE_FULL}, data = {.mode = LUNAR_MODE_DATA};
  const Options metadata = {.mode = LUNAR_MODE_METADATA, .atomic_sectors = true};
  const auto with = [](Options options, std::uint32_t secondary, std::uint32_t ring_rows, bool statements) {
    options.secondary = secondary, options.ring_rows = ring_rows, options.statements = statements;
    return options;
  };
  all.push_back(large("spills: full", with(full, 0, 0, false), 3));
  all.push_back(large("spills: full, ring", with(full, 0, 150, false), 2));
  all.push_back(large("spills: full, secondary", with(full, 2, 0, false), 2));
  all.push_back(large("spills: data", with(data, 0, 0, false), 2));
  all.push_back(large("spills: metadata", with(metadata, 0, 0, false), 2));
  all.push_back(recoveries("recoveries: full", full));
  all.push_back(recoveries("recoveries: data", data));
  all.push_back(large("SQL: full", with(full, 0, 0, true), 3));
  all.push_back(large("SQL: full, secondary", with(full, 3, 0, true), 3));
  all.push_back(large("SQL: data, secondary", with(data, 1, 0, true), 2));
  all.push_back(large("SQL: metadata", with(metadata, 0, 0, true), 2));
  all.push_back(default_volume("SQL: full, 8 MB", 0));
  all.push_back(default_volume("SQL: full, 8 MB, 2 MB log", 2 << 20));
  for (Options options : {full, data, metadata}) {
    options.statements = options.truncations = true, options.secondary = options.mode == LUNAR_MODE_METADATA ? 0 : 2;
    all.push_back(large(options.mode == LUNAR_MODE_FULL   ? "truncations: full, secondary"
                        : options.mode == LUNAR_MODE_DATA ? "truncations: data, secondary"
                                                          : "truncations: metadata",
                        options, 1));
    options.truncations = false, options.compactions = true;
    all.push_back(large(options.mode == LUNAR_MODE_FULL   ? "compaction: full, secondary"
                        : options.mode == LUNAR_MODE_DATA ? "compaction: data, secondary"
                                                          : "compaction: metadata",
                        options, 2));
  }
  // No sector is damaged, so that nothing is skipped.
  for (Options options : {full, data, metadata}) {
    options.skip_unreadable = options.statements = true;
    options.secondary = options.mode == LUNAR_MODE_METADATA ? 0 : 2;
    all.push_back(large(options.mode == LUNAR_MODE_FULL   ? "skip_unreadable: full"
                        : options.mode == LUNAR_MODE_DATA ? "skip_unreadable: data"
                                                          : "skip_unreadable: metadata",
                        options, 2));
  }
  return all;
}

void print_line(const char* name, const Tally& tally) {
  std::printf("%s%-26s %7zu %8u %9zu %9zu %9zu %9zu %9zu %8d %8.1f %8.3f\n", isatty(1) ? "\r" : "", name, tally.worlds,
              tally.spills_max, tally.cuts, tally.distinct, tally.one_lost, tally.few_lost, tally.in_recovery,
              tally.not_permitted.empty() ? 0 : 1, tally.cpu_s, 1e3 * tally.cpu_s / static_cast<double>(tally.cuts));
  if (!tally.not_permitted.empty()) std::printf("NOT PERMITTED: %s\n", tally.not_permitted.c_str());
  std::fflush(stdout);
}

int main_of(std::size_t wanted, std::uint64_t seed, std::string_view name) {
  auto all = kinds();
  std::erase_if(all, [&](const auto& kind) { return !std::string_view(kind.name).starts_with(name); });
  std::size_t shares = 0;
  for (const auto& kind : all) shares += kind.share;
  std::printf("seed %llu\n%-26s %7s %8s %9s %9s %9s %9s %9s %8s %8s %8s\n", static_cast<unsigned long long>(seed),
              "kind", "worlds", "spills", "cuts", "distinct", "lost 1", "lost 2-4", "recovery", "not perm", "s",
              "ms each");
  Tally sum;
  bool failed = false;
  for (std::size_t i = 0; i < all.size(); ++i) {
    const Tally tally = run_campaign(all[i], seed + i * 1'000'000, (wanted * all[i].share + shares - 1) / shares);
    print_line(all[i].name, tally);
    failed |= !tally.not_permitted.empty();
    sum.cuts += tally.cuts, sum.distinct += tally.distinct, sum.worlds += tally.worlds, sum.cpu_s += tally.cpu_s;
    sum.one_lost += tally.one_lost, sum.few_lost += tally.few_lost, sum.in_recovery += tally.in_recovery;
    sum.spills_max = std::max(sum.spills_max, tally.spills_max);
  }
  print_line("together", sum);
  return failed ? 1 : 0;
}

}  // namespace
}  // namespace lunar_test

int main(int argc, char** argv) {
  const std::size_t wanted = argc > 1 ? std::strtoull(argv[1], nullptr, 10) : 10'000;
  const std::uint64_t seed = argc > 2 ? std::strtoull(argv[2], nullptr, 10) : 1;
  return lunar_test::main_of(wanted, seed, argc > 3 ? argv[3] : "");
}
