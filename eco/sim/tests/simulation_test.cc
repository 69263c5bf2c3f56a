#include "simulation.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "all_policies.h"
#include "report.h"
#include "small_spec.h"

namespace {

using namespace eco::sim;

Outcome run(const Spec& spec, std::string_view policy, std::uint64_t seed = 1) {
  return simulate(spec, *eco::policy_named(policy), seed);
}

TEST(Simulation, repeats_itself_by_its_seed) {
  for (const auto& policy : eco::test::all_policies("helper")) {
    const Spec spec = stalling();
    const auto first = json_of(spec, {run(spec, policy)}).dump();
    EXPECT_EQ(first, json_of(spec, {run(spec, policy)}).dump()) << policy;
    EXPECT_NE(first, json_of(spec, {run(spec, policy, 2)}).dump()) << policy;
  }
}

TEST(Simulation, local_offloads_nothing) {
  const auto total = run(stalling(), "local").total();
  EXPECT_GT(total.compactions, 4);
  EXPECT_EQ(total.offloaded + total.jobs_taken, 0);
  EXPECT_EQ(total.energy.others_jobs + total.energy.serving + total.energy.network, 0);
}

TEST(Simulation, offloading_to_a_faster_server_takes_stalls_away) {
  const auto local = run(stalling(), "local").total();
  EXPECT_GT(local.stall_s(), 5);
  for (const char* policy : {"edgepilot", "eco-local", "eco-plus", "static:helper"}) {
    const auto there = run(stalling(), policy).total();
    EXPECT_GT(there.jobs_taken, 2) << policy;
    EXPECT_LT(there.stall_s(), 0.9 * local.stall_s()) << policy;
    EXPECT_GT(there.operations(), local.operations()) << policy;
  }
}

TEST(Simulation, a_closed_loop_writes_as_fast_as_one_core_and_its_memtables_permit) {
  Spec spec = stalling();
  spec.servers.resize(1);
  spec.database.level0_file_num_compaction_trigger = 1e6, spec.database.level0_slowdown_writes_trigger = 1e6;
  spec.database.level0_stop_writes_trigger = 1e6, spec.database.max_bytes_for_level_base = 1e15;
  const auto total = run(spec, "local").total();
  EXPECT_NEAR(total.operations() / spec.duration_s, 0.3 / 10e-6, 1);
  EXPECT_EQ(total.stall_s() + total.memtable_s, 0);
  EXPECT_NEAR(total.energy.application, 2 * spec.duration_s, 1e-6);
}

TEST(Simulation, waits_for_a_flush_that_is_slower_than_the_writes) {
  Spec spec = stalling();
  spec.servers.resize(1);
  spec.tiers[0].costs.flush_s_per_byte = 1e-7;
  const auto total = run(spec, "local").total();
  EXPECT_GT(total.memtable_s, 10);
  EXPECT_LT(total.operations() * 1016 / spec.duration_s, 1.1e7);
}

TEST(Simulation, an_offered_rate_is_met_and_not_exceeded) {
  Spec spec = stalling();
  spec.workloads[0].rate_ops_s = 1000;
  const auto outcome = run(spec, "eco");
  for (const auto& server : outcome.servers) EXPECT_NEAR(server.operations(), 1000 * spec.duration_s, 1) << server.name;
}

TEST(Simulation, rates_are_offered_one_after_the_other_and_looks_at_them_are_recorded) {
  Spec spec = stalling();
  spec.servers.resize(1), spec.records = true;
  spec.workloads[0].rate_steps_ops_s = {1000, 3000}, spec.workloads[0].step_s = 30;
  const auto outcome = run(spec, "local");
  EXPECT_NEAR(outcome.servers[0].operations(), 2000 * spec.duration_s, 5000);
  double least = 1e12, most = 0;
  for (const auto& sample : outcome.input_samples)
    least = std::min(least, sample.bytes_s), most = std::max(most, sample.bytes_s);
  EXPECT_NEAR(least, 1000 * 1016, 2000);
  EXPECT_NEAR(most, 3000 * 1016, 2000);
}

TEST(Simulation, jobs_are_recorded_with_what_was_predicted_before) {
  Spec spec = stalling();
  spec.records = true;
  const auto outcome = run(spec, "local");
  double sum = 0, count = 0;
  for (const auto& job : outcome.jobs)
    if (job.jobs_before >= 20) sum += std::abs(job.predicted_s / job.took_s - 1), count += 1;
  EXPECT_GT(count, 0);
  EXPECT_NEAR(sum / count, outcome.total().time.mean(), 0.02);
  spec.records = false;
  EXPECT_TRUE(run(spec, "local").jobs.empty());
}

// Sending and receiving tables takes time too, so a model of one kind predicts the other badly.
TEST(Simulation, own_and_others_jobs_are_predicted_apart) {
  Spec spec = stalling();
  spec.records = true, spec.duration_s = 2000;
  for (auto& tier : spec.tiers) tier.costs.worker_s_per_byte = 1e-8;
  for (auto& server : spec.servers) server.idle = false;
  for (const bool others : {false, true}) {
    double sum = 0, count = 0;
    for (const auto& job : run(spec, "static:helper").jobs)
      if (job.jobs_before >= 20 && (job.server != job.home) == others)
        sum += std::abs(job.predicted_s / job.took_s - 1), count += 1;
    EXPECT_GT(count, 5) << others;
    EXPECT_LT(sum / count, 0.2) << others;
  }
}

TEST(Simulation, no_server_uses_more_cores_than_it_has) {
  Spec spec = stalling();
  spec.workloads[0].reader_threads = 20;
  for (const auto& server : run(spec, "edgepilot").servers) {
    const double w = server.tier == "slow" ? 2 : 6;
    const double cores = (server.energy.marginal() - server.energy.network) / w / spec.duration_s;
    EXPECT_LE(cores, 4.0001) << server.name;
    EXPECT_GT(cores, 3.99) << server.name;
    EXPECT_EQ(server.energy.idle, 10 * spec.duration_s);
  }
}

TEST(Simulation, reads_are_slower_the_more_files_are_in_level_0) {
  Spec spec = stalling();
  spec.workloads[0].reader_threads = 1;
  const auto local = run(spec, "local").total(), helped = run(spec, "edgepilot").total();
  EXPECT_LT(helped.level0_mean, local.level0_mean);
  EXPECT_GT(helped.reads, local.reads);
}

TEST(Simulation, a_server_without_an_application_takes_no_part_until_it_knows_something) {
  Spec spec = stalling();
  spec.servers[2].idle = true;
  EXPECT_EQ(run(spec, "edgepilot").total().jobs_taken, 0);
  EXPECT_GT(run(spec, "static:helper").total().jobs_taken, 0);
}

TEST(Simulation, jobs_of_a_worker_that_dies_fall_back_and_none_goes_there_again) {
  Spec spec = stalling();
  spec.faults = {{.kind = Fault::Kind::worker_down, .at_s = 60, .server = 2}};
  const auto with = run(spec, "edgepilot"), without = run(stalling(), "edgepilot");
  EXPECT_LT(with.servers[2].jobs_taken, without.servers[2].jobs_taken);
  EXPECT_GT(with.total().compactions, run(stalling(), "local").total().compactions * 0.9);
  for (double at_s = 20; at_s < 100; at_s += 0.5) {
    spec.faults[0].at_s = at_s;
    const auto total = run(spec, "edgepilot").total();
    ASSERT_LE(total.fell_back, 4) << at_s;
    ASSERT_GE(total.compactions + 3, total.jobs_taken) << at_s;
  }
  spec.faults[0].at_s = 1e-3;
  EXPECT_EQ(run(spec, "edgepilot").total().jobs_taken, 0);
}

TEST(Simulation, a_worker_that_comes_back_takes_jobs_again) {
  Spec spec = stalling();
  spec.faults = {{.kind = Fault::Kind::worker_down, .at_s = 0.001, .server = 2},
                 {.kind = Fault::Kind::worker_up, .at_s = 50, .server = 2}};
  EXPECT_GT(run(spec, "edgepilot").servers[2].jobs_taken, 0);
}

TEST(Simulation, a_draining_server_takes_no_new_jobs) {
  Spec spec = stalling();
  spec.faults = {{.kind = Fault::Kind::drain, .at_s = 0.001, .server = 2}};
  EXPECT_EQ(run(spec, "edgepilot").servers[2].jobs_taken, 0);
}

// Six slow servers; two fast ones have slow workers.
Spec meeting_slow_workers() {
  Spec spec = stalling();
  spec.duration_s = 600;
  spec.database.write_buffer_bytes = 16 << 20, spec.database.max_bytes_for_level_base = 64 << 20;
  for (Tier& tier : spec.tiers) tier.slots = 4;
  spec.servers.clear();
  for (const char* name : {"a", "b", "c", "d", "e", "f"}) spec.servers.push_back({.name = name, .tier = 0});
  for (const char* name : {"helper", "helper-2"})
    spec.servers.push_back({.name = name, .tier = 1, .slow_share = 0.2, .slow_factor = 30});
  return spec;
}

double slow_median_s(const ServerOutcome& total) {
  std::vector<double> slow;
  for (const Away& away : total.away)
    if (away.slow) slow.push_back(away.took_s);
  if (slow.empty()) return 0;
  std::ranges::nth_element(slow, slow.begin() + static_cast<std::ptrdiff_t>(slow.size() / 2));
  return slow[slow.size() / 2];
}

TEST(Simulation, a_slow_job_is_given_up_as_libeco_gives_it_up) {
  const auto without = run(stalling(), "static:helper"), with = run(meeting_slow_workers(), "static:helper");
  EXPECT_EQ(without.total().given_up, 0);
  EXPECT_GT(with.total().given_up, 5);
  EXPECT_EQ(with.total().given_up, with.total().fell_back);
  EXPECT_GT(with.total().wasted_bytes, 0);
  EXPECT_GT(with.total().wasted_cpu_s, 0);
  EXPECT_LT(with.total().wasted_bytes, with.total().bytes_moved);
}

// docs/adr/043: twice 40 real rounds gave 1.94 and 1.98 s in the median of the slow jobs.
TEST(Simulation, slow_jobs_that_are_given_up_take_as_long_as_real_ones) {
  Spec spec = read_spec(ECO_ROOT "/eco/sim/tests/slow-worker/experiment.toml");
  spec.duration_s = 1500;
  const auto total = run(spec, "eco-plus").total();
  EXPECT_NEAR(slow_median_s(total), 1.98, 0.2);
  EXPECT_GT(total.given_up, 30);
}

TEST(Simulation, each_compaction_is_installed_once_though_workers_are_slow_and_die) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    Spec spec = meeting_slow_workers();
    for (double at_s = 10; at_s < 600; at_s += 40)
      for (std::size_t i = 0; i < 2; ++i) {
        const std::size_t helper = 6 + i;
        spec.faults.push_back(
            {.kind = Fault::Kind::worker_down, .at_s = at_s + 20 * static_cast<double>(i), .server = helper});
        spec.faults.push_back(
            {.kind = Fault::Kind::worker_up, .at_s = at_s + 10 + 20 * static_cast<double>(i), .server = helper});
      }
    const auto outcome = run(spec, "eco-plus", seed);
    const auto total = outcome.total();
    ASSERT_GT(total.given_up, 0) << seed;
    ASSERT_GT(total.fell_back, 0) << seed;
    // Jobs that are not installed are under way; each server has one of level 0 at a time.
    ASSERT_GE(static_cast<double>(total.away.size() + spec.servers.size()), total.offloaded) << seed;
    ASSERT_LE(static_cast<double>(total.away.size()), total.offloaded) << seed;
  }
}

