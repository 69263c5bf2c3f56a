// The program's loop over real pipes.
#include "sampling.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <array>
#include <thread>
#include <vector>

#include "folder.h"
#include "reading.h"

namespace edgejoule::sampler {
namespace {

struct Frame {
  FrameHeader header;
  std::vector<Reading> readings;
};

// Runs the loop in a thread. The test is the reader.
class Loop {
 public:
  explicit Loop(Order order) {
    EXPECT_EQ(::pipe(requests_.data()), 0);
    EXPECT_EQ(::pipe(answers_.data()), 0);
    thread_ = std::thread([this, order = std::move(order)] { result_ = sample(order, requests_[0], answers_[1]); });
  }
  ~Loop() { end(); }

  Frame ask() {
    EXPECT_EQ(::write(requests_[1], "r", 1), 1);
    Frame frame;
    read_exactly(&frame.header, sizeof frame.header);
    frame.readings.resize(std::size_t{frame.header.rows} * frame.header.columns);
    read_exactly(frame.readings.data(), frame.readings.size() * sizeof(Reading));
    return frame;
  }

  int end() {
    if (thread_.joinable()) {
      ::close(requests_[1]);
      thread_.join();
      for (const int descriptor : {requests_[0], answers_[0], answers_[1]}) ::close(descriptor);
    }
    return result_;
  }

 private:
  void read_exactly(void* bytes, std::size_t count) {
    for (std::size_t done = 0; done < count;) {
      const ssize_t got = ::read(answers_[0], static_cast<char*>(bytes) + done, count - done);
      ASSERT_GT(got, 0);
      done += static_cast<std::size_t>(got);
    }
  }

  std::array<int, 2> requests_{};
  std::array<int, 2> answers_{};
  int result_ = -1;
  std::thread thread_;
};

std::int64_t now_ns() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return now.tv_sec * std::int64_t{1'000'000'000} + now.tv_nsec;
}

TEST(Sampling, an_answer_ends_with_a_reading_taken_after_the_question) {
  const Folder folder;
  Loop loop(
      {1'000'000'000'000, {{folder.write("a", "5\n")}}});  // one deadline at once; the next in a quarter of an hour
  const std::int64_t asked_ns = now_ns();
  const Frame frame = loop.ask();
  ASSERT_GE(frame.header.rows, 1U);
  EXPECT_GE(frame.readings.back().t_ns, asked_ns);
  EXPECT_EQ(frame.readings.back().value, 5);
}

TEST(Sampling, rows_hold_every_file_in_order_and_times_increase) {
  const Folder folder;
  Loop loop({200'000, {{folder.write("a", "1\n")}, {folder.write("b", "2\n")}, {folder.write("c", "x\n")}}});
  constexpr std::array<std::int64_t, 3> values{1, 2, 0};
  std::int64_t last_ns = 0;
  for (std::size_t rows = 0; rows < 100;) {
    const Frame frame = loop.ask();
    ASSERT_EQ(frame.header.columns, 3U);
    for (std::size_t i = 0; i < frame.readings.size(); ++i) {
      const Reading& reading = frame.readings[i];
      EXPECT_GT(reading.t_ns, last_ns);
      last_ns = reading.t_ns;
      EXPECT_EQ(reading.value, values[i % 3]);
      EXPECT_EQ(reading.error, i % 3 == 2 ? error_not_a_number : error_none);
    }
    rows += frame.header.rows;
  }
  EXPECT_EQ(loop.end(), 0);
}

TEST(Sampling, cpu_times_are_two_columns_beside_those_of_other_files) {
  const Folder folder;
  const std::string stat = folder.write("stat", "cpu  1 2 3 400 50 6 7 8 0 0\ncpu0 1 2 3 400 50 6 7 8 0 0\nintr 1\n");
  Loop loop({1'000'000'000'000, {{folder.write("a", "5\n")}, {stat, Content::cpu_times}}});
  const Frame frame = loop.ask();
  ASSERT_EQ(frame.header.columns, 3U);
  const std::size_t last = frame.readings.size() - 3;
  EXPECT_EQ(frame.readings[last].value, 5);
  EXPECT_EQ(frame.readings[last + 1].value, 1);
  EXPECT_EQ(frame.readings[last + 2].value, 458);
  EXPECT_EQ(frame.readings[last + 1].t_ns, frame.readings[last + 2].t_ns);
}

TEST(Sampling, ends_with_the_questions) {
  const Folder folder;
  Loop loop({1'000'000, {{folder.write("a", "1\n")}}});
  EXPECT_EQ(loop.end(), 0);
}

}  // namespace
}  // namespace edgejoule::sampler
