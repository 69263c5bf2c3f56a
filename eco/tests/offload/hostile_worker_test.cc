// A worker that uses its job's stream and data connection independently at the same time.
#include <grpcpp/server_builder.h>
#include <gtest/gtest.h>

#include <atomic>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <string>
#include <thread>
#include <utility>

#include "bench_bed.h"
#include "data_channel.h"
#include "data_port.h"

namespace {

using namespace eco::test;
using eco::proto::FromPrimary;
using eco::proto::FromWorker;

constexpr int messages = 2000;

class TwoWays final : public eco::proto::Worker::Service {
 public:
  explicit TwoWays(FromWorker on_stream) : on_stream_(std::move(on_stream)) {
    grpc::ServerBuilder builder;
    builder.AddListeningPort("127.0.0.1:0", grpc::InsecureServerCredentials(), &port_);
    builder.RegisterService(this);
    server_ = builder.BuildAndStart();
  }
  ~TwoWays() override {
    server_->Shutdown(std::chrono::system_clock::now());
    server_->Wait();
  }
  [[nodiscard]] std::string address() const { return "127.0.0.1:" + std::to_string(port_); }
  [[nodiscard]] int connected() const { return connected_; }

  grpc::Status Compact(grpc::ServerContext*, grpc::ServerReaderWriter<FromWorker, FromPrimary>* stream) override {
    FromPrimary message;
    if (!stream->Read(&message)) return grpc::Status::CANCELLED;
    eco::DataPort::Claim claim(data_port_);
    FromWorker offer;
    offer.mutable_offer()->set_port(static_cast<std::uint32_t>(data_port_.port()));
    offer.mutable_offer()->set_ticket(claim.ticket());
    if (!stream->Write(offer) || !stream->Read(&message)) return grpc::Status::CANCELLED;
    eco::Fd connection = claim.wait(5000);
    std::string why;
    const auto data =
        connection ? eco::DataChannel::over(std::move(connection), eco::DataChannel::Side::worker, "", why) : nullptr;
    if (!data) return grpc::Status::CANCELLED;
    ++connected_;
    std::thread beside([&] {
      FromWorker read, output;
      read.mutable_read()->set_file("CURRENT"), read.mutable_read()->set_bytes(100);
      output.mutable_output()->set_file("000098.sst");
      for (std::uint64_t i = 0; i < messages && data->send(read, ""); ++i) {
        output.mutable_output()->set_offset(i);
        if (!data->send(output, "x")) return;
      }
    });
    std::thread answers([&] {
      std::size_t bytes = 0;
      std::string payload;
      for (FromPrimary answer; data->receive(answer, bytes);) {
        payload.resize(bytes);
        if (!data->receive_payload(payload.data(), bytes)) return;
      }
    });
    std::thread reader([&] {
      for (FromPrimary answer; stream->Read(&answer);) continue;
    });
    FromWorker beside_it = on_stream_;
    if (beside_it.has_offer()) beside_it = offer;
    for (std::uint64_t i = 0; i < messages && stream->Write(beside_it); ++i)
      if (beside_it.has_output()) beside_it.mutable_output()->set_offset(i + 1);
    reader.join();  // until the primary ends the stream
    data->shut();
    beside.join(), answers.join();
    return grpc::Status::OK;
  }

 private:
  FromWorker on_stream_;
  eco::DataPort data_port_{"127.0.0.1", 0};
  std::atomic<int> connected_{0};
  int port_ = 0;
  std::unique_ptr<grpc::Server> server_;
};

void is_refused(const FromWorker& on_stream) {
  const std::string why = "the worker uses the stream for tables beside its data connection";
  TemporaryFolder folder;
  TwoWays worker(on_stream);
  rocksdb::Options options = small_tables();
  const auto placer = std::make_shared<StubbornPlacer>(worker.address());
  const auto service = eco::attach(options, {.placer = placer});
  Bed bed(folder / "db", options);
  bed.write(40000, 29);
  bed.settle();
  const eco::Statistics statistics = service->statistics();
  EXPECT_GT(worker.connected(), 1);
  EXPECT_GT(statistics.fell_back, 1U);
  EXPECT_EQ(statistics.installed, 0U);
  EXPECT_EQ(statistics.last_reason, why);
  for (const auto& report : placer->reports()) EXPECT_EQ(report.outcome(), "fell back: " + why);
  std::ifstream log(folder / "db/LOG");
  const std::string text{std::istreambuf_iterator<char>(log), {}};
  EXPECT_NE(text.find(why + "; compacted here"), std::string::npos);
  EXPECT_EQ(bed.difference(), Bed::Difference{});
  EXPECT_EQ(bed.background_errors(), 0U);
  EXPECT_FALSE(std::filesystem::exists(folder / "db/eco-staging"));
}

TEST(HostileWorker, that_reads_by_the_stream_and_the_data_connection_is_refused) {
  FromWorker read;
  read.mutable_read()->set_file("CURRENT"), read.mutable_read()->set_bytes(100);
  is_refused(read);
}

TEST(HostileWorker, that_sends_outputs_by_the_stream_and_the_data_connection_is_refused) {
  FromWorker output;
  output.mutable_output()->set_file("000099.sst"), output.mutable_output()->set_data("y");
  is_refused(output);
}

TEST(HostileWorker, that_offers_a_second_data_connection_is_refused) {
  FromWorker offer;
  offer.mutable_offer();
  is_refused(offer);
}

}  // namespace