// The bar: with a useless network never more than 2 % worse than local.
TEST(Simulation, a_useless_network_makes_nothing_worse) {
  for (const double link_bytes_s : {1e5, 1e6, 1e7, 5e7, 125e6})
    for (std::uint64_t seed = 1; seed <= 3; ++seed) {
      Spec spec = stalling();
      for (Tier& tier : spec.tiers) tier.link_bytes_s = link_bytes_s;
      const auto local = run(spec, "local", seed).total();
      for (const char* policy : {"eco", "eco-plus"}) {
        const auto there = run(spec, policy, seed).total();
        EXPECT_GT(there.operations(), 0.98 * local.operations())
            << policy << ", " << link_bytes_s << " B/s, seed " << seed;
        EXPECT_LT(energy_per_op(there), 1.02 * energy_per_op(local))
            << policy << ", " << link_bytes_s << " B/s, seed " << seed;
      }
    }
}

TEST(Simulation, moved_bytes_take_their_time) {
  Spec spec = stalling();
  for (Tier& tier : spec.tiers) tier.link_bytes_s = 20e6;
  const auto total = run(spec, "static:helper").total();
  const double bytes = total.energy.network / 2e-9;  // both ends
  EXPECT_LE(bytes, 2 * 20e6 * spec.duration_s);
  EXPECT_GT(bytes, 20e6 * 0.5 * spec.duration_s);
}

