// The device fails at every call of a workload in turn: once, for a while, from then on, or in some sectors
// permanently. Every error is documented and names the failed request. A handle that stays usable shows the state
// before the failed operation; any other refuses every call until the next mount. Durable rows survive the mount and a
// power cut. LUNAR_SEED=N replays a run.
#include <gtest/gtest.h>

#include <algorithm>

#include "values.h"
#include "world.h"

namespace lunar_test {
namespace {

constexpr std::uint64_t always = UINT64_MAX;

// Suspends the device's failures during its lifetime.
class Healthy {
 public:
  explicit Healthy(emubd& device)
      : device_(device),
        fail_at_(device.fail_at),
        calls_(device.calls),
        bad_(device.bad, device.bad + device.sector_count) {
    device.fail_at = 0;
    std::fill_n(device.bad, device.sector_count, std::uint8_t{0});
  }
  ~Healthy() {
    device_.fail_at = fail_at_, device_.calls = calls_;
    std::copy(bad_.begin(), bad_.end(), device_.bad);
  }
  Healthy(const Healthy&) = delete;
  Healthy& operator=(const Healthy&) = delete;

 private:
  emubd& device_;
  std::uint64_t fail_at_, calls_;
  std::vector<std::uint8_t> bad_;
};

// One workload on a failing device; `wrong` describes the first fault.
class Trial {
 public:
  Trial(const Options& options, std::uint64_t seed) : world(options, seed) { emubd_reset(&world.device); }

  void work(int steps) {
    for (int i = 0; i < steps && wrong.empty(); ++i) {
      const std::uint32_t kind = world.random(48);
      const auto before = world.since;
      const bool failed_before = has_failed();
      judge(kind < 4 ? world.sync() : kind < 6 ? world.checkpoint() : kind < 7 ? remounted() : world.step(), before);
      if (has_failed() && !failed_before) not_needed = is_not_needed(kind == 6);
      if (wrong.empty() && lost_ != world.db.lost_rows + world.db.lost_blocks) go_on_without_lost_rows();
    }
  }

  // Repairs the device, cuts the power and checks the volume.
  void end() {
    if (!wrong.empty()) return;
    calls = world.device.calls;
    emubd_reset(&world.device);
    world.cut();  // a sector whose write is lost is as bad as it was before
    std::fill_n(world.device.bad, world.device.sector_count, std::uint8_t{0});
    mount_and_judge("after the cut");
  }

  World world;
  std::string wrong;
  std::size_t errors = 0, failed = 0;
  std::uint64_t calls = 0;
  bool not_needed = false;  // the read that failed first

 private:
  bool has_failed() const { return world.device.fail_at != 0 && world.device.calls >= world.device.fail_at; }

  // A move that precedes the operation, a page that has a second copy, or an image that a spill searches for in the
  // log: it writes another one.
  bool is_not_needed(bool mounts) const {
    const auto& geometry = world.db.geometry;
    const std::uint32_t sector = world.device.failed_sector;
    if (world.device.failed_request != LUNAR_REQUEST_READ) return false;
    const bool in_log = sector >= geometry.log_at && sector < geometry.log_at + geometry.log_sectors;
    return world.db.unmovable != 0 || world.db.second_copies != 0 || (in_log && !mounts);
  }

  // A ring table gave up rows in bad sectors; the others are as they were. Then fewer of the oldest rows had to go.
  void go_on_without_lost_rows() {
    const Healthy healthy(world.device);
    lost_ = world.db.lost_rows + world.db.lost_blocks;
    const auto state = world.read();
    if (!state) wrong = world.did + ": unreadable after a repair";
    if (state && !made_of_moments(*state)) wrong = world.did + ": a repair changed a row";
    if (state) world.go_on_from(*state);
  }

  std::uint32_t lost_ = 0;

  int remounted() {
    const int error = world.unmount();
    const bool closed_in_order = error == 0 || error == LUNAR_E_IO || error == LUNAR_E_FAILED;
    if (!closed_in_order) return error;
    const int mounted = world.mount();
    if (mounted != 0) return mounted;
    if (error == 0) return 0;
    ++errors;
    const Healthy healthy(world.device);
    const auto state = world.read();
    if (!state || !world.permitted(*state)) wrong = "unmount failed, and another state was there";
    if (state) world.go_on_from(*state);
    return 0;
  }

