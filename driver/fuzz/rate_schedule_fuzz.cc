// Any text is either a schedule or refused, and due times never decrease.
#include "fuzz_input.h"
#include "run/rate_schedule.h"
#include "system/usage_error.h"

using namespace edgejoule::driver;

namespace {

void check(const std::string& text) {
  try {
    const auto schedule = RateSchedule::parse(text);
    std::uint64_t last_ns = 0;
    for (std::uint64_t number = 0; number < 200; ++number) {
      const auto due_ns = schedule.due_ns(number);
      require(due_ns >= last_ns, "due times do not go back");
      const auto end_ns = schedule.duration_ns(number + 1);
      require(end_ns >= due_ns && end_ns <= schedule.due_ns(number + 1), "a duration ends between two due times");
      last_ns = due_ns;
    }
  } catch (const UsageError&) {
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string text(reinterpret_cast<const char*>(data), size);
  if (!text.starts_with("file:")) check(text);
  check("file:" + file_with(text));
  return 0;
}
