#include "supervising.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <optional>
#include <stdexcept>
#include <string>
#include <system_error>

#include "children.h"
#include "clock.h"
#include "process_tree.h"
#include "program.h"
#include "report.h"
#include "spawn.h"
#include "standard_files.h"
#include "wakeups.h"

namespace edgejoule::supervisor {
namespace {

constexpr std::int64_t marks_max = 20'000;  // in total; more marks than this are no useful phases

class Supervisor {
 public:
  Supervisor(const Options& options, Report& report);
  int run();

 private:
  void repeat();
  void run_once(std::int64_t repetition);
  void await_exit();
  void report_marks();
  void report_exit(std::int64_t repetition, std::int64_t start_ns, int ended);
  [[nodiscard]] bool is_last(std::int64_t repetitions, std::int64_t begin_ns) const;
  [[nodiscard]] std::optional<StorageBytes> bytes_of_tree() const;
  void await_release();
  int report_stop();

  const Options& options_;
  Report& report_;
  Wakeups wakeups_;
  Children children_;
  StandardFiles files_;
  std::string program_;
  std::int64_t marks_left_ = marks_max;
  std::optional<StorageBytes> bytes_before_;   // of this process at the start of the repetition
  std::optional<StorageBytes> bytes_at_exit_;  // of the tree at the end of the command
};

// Opened for writing, too, so that the FIFO does not end when its first writer closes it.
int open_marks(const std::optional<std::string>& path) {
  if (!path) return -1;
  const int marks = ::open(path->c_str(), O_RDWR | O_NONBLOCK | O_CLOEXEC);
  if (marks < 0) throw std::system_error(errno, std::generic_category(), "--marks " + *path);
  return marks;
}

std::optional<StorageBytes> since(const std::optional<StorageBytes>& before, const std::optional<StorageBytes>& now) {
  if (!before || !now) return std::nullopt;
  return StorageBytes{now->read - before->read, now->write - before->write};
}

Line&& with_bytes(Line&& line, const std::optional<StorageBytes>& bytes) {
  using Number = std::optional<std::int64_t>;
  line.add("read_bytes", bytes ? Number(bytes->read) : Number());
  line.add("write_bytes", bytes ? Number(bytes->write) : Number());
  return std::move(line);
}

Supervisor::Supervisor(const Options& options, Report& report)
    : options_(options), report_(report), children_(wakeups_), files_(report.descriptor()) {
  wakeups_.watch({report.descriptor(), open_marks(options.marks), options.keep ? take_standard_input() : -1});
  program_ = find_program(options.command[0], std::getenv("PATH"));
}

int Supervisor::run() {
  repeat();
  if (options_.keep && !wakeups_.stop()) await_release();
  if (wakeups_.stop()) return report_stop();
  const int ended = children_.end_all();
  report_.write(std::move(Line("end").add("monotonic_ns", monotonic_ns()).add("ended", std::int64_t{ended})));
  report_.flush();
  return report_.broken() ? 1 : 0;
}

void Supervisor::repeat() {
  const std::int64_t begin_ns = monotonic_ns();
  for (std::int64_t repetition = 0;; ++repetition) {
    if (repetition > 0) files_.restore();
    run_once(repetition);
    if (wakeups_.stop() || is_last(repetition + 1, begin_ns)) return;
    report_.flush_if_due();
  }
}

bool Supervisor::is_last(std::int64_t repetitions, std::int64_t begin_ns) const {
  const Exit& exit = *children_.exit();
  if (exit.signal || (*exit.code != 0 && !options_.ignore_failure)) return true;
  if (options_.repeat_for_ns) return monotonic_ns() - begin_ns >= *options_.repeat_for_ns;
  return repetitions >= options_.repeat;
}

void Supervisor::run_once(std::int64_t repetition) {
  bytes_before_ = storage_bytes(::getpid());
  const std::int64_t start_ns = monotonic_ns();
  const Spawned spawned = spawn(program_.c_str(), options_.command, ::environ);
  if (spawned.pid < 0) throw exec_failure(program_, spawned.error);
  children_.begin(spawned.pid);
  if (repetition == 0) {
    report_.write(std::move(Line("start").add("monotonic_ns", start_ns).add("pid", std::int64_t{spawned.pid})));
  }
  await_exit();
  if (!children_.exit()) return;  // stopped
  const int ended = options_.keep ? 0 : children_.end_all();
  if (!bytes_at_exit_) bytes_at_exit_ = bytes_of_tree();  // read now if a process that ran on could not be read
  report_marks();
  if (!wakeups_.stop()) report_exit(repetition, start_ns, ended);
}

void Supervisor::await_exit() {
  for (;;) {
    wakeups_.wait({});
    children_.reap();
    if (children_.exit()) bytes_at_exit_ = bytes_of_tree();
    report_marks();
    if (children_.exit() || wakeups_.stop()) return;
  }
}

void Supervisor::report_marks() {
  auto marks = wakeups_.take_marks();
  if (std::int64_t(marks.size()) > marks_left_) marks.resize(static_cast<std::size_t>(marks_left_));
  if (marks.empty()) return;
  marks_left_ -= std::int64_t(marks.size());
  const auto bytes = children_.exit() ? bytes_at_exit_ : bytes_of_tree();
  for (const Mark& mark : marks) {
    Line line("mark");
    line.add("monotonic_ns", mark.arrived_ns).add("name", std::string_view(mark.name));
    report_.write(with_bytes(std::move(line), bytes));
  }
}

void Supervisor::report_exit(std::int64_t repetition, std::int64_t start_ns, int ended) {
  const Exit& exit = *children_.exit();
  const Usage& usage = children_.usage();
  Line line("exit");
  line.add("repetition", repetition).add("start_ns", start_ns).add("end_ns", exit.end_ns);
  line.add("exit_code", exit.code).add("signal", exit.signal);
  line.add("cpu_user_ns", usage.cpu_user_ns).add("cpu_system_ns", usage.cpu_system_ns);
  line.add("rss_peak_bytes", usage.rss_peak_bytes);
  line.add("voluntary_switches", usage.voluntary_switches);
  line.add("involuntary_switches", usage.involuntary_switches);
  line.add("ended", std::int64_t{ended});
  report_.write(with_bytes(std::move(line), bytes_at_exit_));
  if (options_.keep) report_.flush();
}

// /proc/PID/io covers a process and the children it has waited for. This process therefore covers all descendants that
// have ended.
std::optional<StorageBytes> Supervisor::bytes_of_tree() const {
  const auto ended = since(bytes_before_, storage_bytes(::getpid()));
  if (!ended || !children_.any_left()) return ended;
  const auto living = storage_bytes_of_descendants(::getpid());
  if (!living) return std::nullopt;
  return StorageBytes{ended->read + living->read, ended->write + living->write};
}

void Supervisor::await_release() {
  while (!wakeups_.input_ended() && !wakeups_.stop()) {
    wakeups_.wait({});
    children_.reap();
  }
}

int Supervisor::report_stop() {
  const int ended = children_.end_all();
  Line line("stopped");
  line.add("monotonic_ns", monotonic_ns()).add("reason", std::string_view(*wakeups_.stop()));
  report_.write(std::move(line.add("ended", std::int64_t{ended})));
  report_.flush();
  return wakeups_.stop_signal() != 0 ? 128 + wakeups_.stop_signal() : 1;
}

int report_error(Report& report, const std::exception& error, int exit_code) {
  Line line("error");
  line.add("monotonic_ns", monotonic_ns()).add("message", std::string_view(error.what()));
  report.write(std::move(line.add("exit_code", std::int64_t{exit_code})));
  report.flush();
  return exit_code;
}

}  // namespace

int supervise(const Options& options) {
  protect_descriptors();
  Report report(options.report_fd);
  try {
    return Supervisor(options, report).run();
  } catch (const NotStarted& error) {
    return report_error(report, error, error.exit_code);
  } catch (const std::exception& error) {
    return report_error(report, error, 1);
  }
}

}  // namespace edgejoule::supervisor
