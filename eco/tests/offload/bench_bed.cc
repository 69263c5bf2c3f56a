#include "bench_bed.h"

#include <grpcpp/create_channel.h>
#include <grpcpp/server_builder.h>
#include <rocksdb/listener.h>
#include <unistd.h>

#include <fstream>
#include <random>
#include <sstream>
#include <stdexcept>
#include <thread>

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
  std::string name = (std::filesystem::temp_directory_path() / "eco-XXXXXX").string();
  if (mkdtemp(name.data()) == nullptr) throw std::runtime_error("no temporary folder");
  path_ = name;
}
TemporaryFolder::~TemporaryFolder() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

Wire::Wire(const std::string& worker, ToPrimary to_primary, ToWorker to_worker)
    : to_primary_(std::move(to_primary)),
      to_worker_(std::move(to_worker)),
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

grpc::Status Wire::Compact(grpc::ServerContext* context,
                           grpc::ServerReaderWriter<proto::FromWorker, proto::FromPrimary>* primary) {
  const int job = jobs_++;
  grpc::ClientContext onward;
  const auto worker = worker_->Compact(&onward);
  std::atomic<bool> silent{false};
  bool cut = false;
  std::thread outbound([&] {
    for (proto::FromPrimary message; primary->Read(&message);) {
      const Fate fate = to_worker_ ? to_worker_(job, message) : Fate::pass;
      if (fate == Fate::cut) break;
      if (fate == Fate::hang) silent = true;
      if (!silent && fate == Fate::pass && !worker->Write(message)) break;
    }
    worker->WritesDone();
    onward.TryCancel();
  });
  for (proto::FromWorker message; worker->Read(&message);) {
    const Fate fate = to_primary_ ? to_primary_(job, message) : Fate::pass;
    cut = fate == Fate::cut;
    if (cut) break;
    if (fate == Fate::hang) silent = true;
    if (!silent && fate == Fate::pass && !primary->Write(message)) break;
  }
  if (cut) onward.TryCancel();
  const grpc::Status status = worker->Finish();
  // A stream that hangs is ended by the primary; of another the primary hears how it ended.
  if (silent) outbound.join();
  if (silent) return status;
  if (status.ok()) outbound.join();
  if (!status.ok()) context->TryCancel(), outbound.join();
  return status;
}

proto::Placement StubbornPlacer::place(const proto::PlaceRequest& request) {
  const std::lock_guard lock(mutex_);
  requests_.push_back(request);
  proto::Placement placement;
  placement.set_offload(true);
  placement.set_address(address_), placement.set_server(address_), placement.set_local_s(local_s_);
  return placement;
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
  rocksdb::DB* db = nullptr;
  must(rocksdb::DB::Open(options, path_, &db));
  db_.reset(db);
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
