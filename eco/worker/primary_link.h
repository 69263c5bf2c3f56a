// The job process's link to its primary: sends questions, outputs, progress and the result. Measures the time that the
// compaction waits for the primary.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <future>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <unordered_map>

#include "data_channel.h"
#include "eco.pb.h"
#include "message_pipe.h"

namespace eco {

class PrimaryLink {
 public:
  using Answer = std::optional<proto::FromPrimary>;  // nothing: the primary is lost

  // data: the job's data connection for reads and outputs; nullptr: everything goes through the pipe.
  // on_loss: called by another thread if the primary is lost before finish().
  PrimaryLink(MessagePipe& pipe, std::unique_ptr<DataChannel> data, std::function<void()> on_loss);
  ~PrimaryLink();

  // Reads of SST files count as progress.
  [[nodiscard]] std::future<Answer> read(const std::string& file, std::uint64_t offset, std::uint64_t bytes);
  [[nodiscard]] std::future<Answer> list();
  // Waits, and adds the time to waited_s().
  [[nodiscard]] Answer wait(std::future<Answer>& answer);
  // Sends the next bytes of an output.
  [[nodiscard]] bool write(const std::string& file, std::uint64_t offset, std::string_view data, bool last);
  void count_read(std::uint64_t bytes) { read_bytes_ += bytes; }
  void count_written(std::uint64_t bytes) { written_bytes_ += bytes; }
  void count_shared(std::uint64_t bytes) { shared_bytes_ += bytes; }
  // Announces an output in the shared folder.
  [[nodiscard]] bool tell_shared(const std::string& file, std::uint64_t bytes);
  // Runs `work` on the shared folder, and adds its time to waited_s().
  template <typename Work>
  auto waiting(Work work) {
    const Waiting counted(*this);
    return work();
  }

  [[nodiscard]] bool send_progress(double cpu_s);
  // Sends the last message. on_loss is not called after it.
  [[nodiscard]] bool finish(const proto::FromWorker& result);

  // Table bytes in both directions: streamed, and through the shared folder.
  [[nodiscard]] std::uint64_t bytes_moved() const { return received_bytes_ + sent_bytes_; }
  [[nodiscard]] std::uint64_t bytes_shared() const { return shared_bytes_; }
  // Time in which at least one thread waited.
  [[nodiscard]] double waited_s();
  [[nodiscard]] double elapsed_s() const;

 private:
  class Waiting {
   public:
    explicit Waiting(PrimaryLink& link);
    ~Waiting();
    Waiting(const Waiting&) = delete;
    Waiting& operator=(const Waiting&) = delete;

   private:
    PrimaryLink& link_;
  };
  [[nodiscard]] std::future<Answer> ask(const proto::FromWorker& question, std::uint32_t request, bool by_data);
  [[nodiscard]] bool receive(proto::FromPrimary& message, bool by_data);
  void listen(const std::function<void()>& on_loss, bool by_data);

  MessagePipe& pipe_;
  std::unique_ptr<DataChannel> data_;
  std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
  std::mutex mutex_;
  std::unordered_map<std::uint32_t, std::promise<Answer>> waiting_;
  bool lost_ = false, finished_ = false;
  std::atomic<std::uint32_t> next_request_{1};
  std::atomic<std::uint64_t> read_bytes_{0}, written_bytes_{0}, received_bytes_{0}, sent_bytes_{0}, shared_bytes_{0};
  std::mutex waits_;
  int waiters_ = 0;
  std::chrono::steady_clock::time_point waiting_since_;
  std::chrono::steady_clock::duration waited_{};
  std::thread listener_, data_listener_;
};

}  // namespace eco
