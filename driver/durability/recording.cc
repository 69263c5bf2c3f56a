#include "recording.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <atomic>
#include <cstddef>
#include <cstring>
#include <exception>
#include <mutex>
#include <system_error>
#include <thread>
#include <type_traits>

#include "adapters/adapter_options.h"
#include "disk.h"
#include "system/check.h"
#include "system/random.h"
#include "system/run_failure.h"
#include "system/system.h"
#include "system/usage_error.h"

namespace edgejoule::driver {
namespace {

using namespace std::chrono_literals;
namespace fs = std::filesystem;

constexpr std::uint64_t gib = 1024ULL * 1024 * 1024;
constexpr std::uint64_t trace_data_bytes_max = sizeof(void*) == 8 ? 8 * gib : gib / 2;
constexpr std::uint64_t trace_entries_max = sizeof(void*) == 8 ? 16'000'000 : 1'000'000;
constexpr auto recording_limit = 1h;

// Positions are stored plus one; 0 means never.
struct SharedWrite {
  std::atomic<std::uint64_t> begun;
  std::atomic<std::uint64_t> acknowledged;
  std::uint64_t acknowledged_ns;
};
static_assert(sizeof(SharedWrite) == 24 && std::is_standard_layout_v<SharedWrite>);
static_assert(std::atomic<std::uint64_t>::is_always_lock_free, "shared between processes");

constexpr std::size_t background_max = 4096;
// Attempts for a write while the database is busy; each waits as long as the adapter does.
constexpr int tries_max = 10;
constexpr std::size_t text_bytes = 1024;

// The results that the writing process leaves in shared memory for its parent.
struct SharedSummary {
  bool asked_wrongly;
  std::uint64_t end_position;
  std::uint64_t background_count;
  std::uint64_t background_ns[background_max][2];
  char version[text_bytes];
  char durability_how[text_bytes];
};
static_assert(std::is_trivially_copyable_v<SharedSummary> && std::is_standard_layout_v<SharedSummary>);
static_assert(offsetof(SharedSummary, version) == 24 + sizeof(SharedSummary::background_ns));

void copy_text(char (&place)[text_bytes], const std::string& text) {
  std::strncpy(place, text.c_str(), text_bytes - 1);
}

// The kernel may write dirty pages at any moment, but rarely within a test of seconds. This call asks it to: pages
// reach the disk without a flush.
void write_back(const fs::path& directory) {
  std::error_code failure;  // files may vanish meanwhile
  for (const auto& entry : fs::recursive_directory_iterator(directory, failure)) {
    if (!entry.is_regular_file(failure)) continue;
    const int file = open(entry.path().c_str(), O_RDONLY | O_CLOEXEC);
    if (file < 0) continue;
    sync_file_range(file, 0, 0, SYNC_FILE_RANGE_WRITE);
    close(file);
  }
}

void sync_file_system(const fs::path& directory) {
  const int place = open(directory.c_str(), O_RDONLY | O_CLOEXEC);
  const bool synced = place >= 0 && syncfs(place) == 0;
  const int failure = errno;
  if (place >= 0) close(place);
  if (!synced) throw std::system_error(failure, std::generic_category(), "sync of the file system");
}

// Performs the stream of writes on one database, in the process that ends with the disk.
class Writer {
 public:
  Writer(const DatabaseSetting& setting, const StreamShape& shape, const std::vector<WriteOperation>& stream,
         const BlockTrace& trace, std::span<SharedWrite> writes, SharedSummary& summary, fs::path directory)
      : setting_(setting),
        shape_(shape),
        stream_(stream),
        trace_(trace),
        writes_(writes),
        summary_(summary),
        directory_(std::move(directory)) {}

