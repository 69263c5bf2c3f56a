// An application with a database, its server's ecod, and the ecod of the server that runs its compactions.
#include <fmt/format.h>
#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <rocksdb/db.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "compat.h"
#include "eco.h"
#include "processes.h"

namespace {

using namespace eco::test;

class Offload : public testing::Test {
 protected:
  void SetUp() override { begin(""); }

  // shared_directory: the application's; empty: none.
  void begin(const std::string& shared_directory) {
    home.start(), other.start();
    ASSERT_TRUE(eventually([&] {
      const auto view = home.view();
      return view.servers_size() == 2 && view.servers(0).alive() && view.servers(1).takes_jobs();
    }));
    ASSERT_TRUE(home.set_policy("static:b").ok());

    rocksdb::Options options;
    options.create_if_missing = true;
    options.write_buffer_size = 256 << 10;
    options.level0_file_num_compaction_trigger = 2;
    options.compression = rocksdb::kNoCompression;
    service = eco::attach(options, {.placer = std::make_shared<eco::NodePlacer>("unix:" + home.node_socket(), 2000),
                                    .shared_directory = shared_directory});
    eco::Opened opened{};
    const auto status = rocksdb::DB::Open(options, folder / "db", &opened);
    ASSERT_TRUE(status.ok()) << status.ToString();
    db = std::unique_ptr<rocksdb::DB>(std::move(opened));
  }
  void TearDown() override {
    db.reset();
    if (HasFailure()) std::cerr << "--- a\n" << home.process().log() << "--- b\n" << other.process().log();
  }

  // Writes, and so compacts level 0, until the condition holds.
  bool writing_until(const std::function<bool()>& holds) {
    return eventually([&] {
      for (int i = 0; i < 400; ++i, ++written)
        if (!db->Put({}, key(written), std::string(1000, 'v')).ok()) return false;
      return holds();
    });
  }
  std::size_t decisions_with(const std::string& outcome) {
    const auto log = home.decisions();
    return static_cast<std::size_t>(std::ranges::count(log, outcome, [](const auto& d) { return d.outcome(); }));
  }

  static std::string key(int i) { return fmt::format("{:08}", i * 7919 % 100000); }

  int port = free_ports(1)[0], written = 0;
  TemporaryFolder folder;
  Ecod home{"a", fmt::format("mode = \"master\"\nlisten = \"127.0.0.1:{}\"\n", port)};
  Ecod other{"b", fmt::format("mode = \"member\"\nmaster = \"127.0.0.1:{}\"\n", port),
             fmt::format("[worker.shared_directory]\n\"{}\" = \"{}\"\n", folder.path().string(), folder / "seen")};
  std::shared_ptr<eco::CompactionService> service;
  std::unique_ptr<rocksdb::DB> db;
};

TEST_F(Offload, compactions_run_where_the_master_places_them_and_are_learnt_there) {
  EXPECT_TRUE(writing_until([&] { return service->statistics().installed >= 3; })) << service->statistics().last_reason;
  EXPECT_TRUE(eventually([&] { return decisions_with("installed") >= 3; })) << "the reports join the decisions";
  EXPECT_TRUE(eventually([&] {
    const auto view = home.view();
    return std::ranges::any_of(view.servers(), [](const auto& line) {
      return line.state().name() == "b" && line.state().guest_size() > 0 &&
             line.state().guest(0).compute().observations() >= 3;
    });
  })) << "b tells what it has learnt";
  EXPECT_TRUE(eventually([&] {
    const auto view = home.view();
    return std::ranges::all_of(view.servers(), [](const auto& line) { return line.placed() == 0; });
  })) << "nothing that has ended counts as placed";
}

TEST_F(Offload, a_job_that_its_application_keeps_is_shown_with_the_reason) {
  service->offload(false);
  const std::string reason = "the application does not offload it: offloading is switched off";
  EXPECT_TRUE(writing_until([&] {
    return std::ranges::any_of(home.decisions(), [&](const auto& decision) {
      return decision.placement().reason() == reason && decision.outcome() == "local";
    });
  })) << service->statistics().last_reason;
  EXPECT_NE(home.ecoctl(ECOCTL_PROGRAM, {"decisions"}).first.find(reason), std::string::npos);
}

TEST_F(Offload, after_the_kill_switch_every_compaction_stays_at_home) {
  EXPECT_TRUE(writing_until([&] { return service->statistics().installed >= 1; })) << service->statistics().last_reason;
  ASSERT_TRUE(home.kill(true).ok());
  EXPECT_TRUE(writing_until([&] { return service->statistics().last_reason == "the kill switch is on"; }));
  // Jobs begun before may still end there; no later one begins.
  const auto asked = service->statistics();
  EXPECT_TRUE(writing_until([&] { return service->statistics().kept >= asked.kept + 3; }));
  EXPECT_LE(service->statistics().installed, asked.installed + 1);
}

TEST_F(Offload, without_its_ecod_a_database_compacts_itself) {
  EXPECT_TRUE(writing_until([&] { return service->statistics().installed >= 1; })) << service->statistics().last_reason;
  home.process().signal(SIGKILL);
  (void)home.process().wait();
  const auto kept = service->statistics().kept;
  EXPECT_TRUE(writing_until([&] { return service->statistics().kept >= kept + 3; }));
  EXPECT_EQ(service->statistics().last_reason.find("no ecod answers"), 0U) << service->statistics().last_reason;
}

// The other server beats, but its worker's address is a port that accepts and never answers.
class BlackHole : public Offload {
 protected:
  void SetUp() override {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t length = sizeof address;
    ASSERT_EQ(bind(silent, reinterpret_cast<sockaddr*>(&address), length), 0);
    ASSERT_EQ(listen(silent, 100), 0);
    ASSERT_EQ(getsockname(silent, reinterpret_cast<sockaddr*>(&address), &length), 0);
    std::ifstream in(other.file());
    const std::string text{std::istreambuf_iterator<char>(in), {}};
    const auto worker = text.find("[worker]\n") + 9;
    other.folder().write("ecod.toml", text.substr(0, worker) +
                                          fmt::format("address = \"127.0.0.1:{}\"\n", ntohs(address.sin_port)) +
                                          text.substr(worker));
    begin("");
  }
  void TearDown() override {
    close(silent);
    Offload::TearDown();
  }

