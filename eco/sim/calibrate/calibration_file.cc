#include "calibration_file.h"

#include <fmt/format.h>

#include <algorithm>

namespace eco::calibrate {
namespace {

constexpr double us = 1e6, ns = 1e9;

// The range of the rounds, by the case where it is the largest.
double widest(const std::map<std::string, std::vector<double>>& cases) {
  double most = 0;
  for (const auto& [name, values] : cases) most = std::max(most, spread(values).range);
  return most;
}

std::string line_of(const char* what, const Fit& fit) {
  if (fit.observations == 0) return "";
  return fmt::format(
      "{:<27} {:>5} observations, {:.0f} % from the costs in the median, {:.0f} % at the 90th percentile\n", what,
      fit.observations, 100 * fit.error_median, 100 * fit.error_p90);
}

std::string compaction_of(const Costs::OfCodec& costs) {
  const auto& flush = costs.flush.coefficients;
  const auto& compaction = costs.compaction.coefficients;
  std::string text;
  const auto figure = [&](const char* key, double value) { text += fmt::format("{} = {:.4g}\n", key, value); };
  figure("flush_us_per_entry", flush[1] * us), figure("flush_ns_per_byte", flush[2] * ns);
  figure("compaction_us", compaction[0] * us), figure("compaction_us_per_entry", compaction[1] * us);
  figure("compaction_ns_per_byte", compaction[2] * ns), figure("compaction_ns_per_output_byte", compaction[3] * ns);
  return text;
}

}  // namespace

Costs costs_of(const Measured& measured) {
  Costs costs;
  costs.put = fit(measured.puts);
  costs.get_s = spread(measured.get_s).median, costs.seek_s = spread(measured.seek_s).median;
  costs.get_s_per_file = spread(measured.get_s_per_file).median;
  costs.seek_s_per_file = spread(measured.seek_s_per_file).median;
  costs.memtable = fit(measured.memtables);
  std::vector<Observation> home;
  for (const auto& [codec, of] : measured.codecs) {
    costs.codecs[codec] = {.flush = fit(of.flushes), .compaction = fit(of.compactions), .worker = fit(of.worker)};
    home.insert(home.end(), of.home.begin(), of.home.end());
  }
  costs.home = fit(home);
  return costs;
}

std::string spread_of(const Measured& measured, const Costs& costs) {
  std::string text;
  for (const auto& [figure, cases] : measured.rounds)
    text += fmt::format("{:<27} rounds differ by {:.0f} % of their median, in the case where they differ most\n",
                        figure, 100 * widest(cases));
  text += line_of("put", costs.put);
  for (const auto& [codec, of] : costs.codecs) {
    text += line_of(("flush, " + codec).c_str(), of.flush);
    text += line_of(("compaction, " + codec).c_str(), of.compaction);
    text += line_of(("worker, " + codec).c_str(), of.worker);
  }
  text += line_of("offloaded, at home", costs.home);
  for (const auto& [name, values] : measured.stored)
    text += fmt::format("stored, {:<19} {:.3f}\n", name, spread(values).median);
  return text;
}

std::string toml_of(const Plan& plan, const Measured& measured, const Costs& costs, const std::string& machine,
                    const std::string& command) {
  const auto& put = costs.put.coefficients;
  const auto& first = costs.codecs.at(plan.codecs.front());
  std::string text = fmt::format(
      "# CPU time on one core, as eco-calibrate measured it; [codecs.NAME]: where outputs have another codec.\n"
      "schema_version = 1\nmachine = \"{}\"\nmethod = \"\"\"\n{}\n{}\"\"\"\n\n[costs.reference]",
      machine, command, spread_of(measured, costs));
  text += fmt::format("                    # outputs with {}\n", plan.codecs.front());
  const auto figure = [&](const char* key, double value) { text += fmt::format("{} = {:.4g}\n", key, value); };
  figure("put_us", put[0] * us), figure("put_ns_per_byte", put[1] * ns);
  figure("get_us", costs.get_s * us), figure("get_us_per_level0_file", costs.get_s_per_file * us);
  figure("seek_us", costs.seek_s * us), figure("seek_us_per_level0_file", costs.seek_s_per_file * us);
  figure("memtable_bytes_per_entry", costs.memtable.coefficients[0]);
  figure("memtable_unused", costs.memtable.coefficients[1]);
  text += compaction_of(first);
  if (costs.home.observations > 0) {
    const double in = costs.home.coefficients[2], out = costs.home.coefficients[3];
    figure("transfer_ns_per_byte", in * ns);
    figure("verify_ns_per_byte", std::max(0.0, out - in) * ns);
    figure("worker_us", first.worker.coefficients[0] * us);
    figure("worker_ns_per_byte", first.worker.coefficients[1] * ns);
  } else {
    text += "transfer_ns_per_byte = 0.7           # assumed: nothing was offloaded\n";
    text += "verify_ns_per_byte = 0.3             # assumed\n";
  }
  for (const auto& [codec, of] : costs.codecs)
    if (codec != plan.codecs.front()) text += fmt::format("\n[codecs.{}]\n{}", codec, compaction_of(of));
  return text;
}

}  // namespace eco::calibrate
