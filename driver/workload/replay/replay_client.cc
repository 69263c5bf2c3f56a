#include "replay_client.h"

#include <algorithm>

#include "system/check.h"

namespace edgejoule::driver {

ReplayClient::ReplayClient(ReplayWork& work, Session& session, unsigned number)
    : Client(work, session),
      workload_(work.workload),
      lines_(work, number),
      random_(client_seed(work.seed, number)),
      random_bytes_(value_seed(work.seed, Command::run, number)),
      values_(work) {}

// Returns false at the end of the trace.
bool ReplayClient::look_ahead() {
  if (line_ == nullptr && !ended_) {
    line_ = lines_.next();
    ended_ = line_ == nullptr;
  }
  return line_ != nullptr;
}

std::uint64_t ReplayClient::due_ns() {
  if (!look_ahead()) return 0;
  EJ_CHECK(line_->time_ns >= workload_.first_time_ns, line_->time_ns, workload_.first_time_ns);
  return static_cast<std::uint64_t>(static_cast<double>(line_->time_ns - workload_.first_time_ns) / workload_.speed);
}

std::uint64_t ReplayClient::step(std::uint64_t /*most*/) {
  if (!look_ahead()) return 0;
  carry_out(*line_);
  line_ = nullptr;
  return 1;
}

void ReplayClient::carry_out(const TraceLine& line) {
  const auto size = line.size.value_or(0);
  switch (line.operation) {
    case TraceOperation::read:
      static_cast<void>(read(line.key));
      break;
    case TraceOperation::update:
      static_cast<void>(write(Operation::update, line.key, changes(size), update_call()));
      break;
    case TraceOperation::insert:
      static_cast<void>(write(Operation::insert, line.key, values_.all(random_bytes_, size), &Session::insert));
      break;
    case TraceOperation::upsert:
      static_cast<void>(write(Operation::insert, line.key, values_.all(random_bytes_, size), &Session::upsert));
      break;
    case TraceOperation::scan:
      scan(line.key, size);
      break;
    case TraceOperation::remove:
      remove(line.key);
      break;
    case TraceOperation::read_modify_write:
      read_modify_write(line.key, size);
      break;
  }
}

auto ReplayClient::update_call() const -> WriteCall {
  return workload_.update_replaces ? &Session::replace : &Session::update;
}

Fields ReplayClient::changes(std::uint64_t bytes) {
  return workload_.write_all_fields ? values_.all(random_bytes_, bytes) : values_.one(random_, random_bytes_, bytes);
}

Status ReplayClient::read(std::string_view key) {
  const auto begin = now();
  const auto status = session().read(key, {}, row_);
  measure(Operation::read, status, begin, now());
  if (status == Status::ok) measurements().payload_read_bytes += payload_of(row_.fields);
  if (status >= Status::error) stop_because(Operation::read, status, key);
  return status;
}

Status ReplayClient::write(Operation counted, std::string_view key, Fields fields, WriteCall call) {
  const auto begin = now();
  const auto status = (session().*call)(key, fields);
  measure(counted, status, begin, now());
  if (status == Status::ok) measurements().payload_write_bytes += payload_of(fields);
  if (status >= Status::error) stop_because(counted, status, key);
  return status;
}

void ReplayClient::scan(std::string_view key, std::uint64_t records) {
  const auto begin = now();
  const auto status = session().scan(key, records, {}, rows_);
  measure(Operation::scan, status, begin, now());
  if (status >= Status::error) return stop_because(Operation::scan, status, key);
  if (status != Status::ok) return;
  for (const auto& row : rows_) measurements().payload_read_bytes += payload_of(row.fields);
}

void ReplayClient::remove(std::string_view key) {
  const auto begin = now();
  const auto status = session().remove(key);
  measure(Operation::remove, status, begin, now());
  if (status >= Status::error) stop_because(Operation::remove, status, key);
}

void ReplayClient::read_modify_write(std::string_view key, std::uint64_t bytes) {
  const auto fields = changes(bytes);
  const auto begin = now();
  const auto read_status = read(key);
  if (read_status >= Status::error) return;
  const auto update_status = write(Operation::update, key, fields, update_call());
  measure(Operation::read_modify_write, std::max(read_status, update_status), begin, now());
}

}  // namespace edgejoule::driver
