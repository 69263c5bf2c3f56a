#include "node.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "states.h"
#include "temporary_folder.h"

namespace {

using eco::Error, eco::Result, eco::test::request_of, eco::test::state_of;
namespace proto = eco::proto;

// A federation in which the test is the master.
class FakeFederation final : public eco::Federation {
 public:
  void join(eco::Member&) override {}
  void beat(const proto::ServerState& state) override { last_beat = state; }
  [[nodiscard]] Standing standing() const override { return own; }
  [[nodiscard]] Result<proto::Placement> place(const proto::PlaceRequest& request, double) override {
    ++asked;
    last_request = request;
    if (!answers) return Error{"the master did not answer in time"};
    return answer;
  }
  [[nodiscard]] Result<> report(const proto::JobReport& report) override {
    if (!answers) return Error{"the master did not answer in time"};
    reports.push_back(report.job());
    return eco::Done{};
  }
  [[nodiscard]] Result<proto::Settings> change(const proto::Settings& wanted) override {
    if (!answers) return Error{"NATS is not connected"};
    if (wanted.revision() < kept.revision()) return Error{"somebody else was faster"};
    kept = wanted;
    kept.set_revision(wanted.revision() + 1);
    return kept;
  }
  [[nodiscard]] Result<proto::Settings> settings() override {
    if (!answers) return Error{"NATS is not connected"};
    return kept;
  }
  void leave() override {}

  Standing own;
  bool answers = true;
  int asked = 0;
  proto::Placement answer;
  proto::PlaceRequest last_request;
  proto::ServerState last_beat;
  proto::Settings kept;
  std::vector<std::string> reports;
};

class NodeTest : public testing::Test {
 protected:
  void SetUp() override { make("eco"); }

  void make(const std::string& policy, bool shadow = false) {
    node.reset();
    state = std::make_unique<eco::StateFile>(folder.path());
    auto config = eco::parse_config("name = \"home\"\n[policy]\nname = \"" + policy + "\"\n", "test");
    config.policy.shadow = shadow;
    node = std::make_unique<eco::Node>(config, federation, *state, [this] { return now_s; });
    for (int i = 1; i <= 40; ++i) {
      const double size = 0.1 * (1 + i % 20);
      node->learn({static_cast<std::uint64_t>(size * 64e6), static_cast<std::uint64_t>(size * 64e3), "Snappy"},
                  {size * 4, size * 8});
    }
    node->beat(telemetry());
    federation.answer.set_offload(true);
    federation.answer.set_server("medium");
    federation.answer.set_decided_by("master");
    federation.answer.set_epoch(7);
  }

  static eco::Telemetry telemetry() {
    eco::Telemetry now;
    now.cores = 4, now.busy_cores = 1, now.link_bytes_s = 1.25e9, now.network_bytes_s = 0;
    now.power = {.busy_core_w = 5, .idle_w = 20, .transfer_j_per_byte = 1e-9};
    return now;
  }

  proto::Table table(std::uint64_t epoch, std::uint64_t beat = 1) {
    proto::Table table;
    table.set_master("master");
    table.set_epoch(epoch);
    *table.mutable_policy() = message_of(*eco::policy_named("eco"), false);
    *table.mutable_settings() = federation.kept;
    *table.add_servers() = state_of("medium", 2, 10, beat);
    *table.add_servers() = state_of("high", 1, 16, beat);
    table.set_has_servers(true);
    return table;
  }

  proto::ServerLine line_of(const std::string& name) {
    const auto view = node->view();
    const auto line = std::ranges::find(view.servers(), name, [](const auto& each) { return each.state().name(); });
    return line == view.servers().end() ? proto::ServerLine() : *line;
  }

  proto::Placement place() { return node->place(request_of("someone"), 0.05); }

