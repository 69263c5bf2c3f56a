// Real processes. Each test is a child of the test program, because it becomes a subreaper.
#include "children.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <functional>

#include "clock.h"
#include "process_tree.h"

namespace edgejoule::supervisor {
namespace {

// Runs `body` in a separate process, including its assertions.
void in_own_process(const std::function<void()>& body) {
  const pid_t child = ::fork();
  if (child == 0) {
    body();
    ::_exit(::testing::Test::HasFailure() ? 1 : 0);
  }
  int status = -1;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

pid_t start(const std::function<void()>& body) {
  const pid_t child = ::fork();
  if (child == 0) {
    sigset_t none;
    ::sigemptyset(&none);
    ::sigprocmask(SIG_SETMASK, &none, nullptr);
    body();
    ::_exit(0);
  }
  return child;
}

// Lets processes report that they are ready.
class Ready {
 public:
  Ready() { EXPECT_EQ(::pipe(pipe_.data()), 0); }
  void notify() const { EXPECT_EQ(::write(pipe_[1], "r", 1), 1); }
  [[noreturn]] void notify_and_pause() const {
    notify();
    for (;;) ::pause();
  }
  void await(int processes) const {
    char byte = 0;
    for (int i = 0; i < processes; ++i) EXPECT_EQ(::read(pipe_[0], &byte, 1), 1);
  }

 private:
  std::array<int, 2> pipe_{};
};

void burn(std::int64_t cpu_ns) {
  timespec used{};
  do {
    ::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
  } while (used.tv_sec * second_ns + used.tv_nsec < cpu_ns);
}

void await_exit(Wakeups& wakeups, Children& children) {
  while (!children.exit()) {
    wakeups.wait({});
    children.reap();
  }
}

std::int64_t cpu_ns(const Children& children) { return children.usage().cpu_user_ns + children.usage().cpu_system_ns; }

TEST(Children, usage_is_that_of_orphans_too) {
  in_own_process([] {
    Wakeups wakeups;
    Children children(wakeups);
    children.begin(start([] {
      const Ready ended;
      for (int i = 0; i < 10; ++i) {
        const pid_t parent = start([&] {
          start([&] {
            burn(second_ns / 100);
            ended.notify();
          });
        });
        ::waitpid(parent, nullptr, 0);
      }
      ended.await(10);
    }));
    await_exit(wakeups, children);
    EXPECT_GE(cpu_ns(children), second_ns / 10);
    EXPECT_EQ(children.exit()->code, 0);
  });
}

TEST(Children, usage_ends_with_the_command) {
  in_own_process([] {
    Wakeups wakeups;
    Children children(wakeups);
    Ready ready;
    children.begin(start([&] {
      start([&] {
        ::signal(SIGTERM, SIG_IGN);
        const pid_t child = start([] { burn(second_ns / 20); });
        ::waitpid(child, nullptr, 0);
        burn(second_ns / 20);
        ready.notify();
        for (;;) burn(60 * second_ns);
      });
      ready.await(1);
    }));
    await_exit(wakeups, children);
    const Usage at_exit = children.usage();
    const std::int64_t end_ns = children.exit()->end_ns;
    const std::int64_t tick_ns = second_ns / 100;  // the usage of waited-for children is known in ticks
    EXPECT_GE(cpu_ns(children), second_ns / 10 - tick_ns);
    EXPECT_GT(at_exit.rss_peak_bytes, 0);
    EXPECT_EQ(children.end_all(), 1);
    EXPECT_EQ(cpu_ns(children), at_exit.cpu_user_ns + at_exit.cpu_system_ns);
    EXPECT_EQ(children.usage().voluntary_switches, at_exit.voluntary_switches);
    EXPECT_EQ(children.usage().involuntary_switches, at_exit.involuntary_switches);
    EXPECT_EQ(children.exit()->end_ns, end_ns);
  });
}

TEST(Children, all_descendants_end_wherever_they_are) {
  in_own_process([] {
    Wakeups wakeups;
    Children children(wakeups);
    Ready ready;
    children.begin(start([&] {
      start([&] {
        ::setsid();
        start([&] { ready.notify_and_pause(); });
        ready.notify_and_pause();
      });
      start([&] {
        ::signal(SIGTERM, SIG_IGN);
        ready.notify_and_pause();
      });
      start([&] {
        ready.notify();
        ::kill(::getpid(), SIGSTOP);
        ::pause();
      });
      ready.await(4);
    }));
    await_exit(wakeups, children);
    EXPECT_EQ(children.end_all(), 4);
    EXPECT_FALSE(children.any_left());
    EXPECT_TRUE(descendants(::getpid()).empty());
    EXPECT_EQ(children.end_all(), 0);
  });
}

TEST(Children, a_death_by_signal_is_no_exit_code) {
  in_own_process([] {
    Wakeups wakeups;
    Children children(wakeups);
    children.begin(start([] { ::kill(::getpid(), SIGKILL); }));
    await_exit(wakeups, children);
    EXPECT_EQ(children.exit()->signal, SIGKILL);
    EXPECT_EQ(children.exit()->code, std::nullopt);
  });
}

TEST(Children, what_is_started_while_they_end_ends_too) {
  in_own_process([] {
    Wakeups wakeups;
    Children children(wakeups);
    Ready ready;
    children.begin(start([&] {
      // Each one starts the next in its SIGTERM handler before it ends.
      ::signal(SIGTERM, [](int) {
        if (::fork() != 0) ::_exit(0);
      });
      ready.notify_and_pause();
    }));
    ready.await(1);
    EXPECT_GE(children.end_all(), 1);
    EXPECT_TRUE(descendants(::getpid()).empty());
  });
}

}  // namespace
}  // namespace edgejoule::supervisor
