#include "cut_campaign.h"

#include <algorithm>
#include <ctime>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string_view>
#include <unordered_set>
#include <utility>

namespace lunar_test {
namespace {

enum class Loss { random_subset, one_sector, few_sectors };

constexpr std::uint64_t mixed(std::uint64_t number) {
  number = (number ^ number >> 30) * 0xbf58476d1ce4e5b9U;
  number = (number ^ number >> 27) * 0x94d049bb133111ebU;
  return number ^ number >> 31;
}

class Campaign {
 public:
  Campaign(const Kind& kind, std::size_t wanted) : kind_(kind), wanted_(wanted) {}

  // Runs one world's workload with at most `cuts_max` distinct cuts.
  void life(std::uint64_t seed, std::size_t cuts_max);

  bool ends() const { return distinct_.size() >= wanted_ || !tally.not_permitted.empty(); }
  std::size_t distinct() const { return distinct_.size(); }

  Tally tally;

 private:
  void before_change();
  void cut(Loss loss);
  int cut_and_mount(Loss loss);
  void lose(Loss loss);
  std::vector<std::uint8_t> survivors(Loss loss);
  std::uint64_t content(std::uint64_t place, const std::vector<std::uint32_t>& sectors) const;
  void arm_recovery();
  void before_recovery_change();
  void judge_pending();
  void fail(const std::string& where, const std::string& what) {
    if (tally.not_permitted.empty()) tally.not_permitted = where + ": " + what;
  }

  struct Outcome {
    State state;
    std::string where;
  };

