// Robust centres and intervals for a noisy, shared machine.
#ifndef MEMSIM_MEASURE_STATISTICS_H_
#define MEMSIM_MEASURE_STATISTICS_H_

#include <cstdint>
#include <functional>
#include <vector>

namespace memsim {

// A median and where the true median lies.
struct Interval {
  double centre = 0;
  double low = 0;
  double high = 0;
  double confidence = 0;  // what low..high covers; below 0.95 when there are few values
  int n = 0;              // values it was made from
};

// `values` need not be sorted; empty gives 0.
double Median(std::vector<double> values);

double Mean(const std::vector<double>& values);
// Of a sample (n - 1); fewer than two values give 0.
double StandardDeviation(const std::vector<double>& values);

// For rates of the same work. Values above 0; empty gives 0.
double HarmonicMean(const std::vector<double>& values);

// The median with an interval from order statistics: no assumption about the distribution, only that
// the values are independent. Too few values for the confidence wanted, six for 95 % and eight for 99 %: then
// the interval is their range and `confidence` says what that covers.
inline constexpr double kConfidence = 0.95;
Interval MedianInterval(std::vector<double> values, double confidence = kConfidence);

// The centre of the means of all pairs (Hodges and Lehmann's) with the interval of Wilcoxon's signed ranks:
// for few values nearly as narrow as Student's where that holds, and right for skewed values, two groups of
// values and outliers, too. Takes n * n time. Too few values for the confidence wanted: their range, as
// above.
Interval RankInterval(const std::vector<double>& values, double confidence = kConfidence);

// Percentile bootstrap (95 %) of a statistic over paired rounds. `statistic(picked)` gets indices of
// rounds, drawn with replacement. `resamples` draws from `seed`.
Interval BootstrapInterval(int rounds, uint64_t seed,
                           const std::function<double(const std::vector<int>&)>& statistic,
                           int resamples = 1000);

// Slope of y over x: the median of the slopes of all pairs of points, weighted by their distance in x
// (Theil and Sen's, with Scholz's weights): a point far off the line moves it little. At least two
// different x.
double Slope(const std::vector<double>& x, const std::vector<double>& y);

// Spearman's rank correlation of two lists of one size, ties sharing their mean rank: 1 for the same order,
// -1 for the opposite. NaN for fewer than three values or a list of equal ones.
double RankCorrelation(const std::vector<double>& x, const std::vector<double>& y);

// Interval of a share: Wilson's, `hits` of `total` samples.
Interval ShareInterval(int64_t hits, int64_t total, double confidence = kConfidence);

// The same for samples taken in groups, hits[g] of totals[g], which may differ by more than chance
// makes them: the interval is as much wider as they do. `n` is the number of groups; under
// kLeastGroups they say too little of that, and `confidence` is 0.
inline constexpr int kLeastGroups = 8;
Interval GroupedShareInterval(const std::vector<int64_t>& hits, const std::vector<int64_t>& totals,
                              double confidence = kConfidence);

// a - b of two independent estimates, from their intervals of one confidence (Zou and Donner's MOVER; of two
// shares it is Newcombe's interval).
Interval DifferenceInterval(const Interval& a, const Interval& b);

}  // namespace memsim

#endif  // MEMSIM_MEASURE_STATISTICS_H_
