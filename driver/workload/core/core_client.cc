#include "core_client.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <thread>

#include "system/memory_size.h"

namespace edgejoule::driver {
namespace {

std::array<std::uint64_t, transaction_kinds> cumulative(const std::array<double, transaction_kinds>& proportions) {
  std::array<std::uint64_t, transaction_kinds> bounds{};
  double sum = 0;
  for (const auto proportion : proportions) sum += proportion;
  double below = 0;
  std::size_t last = 0;
  for (std::size_t i = 0; i < transaction_kinds; ++i) {
    below += proportions[i] / sum;
    bounds[i] = below >= 1 ? ~std::uint64_t{0} : static_cast<std::uint64_t>(std::ldexp(below, 64));
    if (proportions[i] > 0) last = i;
  }
  // Rounding must not leave a gap above the last operation with a share.
  for (auto i = last; i < transaction_kinds; ++i) bounds[i] = ~std::uint64_t{0};
  return bounds;
}

// The part of a value that fits into a message.
std::string shown(std::string_view value) {
  constexpr std::size_t shown_max = 60;
  std::string text{value.substr(0, shown_max)};
  std::ranges::replace_if(
      text, [](unsigned char c) { return c < 0x20 || c >= 0x7F; }, '?');
  return value.size() > shown_max ? text + "..." : text;
}

}  // namespace

CoreWork::CoreWork(const CoreWorkload& the_workload, std::uint64_t the_seed, unsigned the_threads, bool the_verify)
    : Work(the_seed, the_threads), workload(the_workload), verify(the_verify), inserted(the_workload.records) {
  absent_is_failure = true;  // keys are drawn from those loaded or inserted
}

std::unique_ptr<Client> CoreWork::client(Session& session, unsigned number) {
  return std::make_unique<CoreClient>(*this, session, number);
}

void CoreWork::refused(std::string_view key) {
  const std::lock_guard lock(refusing_);
  refused_.emplace(key);
}

bool CoreWork::was_refused(std::string_view key) const {
  const std::lock_guard lock(refusing_);
  return refused_.contains(key);
}

CoreClient::CoreClient(CoreWork& shared, Session& session, unsigned number)
    : Client(shared, session),
      shared_(shared),
      workload_(shared.workload),
      random_(client_seed(shared.seed, number)),
      random_bytes_(value_seed(shared.seed, workload_.command, number)),
      keys_(workload_.requests, number, shared.threads),
      key_(workload_.hashed_keys, workload_.zero_padding, workload_.integer_keys),
      field_bytes_(workload_.field_bytes),
      scan_records_(workload_.scan_records),
      chooser_(cumulative(workload_.proportions)),
      next_load_(workload_.insert_start + number),
      field_names_(workload_.fields.begin(), workload_.fields.end()) {
  const std::size_t batch = workload_.command == Command::load ? memory_size(workload_.batch_records) : 1;
  values_.resize(batch * field_names_.size());
  lengths_.resize(field_names_.size());
  buffers_.resize(batch);
  if (workload_.verify) deterministic_.resize(values_.size());
  batch_keys_.assign(batch, key_);
  batch_.resize(batch);
}

std::uint64_t CoreClient::step(std::uint64_t most) {
  return workload_.command == Command::load ? load_batch(most) : transact();
}

std::uint64_t CoreClient::load_batch(std::uint64_t most) {
  const auto count = static_cast<std::size_t>(std::min<std::uint64_t>(batch_.size(), most));
  std::uint64_t bytes = 0;
  for (std::size_t i = 0; i < count; ++i) {
    const auto key = batch_keys_[i].of(next_load_);
    batch_[i] = {key, all_values(key, i)};
    bytes += payload_of(batch_[i].fields);
    next_load_ += shared_.threads;
  }
  auto status = insert_records(count);
  for (std::uint64_t retry = 0; status != Status::ok && retry < workload_.insert_retries; ++retry) {
    if (!pause_before_retry()) break;
    status = insert_records(count);
  }
  if (status == Status::ok) {
    forgive_failures();
    measurements().payload_write_bytes += bytes;
    return count;
  }
  // Even if the database was only busy: otherwise the load would lack these records.
  stop_because(Operation::insert, status, batch_[0].key);
  return 0;
}

Status CoreClient::insert_records(std::size_t count) {
  const auto begin = now();
  const auto status = count == 1 ? session().insert(batch_[0].key, batch_[0].fields)
                                 : session().insert_batch(std::span(batch_).first(count));
  measure(Operation::insert, status, begin, now(), count);
  return status;
}

// Pauses 0.8 to 1.2 times the interval, as YCSB does, so that clients do not retry all at once. Returns false if the
// run was stopped.
bool CoreClient::pause_before_retry() {
  auto left = std::chrono::duration<double>(workload_.insert_retry_interval_s * (0.8 + 0.4 * random_.uniform()));
  constexpr std::chrono::duration<double> step(0.02);
  for (; left.count() > 0; left -= step) {
    if (shared_.stop.load(std::memory_order_relaxed)) return false;
    std::this_thread::sleep_for(std::min(left, step));
  }
  return true;
}

Transaction CoreClient::draw_transaction() {
  const auto chance = random_.next();
  const auto chosen =
      std::ranges::find_if(chooser_.begin(), chooser_.end() - 1, [&](auto end) { return chance < end; });
  return static_cast<Transaction>(chosen - chooser_.begin());
}

// Returns 0 if the run was stopped before a key was available for the operation.
std::uint64_t CoreClient::transact() {
  const auto transaction = draw_transaction();
  if (transaction == Transaction::insert) {
    const auto number = shared_.inserted.next(shared_.stop);
    if (number) insert(*number);
    return number ? 1 : 0;
  }
  const auto number = keys_.next(random_, shared_.inserted, shared_.stop);
  if (!number) return 0;
  const auto key = key_.of(*number);
  switch (transaction) {
    case Transaction::read:
      read(key);
      break;
    case Transaction::update:
      update(key);
      break;
    case Transaction::scan:
      scan(key);
      break;
    case Transaction::read_modify_write:
      read_modify_write(key);
      break;
    case Transaction::insert:
      break;
  }
  return 1;
}

void CoreClient::read(std::string_view key) {
  const auto names = fields_to_read();
  const auto begin = now();
  const auto status = session().read(key, names, row_);
  measure(Operation::read, status, begin, now());
  if (status >= Status::error) return stop_because(Operation::read, status, key);
  if (status == Status::ok) measurements().payload_read_bytes += payload_of(row_.fields);
  if (shared_.verify) verify_row(key, names, status);
}

void CoreClient::update(std::string_view key) {
  const auto values = workload_.write_all_fields ? all_values(key, 0) : one_value(key);
  const auto begin = now();
  const auto status = write(key, values);
  measure(Operation::update, status, begin, now());
  if (status == Status::ok) measurements().payload_write_bytes += payload_of(values);
  if (status >= Status::error) stop_because(Operation::update, status, key);
}

void CoreClient::insert(std::uint64_t number) {
  const auto key = key_.of(number);
  const auto values = all_values(key, 0);
  const auto begin = now();
  const auto status = session().insert(key, values);
  measure(Operation::insert, status, begin, now());
  if (status == Status::ok) measurements().payload_write_bytes += payload_of(values);
  if (status >= Status::error) return stop_because(Operation::insert, status, key);
  if (status != Status::ok && shared_.verify) shared_.refused(key);
  shared_.inserted.acknowledge(number);
}

void CoreClient::scan(std::string_view key) {
  const auto count = scan_records_.next(random_);
  const auto names = workload_.read_all_fields ? FieldNames{} : fields_to_read();
  const auto begin = now();
  auto status = session().scan(key, count, names, rows_);
  const auto end = now();
  // The record at the start of the scan was loaded or inserted, so the scan must return at least that one.
  if (status == Status::ok && rows_.empty() && !shared_.keeps_nothing) status = Status::not_found;
  measure(Operation::scan, status, begin, end);
  if (status >= Status::error) return stop_because(Operation::scan, status, key);
  if (status != Status::ok) return;
  for (const auto& row : rows_) measurements().payload_read_bytes += payload_of(row.fields);
}

void CoreClient::read_modify_write(std::string_view key) {
  const auto names = fields_to_read();
  const auto values = workload_.write_all_fields ? all_values(key, 0) : one_value(key);
  const auto begin = now();
  const auto read_status = session().read(key, names, row_);
  const auto between = now();
  measure(Operation::read, read_status, begin, between);
  if (read_status >= Status::error) return stop_because(Operation::read, read_status, key);
  // The row's views end with the session's next call.
  if (read_status == Status::ok) measurements().payload_read_bytes += payload_of(row_.fields);
  if (shared_.verify) verify_row(key, names, read_status);
  const auto update_begin = shared_.verify ? now() : between;
  const auto update_status = write(key, values);
  const auto end = now();
  measure(Operation::update, update_status, update_begin, end);
  measure(Operation::read_modify_write, std::max(read_status, update_status), begin + (update_begin - between), end);
  if (update_status == Status::ok) measurements().payload_write_bytes += payload_of(values);
  if (update_status >= Status::error) stop_because(Operation::update, update_status, key);
}

Status CoreClient::write(std::string_view key, Fields values) {
  return workload_.update_replaces ? session().replace(key, values) : session().update(key, values);
}

FieldNames CoreClient::fields_to_read() {
  if (!workload_.read_all_fields) {
    const auto field = static_cast<std::size_t>(random_.below(field_names_.size()));
    return FieldNames(&field_names_[field], 1);
  }
  return workload_.verify ? FieldNames(field_names_) : FieldNames{};
}

Fields CoreClient::one_value(std::string_view key) {
  const auto field = static_cast<std::size_t>(random_.below(field_names_.size()));
  values_[0].name = field_names_[field];
  if (workload_.verify) {
    values_[0].value = deterministic(key, field, 0);
  } else {
    const auto bytes = field_bytes_.next(random_);
    buffers_[0].draw(random_bytes_, std::span(&bytes, 1), values_);
  }
  return Fields(values_.data(), 1);
}

Fields CoreClient::all_values(std::string_view key, std::size_t record) {
  const auto first = record * field_names_.size();
  const auto fields = std::span(values_).subspan(first, field_names_.size());
  for (std::size_t i = 0; i < fields.size(); ++i) {
    fields[i].name = field_names_[i];
    if (workload_.verify) fields[i].value = deterministic(key, i, first + i);
  }
  if (!workload_.verify) {
    for (auto& length : lengths_) length = field_bytes_.next(random_);
    buffers_[record].draw(random_bytes_, lengths_, fields);
  }
  return fields;
}

std::string_view CoreClient::deterministic(std::string_view key, std::size_t field, std::size_t slot) {
  deterministic_value(key, field_names_[field], workload_.field_bytes.most, deterministic_[slot]);
  return deterministic_[slot];
}

void CoreClient::verify_row(std::string_view key, FieldNames asked, Status read_status) {
  if (read_status == Status::busy) return;  // row_ still holds an earlier row
  if (read_status == Status::not_found && shared_.was_refused(key)) return;
  const auto begin = now();
  const auto status = row_is_right(key, asked, read_status) ? Status::ok : Status::unexpected_state;
  measure(Operation::verify, status, begin, now());
  if (status == Status::unexpected_state)
    shared_.fail({Failure::Kind::wrong_data, "the database returned wrong data: " + mismatch_});
}

bool CoreClient::row_is_right(std::string_view key, FieldNames asked, Status read_status) {
  if (read_status == Status::not_found) {
    mismatch_ = fmt::format("READ of {}: the record is missing", key);
    return false;
  }
  for (const auto name : asked) {
    const auto found = std::ranges::find(row_.fields, name, &Field::name);
    if (found == row_.fields.end()) {
      mismatch_ = fmt::format("READ of {}: {} is missing from the row", key, name);
      return false;
    }
    deterministic_value(key, name, workload_.field_bytes.most, expected_);
    if (found->value == expected_) continue;
    mismatch_ =
        fmt::format("READ of {}: {} holds \"{}\"; expected \"{}\"", key, name, shown(found->value), shown(expected_));
    return false;
  }
  return true;
}

}  // namespace edgejoule::driver