  const Kind& kind_;
  std::size_t wanted_;
  std::unordered_set<std::uint64_t> distinct_;
  std::unique_ptr<World> world_, reader_;
  Options options_;
  std::uint64_t seed_ = 0, place_ = 0;
  std::size_t life_end_ = 0;       // distinct cuts at which the life ends
  std::vector<State> before_;      // permitted without the pending operation
  std::vector<Outcome> pending_;   // other outcomes, judged after the operation
  std::uint64_t recovery_at_ = 0;  // the power fails at this change of the recovery, or at the first flush from it on
  bool recovery_at_flush_ = false;
  std::uint32_t recovery_changes_ = 20;  // of the last complete recovery
};

void Campaign::life(std::uint64_t seed, std::size_t cuts_max) {
  seed_ = seed, place_ = 0, recovery_changes_ = 20;
  options_ = kind_.options(seed);
  world_ = std::make_unique<World>(options_, seed);
  World& world = *world_;
  Options empty = options_;
  empty.first_rows = 0;
  reader_ = std::make_unique<World>(empty, seed);
  reader_->device.before_change_context = this;
  reader_->device.before_change = [](void* context) { static_cast<Campaign*>(context)->before_recovery_change(); };
  if (emubd_copy(&reader_->device, &world.device) != 0) throw std::bad_alloc();
  world.device.before_change_context = this;
  life_end_ = std::min(wanted_, distinct_.size() + cuts_max);
  ++tally.worlds;
  // A short life's cuts begin at a random step, so that they are not always those of its first steps.
  const std::uint32_t steps = 60, quiet = cuts_max < 2000 ? world.random(20) : 0;
  for (std::uint32_t step = 0; step < steps && distinct_.size() < life_end_ && tally.not_permitted.empty(); ++step) {
    if (step == quiet)
      world.device.before_change = [](void* context) { static_cast<Campaign*>(context)->before_change(); };
    before_ = world.since;
    const auto spills = world.db.spills;
    const int error = world.random(12) == 0 ? world.sync() : world.random(40) == 0 ? world.checkpoint() : world.step();
    if (error != 0) fail("seed " + std::to_string(seed) + ", " + world.did, lunar_error_text(error));
    tally.spills_max = std::max(tally.spills_max, static_cast<std::uint32_t>(world.db.spills - spills));
    judge_pending();
  }
}

void Campaign::before_change() {
  ++place_;
  const bool flush = world_->device.syncing != 0;
  const auto times = [&](std::uint32_t count, Loss loss) {
    for (std::uint32_t i = 0; i < count && distinct_.size() < life_end_ && tally.not_permitted.empty(); ++i) cut(loss);
  };
  times(flush ? kind_.random_cuts_at_flush : kind_.random_cuts_at_write, Loss::random_subset);
  if (!flush || world_->device.unsynced_count == 0) return;
  times(std::min(kind_.one_lost_at_flush, world_->device.unsynced_count), Loss::one_sector);
  if (world_->device.unsynced_count > 2) times(kind_.few_lost_at_flush, Loss::few_sectors);
}

// Returns the unflushed sectors that survive the loss of one sector or a few.
std::vector<std::uint8_t> Campaign::survivors(Loss loss) {
  const std::uint32_t count = reader_->device.unsynced_count;
  std::vector<std::uint8_t> stays(count, 1);
  const std::uint32_t lost = loss == Loss::one_sector ? 1 : 2 + reader_->random(3);
  for (std::uint32_t i = 0; i < lost && count > 0; ++i) stays[reader_->random(count)] = 0;
  return stays;
}

void Campaign::lose(Loss loss) {
  if (loss == Loss::random_subset)
    reader_->cut();
  else
    emubd_cut_to(&reader_->device, survivors(loss).data());
}

// Returns a hash of the sectors that the cut may have lost; the place determines the content of the others.
std::uint64_t Campaign::content(std::uint64_t place, const std::vector<std::uint32_t>& sectors) const {
  const emubd& device = reader_->device;
  std::uint64_t sum = mixed(place);
  for (const auto sector : sectors) {
    const auto* bytes = reinterpret_cast<const char*>(device.sectors) + std::size_t{sector} * device.sector_bytes;
    sum += mixed(std::hash<std::string_view>{}({bytes, device.sector_bytes}) + sector);
  }
  return mixed(sum);
}

// Chooses the next recovery's cut.
void Campaign::arm_recovery() {
  recovery_at_ = 1 + reader_->random(recovery_changes_ + 2);
  recovery_at_flush_ = reader_->random(2) == 0;
}

void Campaign::before_recovery_change() {
  emubd& device = reader_->device;
  if (recovery_at_ == 0 || device.cut_at != 0 || device.changes + 1 < recovery_at_) return;
  if (!recovery_at_flush_ || device.syncing != 0) device.cut_at = device.changes + 1;
}

// Returns the error of the last mount, which no cut interrupted.
int Campaign::cut_and_mount(Loss loss) {
  World& reader = *reader_;
  std::uint64_t place = seed_ * 1'000'003 + place_;
  for (int again = 0;; ++again) {
    std::vector<std::uint32_t> sectors;
    for (std::uint32_t i = 0; i < reader.device.unsynced_count; ++i)
      sectors.push_back(reader.device.unsynced[i].sector);
    lose(loss);
    ++tally.cuts;
    place = content(place + static_cast<unsigned>(again), sectors);
    if (distinct_.insert(place).second) {
      tally.in_recovery += again > 0;
      tally.one_lost += loss == Loss::one_sector;
      tally.few_lost += loss == Loss::few_sectors;
    }
    recovery_at_ = 0;
    if (again < 3 && reader.random(4) < kind_.recovery_cuts_of_4) arm_recovery();
    const int error = reader.mount();
    const bool gone = reader.device.cut_at != 0;
    if (!gone && error == 0) recovery_changes_ = static_cast<std::uint32_t>(reader.device.changes);
    if (!gone || error != LUNAR_E_IO) return error;
    emubd_reset(&reader.device);
    loss = static_cast<Loss>(reader.random(3));
  }
}

void Campaign::cut(Loss loss) {
  World& reader = *reader_;
  if (emubd_update_copy(&reader.device, &world_->device) != 0) throw std::bad_alloc();
  emubd_reset(&reader.device);
  const int error = cut_and_mount(loss);
  recovery_at_ = 0;
  emubd_reset(&reader.device);
  if (options_.mode == LUNAR_MODE_NONE) {
    if (error == 0) (void)reader.read();
    return;
  }
  const std::string where = "seed " + std::to_string(seed_) + ", change " + std::to_string(place_) + ", " + world_->did;
  if (error != 0) return fail(where, std::string("mount: ") + lunar_error_text(error));
  lunar_findings found{};
  if (kind_.checks && lunar_check(&reader.db, &found) != 0)
    return fail(where, std::string("lunar_check: ") + found.text);
  auto state = reader.read();
  if (!state) return fail(where, "unreadable");
  const auto is_state = [&](const auto& other) { return other == *state; };
  if (std::any_of(before_.begin(), before_.end(), is_state)) return;
  if (!pending_.empty() && pending_.back().state == *state && options_.mode > LUNAR_MODE_METADATA) return;
  pending_.push_back({std::move(*state), where});
}

void Campaign::judge_pending() {
  for (const auto& outcome : pending_)
    if (!world_->permitted(outcome.state, before_)) fail(outcome.where, "another state");
  pending_.clear();
}

}  // namespace

Tally run_campaign(const Kind& kind, std::uint64_t seed, std::size_t wanted) {
  const std::clock_t begin = std::clock();
  Campaign campaign(kind, wanted);
  for (const std::size_t cuts_max = std::max<std::size_t>(200, wanted / 20); !campaign.ends(); ++seed)
    campaign.life(seed, cuts_max);
  campaign.tally.distinct = campaign.distinct();
  campaign.tally.cpu_s = static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC;
  return campaign.tally;
}

}  // namespace lunar_test
