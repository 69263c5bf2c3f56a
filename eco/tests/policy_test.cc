#include "policy.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <random>
#include <utility>

#include "all_policies.h"

namespace {

using eco::Decision, eco::Policy, eco::PolicyKind, eco::Request, eco::Server;
using eco::test::all_policies;

constexpr std::uint64_t mb = 1'000'000;
constexpr double ten_gbit_s = 1.25e9;

// A model that predicts these seconds and joules for a job of 64 MB, for others in proportion.
eco::CompactionModel model_of(double s, double j) {
  eco::CompactionModel model;
  for (int i = 1; i <= 40; ++i) {
    const double size = 0.1 * (1 + i % 20);
    model.learn({.input_bytes = static_cast<std::uint64_t>(size * 64 * mb),
                 .input_entries = static_cast<std::uint64_t>(size * 64000),
                 .codec = "Snappy"},
                {.compute_s = size * s, .energy_j = size * j});
  }
  return model;
}

Server server_of(const char* name, double s, double j) {
  Server server;
  server.name = name, server.address = "127.0.0.1:1", server.rocksdb = "7.8.3";
  server.cores = 4, server.link_bytes_s = ten_gbit_s, server.alive = true;
  server.power = {.busy_core_w = 5, .idle_w = 20, .transfer_j_per_byte = 1e-9};
  server.model = model_of(s, j);
  return server;
}

// Home needs 4 s for a job; faster servers take more energy.
struct Federation {
  enum : std::size_t { home, medium, high };
  std::vector<Server> servers{server_of("home", 4, 8), server_of("medium", 2, 10), server_of("high", 1, 16)};
  Request request{
      .job = {.input_bytes = 64 * mb, .input_entries = 64000, .codec = "Snappy"},
      .level_zero = {.files = 16.1, .files_s = 1, .slowdown = 18, .stop = 20, .delayed = 0.5, .trigger = 20},
      .rocksdb = "7.8.3"};

