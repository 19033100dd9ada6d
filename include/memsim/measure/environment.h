// Where a number was measured: host, kernel, compiler, and what of it touches the number. Kept apart from
// the result.
#ifndef MEMSIM_MEASURE_ENVIRONMENT_H_
#define MEMSIM_MEASURE_ENVIRONMENT_H_

#include <memory>
#include <string>
#include <vector>

namespace memsim {

// One thing about the host, and what it does to a time measured there. As text one line of 100 columns.
struct EnvironmentNote {
  std::string name;    // "governor"
  std::string value;   // "performance"; "not available (why)"
  std::string effect;  // in plain words
  bool harms = false;  // times would be better without it
};

struct Environment {
  std::string cpu;       // model name
  int cpus = 0;          // that this process may use
  std::string os;        // kernel name, release, machine
  bool virtual_machine = false;
  double load = 0;       // runnable tasks, one-minute average
  std::string compiler;  // of the library
  std::string build;     // "Release -O2", with sanitizers and assertions when they are on
  std::string program;   // "memsim 0.1.0, build-id 8736483781bd": one that was built anew is another
  std::string static_keys;  // how static keys work in this process, and why
  std::string time;      // UTC, ISO 8601
  std::vector<EnvironmentNote> notes;  // from an EnvironmentWatch; none where nothing was timed

  // One line of at most 100 columns.
  std::string Line() const;
};

// `root` stands before /proc and /sys: a test's copy of them.
Environment ReadEnvironment(const std::string& root = "");

// Looks at the host before and after something is timed.
//
// Notes     governor, turbo, SMT, virtualisation, load, ASLR, build, clock drift, steal time, and what
//           memsim itself changes
// Cost      40 ms of a chain of adds at both ends, for the drift of the clock
class EnvironmentWatch {
 public:
  explicit EnvironmentWatch(std::string root = "");
  ~EnvironmentWatch();
  EnvironmentWatch(const EnvironmentWatch&) = delete;
  EnvironmentWatch& operator=(const EnvironmentWatch&) = delete;

  Environment Finish() const;

 private:
  struct Begin;
  std::string root_;
  std::unique_ptr<const Begin> begin_;
};

}  // namespace memsim

#endif  // MEMSIM_MEASURE_ENVIRONMENT_H_
