#include "cut.h"

#include <algorithm>
#include <array>
#include <functional>
#include <set>
#include <utility>

#include "system/check.h"
#include "system/memory_size.h"
#include "system/random.h"

namespace edgejoule::driver {
namespace {

constexpr std::uint64_t block_bytes = 4096;
constexpr std::uint64_t sector_bytes = 512;
constexpr std::uint64_t lying_cache_writes = 64;

// Called for each piece of a write that survives: bytes [begin, end) of its data.
using Keep = std::function<void(const TraceEntry&, std::uint64_t begin, std::uint64_t end)>;

void keep_pieces(const TraceEntry& entry, std::uint64_t piece_bytes, double share, Random& random, const Keep& keep) {
  for (std::uint64_t begin = 0; begin < entry.bytes; begin += piece_bytes) {
    if (random.uniform() < share) keep(entry, begin, std::min<std::uint64_t>(begin + piece_bytes, entry.bytes));
  }
}

// Calls `keep` for the unflushed pieces that survive, in the order of the writes.
void for_survivors(const BlockTrace& trace, const Cut& cut, Flushes flushes, const Keep& keep) {
  Random random(cut.seed);
  const auto first = durable_entries(trace, cut.position, flushes);
  const auto kept_by_prefix = first + random.below(cut.position - first + 1);
  const double share = 0.1 + 0.8 * random.uniform();
  for (auto index = first; index < cut.position; ++index) {
    const auto& entry = trace.entry(index);
    switch (cut.survival) {
      case Survival::none:
        return;
      case Survival::all:
        keep(entry, 0, entry.bytes);
        break;
      case Survival::prefix:
        if (index < kept_by_prefix) keep(entry, 0, entry.bytes);
        break;
      case Survival::blocks:
        keep_pieces(entry, block_bytes, share, random, keep);
        break;
      case Survival::sectors:
        keep_pieces(entry, sector_bytes, share, random, keep);
        break;
    }
  }
}

std::uint64_t signature_of(const BlockTrace& trace, const Cut& cut, Flushes flushes) {
  std::uint64_t signature = 0;
  for_survivors(trace, cut, flushes, [&signature](const TraceEntry& entry, std::uint64_t begin, std::uint64_t end) {
    for (const auto part : {entry.data_at, begin, end}) {
      signature ^= part;
      signature = splitmix64(signature);
    }
  });
  return signature;
}

template <typename Values>
const auto& any_of(const Values& values, Random& random) {
  return values[memory_size(random.below(values.size()))];
}

std::uint64_t within(const Positions& positions, Random& random) {
  return positions.begin + random.below(positions.end - positions.begin);
}

// A position near a flush: just before it, just after it, or a few writes away.
std::uint64_t near_flush(const BlockTrace& trace, const Positions& range, Random& random) {
  constexpr std::uint64_t away_max = 4;
  auto position = within(range, random);
  const auto end = std::min(range.end, trace.size());
  while (position < end && trace.entry(position).kind != TraceEntry::Kind::flush) ++position;
  position = position + random.below(2 * away_max + 1);
  return position < away_max ? 0 : position - away_max;
}

std::uint64_t chosen_position(const BlockTrace& trace, const CutPlan& plan, Random& random) {
  constexpr double acknowledged = 0.35;
  constexpr double flushed = 0.6;
  constexpr double in_background = 0.8;
  const double draw = random.uniform();
  auto position = within(plan.range, random);
  if (draw < acknowledged) {
    if (!plan.acknowledgements.empty()) position = any_of(plan.acknowledgements, random);
  } else if (draw < flushed) {
    position = near_flush(trace, plan.range, random);
  } else if (draw < in_background && !plan.background.empty()) {
    position = within(any_of(plan.background, random), random);
  }
  return std::clamp(position, plan.range.begin, plan.range.end - 1);
}

Survival chosen_survival(Flushes flushes, Random& random) {
  static constexpr std::array honest = {Survival::none, Survival::all, Survival::prefix, Survival::blocks,
                                        Survival::sectors};
  static constexpr std::array in_order = {Survival::none, Survival::prefix};
  return flushes == Flushes::honoured ? any_of(honest, random) : any_of(in_order, random);
}

void write(const BlockTrace& trace, const TraceEntry& entry, std::uint64_t begin, std::uint64_t end,
           std::span<std::byte> image) {
  EJ_CHECK(begin <= end && end <= entry.bytes, begin, end, entry.bytes);
  EJ_CHECK(entry.offset <= image.size() && end <= image.size() - entry.offset, entry.offset, end, image.size());
  const auto data = trace.data(entry).subspan(memory_size(begin), memory_size(end - begin));
  std::ranges::copy(data, image.subspan(memory_size(entry.offset + begin)).begin());
}

}  // namespace

std::string_view survival_name(Survival survival) {
  static constexpr std::string_view names[] = {"none", "all", "prefix", "blocks", "sectors"};
  return names[static_cast<std::size_t>(survival)];
}

std::uint64_t durable_entries(const BlockTrace& trace, std::uint64_t position, Flushes flushes) {
  EJ_CHECK(position <= trace.size(), position, trace.size());
  if (flushes == Flushes::ignored) return position - std::min(position, lying_cache_writes);
  while (position > 0 && trace.entry(position - 1).kind != TraceEntry::Kind::flush) --position;
  return position;
}

std::vector<Cut> choose_cuts(const BlockTrace& trace, const CutPlan& plan, std::uint64_t count, std::uint64_t seed) {
  constexpr int tries_max = 50;
  std::vector<Cut> cuts;
  std::set<std::pair<std::uint64_t, std::uint64_t>> known;
  if (plan.range.begin >= plan.range.end) return cuts;
  for (std::uint64_t number = 0; number < count; ++number) {
    auto state = seed + number * 0x9E3779B97F4A7C15U;
    Random random(splitmix64(state));
    for (int tries = 0; tries < tries_max; ++tries) {
      const auto position = chosen_position(trace, plan, random);
      const auto survival = chosen_survival(plan.flushes, random);
      Cut cut{number, position, survival, random.next(), 0};
      cut.signature = signature_of(trace, cut, plan.flushes);
      if (!known.emplace(cut.position, cut.signature).second) continue;
      cuts.push_back(cut);
      break;
    }
  }
  return cuts;
}

void cut_image(const BlockTrace& trace, const Cut& cut, Flushes flushes, std::span<std::byte> image) {
  const auto durable = durable_entries(trace, cut.position, flushes);
  for (std::uint64_t index = 0; index < durable; ++index) {
    const auto& entry = trace.entry(index);
    write(trace, entry, 0, entry.bytes, image);
  }
  for_survivors(trace, cut, flushes, [&](const TraceEntry& entry, std::uint64_t begin, std::uint64_t end) {
    write(trace, entry, begin, end, image);
  });
}

}  // namespace edgejoule::driver
