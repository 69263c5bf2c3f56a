#include "primary_link.h"

#include <utility>

namespace eco {
namespace {

using Clock = std::chrono::steady_clock;

std::uint32_t request_of(const proto::FromPrimary& message) {
  switch (message.message_case()) {
    case proto::FromPrimary::kFiles:
      return message.files().request();
    case proto::FromPrimary::kBytes:
      return message.bytes().request();
    case proto::FromPrimary::kMissing:
      return message.missing().request();
    default:
      return 0;
  }
}

}  // namespace

PrimaryLink::Waiting::Waiting(PrimaryLink& link) : link_(link) {
  const std::lock_guard lock(link_.waits_);
  if (link_.waiters_++ == 0) link_.waiting_since_ = Clock::now();
}
PrimaryLink::Waiting::~Waiting() {
  const std::lock_guard lock(link_.waits_);
  if (--link_.waiters_ == 0) link_.waited_ += Clock::now() - link_.waiting_since_;
}

PrimaryLink::PrimaryLink(MessagePipe& pipe, std::unique_ptr<DataChannel> data, std::function<void()> on_loss)
    : pipe_(pipe), data_(std::move(data)), listener_([this, on_loss] { listen(on_loss, false); }) {
  if (data_) data_listener_ = std::thread([this, on_loss] { listen(on_loss, true); });
}

PrimaryLink::~PrimaryLink() {
  pipe_.shut();
  listener_.join();
  if (data_) data_->shut();
  if (data_listener_.joinable()) data_listener_.join();
}

std::future<PrimaryLink::Answer> PrimaryLink::read(const std::string& file, std::uint64_t offset, std::uint64_t bytes) {
  proto::FromWorker question;
  auto& read = *question.mutable_read();
  const std::uint32_t request = next_request_++;
  read.set_request(request), read.set_file(file), read.set_offset(offset), read.set_bytes(bytes);
  return ask(question, request, data_ != nullptr);
}

std::future<PrimaryLink::Answer> PrimaryLink::list() {
  proto::FromWorker question;
  const std::uint32_t request = next_request_++;
  question.mutable_list()->set_request(request);
  return ask(question, request, false);
}

std::future<PrimaryLink::Answer> PrimaryLink::ask(const proto::FromWorker& question, std::uint32_t request,
                                                  bool by_data) {
  std::future<Answer> answer;
  {
    const std::lock_guard lock(mutex_);
    std::promise<Answer> promise;
    answer = promise.get_future();
    if (lost_) {
      promise.set_value(std::nullopt);
      return answer;
    }
    waiting_.emplace(request, std::move(promise));
  }
  const Waiting counted(*this);
  if (!(by_data ? data_->send(question, "") : pipe_.send(question))) pipe_.shut();  // fails all open questions
  return answer;
}

PrimaryLink::Answer PrimaryLink::wait(std::future<Answer>& answer) {
  const Waiting counted(*this);
  return answer.get();
}

bool PrimaryLink::write(const std::string& file, std::uint64_t offset, std::string_view data, bool last) {
  proto::FromWorker message;
  auto& output = *message.mutable_output();
  output.set_file(file), output.set_offset(offset), output.set_last(last);
  sent_bytes_ += data.size();
  const Waiting counted(*this);
  if (data_) return data_->send(message, data);
  output.set_data(data.data(), data.size());
  return pipe_.send(message);
}

bool PrimaryLink::tell_shared(const std::string& file, std::uint64_t bytes) {
  proto::FromWorker message;
  auto& output = *message.mutable_output();
  output.set_file(file), output.set_offset(bytes), output.set_last(true), output.set_shared(true);
  const Waiting counted(*this);
  return data_ ? data_->send(message, "") : pipe_.send(message);
}

bool PrimaryLink::send_progress(double cpu_s) {
  proto::FromWorker message;
  auto& progress = *message.mutable_progress();
  progress.set_input_bytes_read(read_bytes_), progress.set_output_bytes(written_bytes_);
  progress.set_elapsed_s(elapsed_s()), progress.set_cpu_s(cpu_s);
  return pipe_.send(message);
}

bool PrimaryLink::finish(const proto::FromWorker& result) {
  {
    const std::lock_guard lock(mutex_);
    finished_ = true;
  }
  if (data_) data_->finish();
  return pipe_.send(result);
}

double PrimaryLink::waited_s() {
  const std::lock_guard lock(waits_);
  return std::chrono::duration<double>(waited_).count();
}

double PrimaryLink::elapsed_s() const { return std::chrono::duration<double>(Clock::now() - begin_).count(); }

bool PrimaryLink::receive(proto::FromPrimary& message, bool by_data) {
  if (!by_data) return pipe_.receive(message);
  std::size_t bytes = 0;
  if (!data_->receive(message, bytes)) return false;
  if (bytes == 0) return true;
  auto& data = *message.mutable_bytes()->mutable_data();
  data.resize(bytes);
  return data_->receive_payload(data.data(), bytes);
}

void PrimaryLink::listen(const std::function<void()>& on_loss, bool by_data) {
  for (proto::FromPrimary message; receive(message, by_data);) {
    received_bytes_ += message.bytes().data().size();
    std::promise<Answer> promise;
    {
      const std::lock_guard lock(mutex_);
      const auto found = waiting_.find(request_of(message));
      if (found == waiting_.end()) continue;
      promise = std::move(found->second);
      waiting_.erase(found);
    }
    promise.set_value(std::move(message));
  }
  bool unexpected = false;
  decltype(waiting_) unanswered;
  {
    const std::lock_guard lock(mutex_);
    lost_ = true, unexpected = !finished_;
    unanswered.swap(waiting_);
  }
  for (auto& [request, promise] : unanswered) promise.set_value(std::nullopt);
  if (unexpected) on_loss();
}

}  // namespace eco
