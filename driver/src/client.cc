#include "client.h"

#include <fmt/format.h>
#include <sys/prctl.h>
#include <time.h>

#include <algorithm>
#include <cmath>

namespace edgejoule::driver {
namespace {

constexpr std::uint64_t sleep_ns_max = 20'000'000;  // so that a stop is seen soon

std::uint64_t seed_of(std::uint64_t seed, unsigned number) {
  std::uint64_t state = seed;
  std::uint64_t derived = 0;
  for (unsigned i = 0; i <= number; ++i) derived = splitmix64(state);
  return derived;
}

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
  // Rounding must not leave a gap above the last kind that can occur.
  for (auto i = last; i < transaction_kinds; ++i) bounds[i] = ~std::uint64_t{0};
  return bounds;
}

std::uint64_t payload_of(Fields fields) {
  std::uint64_t bytes = 0;
  for (const auto& field : fields) bytes += field.value.size();
  return bytes;
}

// Of a value, what fits into a message.
std::string shown(std::string_view value) {
  constexpr std::size_t shown_max = 60;
  std::string text{value.substr(0, shown_max)};
  std::ranges::replace_if(
      text, [](unsigned char c) { return c < 0x20 || c >= 0x7F; }, '?');
  return value.size() > shown_max ? text + "..." : text;
}

}  // namespace

const CycleClock& cycle_clock() {
  static const CycleClock clock;
  return clock;
}

SharedWork::SharedWork(const Workload& the_workload, Command the_command, std::uint64_t the_seed, unsigned the_threads,
                       bool the_verify)
    : workload(the_workload),
      command(the_command),
      seed(the_seed),
      threads(the_threads),
      verify(the_verify),
      clock(cycle_clock()),
      values(~the_seed, the_workload.field_bytes.most),
      inserted(the_workload.records) {}

void SharedWork::fail(Failure failure) {
  const std::lock_guard lock(failing_);
  if (!failure_) failure_ = std::move(failure);
  stop.store(true, std::memory_order_relaxed);
}

std::optional<Failure> SharedWork::failure() const {
  const std::lock_guard lock(failing_);
  return failure_;
}

void SharedWork::refused(std::string_view key) {
  const std::lock_guard lock(refusing_);
  refused_.emplace(key);
}

bool SharedWork::was_refused(std::string_view key) const {
  const std::lock_guard lock(refusing_);
  return refused_.contains(key);
}

Client::Client(SharedWork& shared, Session& session, unsigned number)
    : shared_(shared),
      session_(session),
      workload_(shared.workload),
      random_(seed_of(shared.seed, number)),
      keys_(workload_),
      key_(workload_.hashed_keys, workload_.zero_padding),
      field_bytes_(workload_.field_bytes),
      scan_records_(workload_.scan_records),
      chooser_(cumulative(workload_.proportions)),
      measurements_(std::make_unique<Measurements>()),
      next_load_(workload_.insert_start + number),
      field_names_(workload_.fields.begin(), workload_.fields.end()) {
  const auto batch = shared.command == Command::load ? workload_.batch_records : 1;
  values_.resize(batch * field_names_.size());
  if (workload_.verify) deterministic_.resize(values_.size());
  batch_keys_.assign(batch, key_);
  batch_.resize(batch);
}

void Client::forget_measurements() {
  measurements_ = std::make_unique<Measurements>();
  done_.store(0, std::memory_order_relaxed);
}

void Client::work(std::uint64_t operations, const Pace& pace) {
  left_ = operations == 0 ? ~std::uint64_t{0} : operations;
  measure_intended_ = pace.measure_intended;
  const auto& clock = shared_.clock;
  const auto start = clock.now() + clock.to_ticks(pace.offset_ns);
  const auto begin_done = done();
  if (pace.interval_ns != 0) prctl(PR_SET_TIMERSLACK, 1UL);  // or a sleep ends up to 50 us late
  while (left_ > 0 && !shared_.stop.load(std::memory_order_relaxed)) {
    if (pace.interval_ns != 0) {
      due_ticks_ = start + clock.to_ticks((done() - begin_done) * pace.interval_ns);
      wait_until(due_ticks_);
      if (shared_.stop.load(std::memory_order_relaxed)) return;
    }
    step();
  }
}

