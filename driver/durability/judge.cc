#include "judge.h"

#include <algorithm>

#include "system/check.h"

namespace edgejoule::driver {
namespace {

using Kind = WriteOperation::Kind;

// The writes of one key that began before the cut, as indices into all writes.
struct KeyHistory {
  std::vector<std::size_t> writes;
  std::size_t acknowledged = 0;  // number of writes up to the last acknowledged one
};

bool leaves(const WriteOperation& write, const Found& found) {
  if (write.kind == Kind::remove) return found.kind == Found::Kind::absent;
  return found.kind == Found::Kind::version && found.version == write.version;
}

// States of a key: 0 is before its first write, n is after its n-th.
bool is_state(std::span<const PerformedWrite> writes, const KeyHistory& key, std::size_t state, const Found& found) {
  if (state == 0) return found.kind == Found::Kind::absent;
  return leaves(writes[key.writes[state - 1]].operation, found);
}

// The latest state of the key that equals the row read; nullopt: no state does.
std::optional<std::size_t> state_of(std::span<const PerformedWrite> writes, const KeyHistory& key, const Found& found) {
  for (auto state = key.writes.size() + 1; state-- > 0;) {
    if (is_state(writes, key, state, found)) return state;
  }
  return std::nullopt;
}

std::vector<KeyHistory> histories(std::span<const PerformedWrite> writes, std::uint64_t cut_position,
                                  std::size_t keys) {
  std::vector<KeyHistory> histories(keys);
  for (std::size_t index = 0; index < writes.size(); ++index) {
    const auto& write = writes[index];
    if (!write.begun_position || *write.begun_position > cut_position) continue;
    EJ_CHECK(write.operation.key < keys, write.operation.key, keys);
    auto& key = histories[write.operation.key];
    key.writes.push_back(index);
    if (write.acknowledged_position && *write.acknowledged_position <= cut_position) {
      key.acknowledged = key.writes.size();
    }
  }
  return histories;
}

// Counts, for each n, the keys whose row equals their state after the first n writes of all keys.
class EarlierStates {
 public:
  explicit EarlierStates(std::size_t writes) : changes_(writes + 2) {}

  void add(std::span<const PerformedWrite> writes, const KeyHistory& key, const Found& found) {
    ++keys_;
    for (std::size_t state = 0; state <= key.writes.size(); ++state) {
      if (!is_state(writes, key, state, found)) continue;
      const auto first = state == 0 ? 0 : key.writes[state - 1] + 1;
      const auto last = state == key.writes.size() ? changes_.size() - 1 : key.writes[state] + 1;
      ++changes_[first];
      --changes_[last];
    }
  }

  [[nodiscard]] bool any() const {
    std::int64_t alike = 0;
    return std::ranges::any_of(changes_, [&](std::int64_t change) { return (alike += change) == keys_; });
  }

 private:
  std::vector<std::int64_t> changes_;
  std::int64_t keys_ = 0;
};

// The oldest acknowledged write of the key that the row read does not contain.
const PerformedWrite& oldest_lost(std::span<const PerformedWrite> writes, const KeyHistory& key, std::size_t state) {
  EJ_CHECK(key.acknowledged > 0 && key.acknowledged <= key.writes.size(), key.acknowledged, key.writes.size());
  auto place = std::min(state, key.acknowledged - 1);
  while (!writes[key.writes[place]].acknowledged_position) ++place;
  return writes[key.writes[place]];
}

void note_oldest(Judgement& judgement, std::span<const PerformedWrite> writes, const PerformedWrite& lost,
                 std::uint64_t cut_position, std::uint64_t cut_ns) {
  constexpr double ns_per_ms = 1e6;
  const double age_ms = static_cast<double>(cut_ns - std::min(cut_ns, lost.acknowledged_ns)) / ns_per_ms;
  if (judgement.oldest_lost_ms && *judgement.oldest_lost_ms >= age_ms) return;
  judgement.oldest_lost_ms = age_ms;
  const auto later = std::ranges::count_if(writes, [&](const PerformedWrite& write) {
    return write.acknowledged_position && *write.acknowledged_position <= cut_position &&
           write.acknowledged_ns > lost.acknowledged_ns;
  });
  judgement.oldest_lost_operations = static_cast<std::uint64_t>(later);
}

}  // namespace

Judgement judge(std::span<const PerformedWrite> writes, bool ordered, std::uint64_t cut_position, std::uint64_t cut_ns,
                std::span<const Found> found) {
  Judgement judgement;
  EarlierStates earlier(writes.size());
  const auto keys = histories(writes, cut_position, found.size());
  for (std::size_t number = 0; number < keys.size(); ++number) {
    const auto& key = keys[number];
    if (key.acknowledged > 0) ++judgement.rows_checked;
    earlier.add(writes, key, found[number]);
    const auto state = state_of(writes, key, found[number]);
    if (state && *state >= key.acknowledged) continue;
    if (found[number].kind == Found::Kind::unreadable) {
      ++judgement.rows_unreadable;
    } else if (!state && found[number].kind != Found::Kind::absent) {
      ++judgement.rows_never_written;
    }
    if (key.acknowledged == 0) continue;
    ++judgement.rows_lost;
    note_oldest(judgement, writes, oldest_lost(writes, key, state.value_or(0)), cut_position, cut_ns);
  }
  if (ordered) judgement.earlier_state = earlier.any();
  return judgement;
}

}  // namespace edgejoule::driver
