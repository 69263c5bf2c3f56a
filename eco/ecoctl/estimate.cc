#include "estimate.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <utility>

#include "input_rate.h"
#include "policy.h"
#include "text_table.h"

namespace eco {
namespace {

constexpr double assumed_delay_share = 0.5;
constexpr double transfer_j_per_byte = 5e-9;

double overlap_s(const LoggedStall& stall, double from_s, double to_s) {
  return std::max(0.0, std::min(stall.end_s, to_s) - std::max(stall.begin_s, from_s));
}

// Time that writers waited in a part of a stall.
double waited_s(const LoggedStall& stall, double from_s, double to_s, double delay_share) {
  return overlap_s(stall, from_s, to_s) * (stall.stopped ? 1 : delay_share);
}

void measure_stalls(Estimation& e) {
  double stopped_until_dump_s = 0, delayed_until_dump_s = 0;
  for (const auto& stall : e.log.stalls) {
    const double length_s = stall.end_s - stall.begin_s;
    if (stall.cause != StallCause::level_zero)
      e.others_stopped_s += stall.stopped ? length_s : 0;
    else
      (stall.stopped ? e.stopped_s : e.delayed_s) += length_s;
    (stall.stopped ? stopped_until_dump_s : delayed_until_dump_s) +=
        overlap_s(stall, e.log.begin_s, e.log.waited_until_s);
  }
  e.waited_is_known = e.log.waited_s.has_value();
  e.delay_share = assumed_delay_share;
  if (e.waited_is_known && delayed_until_dump_s > 0)
    e.delay_share = std::clamp((*e.log.waited_s - stopped_until_dump_s) / delayed_until_dump_s, 0.0, 1.0);
  double after_dump_s = 0;
  for (const auto& stall : e.log.stalls) {
    const double all_s = waited_s(stall, stall.begin_s, stall.end_s, e.delay_share);
    if (stall.cause == StallCause::level_zero) e.waited_level_zero_s += all_s;
    e.waited_s += all_s;
    after_dump_s += waited_s(stall, e.log.waited_until_s, e.log.end_s, e.delay_share);
  }
  if (e.waited_is_known) e.waited_s = *e.log.waited_s + after_dump_s;
  e.waited_level_zero_s = std::min(e.waited_level_zero_s, e.waited_s);
}

class Replay {
 public:
  Replay(const Estimation& e, Policy policy) : e_(e), policy_(std::move(policy)) {
    saving_.policy = name_of(policy_);
    const double link_bytes_s = e.assumptions.link_mbit_s * 1e6 / 8;
    for (auto& server : servers_) {
      server.rocksdb = e.log.release;
      server.alive = true;
      server.link_bytes_s = link_bytes_s;
      server.power = {.busy_core_w = e.assumptions.busy_core_w,
                      .idle_w = e.assumptions.idle_w,
                      .transfer_j_per_byte = transfer_j_per_byte};
    }
    servers_[0].name = "here", servers_[1].name = "other";
    servers_[0].busy_cores = 1;
    servers_[1].address = "other:0";
    servers_[1].power.busy_core_w = e.assumptions.other_busy_core_w;
  }

  [[nodiscard]] Saving run() {
    std::vector<const LoggedCompaction*> in_order;
    for (const auto& compaction : e_.log.compactions)
      if (compaction.from_level_zero) in_order.push_back(&compaction);
    std::ranges::sort(in_order, {}, &LoggedCompaction::begin_s);
    for (const auto* compaction : in_order) decide_one(*compaction);
    return saving_;
  }

 private:
  void decide_one(const LoggedCompaction& compaction) {
    const Job job{compaction.input_bytes, compaction.input_entries, compaction.codec};
    const double speed = e_.assumptions.speed;
    const double here_j = compaction.cpu_s * e_.assumptions.busy_core_w;
    const double there_j = compaction.cpu_s / speed * e_.assumptions.other_busy_core_w;
    const Request request{.job = job, .level_zero = level_zero_of(compaction), .rocksdb = e_.log.release};
    const Decision decision = decide(policy_, request, servers_, 0);
    saving_.compaction_j += here_j;
    if (decision.offload) {
      const double moved = static_cast<double>(compaction.input_bytes + compaction.output_bytes);
      const double there_s = compaction.compute_s / speed + moved / servers_[1].link_bytes_s;
      ++saving_.offloaded;
      saving_.avoided_s += avoided_s(compaction, compaction.begin_s + there_s);
      saving_.cpu_s += compaction.cpu_s * (1 - residual_share);
      saving_.moved_bytes += moved;
      saving_.compaction_j += there_j + residual_share * here_j + 2 * moved * transfer_j_per_byte - here_j;
    }
    servers_[0].model.learn(job, {compaction.compute_s, here_j});
    servers_[1].model.learn(job, {compaction.compute_s / speed, there_j});
  }