  void mount_and_judge(const std::string& when) {
    const bool repaired = world.db.repairs != 0;  // by the handle that failed; what it did since may be lost
    const int error = world.mount();
    if (error != 0) {
      wrong = when + ", " + world.did + ": mount: " + lunar_error_text(error);
      return;
    }
    const auto state = world.read();
    if (!state) wrong = when + ", " + world.did + ": unreadable";
    lost_ = world.db.lost_rows + world.db.lost_blocks;
    if (state && !(repaired || world.db.repairs != 0 ? made_of_moments(*state) : world.permitted(*state)))
      wrong = when + ", " + world.did + ": another state";
    if (state) world.go_on_from(*state);
  }

  // A repair gave up rows: each that is left is one of a moment that is permitted.
  bool made_of_moments(const State& state) const {
    for (const auto& [key, row] : state) {
      bool was_there = false;
      for (const State& moment : world.since) {
        const auto at = moment.find(key);
        was_there = was_there || (at != moment.end() && at->second == row);
      }
      if (!was_there) return false;
    }
    return true;
  }

  // Returns whether the handle names the request that failed on the device; a failed mount's handle has it too.
  bool names_the_request() {
    std::uint32_t sector = 0;
    const lunar_request request = lunar_failed_request(&world.db, &sector);
    return request == world.device.failed_request && sector == world.device.failed_sector &&
           request == lunar_failed_request(&world.db, nullptr);
  }

