#include "bench_bed.h"

#include <grpcpp/create_channel.h>
#include <grpcpp/server_builder.h>
#include <rocksdb/listener.h>
#include <signal.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <fstream>
#include <random>
#include <sstream>
#include <stdexcept>
#include <thread>
#include <utility>

#include "compat.h"
#include "data_channel.h"
#include "tcp.h"

namespace eco::test {
namespace {

void must(const rocksdb::Status& status) {
  if (!status.ok()) throw std::runtime_error(status.ToString());
}

class ErrorListener final : public rocksdb::EventListener {
 public:
  explicit ErrorListener(std::shared_ptr<std::atomic<std::uint64_t>> count) : count_(std::move(count)) {}
  void OnBackgroundError(rocksdb::BackgroundErrorReason, rocksdb::Status*) override { ++*count_; }

 private:
  std::shared_ptr<std::atomic<std::uint64_t>> count_;
};

}  // namespace

TemporaryFolder::TemporaryFolder() {
  const auto root = std::filesystem::temp_directory_path();
  const std::string head = "eco-test-";
  std::error_code ignored;
  for (const auto& left : std::filesystem::directory_iterator(root)) {
    const std::string name = left.path().filename().string();
    if (!name.starts_with(head)) continue;
    const int owner = std::atoi(name.c_str() + head.size());
    if (owner > 0 && ::kill(owner, 0) != 0 && errno == ESRCH) std::filesystem::remove_all(left.path(), ignored);
  }
  std::string name = (root / (head + std::to_string(getpid()) + "-XXXXXX")).string();
  if (mkdtemp(name.data()) == nullptr) throw std::runtime_error("no temporary folder");
  path_ = name;
}
TemporaryFolder::~TemporaryFolder() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

Wire::Wire(const std::string& worker, ToPrimary to_primary, ToWorker to_worker, bool data_channels)
    : to_primary_(std::move(to_primary)),
      to_worker_(std::move(to_worker)),
      worker_host_(host_of(worker)),
      data_channels_(data_channels),
      worker_(proto::Worker::NewStub(grpc::CreateChannel(worker, grpc::InsecureChannelCredentials()))) {
  grpc::ServerBuilder builder;
  builder.AddListeningPort("127.0.0.1:0", grpc::InsecureServerCredentials(), &port_);
  builder.RegisterService(this);
  server_ = builder.BuildAndStart();
  if (!server_) throw std::runtime_error("the wire does not listen");
}

Wire::~Wire() {
  server_->Shutdown(std::chrono::system_clock::now());
  server_->Wait();
}

// One job's stream and data connection.
class Wire::Relay {
 public:
  using Primary = grpc::ServerReaderWriter<proto::FromWorker, proto::FromPrimary>;

  Relay(Wire& wire, grpc::ServerContext& context, Primary& primary)
      : wire_(wire), job_(wire.jobs_++), context_(context), primary_(primary), claim_(wire.data_port_) {}

  grpc::Status run() {
    worker_ = wire_.worker_->Compact(&onward_);
    std::thread outbound([this] {
      for (proto::FromPrimary message; primary_.Read(&message) && pass(message);) continue;
      worker_->WritesDone();
      onward_.TryCancel();
      shut();
    });
    for (proto::FromWorker message; worker_->Read(&message) && pass(message);) continue;
    if (cut_) onward_.TryCancel();
    const grpc::Status status = worker_->Finish();
    // The primary ends a hanging stream itself; any other failure is passed on.
    if (!silent_ && !status.ok()) context_.TryCancel();
    outbound.join();
    shut();
    for (std::thread* pump : {&to_worker_, &to_primary_})
      if (pump->joinable()) pump->join();
    return status;
  }

 private:
  // Returns whether to pass the message on; sets `going` to false if the stream ends.
  template <typename Message>
  bool judged(const std::function<Fate(int, Message&)>& judge, Message& message, bool& going) {
    const Fate fate = judge ? judge(job_, message) : Fate::pass;
    if (fate == Fate::hang) silent_ = true;
    if (fate == Fate::cut) cut_ = true, going = false;
    return fate == Fate::pass && !silent_;
  }

  bool pass(proto::FromPrimary& message) {
    bool going = true;
    if (message.has_start() && !wire_.data_channels_) message.mutable_start()->clear_data_channel();
    if (message.has_data() && message.data().connected()) connect();
    if (message.has_bytes()) ++wire_.on_streams_;
    if (judged(wire_.to_worker_, message, going)) going = worker_->Write(message);
    return going;
  }

  bool pass(proto::FromWorker& message) {
    bool going = true;
    if (message.has_output()) ++wire_.on_streams_;
    if (message.has_offer()) {
      offer_ = message.offer();
      message.mutable_offer()->set_port(static_cast<std::uint32_t>(wire_.data_port_.port()));
      message.mutable_offer()->set_ticket(claim_.ticket());
    }
    if (judged(wire_.to_primary_, message, going)) going = primary_.Write(message);
    return going;
  }

  void connect() {
    std::string why;
    Fd in = claim_.wait(5000), out = connect_tcp(wire_.worker_host_, static_cast<int>(offer_.port()), 1000);
    if (!in || !out || !write_all(out.get(), offer_.ticket().data(), offer_.ticket().size())) return;
    {
      const std::lock_guard lock(mutex_);
      data_primary_ = DataChannel::over(std::move(in), DataChannel::Side::worker, "", why);
      data_worker_ = DataChannel::over(std::move(out), DataChannel::Side::primary, "", why);
    }
    to_worker_ = std::thread([this] {
      pump<proto::FromPrimary>(*data_primary_, *data_worker_, wire_.to_worker_, [](proto::FromPrimary& message) {
        return message.has_bytes() ? message.mutable_bytes()->mutable_data() : nullptr;
      });
    });
    to_primary_ = std::thread([this] {
      pump<proto::FromWorker>(*data_worker_, *data_primary_, wire_.to_primary_, [](proto::FromWorker& message) {
        return message.has_output() ? message.mutable_output()->mutable_data() : nullptr;
      });
    });
  }

