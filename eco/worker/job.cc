#include "job.h"

#include <fmt/format.h>
#include <rocksdb/comparator.h>
#include <rocksdb/convenience.h>
#include <rocksdb/db.h>
#include <rocksdb/merge_operator.h>
#include <rocksdb/options.h>
#include <rocksdb/slice_transform.h>
#include <rocksdb/table.h>
#include <rocksdb/version.h>
#include <sys/resource.h>
#include <unistd.h>

#include <condition_variable>
#include <exception>
#include <functional>
#include <memory>
#include <utility>

#include "policy.h"
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

// Tells the primary every 200 ms what has been done.
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

// What RocksDB has by name. A name it does not know is an error: nothing is compacted by another order or operator.
template <typename T, typename Pointer>
std::string by_name(const char* what, const std::string& name, Pointer* result) {
  if (name.empty()) return "";
  const rocksdb::Status status = T::CreateFromString(rocksdb::ConfigOptions(), name, result);
  return status.ok() ? "" : fmt::format("{} {} is not known here: {}", what, name, status.ToString());
}

std::string unsupported(const proto::Start& start, rocksdb::CompactionServiceOptionsOverride& options) {
  const std::string here = rocksdb::GetRocksVersionAsString(true);
  if (!same_release(start.rocksdb(), here))
    return fmt::format("RocksDB {} there, {} here: the minor release must be the same", start.rocksdb(), here);
  const auto& table = start.table();
  if (!table.compaction_filter().empty()) return "compaction filters do not run here: " + table.compaction_filter();
  std::string error = by_name<rocksdb::Comparator>("comparator", table.comparator(), &options.comparator);
  if (error.empty())
    error = by_name<rocksdb::MergeOperator>("merge operator", table.merge_operator(), &options.merge_operator);
  if (error.empty())
    error =
        by_name<const rocksdb::SliceTransform>("prefix extractor", table.prefix_extractor(), &options.prefix_extractor);
  if (error.empty())
    error = by_name<rocksdb::TableFactory>("table format", table.table_factory(), &options.table_factory);
  return error;
}

rocksdb::Status compact(const proto::Start& start, PrimaryLink& primary, const std::string& scratch,
                        std::string* output) {
  rocksdb::CompactionServiceOptionsOverride options;
  if (const std::string why = unsupported(start, options); !why.empty()) return rocksdb::Status::NotSupported(why);
  std::unique_ptr<SharedFolder> shared;
  std::string why;  // its tables go by streams, then
  if (start.has_shared()) shared = SharedFolder::open(start.shared(), why);
  const auto files = std::make_shared<RemoteFileSystem>(
      primary, RemoteFileSystem::Folders{.database = start.database(), .output = start.output(), .scratch = scratch},
      std::move(shared));
  const std::unique_ptr<rocksdb::Env> env = rocksdb::NewCompositeEnv(files);
  options.env = env.get();
  return rocksdb::DB::OpenAndCompact(start.database(), start.output(), start.input(), output, options);
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
  // A lost primary leaves nothing to finish; RocksDB may be deep in a computation.
  PrimaryLink primary(pipe, std::move(data), [] { ::_exit(4); });
  proto::FromWorker message;
  auto& result = *message.mutable_result();
  {
    const Heart heart(primary);
    try {
      const rocksdb::Status status = compact(first.start(), primary, scratch, result.mutable_output());
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
