#include "trace_writer.h"

#include <fmt/format.h>

#include <cerrno>
#include <cstring>
#include <iterator>

#include "client.h"
#include "system/check.h"
#include "system/run_failure.h"
#include "system/system.h"
#include "system/usage.h"
#include "system/usage_error.h"

namespace edgejoule::driver {
namespace {

constexpr std::size_t text_bytes_most = 1 << 20;
constexpr std::uint64_t ns_per_s = 1'000'000'000;

bool is_plain(char c) {
  const auto byte = static_cast<unsigned char>(c);
  return byte >= 0x20 && byte < 0x7F && c != '%' && c != ',' && c != '"';
}

// Appends the key in the trace's encoding.
void append_trace_key(std::string_view key, std::string& out) {
  constexpr std::string_view digits = "0123456789ABCDEF";
  for (const char c : key) {
    if (is_plain(c)) {
      out += c;
      continue;
    }
    const auto byte = static_cast<unsigned char>(c);
    out += '%';
    out += digits[byte >> 4U];
    out += digits[byte & 0xFU];
  }
}

class RecordingSession final : public Session {
 public:
  RecordingSession(std::unique_ptr<Session> session, TraceWriter& writer)
      : session_(std::move(session)), writer_(writer) {}

  Status read(std::string_view key, FieldNames names, Row& row) override {
    writer_.line(TraceOperation::read, key, std::nullopt);
    return session_->read(key, names, row);
  }
  Status scan(std::string_view start, std::uint64_t count, FieldNames names, std::vector<Row>& rows) override {
    writer_.line(TraceOperation::scan, start, count);
    return session_->scan(start, count, names, rows);
  }
  Status update(std::string_view key, Fields fields) override {
    writer_.line(TraceOperation::update, key, payload_of(fields));
    const auto status = session_->update(key, fields);
    reads_before_write_ = session_->reads_before_write();
    return status;
  }
  Status replace(std::string_view key, Fields fields) override {
    writer_.line(TraceOperation::update, key, payload_of(fields));
    const auto status = session_->replace(key, fields);
    reads_before_write_ = session_->reads_before_write();
    return status;
  }
  Status insert(std::string_view key, Fields fields) override {
    writer_.line(TraceOperation::insert, key, payload_of(fields));
    return session_->insert(key, fields);
  }
  Status upsert(std::string_view key, Fields fields) override {
    writer_.line(TraceOperation::upsert, key, payload_of(fields));
    return session_->upsert(key, fields);
  }
  Status insert_batch(std::span<const Record> records) override {
    for (const auto& record : records) writer_.line(TraceOperation::insert, record.key, payload_of(record.fields));
    return session_->insert_batch(records);
  }
  Status upsert_batch(std::span<const Record> records) override {
    for (const auto& record : records) writer_.line(TraceOperation::upsert, record.key, payload_of(record.fields));
    return session_->upsert_batch(records);
  }
  Status remove(std::string_view key) override {
    writer_.line(TraceOperation::remove, key, std::nullopt);
    return session_->remove(key);
  }
  [[nodiscard]] std::string error() const override { return session_->error(); }

 private:
  std::unique_ptr<Session> session_;
  TraceWriter& writer_;
};

}  // namespace

TraceWriter::TraceWriter(std::string path) : path_(std::move(path)), file_(std::fopen(path_.c_str(), "wb")) {
  if (!file_) throw UsageError(fmt::format("--record {}: cannot be written: {}", path_, std::strerror(errno)));
  text_ = fmt::format("{}\n", trace_header);
}

void TraceWriter::start() {
  EJ_CHECK(!recording_);
  begin_ns_ = now_monotonic_ns();
  recording_ = true;
}

std::unique_ptr<Session> TraceWriter::recording(std::unique_ptr<Session> session) {
  return std::make_unique<RecordingSession>(std::move(session), *this);
}

void TraceWriter::line(TraceOperation operation, std::string_view key, std::optional<std::uint64_t> size) {
  if (!recording_) return;
  const auto kind = static_cast<std::size_t>(operation);
  EJ_CHECK(kind < trace_operation_kinds, kind);
  EJ_CHECK(size || operation == TraceOperation::read || operation == TraceOperation::remove, operation);
  const std::lock_guard lock(mutex_);
  const auto now_ns = now_monotonic_ns();
  EJ_CHECK(now_ns >= begin_ns_, now_ns, begin_ns_);
  const auto time_ns = now_ns - begin_ns_;
  fmt::format_to(std::back_inserter(text_), "{}.{:09},{},", time_ns / ns_per_s, time_ns % ns_per_s,
                 trace_operation_names[kind]);
  append_trace_key(key, text_);
  text_ += ',';
  if (size) fmt::format_to(std::back_inserter(text_), "{}", *size);
  text_ += '\n';
  if (text_.size() >= text_bytes_most) write_out();
}

void TraceWriter::write_out() {
  if (std::fwrite(text_.data(), 1, text_.size(), file_.get()) != text_.size() || std::fflush(file_.get()) != 0) {
    throw RunFailure(RunFailure::Kind::io,
                     fmt::format("the trace {}: cannot be written: {}", path_, std::strerror(errno)));
  }
  count_own_writes(text_.size());
  text_.clear();
}

void TraceWriter::finish() {
  EJ_CHECK(recording_);
  const std::lock_guard lock(mutex_);
  recording_ = false;
  write_out();
}

}  // namespace edgejoule::driver