void Client::wait_until(std::uint64_t due_ticks) const {
  for (;;) {
    const auto now = shared_.clock.now();
    if (now >= due_ticks || shared_.stop.load(std::memory_order_relaxed)) return;
    const auto wait_ns = std::min(shared_.clock.to_ns(due_ticks - now), sleep_ns_max);
    const timespec pause{static_cast<time_t>(wait_ns / 1'000'000'000U), static_cast<long>(wait_ns % 1'000'000'000U)};
    nanosleep(&pause, nullptr);
  }
}

void Client::step() {
  if (shared_.command == Command::load) {
    load_batch();
  } else {
    transact();
    --left_;
    done_.store(done() + 1, std::memory_order_relaxed);
  }
}

void Client::load_batch() {
  const auto count = static_cast<std::size_t>(std::min<std::uint64_t>(batch_.size(), left_));
  std::uint64_t bytes = 0;
  for (std::size_t i = 0; i < count; ++i) {
    const auto key = batch_keys_[i].of(next_load_);
    batch_[i] = {key, all_values(key, i)};
    bytes += payload_of(batch_[i].fields);
    next_load_ += shared_.threads;
  }
  const auto begin = shared_.clock.now();
  const auto status = count == 1 ? session_.insert(batch_[0].key, batch_[0].fields)
                                 : session_.insert_batch(std::span(batch_).first(count));
  measure(Operation::insert, status, begin, shared_.clock.now(), count);
  if (status == Status::ok) measurements_->payload_write_bytes += bytes;
  if (status >= Status::error) return stop_because(Operation::insert, status, batch_[0].key);
  left_ -= count;
  done_.store(done() + count, std::memory_order_relaxed);
}

void Client::transact() {
  const auto chance = random_.next();
  if (chance < chooser_[0]) return read();
  if (chance < chooser_[1]) return update();
  if (chance < chooser_[2]) return insert();
  if (chance < chooser_[3]) return scan();
  read_modify_write();
}

void Client::read() {
  const auto key = next_key();
  const auto names = fields_to_read();
  const auto begin = shared_.clock.now();
  const auto status = session_.read(key, names, row_);
  measure(Operation::read, status, begin, shared_.clock.now());
  if (status >= Status::error) return stop_because(Operation::read, status, key);
  if (status == Status::ok) measurements_->payload_read_bytes += payload_of(row_.fields);
  if (shared_.verify) verify_row(key, names, status);
}

void Client::update() {
  const auto key = next_key();
  const auto values = workload_.write_all_fields ? all_values(key, 0) : one_value(key);
  const auto begin = shared_.clock.now();
  const auto status = session_.update(key, values);
  measure(Operation::update, status, begin, shared_.clock.now());
  if (status == Status::ok) measurements_->payload_write_bytes += payload_of(values);
  if (status >= Status::error) stop_because(Operation::update, status, key);
}

void Client::insert() {
  const auto number = shared_.inserted.next();
  const auto key = key_.of(number);
  const auto values = all_values(key, 0);
  const auto begin = shared_.clock.now();
  const auto status = session_.insert(key, values);
  measure(Operation::insert, status, begin, shared_.clock.now());
  if (status == Status::ok) measurements_->payload_write_bytes += payload_of(values);
  if (status >= Status::error) return stop_because(Operation::insert, status, key);
  if (status != Status::ok && shared_.verify) shared_.refused(key);
  shared_.inserted.acknowledge(number);
}

void Client::scan() {
  const auto key = next_key();
  const auto count = scan_records_.next(random_);
  const auto names = workload_.read_all_fields ? FieldNames{} : fields_to_read();
  const auto begin = shared_.clock.now();
  const auto status = session_.scan(key, count, names, rows_);
  measure(Operation::scan, status, begin, shared_.clock.now());
  if (status >= Status::error) return stop_because(Operation::scan, status, key);
  if (status != Status::ok) return;
  for (const auto& row : rows_) measurements_->payload_read_bytes += payload_of(row.fields);
}

