// Three ecods and NATS servers as processes.
#include <fmt/format.h>
#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>
#include <nats/nats.h>

#include <algorithm>
#include <tuple>

#include "processes.h"
#include "states.h"

namespace {

using namespace eco::test;
namespace proto = eco::proto;

// a is the slowest, c the fastest.
constexpr double seconds_of[] = {8, 4, 2};

class Federation : public testing::Test {
 protected:
  void start(const std::string& federation, const std::string& rest = "") {
    for (const char* name : {"a", "b", "c"}) {
      servers.push_back(std::make_unique<Ecod>(name, federation, rest));
      servers.back()->start();
    }
  }
  void start_nats(std::size_t nats_servers, const std::string& rest = "", const eco::TlsFiles& tls = {}) {
    nats = std::make_unique<Nats>(nats_servers, tls);
    start(of_nats(), rest);
  }
  [[nodiscard]] std::string of_nats() const {
    return fmt::format("mode = \"nats\"\nurls = {}\nreplicas = {}\n", nats->urls(), nats->size());
  }
  void start_static() {
    const int port = free_ports(1)[0];
    servers.push_back(std::make_unique<Ecod>("a", fmt::format("mode = \"master\"\nlisten = \"127.0.0.1:{}\"\n", port)));
    for (const char* name : {"b", "c"})
      servers.push_back(
          std::make_unique<Ecod>(name, fmt::format("mode = \"member\"\nmaster = \"127.0.0.1:{}\"\n", port)));
    for (auto& server : servers) server->start();
  }

  void TearDown() override {
    if (!HasFailure()) return;
    for (auto& server : servers)
      if (server->started()) std::cerr << "--- " << server->name() << "\n" << server->process().log();
  }

  Ecod& named(const std::string& name) {
    return **std::ranges::find_if(servers, [&](const auto& server) { return server->name() == name; });
  }
  std::vector<Ecod*> others(const std::string& name) {
    std::vector<Ecod*> out;
    for (auto& server : servers)
      if (server->name() != name) out.push_back(server.get());
    return out;
  }
  static int alive(const proto::FederationView& view) {
    return static_cast<int>(std::ranges::count_if(view.servers(), [](const auto& line) { return line.alive(); }));
  }
  // Waits until these agree on a master and on the number of servers alive. Returns the master, "" after a timeout.
  std::string agreed_master(const std::vector<Ecod*>& asked, int alive_wanted, const std::string& other_than = "") {
    std::string master;
    const bool agreed = eventually([&] {
      master.clear();
      for (Ecod* server : asked) {
        const auto view = server->view();
        if (view.master().empty() || view.master() == other_than || alive(view) != alive_wanted) return false;
        if (!master.empty() && master != view.master()) return false;
        master = view.master();
      }
      return true;
    });
    return agreed ? master : "";
  }
  // Waits until all have models of all.
  void teach() {
    for (std::size_t i = 0; i < servers.size(); ++i) servers[i]->teach(seconds_of[i]);
    ASSERT_TRUE(eventually([&] {
      return std::ranges::all_of(servers, [](auto& server) {
        const auto view = server->view();
        return view.servers_size() == 3 && std::ranges::all_of(view.servers(), [](const auto& line) {
                 return line.state().models_size() > 0 && line.state().models(0).compute().observations() >= 20;
               });
      });
    }));
  }
  // Repeats the request until it is placed there, because a busy machine may miss a beat.
  static testing::AssertionResult places(Ecod& asker, const std::string& at, const std::string& by = "") {
    proto::Placement last;
    const bool placed = eventually([&] {
      last = asker.place(request_of("", fmt::format("job {}", ++jobs)));
      return last.server() == at && (by.empty() || last.decided_by() == by);
    });
    if (placed) return testing::AssertionSuccess();
    return testing::AssertionFailure() << last.ShortDebugString();
  }

