// Gives a message for faults in LMDB's memory map. LMDB reads pages directly from the map. If the file is shorter than
// the database or its disk fails, the kernel sends SIGBUS.
#pragma once

#include <string>

namespace edgejoule::driver {

// During its life, SIGBUS prints the message on standard error and ends the process with status 1. Only one object at a
// time.
class MapFaultMessage {
 public:
  explicit MapFaultMessage(const std::string& text);
  void say(const std::string& text);  // sets the message
  ~MapFaultMessage();
  MapFaultMessage(const MapFaultMessage&) = delete;
  MapFaultMessage& operator=(const MapFaultMessage&) = delete;
};

}  // namespace edgejoule::driver
