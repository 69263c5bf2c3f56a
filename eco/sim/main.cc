// eco-sim: simulates a federation with the daemon's policies and predictors.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <fstream>
#include <nlohmann/json.hpp>

#include "command_line.h"
#include "report.h"
#include "simulation.h"

namespace {

using namespace eco::sim;

constexpr char examples[] = R"(Examples:
  eco-sim run experiments/eco-paper/sim/fillrandom.toml
  eco-sim run FILE --policy local --policy eco --seed 7 --duration 60 --json out.json
  eco-sim run FILE --scale high.busy_core_w=1.5
  eco-sim watts FILE                   check the verdict with each tier's watts 50 % lower and higher)";

struct Options {
  std::string file, json, jobs, inputs;
  std::vector<std::string> policies, scales;
  std::vector<std::uint64_t> seeds;
  double duration_s = 0;
};

Spec spec_of(const Options& options, const std::vector<std::string>& further_scales = {}) {
  std::vector<Scale> scales;
  for (const auto& text : options.scales) scales.push_back(scale_of(text));
  for (const auto& text : further_scales) scales.push_back(scale_of(text));
  Spec spec = read_spec(options.file, scales);
  if (!options.seeds.empty()) spec.seeds = options.seeds;
  if (options.duration_s > 0) spec.duration_s = options.duration_s;
  if (!options.policies.empty()) {
    const eco::Policy knobs = spec.policies.front();
    spec.policies.clear();
    for (const auto& name : options.policies) {
      auto policy = eco::policy_named(name);
      if (!policy) throw SpecError(fmt::format("--policy {}: unknown policy", name));
      policy->read_weight = knobs.read_weight, policy->busy_max = knobs.busy_max;
      spec.policies.push_back(*policy);
    }
    expect_targets(spec);
  }
  return spec;
}

std::vector<Outcome> run_all(const Spec& spec) {
  std::vector<Outcome> outcomes;
  for (const auto& policy : spec.policies)
    for (const auto seed : spec.seeds) outcomes.push_back(simulate(spec, policy, seed));
  return outcomes;
}

float quantile(std::vector<float> all, double q) {
  if (all.empty()) return 0;
  const auto at = static_cast<std::ptrdiff_t>(q * static_cast<double>(all.size() - 1));
  std::ranges::nth_element(all, all.begin() + at);
  return all[static_cast<std::size_t>(at)];
}

void write(const std::string& name, const std::string& text) {
  if (name.empty()) return;
  std::ofstream file(name);
  file << text;
  if (!file.flush()) throw SpecError(fmt::format("{}: cannot be written", name));
}

void run(const Options& options) {
  Spec spec = spec_of(options);
  spec.records = !options.jobs.empty() || !options.inputs.empty();
  const auto begin = std::chrono::steady_clock::now();
  const auto outcomes = run_all(spec);
  const double took_s = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  fmt::print("{}", table_of(spec, outcomes));
  std::fflush(stdout);
  std::uint64_t events = 0;
  std::vector<float> decisions;
  for (const auto& outcome : outcomes) {
    events += outcome.events;
    decisions.insert(decisions.end(), outcome.decision_us.begin(), outcome.decision_us.end());
  }
  eco::print_error(fmt::format(
      "\n{} events in {:.1f} s: {:.0f} a second; {} decisions of {:.1f} us CPU time in the median, {:.1f} at "
      "the 99th percentile\n",
      events, took_s, static_cast<double>(events) / took_s, decisions.size(), quantile(decisions, 0.5),
      quantile(decisions, 0.99)));
  write(options.json, json_of(spec, outcomes).dump(1) + "\n");
  write(options.jobs, jobs_csv(outcomes));
  write(options.inputs, input_samples_csv(outcomes));
}

// Energy per operation of all servers relative to the first policy, in percent, over all seeds.
std::vector<double> verdicts(const Spec& spec) {
  const auto outcomes = run_all(spec);
  std::vector<double> changes;
  for (std::size_t p = 0; p < spec.policies.size(); ++p) {
    double sum = 0;
    const std::size_t seeds = spec.seeds.size();
    for (std::size_t s = 0; s < seeds; ++s)
      sum += energy_per_op(outcomes[p * seeds + s].total()) / energy_per_op(outcomes[s].total()) - 1;
    changes.push_back(100 * sum / static_cast<double>(seeds));
  }
  return changes;
}

void watts(const Options& options) {
  const Spec as_given = spec_of(options);
  fmt::print("energy per operation of all servers, % of {}\n{:<32}", eco::name_of(as_given.policies.front()), "");
  for (const auto& policy : as_given.policies) fmt::print("{:>12}", eco::name_of(policy));
  fmt::print("\n");
  const auto line = [&](const std::string& name, const std::vector<double>& changes) {
    fmt::print("{:<32}", name);
    for (const double change : changes) fmt::print("{:>+12.1f}", change);
    fmt::print("\n");
  };
  const auto given = verdicts(as_given);
  line("as given", given);
  std::vector<bool> holds(given.size(), true);
  for (const Tier& tier : as_given.tiers)
    for (const char* figure : {"busy_core_w", "idle_w"})
      for (const char* factor : {"0.5", "1.5"}) {
        const auto scale = fmt::format("{}.{}={}", tier.name, figure, factor);
        const auto changes = verdicts(spec_of(options, {scale}));
        for (std::size_t p = 0; p < changes.size(); ++p) holds[p] = holds[p] && (changes[p] < 0) == (given[p] < 0);
        line(scale, changes);
      }
  for (std::size_t p = 1; p < given.size(); ++p)
    fmt::print("{}: {} than {}, {}\n", eco::name_of(as_given.policies[p]), given[p] < 0 ? "less" : "not less",
               eco::name_of(as_given.policies.front()), holds[p] ? "at all watts" : "not at all watts");
}

int command(int argc, char** argv) {
  CLI::App app("Simulates a federation of RocksDB servers by the policies and predictors of eco.", "eco-sim");
  app.footer(examples);
  app.require_subcommand(1);
  app.set_help_all_flag("--help-all", "print the help of all commands");
  Options options;
  const auto common = [&](CLI::App* command) {
    command->add_option("file", options.file, "experiment (TOML)")->required();
    command
        ->add_option("--policy", options.policies,
                     "policy to use instead of the file's; repeatable. Results are relative to the first")
        ->allow_extra_args(false);
    command->add_option("--seed", options.seeds, "seed to use instead of the file's; repeatable")
        ->allow_extra_args(false);
    command->add_option("--duration", options.duration_s, "seconds to simulate instead of the file's")
        ->check(eco::positive_number());
    command->add_option("--scale", options.scales, "TIER.FIGURE=FACTOR: multiply a tier's figure")
        ->allow_extra_args(false);
    command->footer(examples);
  };
  CLI::App* run_command =
      app.add_subcommand("run", "simulate an experiment with each policy and seed, and print a table");
  common(run_command);
  run_command->add_option("--json", options.json, "write the figures of each run to this file");
  run_command->add_option("--jobs", options.jobs, "write each compaction and its prediction to this file (CSV)");
  run_command->add_option("--inputs", options.inputs,
                          "write each sample of the input rate and its prediction to this file (CSV)");
  CLI::App* watts_command =
      app.add_subcommand("watts", "repeat the experiment with each tier's watts 50 % lower and higher");
  common(watts_command);
  if (const auto code = eco::parse_arguments(app, argc, argv)) return *code;
  if (*run_command) run(options);
  if (*watts_command) watts(options);
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  return eco::run_program("eco-sim", [&] { return command(argc, argv); });
}
