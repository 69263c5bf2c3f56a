#include "zipfian.h"

#include <algorithm>
#include <cmath>

#include "system/check.h"

namespace edgejoule::driver {
namespace {

constexpr std::uint64_t scrambled_items = 10'000'000'001U;
constexpr double scrambled_zeta = 26.46902820178302;  // YCSB 0.17.0's constant, unchanged
constexpr std::uint64_t summed_one_by_one = 10'000;
constexpr double pole_width = 1e-9;

double summed(std::uint64_t from, std::uint64_t to, double theta) {
  double sum = 0;
  for (std::uint64_t i = from + 1; i <= to; ++i) sum += 1 / std::pow(static_cast<double>(i), theta);
  return sum;
}

// Euler-Maclaurin sum over first..last, both included. `first` must be large.
double integrated(double first, double last, double theta) {
  const auto slope = [theta](double x) { return -theta * std::pow(x, -theta - 1); };
  const auto third = [theta](double x) { return -theta * (theta + 1) * (theta + 2) * std::pow(x, -theta - 3); };
  const double area = std::abs(1 - theta) < pole_width
                          ? std::log(last / first)
                          : (std::pow(last, 1 - theta) - std::pow(first, 1 - theta)) / (1 - theta);
  return area + (std::pow(first, -theta) + std::pow(last, -theta)) / 2 + (slope(last) - slope(first)) / 12 -
         (third(last) - third(first)) / 720;
}

Zipfian scrambled_ranks(double theta) {
  if (theta == zipfian_theta) return {scrambled_items, theta, scrambled_zeta};
  return Zipfian(scrambled_items, theta);
}

}  // namespace

double zeta(std::uint64_t from, std::uint64_t to, double theta) {
  if (to <= from) return 0;
  const auto one_by_one = std::min(to, std::max(from, summed_one_by_one));
  const double head = summed(from, one_by_one, theta);
  if (to - one_by_one <= summed_one_by_one) return head + summed(one_by_one, to, theta);
  return head + integrated(static_cast<double>(one_by_one + 1), static_cast<double>(to), theta);
}

Zipfian::Zipfian(std::uint64_t items, double theta) : Zipfian(items, theta, zeta(0, items, theta)) {}

Zipfian::Zipfian(std::uint64_t items, double theta, double zeta_of_items)
    : items_(items),
      counted_(items),
      theta_(theta),
      pole_(std::abs(1 - theta) < pole_width),
      alpha_(1 / (1 - theta)),
      zeta_(zeta_of_items),
      zeta_of_two_(zeta(0, 2, theta)),
      rank_one_below_(1 + std::pow(0.5, theta)),
      eta_(eta()) {
  EJ_CHECK(items > 0 && theta >= 0 && theta <= zipfian_theta_max, items, theta);
}

double Zipfian::eta() const {
  const double two = 2 / static_cast<double>(items_);
  return (pole_ ? -std::log(two) : 1 - std::pow(two, 1 - theta_)) / (1 - zeta_of_two_ / zeta_);
}

void Zipfian::grow(std::uint64_t items) {
  EJ_CHECK(items > counted_, items, counted_);
  zeta_ += zeta(counted_, items, theta_);
  counted_ = items;
  eta_ = eta();
}

std::uint64_t Zipfian::draw(Random& random, std::uint64_t items) const {
  const double u = random.uniform();
  const double uz = u * zeta_;
  if (uz < 1) return 0;
  if (uz < rank_one_below_) return 1;
  const auto count = static_cast<double>(items);
  const double rank = count * (pole_ ? std::exp(eta_ * u - eta_) : std::pow(eta_ * u - eta_ + 1, alpha_));
  return rank < count ? static_cast<std::uint64_t>(rank) : items - 1;  // rounding, or two items without eta
}

ScrambledZipfian::ScrambledZipfian(double theta) : ranks_(scrambled_ranks(theta)) {}

PermutedZipfian::PermutedZipfian(std::uint64_t first, std::uint64_t count, double theta)
    : first_(first), places_(count, count), ranks_(count, theta) {}

}  // namespace edgejoule::driver
