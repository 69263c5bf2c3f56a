#include "worker.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <grpcpp/server_builder.h>
#include <sys/file.h>
#include <unistd.h>

#include <atomic>
#include <condition_variable>
#include <cstring>
#include <filesystem>
#include <future>
#include <mutex>
#include <optional>
#include <set>
#include <stdexcept>
#include <thread>

#include "data_channel.h"
#include "data_port.h"
#include "eco.grpc.pb.h"
#include "job_process.h"
#include "primary_clock.h"

namespace eco {
namespace {

namespace fs = std::filesystem;
constexpr std::chrono::seconds farewell{5};
constexpr int connection_ms = 1000;

using Stream = grpc::ServerReaderWriter<proto::FromWorker, proto::FromPrimary>;

// The scratch folder of one worker, with a subfolder per job.
class Scratch {
 public:
  explicit Scratch(fs::path folder) : folder_(std::move(folder)) {
    if (folder_.empty()) throw std::runtime_error("a worker requires a scratch folder");
    fs::create_directories(folder_);
    const std::string lock = folder_ / "lock";
    lock_ = ::open(lock.c_str(), O_CREAT | O_RDWR | O_CLOEXEC, 0644);
    if (lock_ < 0) throw std::runtime_error(fmt::format("{}: {}", lock, std::strerror(errno)));
    if (::flock(lock_, LOCK_EX | LOCK_NB) != 0) {
      ::close(lock_);
      throw std::runtime_error(folder_.string() + ": another worker uses this folder");
    }
    for (const auto& left : fs::directory_iterator(folder_))
      if (left.path().filename().string().starts_with("job-")) fs::remove_all(left.path());
  }
  ~Scratch() { ::close(lock_); }
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;

  [[nodiscard]] fs::path next() { return folder_ / fmt::format("job-{}", ++last_); }

 private:
  fs::path folder_;
  int lock_ = -1;
  std::atomic<std::uint64_t> last_{0};
};

class JobFolder {
 public:
  explicit JobFolder(fs::path path) : path_(std::move(path)) { fs::create_directories(path_); }
  ~JobFolder() {
    std::error_code ignored;  // a failure is left to the next worker
    fs::remove_all(path_, ignored);
  }
  JobFolder(const JobFolder&) = delete;
  JobFolder& operator=(const JobFolder&) = delete;
  [[nodiscard]] std::string string() const { return path_.string(); }

 private:
  fs::path path_;
};

// Admits jobs to slots and a queue, and ends them all at shutdown.
class Slots {
 public:
  Slots(std::uint32_t slots, std::uint32_t queue_max) : slots_(slots), queue_max_(queue_max) {}

  // False: the queue is full, or new jobs are refused.
  [[nodiscard]] bool enter() {
    const std::lock_guard lock(mutex_);
    if (draining_ || closed_ || jobs_ >= slots_ + queue_max_) return false;
    ++jobs_;
    return true;
  }
  // Waits at most this long for a slot. True: the job has a slot.
  [[nodiscard]] bool begin(std::chrono::milliseconds at_most) {
    std::unique_lock lock(mutex_);
    if (!change_.wait_for(lock, at_most, [this] { return running_ < slots_ || closed_; }) || closed_) return false;
    ++running_;
    return true;
  }
  void leave(bool ran) {
    {
      const std::lock_guard lock(mutex_);
      --jobs_;
      if (ran) --running_;
    }
    change_.notify_all();
  }
  void close() {
    {
      const std::lock_guard lock(mutex_);
      closed_ = true;
    }
    change_.notify_all();
  }
  void drain(bool on) {
    const std::lock_guard lock(mutex_);
    draining_ = on;
  }
  [[nodiscard]] std::uint32_t jobs() {
    const std::lock_guard lock(mutex_);
    return jobs_;
  }

 private:
  std::mutex mutex_;
  std::condition_variable change_;
  std::uint32_t slots_, queue_max_, jobs_ = 0, running_ = 0;
  bool draining_ = false, closed_ = false;
};

// Holds a job's slot.
class Turn {
 public:
  explicit Turn(Slots& slots) : slots_(slots), entered_(slots.enter()) {}
  ~Turn() {
    if (entered_) slots_.leave(began_);
  }
  Turn(const Turn&) = delete;
  Turn& operator=(const Turn&) = delete;
  [[nodiscard]] bool entered() const { return entered_; }
  [[nodiscard]] bool begin(std::chrono::milliseconds at_most) { return began_ = slots_.begin(at_most); }