  static inline int jobs = 0;
  std::unique_ptr<Nats> nats;
  std::vector<std::unique_ptr<Ecod>> servers;
};

TEST_F(Federation, members_find_each_other_and_elect_one_master) {
  start_nats(1);
  const std::string master = agreed_master({servers[0].get(), servers[1].get(), servers[2].get()}, 3);
  ASSERT_NE(master, "");
  teach();
  for (auto& server : servers) {
    if (server->name() == "c") continue;
    EXPECT_TRUE(places(*server, "c", master));
  }
  EXPECT_TRUE(places(named("c"), "")) << "nobody is faster";
}

TEST_F(Federation, a_master_that_is_killed_is_followed_by_another_with_a_later_epoch) {
  start_nats(1);
  const std::string first = agreed_master({servers[0].get(), servers[1].get(), servers[2].get()}, 3);
  ASSERT_NE(first, "");
  teach();
  const auto before = named(first).view().epoch();
  named(first).process().signal(SIGKILL);
  (void)named(first).process().wait();
  const auto left = others(first);
  // Until then placements use the last table.
  const auto meanwhile = left[0]->place(request_of("", "meanwhile"));
  EXPECT_FALSE(meanwhile.reason().empty());
  const std::string second = agreed_master(left, 2, first);
  ASSERT_NE(second, "");
  EXPECT_GT(left[0]->view().epoch(), before);
  EXPECT_TRUE(places(first == "c" ? named("a") : *left[0], first == "c" ? "b" : "c"));
}

TEST_F(Federation, a_master_that_ends_cleanly_is_followed_at_once) {
  start_nats(1);
  const std::string first = agreed_master({servers[0].get(), servers[1].get(), servers[2].get()}, 3);
  ASSERT_NE(first, "");
  named(first).process().signal(SIGTERM);
  EXPECT_EQ(named(first).process().wait(), 0);
  EXPECT_FALSE(std::filesystem::exists(named(first).node_socket()));
  EXPECT_NE(agreed_master(others(first), 2, first), "");
}

TEST_F(Federation, a_stopped_master_is_deposed_and_does_not_decide_when_it_wakes) {
  start_nats(1);
  const std::string first = agreed_master({servers[0].get(), servers[1].get(), servers[2].get()}, 3);
  ASSERT_NE(first, "");
  teach();
  named(first).process().signal(SIGSTOP);
  const auto left = others(first);
  const std::string second = agreed_master(left, 2, first);
  ASSERT_NE(second, "");
  const auto epoch = named(second).view().epoch();
  named(first).process().signal(SIGCONT);
  EXPECT_EQ(agreed_master({servers[0].get(), servers[1].get(), servers[2].get()}, 3), second);
  EXPECT_TRUE(places(named("a"), "c", second));
  EXPECT_EQ(named("a").view().epoch(), epoch);
}

// The test acts as a deposed master: it answers requests instead of the stopped one.
TEST_F(Federation, a_placement_of_an_old_master_is_refused) {
  start_nats(1);
  const std::string master = agreed_master({servers[0].get(), servers[1].get(), servers[2].get()}, 3);
  ASSERT_NE(master, "");
  teach();
  Ecod& asker = named(master == "a" ? "b" : "a");
  named(master).process().signal(SIGSTOP);
  natsConnection* connection = nullptr;
  ASSERT_EQ(natsConnection_ConnectTo(&connection, nats->url(0).c_str()), NATS_OK);
  natsSubscription* subscription = nullptr;
  const auto answer = [](natsConnection* nc, natsSubscription*, natsMsg* message, void*) {
    proto::Placement old;
    old.set_offload(true);
    old.set_server("trap");
    old.set_epoch(0);
    old.set_decided_by("a deposed master");
    const std::string bytes = old.SerializeAsString();
    (void)natsConnection_Publish(nc, natsMsg_GetReply(message), bytes.data(), static_cast<int>(bytes.size()));
    natsMsg_Destroy(message);
  };
  ASSERT_EQ(natsConnection_Subscribe(&subscription, connection, ("eco.edge.place." + master).c_str(), answer, nullptr),
            NATS_OK);
  ASSERT_EQ(natsConnection_Flush(connection), NATS_OK);
  const auto placement = asker.place(request_of("", "fenced"));
  EXPECT_NE(placement.server(), "trap");
  EXPECT_NE(placement.reason().find("a deposed master answered as the master of epoch 0, but the epoch"),
            std::string::npos)
      << placement.reason();
  natsSubscription_Destroy(subscription);
  natsConnection_Destroy(connection);
}

TEST_F(Federation, without_nats_all_decide_with_the_last_table_and_then_locally) {
  start_nats(1, "");
  ASSERT_NE(agreed_master({servers[0].get(), servers[1].get(), servers[2].get()}, 3), "");
  teach();
  nats->server(0).signal(SIGSTOP);
  EXPECT_TRUE(places(named("a"), "c", "a (without the master)"));
  nats->server(0).signal(SIGCONT);
  const std::string master = agreed_master({servers[0].get(), servers[1].get(), servers[2].get()}, 3);
  EXPECT_NE(master, "");
  EXPECT_TRUE(places(named("a"), "c", master));
}

TEST_F(Federation, one_of_three_nats_servers_may_fail) {
  start_nats(3);
  const std::string master = agreed_master({servers[0].get(), servers[1].get(), servers[2].get()}, 3);
  ASSERT_NE(master, "");
  teach();
  nats->server(0).signal(SIGKILL);
  (void)nats->server(0).wait();
  // Its clients connect to another server; the remaining two renew or take the lease.
  const std::string after = agreed_master({servers[0].get(), servers[1].get(), servers[2].get()}, 3);
  ASSERT_NE(after, "");
  EXPECT_TRUE(places(named("a"), "c", after));
}

TEST_F(Federation, ecod_starts_before_nats_and_joins_when_it_comes) {
  const int port = free_ports(1)[0];
  start(fmt::format("mode = \"nats\"\nurls = [\"nats://127.0.0.1:{}\"]\nreplicas = 1\n", port));
  ASSERT_TRUE(eventually([&] { return !servers[0]->view().server().empty(); })) << "it answers without NATS";
  EXPECT_FALSE(servers[0]->place(request_of("")).offload());
  TemporaryFolder folder;
  Process late({"nats-server", "-a", "127.0.0.1", "-p", std::to_string(port), "-js", "-sd", folder / "store"},
               folder / "log");
  EXPECT_NE(agreed_master({servers[0].get(), servers[1].get(), servers[2].get()}, 3), "");
}

TEST_F(Federation, the_lease_lasts_as_long_as_its_bucket_says_whoever_made_it) {
  nats = std::make_unique<Nats>(1);
  const auto federation = fmt::format("mode = \"nats\"\nurls = {}\nreplicas = 1\n", nats->urls());
  servers.push_back(std::make_unique<Ecod>("a", federation));
  servers[0]->start();
  ASSERT_EQ(agreed_master({servers[0].get()}, 1), "a");
  servers.push_back(std::make_unique<Ecod>("b", federation, "", "beat_ms = 100\nalive_ms = 600\nlease_ms = 60000\n"));
  servers[1]->start();
  EXPECT_TRUE(eventually([&] {
    return named("b").process().log().find("has a lease of 1 s, which overrides lease_ms = 60000") != std::string::npos;
  }));
}

TEST_F(Federation, the_kill_switch_reaches_all_and_outlives_every_master) {
  start_nats(1);
  const std::string master = agreed_master({servers[0].get(), servers[1].get(), servers[2].get()}, 3);
  ASSERT_NE(master, "");
  teach();
  ASSERT_TRUE(places(named("a"), "c"));
  ASSERT_TRUE(servers[1]->kill(true).ok());
  for (auto& server : servers)
    EXPECT_TRUE(eventually([&] { return server->place(request_of("")).reason() == "the kill switch is on"; }))
        << server->name();
  named(master).process().signal(SIGKILL);
  (void)named(master).process().wait();
  named(master).forget_process();
  named(master).start();
  ASSERT_NE(agreed_master({servers[0].get(), servers[1].get(), servers[2].get()}, 3), "");
  for (auto& server : servers)
    EXPECT_TRUE(eventually([&] { return server->place(request_of("")).reason() == "the kill switch is on"; }))
        << server->name();
  ASSERT_TRUE(servers[2]->kill(false).ok());
  teach();
  EXPECT_TRUE(places(named("a"), "c"));
}

// The settings' revisions and the masters' epochs then start at 1 in NATS.
TEST_F(Federation, the_kill_switch_is_obeyed_by_all_after_nats_has_lost_what_it_kept) {
  start_nats(1);
  const std::vector<Ecod*> all{servers[0].get(), servers[1].get(), servers[2].get()};
  ASSERT_NE(agreed_master(all, 3), "");
  teach();
  for (const char* policy : {"edgepilot", "eco-global", "edgepilot"}) ASSERT_TRUE(named("b").set_policy(policy).ok());
  for (Ecod* server : all) ASSERT_TRUE(eventually([&] { return server->view().settings().revision() >= 3; }));
  nats->lose_storage();
  std::string said;
  const bool reached = eventually([&] {  // the servers reconnect first
    int code = 0;
    std::tie(said, code) = named("a").ecoctl(ECOCTL_PROGRAM, {"kill"});
    return code == 0;
  });
  EXPECT_TRUE(reached) << said;
  for (Ecod* server : all)
    EXPECT_EQ(server->place(request_of("")).reason(), "the kill switch is on")
        << server->name() << "; ecoctl: " << said;
  EXPECT_NE(agreed_master(all, 3), "") << "nobody is the master of a NATS that began anew";
}

TEST_F(Federation, the_kill_switch_stays_on_when_nats_loses_what_it_kept) {
  start_nats(1);
  const std::vector<Ecod*> all{servers[0].get(), servers[1].get(), servers[2].get()};
  ASSERT_NE(agreed_master(all, 3), "");
  ASSERT_TRUE(named("b").kill(true).ok());
  for (Ecod* server : all) ASSERT_TRUE(eventually([&] { return server->view().settings().local_only(); }));
  nats->lose_storage();
  // A restarted ecod knows only the content of NATS.
  named("c").process().signal(SIGTERM);
  EXPECT_EQ(named("c").process().wait(), 0);
  named("c").forget_process();
  named("c").start();
  ASSERT_NE(agreed_master(all, 3), "");
  EXPECT_TRUE(eventually([&] { return named("c").view().settings().local_only(); }));
}

TEST_F(Federation, ecoctl_kill_fails_until_each_member_has_confirmed) {
  start_nats(1);
  const std::vector<Ecod*> all{servers[0].get(), servers[1].get(), servers[2].get()};
  ASSERT_NE(agreed_master(all, 3), "");
  named("c").process().signal(SIGSTOP);
  const auto [said, code] = named("a").ecoctl(ECOCTL_PROGRAM, {"kill", "--wait-s", "2"});
  EXPECT_EQ(code, 1) << said;
  for (const char* line :
       {"a       confirmed\n", "b       confirmed\n", "c       NOT CONFIRMED: silent for ", "2 of 3 servers"})
    EXPECT_NE(said.find(line), std::string::npos) << line << " is not in\n" << said;
  named("c").process().signal(SIGCONT);
  const auto [then, ended] = named("a").ecoctl(ECOCTL_PROGRAM, {"kill"});
  EXPECT_EQ(ended, 0) << then;
  EXPECT_NE(then.find("c       confirmed\n"), std::string::npos) << then;
  const auto [resumed, resume_code] = named("b").ecoctl(ECOCTL_PROGRAM, {"resume"});
  EXPECT_EQ(resume_code, 0) << resumed;
}

TEST_F(Federation, ecoctl_kill_names_the_servers_that_it_did_not_reach) {
  start_nats(1);
  const std::vector<Ecod*> all{servers[0].get(), servers[1].get(), servers[2].get()};
  ASSERT_NE(agreed_master(all, 3), "");
  nats->server(0).signal(SIGSTOP);
  const auto [said, code] = named("a").ecoctl(ECOCTL_PROGRAM, {"kill", "--wait-s", "1"});
  nats->server(0).signal(SIGCONT);
  EXPECT_EQ(code, 1) << said;
  for (const char* line :
       {"a       confirmed\n", "b       NOT CONFIRMED", "c       NOT CONFIRMED", "the other servers were unreachable"})
    EXPECT_NE(said.find(line), std::string::npos) << line << " is not in\n" << said;
}

TEST_F(Federation, shadow_mode_policy_and_drain_hold_for_all) {
  start_nats(1);
  ASSERT_NE(agreed_master({servers[0].get(), servers[1].get(), servers[2].get()}, 3), "");
  teach();
  ASSERT_TRUE(servers[2]->set_policy("", true).ok());
  EXPECT_TRUE(eventually([&] { return named("a").place(request_of("")).shadow(); }));
  ASSERT_TRUE(servers[2]->set_policy("", false).ok());
  EXPECT_TRUE(eventually([&] { return !named("a").place(request_of("")).shadow(); }));
  ASSERT_TRUE(servers[0]->drain("c", true).ok());
  EXPECT_TRUE(places(named("a"), "b"));
  ASSERT_TRUE(servers[0]->drain("c", false).ok());
  EXPECT_TRUE(places(named("a"), "c"));
  ASSERT_TRUE(servers[0]->set_policy("local").ok());
  EXPECT_TRUE(eventually([&] { return !named("a").place(request_of("")).offload(); }));
  EXPECT_EQ(servers[0]->set_policy("ecco").error_code(), grpc::StatusCode::FAILED_PRECONDITION);
}

TEST_F(Federation, a_static_master_decides_and_its_members_do_without_it) {
  start_static();
  ASSERT_EQ(agreed_master({servers[0].get(), servers[1].get(), servers[2].get()}, 3), "a");
  teach();
  EXPECT_TRUE(places(named("b"), "c", "a"));
  EXPECT_TRUE(places(named("a"), "c", "a"));
  named("a").process().signal(SIGSTOP);
  EXPECT_TRUE(places(named("b"), "c", "b (without the master)"));
  named("a").process().signal(SIGCONT);
  EXPECT_TRUE(places(named("b"), "c", "a"));
}

TEST_F(Federation, a_static_masters_kill_switch_survives_its_restart) {
  start_static();
  ASSERT_EQ(agreed_master({servers[0].get(), servers[1].get(), servers[2].get()}, 3), "a");
  teach();
  const auto before = named("b").view().epoch();
  ASSERT_TRUE(named("b").kill(true).ok()) << "asked of a member";
  named("a").process().signal(SIGKILL);
  (void)named("a").process().wait();
  named("a").forget_process();
  named("a").start();
  ASSERT_TRUE(eventually([&] { return named("b").view().epoch() > before; }));
  for (auto& server : servers)
    EXPECT_TRUE(eventually([&] { return server->place(request_of("")).reason() == "the kill switch is on"; }))
        << server->name();
}

TEST_F(Federation, what_a_server_learnt_outlives_it) {
  start_static();
  ASSERT_EQ(agreed_master({servers[0].get(), servers[1].get(), servers[2].get()}, 3), "a");
  teach();
  named("c").process().signal(SIGTERM);
  EXPECT_EQ(named("c").process().wait(), 0);
  named("c").forget_process();
  named("c").start();
  EXPECT_TRUE(places(named("b"), "c", "a"));
}

TEST_F(Federation, sighup_reads_the_policy_and_keeps_the_old_where_the_file_is_wrong) {
  start_static();
  ASSERT_EQ(agreed_master({servers[0].get(), servers[1].get(), servers[2].get()}, 3), "a");
  const auto rewrite = [&](const std::string& from, const std::string& to) {
    std::ifstream in(named("a").file());
    std::string text{std::istreambuf_iterator<char>(in), {}};
    text.replace(text.find(from), from.size(), to);
    named("a").folder().write("ecod.toml", text);
    named("a").process().signal(SIGHUP);
  };
  rewrite("\"edgepilot\"", "\"eco-global\"");
  EXPECT_TRUE(eventually([&] { return named("b").view().policy().name() == "eco-global"; }));
  rewrite("\"eco-global\"", "\"ecco\"");
  EXPECT_TRUE(
      eventually([&] { return named("a").process().log().find("the policy is unchanged") != std::string::npos; }));
  EXPECT_EQ(named("b").view().policy().name(), "eco-global");
}

class Certificates : public Federation {
 protected:
  void SetUp() override {
    make_authority("ca");
    make_authority("stranger-ca");
    make_certificate("server", "ca");
    make_certificate("stranger", "stranger-ca");
  }
  void openssl(const std::vector<std::string>& arguments) {
    std::vector<std::string> command{"openssl"};
    command.insert(command.end(), arguments.begin(), arguments.end());
    Process process(command, pki / "log");
    ASSERT_EQ(process.wait(), 0) << process.log();
  }
  void make_authority(const std::string& name) {
    openssl({"req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "2", "-subj",
             "/CN=" + name, "-keyout", pki / (name + ".key"), "-out", pki / (name + ".pem")});
  }
  void make_certificate(const std::string& name, const std::string& authority) {
    openssl({"req", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-subj", "/CN=" + name, "-keyout",
             pki / (name + ".key"), "-out", pki / (name + ".csr")});
    pki.write("san", "subjectAltName=DNS:localhost,IP:127.0.0.1\n");
    openssl({"x509", "-req", "-days", "2", "-in", pki / (name + ".csr"), "-CA", pki / (authority + ".pem"), "-CAkey",
             pki / (authority + ".key"), "-CAcreateserial", "-extfile", pki / "san", "-out", pki / (name + ".pem")});
  }
  std::string tls(const std::string& name, const std::string& authority = "ca") {
    return fmt::format("[tls]\nca = \"{}\"\ncertificate = \"{}\"\nkey = \"{}\"\n", pki / (authority + ".pem"),
                       pki / (name + ".pem"), pki / (name + ".key"));
  }
  TemporaryFolder pki;
};

TEST_F(Certificates, a_member_without_the_federations_certificate_is_refused) {
  const int port = free_ports(1)[0];
  const auto member = fmt::format("mode = \"member\"\nmaster = \"localhost:{}\"\n", port);
  servers.push_back(
      std::make_unique<Ecod>("a", fmt::format("mode = \"master\"\nlisten = \"localhost:{}\"\n", port), tls("server")));
  servers.push_back(std::make_unique<Ecod>("b", member, tls("server")));
  servers.push_back(std::make_unique<Ecod>("plain", member));
  servers.push_back(std::make_unique<Ecod>("stranger", member, tls("stranger", "ca")));
  servers.push_back(std::make_unique<Ecod>("stranger2", member, tls("stranger", "stranger-ca")));
  for (auto& server : servers) server->start();
  EXPECT_EQ(agreed_master({servers[0].get(), servers[1].get()}, 2), "a");
  for (const char* name : {"plain", "stranger", "stranger2"})
    EXPECT_TRUE(eventually([&] {
      return named(name).process().log().find("the master is unreachable") != std::string::npos ||
             named(name).process().log().find("the master did not answer") != std::string::npos;
    })) << name;
  EXPECT_EQ(alive(named("a").view()), 2) << "nobody else came in meanwhile";
  EXPECT_EQ(named("a").view().servers_size(), 2);
  for (const char* name : {"plain", "stranger", "stranger2"}) EXPECT_EQ(named(name).view().master(), "") << name;
}

TEST_F(Certificates, nats_over_tls_joins_those_that_show_one_and_nobody_else) {
  start_nats(3, tls("server"), {.ca = pki / "ca.pem", .certificate = pki / "server.pem", .key = pki / "server.key"});
  const std::vector<Ecod*> members{servers[0].get(), servers[1].get(), servers[2].get()};
  const std::string first = agreed_master(members, 3);
  ASSERT_NE(first, "");
  teach();
  EXPECT_TRUE(places(named("a"), "c", first));

  servers.push_back(std::make_unique<Ecod>("stranger", of_nats(), tls("stranger", "ca")));
  servers.back()->start();
  const auto refused = [&] {
    for (std::size_t i = 0; i < nats->size(); ++i)
      if (nats->server(i).log().find("certificate signed by unknown authority") != std::string::npos) return true;
    return false;
  };
  EXPECT_TRUE(eventually(refused)) << "NATS does not know the stranger's authority";
  // An ecod that does not know the authority of NATS.
  servers.push_back(std::make_unique<Ecod>("misled", of_nats(), tls("server", "stranger-ca")));
  servers.back()->start();
  for (const char* name : {"stranger", "misled"})
    EXPECT_TRUE(eventually([&] {
      return named(name).process().log().find("did tls.ca sign NATS' certificate") != std::string::npos;
    })) << name
        << " does not say why it is alone";

  // The certificates also work after an election.
  named(first).process().signal(SIGKILL);
  (void)named(first).process().wait();
  std::vector<Ecod*> left;
  std::ranges::copy_if(members, std::back_inserter(left), [&](const Ecod* member) { return member->name() != first; });
  EXPECT_NE(agreed_master(left, 2, first), "");
  for (Ecod* member : left) EXPECT_EQ(member->view().servers_size(), 3) << "nobody else came in meanwhile";
  for (const char* name : {"stranger", "misled"}) EXPECT_EQ(named(name).view().master(), "") << name;
}

TEST_F(Certificates, what_would_listen_beyond_loopback_without_one_does_not_start) {
  Ecod open("open", "mode = \"master\"\nlisten = \"0.0.0.0:0\"\n");
  open.start();
  EXPECT_EQ(open.process().wait(), 1);
  EXPECT_NE(open.process().log().find("requires certificates, [tls]"), std::string::npos);
}

TEST_F(Federation, ecoctl_shows_sets_and_names_mistakes) {
  start_static();
  ASSERT_EQ(agreed_master({servers[0].get(), servers[1].get(), servers[2].get()}, 3), "a");
  teach();
  ASSERT_TRUE(places(named("b"), "c"));
  const auto ecoctl = [&](const std::vector<std::string>& arguments, int code) {
    const auto [said, ended] = named("b").ecoctl(ECOCTL_PROGRAM, arguments);
    EXPECT_EQ(ended, code) << said;
    return said;
  };
  const auto has = [](const std::string& text, const std::string& part) {
    EXPECT_NE(text.find(part), std::string::npos) << part << " is not in\n" << text;
  };
  has(ecoctl({"servers"}, 0), "asked b: master a, epoch ");
  has(ecoctl({"servers", "--json"}, 0), "\"takes_jobs\": true");
  has(ecoctl({"decisions"}, 0), "c: the fastest");
  has(ecoctl({"decisions", "--json", "--last", "1"}, 0), "\"decided_by\": \"a\"");
  EXPECT_EQ(ecoctl({"policy", "eco", "--shadow", "on"}, 0), "eco in shadow mode\n");
  EXPECT_EQ(ecoctl({"policy", "configured"}, 0), "edgepilot\n");
  has(ecoctl({"policy", "ecco"}, 1), "ecoctl: no policy is named \"ecco\"; expected local, ");
  EXPECT_EQ(ecoctl({"drain", "x"}, 1), "ecoctl: no server is named x\n");
  has(ecoctl({"drain", "c"}, 0), "c takes no new jobs");
  has(ecoctl({"servers"}, 0), "draining");
  has(ecoctl({"undrain", "c"}, 0), "c takes jobs again");
  has(ecoctl({"kill"}, 0), "every server compacts for itself");
  has(ecoctl({"servers"}, 0), "THE KILL SWITCH IS ON");
  has(ecoctl({"resume"}, 0), "offloaded again");
  named("b").process().signal(SIGTERM);
  EXPECT_EQ(named("b").process().wait(), 0);
  has(ecoctl({"servers"}, 1), "no ecod answers at");
}

bool has(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

// NATS accepts connections and does not answer, as during swapping.
TEST_F(Federation, joins_when_nats_hung_as_ecod_started_and_is_well_again) {
  nats = std::make_unique<Nats>(1);
  ASSERT_TRUE(eventually([&] { return has(nats->server(0).log(), "Server is ready"); }));
  nats->server(0).signal(SIGSTOP);
  start(of_nats());
  for (auto& server : servers)
    EXPECT_TRUE(eventually([&] { return has(server->process().log(), "NATS: connection: "); })) << server->name();
  nats->server(0).signal(SIGCONT);
  EXPECT_NE(agreed_master({servers[0].get(), servers[1].get(), servers[2].get()}, 3), "");
}

TEST_F(Federation, a_server_that_said_goodbye_is_shown_so_everywhere_and_a_kill_does_not_wait_for_it) {
  start_nats(1);
  const std::string master = agreed_master({servers[0].get(), servers[1].get(), servers[2].get()}, 3);
  ASSERT_NE(master, "");
  const auto left = others(master);
  const std::string gone = left[0]->name();
  left[0]->process().signal(SIGTERM);
  EXPECT_EQ(left[0]->process().wait(), 0);
  for (Ecod* asked : {&named(master), left[1]})
    EXPECT_TRUE(eventually([&] { return has(asked->ecoctl(ECOCTL_PROGRAM, {"servers"}).first, " left "); }))
        << asked->ecoctl(ECOCTL_PROGRAM, {"servers"}).first;
  const auto [said, code] = left[1]->ecoctl(ECOCTL_PROGRAM, {"kill"});
  EXPECT_EQ(code, 0);
  EXPECT_TRUE(has(said, gone + "       left ")) << said;
}

TEST_F(Federation, a_second_ecod_of_one_name_is_warned_of) {
  start_nats(1);
  ASSERT_NE(agreed_master({servers[0].get(), servers[1].get(), servers[2].get()}, 3), "");
  servers.push_back(std::make_unique<Ecod>("c", of_nats()));
  servers.back()->start();
  for (std::size_t i = 0; i < 2; ++i) {
    EXPECT_TRUE(eventually([&] { return has(servers[i]->process().log(), "two servers have this name"); }));
    EXPECT_TRUE(has(servers[i]->ecoctl(ECOCTL_PROGRAM, {"servers"}).first, "two servers have this name"));
  }
  EXPECT_TRUE(eventually([&] {
    return has(servers[2]->process().log(), "two servers have this name") &&
           has(servers[3]->process().log(), "two servers have this name");
  })) << "the two say it themselves";
}

TEST_F(Federation, a_kill_of_one_server_alone_is_shown_by_the_others_who_say_what_ends_it) {
  start_nats(1);
  const std::vector<Ecod*> all{servers[0].get(), servers[1].get(), servers[2].get()};
  ASSERT_NE(agreed_master(all, 3), "");
  nats->server(0).signal(SIGSTOP);
  EXPECT_FALSE(named("a").kill(true).ok());
  nats->server(0).signal(SIGCONT);
  ASSERT_NE(agreed_master(all, 3), "");
  EXPECT_TRUE(has(named("a").ecoctl(ECOCTL_PROGRAM, {"servers"}).first,
                  "THE KILL SWITCH IS ON at a alone (`ecoctl resume` at a ends it)\n"));
  EXPECT_TRUE(eventually(
      [&] { return has(named("b").ecoctl(ECOCTL_PROGRAM, {"servers"}).first, "ITS OWN KILL SWITCH IS ON"); }));
  const auto [said, code] = named("b").ecoctl(ECOCTL_PROGRAM, {"resume", "--wait-s", "1"});
  EXPECT_EQ(code, 1);
  EXPECT_TRUE(has(said, "a has its own kill switch on: run ecoctl resume there")) << said;
  const auto [ended, ended_code] = named("a").ecoctl(ECOCTL_PROGRAM, {"resume"});
  EXPECT_EQ(ended_code, 0) << ended;
}

TEST_F(Federation, metrics_are_served_on_loopback) {
  start_static();
  ASSERT_EQ(agreed_master({servers[0].get(), servers[1].get(), servers[2].get()}, 3), "a");
  std::string page;
  ASSERT_TRUE(eventually([&] { return !(page = named("b").metrics()).empty(); }));
  for (const char* line : {"ecod_master_is_heard 1", "ecod_is_master 0", "ecod_servers_alive 3",
                           "ecod_policy{name=\"edgepilot\"} 1", "ecod_power_watts{method=\"modelled (defaults)\"} "})
    EXPECT_NE(page.find(line), std::string::npos) << line << " is not in\n" << page;
}

}  // namespace