TEST(Simulation, bytes_that_a_compaction_writes_have_their_own_cost) {
  Spec spec = stalling();
  spec.servers.resize(1);
  spec.workloads[0].rate_ops_s = 2000, spec.database.write_buffer_bytes = 4 << 20;
  Costs& costs = spec.tiers[0].costs;
  costs.compaction_s_per_entry = 0, costs.compaction_s_per_byte = 0, costs.compaction_s_per_output_byte = 5e-9;
  const double different = run(spec, "local").total().energy.compaction;
  spec.workloads[0].keys = 1000;
  EXPECT_LT(run(spec, "local").total().energy.compaction, 0.1 * different);
}

TEST(Simulation, a_job_elsewhere_takes_the_worker_more_than_its_compaction) {
  Spec spec = stalling();
  spec.noise = 0;
  spec.workloads[0].rate_ops_s = 2000, spec.database.write_buffer_bytes = 4 << 20;
  const auto before = run(spec, "static:helper").total();
  spec.tiers[1].costs.worker_s = 0.05;
  const auto after = run(spec, "static:helper").total();
  ASSERT_GT(before.jobs_taken, 20);
  const double each = after.energy.others_jobs / after.jobs_taken - before.energy.others_jobs / before.jobs_taken;
  EXPECT_NEAR(each, 0.05 * 6, 0.03);
}

