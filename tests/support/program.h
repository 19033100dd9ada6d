// The program as a user meets it: started by a shell, with its output in files.
#ifndef MEMSIM_TESTS_SUPPORT_PROGRAM_H_
#define MEMSIM_TESTS_SUPPORT_PROGRAM_H_

#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "gtest/gtest.h"

namespace memsim {

struct Outcome {
  int status = -1;  // exit status, or -signal
  std::string out, err;
};

inline std::string ReadAll(const std::string& path) {
  std::ifstream in(path);
  std::stringstream text;
  text << in.rdbuf();
  return text.str();
}

// A child process with its output in files.
class Child {
 public:
  explicit Child(const std::string& arguments) {
    const std::string base = absl::StrCat(testing::TempDir(), "memsim_cli_", getpid(), "_", ++count_);
    out_ = base + ".out";
    err_ = base + ".err";
    pid_ = fork();
    if (pid_ == 0) {
      const std::string command =
          absl::StrCat("exec ", MEMSIM_PROGRAM, " ", arguments, " 2>", err_);
      // A redirection of standard output in `arguments` comes later and wins.
      const int out = open(out_.c_str(), O_CREAT | O_TRUNC | O_WRONLY, 0600);
      dup2(out, STDOUT_FILENO);
      close(out);
      execl("/bin/sh", "sh", "-c", command.c_str(), nullptr);
      _exit(127);
    }
  }
  void Signal(int signal) { kill(pid_, signal); }
  Outcome Wait() {
    int status = 0;
    waitpid(pid_, &status, 0);
    Outcome outcome;
    outcome.status = WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
    outcome.out = ReadAll(out_);
    outcome.err = ReadAll(err_);
    std::filesystem::remove(out_);
    std::filesystem::remove(err_);
    return outcome;
  }

 private:
  static inline int count_ = 0;
  std::string out_, err_;
  pid_t pid_;
};

inline Outcome Memsim(const std::string& arguments) { return Child(arguments).Wait(); }

inline size_t Columns(absl::string_view line) {
  return static_cast<size_t>(
      std::count_if(line.begin(), line.end(), [](char c) { return (c & 0xc0) != 0x80; }));
}

inline void ExpectFits(const std::string& text) {
  for (const absl::string_view line : absl::StrSplit(text, '\n')) {
    EXPECT_LE(Columns(line), 100u) << line;
  }
}

// One line on standard error that contains `valid`, nothing on standard output, exit status 2.
inline void ExpectRefused(const std::string& arguments, const std::string& valid) {
  const Outcome outcome = Memsim(arguments);
  EXPECT_EQ(outcome.status, 2) << arguments << "\n" << outcome.err;
  EXPECT_EQ(outcome.out, "") << arguments;
  EXPECT_EQ(std::count(outcome.err.begin(), outcome.err.end(), '\n'), 1) << outcome.err;
  EXPECT_TRUE(absl::StrContains(outcome.err, valid)) << arguments << "\n" << outcome.err;
}

}  // namespace memsim

#endif  // MEMSIM_TESTS_SUPPORT_PROGRAM_H_