  void judge(int error, const std::vector<State>& before) {
    if (error == 0) return;
    ++errors;
    const std::string did = world.did;
    if (error != LUNAR_E_IO) wrong = did + ": " + lunar_error_text(error);
    if (!names_the_request()) wrong = did + ": E_IO names another request than the one that failed";
    if (!wrong.empty()) return;
    const bool read_failed = world.device.failed_request == LUNAR_REQUEST_READ;
    const Healthy healthy(world.device);
    std::uint64_t rows = 0;
    const int state_now = lunar_count(&world.table, &rows);
    if (state_now == LUNAR_E_FAILED || did == "mount" || did == "open") {
      ++failed;
      mount_and_judge("failed");
      return;
    }
    auto state = world.read();
    lunar_losses losses{};
    if (!state && lunar_repair(&world.table, &losses) == 0) {  // the way back met damage
      state = world.read();
      if (state && !made_of_moments(*state)) wrong = did + ": a repair made another state";
      if (state) world.go_on_from(*state);
      return;
    }
    if (state && world.db.repairs != 0) {  // it gave up rows in bad sectors
      if (!made_of_moments(*state)) wrong = did + ": a repair made another state";
      world.go_on_from(*state);
      return;
    }
    if (!read_failed)
      wrong = did + ": the handle goes on after a write or a flush that failed";
    else if (!state)
      wrong = did + ": the handle is unreadable afterwards";
    else if (*state != world.now)
      wrong = did + ": the handle shows another state than the one before it";
    world.since = before;  // none of it is on the device
  }
};

struct Fault {
  std::uint64_t calls = 1;             // number of consecutive failing calls
  std::uint8_t failing_write_256 = 0;  // part of a failing write that reaches the medium, in 1/256
};

class IoErrors : public testing::TestWithParam<Setting> {
 protected:
  // Runs the workload once for every call that can fail.
  void at_every_call(const Fault& fault, int steps) {
    const auto seed = test_seed();
    std::size_t errors = 0, silent = 0, failed = 0, trials = 0;
    Trial well(GetParam().options, seed);
    well.work(steps);
    well.end();
    ASSERT_EQ(well.wrong, "") << "seed " << seed << ", no failure";
    const std::uint64_t calls = well.calls;
    const std::uint64_t stride = one_in(5);
    for (std::uint64_t k = 1 + seed % stride; k <= calls; k += stride) {
      Trial trial(GetParam().options, seed);
      trial.world.device.fail_at = k;
      trial.world.device.fail_until = fault.calls == always ? always : k + fault.calls - 1;
      trial.world.device.failing_write_256 = fault.failing_write_256;
      trial.work(steps);
      trial.end();
      ASSERT_EQ(trial.wrong, "") << "seed " << seed << ", call " << k << " and " << fault.calls << " in all";
      errors += trial.errors, silent += trial.errors == 0 && !trial.not_needed, ++trials, failed += trial.failed;
    }
    std::printf("%zu of %llu calls, %zu errors, %zu without an error, %zu handles to be mounted again\n", trials,
                static_cast<unsigned long long>(calls), errors, silent, failed);
    EXPECT_LE(silent, std::min<std::size_t>(calls / 8, 10 + trials / 16))
        << "excused: SUPER is read from its second copy, reads ahead are repeated one by one, and a mount reads behind "
           "the log's end";
  }
};

TEST_P(IoErrors, of_one_call_undo_one_operation_at_most) { at_every_call({.calls = 1}, 60); }
TEST_P(IoErrors, of_a_write_that_half_happened_undo_one_operation_at_most) {
  at_every_call({.calls = 1, .failing_write_256 = 128}, 60);
}
TEST_P(IoErrors, of_a_write_that_happened_undo_one_operation_at_most) {
  at_every_call({.calls = 1, .failing_write_256 = 255}, 60);
}
TEST_P(IoErrors, for_a_while_leave_what_was_durable) { at_every_call({.calls = 7}, 60); }
TEST_P(IoErrors, from_a_call_on_leave_what_was_durable) { at_every_call({.calls = always}, 60); }

TEST_P(IoErrors, in_bad_sectors_leave_what_was_durable) {
  const auto seed = test_seed();
  std::size_t errors = 0;
  const std::uint64_t trials = 300 / one_in(5);
  for (std::uint64_t i = 0; i < trials; ++i) {
    Trial trial(GetParam().options, seed + i);
    for (int bad = 0; bad < 4; ++bad) {
      const std::uint32_t sector = trial.world.random(bad < 2 ? 256 : trial.world.device.sector_count);
      emubd_set_bad(&trial.world.device, sector, static_cast<std::uint8_t>(1 + trial.world.random(3)));
    }
    trial.work(40);
    trial.end();
    ASSERT_EQ(trial.wrong, "") << "seed " << seed + i;
    errors += trial.errors;
  }
  EXPECT_GT(errors, trials / 3);
}

TEST_P(IoErrors, of_mount_leave_what_was_durable) {
  const auto seed = test_seed();
  std::size_t silent = 0;
  std::uint64_t k = 0;
  for (bool failed = true; failed; silent += !failed) {
    World world(GetParam().options, seed);
    for (int i = 0; i < 40; ++i) ASSERT_EQ(world.step(), 0);
    emubd_reset(&world.device);
    world.device.fail_at = ++k;
    const int error = world.mount();
    failed = world.device.calls >= k;
    if (error != 0) {
      ASSERT_EQ(error, LUNAR_E_IO) << "call " << k;
    } else {
      silent += failed && world.db.second_copies == 0;
    }
    std::uint64_t rows = 0;
    if (world.did == "mount" && error != 0) {
      EXPECT_NE(lunar_count(&world.table, &rows), 0) << "a handle that is not mounted";
    }
    emubd_reset(&world.device);
    ASSERT_EQ(world.mount(), 0) << "call " << k;
    const auto state = world.read();
    ASSERT_TRUE(state && world.permitted(*state)) << "call " << k;
  }
  EXPECT_GT(k, 20U);
  EXPECT_LE(silent, 30U)
      << "SUPER has a second copy that can do instead; behind the log's end only a proof of damage is looked for";
}

TEST_P(IoErrors, of_format_are_reported_and_a_further_format_works) {
  emubd device{};
  ASSERT_EQ(emubd_open(&device, 512, 1024), 0);
  std::vector<std::uint32_t> buffer(GetParam().options.buffer_bytes / 4);
  lunar_config config{};
  emubd_config(&device, &config);
  config.buffer = buffer.data(), config.buffer_bytes = buffer.size() * 4, config.mode = GetParam().options.mode;
  std::uint64_t k = 0;
  for (bool failed = true; failed;) {
    lunar db{};
    emubd_reset(&device);
    device.fail_at = ++k;
    const int error = lunar_format(&config);
    failed = device.calls >= k;
    if (failed && k > 2) {
      ASSERT_EQ(error, LUNAR_E_IO) << "call " << k;  // the first two ask what was there before
    }
    emubd_reset(&device);
    const int mounted = lunar_mount(&db, &config);
    if (mounted != 0) {
      ASSERT_TRUE(mounted == LUNAR_E_NO_VOLUME || mounted == LUNAR_E_CORRUPT) << "call " << k << ": " << mounted;
      ASSERT_EQ(lunar_format(&config), 0);
    }
    ASSERT_EQ(lunar_mount(&db, &config), 0);
    ASSERT_EQ(lunar_unmount(&db), 0);
  }
  EXPECT_GT(k, 10U);
  emubd_close(&device);
}

// The update may have changed its first sector before the read of the next one fails.
TEST(IoErrorsInPlace, of_an_update_of_several_sectors_show_no_part_of_it) {
  const Options options{.mode = LUNAR_MODE_METADATA, .sectors = 1024, .buffer_bytes = 8192, .atomic_sectors = true};
  const std::string before(1400, 'a'), after(1400, 'b');
  const lunar_value key = integer(1), row[] = {key, blob(before), integer(0)}, changed = blob(after);
  int errors = 0, refused = 0;
  for (std::uint64_t k = 1;; ++k) {
    World world(options, 1);
    ASSERT_EQ(lunar_insert(&world.table, row), 0);
    ASSERT_EQ(world.unmount(), 0);
    ASSERT_EQ(world.mount(), 0);  // no part of the row is in RAM
    emubd_reset(&world.device);
    world.device.fail_at = k;
    const int error = lunar_update(&world.table, &key, 1, &changed);
    const bool all = world.device.calls < k;
    emubd_reset(&world.device);
    char memory[2000];
    lunar_value values[3];
    const int got = lunar_get(&world.table, &key, memory, sizeof memory, values);
    ASSERT_TRUE(got == 0 || (error != 0 && got == LUNAR_E_FAILED)) << "call " << k << ": " << got;
    if (got == 0) {
      EXPECT_EQ(bytes_of(values[1]), error != 0 ? before : after) << "call " << k;
    }
    errors += error != 0, refused += got != 0;
    if (all) break;
  }
  EXPECT_GT(errors, refused);
  EXPECT_GT(refused, 0);
}

// Fewer steps, because one in sixteen creates or drops an index.
class IoErrorsOfIndexes : public IoErrors {};

TEST_P(IoErrorsOfIndexes, of_one_call_undo_one_operation_at_most) { at_every_call({.calls = 1}, 30); }
TEST_P(IoErrorsOfIndexes, of_a_write_that_half_happened_undo_one_operation_at_most) {
  at_every_call({.calls = 1, .failing_write_256 = 128}, 30);
}
TEST_P(IoErrorsOfIndexes, from_a_call_on_leave_what_was_durable) { at_every_call({.calls = always}, 30); }

INSTANTIATE_TEST_SUITE_P(
    Modes, IoErrorsOfIndexes,
    testing::Values(Setting{"full_smallest_buffer",
                            {.mode = LUNAR_MODE_FULL, .sectors = 512, .log_bytes = 128 * 512, .secondary = 1}},
                    Setting{"metadata_8_KiB",
                            {.mode = LUNAR_MODE_METADATA,
                             .sectors = 512,
                             .buffer_bytes = 8192,
                             .log_bytes = 192 * 512,
                             .index = LUNAR_INDEX_TREE,
                             .atomic_sectors = true,
                             .secondary = 3}}),
    [](const auto& of) { return of.param.name; });

// Mode none has no log, so an interrupted change cannot be undone and the content is undefined. The handle reports
// that, every call returns a documented result, and the volume can be mounted, checked and formatted.
class IoErrorsInModeNone : public testing::TestWithParam<std::size_t> {
 protected:
  Options options() const { return {.mode = LUNAR_MODE_NONE, .sectors = 1024, .buffer_bytes = GetParam()}; }

