#include "data_channel.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/socket.h>

#include <chrono>
#include <fstream>
#include <future>
#include <random>
#include <thread>

#include "bench_bed.h"
#include "data_port.h"
#include "eco.pb.h"

namespace {

using eco::DataChannel;
using eco::Fd;
using eco::proto::FromWorker;

struct Ends {
  std::unique_ptr<DataChannel> primary, worker;
  std::string primary_why, worker_why;
};

Ends ends(const std::string& primary_key, const std::string& worker_key) {
  eco::DataPort port("127.0.0.1", 0);
  eco::DataPort::Claim claim(port);
  Fd out = eco::connect_tcp("127.0.0.1", port.port(), 1000);
  EXPECT_TRUE(eco::write_all(out.get(), claim.ticket().data(), claim.ticket().size()));
  Fd in = claim.wait(5000);
  EXPECT_TRUE(in);
  Ends both;
  auto worker = std::async(std::launch::async, [&] {
    return DataChannel::over(std::move(in), DataChannel::Side::worker, worker_key, both.worker_why);
  });
  both.primary = DataChannel::over(std::move(out), DataChannel::Side::primary, primary_key, both.primary_why);
  both.worker = worker.get();
  return both;
}

std::string noise(std::size_t bytes, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  std::string data(bytes, '\0');
  for (char& c : data) c = static_cast<char>(random());
  return data;
}

std::string received(DataChannel& channel, FromWorker& message) {
  std::size_t bytes = 0;
  EXPECT_TRUE(channel.receive(message, bytes));
  std::string data(bytes, '\0');
  EXPECT_TRUE(channel.receive_payload(data.data(), bytes));
  return data;
}

class Ways : public testing::TestWithParam<bool> {
 protected:
  [[nodiscard]] std::string key() const { return GetParam() ? std::string(DataChannel::key_bytes, 'k') : ""; }
};

TEST_P(Ways, messages_bytes_and_files_arrive_as_they_were_sent_both_ways_at_once) {
  const eco::test::TemporaryFolder folder;
  const std::string path = folder / "file", table = noise(5'000'000, 1), output = noise(3'000'000, 2);
  std::ofstream(path, std::ios::binary) << table;
  const Fd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  Ends both = ends(key(), key());
  ASSERT_TRUE(both.primary) << both.primary_why;
  ASSERT_TRUE(both.worker) << both.worker_why;
  FromWorker message;
  message.mutable_read()->set_file("000007.sst");
  std::thread worker([&] {
    for (int i = 0; i < 5; ++i) EXPECT_TRUE(both.worker->send(message, output));
    both.worker->finish();
  });
  std::thread sender([&] {
    for (int i = 0; i < 5; ++i) EXPECT_TRUE(both.primary->send_file(message, file.get(), 1000, table.size() - 1000));
  });
  std::thread receiver([&] {
    FromWorker got;
    for (int i = 0; i < 5; ++i) EXPECT_EQ(received(*both.worker, got), table.substr(1000));
  });
  for (int i = 0; i < 5; ++i) {
    FromWorker got;
    EXPECT_EQ(received(*both.primary, got), output);
    EXPECT_EQ(got.read().file(), "000007.sst");
  }
  for (auto* thread : {&worker, &sender, &receiver}) thread->join();
  std::size_t bytes = 0;
  EXPECT_FALSE(both.primary->receive(message, bytes));
  EXPECT_TRUE(both.primary->ended());
}

// Both ends' buffers are full of unread data: a receiver that waits until it may send would wait forever.
TEST_P(Ways, what_comes_is_received_while_what_is_sent_waits) {
  Ends both = ends(key(), key());
  ASSERT_TRUE(both.primary) << both.primary_why;
  ASSERT_TRUE(both.worker) << both.worker_why;
  FromWorker message;
  message.mutable_list();
  const std::string more_than_buffers_hold = noise(DataChannel::payload_bytes_max, 3);
  std::thread sender([&] { EXPECT_TRUE(both.primary->send(message, more_than_buffers_hold)); });
  auto all_came = std::async(std::launch::async, [&] {
    FromWorker got;
    for (int i = 0; i < 20; ++i) EXPECT_EQ(received(*both.primary, got), "what comes");
  });
  for (int i = 0; i < 20; ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));  // so that the receiver has to wait
    EXPECT_TRUE(both.worker->send(message, "what comes"));
  }
  EXPECT_EQ(all_came.wait_for(std::chrono::seconds(60)), std::future_status::ready);
  FromWorker got;
  EXPECT_EQ(received(*both.worker, got), more_than_buffers_hold);
  sender.join();
}

TEST_P(Ways, what_is_no_frame_ends_it) {
  Ends both = ends(key(), "");
  if (GetParam()) {
    EXPECT_FALSE(both.primary);
    return;
  }
  FromWorker message;
  message.mutable_list();
  ASSERT_TRUE(both.worker->send(message, "xx"));
  std::size_t bytes = 0;
  ASSERT_TRUE(both.primary->receive(message, bytes));
  ASSERT_EQ(bytes, 2U);
  both.worker->shut();
  char data[3];
  EXPECT_FALSE(both.primary->receive_payload(data, 3));
  EXPECT_FALSE(both.primary->receive(message, bytes));
}

INSTANTIATE_TEST_SUITE_P(DataChannel, Ways, testing::Bool(),
                         [](const auto& way) { return way.param ? "with_tls" : "in_plain_text"; });

TEST(DataChannel, with_another_key_does_not_open) {
  const Ends both = ends(std::string(DataChannel::key_bytes, 'a'), std::string(DataChannel::key_bytes, 'b'));
  EXPECT_FALSE(both.primary);
  EXPECT_FALSE(both.worker);
  EXPECT_NE(both.worker_why, "");
}

TEST(DataPort, gives_no_connection_to_who_brings_another_ticket) {
  eco::DataPort port("127.0.0.1", 0);
  eco::DataPort::Claim claim(port);
  const Fd out = eco::connect_tcp("127.0.0.1", port.port(), 1000);
  const std::string ticket(DataChannel::ticket_bytes, '\0');
  ASSERT_TRUE(eco::write_all(out.get(), ticket.data(), ticket.size()));
  char c = 0;
  EXPECT_EQ(::recv(out.get(), &c, 1, 0), 0);  // closed there
  EXPECT_FALSE(claim.wait(0));
}

}  // namespace
