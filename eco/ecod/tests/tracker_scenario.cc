// Servers beat, take jobs, restart, share a name, leave and are removed. It compares nothing: linked with a mutant of
// the table (mutants.cmake), it must end by an assertion.
#include <cstdio>
#include <string>

#include "states.h"
#include "tracker.h"

namespace eco::test {
namespace {

void beat(Tracker& table, const std::string& name, std::uint64_t number, double now_s, unsigned jobs = 0,
          const std::string& token = {}) {
  auto state = state_of(name, 1, 1, number);
  state.set_jobs(jobs);
  if (!token.empty()) state.add_tokens(token);
  table.heard(state, now_s);
}

void work() {
  Tracker table(10, 100);
  for (const auto* name : {"a", "b", "c"}) beat(table, name, 1, 0);
  table.placed("a", "token 1", "job 1", 5, 1);
  table.placed("a", "token 2", "job 2", 5, 1);
  table.placed("b", "token 3", "job 3", 5, 1);
  beat(table, "a", 2, 2, 1, "token 1");
  table.ended("job 1");
  table.ended("job 2");
  static_cast<void>(table.servers(20, 10));  // job 3 counts as never started
  table.drain({"b"});
  beat(table, "b", 2, 150);
  beat(table, "c", 2, 150);
  static_cast<void>(table.servers(160, 10));  // a is removed
  table.placed("c", "token 4", "job 4", 5, 160);
  beat(table, "c", 3, 161);
  table.left("c", 162);
  static_cast<void>(table.servers(163, 10));
}

}  // namespace
}  // namespace eco::test

int main() {
  try {
    eco::test::work();
  } catch (const std::exception& error) {
    std::puts(error.what());
    return 1;
  }
  std::puts("ended without an assertion");
}