  static int work(World& world, int steps) {
    int error = 0;
    for (int i = 0; i < steps && error == 0; ++i) {
      const std::uint32_t kind = world.random(48);
      error = kind < 4 ? world.sync() : kind < 6 ? world.checkpoint() : world.step();
    }
    return error;
  }

  static bool documented(int error) { return error <= 0 && error >= LUNAR_E_INDEX_FULL; }

  // A failed handle refuses everything, as in every other mode.
  static void remount(World& world, std::uint64_t k) {
    EXPECT_EQ(world.step(), LUNAR_E_FAILED) << "call " << k;
    EXPECT_EQ(world.sync(), LUNAR_E_FAILED) << "call " << k;
    lunar other{};
    lunar_config full = *world.db.config;
    full.mode = LUNAR_MODE_FULL, full.mounted = nullptr;
    EXPECT_EQ(lunar_mount(&other, &full), LUNAR_E_UNCLEAN) << "call " << k;
    const int mounted = world.mount();
    ASSERT_TRUE(documented(mounted)) << "call " << k << ": " << mounted;
    if (mounted != 0) return;
    lunar_findings found{};
    const int checked = lunar_check(&world.db, &found);
    EXPECT_TRUE(checked == 0 || checked == LUNAR_E_CORRUPT) << "call " << k << ": " << checked;
    const auto state = world.read();
    if (state) world.go_on_from(*state);
    for (int i = 0; i < 30 && state; ++i) ASSERT_TRUE(documented(world.step())) << "call " << k;
    EXPECT_TRUE(documented(world.unmount())) << "call " << k;
  }

