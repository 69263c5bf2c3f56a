// Measures the time of a decision, by the policies' code alone and through ecod's socket and NATS, and the cost of an
// idle ecod. Prints tables; there is no pass or fail.
#include <fmt/format.h>
#include <grpcpp/grpcpp.h>
#include <nats/nats.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <fstream>
#include <random>
#include <sstream>
#include <thread>

#include "processes.h"
#include "scheduler.h"
#include "states.h"

namespace {

using namespace eco;
using namespace eco::test;
using Clock = std::chrono::steady_clock;

double since_us(Clock::time_point begin) {
  return std::chrono::duration<double, std::micro>(Clock::now() - begin).count();
}

void print(const std::string& what, std::size_t servers, std::vector<double> us) {
  std::ranges::sort(us);
  const auto at = [&](double q) { return us[static_cast<std::size_t>(q * static_cast<double>(us.size() - 1))] * 1e-3; };
  fmt::print("{:<34} {:>5} servers  p50 {:>8.4f} ms  p99 {:>8.4f} ms  max {:>8.4f} ms  ({} decisions)\n", what, servers,
             at(0.5), at(0.99), at(1), us.size());
  std::fflush(stdout);
}

std::vector<proto::ServerState> states(std::size_t count, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  std::uniform_real_distribution<double> seconds(1, 8), joules(5, 20);
  std::vector<proto::ServerState> out;
  for (std::size_t i = 0; i < count; ++i) {
    out.push_back(state_of(fmt::format("server-{}", i), seconds(random), joules(random)));
    out.back().set_slots(1000);
    out.back().set_cores(1000);
  }
  return out;
}

void in_process(std::size_t servers, std::uint64_t seed) {
  const auto all = states(servers, seed);
  for (const char* name : {"eco", "eco-plus"}) {
    const Policy policy = *policy_named(name);
    std::vector<Server> table;
    for (const auto& state : all) table.push_back(server_of(state)), table.back().alive = true;
    const auto request = test::request_of("server-0");
    const Request asked = eco::request_of(request);
    std::vector<double> decide_us, place_us;
    for (int i = 0; i < 5000; ++i) {
      const auto begin = Clock::now();
      const auto decision = decide(policy, asked, table, 0);
      decide_us.push_back(since_us(begin) + (decision.offload ? 0 : 1e-9));
    }
    print(fmt::format("{}: decide()", name), servers, decide_us);
    Scheduler scheduler({.alive_s = 1e9, .placed_s = 0.01});
    scheduler.with_tracker([&](Tracker& tracker) {
      for (const auto& state : all) tracker.heard(state, 0);
    });
    for (int i = 0; i < 5000; ++i) {
      proto::LoggedDecision log;
      const auto begin = Clock::now();
      const auto placement = scheduler.place(request, policy, false, i * 1e-3, 1e9, log);
      place_us.push_back(since_us(begin) + (placement.offload() ? 0 : 1e-9));
    }
    print(fmt::format("{}: the master's Scheduler", name), servers, place_us);
  }
}

// The other servers of a large federation, which only send beats.
class Crowd {
 public:
  Crowd(const std::string& url, std::size_t servers, std::uint64_t seed) : states_(states(servers, seed)) {
    if (natsConnection_ConnectTo(&connection_, url.c_str()) != NATS_OK) throw std::runtime_error("NATS");
    beats_ = std::jthread([this](const std::stop_token& stop) {
      while (!stop.stop_requested()) {
        for (auto& state : states_) {
          state.set_beat(state.beat() + 1);
          const std::string bytes = state.SerializeAsString();
          (void)natsConnection_Publish(connection_, ("$KV.eco-edge-servers." + state.name()).c_str(), bytes.data(),
                                       static_cast<int>(bytes.size()));
          if (&state - states_.data() > 0 && (&state - states_.data()) % 100 == 0)
            std::this_thread::sleep_for(std::chrono::milliseconds(90));
        }
        if (states_.size() < 200) std::this_thread::sleep_for(std::chrono::milliseconds(900));
      }
    });
  }
  ~Crowd() {
    beats_.request_stop();
    beats_.join();
    natsConnection_Destroy(connection_);
  }
  Crowd(const Crowd&) = delete;
  Crowd& operator=(const Crowd&) = delete;

