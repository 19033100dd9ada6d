// The commands behind the command line; main.cc fills the options in.
#ifndef MEMSIM_TOOLS_MEMSIM_COMMANDS_H_
#define MEMSIM_TOOLS_MEMSIM_COMMANDS_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "memsim/measure/configuration.h"
#include "memsim/report/records.h"

namespace memsim {

struct Options {
  ConfigurationText configuration;
  std::string format = "text";
  int64_t repetitions = 21;
  int64_t samples = 20000;
  bool demo = false;  // `memsim run` without a configuration
  std::string event = "fault";
  bool brief = false;
  std::string structure;
  std::string machine = "i7-3770";  // of pft and lines
  std::string profile = "sampled";   // simulated: the most expensive view wanted
  std::string sampler = "nmi";
  bool timer_charge = false;
  bool strict = false;
  std::vector<std::string> columns;  // of pft; none: the kernels of 2015
  std::string clients;               // of pft; empty: what mmtests takes
  int64_t pages = 4096;              // of a client
  int64_t seeds = 3;
  int64_t rounds = 41;
  std::vector<std::string> arms;  // of compare
  std::optional<double> seconds;
  std::string until;
  bool inside_valgrind = false;    // count: this is the process that is counted
  std::optional<int64_t> compare_seeds;
  std::string output;
  bool has_output = false;
  std::vector<std::string> arguments;  // the command line, the program's name apart
  std::optional<std::string> out;      // file of records to add the report to
  std::string reference;               // of rerun and log: FILE#N, or FILE
  std::optional<std::string> plot;
  const Record* repeated = nullptr;    // the record that this command line comes from
};

// Each prints its report and returns the exit status.
int Run(const Options& options);
int Lines(const Options& options);
int CompareCommand(const Options& options);
int CountCommand(const Options& options);
int Pft(const Options& options);
int ExplainCommand(const Options& options);
int Layout(const Options& options);
int CalibrateCommand(const Options& options);
int LogCommand(const Options& options);
int List(const Options& options);

}  // namespace memsim

#endif  // MEMSIM_TOOLS_MEMSIM_COMMANDS_H_