  [[nodiscard]] Decision decide(std::string_view policy) const { return decide(*eco::policy_named(policy)); }
  [[nodiscard]] Decision decide(const Policy& policy) const { return eco::decide(policy, request, servers, home); }
  // "": here.
  [[nodiscard]] std::string place(std::string_view policy) const {
    const Decision decision = decide(policy);
    return decision.offload ? servers[decision.target].name : "";
  }
};

struct Scene {
  const char* name;
  double level_zero_files;
  eco::CompactionModel home;
};

TEST(Policies, each_decides_as_defined) {
  const Scene stall_is_near{"a stall is near", 16.1, model_of(4, 8)};
  const Scene no_stall_is_near{"no stall is near", 4, model_of(4, 8)};
  const Scene only_high_avoids_it{"only the fastest avoids the stall", 18, model_of(4, 8)};
  const Scene nobody_avoids_it{"nobody avoids the stall", 19.5, model_of(4, 8)};
  const Scene home_is_fastest{"home is the fastest", 16.1, model_of(0.9, 30)};
  const Scene home_is_fastest_and_stalls{"home is the fastest, and stalls", 19.5, model_of(0.9, 30)};
  const struct {
    const Scene& scene;
    const char *policy, *place;  // "": here
  } table[] = {
      {stall_is_near, "local", ""},
      {stall_is_near, "edgepilot", "high"},
      {stall_is_near, "eco", "medium"},
      {stall_is_near, "eco-local", "high"},
      {stall_is_near, "eco-global", "medium"},
      {stall_is_near, "static:high", "high"},
      {stall_is_near, "static:medium", "medium"},
      {no_stall_is_near, "local", ""},
      {no_stall_is_near, "edgepilot", "high"},
      {no_stall_is_near, "eco", ""},
      {no_stall_is_near, "eco-local", ""},
      {no_stall_is_near, "eco-global", "medium"},
      {no_stall_is_near, "static:high", "high"},
      {only_high_avoids_it, "edgepilot", "high"},
      {only_high_avoids_it, "eco", "high"},
      {only_high_avoids_it, "eco-local", "high"},
      {only_high_avoids_it, "eco-global", "high"},
      {nobody_avoids_it, "edgepilot", "high"},
      {nobody_avoids_it, "eco", ""},
      {nobody_avoids_it, "eco-local", "high"},
      {nobody_avoids_it, "eco-global", ""},
      {home_is_fastest, "edgepilot", ""},
      {home_is_fastest, "eco", ""},
      {home_is_fastest, "eco-global", ""},
      {home_is_fastest_and_stalls, "eco-local", ""},
  };
  for (const auto& [scene, policy, place] : table) {
    Federation federation;
    federation.request.level_zero.files = scene.level_zero_files;
    federation.servers[Federation::home].model = scene.home;
    EXPECT_EQ(federation.place(policy), place) << scene.name << ", " << policy;
  }
}

TEST(Policies, eco_takes_the_network_into_its_time) {
  Federation federation;  // 128 MB at 80 MB/s: 1.6 s more
  for (Server& server : federation.servers) server.link_bytes_s = 80e6;
  EXPECT_NEAR(federation.decide("eco").options[Federation::medium].time_s.mean, 3.6, 0.01);
  federation.request.level_zero.files = 16.9;
  EXPECT_EQ(federation.place("eco"), "high");
}

TEST(Policies, eco_asks_at_the_threshold_and_not_before) {
  Federation federation;
  const double local_s = federation.decide("eco").options[Federation::home].time_s.mean;
  federation.request.level_zero.files = 20 - local_s;
  EXPECT_EQ(federation.place("eco"), "medium");
  federation.request.level_zero.files = 19.99 - local_s;
  EXPECT_EQ(federation.place("eco"), "");
}

TEST(Policies, a_server_that_reaches_the_threshold_does_not_avoid_it) {
  Federation federation;
  const double there_s = federation.decide("eco").options[Federation::medium].time_s.mean;
  federation.request.level_zero.files = 20 - there_s;
  EXPECT_EQ(federation.place("eco"), "high");
  federation.request.level_zero.files = 19.99 - there_s;
  EXPECT_EQ(federation.place("eco"), "medium");
}

TEST(Policies, the_threshold_may_be_the_slowdown) {
  Federation federation;
  federation.request.level_zero.files = 14.5;
  EXPECT_EQ(federation.place("eco"), "");
  federation.request.level_zero.stall = 18;
  EXPECT_EQ(federation.place("eco"), "medium");
}

TEST(Policies, no_network_is_fast_enough_when_it_is_useless) {
  Federation federation;
  for (Server& server : federation.servers) server.link_bytes_s = 10e6;
  for (const auto& policy : all_policies()) EXPECT_EQ(federation.place(policy), "") << policy;
}

// --- who takes no job ---

struct Unavailable {
  const char* name;
  void (*make)(Server&);
};
const Unavailable unavailable[] = {
    {"dead", [](Server& s) { s.alive = false; }},
    {"draining", [](Server& s) { s.draining = true; }},
    {"without a worker", [](Server& s) { s.address.clear(); }},
    {"with a busy processor", [](Server& s) { s.busy_cores = 3.3; }},
    {"with a busy network", [](Server& s) { s.network_bytes_s = 1.1e9; }},
    {"with no network known", [](Server& s) { s.link_bytes_s = 0; }},
    {"of another minor release", [](Server& s) { s.rocksdb = "7.9.2"; }},
    {"of an unknown release", [](Server& s) { s.rocksdb.clear(); }},
    {"without slots", [](Server& s) { s.slots = 0; }},
};

TEST(Policies, none_chooses_a_server_that_takes_no_job) {
  for (const auto& [name, make] : unavailable) {
    Federation federation;
    make(federation.servers[Federation::medium]);
    for (const auto& policy : all_policies()) EXPECT_NE(federation.place(policy), "medium") << policy << ", " << name;
    EXPECT_EQ(federation.place("eco"), "high") << name;
    EXPECT_EQ(federation.place("static:medium"), "") << name;
    make(federation.servers[Federation::high]);
    for (const auto& policy : all_policies("high")) EXPECT_EQ(federation.place(policy), "") << policy << ", " << name;
  }
}

TEST(Policies, an_other_patch_release_is_no_hindrance) {
  Federation federation;
  federation.servers[Federation::medium].rocksdb = "7.8.1";
  EXPECT_EQ(federation.place("eco"), "medium");
}

TEST(Policies, the_papers_table_has_no_place_for_a_server_whose_slots_are_taken) {
  Federation federation;
  federation.servers[Federation::medium].jobs = 1;
  EXPECT_EQ(federation.place("eco"), "high");
  federation.servers[Federation::medium].slots = 2;
  EXPECT_EQ(federation.place("eco"), "medium");
}

TEST(Policies, a_server_at_the_limit_of_its_load_takes_a_job) {
  Federation federation;
  federation.servers[Federation::medium].busy_cores = 3.2;
  EXPECT_EQ(federation.place("eco"), "medium");
}

// --- unknown values ---

TEST(Policies, none_offloads_from_a_server_that_knows_nothing_of_compactions) {
  Federation federation;
  federation.servers[Federation::home].model = eco::CompactionModel();
  for (const auto& policy : all_policies()) EXPECT_EQ(federation.place(policy), "") << policy;
  EXPECT_EQ(federation.decide("eco").reason, "no compaction has been measured here yet");
  EXPECT_EQ(federation.place("static:high"), "high");
}

TEST(Policies, a_server_that_knows_nothing_is_priced_as_home_and_so_never_chosen) {
  Federation federation;
  federation.servers[Federation::medium].model = eco::CompactionModel();
  const auto options = federation.decide("eco").options;
  EXPECT_GT(options[Federation::medium].time_s.mean, options[Federation::home].time_s.mean);
  EXPECT_GT(options[Federation::medium].energy_j, options[Federation::home].energy_j);
  for (const char* policy : {"edgepilot", "eco", "eco-local", "eco-global"})
    EXPECT_EQ(federation.place(policy), "high") << policy;
}

TEST(Policies, alone_every_compaction_is_local) {
  Federation federation;
  federation.servers.resize(1);
  for (const auto& policy : all_policies("high")) EXPECT_EQ(federation.place(policy), "") << policy;
}

TEST(Policies, each_says_why) {
  for (const auto& policy : all_policies("high"))
    for (const double files : {4.0, 16.1, 18.0, 19.5}) {
      Federation federation;
      federation.request.level_zero.files = files;
      EXPECT_FALSE(federation.decide(policy).reason.empty()) << policy << ", " << files;
    }
  Federation federation;
  federation.request.level_zero.files = 4;
  EXPECT_EQ(federation.decide("eco").reason, "no stall is near: level 0 has 4.0 of 20 files, 8.0 after 4.00 s");
  federation.request.level_zero.stall = 18;
  EXPECT_EQ(federation.decide("eco").reason, "no stall is near: level 0 has 4.0 of 18 files, 8.0 after 4.00 s");
  federation.request.level_zero.files = 16.1, federation.request.level_zero.stall = 0;
  EXPECT_EQ(federation.decide("eco").reason, "medium: a stall is near; the least energy that avoids it");
}

TEST(Policies, each_prices_every_server_in_order) {
  const Federation federation;
  for (const auto& policy : all_policies("high")) {
    const auto options = federation.decide(policy).options;
    ASSERT_EQ(options.size(), 3U) << policy;
    for (std::size_t i = 0; i < 3; ++i) EXPECT_EQ(options[i].server, i) << policy;
  }
}

TEST(Policies, an_offloaded_job_takes_energy_at_both_ends) {
  const Federation federation;
  // 10 J there, 128 MB at 1 nJ/B at both ends, a fifth of 8 J here.
  EXPECT_NEAR(federation.decide("eco").options[Federation::medium].energy_j, 10 + 2 * 0.128 + 1.6, 0.01);
}

TEST(Policies, what_stays_at_home_is_learnt) {
  Federation federation;
  federation.servers[Federation::home].residual = model_of(0.5, 3);
  EXPECT_NEAR(federation.decide("eco").options[Federation::medium].energy_j, 10 + 2 * 0.128 + 3, 0.01);
}

TEST(Policies, others_jobs_are_distinguished_from_a_servers_own) {
  Federation federation;
  const auto medium = [&] { return federation.decide("eco").options[Federation::medium]; };
  const double own_s = medium().time_s.mean, own_j = medium().energy_j;
  Server& server = federation.servers[Federation::medium];
  for (int i = 0; i < 2; ++i) server.guest.learn(federation.request.job, {.compute_s = 3, .energy_j = 15});
  EXPECT_EQ(medium().time_s.mean, own_s) << "two are too few";
  const eco::CompactionModel own = std::exchange(server.model, eco::CompactionModel());
  EXPECT_NEAR(medium().time_s.mean, own_s + 1, 0.01) << "but more than nothing";
  server.model = own;
  server.guest = model_of(3, 15);
  EXPECT_NEAR(medium().time_s.mean, own_s + 1, 0.01);
  EXPECT_NEAR(medium().energy_j, own_j + 5, 0.05);
  const double home_s = federation.decide("eco").options[Federation::home].time_s.mean;
  federation.servers[Federation::home].guest = model_of(9, 90);
  EXPECT_EQ(federation.decide("eco").options[Federation::home].time_s.mean, home_s);
}

TEST(Policies, what_home_adds_to_a_remote_job_counts_in_its_time) {
  Federation federation;
  const auto medium = [&](const char* policy) { return federation.decide(policy).options[Federation::medium]; };
  EXPECT_NEAR(medium("eco").time_s.mean, 2 + 0.1024, 0.01) << "none until it was learnt";
  federation.servers[Federation::home].overhead = model_of(1.5, 0);
  EXPECT_NEAR(medium("eco").time_s.mean, 2 + 0.1024 + 1.5, 0.01);
  federation.servers[Federation::home].overhead = model_of(3.5, 0);
  for (const char* policy : {"edgepilot", "eco", "eco-local", "eco-global"})
    EXPECT_EQ(federation.place(policy), "") << policy << ": no server is faster, none avoids the stall";
}

TEST(Policies, what_home_adds_is_as_uncertain_as_it_was) {
  Federation federation;
  eco::CompactionModel noisy;
  for (int i = 0; i < 400; ++i) noisy.learn(federation.request.job, {.compute_s = i % 2 == 0 ? 0.4 : 1.6});
  const auto deviation = [&] { return federation.decide("eco").options[Federation::medium].time_s.deviation; };
  const double before = deviation();
  federation.servers[Federation::home].overhead = noisy;
  EXPECT_GT(deviation(), before + 0.3);
}

TEST(Policies, what_stays_at_home_costs_more_where_it_is_encrypted) {
  Federation federation;
  federation.request.tls = true;
  EXPECT_NEAR(federation.decide("eco").options[Federation::medium].energy_j, 10 + 2 * 0.128 + 3.2, 0.01);
}

TEST(Policies, what_stays_at_home_is_learnt_apart_where_it_is_encrypted) {
  Federation federation;
  auto& residual = federation.servers[Federation::home].residual;
  for (int i = 1; i <= 40; ++i)
    for (const bool tls : {false, true}) {
      auto job = federation.request.job;
      job.input_bytes = job.input_bytes * static_cast<std::uint64_t>(i) / 20;
      job.input_entries = job.input_entries * static_cast<std::uint64_t>(i) / 20;
      residual.learn(eco::staying(job, tls), {.compute_s = 0.05 * i, .energy_j = (tls ? 0.25 : 0.1) * i});
    }
  EXPECT_NEAR(federation.decide("eco").options[Federation::medium].energy_j, 10 + 2 * 0.128 + 2, 0.05);
  federation.request.tls = true;
  EXPECT_NEAR(federation.decide("eco").options[Federation::medium].energy_j, 10 + 2 * 0.128 + 5, 0.05);
}

TEST(Policies, what_stays_at_home_is_learnt_apart_where_it_goes_by_a_shared_folder) {
  Federation federation;
  auto& residual = federation.servers[Federation::home].residual;
  for (int i = 1; i <= 40; ++i)
    for (const bool shared : {false, true}) {
      auto job = federation.request.job;
      job.input_bytes = job.input_bytes * static_cast<std::uint64_t>(i) / 20;
      job.input_entries = job.input_entries * static_cast<std::uint64_t>(i) / 20;
      residual.learn(eco::staying(job, false, shared), {.compute_s = 0.05 * i, .energy_j = (shared ? 0.05 : 0.1) * i});
    }
  EXPECT_NEAR(federation.decide("eco").options[Federation::medium].energy_j, 10 + 2 * 0.128 + 2, 0.05);
  federation.request.shared = true;
  EXPECT_NEAR(federation.decide("eco").options[Federation::medium].energy_j, 10 + 2 * 0.128 + 1, 0.05);
}

TEST(Policies, a_server_where_nothing_ran_is_priced_by_the_speed_and_watts_of_its_cores) {
  Federation federation;
  auto &home = federation.servers[Federation::home], &medium = federation.servers[Federation::medium];
  medium.model = eco::CompactionModel();
  home.core_speed = 100, medium.core_speed = 400;
  medium.power.busy_core_w = 15;
  const eco::Option there = federation.decide("edgepilot").options[Federation::medium];
  EXPECT_NEAR(there.time_s.mean, 1 + 0.1, 0.02) << "a fourth of home's 4 s, and the network";
  EXPECT_NEAR(there.energy_j, 8.0 / 4 * 3 + 2 * 0.128 + 1.6, 0.02);
  medium.cores = 0.5;  // its speed is that of half a core: half a core's watts
  EXPECT_NEAR(federation.decide("edgepilot").options[Federation::medium].energy_j, 8.0 / 4 * 1.5 + 2 * 0.128 + 1.6,
              0.02);
}

TEST(Policies, have_names) {
  for (const auto& name : all_policies("High-1")) {
    const auto policy = eco::policy_named(name);
    ASSERT_TRUE(policy) << name;
    EXPECT_EQ(eco::name_of(*policy), name);
  }
  for (const char* name : {"", "Eco", "eco:", "eco:High-1", "static", "static:", "ecoplus"})
    EXPECT_FALSE(eco::policy_named(name)) << name;
}

TEST(Policies, releases_are_the_same_by_major_and_minor_number) {
  EXPECT_TRUE(eco::same_release("7.8.3", "7.8"));
  EXPECT_TRUE(eco::same_release("9.10.0", "9.10.1"));
  EXPECT_FALSE(eco::same_release("9.1.0", "9.10.0"));
  EXPECT_FALSE(eco::same_release("7.8.3", "8.8.3"));
  EXPECT_FALSE(eco::same_release("", ""));
}

// --- eco-plus ---

TEST(EcoPlus, stays_where_nothing_is_gained) {
  Federation federation;
  federation.request.level_zero.files = 2, federation.request.level_zero.files_s = 0.1;
  EXPECT_EQ(federation.place("eco-plus"), "");
}

TEST(EcoPlus, goes_where_a_joule_is_saved_although_no_stall_is_near) {
  Federation federation;
  federation.request.level_zero.files = 2, federation.request.level_zero.files_s = 0.1;
  federation.servers[Federation::medium].model = model_of(4, 3);
  EXPECT_EQ(federation.place("eco-plus"), "medium");
}

TEST(EcoPlus, goes_away_for_a_delay_too) {
  Federation federation;
  federation.request.level_zero = {
      .files = 18, .files_s = 1, .slowdown = 18, .stop = 36, .delayed = 0.9, .trigger = 18};
  EXPECT_EQ(federation.place("eco"), "");
  EXPECT_NE(federation.place("eco-plus"), "");
}

TEST(EcoPlus, goes_to_a_faster_server_when_compactions_are_behind) {
  Federation federation;
  federation.request.level_zero = {.files = 8, .files_s = 0.1, .slowdown = 20, .stop = 36, .trigger = 8};
  EXPECT_EQ(federation.place("eco-plus"), "");
  federation.request.level_zero.trigger = 4;
  EXPECT_EQ(federation.place("eco-plus"), "high");
  federation.servers[Federation::high].alive = federation.servers[Federation::medium].alive = false;
  federation.servers.push_back(server_of("frugal", 5, 1));  // slower
  EXPECT_EQ(federation.place("eco-plus"), "");
  federation.request.level_zero.trigger = 8;
  EXPECT_EQ(federation.place("eco-plus"), "frugal");
}

TEST(EcoPlus, goes_away_for_reads_as_far_as_they_weigh) {
  Federation federation;
  federation.request.level_zero = {
      .files = 12, .files_s = 1, .slowdown = 40, .stop = 60, .delayed = 0.5, .trigger = 12};
  auto policy = *eco::policy_named("eco-plus");
  policy.read_weight = 0;
  EXPECT_FALSE(federation.decide(policy).offload);
  policy.read_weight = 5;
  EXPECT_EQ(federation.decide(policy).target, Federation::high);
}

TEST(EcoPlus, waits_for_a_slot_where_that_costs_less) {
  Federation federation;
  federation.servers.pop_back();
  Server& medium = federation.servers[Federation::medium];
  medium.jobs = 1, medium.jobs_s = 0.2;
  EXPECT_EQ(federation.place("eco-plus"), "medium");
  EXPECT_NEAR(federation.decide("eco-plus").options[Federation::medium].time_s.mean, 2 + 0.1024 + 0.2, 0.01);
  medium.jobs_s = 20;
  EXPECT_EQ(federation.place("eco-plus"), "");
}

TEST(EcoPlus, spares_a_battery_that_is_low) {
  Federation federation;
  EXPECT_EQ(federation.place("eco-plus"), "medium");
  federation.servers[Federation::medium].battery = 0.5;
  EXPECT_EQ(federation.place("eco-plus"), "medium");
  federation.servers[Federation::medium].battery = 0.1;
  EXPECT_NE(federation.place("eco-plus"), "medium");
  EXPECT_EQ(federation.place("eco"), "medium");
}

TEST(EcoPlus, goes_away_to_spare_its_own_battery) {
  Federation federation;
  federation.request.level_zero.files = 2, federation.request.level_zero.files_s = 0.1;
  federation.servers[Federation::home].battery = 0.1;
  EXPECT_EQ(federation.place("eco-plus"), "medium");
}

TEST(EcoPlus, goes_away_where_the_application_wants_the_processor) {
  Federation federation;  // 8 J are 1.6 s of a core here
  federation.request.level_zero.files = 2, federation.request.level_zero.files_s = 0.1;
  Server& home = federation.servers[Federation::home];
  home.cores = 1, home.busy_cores = 0.8;
  EXPECT_EQ(federation.place("eco-plus"), "");
  const double idle = federation.decide("eco-plus").options[Federation::home].cost_j;
  home.busy_cores = 1;
  EXPECT_EQ(federation.place("eco-plus"), "medium");
  EXPECT_NEAR(federation.decide("eco-plus").options[Federation::home].cost_j - idle, (20 + 5 * 1.0) * 1.6, 1);
  home.residual = model_of(4, 8);  // no gain: all of it stays
  EXPECT_EQ(federation.place("eco-plus"), "");
  home.busy_cores = 3;
  EXPECT_NEAR(federation.decide("eco-plus").options[Federation::home].cost_j - idle, (20 + 5 * 3.0) * 1.6, 1.5)
      << "no more than all of it";
}

TEST(EcoPlus, prefers_what_is_certain) {
  Federation federation;
  std::mt19937_64 random(1);
  eco::CompactionModel noisy;
  for (int i = 0; i < 400; ++i) {
    const double factor = i % 2 == 0 ? 0.4 : 1.6;
    noisy.learn(federation.request.job, {.compute_s = 2 * factor, .energy_j = 10});
  }
  federation.servers[Federation::medium].model = noisy;
  federation.servers[Federation::high].model = model_of(2.5, 11);
  EXPECT_EQ(federation.place("eco-plus"), "high");
}

// Properties of any choice, in random federations.
struct Dice {
  explicit Dice(std::uint64_t seed) : random(seed) {}
  double between(double low, double high) { return std::uniform_real_distribution<double>(low, high)(random); }
  Federation federation() {
    Federation out;
    const std::size_t servers = 2 + random() % 8;
    out.servers.clear();
    for (std::size_t i = 0; i < servers; ++i) {
      Server server = server_of("", between(0.5, 6), between(2, 30));
      server.name = std::to_string(i);
      server.alive = between(0, 1) < 0.9, server.jobs = between(0, 1) < 0.3,
      server.jobs_s = server.jobs * between(0, 5);
      server.link_bytes_s = between(5e7, 1.25e9), server.energy_weight = between(0.5, 2);
      if (between(0, 1) < 0.2) server.battery = between(0, 1);
      out.servers.push_back(std::move(server));
    }
    out.request.level_zero = {
        .files = between(4, 36), .files_s = between(0, 3), .slowdown = 20, .stop = 36, .delayed = between(0, 1)};
    return out;
  }
  std::mt19937_64 random;
};

constexpr std::uint64_t seed = 20261122;
constexpr int rounds = 1000;

TEST(EcoPlus, takes_the_least_cost_of_the_available) {
  Dice dice(seed);
  for (int round = 0; round < rounds; ++round) {
    const Decision decision = dice.federation().decide("eco-plus");
    const double cost = decision.options[decision.offload ? decision.target : Federation::home].cost_j;
    for (const auto& option : decision.options)
      ASSERT_TRUE(!option.available || cost <= option.cost_j) << "seed " << seed << ", round " << round;
  }
}

TEST(EcoPlus, goes_nowhere_else_when_its_choice_gets_cheaper_or_another_dearer) {
  Dice dice(seed);
  int offloaded = 0;
  for (int round = 0; round < rounds; ++round) {
    Federation federation = dice.federation();
    const Decision before = federation.decide("eco-plus");
    if (!before.offload) continue;
    ++offloaded;
    Federation cheaper = federation;
    cheaper.servers[before.target].energy_weight *= 0.5;
    ASSERT_EQ(cheaper.decide("eco-plus").target, before.target) << "seed " << seed << ", round " << round;
    for (std::size_t i = 1; i < federation.servers.size(); ++i)
      if (i != before.target) federation.servers[i].energy_weight *= 2;
    ASSERT_EQ(federation.decide("eco-plus").target, before.target) << "seed " << seed << ", round " << round;
  }
  EXPECT_GT(offloaded, rounds / 10);
}

TEST(Policies, none_depends_on_the_order_of_servers) {
  Dice dice(seed);
  for (int round = 0; round < rounds; ++round) {
    const Federation federation = dice.federation();
    Federation shuffled = federation;
    std::shuffle(shuffled.servers.begin() + 1, shuffled.servers.end(), dice.random);
    for (const auto& policy : all_policies())
      ASSERT_EQ(federation.place(policy), shuffled.place(policy)) << policy << ", seed " << seed << ", round " << round;
  }
}

// Equations 2 to 4 by definition.
TEST(Policies, eco_is_what_the_equations_say) {
  Dice dice(seed);
  int offloaded = 0;
  for (int round = 0; round < rounds; ++round) {
    const Federation federation = dice.federation();
    const auto& level_zero = federation.request.level_zero;
    const Decision decision = federation.decide("eco");
    const auto full_after = [&](double s) { return level_zero.files + level_zero.files_s * s; };
    std::string expected;
    double least = std::numeric_limits<double>::infinity();
    if (full_after(decision.options[0].time_s.mean) >= level_zero.stop)
      for (std::size_t i = 1; i < federation.servers.size(); ++i) {
        const auto& option = decision.options[i];
        if (federation.servers[i].takes_jobs(0.8) && full_after(option.time_s.mean) < level_zero.stop &&
            option.energy_j < least)
          least = option.energy_j, expected = federation.servers[i].name;
      }
    offloaded += !expected.empty();
    ASSERT_EQ(federation.place("eco"), expected) << "seed " << seed << ", round " << round;
  }
  EXPECT_GT(offloaded, rounds / 20);
}

}  // namespace