TEST(Simulation, memtables_are_full_earlier_by_what_entries_take_beside_keys_and_values) {
  Spec spec = stalling();
  spec.servers.resize(1);
  spec.workloads[0].rate_ops_s = 2000, spec.database.write_buffer_bytes = 4 << 20;
  const double before = run(spec, "local").total().compactions;
  ASSERT_GT(before, 5);
  spec.tiers[0].costs.memtable_bytes_per_entry = 1016;
  EXPECT_NEAR(run(spec, "local").total().compactions, 2 * before, 1);
}

TEST(Simulation, compactions_cost_by_the_codec_of_their_outputs) {
  Spec spec = stalling();
  spec.servers.resize(1);
  spec.workloads[0].rate_ops_s = 2000, spec.database.write_buffer_bytes = 4 << 20;
  spec.workloads[0].codec = "ZSTD";
  const double as_the_reference = run(spec, "local").total().energy.compaction;
  spec.tiers[0].costs_by_codec["ZSTD"] = spec.tiers[0].costs;
  spec.tiers[0].costs_by_codec["ZSTD"].compaction_s_per_byte *= 3;
  EXPECT_GT(run(spec, "local").total().energy.compaction, 2 * as_the_reference);
}

TEST(Simulation, mixed_sizes_of_values_are_predicted_to_5_percent) {
  Spec spec = stalling();
  spec.duration_s = 600;
  spec.workloads[0].value_bytes = {50, 200, 1000, 4000};
  for (std::uint64_t seed = 1; seed <= 3; ++seed) {
    const auto total = run(spec, "local", seed).total();
    EXPECT_GT(total.time.count, 50) << "seed " << seed;
    EXPECT_LT(total.time.mean(), 0.05) << "seed " << seed;
    EXPECT_LT(total.job_energy.mean(), 0.05) << "seed " << seed;
  }
}

}  // namespace
