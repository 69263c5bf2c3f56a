#include "program.h"

#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/stat.h>

#include <cerrno>
#include <filesystem>
#include <fstream>

namespace edgejoule::supervisor {
namespace {

class Program : public ::testing::Test {
 protected:
  Program() {
    std::string name = (std::filesystem::temp_directory_path() / "supervisor-XXXXXX").string();
    folder_ = ::mkdtemp(name.data());
  }
  ~Program() override { std::filesystem::remove_all(folder_); }

  std::string write(const std::string& name, mode_t mode) const {
    const std::string file = (folder_ / name).string();
    std::filesystem::create_directories(std::filesystem::path(file).parent_path());
    std::ofstream(file) << "text\n";
    EXPECT_EQ(::chmod(file.c_str(), mode), 0);
    return file;
  }
  std::string path(const std::string& folders) const {
    std::string result;
    for (const char c : folders) result += c == '@' ? folder_.string() : std::string(1, c);
    return result;
  }

  std::filesystem::path folder_;
};

int exit_code_of(const std::string& name, const std::string& path) {
  try {
    (void)find_program(name, path.c_str());
  } catch (const NotStarted& error) {
    return error.exit_code;
  }
  return 0;
}

TEST_F(Program, the_first_executable_file_on_the_path_is_taken) {
  write("a/tool", 0644);
  const std::string second = write("b/tool", 0755);
  write("c/tool", 0755);
  EXPECT_EQ(find_program("tool", path("@/none:@/a:@/b:@/c").c_str()), second);
}

TEST_F(Program, a_name_with_a_slash_is_a_file_itself) {
  const std::string file = write("a/tool", 0755);
  EXPECT_EQ(find_program(file, ""), file);
  EXPECT_EQ(exit_code_of(folder_.string() + "/none", "/bin"), 127);
}

TEST_F(Program, a_program_that_cannot_run_is_distinguished_from_a_missing_one) {
  const std::string file = write("a/tool", 0644);
  std::filesystem::create_directories(folder_ / "b/tool");
  EXPECT_EQ(exit_code_of("tool", path("@/a")), 126);
  EXPECT_EQ(exit_code_of(file, ""), 126);
  EXPECT_EQ(exit_code_of((folder_ / "b/tool").string(), ""), 126);
  EXPECT_EQ(exit_code_of("tool", path("@/b")), 127);
  EXPECT_EQ(exit_code_of("", path("@/a")), 127);
}

TEST_F(Program, an_error_of_the_start_says_what_to_mend) {
  const std::string file = write("tool", 0755);
  EXPECT_NE(std::string(exec_failure(file, ENOENT).what()).find("interpreter"), std::string::npos);
  EXPECT_NE(std::string(exec_failure(file, ENOEXEC).what()).find("#!"), std::string::npos);
  EXPECT_EQ(exec_failure(file, EACCES).exit_code, 126);
}

}  // namespace
}  // namespace edgejoule::supervisor
