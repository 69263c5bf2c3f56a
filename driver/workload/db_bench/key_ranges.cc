#include "key_ranges.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <random>
#include <stdexcept>

#include "system/check.h"
#include "system/memory_size.h"

namespace edgejoule::driver::db_bench {
namespace {

constexpr double share_least = 1e-16;  // a smaller share gets no ticket
constexpr double tickets_max = 0x1p53;

// From the last range, which has the smallest share, to the first.
std::vector<std::uint64_t> tickets_of(const TwoTermExponential& law, std::uint64_t count) {
  std::vector<std::uint64_t> tickets;
  tickets.reserve(memory_size(count));
  double in_all = 0;
  double sum = 0;
  for (auto range = count; range > 0; --range) {
    const auto x = static_cast<double>(range);
    auto share = law.a * std::exp(law.b * x) + law.c * std::exp(law.d * x);
    if (!(share >= share_least)) share = 0;
    if (in_all == 0 && share > 0) in_all = std::floor(1 / share) + 1;
    const auto own = std::floor(in_all * share);
    sum += own;
    if (!(sum < tickets_max)) throw std::range_error("shares that differ by less than 2^53");
    tickets.push_back(static_cast<std::uint64_t>(own));
  }
  if (sum < 1) throw std::range_error("one range at least with a share above 0");
  return tickets;
}

std::uint64_t sum(const std::vector<std::uint64_t>& tickets) {
  return std::accumulate(tickets.begin(), tickets.end(), std::uint64_t{0});
}

void change_places(std::vector<std::uint64_t>& tickets) {
  std::mt19937_64 random(sum(tickets));
  for (auto& own : tickets) std::swap(own, tickets[memory_size(random() % tickets.size())]);
}

std::vector<std::uint64_t> first_tickets(std::vector<std::uint64_t> tickets) {
  change_places(tickets);
  std::exclusive_scan(tickets.begin(), tickets.end(), tickets.begin(), std::uint64_t{0});
  return tickets;
}

}  // namespace

KeyRanges::KeyRanges(const TwoTermExponential& shares, std::uint64_t count) : KeyRanges(tickets_of(shares, count)) {}

KeyRanges::KeyRanges(std::vector<std::uint64_t> tickets)
    : tickets_(sum(tickets)), first_tickets_(first_tickets(std::move(tickets))), fold_(tickets_) {}

std::uint64_t KeyRanges::place(std::uint64_t draw) const {
  const auto next = std::ranges::upper_bound(first_tickets_, fold_.of(draw));
  EJ_CHECK(next != first_tickets_.begin(), draw, tickets_);
  return static_cast<std::uint64_t>(next - first_tickets_.begin()) - 1;
}

}  // namespace edgejoule::driver::db_bench