  eco::test::TemporaryFolder folder;
  FakeFederation federation;
  double now_s = 100;
  std::unique_ptr<eco::StateFile> state;
  std::unique_ptr<eco::Node> node;
};

TEST_F(NodeTest, asks_the_master_in_its_own_name) {
  ASSERT_TRUE(node->heard_table(table(7)));
  EXPECT_EQ(place().server(), "medium");
  EXPECT_EQ(federation.last_request.server(), "home");
  EXPECT_EQ(place().decided_by(), "master");
}

TEST_F(NodeTest, asks_nobody_where_its_own_model_sees_no_stall) {
  ASSERT_TRUE(node->heard_table(table(7)));
  auto calm = request_of("home");
  calm.mutable_level_zero()->set_files(2);
  EXPECT_FALSE(node->place(calm, 0.05).offload());
  EXPECT_EQ(federation.asked, 0);
}

TEST_F(NodeTest, decides_with_the_last_table_when_the_master_does_not_answer) {
  ASSERT_TRUE(node->heard_table(table(7)));
  federation.answers = false;
  const auto placement = place();
  EXPECT_EQ(placement.server(), "medium");
  EXPECT_EQ(placement.decided_by(), "home (without the master)");
  EXPECT_EQ(placement.epoch(), 7U);
  (void)place();
  EXPECT_EQ(federation.asked, 1) << "one that is silent is not waited for again";
  ASSERT_TRUE(node->heard_table(table(7, 2)));
  (void)place();
  EXPECT_EQ(federation.asked, 2) << "until its message arrives";
}

TEST_F(NodeTest, a_master_that_fell_silent_is_not_asked) {
  ASSERT_TRUE(node->heard_table(table(7)));
  now_s += 5;
  EXPECT_EQ(place().decided_by(), "home (without the master)");
  EXPECT_EQ(federation.asked, 0);
}

TEST_F(NodeTest, a_server_that_is_gone_from_the_masters_table_is_shown_as_such_and_gets_no_jobs) {
  const auto alive = [&](const std::string& name) {
    const auto view = node->view();
    const auto line = std::ranges::find(view.servers(), name, [](const auto& each) { return each.state().name(); });
    return line != view.servers().end() && line->alive();
  };
  ASSERT_TRUE(node->heard_table(table(7)));
  EXPECT_TRUE(alive("medium") && alive("high"));
  for (std::uint64_t beat = 2; beat <= 6; ++beat) {
    now_s += 1;
    auto without = table(7, beat);
    without.mutable_servers()->DeleteSubrange(0, 1);
    ASSERT_TRUE(node->heard_table(without));
  }
  EXPECT_FALSE(alive("medium"));
  EXPECT_TRUE(alive("high"));
  federation.answers = false;
  EXPECT_EQ(place().server(), "high") << "without the master";
  now_s += 14;
  EXPECT_TRUE(alive("high")) << "what the last table shows holds as long as the table";
  EXPECT_FALSE(alive("medium"));
  now_s += 5;
  EXPECT_FALSE(alive("high"));
}

TEST_F(NodeTest, a_server_that_said_goodbye_is_shown_so_at_the_master_and_at_the_others) {
  federation.own = {.master = true, .epoch = 3};
  node->heard_server(state_of("medium", 2, 10));
  node->heard_gone("medium");
  now_s += 7;
  const std::string left = "left 7 s ago";
  EXPECT_EQ(line_of("medium").why_not(), left);
  EXPECT_FALSE(line_of("medium").alive());
  EXPECT_LT(line_of("medium").state().age_s(), 100) << "since its last message";
  const auto published = node->table(true);

  federation.own = {};
  make("eco");
  auto first = table(3);
  ASSERT_TRUE(node->heard_table(first));
  EXPECT_TRUE(line_of("medium").alive());
  first.mutable_servers()->CopyFrom(published.servers());
  ASSERT_TRUE(node->heard_table(first));
  EXPECT_EQ(line_of("medium").why_not(), left);
  ASSERT_TRUE(node->heard_table(table(3, 2)));
  EXPECT_TRUE(line_of("medium").alive()) << "it is back";
}

TEST_F(NodeTest, two_servers_of_one_name_are_shown_and_get_no_jobs) {
  federation.own = {.master = true, .epoch = 3};
  auto one = state_of("medium", 2, 10), other = one;
  one.set_instance("one"), other.set_instance("other"), other.set_address("127.0.0.1:2");
  node->heard_server(one);
  node->heard_server(other);
  EXPECT_EQ(place().server(), "medium") << "a server that began again, so far";
  one.set_beat(2), other.set_beat(2);
  node->heard_server(one);
  EXPECT_EQ(line_of("medium").why_not(),
            "two servers have this name (127.0.0.1:1 and 127.0.0.1:2): they get no jobs until one is renamed");
  EXPECT_FALSE(place().offload());
  const auto published = node->table(true);

  federation.own = {};
  make("eco");
  auto first = table(3);
  first.mutable_servers()->CopyFrom(published.servers());
  ASSERT_TRUE(node->heard_table(first));
  EXPECT_NE(line_of("medium").why_not().find("two servers have this name"), std::string::npos) << "at the others, too";
}

TEST_F(NodeTest, a_server_hears_that_another_has_its_name) {
  federation.own = {.master = true, .epoch = 3};
  auto namesake = state_of("home", 2, 10);
  namesake.set_instance("before"), namesake.set_address("127.0.0.1:9");
  node->heard_server(namesake);
  EXPECT_EQ(line_of("home").state().twin_address(), "") << "its own beat of before a restart, perhaps";
  namesake.set_beat(2);
  node->heard_server(namesake);
  EXPECT_EQ(line_of("home").state().twin_address(), "127.0.0.1:9");
  now_s += 31;
  node->beat(telemetry());
  EXPECT_EQ(line_of("home").state().twin_address(), "") << "the other has ended";
}

TEST_F(NodeTest, compacts_locally_once_the_last_table_is_too_old) {
  ASSERT_TRUE(node->heard_table(table(7)));
  now_s += 15.5;
  const auto placement = place();
  EXPECT_FALSE(placement.offload());
  EXPECT_EQ(placement.reason(), "no known master, and no server table from the last 15 s");
}

TEST_F(NodeTest, compacts_locally_where_no_master_was_ever_heard_of) { EXPECT_FALSE(place().offload()); }

TEST_F(NodeTest, refuses_what_a_deposed_master_still_says) {
  ASSERT_TRUE(node->heard_table(table(7)));
  ASSERT_TRUE(node->heard_table(table(9, 2)));
  EXPECT_FALSE(node->heard_table(table(7, 3)));
  federation.answer.set_server("high");  // in epoch 7
  const auto placement = place();
  EXPECT_EQ(placement.server(), "medium");
  EXPECT_EQ(placement.decided_by(), "home (without the master)");
  EXPECT_EQ(node->counts().stale_refused, 2U);
}

TEST_F(NodeTest, as_the_master_decides_for_the_others_and_else_does_not) {
  EXPECT_FALSE(node->place_for(request_of("medium")));
  federation.own = {.master = true, .epoch = 3};
  node->heard_server(state_of("medium", 2, 10));
  node->heard_server(state_of("high", 1, 16));
  auto request = request_of("medium");
  request.mutable_level_zero()->set_files(18.5);
  const auto placement = node->place_for(request);
  ASSERT_TRUE(placement);
  EXPECT_EQ(placement->server(), "high");
  EXPECT_EQ(placement->epoch(), 3U);
  EXPECT_EQ(placement->decided_by(), "home");
}

TEST_F(NodeTest, a_deposed_master_decides_for_itself_with_its_own_last_table) {
  federation.own = {.master = true, .epoch = 3};
  node->heard_server(state_of("medium", 2, 10));
  node->beat(telemetry());
  federation.own = {.master = false, .epoch = 0};
  federation.answers = false;
  const auto placement = place();
  EXPECT_EQ(placement.server(), "medium");
  EXPECT_EQ(placement.decided_by(), "home (without the master)");
  EXPECT_EQ(federation.asked, 0) << "nobody but itself was the master";
  EXPECT_EQ(node->view().master(), "");
}

TEST_F(NodeTest, the_kill_switch_returns_to_local_at_once_for_itself_and_as_the_master) {
  federation.own = {.master = true, .epoch = 3};
  node->heard_server(state_of("medium", 2, 10));
  EXPECT_TRUE(place().offload());
  ASSERT_TRUE(node->kill(true));
  EXPECT_FALSE(place().offload());
  EXPECT_EQ(place().reason(), "the kill switch is on");
  EXPECT_FALSE(node->place_for(request_of("medium"))->offload());
  ASSERT_TRUE(node->kill(false));
  EXPECT_TRUE(place().offload());
}

TEST_F(NodeTest, the_kill_switch_reaches_a_server_with_the_settings) {
  ASSERT_TRUE(node->heard_table(table(7)));
  federation.kept.set_revision(5);
  federation.kept.set_local_only(true);
  node->heard_settings(federation.kept);
  EXPECT_FALSE(place().offload());
  proto::Settings older;
  older.set_revision(4);
  node->heard_settings(older);
  EXPECT_FALSE(place().offload()) << "older settings change nothing";
}

TEST_F(NodeTest, a_kill_after_the_federation_lost_its_settings_is_newer_than_what_any_server_has_heard) {
  federation.kept.set_revision(5);
  node->heard_settings(federation.kept);
  auto medium = state_of("medium", 2, 10);
  medium.set_settings_revision(8);
  node->heard_server(medium);
  federation.kept.Clear();
  ASSERT_TRUE(node->kill(true));
  EXPECT_EQ(federation.kept.revision(), 9);
  EXPECT_TRUE(federation.kept.local_only());
  EXPECT_FALSE(place().offload());
}

TEST_F(NodeTest, of_two_settings_of_one_revision_the_kill_switch_holds) {
  proto::Settings off, on;
  off.set_revision(5), on.set_revision(5);
  on.set_local_only(true);
  node->heard_settings(off);
  node->heard_settings(on);
  EXPECT_TRUE(node->settings().local_only());
  node->heard_settings(off);
  EXPECT_TRUE(node->settings().local_only());
}

TEST_F(NodeTest, a_kill_switch_that_the_others_cannot_hear_holds_here_and_over_a_restart) {
  ASSERT_TRUE(node->heard_table(table(7)));
  node->beat(telemetry());
  federation.answers = false;
  const auto killed = node->kill(true);
  ASSERT_FALSE(killed);
  const auto view = node->view();
  const auto own = std::ranges::find(view.servers(), "home", [](const auto& line) { return line.state().name(); });
  ASSERT_NE(own, view.servers().end());
  EXPECT_TRUE(own->state().local_only() && own->state().local_only_here()) << "before the next beat";
  EXPECT_EQ(killed.error(),
            "home compacts for itself now, but the other servers were unreachable: NATS is not connected. Repeat "
            "`ecoctl kill` "
            "when they are reachable, or run `ecoctl resume` on home");
  node->beat(telemetry());
  EXPECT_TRUE(federation.last_beat.local_only_here()) << "the others show it";
  EXPECT_FALSE(place().offload());
  make("eco");
  ASSERT_TRUE(node->heard_table(table(7)));
  EXPECT_EQ(place().reason(), "the kill switch is on");
  federation.answers = true;
  ASSERT_TRUE(node->kill(false));
  EXPECT_TRUE(place().offload());
}

TEST_F(NodeTest, shadow_mode_decides_and_says_so) {
  make("eco", true);
  federation.own = {.master = true, .epoch = 3};
  node->heard_server(state_of("medium", 2, 10));
  const auto placement = place();
  EXPECT_TRUE(placement.offload());
  EXPECT_TRUE(placement.shadow());
  EXPECT_EQ(node->counts().offloads, 0U) << "nothing was offloaded";
}

TEST_F(NodeTest, the_operators_policy_goes_before_the_configured_one) {
  federation.own = {.master = true, .epoch = 3};
  node->heard_server(state_of("medium", 2, 10));
  node->heard_server(state_of("high", 1, 16));
  EXPECT_EQ(place().server(), "medium");
  proto::PolicyRequest request;
  request.set_policy("edgepilot");
  ASSERT_TRUE(node->set_policy(request));
  EXPECT_EQ(place().server(), "high");
  request.set_policy("configured");
  ASSERT_TRUE(node->set_policy(request));
  EXPECT_EQ(place().server(), "medium");
  request.set_policy("ecco");
  EXPECT_FALSE(node->set_policy(request));
}

TEST_F(NodeTest, a_policy_names_a_server_that_exists) {
  federation.own = {.master = true, .epoch = 3};
  node->heard_server(state_of("medium", 2, 10));
  proto::PolicyRequest request;
  request.set_policy("static:nobody");
  EXPECT_EQ(node->set_policy(request).error(), "no server is named nobody");
  request.set_policy("static:medium");
  ASSERT_TRUE(node->set_policy(request));
  EXPECT_EQ(place().server(), "medium");
  make("static:nobody");
  EXPECT_EQ(place().reason(), "no server is named nobody") << "from the configuration";
}

TEST_F(NodeTest, draining_takes_a_server_that_exists) {
  federation.own = {.master = true, .epoch = 3};
  node->heard_server(state_of("medium", 2, 10));
  proto::DrainRequest request;
  request.set_server("mediun");
  request.set_drain(true);
  EXPECT_EQ(node->drain(request).error(), "no server is named mediun");
  request.set_server("medium");
  ASSERT_TRUE(node->drain(request));
  EXPECT_FALSE(place().offload());
}

TEST_F(NodeTest, learns_from_reports_of_local_jobs_and_keeps_it_over_a_restart) {
  state = std::make_unique<eco::StateFile>(folder.path());
  auto config = eco::parse_config("name = \"home\"\n[power]\nbusy_core_w = 4\nidle_w = 1\nrapl = false\n", "test");
  for (const bool restarted : {false, true}) {
    if (restarted) state = std::make_unique<eco::StateFile>(folder.path());
    eco::Node fresh(config, federation, *state, [this] { return now_s; });
    if (!restarted) {
      EXPECT_EQ(fresh.predict_guest(request_of("home").features()).observations, 0);
      for (int i = 0; i < 20; ++i) {
        proto::JobReport report;
        report.set_job(std::to_string(i));
        *report.mutable_features() = request_of("home").features();
        report.set_outcome("local");
        report.set_wall_s(3), report.set_compute_s(3), report.set_cpu_s(2);
        fresh.report(report);
      }
      ASSERT_TRUE(fresh.save());
    }
    const auto prediction = fresh.predict_guest(request_of("home").features());
    EXPECT_NEAR(prediction.compute_s.mean, 3, 0.1);
    EXPECT_NEAR(prediction.energy_j.mean, 8, 0.3) << "CPU seconds by the watts of a core";
  }
}

TEST_F(NodeTest, distinguishes_others_jobs_from_its_own) {
  const eco::Job job = eco::job_of(request_of("home").features());
  for (int i = 0; i < 5; ++i) node->learn_guest(job, {.compute_s = 9, .energy_j = 18});
  EXPECT_NEAR(node->predict_guest(request_of("home").features()).compute_s.mean, 9, 0.1);
  ASSERT_TRUE(node->save());
  make("eco");
  EXPECT_NEAR(node->predict_guest(request_of("home").features()).compute_s.mean, 9, 0.1) << "after a restart";
  const auto view = node->view();
  const auto own = eco::server_of(view.servers(0).state());
  EXPECT_NEAR(own.guest.predict(job).energy_j.mean, 18, 0.2);
  EXPECT_NEAR(own.model.predict(job).energy_j.mean, 8, 0.1);
}

TEST_F(NodeTest, forgets_others_jobs_when_it_had_none_for_long) {
  const auto features = request_of("home").features();
  const auto reported_s = [&] {
    node->beat(telemetry());
    return node->predict_guest(features).compute_s.mean;
  };
  const double own_s = reported_s();
  for (int i = 0; i < 5; ++i) node->learn_guest(eco::job_of(features), {.compute_s = 90, .energy_j = 180});
  now_s += eco::guest_memory_s - 1;
  EXPECT_GT(reported_s(), 80);
  node->learn_guest(eco::job_of(features), {.compute_s = 90, .energy_j = 180});
  now_s += eco::guest_memory_s - 1;
  EXPECT_GT(reported_s(), 80) << "since the last of them";
  now_s += 2;
  EXPECT_EQ(reported_s(), own_s);
}

TEST_F(NodeTest, shows_why_an_application_keeps_a_job) {
  proto::JobReport report;
  report.set_job("job-1"), report.set_kept("its merge operator Mine is code of the application");
  *report.mutable_features() = request_of("home").features();
  node->report(report);
  report.clear_kept();
  report.set_outcome("local"), report.set_wall_s(3);
  node->report(report);
  const auto last = node->decisions().last(1).at(0);
  EXPECT_FALSE(last.placement().offload());
  EXPECT_EQ(last.placement().reason(),
            "the application does not offload it: its merge operator Mine is code of the application");
  EXPECT_EQ(last.outcome(), "local");
  EXPECT_EQ(last.request().features().input_bytes(), report.features().input_bytes());
}

TEST_F(NodeTest, learns_from_reports_of_remote_jobs_what_it_adds_to_them) {
  ASSERT_TRUE(node->heard_table(table(7)));
  const auto own = [&] {
    const auto view = node->view();
    return eco::server_of(
        std::ranges::find(view.servers(), "home", [](const auto& line) { return line.state().name(); })->state());
  };
  proto::JobReport report;
  *report.mutable_features() = request_of("home").features();
  report.set_server("medium"), report.set_outcome("installed");
  report.set_wall_s(3), report.set_compute_s(2), report.set_home_cpu_s(0.4);
  report.set_bytes_moved(125'000'000);  // 0.1 s of 10 Gbit/s
  for (int i = 0; i < 10; ++i) {
    report.set_job(std::to_string(i));
    node->report(report);
  }
  report.set_outcome("fell back: it is slow"), report.set_home_cpu_s(9);
  node->report(report);
  node->beat(telemetry());
  const eco::Job job = eco::job_of(report.features());
  EXPECT_NEAR(own().overhead.predict(job).compute_s.mean, 0.9, 0.01);
  EXPECT_NEAR(own().residual.predict(job).compute_s.mean, 0.4, 0.01);
  EXPECT_NEAR(own().residual.predict(job).energy_j.mean, 2, 0.01);
  ASSERT_TRUE(node->save());
  make("eco");
  EXPECT_NEAR(own().overhead.predict(job).compute_s.mean, 0.9, 0.01) << "after a restart";
  EXPECT_NEAR(own().residual.predict(job).energy_j.mean, 2, 0.01) << "after a restart";
}

TEST_F(NodeTest, learns_apart_what_stays_here_of_jobs_whose_bytes_are_encrypted) {
  federation.own = {.master = true, .epoch = 8};
  const auto residual = [&] {
    node->beat(telemetry());
    const auto view = node->view();
    for (const auto& line : view.servers())
      if (line.state().name() == "home") return eco::server_of(line.state()).residual;
    return eco::CompactionModel();
  };
  EXPECT_EQ(residual().predict(eco::job_of(request_of("home").features())).observations, 0);
  for (int i = 1; i <= 20; ++i) {
    proto::JobReport report;
    report.set_job("job " + std::to_string(i)), report.set_server("medium"), report.set_outcome("installed");
    report.mutable_features()->set_input_bytes(static_cast<std::uint64_t>(i) * 6'400'000);
    report.mutable_features()->set_input_entries(static_cast<std::uint64_t>(i) * 6'400);
    report.mutable_features()->set_codec("Snappy");
    report.set_wall_s(0.2 * i), report.set_compute_s(0.1 * i), report.set_home_cpu_s(0.02 * i), report.set_tls(true);
    node->report(report);
  }
  const eco::Job job = eco::job_of(request_of("home").features());
  const auto stays = residual().predict(eco::staying(job, true));
  EXPECT_NEAR(stays.compute_s.mean, 0.2, 0.01);
  EXPECT_NEAR(stays.energy_j.mean, 0.2 * telemetry().power.busy_core_w, 0.1);
  ASSERT_TRUE(node->save());
  make("eco");
  EXPECT_NEAR(residual().predict(eco::staying(job, true)).compute_s.mean, 0.2, 0.01);
}

TEST_F(NodeTest, reports_of_remote_jobs_reach_the_master_when_it_is_back) {
  ASSERT_TRUE(node->heard_table(table(7)));
  federation.answers = false;
  proto::JobReport report;
  report.set_job("a"), report.set_server("medium"), report.set_outcome("installed");
  node->report(report);
  EXPECT_TRUE(federation.reports.empty());
  federation.answers = true;
  node->beat({});
  EXPECT_EQ(federation.reports, std::vector<std::string>{"a"});
}

TEST_F(NodeTest, what_it_expected_is_logged_where_it_asks_nobody) {
  make("local");
  (void)place();
  const auto last = node->decisions().last(1);
  ASSERT_EQ(last.size(), 1U);
  ASSERT_EQ(last[0].options_size(), 1);
  EXPECT_EQ(last[0].options(0).server(), "home");
  EXPECT_NEAR(last[0].options(0).time_s(), 4, 0.1);
  EXPECT_TRUE(last[0].options(0).stalls());
}

// A report of a job that wasted `wasted_s`, or had another outcome.
proto::JobReport ended(const std::string& server, const std::string& outcome, double wasted_s = 0,
                       bool cancelled = false) {
  proto::JobReport report;
  report.set_job("job"), report.set_server(server), report.set_outcome(outcome);
  report.set_wasted_s(wasted_s), report.set_cancelled(cancelled);
  return report;
}

TEST_F(NodeTest, asks_for_another_server_than_one_where_a_job_failed_until_its_pause_is_over) {
  ASSERT_TRUE(node->heard_table(table(7)));
  node->report(ended("medium", "fell back: no answer from the worker for 1.0 s", 1));
  (void)place();
  ASSERT_EQ(federation.last_request.avoid_size(), 1);
  EXPECT_EQ(federation.last_request.avoid(0), "medium");
  now_s += 20.5;
  ASSERT_TRUE(node->heard_table(table(7, 2)));
  (void)place();
  EXPECT_EQ(federation.last_request.avoid_size(), 0) << "one job tries it";
  (void)place();
  EXPECT_EQ(federation.last_request.avoid_size(), 1) << "and others keep away meanwhile";
  node->report(ended("medium", "installed"));
  (void)place();
  EXPECT_EQ(federation.last_request.avoid_size(), 0);
}

TEST_F(NodeTest, asks_for_none_where_jobs_failed_at_one_server_after_the_other) {
  ASSERT_TRUE(node->heard_table(table(7)));
  node->report(ended("medium", "fell back: no answer from the worker for 1.0 s", 1));
  node->report(ended("high", "fell back: no answer from the worker for 1.0 s", 1));
  EXPECT_FALSE(place().offload());
  EXPECT_TRUE(place().reason().starts_with("jobs failed at several workers in a row: offloading pauses for 20 s"));
}

TEST_F(NodeTest, blames_no_server_for_a_job_that_its_application_gave_up) {
  ASSERT_TRUE(node->heard_table(table(7)));
  node->report(ended("medium", "fell back: a database closes", 1, true));
  (void)place();
  EXPECT_EQ(federation.last_request.avoid_size(), 0);
}

TEST_F(NodeTest, blames_no_server_for_a_job_whose_options_it_cannot_have) {
  ASSERT_TRUE(node->heard_table(table(7)));
  auto refused = ended("medium", "fell back: the worker: Not implemented: merge operator Own is not known here", 1);
  refused.set_job_refused(true);
  node->report(refused);
  (void)place();
  EXPECT_EQ(federation.last_request.avoid_size(), 0);
}

TEST_F(NodeTest, keeps_a_job_from_the_servers_that_refused_jobs_of_its_database) {
  ASSERT_TRUE(node->heard_table(table(7)));
  federation.answer.set_offload(false);
  federation.answer.set_reason("no available server is faster");
  auto request = request_of("home");
  request.add_avoid("medium");
  EXPECT_EQ(node->place(request, 0.05).reason(), "no available server is faster; medium refused jobs of this database");
  EXPECT_EQ(federation.last_request.avoid_size(), 1);
}

TEST_F(NodeTest, says_which_server_is_left_alone_and_for_how_long) {
  ASSERT_TRUE(node->heard_table(table(7)));
  node->report(ended("medium", "fell back: no answer from the worker for 1.0 s", 1));
  federation.answer.set_offload(false);
  federation.answer.set_reason("medium takes no job");
  EXPECT_EQ(place().reason(), "medium takes no job; medium gets no jobs for 20 s: 1 jobs failed there in a row");
}

TEST_F(NodeTest, a_report_joins_its_decision_in_the_log) {
  ASSERT_TRUE(node->heard_table(table(7)));
  (void)place();
  proto::JobReport report;
  report.set_job("job"), report.set_server("medium"), report.set_outcome("fell back: the worker was lost");
  report.set_wall_s(5), report.set_compute_s(3), report.set_cpu_s(2), report.set_home_cpu_s(1);
  report.set_bytes_moved(7), report.set_energy_j(11);
  node->report(report);
  const auto log = node->decisions().last(10);
  ASSERT_EQ(log.size(), 1U);
  EXPECT_EQ(log[0].outcome(), "fell back: the worker was lost");
  EXPECT_EQ(log[0].wall_s(), 5);
  EXPECT_EQ(log[0].compute_s(), 3);
  EXPECT_EQ(log[0].cpu_s(), 2);
  EXPECT_EQ(log[0].home_cpu_s(), 1);
  EXPECT_EQ(log[0].bytes_moved(), 7U);
  EXPECT_EQ(log[0].energy_j(), 11);
  EXPECT_EQ(log[0].placement().token(), "") << "tokens are not shown";
  EXPECT_EQ(node->counts().fell_back, 1U);
}

TEST_F(NodeTest, a_state_file_that_is_none_stops_the_start) {
  folder.write("state", "no protobuf \xff\xff\xff");
  EXPECT_THROW(eco::StateFile(folder.path()), std::runtime_error);
}

}  // namespace
