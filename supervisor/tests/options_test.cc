#include "options.h"

#include <gtest/gtest.h>

#include <stdexcept>
#include <string>
#include <vector>

namespace edgejoule::supervisor {
namespace {

// The texts must outlive the options, which point to them.
class Arguments {
 public:
  Arguments(std::initializer_list<std::string> texts) : texts_(texts) {
    argv_.push_back(name_.data());
    for (std::string& text : texts_) argv_.push_back(text.data());
    argv_.push_back(nullptr);
  }
  Options parse() { return parse_options(static_cast<int>(argv_.size()) - 1, argv_.data()); }

  std::string refusal() {
    try {
      (void)parse();
    } catch (const std::invalid_argument& error) {
      return error.what();
    }
    return "accepted";
  }

 private:
  std::string name_ = "edgejoule-supervisor";
  std::vector<std::string> texts_;
  std::vector<char*> argv_;
};

TEST(Options, the_command_begins_after_two_dashes_and_keeps_its_own_options) {
  Arguments arguments{"--report-fd", "3", "--repeat=5", "--", "ls", "--help", "--repeat", "x"};
  const Options options = arguments.parse();
  EXPECT_EQ(options.report_fd, 3);
  EXPECT_EQ(options.repeat, 5);
  EXPECT_FALSE(options.help);
  EXPECT_STREQ(options.command[0], "ls");
  EXPECT_STREQ(options.command[1], "--help");
  EXPECT_STREQ(options.command[3], "x");
  EXPECT_EQ(options.command[4], nullptr);
}

TEST(Options, a_time_for_repetitions_may_have_a_fraction) {
  EXPECT_EQ(Arguments({"--report-fd=3", "--repeat-for", "0.25", "true"}).parse().repeat_for_ns, 250'000'000);
}

TEST(Options, a_refusal_names_the_option_and_what_is_expected) {
  EXPECT_EQ(Arguments({"--report-fd=3"}).refusal(), "a command is missing");
  EXPECT_EQ(Arguments({"true"}).refusal(), "--report-fd is missing");
  EXPECT_EQ(Arguments({"--report-fd=2", "true"}).refusal(), "--report-fd is '2', must be a descriptor, 3 or more");
  EXPECT_EQ(Arguments({"--report-fd=3", "--repeat=0", "true"}).refusal(),
            "--repeat is '0', must be a whole number, 1 or more");
  EXPECT_EQ(Arguments({"--report-fd=3", "--repeat=1e3", "true"}).refusal(),
            "--repeat is '1e3', must be a whole number, 1 or more");
  EXPECT_EQ(Arguments({"--report-fd=3", "--repeat-for=nan", "true"}).refusal(),
            "--repeat-for is 'nan', must be a number of seconds, 0 to 1000000");
  EXPECT_EQ(Arguments({"--report-fd=3", "--repeat=2", "--repeat-for=1", "true"}).refusal(),
            "--repeat and --repeat-for exclude each other");
  EXPECT_EQ(Arguments({"--report-fd=3", "--keep", "--repeat=2", "true"}).refusal(),
            "--keep runs the command once: leave out --repeat and --repeat-for");
  EXPECT_EQ(Arguments({"--report-fd"}).refusal(), "--report-fd needs a value");
  EXPECT_EQ(Arguments({"--report-fd=3", "--nonsense", "true"}).refusal(), "--nonsense is not an option");
}

}  // namespace
}  // namespace edgejoule::supervisor