  void run() {
    const auto database = setting_.adapter->make();
    open(*database);
    copy_text(summary_.version, database->version());
    copy_text(summary_.durability_how, database->durability_how());
    if (setting_.durability != Durability::power) settle_creation(*database);
    write_all(*database);
    if (const auto failure = database->close(); !failure.empty()) throw DatabaseError(failure);
    summary_.end_position = trace_.size();
    if (failure_) std::rethrow_exception(failure_);
  }

 private:
  void open(Database& database) {
    try {
      database.open(setting_.properties, setting_.durability, true,
                    [this](const DatabaseEvent& event) { note_background(event); });
    } catch (const UsageError&) {
      summary_.asked_wrongly = true;
      throw;
    }
  }

  // Without this, a class without a promise for power cuts would lose the whole database in the first seconds, and the
  // test would show nothing else.
  void settle_creation(Database& database) const {
    if (database.flush() != Status::ok) throw DatabaseError(database.flush_error());
    sync_file_system(directory_);
  }

  void note_background(const DatabaseEvent& event) {
    const std::lock_guard guard(background_lock_);
    if (summary_.background_count == background_max) return;
    auto& span = summary_.background_ns[summary_.background_count++];
    span[0] = event.begin_monotonic_ns;
    span[1] = event.duration_ns > 0 ? event.begin_monotonic_ns + static_cast<std::uint64_t>(event.duration_ns)
                                    : now_monotonic_ns();
  }

  void write_all(Database& database) {
    std::vector<std::unique_ptr<Session>> sessions;
    for (unsigned thread = 0; thread < shape_.threads; ++thread) sessions.push_back(database.session());
    std::vector<std::jthread> threads;
    for (unsigned thread = 1; thread < shape_.threads; ++thread) {
      threads.emplace_back([&, thread] { write_share(*sessions[thread], thread); });
    }
    write_share(*sessions[0], 0);
  }

  void write_share(Session& session, unsigned thread) {
    try {
      auto content = row_content(setting_.properties, shape_.seed);
      Random random(shape_.seed + thread);
      for (std::size_t number = thread; number < stream_.size() && !failed_; number += shape_.threads) {
        if (thread == 0) act_as_kernel(random);
        write(session, content, number);
      }
    } catch (...) {
      if (!failed_.exchange(true)) failure_ = std::current_exception();
    }
  }

  void act_as_kernel(Random& random) const {
    constexpr std::uint64_t writes_per_write_back = 40;
    constexpr std::uint64_t writes_per_sync = 150;
    if (random.below(writes_per_write_back) == 0) write_back(directory_);
    // If the database does not sync, an occasional sync from outside creates a state after which later writes can be
    // lost.
    if (setting_.durability != Durability::power && random.below(writes_per_sync) == 0) sync_file_system(directory_);
  }

  void write(Session& session, RowContent& content, std::size_t number) {
    const auto& operation = stream_[number];
    const auto key = stream_key(operation.key);
    const auto row = content.row(operation.key, operation.version);
    auto& times = writes_[number];
    times.begun = trace_.size() + 1;
    auto status = carry_out(session, operation.kind, key, row);
    for (int tries = 1; status == Status::busy && tries < tries_max; ++tries) {
      status = carry_out(session, operation.kind, key, row);
    }
    if (status != Status::ok) {
      throw DatabaseError(fmt::format("write {} ({}) failed: {}{}", number, key, session.error(),
                                      trace_.full() ? "; the trace is full: give fewer --operations" : ""));
    }
    times.acknowledged_ns = now_monotonic_ns();
    times.acknowledged = trace_.size() + 1;
  }

  static Status carry_out(Session& session, WriteOperation::Kind kind, std::string_view key, Fields row) {
    switch (kind) {
      case WriteOperation::Kind::insert:
        return session.insert(key, row);
      case WriteOperation::Kind::update:
        return session.update(key, row);
      case WriteOperation::Kind::remove:
        return session.remove(key);
    }
    return Status::error;
  }

