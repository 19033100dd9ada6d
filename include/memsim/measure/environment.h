// Where a number was measured: host, kernel, compiler. Kept apart from the result.
#ifndef MEMSIM_MEASURE_ENVIRONMENT_H_
#define MEMSIM_MEASURE_ENVIRONMENT_H_

#include <string>

namespace memsim {

struct Environment {
  std::string cpu;       // model name
  int cpus = 0;          // that this process may use
  std::string os;        // kernel name, release, machine
  bool virtual_machine = false;
  double load = 0;       // runnable tasks, one-minute average
  std::string compiler;  // of the library
  std::string build;     // "Release -O2", with sanitizers and assertions when they are on
  std::string static_keys;  // how static keys work in this process, and why
  std::string time;      // UTC, ISO 8601

  // One line of at most 100 columns.
  std::string Line() const;
};

Environment ReadEnvironment();

}  // namespace memsim

#endif  // MEMSIM_MEASURE_ENVIRONMENT_H_