 private:
  Slots& slots_;
  bool entered_, began_ = false;
};

Job features_of(const proto::JobFeatures& features) {
  return {.input_bytes = features.input_bytes(), .input_entries = features.input_entries(), .codec = features.codec()};
}

}  // namespace

class Worker::Impl final : public proto::Worker::Service {
 public:
  explicit Impl(WorkerOptions options)
      : options_(std::move(options)), scratch_(options_.scratch), slots_(options_.slots, options_.queue_max) {
    if (options_.slots == 0) throw std::runtime_error("a worker requires at least one slot");
    if (options_.tls.none() && !is_loopback(options_.listen))
      throw std::runtime_error(options_.listen + ": beyond loopback a worker requires TLS (ca, certificate, key)");
    if (options_.command.empty()) options_.command = {fs::read_symlink("/proc/self/exe").string(), "job"};
    grpc::ServerBuilder builder;
    builder.AddListeningPort(options_.listen, server_credentials(options_.tls), &port_);
    builder.RegisterService(this);
    builder.AddChannelArgument(GRPC_ARG_ALLOW_REUSEPORT, 0);
    // Ends the job of a primary that disappears without closing the connection.
    builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_TIME_MS, 10'000);
    builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_TIMEOUT_MS, 10'000);
    builder.AddChannelArgument(GRPC_ARG_HTTP2_MAX_PINGS_WITHOUT_DATA, 0);
    server_ = builder.BuildAndStart();
    if (!server_ || port_ == 0) throw std::runtime_error(options_.listen + ": cannot listen there");
    if (const std::string host = host_of(options_.listen); !host.empty())
      data_port_ = std::make_unique<DataPort>(host, options_.data_port);
  }

  ~Impl() override {
    slots_.close();
    {
      const std::lock_guard lock(mutex_);
      for (JobProcess* process : running_) process->kill();
    }
    server_->Shutdown(std::chrono::system_clock::now());  // killed jobs need no grace period
    server_->Wait();
  }

  grpc::Status Compact(grpc::ServerContext* context, Stream* stream) override {
    try {
      return compact(*context, *stream);
    } catch (const std::exception& error) {
      return {grpc::StatusCode::INTERNAL, error.what()};
    }
  }

  [[nodiscard]] int port() const { return port_; }
  [[nodiscard]] std::uint32_t jobs() { return slots_.jobs(); }
  void drain(bool on) { slots_.drain(on); }

 private:
  grpc::Status compact(grpc::ServerContext& context, Stream& stream) {
    proto::FromPrimary first;
    if (!stream.Read(&first) || !first.has_start())
      return {grpc::StatusCode::INVALID_ARGUMENT, "a job begins with start"};
    first.mutable_start()->set_received_s(steady_s());
    const proto::Start& start = first.start();
    if (!options_.token.empty() && start.token() != options_.token)
      return {grpc::StatusCode::UNAUTHENTICATED, "the token is wrong"};
    if (options_.admit)
      if (const std::string why = options_.admit(start); !why.empty())
        return {grpc::StatusCode::FAILED_PRECONDITION, why};
    Turn turn(slots_);
    if (!turn.entered()) return {grpc::StatusCode::RESOURCE_EXHAUSTED, "no slot is free"};
    while (!turn.begin(std::chrono::milliseconds(200))) {
      proto::FromWorker alive;
      alive.mutable_progress();
      if (context.IsCancelled() || !stream.Write(alive)) return grpc::Status::CANCELLED;
    }
    return run(context, stream, first);
  }

