#include "examination.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <cstring>

#include "disk.h"

namespace edgejoule::driver {
namespace {

using namespace std::chrono_literals;

constexpr auto examination_limit = 120s;
constexpr std::size_t text_bytes = 512;

enum class Stage : std::uint8_t { mounting, opening, closed };

// The results that the examining process leaves in shared memory for its parent.
struct SharedFindings {
  std::atomic<Stage> stage;
  char first_failure[text_bytes];
};
static_assert(std::atomic<Stage>::is_always_lock_free && std::is_standard_layout_v<SharedFindings>,
              "shared between processes");
static_assert(sizeof(Found) == 8 && std::is_trivially_copyable_v<Found> && std::is_standard_layout_v<Found>);

Found found_of(Session& session, RowContent& content, std::uint32_t key, SharedFindings& findings) {
  Row row;
  switch (session.read(stream_key(key), {}, row)) {
    case Status::ok:
      if (const auto version = content.version_of(key, row)) return {Found::Kind::version, *version};
      return {Found::Kind::never_written};
    case Status::not_found:
      return {Found::Kind::absent};
    case Status::unexpected_state:
      return {Found::Kind::never_written};
    case Status::busy:
    case Status::error:
      break;
  }
  if (findings.first_failure[0] == 0) {
    std::strncpy(findings.first_failure, session.error().c_str(), text_bytes - 1);
  }
  return {Found::Kind::unreadable};
}

void read_all(const DatabaseSetting& setting, std::uint64_t seed, std::span<Found> found, SharedFindings& findings) {
  const auto database = setting.adapter->make();
  database->open(setting.properties, setting.durability, false, [](const DatabaseEvent&) {});
  {
    const auto session = database->session();
    auto content = row_content(setting.properties, seed);
    for (std::uint32_t key = 0; key < found.size(); ++key) found[key] = found_of(*session, content, key, findings);
  }
  if (const auto failure = database->close(); !failure.empty()) throw DatabaseError(failure);
}

// A cut at a position may be as late as the last acknowledgement at that position.
std::uint64_t cut_time_ns(const Recording& recording, std::uint64_t position) {
  std::uint64_t time_ns = position == 0 ? 0 : recording.trace->entry(position - 1).monotonic_ns;
  for (const auto& write : recording.writes) {
    if (write.acknowledged_position && *write.acknowledged_position <= position) {
      time_ns = std::max(time_ns, write.acknowledged_ns);
    }
  }
  return time_ns;
}

}  // namespace

CutOutcome examine(const Recording& recording, const DatabaseSetting& setting, const TestDisk& disk,
                   const StreamShape& stream, const Cut& cut, Flushes flushes, const Workplace& workplace) {
  const SharedMemory found_memory("found rows", recording.keys * sizeof(Found));
  const std::span found(reinterpret_cast<Found*>(found_memory.bytes().data()), recording.keys);
  const SharedMemory findings_memory("findings", sizeof(SharedFindings));
  auto& findings = *reinterpret_cast<SharedFindings*>(findings_memory.bytes().data());

  const Disk device({recording.base.get(),
                     [&](std::span<std::byte> image) { cut_image(*recording.trace, cut, flushes, image); }, nullptr},
                    workplace.disk());
  ChildProcess reading([&] {
    const PrivateMount mounted(disk.file_system, device.device(), workplace.files());
    findings.stage = Stage::opening;
    read_all(setting, stream.seed, found, findings);
    findings.stage = Stage::closed;
  });
  auto failure = reading.wait(examination_limit);

  CutOutcome outcome{cut, CutOutcome::Kind::judged, std::move(failure), {}};
  if (findings.stage == Stage::mounting) {
    outcome.kind = CutOutcome::Kind::file_system_failed;
    return outcome;
  }
  if (findings.stage == Stage::opening) {
    outcome.kind = CutOutcome::Kind::database_failed;
    std::ranges::fill(found, Found{Found::Kind::absent});
  } else {
    outcome.failure = findings.first_failure;
  }
  outcome.judgement =
      judge(recording.writes, stream.threads == 1, cut.position, cut_time_ns(recording, cut.position), found);
  if (outcome.kind == CutOutcome::Kind::database_failed) outcome.judgement.earlier_state = std::nullopt;
  return outcome;
}

CutPlan cut_plan(const Recording& recording, Flushes flushes) {
  CutPlan plan{{recording.end_position, recording.end_position + 1}, {}, recording.background, flushes};
  for (const auto& write : recording.writes) {
    if (!write.acknowledged_position) continue;
    plan.acknowledgements.push_back(*write.acknowledged_position);
    plan.range.begin = std::min(plan.range.begin, *write.acknowledged_position);
  }
  return plan;
}

}  // namespace edgejoule::driver
