// A fault in LMDB's memory map as an error with words. LMDB reads pages straight from the map: where the file is
// shorter than the database, or its disk fails, the kernel sends SIGBUS.
#pragma once

#include <string>

namespace edgejoule::driver {

// While it lives such a signal ends the process with the words on standard error and status 1. One at a time.
class MapFaultMessage {
 public:
  explicit MapFaultMessage(const std::string& words);
  void say(const std::string& words);  // from now on
  ~MapFaultMessage();
  MapFaultMessage(const MapFaultMessage&) = delete;
  MapFaultMessage& operator=(const MapFaultMessage&) = delete;
};

}  // namespace edgejoule::driver