  // Offers the primary a connection for the tables. False: the connection to the primary is lost or sent a wrong
  // answer.
  bool connect(Stream& stream, proto::Start& start, Fd& connection) {
    start.clear_data_key();
    start.mutable_shared()->clear_root();
    if (!locate(options_.shared, *start.mutable_shared())) start.clear_shared();
    if (!start.data_channel()) return true;
    std::optional<DataPort::Claim> claim;
    proto::FromWorker message;
    auto& offer = *message.mutable_offer();
    if (data_port_) {
      claim.emplace(*data_port_);
      offer.set_port(static_cast<std::uint32_t>(data_port_->port())), offer.set_ticket(claim->ticket());
      if (!options_.tls.none()) offer.set_key(random_bytes(DataChannel::key_bytes));
    }
    proto::FromPrimary answer;
    if (!stream.Write(message) || !stream.Read(&answer) || !answer.has_data()) return false;
    // The primary has connected, so the connection arrives or is lost; then the job must fail.
    if (claim && answer.data().connected() && !(connection = claim->wait(connection_ms))) return false;
    start.set_data_channel(static_cast<bool>(connection));
    if (connection) start.set_data_key(offer.key());
    return true;
  }

  grpc::Status run(grpc::ServerContext& context, Stream& stream, proto::FromPrimary& first) {
    Fd connection;
    if (!connect(stream, *first.mutable_start(), connection))
      return {grpc::StatusCode::ABORTED, "the data connection was lost"};
    const JobFolder folder(scratch_.next());
    JobProcess process(options_.command, folder.string(), std::move(connection),
                       {.nice = options_.nice, .cgroup = options_.cgroup, .cpu_s_max = options_.job_cpu_s_max});
    const Running running(*this, process);
    if (!process.pipe().send(first)) return {grpc::StatusCode::INTERNAL, "the job's process did not start"};
    std::promise<void> primary_left;
    std::thread inbound([&] {
      for (proto::FromPrimary message; stream.Read(&message);)
        if (!process.pipe().send(message)) break;
      // The primary has its result or is gone: the process is no longer needed.
      process.pipe().shut();
      primary_left.set_value();
    });
    bool done = false, heard = true;
    for (proto::FromWorker message; !done && heard && process.pipe().receive(message);) {
      if (message.has_result()) {
        done = true;
        settle(first.start(), *message.mutable_result());
      }
      heard = stream.Write(message);
    }
    grpc::Status status = grpc::Status::OK;
    if (!done) {
      process.kill();
      const std::string end = process.wait();
      status = {grpc::StatusCode::ABORTED, "the job's process ended: " + end};
    }
    // The primary closes its side when it has the result. One that does not must not hold the slot.
    const bool left = done && heard && primary_left.get_future().wait_for(farewell) == std::future_status::ready;
    if (!left) context.TryCancel();
    inbound.join();
    return status;
  }

  void settle(const proto::Start& start, proto::Result& result) {
    const std::uint64_t moved = result.bytes_moved() + result.bytes_shared();
    if (options_.energy_of) {
      const Energy energy = options_.energy_of(result.cpu_s(), result.compute_s(), moved);
      result.set_energy_j(energy.joules), result.set_energy_method(energy.method);
    }
    if (options_.finished)
      options_.finished({.job = start.job(),
                         .features = features_of(start.features()),
                         .cost = {.compute_s = result.compute_s(), .energy_j = result.energy_j()},
                         .network_s = result.network_s(),
                         .cpu_s = result.cpu_s(),
                         .bytes_moved = moved,
                         .error = result.error()});
  }

  // Killed at shutdown.
  class Running {
   public:
    Running(Impl& worker, JobProcess& process) : worker_(worker), process_(process) {
      const std::lock_guard lock(worker_.mutex_);
      worker_.running_.insert(&process_);
    }
    ~Running() {
      const std::lock_guard lock(worker_.mutex_);
      worker_.running_.erase(&process_);
    }
    Running(const Running&) = delete;
    Running& operator=(const Running&) = delete;

   private:
    Impl& worker_;
    JobProcess& process_;
  };

  WorkerOptions options_;
  Scratch scratch_;
  Slots slots_;
  std::mutex mutex_;
  std::set<JobProcess*> running_;
  int port_ = 0;
  std::unique_ptr<DataPort> data_port_;
  std::unique_ptr<grpc::Server> server_;
};

Worker::Worker(WorkerOptions options) : impl_(std::make_unique<Impl>(std::move(options))) {}
Worker::~Worker() = default;
int Worker::port() const { return impl_->port(); }
std::uint32_t Worker::jobs() const { return impl_->jobs(); }
void Worker::drain(bool on) { impl_->drain(on); }

}  // namespace eco