  void at_every_call(const Fault& fault) {
    const auto seed = test_seed(), stride = one_in(5);
    std::size_t failed = 0, went_on = 0;
    for (std::uint64_t k = 1 + seed % stride;; k += stride) {
      World world(options(), seed);
      emubd_reset(&world.device);
      world.device.fail_at = k, world.device.fail_until = k + fault.calls - 1;
      world.device.failing_write_256 = fault.failing_write_256;
      const int error = work(world, 80);
      const bool all = world.device.calls < k;
      emubd_reset(&world.device);
      if (all) break;
      ASSERT_TRUE(error == 0 || error == LUNAR_E_IO) << "call " << k << ": " << error;
      std::uint64_t rows = 0;
      int state = lunar_count(&world.table, &rows);
      if (state == LUNAR_E_IO) state = lunar_count(&world.table, &rows);  // the first call after the failure
      ASSERT_TRUE(state == 0 || state == LUNAR_E_FAILED) << "call " << k << ": " << state;
      if (state == 0) {
        ++went_on;
        ASSERT_EQ(world.read(), world.now) << "call " << k;
      } else {
        ++failed;
        remount(world, k);
      }
    }
    std::printf("%zu handles to be mounted again, %zu that went on\n", failed, went_on);
    EXPECT_GT(failed, 10U);
    EXPECT_GT(went_on, 0U);
  }
};

TEST_P(IoErrorsInModeNone, of_one_call_end_the_handle_at_most) { at_every_call({.calls = 1}); }
TEST_P(IoErrorsInModeNone, of_a_write_that_half_happened_end_the_handle_at_most) {
  at_every_call({.calls = 1, .failing_write_256 = 128});
}
TEST_P(IoErrorsInModeNone, for_a_while_end_the_handle_at_most) { at_every_call({.calls = 7}); }

INSTANTIATE_TEST_SUITE_P(Buffers, IoErrorsInModeNone, testing::Values(LUNAR_BUFFER_BYTES_MIN(512), 32768),
                         [](const auto& of) { return "bytes_" + std::to_string(of.param); });

INSTANTIATE_TEST_SUITE_P(
    Modes, IoErrors,
    testing::Values(
        Setting{"full_smallest_buffer", {.mode = LUNAR_MODE_FULL, .sectors = 1024}},
        Setting{"data_smallest_buffer", {.mode = LUNAR_MODE_DATA, .sectors = 1024}},
        Setting{"data_32_KiB", {.mode = LUNAR_MODE_DATA, .sectors = 1024, .buffer_bytes = 32768, .log_bytes = 1 << 17}},
        Setting{"metadata_in_place",
                {.mode = LUNAR_MODE_METADATA, .sectors = 1024, .buffer_bytes = 8192, .atomic_sectors = true}},
        Setting{"metadata_smallest_buffer", {.mode = LUNAR_MODE_METADATA, .sectors = 1024}},
        Setting{"disorder_in_place", {.mode = LUNAR_MODE_DISORDER, .sectors = 1024, .atomic_sectors = true}},
        Setting{"disorder_tree_32_KiB",
                {.mode = LUNAR_MODE_DISORDER, .sectors = 1024, .buffer_bytes = 32768, .index = LUNAR_INDEX_TREE}},
        Setting{"full_tree",
                {.mode = LUNAR_MODE_FULL, .sectors = 1024, .buffer_bytes = 8192, .index = LUNAR_INDEX_TREE}},
        Setting{"data_ring", {.mode = LUNAR_MODE_DATA, .sectors = 1024, .buffer_bytes = 8192, .ring_rows = 9}}),
    [](const auto& of) { return of.param.name; });

}  // namespace
}  // namespace lunar_test
