#include "spec.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <string_view>

namespace eco::sim {
namespace {

constexpr double us = 1e-6, ns = 1e-9, mib = 1 << 20, gbit_s = 1e9 / 8;

void check_version(StrictToml& toml) {
  if (toml.number("schema_version", 1) != 1) toml.fail("schema_version", "expected 1");
}

// The costs of flushes and compactions, which differ by codec.
void read_compaction(StrictToml& toml, Costs& costs) {
  costs.flush_s_per_entry = toml.number("flush_us_per_entry", 0) * us;
  costs.flush_s_per_byte = toml.number("flush_ns_per_byte", 0) * ns;
  costs.compaction_s = toml.number("compaction_us", 0) * us;
  costs.compaction_s_per_entry = toml.number("compaction_us_per_entry", 0) * us;
  costs.compaction_s_per_byte = toml.number("compaction_ns_per_byte", 0) * ns;
  costs.compaction_s_per_output_byte = toml.number("compaction_ns_per_output_byte", 0, 0) * ns;
}

Costs read_costs(StrictToml& toml) {
  const auto figure = [&](const char* key, double unit) { return toml.number(key, 0) * unit; };
  Costs costs{.put_s = figure("put_us", us),
              .put_s_per_byte = figure("put_ns_per_byte", ns),
              .get_s = figure("get_us", us),
              .get_s_per_file = figure("get_us_per_level0_file", us),
              .seek_s = figure("seek_us", us),
              .seek_s_per_file = figure("seek_us_per_level0_file", us),
              .memtable_bytes_per_entry = toml.number("memtable_bytes_per_entry", 0, 0),
              .transfer_s_per_byte = figure("transfer_ns_per_byte", ns),
              .verify_s_per_byte = figure("verify_ns_per_byte", ns),
              .worker_s = toml.number("worker_us", 0, 0) * us};
  costs.memtable_unused = toml.number("memtable_unused", 0, 0);
  costs.worker_s_per_byte = toml.number("worker_ns_per_byte", 0, costs.transfer_s_per_byte / ns) * ns;
  read_compaction(toml, costs);
  toml.done();
  return costs;
}

Costs on_cores_of(Costs costs, double speed) {
  for (double* cost : {&costs.put_s, &costs.put_s_per_byte, &costs.get_s, &costs.get_s_per_file, &costs.seek_s,
                       &costs.seek_s_per_file, &costs.flush_s_per_entry, &costs.flush_s_per_byte, &costs.compaction_s,
                       &costs.compaction_s_per_entry, &costs.compaction_s_per_byte, &costs.compaction_s_per_output_byte,
                       &costs.transfer_s_per_byte, &costs.verify_s_per_byte, &costs.worker_s, &costs.worker_s_per_byte})
    *cost /= speed;
  return costs;
}

struct Calibration {
  std::map<std::string, Costs> by_tier;   // and the reference
  std::map<std::string, Costs> by_codec;  // of the reference
};

Calibration read_calibration(const std::filesystem::path& file) {
  StrictToml toml(file);
  check_version(toml);
  toml.text("machine"), toml.text("method");
  Calibration all;
  for (auto& [tier, costs] : toml.named_tables("costs")) all.by_tier.emplace(tier, read_costs(costs));
  if (!all.by_tier.contains("reference")) toml.fail("costs", "expected [costs.reference]");
  for (auto& [codec, table] : toml.named_tables("codecs")) {
    Costs costs = all.by_tier.at("reference");
    read_compaction(table, costs);
    table.done();
    all.by_codec.emplace(codec, costs);
  }
  toml.done();
  return all;
}

constexpr const char* tier_figures[] = {"cores",  "speed",       "link_gbit_s",         "slots",
                                        "idle_w", "busy_core_w", "transfer_nj_per_byte"};

Tier read_tier(const std::string& name, StrictToml& toml, const Calibration& calibration,
               const std::vector<Scale>& scales) {
  auto sources = toml.named_texts("sources");
  std::map<std::string, double> figures;
  for (const char* key : tier_figures) {
    figures[key] = toml.number(key, 0);
    if (!sources.contains(key)) toml.fail("sources", fmt::format("expected the source of {}", key));
  }
  for (const auto& [key, source] : sources)
    if (!figures.contains(key)) toml.fail("sources", fmt::format("there is no figure {}", key));
  for (const char* key : {"cores", "speed", "slots"})
    if (figures[key] <= 0) toml.fail(key, "expected more than 0");
  for (const Scale& scale : scales)
    if (scale.tier == name) figures.at(scale.figure) *= scale.factor;
  for (const char* key : {"cores", "speed", "slots"})
    if (!(figures[key] > 0) || (key == std::string_view("slots") && figures[key] < 1))
      throw SpecError(fmt::format("--scale leaves {}.{} at {}, expected {}", name, key, figures[key],
                                  key == std::string_view("slots") ? "1 or more" : "more than 0"));
  toml.done();
  const auto own = calibration.by_tier.find(name);  // measured on that tier; needs no speed factor
  const bool measured = own != calibration.by_tier.end();
  Tier tier{.name = name,
            .cores = figures["cores"],
            .link_bytes_s = figures["link_gbit_s"] * gbit_s,
            .slots = static_cast<std::uint32_t>(figures["slots"]),
            .power = {.busy_core_w = figures["busy_core_w"],
                      .idle_w = figures["idle_w"],
                      .transfer_j_per_byte = figures["transfer_nj_per_byte"] * ns},
            .costs = measured ? own->second : on_cores_of(calibration.by_tier.at("reference"), figures["speed"])};
  if (!measured)
    for (const auto& [codec, costs] : calibration.by_codec)
      tier.costs_by_codec.emplace(codec, on_cores_of(costs, figures["speed"]));
  return tier;
}

Workload read_workload(const std::string& name, StrictToml& toml) {
  Workload workload{.name = name};
  const std::string kind = toml.text("kind", "custom");
  if (kind == "readwhilewriting") workload.reader_threads = 1;
  if (kind == "mixgraph") workload.put = 0.25, workload.get = 0.5, workload.seek = 0.25;
  if (kind != "fillrandom" && kind != "readwhilewriting" && kind != "mixgraph" && kind != "custom")
    toml.fail("kind", "expected fillrandom, readwhilewriting, mixgraph or custom");
  workload.put = toml.number("put", 0, workload.put);
  workload.get = toml.number("get", 0, workload.get);
  workload.seek = toml.number("seek", 0, workload.seek);
  if (std::abs(workload.put + workload.get + workload.seek - 1) > 1e-9)
    toml.fail("put", "expected put + get + seek = 1");
  workload.threads = toml.number("threads", 0, workload.threads);
  workload.rate_ops_s = toml.number("rate_ops_s", 0, workload.rate_ops_s);
  workload.swing = toml.number("swing", 0, workload.swing);
  if (workload.swing >= 1) toml.fail("swing", "expected less than 1");
  workload.swing_period_s = toml.number("swing_period_s", 1, workload.swing_period_s);
  workload.rate_steps_ops_s = toml.numbers("rate_steps_ops_s", 0, {});
  workload.step_s = toml.number("step_s", 1, workload.step_s);
  workload.reader_threads = toml.number("reader_threads", 0, workload.reader_threads);
  workload.key_bytes = toml.number("key_bytes", 1, workload.key_bytes);
  workload.value_bytes = toml.numbers("value_bytes", 0, workload.value_bytes);
  workload.keys = toml.number("keys", 1, workload.keys);
  workload.stored = toml.number("stored", 0.01, workload.stored);
  workload.codec = toml.text("codec", workload.codec);
  toml.done();
  return workload;
}

DatabaseOptions read_database(StrictToml toml) {
  DatabaseOptions options;
  const auto take = [&](const char* key, double& option, double unit, double least) {
    option = toml.number(key, least, option / unit) * unit;
  };
  take("write_buffer_mb", options.write_buffer_bytes, mib, 1);
  take("max_write_buffer_number", options.max_write_buffer_number, 1, 2);
  take("level0_file_num_compaction_trigger", options.level0_file_num_compaction_trigger, 1, 1);
  take("level0_slowdown_writes_trigger", options.level0_slowdown_writes_trigger, 1, 1);
  take("level0_stop_writes_trigger", options.level0_stop_writes_trigger, 1, 1);
  take("max_bytes_for_level_base_mb", options.max_bytes_for_level_base, mib, 1);
  take("max_bytes_for_level_multiplier", options.max_bytes_for_level_multiplier, 1, 1);
  take("target_file_size_base_mb", options.target_file_size_base, mib, 1);
  take("max_background_jobs", options.max_background_jobs, 1, 1);
  take("delayed_write_rate_mb_s", options.delayed_write_rate, mib, 0.1);
  take("stall_threshold", options.stall_threshold, 1, 0);
  if (options.level0_slowdown_writes_trigger > options.level0_stop_writes_trigger)
    toml.fail("level0_slowdown_writes_trigger", "expected no more than level0_stop_writes_trigger");
  toml.done();
  return options;
}

std::size_t index_of(const std::vector<std::string>& names, const std::string& name, StrictToml& toml,
                     const char* key) {
  const auto found = std::ranges::find(names, name);
  if (found == names.end())
    toml.fail(key, fmt::format("expected one of {}; there is no {}", fmt::join(names, ", "), name));
  return static_cast<std::size_t>(found - names.begin());
}

template <typename Named>
std::vector<std::string> names_of(const std::vector<Named>& all) {
  std::vector<std::string> names;
  for (const auto& one : all) names.push_back(one.name);
  return names;
}

struct Slow {
  double share = 0, factor = 1;
};
Slow read_slow(StrictToml& toml, const Slow& otherwise) {
  const Slow slow{.share = toml.number("slow_share", 0, otherwise.share),
                  .factor = toml.number("slow_factor", 1, otherwise.factor)};
  if (slow.share > 1) toml.fail("slow_share", "expected at most 1");
  return slow;
}

void read_servers(StrictToml& toml, Spec& spec, const Slow& slow) {
  const auto tiers = names_of(spec.tiers), workloads = names_of(spec.workloads);
  for (StrictToml& one : toml.tables("servers")) {
    ServerSpec server{.name = one.text("name")};
    server.tier = index_of(tiers, one.text("tier"), one, "tier");
    const std::string workload = one.text("workload", workloads.empty() ? "none" : workloads.front());
    server.idle = workload == "none";
    if (!server.idle) server.workload = index_of(workloads, workload, one, "workload");
    server.energy_weight = one.number("energy_weight", 0, 1);
    if (one.has("battery")) server.battery = one.number("battery", 0);
    const Slow own = read_slow(one, slow);
    server.slow_share = own.share, server.slow_factor = own.factor;
    const auto count = static_cast<std::size_t>(one.number("count", 1, 1));
    one.done();
    for (std::size_t i = 1; i <= count; ++i) {
      spec.servers.push_back(server);
      if (count > 1) spec.servers.back().name += fmt::format("-{}", i);
    }
  }
  if (spec.servers.empty()) toml.fail("servers", "expected at least one [[servers]]");
}

void read_faults(StrictToml& toml, Spec& spec) {
  const std::vector<std::string> kinds{"worker-down", "worker-up", "drain"};
  for (StrictToml& one : toml.tables("faults")) {
    spec.faults.push_back({.kind = static_cast<Fault::Kind>(index_of(kinds, one.text("kind"), one, "kind")),
                           .at_s = one.number("at_s", 0),
                           .server = index_of(names_of(spec.servers), one.text("server"), one, "server")});
    one.done();
  }
}

// Default slowness of servers that do not set their own.
Slow read_run(StrictToml toml, Spec& spec) {
  spec.duration_s = toml.number("duration_s", 1, spec.duration_s);
  for (const double seed : toml.numbers("seeds", 0, {1})) spec.seeds.push_back(static_cast<std::uint64_t>(seed));
  const double read_weight = toml.number("read_weight", 0, Policy{}.read_weight);
  const double busy_max = toml.number("busy_max", 0, Policy{}.busy_max);
  for (const auto& name : toml.texts("policies", {compared_policies.begin(), compared_policies.end()})) {
    auto policy = policy_named(name);
    if (!policy) toml.fail("policies", fmt::format("no policy is named {}", name));
    policy->read_weight = read_weight, policy->busy_max = busy_max;
    spec.policies.push_back(*policy);
  }
  spec.beat_s = toml.number("beat_s", 0.01, spec.beat_s);
  spec.alive_s = toml.number("alive_s", 0, spec.alive_s);
  spec.heartbeat_s = toml.number("heartbeat_s", 0, spec.heartbeat_s);
  spec.placement_s = toml.number("placement_ms", 0, spec.placement_s * 1e3) * 1e-3;
  spec.noise = toml.number("noise", 0, spec.noise);
  const Slow slow = read_slow(toml, {});
  toml.done();
  return slow;
}

}  // namespace

Scale scale_of(const std::string& text) {
  const auto dot = text.find('.'), equals = text.find('=');
  Scale scale;
  if (dot != std::string::npos && equals != std::string::npos && dot < equals) {
    scale = {.tier = text.substr(0, dot), .figure = text.substr(dot + 1, equals - dot - 1)};
    try {
      scale.factor = std::stod(text.substr(equals + 1));
    } catch (const std::exception&) {
      scale.factor = -1;
    }
  }
  if (std::ranges::find(tier_figures, scale.figure) == std::end(tier_figures) || !(scale.factor >= 0) ||
      !std::isfinite(scale.factor))
    throw SpecError(
        fmt::format("{}: expected TIER.FIGURE=FACTOR, FIGURE one of {}", text, fmt::join(tier_figures, ", ")));
  return scale;
}

Spec read_spec(const std::filesystem::path& file, const std::vector<Scale>& scales) {
  StrictToml toml(file);
  check_version(toml);
  Spec spec;
  spec.name = toml.text("name"), spec.question = toml.text("question");
  const auto calibration = read_calibration(file.parent_path() / toml.text("calibration"));
  StrictToml tiers(file.parent_path() / toml.text("tiers"));
  check_version(tiers);
  for (auto& [name, tier] : tiers.named_tables("tiers"))
    spec.tiers.push_back(read_tier(name, tier, calibration, scales));
  tiers.done();
  for (const Scale& scale : scales)
    if (std::ranges::none_of(spec.tiers, [&](const Tier& tier) { return tier.name == scale.tier; }))
      throw SpecError(fmt::format("there is no tier {}", scale.tier));
  for (auto& [name, workload] : toml.named_tables("workloads")) spec.workloads.push_back(read_workload(name, workload));
  const Slow slow = read_run(toml.table("run"), spec);
  spec.database = read_database(toml.table("database"));
  read_servers(toml, spec, slow);
  read_faults(toml, spec);
  toml.done();
  expect_targets(spec);
  return spec;
}

void expect_targets(const Spec& spec) {
  const auto names = names_of(spec.servers);
  for (const Policy& policy : spec.policies)
    if (policy.kind == PolicyKind::static_server && std::ranges::find(names, policy.target) == names.end())
      throw SpecError(fmt::format("policy {}: no server is named {}; expected one of {}", name_of(policy),
                                  policy.target, fmt::join(names, ", ")));
}

}  // namespace eco::sim
