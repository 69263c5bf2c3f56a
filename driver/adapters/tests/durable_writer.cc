// Writes rows endlessly and prints each one once it is acknowledged. The durability tests kill it. Usage:
// durable_writer ADAPTER PATH none|process|power
#include <unistd.h>

#include <cstdio>
#include <string>

#include "adapters/registry.h"
#include "open_database.h"

namespace {

using namespace edgejoule::driver;

Durability class_of(const std::string& name) {
  if (name == "none") return Durability::none;
  return name == "power" ? Durability::power : Durability::process;
}

bool say(int number) {
  const std::string line = std::to_string(number) + "\n";
  return write(STDOUT_FILENO, line.data(), line.size()) == static_cast<ssize_t>(line.size());
}

}  // namespace

int main(int argument_count, char** arguments) {
  if (argument_count != 4) return 2;
  const std::string adapter = arguments[1];
  Properties properties;
  properties.set(adapter + ".path", arguments[2]);
  const auto database = find_adapter(adapter)->make();
  database->open(properties, class_of(arguments[3]), true, {});
  const auto session = database->session();
  for (int number = 0;; ++number) {
    const std::string key = test_key(number);
    const TestRow row(key);
    const TestRow changed(key, 1);
    if (session->insert(key, row.fields()) != Status::ok || session->update(key, changed.fields()) != Status::ok) {
      std::fprintf(stderr, "%s\n", session->error().c_str());
      return 1;
    }
    if (!say(number)) return 1;
  }
}