 private:
  std::vector<proto::ServerState> states_;
  natsConnection* connection_ = nullptr;
  std::jthread beats_;
};

long status_kb(pid_t pid, const std::string& field) {
  std::ifstream in(fmt::format("/proc/{}/status", pid));
  for (std::string line; std::getline(in, line);)
    if (line.starts_with(field)) return std::stol(line.substr(field.size() + 1));
  return 0;
}

double cpu_s(pid_t pid) {
  std::ifstream in(fmt::format("/proc/{}/stat", pid));
  const std::string text{std::istreambuf_iterator<char>(in), {}};
  std::istringstream fields(text.substr(text.rfind(')') + 2));
  std::vector<std::string> all;
  for (std::string field; fields >> field;) all.push_back(field);
  return (std::stod(all[11]) + std::stod(all[12])) / static_cast<double>(sysconf(_SC_CLK_TCK));
}

std::string costs(Ecod& server, double seconds, double before_s) {
  const pid_t pid = server.process().pid();
  return fmt::format("{:.2f} CPU s a minute, RSS {:.1f} MB, {} threads", (cpu_s(pid) - before_s) / seconds * 60,
                     static_cast<double>(status_kb(pid, "VmRSS:")) / 1024, status_kb(pid, "Threads:"));
}

void through_nats(std::size_t servers, std::uint64_t seed) {
  const std::size_t real = 3;
  Nats nats(1);
  const std::string federation = fmt::format("mode = \"nats\"\nurls = {}\nreplicas = 1\n", nats.urls());
  const std::string timing = "place_timeout_ms = 1000\n";  // other keys have defaults
  std::vector<std::unique_ptr<Ecod>> ecods;
  for (const char* name : {"a", "b", "c"}) {
    ecods.push_back(std::make_unique<Ecod>(name, federation, "", timing));
    ecods.back()->start();
  }
  std::string master;
  if (!eventually([&] {
        master = ecods[0]->view().master();
        return !master.empty() && master == ecods[1]->view().master() && master == ecods[2]->view().master();
      }))
    throw std::runtime_error("no master");
  Ecod& chief = **std::ranges::find_if(ecods, [&](const auto& e) { return e->name() == master; });
  Ecod& member = **std::ranges::find_if(ecods, [&](const auto& e) { return e->name() != master; });
  member.teach(4);
  Crowd crowd(nats.url(0), servers - real, seed);
  if (!eventually(
          [&] {
            return std::ranges::count_if(chief.view().servers(), [](const auto& l) { return l.alive(); }) ==
                   static_cast<long>(servers);
          },
          60))
    throw std::runtime_error("the crowd was not heard");

  const auto idle_from = Clock::now();
  const double chief_before_s = cpu_s(chief.process().pid()), member_before_s = cpu_s(member.process().pid());
  std::this_thread::sleep_for(std::chrono::seconds(20));
  const double idle_s = std::chrono::duration<double>(Clock::now() - idle_from).count();
  fmt::print("idle, {} servers: the master {}\n", servers, costs(chief, idle_s, chief_before_s));
  fmt::print("idle, {} servers: a member   {}\n", servers, costs(member, idle_s, member_before_s));

  for (Ecod* asked : {&chief, &member}) {
    if (asked == &chief) chief.teach(4);
    std::vector<double> us;
    std::size_t by_master = 0;
    const double asked_before_s = cpu_s(asked->process().pid()), chief_cpu_before_s = cpu_s(chief.process().pid());
    for (int i = 0; i < 2000; ++i) {
      const auto request = test::request_of("", fmt::format("{} {}", asked->name(), i));
      const auto begin = Clock::now();
      const auto placement = asked->place(request, 2);
      us.push_back(since_us(begin));
      by_master += placement.decided_by() == master;
      std::this_thread::sleep_for(std::chrono::milliseconds(2));
    }
    print(asked == &chief ? "socket of the master" : "socket of a member, NATS, master", servers, us);
    const double n = static_cast<double>(us.size());
    fmt::print("  CPU a decision, beats included: {:.3f} ms where it was asked, {:.3f} ms at the master\n",
               (cpu_s(asked->process().pid()) - asked_before_s) / n * 1e3,
               (cpu_s(chief.process().pid()) - chief_cpu_before_s) / n * 1e3);
    if (by_master != us.size()) fmt::print("  of them {} were decided by the master\n", by_master);
  }
}

}  // namespace

int main() {
  constexpr std::uint64_t seed = 1;
  fmt::print("seed {}\n", seed);
  for (const std::size_t servers : {6U, 1000U}) in_process(servers, seed);
  for (const std::size_t servers : {6U, 1000U}) through_nats(servers, seed);
}
