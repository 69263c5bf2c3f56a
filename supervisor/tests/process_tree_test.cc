#include "process_tree.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>

namespace edgejoule::supervisor {
namespace {

// A child with its own child; both wait to be killed.
class Family {
 public:
  Family() {
    std::array<int, 2> pipe{};
    EXPECT_EQ(::pipe(pipe.data()), 0);
    child_ = ::fork();
    if (child_ == 0) {
      ::prctl(PR_SET_NAME, "a) S 1 (b");
      const pid_t grandchild = ::fork();
      if (grandchild == 0) {
        ::prctl(PR_SET_PDEATHSIG, SIGKILL);
        for (;;) ::pause();
      }
      (void)!::write(pipe[1], &grandchild, sizeof grandchild);
      for (;;) ::pause();
    }
    EXPECT_EQ(::read(pipe[0], &grandchild_, sizeof grandchild_), static_cast<ssize_t>(sizeof grandchild_));
    ::close(pipe[0]);
    ::close(pipe[1]);
  }
  ~Family() {
    ::kill(grandchild_, SIGKILL);
    ::kill(child_, SIGKILL);
    ::waitpid(child_, nullptr, 0);
  }

  pid_t child_ = 0;
  pid_t grandchild_ = 0;
};

bool contains(const std::vector<pid_t>& processes, pid_t process) {
  return std::find(processes.begin(), processes.end(), process) != processes.end();
}

TEST(ProcessTree, holds_children_of_children_whatever_their_names_are) {
  const Family family;
  const auto found = descendants(::getpid());
  EXPECT_TRUE(contains(found, family.child_));
  EXPECT_TRUE(contains(found, family.grandchild_));
  EXPECT_FALSE(contains(found, ::getpid()));
  EXPECT_EQ(process_name(family.child_), "a) S 1 (b");
}

TEST(ProcessTree, a_zombie_runs_no_more) {
  const pid_t child = ::fork();
  if (child == 0) ::_exit(0);
  siginfo_t info{};
  ASSERT_EQ(::waitid(P_PID, static_cast<id_t>(child), &info, WEXITED | WNOWAIT), 0);
  EXPECT_FALSE(contains(descendants(::getpid()), child));
  ::waitpid(child, nullptr, 0);
}

TEST(ProcessTree, bytes_of_a_zombie_are_not_lost_before_somebody_waits_for_it) {
  if (!storage_bytes(::getpid())) GTEST_SKIP() << "this kernel does not count the bytes of processes";
  const std::string file = ::testing::TempDir() + "/zombie-bytes-" + std::to_string(::getpid());
  const pid_t child = ::fork();
  if (child == 0) {
    const std::string bytes(1 << 16, 'x');
    const int descriptor = ::open(file.c_str(), O_CREAT | O_WRONLY, 0600);
    ::_exit(::write(descriptor, bytes.data(), bytes.size()) > 0 ? 0 : 1);
  }
  siginfo_t info{};
  ASSERT_EQ(::waitid(P_PID, static_cast<id_t>(child), &info, WEXITED | WNOWAIT), 0);
  const auto of_child = storage_bytes(child);
  const auto of_all = storage_bytes_of_descendants(::getpid());
  ::waitpid(child, nullptr, 0);
  ::unlink(file.c_str());
  ASSERT_TRUE(of_child && of_all);
  EXPECT_EQ(of_all->write, of_child->write);
}

TEST(ProcessTree, a_process_that_is_gone_has_no_bytes_and_no_name) {
  const pid_t child = ::fork();
  if (child == 0) ::_exit(0);
  ::waitpid(child, nullptr, 0);
  EXPECT_EQ(storage_bytes(child), std::nullopt);
  EXPECT_EQ(process_name(child), "?");
}

}  // namespace
}  // namespace edgejoule::supervisor
