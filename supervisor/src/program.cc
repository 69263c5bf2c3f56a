#include "program.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <string_view>

namespace edgejoule::supervisor {
namespace {

constexpr int not_found = 127;
constexpr int not_executable = 126;
constexpr const char* path_default = "/usr/local/bin:/usr/bin:/bin";

bool is_file(const std::string& file) {
  struct stat status {};
  return ::stat(file.c_str(), &status) == 0 && S_ISREG(status.st_mode);
}

bool is_executable(const std::string& file) { return is_file(file) && ::access(file.c_str(), X_OK) == 0; }

std::string check_file(const std::string& file) {
  if (is_executable(file)) return file;
  struct stat status {};
  if (::stat(file.c_str(), &status) != 0) throw exec_failure(file, errno);
  if (S_ISDIR(status.st_mode)) throw NotStarted(file + " is a folder, not a program", not_executable);
  throw NotStarted(file + " is not executable", not_executable);
}

}  // namespace

std::string find_program(const std::string& name, const char* path) {
  if (name.empty()) throw NotStarted("the command's name is empty", not_found);
  if (name.find('/') != std::string::npos) return check_file(name);
  const std::string_view folders = path != nullptr ? path : path_default;
  std::string present;  // a file of that name that is not executable
  for (std::size_t begin = 0; begin <= folders.size();) {
    const std::size_t end = std::min(folders.find(':', begin), folders.size());
    const std::string_view folder = folders.substr(begin, end - begin);
    const std::string file = (folder.empty() ? "." : std::string(folder)) + "/" + name;
    if (is_executable(file)) return file;
    if (present.empty() && is_file(file)) present = file;
    begin = end + 1;
  }
  if (!present.empty()) throw NotStarted(present + " is not executable", not_executable);
  throw NotStarted(name + ": no program of this name is on PATH (" + std::string(folders) + ")", not_found);
}

NotStarted exec_failure(const std::string& file, int error) {
  switch (error) {
    case ENOENT:
    case ENOTDIR:
      if (is_file(file)) return {file + ": its interpreter does not exist (first line '#!...', or loader)", not_found};
      return {file + " does not exist", not_found};
    case ENOEXEC:
      return {file + " is neither a binary of this machine nor a script that begins with '#!'", not_executable};
    default:
      return {file + " cannot be started: " + std::strerror(error), not_executable};
  }
}

}  // namespace edgejoule::supervisor
