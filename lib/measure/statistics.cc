#include "memsim/measure/statistics.h"

#include <algorithm>
#include <boost/math/distributions/normal.hpp>
#include <boost/math/distributions/students_t.hpp>
#include <cmath>
#include <cstddef>
#include <limits>
#include <numeric>
#include <utility>

#include "memsim/workload/random.h"

namespace memsim {

namespace {

double MedianOfSorted(const std::vector<double>& sorted) {
  const size_t n = sorted.size();
  if (n == 0) return 0;
  return n % 2 == 1 ? sorted[n / 2] : (sorted[n / 2 - 1] + sorted[n / 2]) / 2;
}

std::vector<double> Ranks(const std::vector<double>& values) {
  std::vector<double> ranks;
  for (const double value : values) {
    const auto below = std::count_if(values.begin(), values.end(), [&](double v) { return v < value; });
    const auto equal = std::count(values.begin(), values.end(), value);
    ranks.push_back(static_cast<double>(below) + static_cast<double>(equal + 1) / 2);
  }
  return ranks;
}

// Times the number of values.
double Covariance(const std::vector<double>& x, const std::vector<double>& y) {
  const double mean_x = Mean(x), mean_y = Mean(y);
  double sum = 0;
  for (size_t i = 0; i < x.size(); ++i) sum += (x[i] - mean_x) * (y[i] - mean_y);
  return sum;
}

// Wilson's interval of a share, `z` standard errors wide, from samples that say as much as `excess`
// times fewer independent ones.
Interval Wilson(double hits, double total, double excess, double z) {
  Interval interval;
  if (total == 0) return interval;
  const double n = total / excess;
  const double p = hits / total;
  const double scale = 1 + z * z / n;
  const double middle = (p + z * z / (2 * n)) / scale;
  const double half = z / scale * std::sqrt(p * (1 - p) / n + z * z / (4 * n * n));
  interval.centre = p;
  // What rounding would leave beside the ends.
  interval.low = hits == 0 ? 0 : std::max(0.0, middle - half);
  interval.high = hits == total ? 1 : std::min(1.0, middle + half);
  return interval;
}

// The quantile that a two-sided interval takes.
template <class Distribution>
double Quantile(const Distribution& distribution, double confidence) {
  return boost::math::quantile(distribution, 1 - (1 - confidence) / 2);
}

}  // namespace

double Median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return MedianOfSorted(values);
}