void Client::read_modify_write() {
  const auto key = next_key();
  const auto names = fields_to_read();
  const auto values = workload_.write_all_fields ? all_values(key, 0) : one_value(key);
  const auto begin = shared_.clock.now();
  const auto read_status = session_.read(key, names, row_);
  const auto between = shared_.clock.now();
  measure(Operation::read, read_status, begin, between);
  if (read_status >= Status::error) return stop_because(Operation::read, read_status, key);
  // The row's views end with the next call of the session.
  if (read_status == Status::ok) measurements_->payload_read_bytes += payload_of(row_.fields);
  if (shared_.verify) verify_row(key, names, read_status);
  const auto update_begin = shared_.verify ? shared_.clock.now() : between;
  const auto update_status = session_.update(key, values);
  const auto end = shared_.clock.now();
  measure(Operation::update, update_status, update_begin, end);
  measure(Operation::read_modify_write, std::max(read_status, update_status), begin + (update_begin - between), end);
  if (update_status == Status::ok) measurements_->payload_write_bytes += payload_of(values);
  if (update_status >= Status::error) stop_because(Operation::update, update_status, key);
}

FieldNames Client::fields_to_read() {
  if (!workload_.read_all_fields) return FieldNames(&field_names_[random_.below(field_names_.size())], 1);
  return workload_.verify ? FieldNames(field_names_) : FieldNames{};
}

Fields Client::one_value(std::string_view key) {
  const auto field = static_cast<std::size_t>(random_.below(field_names_.size()));
  values_[0] = {field_names_[field], value(key, field, 0)};
  return Fields(values_.data(), 1);
}

Fields Client::all_values(std::string_view key, std::size_t record) {
  const auto first = record * field_names_.size();
  for (std::size_t i = 0; i < field_names_.size(); ++i)
    values_[first + i] = {field_names_[i], value(key, i, first + i)};
  return Fields(values_.data() + first, field_names_.size());
}

std::string_view Client::value(std::string_view key, std::size_t field, std::size_t slot) {
  const auto bytes = field_bytes_.next(random_);
  if (!workload_.verify) return shared_.values.cut(random_, bytes);
  deterministic_value(key, field_names_[field], bytes, deterministic_[slot]);
  return deterministic_[slot];
}

void Client::verify_row(std::string_view key, FieldNames asked, Status read_status) {
  if (read_status == Status::busy) return;  // what row_ holds is an earlier row
  if (read_status == Status::not_found && shared_.was_refused(key)) return;
  const auto begin = shared_.clock.now();
  const auto status = row_is_right(key, asked, read_status) ? Status::ok : Status::unexpected_state;
  measure(Operation::verify, status, begin, shared_.clock.now());
  if (status == Status::unexpected_state)
    shared_.fail({Failure::Kind::wrong_data, "the database returned wrong data: " + mismatch_});
}

bool Client::row_is_right(std::string_view key, FieldNames asked, Status read_status) {
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

void Client::measure(Operation operation, Status status, std::uint64_t begin, std::uint64_t end, std::uint64_t calls) {
  auto& counted = measurements_->of(operation);
  counted.returns[static_cast<std::size_t>(status)] += calls;
  const auto service_ns = shared_.clock.to_ns(end - begin);
  if (status != Status::ok) [[unlikely]] {
    counted.failed.record(service_ns);
    return;
  }
  counted.service.record(service_ns);
  if (measure_intended_ && operation != Operation::verify)
    counted.intended.record(shared_.clock.to_ns(end - due_ticks_));
}

void Client::stop_because(Operation operation, Status status, std::string_view key) {
  const auto kind = status == Status::unexpected_state ? Failure::Kind::wrong_data : Failure::Kind::database;
  const auto words = session_.error();
  shared_.fail({kind, fmt::format("{} of {}: {}", operation_names[static_cast<std::size_t>(operation)], key,
                                  words.empty() ? "the database gave no reason" : words)});
}

}  // namespace edgejoule::driver
