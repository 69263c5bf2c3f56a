#include "report.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <nlohmann/json.hpp>

namespace eco::sim {
namespace {

using Figure = std::function<double(const ServerOutcome&)>;
constexpr std::size_t rows_max = 24;  // more servers are summed by tier

struct Row {
  std::string name;
  std::vector<ServerOutcome> by_seed;
};

// The rows of one policy: servers or tiers, and the total.
std::vector<Row> rows_of(const std::vector<Outcome>& outcomes, const std::string& policy) {
  std::vector<Row> rows;
  const auto row = [&](const std::string& name) -> Row& {
    const auto found = std::ranges::find(rows, name, &Row::name);
    return found != rows.end() ? *found : rows.emplace_back(Row{name, {}});
  };
  for (const Outcome& outcome : outcomes) {
    if (outcome.policy != policy) continue;
    if (outcome.servers.size() <= rows_max) {
      for (const auto& server : outcome.servers) row(server.name).by_seed.push_back(server);
    } else {
      std::vector<ServerOutcome> tiers;
      for (const auto& server : outcome.servers) {
        auto found = std::ranges::find(tiers, server.tier, &ServerOutcome::name);
        if (found == tiers.end()) tiers.push_back({.name = server.tier}), found = tiers.end() - 1;
        *found += server;
      }
      for (auto& tier : tiers) {
        const auto count = std::ranges::count(outcome.servers, tier.name, &ServerOutcome::tier);
        tier.level0_mean /= static_cast<double>(count);
        row(tier.name).by_seed.push_back(tier);
      }
    }
  }
  for (const Outcome& outcome : outcomes)
    if (outcome.policy == policy) row("total").by_seed.push_back(outcome.total());
  return rows;
}

double mean(const Row& row, const Figure& figure) {
  double sum = 0;
  for (const auto& one : row.by_seed) sum += figure(one);
  return sum / static_cast<double>(row.by_seed.size());
}

// "+12.3 ±0.4": the change against another policy's row in percent, seed by seed, and its standard deviation.
std::string change(const Row& row, const Row& base, const Figure& figure) {
  double sum = 0, squares = 0, n = 0;
  for (std::size_t i = 0; i < row.by_seed.size(); ++i) {
    if (figure(base.by_seed[i]) <= 0) return "-";
    const double percent = 100 * (figure(row.by_seed[i]) / figure(base.by_seed[i]) - 1);
    sum += percent, squares += percent * percent, n += 1;
  }
  const double deviation = n > 1 ? std::sqrt(std::max(0.0, squares - sum * sum / n) / (n - 1)) : 0;
  return n > 1 ? fmt::format("{:+.1f} ±{:.1f}", sum / n, deviation) : fmt::format("{:+.1f}", sum / n);
}

// Counts columns in characters; ± is one.
std::string right(const std::string& text, std::size_t width) {
  const auto characters =
      static_cast<std::size_t>(std::ranges::count_if(text, [](char c) { return (c & 0xc0) != 0x80; }));
  return std::string(width > characters ? width - characters : 0, ' ') + text;
}

double quantile(const std::vector<double>& sorted, double q) {
  if (sorted.empty()) return 0;
  return sorted[std::min(sorted.size() - 1, static_cast<std::size_t>(q * static_cast<double>(sorted.size())))];
}

// Sorted durations of the offloaded compactions, in seconds.
std::vector<double> away_s(const ServerOutcome& outcome, bool slow_alone = false) {
  std::vector<double> all;
  for (const Away& away : outcome.away)
    if (away.slow || !slow_alone) all.push_back(away.took_s);
  std::ranges::sort(all);
  return all;
}

std::string text_of(const std::vector<double>& sorted) {
  return fmt::format("{} in {:.2f} s in the median, {:.2f} at the 95th, {:.2f} at the 99th percentile", sorted.size(),
                     quantile(sorted, 0.5), quantile(sorted, 0.95), quantile(sorted, 0.99));
}

// Outcomes of the jobs that a policy's runs offloaded.
std::string elsewhere_of(const Row& total) {
  ServerOutcome sum;
  for (const auto& one : total.by_seed) sum += one;
  if (sum.away.empty()) return "";
  std::string text = fmt::format("  elsewhere: {}\n", text_of(away_s(sum)));
  if (const auto slow = away_s(sum, true); !slow.empty())
    text += fmt::format("    met a slow worker: {}\n", text_of(slow));
  return text +
         fmt::format("    given up {:.0f}, fell back {:.0f}; moved {:.0f} MB, in vain {:.0f} MB and {:.1f} CPU s\n",
                     sum.given_up, sum.fell_back, sum.bytes_moved * 1e-6, sum.wasted_bytes * 1e-6, sum.wasted_cpu_s);
}

double percent_of(double part, double whole) { return whole > 0 ? 100 * part / whole : 0; }

}  // namespace

double energy_per_op(const ServerOutcome& outcome) {
  return outcome.operations() > 0 ? outcome.energy.total() / outcome.operations() : 0;
}

std::string table_of(const Spec& spec, const std::vector<Outcome>& outcomes) {
  std::string text = fmt::format("{}: {}\n{} servers, {:.0f} s, seeds", spec.name, spec.question, spec.servers.size(),
                                 spec.duration_s);
  for (const auto seed : spec.seeds) text += fmt::format(" {}", seed);
  const std::string first = name_of(spec.policies.front());
  const std::string second = spec.policies.size() > 2 ? name_of(spec.policies[1]) : "";
  const bool reads = std::ranges::any_of(outcomes, [](const Outcome& o) { return o.total().reads > 0; });
  const auto first_rows = rows_of(outcomes, first), second_rows = rows_of(outcomes, second);
  const auto throughput = [](const ServerOutcome& o) { return o.operations(); };
  const auto column = [&](const std::vector<Row>& base, const std::string& base_name, const std::string& name,
                          const Row& row, std::size_t at, const Figure& figure) {
    return right(base.empty() || base_name == name ? "" : change(row, base[at], figure), 15);
  };
  for (const Policy& policy : spec.policies) {
    const std::string name = name_of(policy);
    text += fmt::format("\n\n{}\n", name);
    text += fmt::format("{:<12}{:>9}{}{}", "", "kops/s", right("vs " + first + " %", 15),
                        right(second.empty() ? "" : "vs " + second + " %", 15));
    if (reads) text += fmt::format("{:>9}{}", "reads/s k", right("vs " + first + " %", 15));
    text += fmt::format("{:>9}{:>9}{:>9}{}{}", "stall s", "L0 mean", "mJ/op", right("vs " + first + " %", 15),
                        right(second.empty() ? "" : "vs " + second + " %", 15));
    text += fmt::format("{:>8}{:>7}{:>7}{:>7}\n", "L0 jobs", "near", "away", "taken");
    const auto rows = rows_of(outcomes, name);
    for (std::size_t i = 0; i < rows.size(); ++i) {
      const Row& row = rows[i];
      const auto per_s = [&](const Figure& figure) { return mean(row, figure) / spec.duration_s / 1000; };
      text += fmt::format("{:<12}{:>9.1f}", row.name, per_s(throughput));
      text +=
          column(first_rows, first, name, row, i, throughput) + column(second_rows, second, name, row, i, throughput);
      const auto read = [](const ServerOutcome& o) { return o.reads; };
      if (reads) text += fmt::format("{:>9.1f}", per_s(read)) + column(first_rows, first, name, row, i, read);
      text += fmt::format("{:>9.1f}{:>9.1f}{:>9.3f}", mean(row, [](const auto& o) { return o.stall_s(); }),
                          mean(row, [](const auto& o) { return o.level0_mean; }), 1000 * mean(row, energy_per_op));
      text += column(first_rows, first, name, row, i, energy_per_op) +
              column(second_rows, second, name, row, i, energy_per_op);
      text += fmt::format("{:>8.0f}{:>7.0f}{:>7.0f}{:>7.0f}\n", mean(row, [](const auto& o) { return o.compactions; }),
                          mean(row, [](const auto& o) { return o.near_stall; }),
                          mean(row, [](const auto& o) { return o.offloaded; }),
                          mean(row, [](const auto& o) { return o.jobs_taken; }));
    }
    const Row& total = rows.back();
    text += fmt::format(
        "  energy: idle {:.0f} %, application {:.0f}, flushes {:.0f}, own compactions {:.0f}, others' jobs {:.1f}, "
        "serving and verifying "
        "{:.1f}, network {:.2f}\n",
        mean(total, [](const auto& o) { return percent_of(o.energy.idle, o.energy.total()); }),
        mean(total, [](const auto& o) { return percent_of(o.energy.application, o.energy.total()); }),
        mean(total, [](const auto& o) { return percent_of(o.energy.flush, o.energy.total()); }),
        mean(total, [](const auto& o) { return percent_of(o.energy.compaction, o.energy.total()); }),
        mean(total, [](const auto& o) { return percent_of(o.energy.others_jobs, o.energy.total()); }),
        mean(total, [](const auto& o) { return percent_of(o.energy.serving, o.energy.total()); }),
        mean(total, [](const auto& o) { return percent_of(o.energy.network, o.energy.total()); }));
    text += fmt::format("  predictions err by: time {:.1f} %, energy {:.1f} %, input rate {:.1f} %\n",
                        100 * mean(total, [](const auto& o) { return o.time.mean(); }),
                        100 * mean(total, [](const auto& o) { return o.job_energy.mean(); }),
                        100 * mean(total, [](const auto& o) { return o.input.mean(); }));
    text += elsewhere_of(total);
  }
  return text;
}

std::string jobs_csv(const std::vector<Outcome>& outcomes) {
  std::string text =
      "policy,seed,server,home,at_s,jobs_before,input_bytes,input_entries,took_s,energy_j.modelled,predicted_s,"
      "predicted_j.modelled\n";
  for (const auto& outcome : outcomes)
    for (const auto& job : outcome.jobs)
      text += fmt::format("{},{},{},{},{:.3f},{:.0f},{:.0f},{:.0f},{:.6g},{:.6g},{:.6g},{:.6g}\n", outcome.policy,
                          outcome.seed, job.server, job.home, job.at_s, job.jobs_before, job.input_bytes,
                          job.input_entries, job.took_s, job.energy_j, job.predicted_s, job.predicted_j);
  return text;
}

std::string input_samples_csv(const std::vector<Outcome>& outcomes) {
  std::string text = "policy,seed,server,at_s,bytes_s,predicted_bytes_s\n";
  for (const auto& outcome : outcomes)
    for (const auto& sample : outcome.input_samples)
      text += fmt::format("{},{},{},{:.3f},{:.6g},{:.6g}\n", outcome.policy, outcome.seed, sample.server, sample.at_s,
                          sample.bytes_s, sample.predicted_bytes_s);
  return text;
}

nlohmann::ordered_json json_of(const Spec& spec, const std::vector<Outcome>& outcomes) {
  nlohmann::ordered_json runs = nlohmann::ordered_json::array();
  const auto server_of = [&](const ServerOutcome& o) {
    const Energy& e = o.energy;
    const auto all = away_s(o), slow = away_s(o, true);
    return nlohmann::ordered_json{{"name", o.name},
                                  {"tier", o.tier},
                                  {"throughput_ops_s", o.operations() / spec.duration_s},
                                  {"writes_ops_s", o.writes / spec.duration_s},
                                  {"reads_ops_s", o.reads / spec.duration_s},
                                  {"stopped_s", o.stopped_s},
                                  {"delayed_s", o.delayed_s},
                                  {"memtable_wait_s", o.memtable_s},
                                  {"level0_files_mean", o.level0_mean},
                                  {"level0_files_max", o.level0_max},
                                  {"level0_compactions", o.compactions},
                                  {"near_stall", o.near_stall},
                                  {"near_stall_offloaded", o.near_stall_offloaded},
                                  {"offloaded", o.offloaded},
                                  {"fell_back", o.fell_back},
                                  {"given_up", o.given_up},
                                  {"moved_bytes", o.bytes_moved},
                                  {"wasted_bytes", o.wasted_bytes},
                                  {"wasted_cpu_s", o.wasted_cpu_s},
                                  {"elsewhere_s_p50", quantile(all, 0.5)},
                                  {"elsewhere_s_p95", quantile(all, 0.95)},
                                  {"elsewhere_s_p99", quantile(all, 0.99)},
                                  {"met_slow_jobs", slow.size()},
                                  {"met_slow_s_p50", quantile(slow, 0.5)},
                                  {"met_slow_s_p95", quantile(slow, 0.95)},
                                  {"jobs_taken", o.jobs_taken},
                                  {"energy_j", e.total()},
                                  {"energy_idle_j", e.idle},
                                  {"energy_marginal_j", e.marginal()},
                                  {"energy_marginal_by",
                                   {{"application_j", e.application},
                                    {"flushes_j", e.flush},
                                    {"own_compactions_j", e.compaction},
                                    {"others_jobs_j", e.others_jobs},
                                    {"serving_j", e.serving},
                                    {"network_j", e.network}}},
                                  {"energy_per_op_uj", 1e6 * energy_per_op(o)},
                                  {"time_error", o.time.mean()},
                                  {"energy_error", o.job_energy.mean()},
                                  {"input_rate_error", o.input.mean()}};
  };
  for (const Outcome& outcome : outcomes) {
    nlohmann::ordered_json servers = nlohmann::ordered_json::array();
    for (const auto& server : outcome.servers) servers.push_back(server_of(server));
    runs.push_back({{"policy", outcome.policy},
                    {"seed", outcome.seed},
                    {"events", outcome.events},
                    {"decisions", outcome.decisions},
                    {"total", server_of(outcome.total())},
                    {"servers", std::move(servers)}});
  }
  return {{"schema_version", 1},
          {"experiment", spec.name},
          {"duration_s", spec.duration_s},
          {"energy_method", "modelled"},
          {"runs", std::move(runs)}};
}

}  // namespace eco::sim