  template <typename Message, typename DataOf>
  void pump(DataChannel& from, DataChannel& to, const std::function<Fate(int, Message&)>& judge, DataOf data_of) {
    bool going = true;
    std::size_t bytes = 0;
    for (Message message; going && from.receive(message, bytes);) {
      std::string none, *data = data_of(message);
      if (data == nullptr) data = &none;
      data->resize(bytes);
      if (!from.receive_payload(data->data(), bytes)) break;
      if (bytes > 0) ++wire_.beside_streams_;
      if (!judged(judge, message, going)) continue;
      std::string payload;
      data = data_of(message);
      if (data != nullptr) payload.swap(*data);
      going = to.send(message, payload);
    }
    if (cut_) onward_.TryCancel(), context_.TryCancel();
    if (cut_) return shut();
    if (!silent_) to.finish();
  }

  void shut() {
    const std::lock_guard lock(mutex_);
    for (auto* channel : {&data_primary_, &data_worker_})
      if (*channel) (*channel)->shut();
  }

  Wire& wire_;
  int job_;
  grpc::ServerContext& context_;
  Primary& primary_;
  grpc::ClientContext onward_;
  std::unique_ptr<grpc::ClientReaderWriter<proto::FromPrimary, proto::FromWorker>> worker_;
  std::atomic<bool> silent_{false}, cut_{false};
  DataPort::Claim claim_;
  proto::DataOffer offer_;
  std::mutex mutex_;
  std::unique_ptr<DataChannel> data_primary_, data_worker_;
  std::thread to_worker_, to_primary_;
};

grpc::Status Wire::Compact(grpc::ServerContext* context,
                           grpc::ServerReaderWriter<proto::FromWorker, proto::FromPrimary>* primary) {
  return Relay(*this, *context, *primary).run();
}

proto::Placement StubbornPlacer::place(const proto::PlaceRequest& request) {
  const std::lock_guard lock(mutex_);
  requests_.push_back(request);
  proto::Placement placement;
  placement.set_offload(true);
  placement.set_address(address_), placement.set_server(address_), placement.set_local_s(local_s_);
  return placement;
}
void StubbornPlacer::set_local_s(double local_s) {
  const std::lock_guard lock(mutex_);
  local_s_ = local_s;
}
void StubbornPlacer::report(const proto::JobReport& report) {
  const std::lock_guard lock(mutex_);
  reports_.push_back(report);
}
std::vector<proto::PlaceRequest> StubbornPlacer::requests() const {
  const std::lock_guard lock(mutex_);
  return requests_;
}
std::vector<proto::JobReport> StubbornPlacer::reports() const {
  const std::lock_guard lock(mutex_);
  return reports_;
}

rocksdb::Options small_tables() {
  rocksdb::Options options;
  options.create_if_missing = true;
  options.write_buffer_size = 128 << 10;
  options.target_file_size_base = 128 << 10;
  options.max_bytes_for_level_base = 4 << 20;
  options.level0_file_num_compaction_trigger = 4;
  options.compression = rocksdb::kNoCompression;
  return options;
}

Bed::Bed(std::string path, rocksdb::Options options) : path_(std::move(path)) { open(std::move(options)); }
Bed::~Bed() = default;

void Bed::open(rocksdb::Options options) {
  options.listeners.push_back(std::make_shared<ErrorListener>(background_errors_));
  eco::Opened db{};
  must(rocksdb::DB::Open(options, path_, &db));
  db_ = std::unique_ptr<rocksdb::DB>(std::move(db));
}

void Bed::write(int operations, std::uint64_t seed, int keys, std::size_t value_bytes) {
  std::mt19937_64 random(seed);
  for (int i = 0; i < operations; ++i) {
    const std::string key = "key" + std::to_string(100000 + random() % static_cast<std::uint64_t>(keys));
    if (random() % 10 == 0) {
      must(db_->Delete({}, key));
      expected_.erase(key), deleted_[key] = true;
      continue;
    }
    std::string value = std::to_string(random());
    value.resize(value_bytes, 'v');
    must(db_->Put({}, key, value));
    expected_[key] = std::move(value), deleted_.erase(key);
  }
}

void Bed::flush() { must(db_->Flush({})); }

void Bed::settle() {
  flush();
  for (const char* property : {"rocksdb.compaction-pending", "rocksdb.num-running-compactions"})
    for (std::uint64_t left = 1; db_->GetIntProperty(property, &left) && left > 0;)
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
}

void Bed::reopen(const rocksdb::Options& options) {
  must(db_->Close());
  db_.reset();
  open(options);
}

Bed::Difference Bed::difference() {
  Difference difference;
  std::string value;
  for (const auto& [key, expected] : expected_) {
    const rocksdb::Status status = db_->Get({}, key, &value);
    if (status.IsNotFound())
      ++difference.lost;
    else if (must(status); value != expected)
      ++difference.stale;
  }
  for (const auto& [key, is] : deleted_)
    if (db_->Get({}, key, &value).ok()) ++difference.back;
  return difference;
}

void PrintTo(const Bed::Difference& difference, std::ostream* out) {
  *out << difference.lost << " lost, " << difference.stale << " stale, " << difference.back << " back";
}

}  // namespace eco::test