  LevelZero level_zero_of(const LoggedCompaction& compaction) {
    const auto& flushes = e_.log.flushes;
    for (; next_flush_ < flushes.size() && flushes[next_flush_].end_s <= compaction.begin_s; ++next_flush_) {
      if (flushes[next_flush_].column_family != compaction.column_family) continue;
      ++flushed_[compaction.column_family];
    }
    auto& rate = rates_[compaction.column_family];
    rate.observe(compaction.begin_s, flushed_[compaction.column_family] * flush_unit);
    return {.files = compaction.level_zero_files,
            .files_s = rate.known() ? rate.bytes_s() / static_cast<double>(flush_unit) : 0,
            .slowdown = e_.log.slowdown_files,
            .stop = e_.log.stop_files,
            .delayed = e_.delay_share,
            .stall = e_.log.slowdown_files};  // writers wait in both stops and delays
  }

  [[nodiscard]] double avoided_s(const LoggedCompaction& compaction, double new_end_s) const {
    if (new_end_s > compaction.end_s) {  // later than logged: the state at its end persists
      for (const auto& stall : e_.log.stalls)
        if (stall.cause == StallCause::level_zero && stall.column_family == compaction.column_family &&
            stall.begin_s <= compaction.end_s && stall.end_s >= compaction.end_s - 1e-3)
          return -(new_end_s - compaction.end_s) * (stall.stopped ? 1 : e_.delay_share);
      return 0;
    }
    double sum_s = 0;
    for (const auto& stall : e_.log.stalls)
      if (stall.cause == StallCause::level_zero && stall.column_family == compaction.column_family)
        sum_s += waited_s(stall, new_end_s, compaction.end_s, e_.delay_share);
    return sum_s;
  }

  static constexpr std::uint64_t flush_unit = 1'000'000;  // InputRate takes integers

