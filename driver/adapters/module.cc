// Compiled once for each adapter with a library. EDGEJOULE_ADAPTER is the function that describes the adapter.
#include "registry.h"
#include "system/interruption.h"

extern "C" {

[[gnu::visibility("default")]] const char* edgejoule_adapter_build() { return EDGEJOULE_ADAPTER_BUILD; }

[[gnu::visibility("default")]] const edgejoule::driver::AdapterInfo* edgejoule_adapter(
    std::atomic<int>* interruption_state) {
  edgejoule::driver::share_interruption_state(*interruption_state);
  static const auto info = edgejoule::driver::EDGEJOULE_ADAPTER();
  return &info;
}
}
