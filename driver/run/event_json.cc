#include "event_json.h"

#include <algorithm>
#include <array>
#include <string>

#include "histogram_codec.h"

namespace edgejoule::driver {
namespace {

Json or_null(std::int64_t number) { return number < 0 ? Json(nullptr) : Json(number); }

Json latency(std::string_view operation, std::string_view measure, const OperationMeasure& measured,
             const Histogram& histogram) {
  Json returns = Json::object();
  for (std::size_t i = 0; i < status_kinds; ++i) {
    if (measured.returns[i] > 0) returns[std::string(status_names[i])] = measured.returns[i];
  }
  return {{"operation", operation},
          {"measure", measure},
          {"count", histogram.count()},
          {"returns", returns},
          {"min_ns", histogram.min()},
          {"mean_ns", histogram.mean()},
          {"max_ns", histogram.max()},
          {"p50_ns", histogram.percentile(50)},
          {"p90_ns", histogram.percentile(90)},
          {"p95_ns", histogram.percentile(95)},
          {"p99_ns", histogram.percentile(99)},
          {"p999_ns", histogram.percentile(99.9)},
          {"hdr", encode(histogram)}};
}

Json interval_latency(std::string_view operation, std::string_view measure, std::uint64_t failed,
                      const Histogram& histogram) {
  return {{"operation", operation},
          {"measure", measure},
          {"count", histogram.count()},
          {"failed", failed},
          {"mean_ns", histogram.mean()},
          {"p50_ns", histogram.percentile(50)},
          {"p99_ns", histogram.percentile(99)},
          {"max_ns", histogram.max()}};
}

}  // namespace

Json to_json(const DatabaseEvent& event) {
  static constexpr std::array kinds{"flush", "compaction", "checkpoint", "snapshot", "stall"};
  return {{"kind", kinds[static_cast<std::size_t>(event.kind)]},
          {"duration_ns", or_null(event.duration_ns)},
          {"read_bytes", or_null(event.read_bytes)},
          {"write_bytes", or_null(event.write_bytes)},
          {"detail", event.detail}};
}

Json latencies(const Measurements& measurements) {
  Json list = Json::array();
  for (std::size_t i = 0; i < operation_kinds; ++i) {
    const auto& measured = measurements.operations[i];
    if (measured.service.count() + measured.failures() == 0) continue;
    list.push_back(latency(operation_names[i], "service", measured, measured.service));
    if (measured.intended.count() > 0) {
      list.push_back(latency(operation_names[i], "intended", measured, measured.intended));
    }
  }
  return list;
}

Json to_json(const std::vector<FailureCause>& commonest_first) {
  constexpr std::size_t causes_max = 8;
  Json list = Json::array();
  for (const auto& cause : commonest_first) {
    if (list.size() == causes_max) break;
    list.push_back({{"operation", name_of(cause.operation)},
                    {"status", name_of(cause.status)},
                    {"count", cause.count},
                    {"words", cause.message}});
  }
  return list;
}

Json interval_latencies(const Measurements& measurements) {
  Json list = Json::array();
  for (std::size_t i = 0; i < operation_kinds; ++i) {
    const auto& measured = measurements.operations[i];
    const auto failed = measured.failures();
    if (measured.service.count() + failed == 0) continue;
    list.push_back(interval_latency(operation_names[i], "service", failed, measured.service));
    if (measured.intended.count() > 0) {
      list.push_back(interval_latency(operation_names[i], "intended", failed, measured.intended));
    }
  }
  return list;
}

std::optional<std::uint64_t> difference(const std::optional<std::uint64_t>& before,
                                        const std::optional<std::uint64_t>& after) {
  // A smaller count means that the server was restarted.
  if (!before || !after || *after < *before) return std::nullopt;
  return *after - *before;
}

Json components_between(const std::vector<Component>& before, const std::vector<Component>& after) {
  Json parts = Json::object();
  for (const auto& part : after) {
    const auto found = std::ranges::find(before, part.name, &Component::name);
    const Component base = found == before.end() ? Component{} : *found;
    parts[part.name] = {{"count", or_null(difference(base.count, part.count))},
                        {"duration_ns", or_null(difference(base.duration_ns, part.duration_ns))},
                        {"read_bytes", or_null(difference(base.read_bytes, part.read_bytes))},
                        {"write_bytes", or_null(difference(base.write_bytes, part.write_bytes))},
                        {"syncs", or_null(difference(base.syncs, part.syncs))}};
  }
  return parts;
}

Json io_between(const std::optional<IoCounts>& before, const std::optional<IoCounts>& after) {
  if (!before || !after) return nullptr;
  return {{"reads", after->reads - before->reads},
          {"writes", after->writes - before->writes},
          {"flushes", after->flushes - before->flushes},
          {"read_bytes", after->read_bytes - before->read_bytes},
          {"write_bytes", after->write_bytes - before->write_bytes}};
}

Json to_json(const DroppedCaches& caches) {
  return {{"dropped", true},
          {"resident_bytes_before", caches.resident_bytes_before},
          {"resident_bytes_after", caches.resident_bytes_after}};
}

}  // namespace edgejoule::driver
