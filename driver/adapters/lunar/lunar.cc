// lunar in the driver's process: tables in an image file or on a raw block device, without a file system (README.md).
#include <fmt/format.h>

#include <optional>

#include "adapters/registry.h"
#include "contract/properties.h"
#include "lunar_session.h"

namespace edgejoule::driver {
namespace {

class Lunar final : public Database {
 public:
  void open(const Properties& properties, Durability durability, bool create, EventSink sink) override;
  [[nodiscard]] std::string close() override;
  [[nodiscard]] std::unique_ptr<Session> session() override;
  Status flush() override;
  [[nodiscard]] std::string flush_error() const override { return flush_error_; }
  Settled settle(std::uint64_t timeout_ns) override;
  [[nodiscard]] std::string version() const override { return EDGEJOULE_VERSION; }
  [[nodiscard]] std::map<std::string, std::string> options() const override;
  [[nodiscard]] std::string durability_how() const override { return settings_.durability_how; }
  [[nodiscard]] std::vector<Component> components() const override;
  [[nodiscard]] std::optional<IoCounts> io_counts() const override { return volume_->device().counts(); }
  [[nodiscard]] std::map<std::string, std::string> stats() const override;
  [[nodiscard]] std::string path() const override { return settings_.data_path; }
  [[nodiscard]] std::optional<std::uint64_t> record_count(std::uint64_t timeout_ns) const override;

 private:
  Status kept(int code);

  LunarSettings settings_{};
  mutable std::optional<LunarVolume> volume_;
  std::string flush_error_;
};

void Lunar::open(const Properties& properties, Durability durability, bool create, EventSink /*sink*/) {
  settings_ = lunar_settings(properties, durability);
  volume_.emplace(settings_, create);
}

std::string Lunar::close() {
  const int code = volume_ ? volume_->unmount() : LUNAR_OK;
  std::string failure = code == LUNAR_OK ? "" : "unmount: " + volume_->error(code);
  volume_.reset();
  return failure;
}

std::unique_ptr<Session> Lunar::session() { return std::make_unique<LunarSession>(settings_, *volume_); }

Status Lunar::kept(int code) {
  flush_error_ = code == LUNAR_OK ? "" : "flush: " + volume_->error(code);
  return code == LUNAR_OK ? Status::ok : Status::error;
}

Status Lunar::flush() { return kept(lunar_sync(&volume_->handle())); }

Settled Lunar::settle(std::uint64_t /*timeout_ns*/) {
  int code = lunar_checkpoint(&volume_->handle());
  if (code == LUNAR_OK) code = lunar_sync(&volume_->handle());
  if (kept(code) != Status::ok) throw DatabaseError(flush_error_);
  // Writing and syncing a file that was removed succeeds, so its presence is checked.
  if (!volume_->device().still_there()) {
    throw DatabaseError(fmt::format("lunar: {} is no longer the open file: its rows are lost", settings_.file));
  }
  return {true, "lunar_checkpoint: every page is in its place and synced; lunar has no background work"};
}

std::map<std::string, std::string> Lunar::options() const {
  const auto stat = volume_->statistics();
  return {
      {"mode", std::string(name_of(static_cast<lunar_mode>(stat.mode)))},
      {"index", std::string(name_of(volume_->index()))},
      {"buffer_bytes", std::to_string(settings_.buffer_bytes)},
      {"frames", std::to_string(stat.frames)},
      {"cache_bytes", std::to_string(settings_.cache_bytes)},
      {"stage_bytes", std::to_string(stat.stage_bytes)},
      {"sector_bytes", std::to_string(stat.sector_bytes)},
      {"atomic_write_bytes", std::to_string(settings_.atomic_write_bytes)},
      {"block_bytes_min", std::to_string(stat.block_bytes_min)},
      {"block_bytes_max", std::to_string(stat.block_bytes_max)},
      {"log_bytes", std::to_string(stat.log_bytes)},
      {"data_bytes", std::to_string(stat.data_bytes)},
      {"direct", settings_.direct ? "true" : "false"},
  };
}

std::vector<Component> Lunar::components() const {
  const auto& counts = volume_->device().counts();
  return {Component{.name = "wal",
                    .count = std::nullopt,
                    .duration_ns = std::nullopt,
                    .read_bytes = counts.log_read_bytes,
                    .write_bytes = counts.log_write_bytes,
                    .syncs = counts.flushes},  // of the whole image, which contains log and pages
          Component{.name = "checkpoint",
                    .count = volume_->statistics().checkpoints,
                    .duration_ns = std::nullopt,
                    .read_bytes = std::nullopt,
                    .write_bytes = std::nullopt,
                    .syncs = std::nullopt}};
}

std::optional<std::uint64_t> Lunar::record_count(std::uint64_t /*timeout_ns*/) const {
  std::uint64_t rows = 0;
  if (const int code = lunar_count(&volume_->table(), &rows); code != LUNAR_OK) {
    throw DatabaseError("count: " + volume_->error(code));
  }
  return rows;
}

std::map<std::string, std::string> Lunar::stats() const {
  if (!volume_) return {};
  const auto stat = volume_->statistics();
  const auto& counts = volume_->device().counts();
  return {
      {"device_reads", std::to_string(counts.reads)},
      {"device_writes", std::to_string(counts.writes)},
      {"device_flushes", std::to_string(counts.flushes)},
      {"sectors_read", std::to_string(counts.read_bytes / stat.sector_bytes)},
      {"sectors_written", std::to_string(counts.write_bytes / stat.sector_bytes)},
      {"checkpoints", std::to_string(stat.checkpoints)},
      {"spills", std::to_string(stat.spills)},
      {"epoch", std::to_string(stat.epoch)},
      {"free_bytes", std::to_string(stat.free_bytes)},
      {"log_bytes_used", std::to_string(stat.log_bytes_used)},
      {"frames_dirty", std::to_string(stat.frames_dirty)},
      {"cache_hits", std::to_string(volume_->cache().hits)},
      {"cache_misses", std::to_string(volume_->cache().misses)},
  };
}

}  // namespace

AdapterInfo lunar_adapter() {
  return {"lunar", "native tables in an image or on a raw block device, without a file system, in process",
          lunar_option_help(), [] { return std::make_unique<Lunar>(); }};
}

}  // namespace edgejoule::driver
