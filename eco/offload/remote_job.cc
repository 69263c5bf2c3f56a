#include "remote_job.h"

#include <fmt/format.h>
#include <grpcpp/client_context.h>
#include <rocksdb/env.h>
#include <rocksdb/system_clock.h>
#include <signal.h>
#include <time.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <map>
#include <mutex>
#include <random>
#include <set>
#include <thread>
#include <utility>
#include <vector>

#include "data_channel.h"
#include "eco.grpc.pb.h"
#include "served_files.h"

namespace eco {
namespace {

constexpr std::chrono::milliseconds poll_interval{50};
constexpr int connect_ms = 500;
constexpr std::size_t part_bytes = 256 << 10;  // fits in a core's cache from receipt to write

double now_s() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

double thread_cpu_s() {
  timespec t{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return static_cast<double>(t.tv_sec) + 1e-9 * static_cast<double>(t.tv_nsec);
}

}  // namespace

class RemoteJob::Impl {
 public:
  explicit Impl(Order order)
      : order_(std::move(order)),
        served_(order_.files, order_.database),
        staging_(order_.files, order_.database, order_.staging, 2 * order_.input_bytes + (64 << 20)),
        begin_s_(now_s()),
        patience_(order_.limits, order_.input_bytes, begin_s_) {
    order_.start.set_output(staging_.folder());
    order_.start.set_data_channel(!order_.data_host.empty());
    order_.expected.folder = staging_.folder();
    order_.expected.begun_s = unix_time_s();
    verifier_ = std::thread([this] { in_thread([this] { verify_tables(); }); });
    talker_ = std::thread([this] { in_thread([this] { talk(); }); });
  }

  ~Impl() { end(); }

  Outcome wait() {
    while (!over(poll_interval)) continue;
    end();
    Outcome outcome{.failure = failure_,
                    .result = std::move(*result_.mutable_output()),
                    .worker = std::move(result_),
                    .cancelled = cancelled_,
                    .job_refused = job_refused_,
                    .data_refused = data_refused_,
                    .wall_s = now_s() - begin_s_,
                    .home_cpu_s = home_cpu_s_,
                    .bytes_moved = served_bytes_ + staging_.bytes()};
    if (outcome.failure.empty()) outcome.failure = why_not(outcome.result);
    outcome.bytes_shared = outcome.worker.bytes_shared();
    if (outcome.worker.cpu_s() <= 0) outcome.worker.set_cpu_s(worker_cpu_s_);
    return outcome;
  }

  void cancel(const std::string& why) {
    const std::lock_guard lock(mutex_);
    if (!failed() && !verified_) cancelled_ = true;
    fail_locked(why);
  }

 private:
  // Waits at most this long. True: the job has failed, or its tables are verified.
  bool over(std::chrono::milliseconds at_most) {
    std::unique_lock lock(mutex_);
    const auto is = [this] { return failed() || verified_; };
    if (!is())
      if (std::string why = patience_.exhausted(now_s()); !why.empty()) fail_locked(std::move(why));
    return change_.wait_for(lock, at_most, is);
  }

  template <typename Work>
  void in_thread(Work work) {
    try {
      work();
    } catch (const std::exception& error) {
      fail(error.what());
    }
    const std::lock_guard lock(mutex_);
    home_cpu_s_ += thread_cpu_s();
  }

  [[nodiscard]] bool failed() const { return !failure_.empty(); }

  void fail(std::string why) {
    const std::lock_guard lock(mutex_);
    fail_locked(std::move(why));
  }
  void fail_locked(std::string why) {
    if (failed() || verified_) return;
    failure_ = std::move(why);
    hang_up_locked();
    change_.notify_all();
  }
  void hang_up_locked() {
    context_.TryCancel();
    if (data_) data_->shut();
  }

  void end() {
    {
      const std::lock_guard lock(mutex_);
      if (!verified_ && !failed()) failure_ = "given up";
      hang_up_locked();
    }
    change_.notify_all();
    if (talker_.joinable()) talker_.join();
    if (carrier_.joinable()) carrier_.join();
    if (verifier_.joinable()) verifier_.join();
  }

  // --- the stream

