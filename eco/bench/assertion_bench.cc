// Measures the CPU time of a placement decision: a line per case with the nanoseconds of one decision.
// assertion_cost.py compares it with the same program without assertions.
#include <fmt/format.h>
#include <time.h>

#include <cstdio>
#include <vector>

#include "scheduler.h"
#include "states.h"

namespace {

using namespace eco;

constexpr double case_s = 0.1;

double cpu_s() {
  timespec t{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
  return static_cast<double>(t.tv_sec) + 1e-9 * static_cast<double>(t.tv_nsec);
}

template <typename Decision>
void measure(const std::string& what, Decision decide_once) {
  constexpr int at_once = 20;
  std::size_t decisions = 0;
  const double begin_s = cpu_s();
  double passed_s = 0;
  for (; passed_s < case_s; passed_s = cpu_s() - begin_s, decisions += at_once)
    for (int i = 0; i < at_once; ++i) decide_once();
  fmt::print("{}\t{:.1f}\n", what, passed_s * 1e9 / static_cast<double>(decisions));
}

void work(std::size_t count) {
  std::vector<proto::ServerState> states;
  for (std::size_t i = 0; i < count; ++i) {
    states.push_back(
        test::state_of(fmt::format("server-{}", i), 1 + static_cast<double>(i % 7), 20 - static_cast<double>(i % 13)));
    states.back().set_slots(1000), states.back().set_cores(1000);
  }
  const auto request = test::request_of("server-0");
  for (const char* name : {"eco", "eco-plus"}) {
    const Policy policy = *policy_named(name);
    std::vector<Server> servers;
    for (const auto& state : states) servers.push_back(server_of(state)), servers.back().alive = true;
    const Request asked = request_of(request);
    std::size_t options = 0;
    measure(fmt::format("decide(), {}, {} servers", name, count),
            [&] { options += decide(policy, asked, servers, 0).options.size(); });
    if (options == 0) std::puts("no decision was made");
    Scheduler scheduler({.alive_s = 1e9, .placed_s = 0.01});
    scheduler.with_tracker([&](Tracker& tracker) {
      for (const auto& state : states) tracker.heard(state, 0);
    });
    double now_s = 0;
    measure(fmt::format("Scheduler::place(), {}, {} servers", name, count), [&] {
      proto::LoggedDecision log;
      static_cast<void>(scheduler.place(request, policy, false, now_s += 1e-3, 1e9, log));
    });
  }
}

}  // namespace

int main() {
  for (const std::size_t servers : {4U, 100U}) work(servers);
}