  const Estimation& e_;
  Policy policy_;
  std::vector<Server> servers_{2};
  std::map<std::string, InputRate> rates_;
  std::map<std::string, std::uint64_t> flushed_;
  std::size_t next_flush_ = 0;
  Saving saving_;
};

double quantile(const std::vector<double>& sorted, double q) {
  if (sorted.empty()) return 0;
  return sorted[static_cast<std::size_t>(q * static_cast<double>(sorted.size() - 1) + 0.5)];
}

double percent(double part, double whole) { return whole > 0 ? 100 * part / whole : 0; }

std::string head(const Estimation& e) {
  std::string out = fmt::format("{}: RocksDB {}, {:.1f} s of log, {} compactions, {} of level 0\n", e.file,
                                e.log.release.empty() ? "of unknown release" : e.log.release, e.span_s,
                                e.log.compactions.size(), e.sizes.size());
  if (!e.sizes.empty())
    out += fmt::format(
        "level-0 compactions: {:.1f} MB median input ({:.1f} MB at the 90th percentile), {:.2f} s and {:.2f} CPU s in "
        "all\n",
        quantile(e.sizes, 0.5) * 1e-6, quantile(e.sizes, 0.9) * 1e-6, e.level_zero_compute_s, e.level_zero_cpu_s);
  out += fmt::format(
      "writers waited {:.2f} s, {:.1f} % of the time ({}); by level 0: {:.2f} s\n", e.waited_s,
      percent(e.waited_s, e.span_s),
      e.waited_is_known ? "by the log's statistics" : "no statistics in the log: delays are counted by half",
      e.waited_level_zero_s);
  out += fmt::format(
      "level 0 stopped writes for {:.2f} s and delayed them for {:.2f} s (of which they waited {:.0f} %); "
      "memtables and pending bytes stopped them for {:.2f} s\n",
      e.stopped_s, e.delayed_s, 100 * e.delay_share, e.others_stopped_s);
  if (e.log.bad_events > 0) out += fmt::format("{} events could not be read and are ignored\n", e.log.bad_events);
  return out;
}

}  // namespace

Estimation estimate_of(RocksdbLog log, const std::string& file, const Assumptions& assumptions) {
  Estimation e;
  e.file = file, e.log = std::move(log), e.assumptions = assumptions;
  e.span_s = e.log.end_s - e.log.begin_s;
  measure_stalls(e);
  for (const auto& compaction : e.log.compactions) {
    if (!compaction.from_level_zero) continue;
    e.sizes.push_back(static_cast<double>(compaction.input_bytes));
    e.level_zero_compute_s += compaction.compute_s, e.level_zero_cpu_s += compaction.cpu_s;
  }
  std::ranges::sort(e.sizes);
  for (const auto name : compared_policies) e.savings.push_back(Replay(e, *policy_named(name)).run());
  return e;
}

Estimation estimate_log(const std::string& file, const Assumptions& assumptions) {
  return estimate_of(read_rocksdb_log(file), file, assumptions);
}

std::string show(const Estimation& e) {
  std::string out = head(e);
  if (e.sizes.empty()) return out + "nothing to offload\n";
  using Align = TextTable::Align;
  TextTable table({{"POLICY"},
                   {"OFFLOADED", Align::right},
                   {"WAITING AVOIDED", Align::right},
                   {"OF LEVEL 0'S", Align::right},
                   {"CPU TAKEN OFF", Align::right},
                   {"OVER THE LINK", Align::right},
                   {"COMPACTION ENERGY", Align::right}});
  const double local_j = e.savings.front().compaction_j;
  const auto tidy = [](double value) { return std::abs(value) < 5e-3 ? 0 : value; };  // no "-0.00"
  for (const auto& s : e.savings)
    table.add({s.policy, fmt::format("{}/{}", s.offloaded, e.sizes.size()), fmt::format("{:.2f} s", tidy(s.avoided_s)),
               fmt::format("{:.0f} %", percent(tidy(s.avoided_s), e.waited_level_zero_s)),
               fmt::format("{:.2f} s", s.cpu_s), fmt::format("{:.1f} MB", s.moved_bytes * 1e-6),
               fmt::format("{:.2f} J ({:+.0f} %)", s.compaction_j, percent(s.compaction_j - local_j, local_j))});
  out += "\n" + table.text();
  const auto& a = e.assumptions;
  out += fmt::format("\nAssumed: one other server, {:g} times as fast (--speed), always free, over {:g} Mbit/s\n",
                     a.speed, a.link_mbit_s);
  out += fmt::format(
      "(--link-mbit-s); {:g} W per busy core here and {:g} W there (--busy-core-w, --other-busy-core-w), {:g} W idle\n",
      a.busy_core_w, a.other_busy_core_w, a.idle_w);
  out += fmt::format(
      "(--idle-w), {:g} nJ per byte and side: all energies are modelled. The models learn while the log is read; a\n",
      transfer_j_per_byte * 1e9);
  out += "stall is a delay or a stop by level 0. Further writes that an avoided stall allows, and the stalls that\n";
  out += "they cause, are not modelled.\n";
  return out;
}

std::string json_of(const Estimation& e) {
  nlohmann::ordered_json out = {{"file", e.file},
                                {"rocksdb", e.log.release},
                                {"span_s", e.span_s},
                                {"compactions", e.log.compactions.size()},
                                {"level_zero_compactions", e.sizes.size()},
                                {"level_zero_input_bytes_p50", quantile(e.sizes, 0.5)},
                                {"level_zero_input_bytes_p90", quantile(e.sizes, 0.9)},
                                {"level_zero_compute_s", e.level_zero_compute_s},
                                {"level_zero_cpu_s", e.level_zero_cpu_s},
                                {"waited_s", e.waited_s},
                                {"waited_is_known", e.waited_is_known},
                                {"waited_level_zero_s", e.waited_level_zero_s},
                                {"level_zero_stopped_s", e.stopped_s},
                                {"level_zero_delayed_s", e.delayed_s},
                                {"delay_share", e.delay_share},
                                {"others_stopped_s", e.others_stopped_s},
                                {"bad_events", e.log.bad_events},
                                {"assumptions",
                                 {{"speed", e.assumptions.speed},
                                  {"link_mbit_s", e.assumptions.link_mbit_s},
                                  {"busy_core_w", e.assumptions.busy_core_w},
                                  {"other_busy_core_w", e.assumptions.other_busy_core_w},
                                  {"idle_w", e.assumptions.idle_w},
                                  {"transfer_j_per_byte", transfer_j_per_byte}}},
                                {"policies", nlohmann::ordered_json::array()}};
  for (const auto& s : e.savings)
    out["policies"].push_back({{"policy", s.policy},
                               {"offloaded", s.offloaded},
                               {"avoided_s", s.avoided_s},
                               {"cpu_s", s.cpu_s},
                               {"moved_bytes", s.moved_bytes},
                               {"compaction_j", s.compaction_j},
                               {"energy_method", "modelled"}});
  return out.dump(2) + "\n";
}

}  // namespace eco
