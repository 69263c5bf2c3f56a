#include <fmt/format.h>
#include <rocksdb/db.h>
#include <rocksdb/version.h>
#include <sys/resource.h>
#include <unistd.h>

#include <condition_variable>
#include <exception>
#include <functional>
#include <memory>
#include <utility>

#include "job_options.h"
#include "job_process.h"
#include "policy.h"
#include "primary_clock.h"
#include "primary_link.h"
#include "remote_file_system.h"
#include "shared_folder.h"

namespace eco {
namespace {

constexpr std::chrono::milliseconds heartbeat{200};

double cpu_s() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  const auto seconds = [](const timeval& t) {
    return static_cast<double>(t.tv_sec) + 1e-6 * static_cast<double>(t.tv_usec);
  };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

// Sends the job's progress to the primary every 200 ms.
class Heart {
 public:
  explicit Heart(PrimaryLink& primary) : thread_([this, &primary] { beat(primary); }) {}
  ~Heart() {
    {
      const std::lock_guard lock(mutex_);
      stop_ = true;
    }
    wake_.notify_one();
    thread_.join();
  }

 private:
  void beat(PrimaryLink& primary) {
    std::unique_lock lock(mutex_);
    while (!wake_.wait_for(lock, heartbeat, [this] { return stop_; }))
      if (!primary.send_progress(cpu_s())) return;
  }

  std::mutex mutex_;
  std::condition_variable wake_;
  bool stop_ = false;
  std::thread thread_;
};

// Returns why this process would not produce the primary's contents; empty: it would.
std::string unsupported(const proto::Start& start, rocksdb::FileSystem& files, Objects& objects) {
  const std::string here = rocksdb::GetRocksVersionAsString(true);
  const auto form = text_form(here);
  if (!same_release(start.rocksdb(), here) || !form)
    return fmt::format("RocksDB {} there, {} here: the minor release must be the same", start.rocksdb(), here);
  std::string why = create_objects(start.table(), objects);
  if (!why.empty()) return why;
  const auto input = read_input(*form, start.input(), why);
  if (!input) return "the job's input: " + why;
  auto options = options_of_job(*input, files, start.database(), why);
  if (!options) return why;
  options->table = start.table().table_factory();
  return changed_option(*options, objects);
}

rocksdb::Status compact(const proto::Start& start, PrimaryLink& primary, const std::string& scratch,
                        proto::Result& result) {
  std::unique_ptr<SharedFolder> shared;
  std::string why;  // ignored: without a shared folder the tables are streamed
  if (start.has_shared()) shared = SharedFolder::open(start.shared(), why);
  const auto files = std::make_shared<RemoteFileSystem>(
      primary, RemoteFileSystem::Folders{.database = start.database(), .output = start.output(), .scratch = scratch},
      std::move(shared));
  Objects options;
  if (why = unsupported(start, *files, options); !why.empty()) {
    result.set_job_refused(true);
    return rocksdb::Status::NotSupported(why);
  }
  const std::unique_ptr<rocksdb::Env> env = env_with_primary_clock(files, start.unix_time_s(), start.received_s());
  options.env = env.get();
  return rocksdb::DB::OpenAndCompact(start.database(), start.output(), start.input(), result.mutable_output(), options);
}

}  // namespace

int run_job(int fd, int data_fd, const std::string& scratch) {
  MessagePipe pipe(fd);
  Fd connection(data_fd);
  proto::FromPrimary first;
  if (!pipe.receive(first) || !first.has_start()) return 3;
  std::unique_ptr<DataChannel> data;
  if (std::string why; connection) {
    data = DataChannel::over(std::move(connection), DataChannel::Side::worker, first.start().data_key(), why);
    if (!data) return 5;
  }
  // The primary is lost. _exit stops RocksDB in the middle of a computation.
  PrimaryLink primary(pipe, std::move(data), [] { ::_exit(4); });
  proto::FromWorker message;
  auto& result = *message.mutable_result();
  {
    const Heart heart(primary);
    try {
      const rocksdb::Status status = compact(first.start(), primary, scratch, result);
      if (!status.ok()) result.set_error(status.ToString());
    } catch (const std::exception& error) {
      result.set_error(error.what());
    }
  }
  if (!result.error().empty()) result.clear_output();
  result.set_network_s(primary.waited_s());
  result.set_compute_s(primary.elapsed_s() - primary.waited_s());
  result.set_cpu_s(cpu_s()), result.set_bytes_moved(primary.bytes_moved());
  result.set_bytes_shared(primary.bytes_shared());
  return primary.finish(message) ? 0 : 4;
}

}  // namespace eco
