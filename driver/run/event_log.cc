#include "event_log.h"

#include <fmt/format.h>

#include <cerrno>
#include <cstring>

#include "system/check.h"
#include "system/run_failure.h"
#include "system/usage_error.h"

namespace edgejoule::driver {
namespace {

template <typename Value>
Json or_null(const std::optional<Value>& value) {
  return value ? Json(*value) : Json(nullptr);
}

}  // namespace

void EventLog::Close::operator()(std::FILE* file) const {
  if (file != stdout) std::fclose(file);
}

EventLog::EventLog(const std::optional<std::string>& target) {
  if (!target) return;
  name_ = *target == "-" ? "standard output" : *target;
  file_.reset(*target == "-" ? stdout : std::fopen(target->c_str(), "w"));
  if (!file_) throw UsageError(fmt::format("-json {}: cannot be written: {}", *target, std::strerror(errno)));
}

void EventLog::write(const std::string& event, std::uint64_t monotonic_ns, const Json& fields) {
  EJ_CHECK(!event.empty() && fields.is_object(), event);
  EJ_CHECK(!fields.contains("event") && !fields.contains("monotonic_ns"), event);  // they would replace the event's own
  if (!file_) return;
  Json line{{"event", event}, {"monotonic_ns", monotonic_ns}};
  line.update(fields);
  const auto text = line.dump(-1, ' ', false, Json::error_handler_t::replace) + '\n';
  if (std::fwrite(text.data(), 1, text.size(), file_.get()) == text.size() && std::fflush(file_.get()) == 0) {
    count_own_writes(text.size());
    return;
  }
  const std::string why = std::strerror(errno);
  file_.reset();  // the error event about this failure cannot be written either
  throw RunFailure(RunFailure::Kind::io, fmt::format("{}: cannot write an event: {}", name_, why));
}

Json to_json(const Usage& usage) {
  return {{"cpu_user_ns", or_null(usage.cpu_user_ns)},
          {"cpu_system_ns", or_null(usage.cpu_system_ns)},
          {"rss_bytes", or_null(usage.rss_bytes)},
          {"process_read_bytes", or_null(usage.process_read_bytes)},
          {"process_write_bytes", or_null(usage.process_write_bytes)},
          {"device", or_null(usage.device)},
          {"device_read_bytes", or_null(usage.device_read_bytes)},
          {"device_write_bytes", or_null(usage.device_write_bytes)},
          {"device_reads", or_null(usage.device_reads)},
          {"device_writes", or_null(usage.device_writes)},
          {"device_flushes", or_null(usage.device_flushes)},
          {"context_switches", or_null(usage.context_switches)}};
}

}  // namespace edgejoule::driver