double Mean(const std::vector<double>& values) {
  if (values.empty()) return 0;
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

double StandardDeviation(const std::vector<double>& values) {
  if (values.size() < 2) return 0;
  return std::sqrt(Covariance(values, values) / static_cast<double>(values.size() - 1));
}

double HarmonicMean(const std::vector<double>& values) {
  if (values.empty()) return 0;
  double inverses = 0;
  for (const double value : values) inverses += 1 / value;
  return static_cast<double>(values.size()) / inverses;
}

double Slope(const std::vector<double>& x, const std::vector<double>& y) {
  std::vector<std::pair<double, double>> pairs;  // slope, weight
  double weights = 0;
  for (size_t i = 0; i < x.size(); ++i) {
    for (size_t j = i + 1; j < x.size(); ++j) {
      if (x[i] == x[j]) continue;
      pairs.push_back({(y[j] - y[i]) / (x[j] - x[i]), std::abs(x[j] - x[i])});
      weights += pairs.back().second;
    }
  }
  std::sort(pairs.begin(), pairs.end());
  double below = 0;
  for (const auto& [slope, weight] : pairs) {
    below += weight;
    if (2 * below >= weights) return slope;
  }
  return 0;
}

Interval MedianInterval(std::vector<double> values, double confidence) {
  std::sort(values.begin(), values.end());
  const int n = static_cast<int>(values.size());
  Interval interval;
  interval.n = n;
  if (n == 0) return interval;
  interval.centre = MedianOfSorted(values);
  // The true median lies outside [value k, value n-1-k] with probability 2 * P(Binomial(n, 1/2) <= k).
  double outside = 0;
  int k = -1;
  double log_term = -n * std::log(2.0);  // P(X = 0)
  for (int i = 0; 2 * i < n - 1; ++i) {
    const double next = outside + 2 * std::exp(log_term);
    if (next > 1 - confidence) break;
    outside = next;
    k = i;
    log_term += std::log(static_cast<double>(n - i) / (i + 1));
  }
  if (k < 0) {
    k = 0;
    outside = 2 * std::pow(0.5, n);
  }
  interval.low = values[static_cast<size_t>(k)];
  interval.high = values[static_cast<size_t>(n - 1 - k)];
  interval.confidence = std::max(0.0, 1 - outside);
  return interval;
}

namespace {

// How many of the 2^n sign patterns of the ranks 1 to n have each sum, 0 to n * (n + 1) / 4, as shares.
std::vector<double> SignedRankShares(int n) {
  std::vector<double> shares(static_cast<size_t>(n * (n + 1) / 4) + 1);
  shares[0] = std::pow(0.5, n);
  for (size_t rank = 1; rank <= static_cast<size_t>(n); ++rank) {
    for (size_t sum = shares.size() - 1; sum >= rank; --sum) shares[sum] += shares[sum - rank];
  }
  return shares;
}

}  // namespace

Interval RankInterval(const std::vector<double>& values, double confidence) {
  Interval interval;
  interval.n = static_cast<int>(values.size());
  if (values.empty()) return interval;
  std::vector<double> means;
  for (size_t i = 0; i < values.size(); ++i) {
    for (size_t j = i; j < values.size(); ++j) means.push_back((values[i] + values[j]) / 2);
  }
  const auto at = [&](size_t k) {
    std::nth_element(means.begin(), means.begin() + static_cast<ptrdiff_t>(k), means.end());
    return means[k];
  };
  interval.centre = (at(means.size() / 2) + at((means.size() - 1) / 2)) / 2;
  // The centre lies below the k-th mean from below when the sum of the positive ranks is under k.
  const std::vector<double> shares = SignedRankShares(interval.n);
  double outside = 2 * shares[0];
  size_t k = 0;
  while (k + 1 < shares.size() && outside + 2 * shares[k + 1] <= 1 - confidence) outside += 2 * shares[++k];
  interval.low = at(k);
  interval.high = at(means.size() - 1 - k);
  interval.confidence = std::max(0.0, 1 - outside);
  return interval;
}

Interval BootstrapInterval(int rounds, uint64_t seed,
                           const std::function<double(const std::vector<int>&)>& statistic,
                           int resamples) {
  Interval interval;
  interval.n = rounds;
  if (rounds == 0) return interval;
  std::vector<int> picked(static_cast<size_t>(rounds));
  for (int i = 0; i < rounds; ++i) picked[static_cast<size_t>(i)] = i;
  interval.centre = statistic(picked);
  Random random(seed);
  std::vector<double> draws;
  for (int d = 0; d < resamples; ++d) {
    for (int& one : picked) one = static_cast<int>(random.Below(static_cast<uint64_t>(rounds)));
    draws.push_back(statistic(picked));
  }
  std::sort(draws.begin(), draws.end());
  const auto at = [&](double share) {
    return draws[static_cast<size_t>(std::lround(share * static_cast<double>(draws.size() - 1)))];
  };
  interval.low = at((1 - kConfidence) / 2);
  interval.high = at(1 - (1 - kConfidence) / 2);
  interval.confidence = kConfidence;
  return interval;
}

double RankCorrelation(const std::vector<double>& x, const std::vector<double>& y) {
  if (x.size() < 3) return std::numeric_limits<double>::quiet_NaN();
  const std::vector<double> rx = Ranks(x), ry = Ranks(y);
  return Covariance(rx, ry) / std::sqrt(Covariance(rx, rx) * Covariance(ry, ry));
}

Interval ShareInterval(int64_t hits, int64_t total, double confidence) {
  Interval interval = Wilson(static_cast<double>(hits), static_cast<double>(total), 1,
                             Quantile(boost::math::normal(), confidence));
  interval.n = static_cast<int>(total);
  if (total > 0) interval.confidence = confidence;
  return interval;
}

Interval GroupedShareInterval(const std::vector<int64_t>& hits, const std::vector<int64_t>& totals,
                              double confidence) {
  const auto sum = [](const std::vector<int64_t>& values) {
    return static_cast<double>(std::accumulate(values.begin(), values.end(), int64_t{0}));
  };
  const double all = sum(totals);
  const double p = all == 0 ? 0 : sum(hits) / all;
  // Pearson's chi-squared over its degrees of freedom: 1 when chance alone makes the groups differ.
  double chi = 0;
  for (size_t g = 0; g < hits.size(); ++g) {
    const double expected = p * static_cast<double>(totals[g]);
    if (expected <= 0 || p >= 1) continue;
    const double off = static_cast<double>(hits[g]) - expected;
    chi += off * off / (expected * (1 - p));
  }
  const double freedom = std::max(1.0, static_cast<double>(hits.size()) - 1);
  // The groups are few, and how much they differ is itself an estimate from them: Student's t.
  Interval interval = Wilson(sum(hits), all, std::max(1.0, chi / freedom),
                             Quantile(boost::math::students_t(freedom), confidence));
  interval.n = static_cast<int>(hits.size());
  if (interval.n >= kLeastGroups && all > 0) interval.confidence = confidence;
  return interval;
}

Interval DifferenceInterval(const Interval& a, const Interval& b) {
  Interval interval;
  interval.centre = a.centre - b.centre;
  interval.low = interval.centre - std::hypot(a.centre - a.low, b.high - b.centre);
  interval.high = interval.centre + std::hypot(a.high - a.centre, b.centre - b.low);
  interval.confidence = std::min(a.confidence, b.confidence);
  interval.n = std::min(a.n, b.n);
  return interval;
}

}  // namespace memsim
