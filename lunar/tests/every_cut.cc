// lunar-every-cut CUTS [SEED [NAME]]: the power goes before every write and every flush of a workload and, from there,
// any subset of what was not flushed survives, torn too; and again during the recovery. Counts what is distinct by
// content after the cut, the place in the workload and the subset (which content and place tell), until there are CUTS
// in all modes (or those whose name begins so) together. Every outcome is one that the mode permits; mode none promises
// only that mounting and reading end.
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string_view>
#include <unordered_set>

#include "world.h"

namespace lunar_test {
namespace {

// A stage of a sector, and so many frames.
constexpr std::size_t buffer_of(std::size_t frames) { return 512 + frames * (512 + 24); }

std::vector<Setting> modes() {
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
      // Frames enough that pages stay in them after a spill, and too few to hold all.
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

struct Copy {
  explicit Copy(const emubd& from) {
    if (emubd_open(&device, from.sector_bytes, from.sector_count) != 0 || emubd_copy(&device, &from) != 0)
      throw std::bad_alloc();
  }
  ~Copy() { emubd_close(&device); }
  Copy(const Copy&) = delete;
  Copy& operator=(const Copy&) = delete;
  emubd device{};
};

struct Watched {
  const emubd* device;
  std::vector<std::unique_ptr<Copy>> before;  // each change of the operation that is under way
};

void keep(void* context) {
  auto& watched = *static_cast<Watched*>(context);
  watched.before.push_back(std::make_unique<Copy>(*watched.device));
}

class EveryCut {
 public:
  EveryCut(const Setting& mode, std::uint64_t seed, std::size_t wanted) : mode_(mode), seed_(seed), wanted_(wanted) {}

  // 0, or 1 when an outcome was not permitted (it is told).
  int run() {
    const auto begin = std::chrono::steady_clock::now();
    while (distinct_.size() < wanted_ && wrong_.empty()) life(seed_ + lives_++);
    const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    std::printf("%s%-20s %2u frames, %9zu cuts, %9zu distinct, %7zu of them in recovery, %6.1f s, %.3f ms each\n",
                isatty(1) ? "\r" : "", mode_.name, reader_->db.frame_count, cuts_, distinct_.size(), in_recovery_,
                seconds, 1e3 * seconds / static_cast<double>(cuts_));
    if (!wrong_.empty()) std::printf("NOT PERMITTED: %s\n", wrong_.c_str());
    std::fflush(stdout);
    return wrong_.empty() ? 0 : 1;
  }

 private:
  void life(std::uint64_t seed) {
    World world(mode_.options, seed);
    reader_ = std::make_unique<World>(mode_.options, seed);
    Watched watched{&world.device, {}};
    world.device.before_change_context = &watched, world.device.before_change = keep;
    place_ = 0;
    for (int step = 0; step < 60 && distinct_.size() < wanted_ && wrong_.empty(); ++step) {
      const auto before = world.since;
      const int error = world.random(12) == 0   ? world.sync()
                        : world.random(40) == 0 ? world.checkpoint()
                                                : world.step();
      if (error != 0) wrong_ = world.did + ": " + lunar_error_text(error) + " without a cut";
      for (const auto& copy : watched.before) {
        ++place_;
        for (int i = 0; i < 4 && wrong_.empty(); ++i) cut(world, before, copy->device, seed);
      }
      watched.before.clear();
    }
    if (isatty(1)) std::printf("\r%-20s %9zu distinct", mode_.name, distinct_.size()), std::fflush(stdout);
  }

  void cut(World& world, const std::vector<State>& before, const emubd& at, std::uint64_t seed) {
    World& reader = *reader_;
    if (emubd_copy(&reader.device, &at) != 0) throw std::bad_alloc();
    int error = 0;
    for (int again = 0;; ++again) {
      emubd_reset(&reader.device);
      reader.cut();
      ++cuts_;
      const bool is_new =
          distinct_.insert(reader.image_hash() ^ (place_ * 8U + static_cast<unsigned>(again) + 1) * 0x9e3779b97f4a7c15U)
              .second;
      if (is_new && again > 0) ++in_recovery_;
      if (again < 3 && reader.random(3) == 0) reader.device.cut_at = 1 + reader.random(30);
      error = reader.mount();
      if (error != LUNAR_E_IO || reader.device.cut_at == 0) break;
    }
    emubd_reset(&reader.device);
    const auto state = error == 0 ? reader.read() : std::nullopt;
    if (mode_.options.mode == LUNAR_MODE_NONE) return;
    const std::string where = "seed " + std::to_string(seed) + ", change " + std::to_string(place_) + ", " + world.did;
    if (error != 0)
      wrong_ = where + ": mount: " + lunar_error_text(error);
    else if (!state)
      wrong_ = where + ": unreadable";
    else if (!world.permitted(*state, before))
      wrong_ = where + ": another state";
  }

  const Setting& mode_;
  std::uint64_t seed_;
  std::size_t wanted_;
  std::uint64_t lives_ = 0, place_ = 0;
  std::size_t cuts_ = 0, in_recovery_ = 0;
  std::unordered_set<std::uint64_t> distinct_;
  std::unique_ptr<World> reader_;
  std::string wrong_;
};

}  // namespace
}  // namespace lunar_test

int main(int argc, char** argv) {
  const std::size_t wanted = argc > 1 ? std::strtoull(argv[1], nullptr, 10) : 10'000;
  const std::uint64_t seed = argc > 2 ? std::strtoull(argv[2], nullptr, 10) : 1;
  std::printf("seed %llu\n", static_cast<unsigned long long>(seed));
  auto all = lunar_test::modes();
  const std::string_view wish = argc > 3 ? argv[3] : "";
  std::erase_if(all, [&](const auto& mode) { return !std::string_view(mode.name).starts_with(wish); });
  int failed = 0;
  for (std::size_t i = 0; i < all.size(); ++i) {
    failed |= lunar_test::EveryCut(all[i], seed + i * 1'000'000, (wanted + all.size() - 1) / all.size()).run();
  }
  return failed;
}