  int silent = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
};

TEST_F(BlackHole, is_tried_once_and_then_left_alone_while_compactions_go_on_here) {
  ASSERT_TRUE(writing_until([&] { return service->statistics().fell_back >= 1; }));
  const auto kept = service->statistics().kept;
  EXPECT_TRUE(writing_until([&] { return service->statistics().kept >= kept + 10; }));
  EXPECT_EQ(service->statistics().fell_back, 1U) << "it gets no jobs for twenty times as long as it cost";
  const std::string reason = service->statistics().last_reason;
  EXPECT_TRUE(reason.starts_with("b takes no job; b gets no jobs for ")) << reason;
  const auto [table, code] = home.ecoctl(ECOCTL_PROGRAM, {"servers"});
  EXPECT_NE(table.find("no jobs for "), std::string::npos) << table;
}

class SharedOffload : public Offload {
 protected:
  void SetUp() override {
    std::filesystem::create_directory_symlink(folder.path(), folder / "seen");  // as a mount would show it
    begin(folder.path().string());
  }
};

TEST_F(SharedOffload, tables_go_by_the_shared_folder_and_ecoctl_and_the_metrics_show_it) {
  const auto three_installed = [&] { return service->statistics().installed >= 3; };
  ASSERT_TRUE(writing_until(three_installed)) << service->statistics().last_reason;
  ASSERT_TRUE(eventually([&] { return decisions_with("installed") >= 3; }));
  const auto log = home.decisions();
  std::uint64_t jobs = 0, bytes = 0;
  for (const auto& decision : log)
    if (decision.outcome() == "installed") {
      ++jobs, bytes += decision.bytes_shared();
      EXPECT_GT(decision.bytes_shared(), decision.request().features().input_bytes()) << "inputs and outputs";
      EXPECT_LT(decision.bytes_moved(), decision.bytes_shared() / 2) << "manifests and options alone";
    }
  const auto view = home.view();
  EXPECT_GE(view.own_jobs().shared(), jobs);
  EXPECT_GE(view.own_jobs().bytes_shared(), bytes);
  EXPECT_EQ(view.own_jobs().fell_back(), 0U);
  const auto has = [](const std::string& text, const std::string& part) {
    EXPECT_NE(text.find(part), std::string::npos) << part << " is not in\n" << text;
  };
  has(home.ecoctl(ECOCTL_PROGRAM, {"servers"}).first, " MB by shared folders (");
  has(home.ecoctl(ECOCTL_PROGRAM, {"decisions"}).first, " MB shared ");
  has(home.ecoctl(ECOCTL_PROGRAM, {"decisions", "--json"}).first, "\"bytes_shared\": ");
  const std::string page = home.metrics();
  has(page, "ecod_tables_bytes_total{by=\"shared folder\"} ");
  EXPECT_EQ(page.find("ecod_shared_jobs_total 0"), std::string::npos) << page;

  for (int i = 0; i < written; ++i) {
    std::string value;
    ASSERT_TRUE(db->Get({}, key(i), &value).ok()) << key(i);
    EXPECT_EQ(value, std::string(1000, 'v'));
  }
  EXPECT_TRUE(db->VerifyChecksum().ok());
}

}  // namespace