  const DatabaseSetting& setting_;
  const StreamShape& shape_;
  const std::vector<WriteOperation>& stream_;
  const BlockTrace& trace_;
  std::span<SharedWrite> writes_;
  SharedSummary& summary_;
  fs::path directory_;
  std::mutex background_lock_;
  std::atomic<bool> failed_ = false;
  std::exception_ptr failure_;
};

std::optional<std::uint64_t> position_of(const std::atomic<std::uint64_t>& kept) {
  const auto value = kept.load();
  return value == 0 ? std::nullopt : std::optional(value - 1);
}

std::vector<PerformedWrite> performed(const std::vector<WriteOperation>& stream, std::span<const SharedWrite> writes) {
  std::vector<PerformedWrite> performed;
  for (std::size_t number = 0; number < stream.size(); ++number) {
    const auto& times = writes[number];
    performed.push_back(
        {stream[number], position_of(times.begun), position_of(times.acknowledged), times.acknowledged_ns});
  }
  return performed;
}

std::vector<Positions> background_of(const BlockTrace& trace, const SharedSummary& summary) {
  std::vector<Positions> background;
  for (std::uint64_t number = 0; number < summary.background_count; ++number) {
    const auto& span = summary.background_ns[number];
    const Positions positions{trace.position_at(span[0]), trace.position_at(span[1])};
    if (positions.begin < positions.end) background.push_back(positions);
  }
  return background;
}

void check_disk(const Disk& disk, const BlockTrace& trace) {
  const auto missed = disk.missed_requests(trace);
  if (missed.empty()) return;
  throw RunFailure(
      RunFailure::Kind::system,
      fmt::format("the disk had not received {} when the kernel reported it done: on this kernel the test would "
                  "prove nothing",
                  missed));
}

}  // namespace

RowContent row_content(const Properties& properties, std::uint64_t seed) {
  constexpr std::uint64_t ycsb_field_bytes = 100;
  return {workload_field_names(properties), properties.get_u64("fieldlength", ycsb_field_bytes), seed};
}

Recording record(const DatabaseSetting& setting, const TestDisk& disk, const StreamShape& shape,
                 const Workplace& workplace) {
  const auto stream = operation_stream(shape.operations, shape.threads, shape.seed);
  const SharedMemory write_memory("writes", stream.size() * sizeof(SharedWrite));
  const std::span writes(reinterpret_cast<SharedWrite*>(write_memory.bytes().data()), stream.size());
  const SharedMemory summary_memory("summary", sizeof(SharedSummary));
  auto& summary = *reinterpret_cast<SharedSummary*>(summary_memory.bytes().data());

  Recording recording;
  recording.base = std::make_unique<SharedMemory>("disk", disk.bytes);
  recording.trace = std::make_unique<BlockTrace>(trace_entries_max, trace_data_bytes_max);
  make_file_system(disk.file_system.name, recording.base->path());
  const Disk device({recording.base.get(), {}, recording.trace.get()}, workplace.disk());
  check_disk(device, *recording.trace);
  ChildProcess writing([&] {
    const PrivateMount mounted(disk.file_system, device.device(), workplace.files());
    Writer(setting, shape, stream, *recording.trace, writes, summary, workplace.files()).run();
  });
  if (const auto failure = writing.wait(recording_limit); !failure.empty()) {
    if (summary.asked_wrongly) throw UsageError(failure);
    throw RunFailure(RunFailure::Kind::database, fmt::format("recording {}: {}", setting.adapter->name, failure));
  }
  recording.writes = performed(stream, writes);
  recording.keys = key_count(stream);
  EJ_CHECK(summary.end_position <= recording.trace->size(), summary.end_position, recording.trace->size());
  EJ_CHECK(summary.background_count <= background_max, summary.background_count);
  recording.end_position = summary.end_position;
  recording.background = background_of(*recording.trace, summary);
  recording.version = summary.version;
  recording.durability_how = summary.durability_how;
  return recording;
}

}  // namespace edgejoule::driver