  void talk() {
    if (auto status = staging_.begin(); !status.ok()) return fail("staging: " + status.ToString());
    share();
    const auto stub = proto::Worker::NewStub(order_.worker);
    const auto stream = stub->Compact(&context_);
    proto::FromPrimary first;
    *first.mutable_start() = order_.start;
    first.mutable_start()->set_unix_time_s(unix_time_s());
    bool going = stream->Write(first);
    for (proto::FromWorker message; going && stream->Read(&message);) going = take(message, *stream);
    stream->WritesDone();
    const grpc::Status status = stream->Finish();
    if (order_.start.has_shared()) staging_.remove(order_.start.shared().proof());
    const std::lock_guard lock(mutex_);
    if (!received_) fail_locked(fmt::format("the worker: {}", status.ok() ? "no result" : status.error_message()));
  }

  // Creates the proof file by which the worker recognizes the shared folder.
  void share() {
    if (!order_.start.has_shared()) return;
    auto& shared = *order_.start.mutable_shared();
    std::random_device random;
    shared.set_proof(fmt::format("proof-{:08x}{:08x}", random(), random()));
    shared.set_staging(staging_.folder().substr(order_.database.size() + 1));
    if (!staging_.make(shared.proof()).ok()) order_.start.clear_shared();
  }

  using Stream = grpc::ClientReaderWriter<proto::FromPrimary, proto::FromWorker>;

  // False: ends the stream.
  bool take(proto::FromWorker& message, Stream& stream) {
    {
      const std::lock_guard lock(mutex_);
      patience_.heard(now_s());
    }
    // Tables on both connections would make two threads serve, receive and count. Only this thread reads and starts
    // carrier_.
    if (carrier_.joinable() && (message.has_read() || message.has_output() || message.has_offer())) {
      fail("the worker uses the stream for tables beside its data connection");
      return false;
    }
    switch (message.message_case()) {
      case proto::FromWorker::kList:
        answer_.Clear();
        return reply(served_.answer(message.list(), answer_), stream);
      case proto::FromWorker::kRead:
        return reply(served_.answer(message.read(), answer_), stream);
      case proto::FromWorker::kOutput:
        return store(message.output(), message.output().data(), message.output().last());
      case proto::FromWorker::kProgress: {
        const std::lock_guard lock(mutex_);
        patience_.progressed(now_s(), message.progress().input_bytes_read(), message.progress().output_bytes());
        worker_cpu_s_ = std::max(worker_cpu_s_, message.progress().cpu_s());
        return true;
      }
      case proto::FromWorker::kResult:
        finish(std::move(*message.mutable_result()));
        return false;
      case proto::FromWorker::kOffer:
        answer_.Clear();
        data_refused_ = !connect(message.offer());
        answer_.mutable_data()->set_connected(!data_refused_);
        return stream.Write(answer_);
      case proto::FromWorker::MESSAGE_NOT_SET:
        break;
    }
    fail("the worker sent an invalid message");
    return false;
  }

  bool reply(bool answered, Stream& stream) {
    if (!answered) {
      fail("the worker requests something that is not served");
      return false;
    }
    // Only for reads: with a data connection its thread changes served_bytes_ while this thread answers lists.
    if (answer_.has_bytes()) served_bytes_ += answer_.bytes().data().size();
    return stream.Write(answer_);
  }

  bool store(const proto::Output& output, const rocksdb::Slice& data, bool last, std::uint64_t after = 0) {
    std::string complete;
    rocksdb::IOStatus status;
    if (!output.shared()) {
      status = staging_.receive(output.file(), output.offset() + after, data, last, &complete);
    } else if (!order_.start.has_shared()) {
      status = rocksdb::IOStatus::InvalidArgument("no folder is shared", output.file());
    } else {
      status = staging_.adopt(output.file(), output.offset());
      complete = output.file();
    }
    if (!status.ok()) {
      fail("staging: " + status.ToString());
      return false;
    }
    if (!complete.empty()) {
      const std::lock_guard lock(mutex_);
      if (output.shared()) adopted_.insert(complete);
      arrived_.push_back(std::move(complete));
      change_.notify_all();
    }
    return true;
  }

  // --- the data connection

  bool connect(const proto::DataOffer& offer) {
    // Refuses plain text if the stream is encrypted, and the reverse.
    if (offer.port() == 0 || offer.port() > 65535 || order_.tls == offer.key().empty()) return false;
    Fd fd = connect_tcp(order_.data_host, static_cast<int>(offer.port()), connect_ms);
    if (!fd || !write_all(fd.get(), offer.ticket().data(), offer.ticket().size())) return false;
    const std::lock_guard lock(mutex_);
    if (failed()) return false;
    carrier_ = std::thread(
        [this, fd = std::move(fd), key = offer.key()]() mutable { in_thread([&] { carry(std::move(fd), key); }); });
    return true;
  }

