#include "report.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <array>

namespace edgejoule::supervisor {
namespace {

using namespace std::string_view_literals;

TEST(Report, text_is_quoted_as_json) {
  EXPECT_EQ(quoted("a \"b\" \\ c\n\x7f"), R"("a \"b\" \\ c\u000a\u007f")");
  EXPECT_EQ(quoted("Größe €  😀"), "\"Größe €  😀\"");
}

TEST(Report, bytes_that_are_not_utf8_are_replaced) {
  EXPECT_EQ(quoted("a\xff"
                   "b"),
            R"("a\ufffdb")");
  EXPECT_EQ(quoted("\xc0\xaf"), R"("\ufffd\ufffd")");                      // overlong
  EXPECT_EQ(quoted("\xed\xa0\x80"), R"("\ufffd\ufffd\ufffd")");            // half of a surrogate pair
  EXPECT_EQ(quoted("\xf4\x90\x80\x80"), R"("\ufffd\ufffd\ufffd\ufffd")");  // beyond U+10FFFF
  EXPECT_EQ(quoted("\xe2\x82"), R"("\ufffd\ufffd")");                      // cut
  EXPECT_EQ(quoted("a\0b"sv), R"("a\u0000b")");
}

TEST(Report, a_missing_number_is_null) {
  Line line("exit");
  line.add("code", std::optional<std::int64_t>(3)).add("signal", std::optional<std::int64_t>());
  EXPECT_EQ(std::move(line).end(), "{\"event\": \"exit\", \"code\": 3, \"signal\": null}\n");
}

TEST(Report, lines_are_kept_until_they_are_due) {
  std::array<int, 2> pipe{};
  ASSERT_EQ(::pipe(pipe.data()), 0);
  Report report(pipe[1]);
  report.write(Line("start"));
  report.flush_if_due();
  report.write(Line("end"));
  report.flush();
  std::array<char, 100> text{};
  const ssize_t length = ::read(pipe[0], text.data(), text.size());
  EXPECT_EQ(std::string(text.data(), static_cast<std::size_t>(length)),
            "{\"event\": \"start\"}\n{\"event\": \"end\"}\n");
  ::close(pipe[0]);
  ::close(pipe[1]);
}

TEST(Report, a_gone_reader_is_noticed) {
  ::signal(SIGPIPE, SIG_IGN);
  std::array<int, 2> pipe{};
  ASSERT_EQ(::pipe(pipe.data()), 0);
  ::close(pipe[0]);
  Report report(pipe[1]);
  report.write(Line("start"));
  report.flush();
  EXPECT_TRUE(report.broken());
  ::close(pipe[1]);
}

}  // namespace
}  // namespace edgejoule::supervisor
