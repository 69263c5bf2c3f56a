// Ctrl-C: while a statement runs, one read of the device fails, so that the library undoes the statement; elsewhere the
// shell checks for it.
#pragma once

namespace shell::interruption {

void listen();   // catches SIGINT, and ignores SIGPIPE
bool pending();  // it came since the last clear
void clear();
// Waits until the descriptor has something to read (true) or Ctrl-C comes (false), which no moment before the wait
// hides.
bool wait_to_read(int descriptor);
// Once after each Ctrl-C: what the device does now shall fail. What undoes the work afterwards must not.
bool fail_now();

// While one lives, fail_now can be true.
class Armed {
 public:
  Armed();
  ~Armed();
  Armed(const Armed&) = delete;
  Armed& operator=(const Armed&) = delete;
};

}  // namespace shell::interruption