  void carry(Fd fd, const std::string& key) {
    // A lost worker during sendfile must not end the application by SIGPIPE.
    sigset_t pipe;
    sigemptyset(&pipe), sigaddset(&pipe, SIGPIPE);
    pthread_sigmask(SIG_BLOCK, &pipe, nullptr);
    std::string why;
    auto opened = DataChannel::over(std::move(fd), DataChannel::Side::primary, key, why);
    if (!opened) return fail(why);
    {
      const std::lock_guard lock(mutex_);
      data_ = std::move(opened);
      if (failed()) return;
    }
    std::vector<char> buffer(part_bytes);
    std::size_t bytes = 0;
    bool going = true;
    for (proto::FromWorker message; going && data_->receive(message, bytes);) {
      if (message.has_read() && bytes == 0)
        going = served_.answer(message.read(), *data_, served_bytes_);
      else if (message.has_output())
        going = store_parts(message.output(), bytes, buffer);
      else
        going = false;
    }
    if (!going || !data_->ended()) fail("the data connection broke");
  }

  bool store_parts(const proto::Output& output, std::size_t bytes, std::vector<char>& buffer) {
    std::size_t done = 0;
    do {
      const std::size_t part = std::min(bytes - done, buffer.size());
      if (!data_->receive_payload(buffer.data(), part)) return false;
      if (!store(output, rocksdb::Slice(buffer.data(), part), output.last() && done + part == bytes, done))
        return false;
      done += part;
    } while (done < bytes);
    return true;
  }

  void finish(proto::Result result) {
    if (!result.error().empty()) {
      const std::lock_guard lock(mutex_);
      job_refused_ = result.job_refused() && !failed();
      return fail_locked("the worker: " + result.error());
    }
    if (carrier_.joinable()) carrier_.join();  // waits for the last outputs
    if (!staging_.all_complete()) return fail("the worker left a table incomplete");
    const std::lock_guard lock(mutex_);
    result_ = std::move(result);
    received_ = true;
    patience_.received();
    change_.notify_all();
  }

  // --- the outputs

  void verify_tables() {
    std::unique_lock lock(mutex_);
    while (true) {
      change_.wait(lock, [this] { return failed() || !arrived_.empty() || received_; });
      if (failed()) return;
      if (arrived_.empty()) break;
      const std::string name = std::move(arrived_.front());
      arrived_.pop_front();
      const bool adopted = adopted_.contains(name);
      lock.unlock();
      std::string why;
      auto facts = verify_table(order_.table_format, staging_.folder() + '/' + name, why);
      if (facts)
        if (auto status = staging_.sync(name, adopted); !status.ok()) why = status.ToString();
      lock.lock();
      if (!why.empty()) return fail_locked(fmt::format("{}: {}", name, why));
      tables_.emplace(name, std::move(*facts));
    }
    verified_ = true;
    change_.notify_all();
  }

  // Time of the database's clock.
  [[nodiscard]] std::int64_t unix_time_s() const {
    std::int64_t seconds = 0;
    (void)order_.table_format.env->GetSystemClock()->GetCurrentTime(&seconds);
    return seconds;
  }

  [[nodiscard]] std::string why_not(const std::string& text) {
    std::string why;
    order_.expected.now_s = unix_time_s();
    const auto result = read_result(order_.form, text, why);
    if (!result) return "the result: " + why;
    why = verify_result(*result, tables_, order_.expected);
    return why.empty() ? "" : "the result: " + why;
  }

  Order order_;
  ServedFiles served_;
  Staging staging_;
  grpc::ClientContext context_;
  proto::FromPrimary answer_;
  double begin_s_;

  std::mutex mutex_;
  std::condition_variable change_;
  Patience patience_;
  std::string failure_;
  proto::Result result_;
  bool received_ = false, verified_ = false, cancelled_ = false, job_refused_ = false;
  std::deque<std::string> arrived_;
  std::set<std::string> adopted_;
  std::map<std::string, TableFacts> tables_;
  double home_cpu_s_ = 0, worker_cpu_s_ = 0;
  std::uint64_t served_bytes_ = 0;

  std::unique_ptr<DataChannel> data_;
  bool data_refused_ = false;

  std::thread talker_, carrier_, verifier_;
};

RemoteJob::RemoteJob(Order order) : impl_(std::make_unique<Impl>(std::move(order))) {}
RemoteJob::~RemoteJob() = default;
RemoteJob::Outcome RemoteJob::wait() { return impl_->wait(); }
void RemoteJob::cancel(const std::string& why) { impl_->cancel(why); }

}  // namespace eco
