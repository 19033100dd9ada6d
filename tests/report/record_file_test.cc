// Files of records, and what may happen to them: killed writers, full disks, several writers, foreign files.
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <random>
#include <sstream>
#include <thread>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "tests/report/record_of.h"

namespace memsim {
namespace {

class RecordFileTest : public testing::Test {
 protected:
  RecordFileTest()
      : dir_(absl::StrCat(testing::TempDir(), "memsim_records_", getpid())), path_(dir_ + "/r.jsonl") {
    std::filesystem::create_directories(dir_);
  }
  ~RecordFileTest() override { std::filesystem::remove_all(dir_); }

  absl::StatusOr<int64_t> Add(double difference) {
    const auto file = RecordFile::Check(path_);
    if (!file.ok()) return file.status();
    repaired_.clear();
    return file->Append(RecordOf(ReportOf(difference)), &repaired_);
  }
  std::string Text() const {
    std::stringstream text;
    text << std::ifstream(path_).rdbuf();
    return text.str();
  }
  void Write(const std::string& text) const { std::ofstream(path_) << text; }
  // Of every file in the directory.
  size_t Files() const {
    const auto entries = std::filesystem::directory_iterator(dir_);
    return static_cast<size_t>(std::distance(begin(entries), end(entries)));
  }
  void ExpectRefused(const std::string& why) {
    const std::string before = Text();
    const auto added = Add(1);
    ASSERT_FALSE(added.ok());
    EXPECT_TRUE(absl::StrContains(added.status().message(), why)) << added.status();
    EXPECT_TRUE(absl::StrContains(added.status().message(), "; valid: ")) << added.status();
    EXPECT_EQ(Text(), before);
  }

  std::string dir_, path_, repaired_;
};

// Runs `body` in a child process; its exit status.
template <class Body>
int InChild(Body body) {
  const pid_t pid = fork();
  if (pid == 0) _exit(body());
  int status = 0;
  waitpid(pid, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

// Three records. Expect them back in their order, with the words of the command line, and nothing beside the
// file.
TEST_F(RecordFileTest, GivesBackWhatWasAdded) {
  for (int i = 1; i <= 3; ++i) EXPECT_EQ(Add(i).value_or(0), i);
  const auto read = ReadRecords(path_);
  ASSERT_TRUE(read.ok()) << read.status();
  ASSERT_EQ(read->records.size(), 3u);
  EXPECT_TRUE(read->warnings.empty());
  for (int i = 1; i <= 3; ++i) {
    const auto one = ReadRecord(absl::StrCat(path_, "#", i));
    ASSERT_TRUE(one.ok()) << one.status();
    EXPECT_EQ(one->number, i);
    EXPECT_EQ(one->arguments[2], "v4.0,memcg=disabled");
    EXPECT_EQ(one->numbers.at(0).value, i);
    EXPECT_EQ(nlohmann::json::parse(one->report), ReportOf(i));
  }
  EXPECT_EQ(Files(), 1u);
}

// A writer killed after any byte of the second record. Expect readers to find the first and to say what they
// left out, and the next writer to put its record in that place. A line that lacks only its end is a whole
// record.
TEST_F(RecordFileTest, ATornLineIsLeftOutAndRemoved) {
  ASSERT_TRUE(Add(1).ok());
  const std::string first = Text();
  ASSERT_TRUE(Add(2).ok());
  const std::string both = Text();
  const size_t line = both.size() - first.size();
  for (size_t cut = 1; cut < line; cut += cut + 40 < line ? 37 : 1) {
    Write(both.substr(0, first.size() + cut));
    const bool whole = cut == line - 1;
    const auto read = ReadRecords(path_);
    ASSERT_TRUE(read.ok()) << read.status();
    EXPECT_EQ(read->records.size(), whole ? 2u : 1u) << cut;
    EXPECT_EQ(read->warnings.size(), whole ? 0u : 1u) << cut;
    EXPECT_EQ(Add(3).value_or(0), whole ? 3 : 2) << cut;
    EXPECT_EQ(repaired_.empty(), whole) << cut;
    const auto again = ReadRecords(path_);
    ASSERT_TRUE(again.ok()) << again.status();
    EXPECT_EQ(again->records.size(), whole ? 3u : 2u) << cut;
    EXPECT_TRUE(again->warnings.empty()) << cut;
  }
}

// The first record torn, or zeros where a block was never written. Expect the same.
TEST_F(RecordFileTest, ATornFirstLineIsNoForeignFile) {
  ASSERT_TRUE(Add(1).ok());
  const std::string first = Text();
  for (const std::string& torn : {first.substr(0, 1), first.substr(0, 11), first.substr(0, 100),
                                  std::string(4096, '\0'), std::string()}) {
    Write(torn);
    EXPECT_FALSE(ReadRecords(path_).ok());
    EXPECT_EQ(Add(1).value_or(0), 1);
    EXPECT_EQ(Text(), first);
  }
}

// A writer killed by SIGKILL at a random moment, forty times. Expect every record whose number it was told,
// and at most one more; nothing torn but the last line.
TEST_F(RecordFileTest, AKilledWriterLosesAtMostWhatItWrites) {
  std::mt19937 random(1);
  int64_t told = 0, torn = 0;
  for (int kill_number = 0; kill_number < 40; ++kill_number) {
    int ends[2];
    ASSERT_EQ(pipe(ends), 0);
    const pid_t pid = fork();
    if (pid == 0) {
      while (true) {
        const int64_t number = Add(1).value_or(-1);
        if (write(ends[1], &number, sizeof(number)) != sizeof(number) || number < 0) _exit(1);
      }
    }
    close(ends[1]);
    std::this_thread::sleep_for(std::chrono::microseconds(500 + random() % 20000));
    ASSERT_EQ(kill(pid, SIGKILL), 0);
    int status = 0;
    waitpid(pid, &status, 0);
    ASSERT_TRUE(WIFSIGNALED(status)) << "the writer failed by itself";
    for (int64_t number; read(ends[0], &number, sizeof(number)) == sizeof(number);) {
      ASSERT_GT(number, told);
      told = number;
    }
    close(ends[0]);
    if (!std::filesystem::exists(path_) || std::filesystem::file_size(path_) == 0) continue;
    const auto all = ReadRecords(path_);
    if (told == 0 && !all.ok()) continue;
    ASSERT_TRUE(all.ok()) << all.status();
    const auto count = static_cast<int64_t>(all->records.size());
    EXPECT_GE(count, told);
    EXPECT_LE(count, told + 1);
    EXPECT_EQ(all->records.back().number, count);
    torn += static_cast<int64_t>(all->warnings.size());
    told = count;
  }
  EXPECT_GT(told, 40);
  RecordProperty("torn", static_cast<int>(torn));
}

// Four programs that add at the same time. Expect every record whole and every number given once.
TEST_F(RecordFileTest, WritersWaitForEachOther) {
  constexpr int kWriters = 4, kEach = 10;
  for (int writer = 0; writer < kWriters; ++writer) {
    if (fork() == 0) {
      for (int i = 0; i < kEach; ++i) {
        if (!Add(writer).ok()) _exit(1);
      }
      _exit(0);
    }
  }
  for (int status = 0, n = 0; n < kWriters; ++n) {
    wait(&status);
    EXPECT_EQ(status, 0);
  }
  const auto all = ReadRecords(path_);
  ASSERT_TRUE(all.ok()) << all.status();
  EXPECT_EQ(all->records.size(), size_t{kWriters * kEach});
  EXPECT_TRUE(all->warnings.empty());
}

// A limit on the size of files in the middle of the next record. Expect the reason, and the file as it was.
TEST_F(RecordFileTest, ALimitLeavesNothingHalfWritten) {
  ASSERT_TRUE(Add(1).ok());
  const std::string before = Text();
  EXPECT_EQ(InChild([&] {
              const rlimit limit = {before.size() + 100, before.size() + 100};
              setrlimit(RLIMIT_FSIZE, &limit);
              signal(SIGXFSZ, SIG_IGN);
              const auto added = Add(2);
              return absl::StrContains(added.status().message(), "File too large, the record is not in it")
                         ? 0
                         : 1;
            }),
            0);
  EXPECT_EQ(Text(), before);
  EXPECT_EQ(Add(2).value_or(0), 2);
}

void WriteText(const char* path, const std::string& text) {
  const int file = open(path, O_WRONLY | O_CLOEXEC);
  if (file < 0) return;
  if (write(file, text.data(), text.size()) < 0) errno = 0;
  close(file);
}

// A disk of 64 KiB that fills up. Expect the reason, whole records only, and a record more where there is
// room again.
TEST_F(RecordFileTest, AFullDiskLeavesNothingHalfWritten) {
  constexpr int kNotAllowed = 77;
  const int status = InChild([&] {
    const uid_t user = getuid();
    const gid_t group = getgid();
    if (unshare(CLONE_NEWUSER | CLONE_NEWNS) != 0) return kNotAllowed;
    WriteText("/proc/self/setgroups", "deny");
    WriteText("/proc/self/uid_map", absl::StrCat("0 ", user, " 1"));
    WriteText("/proc/self/gid_map", absl::StrCat("0 ", group, " 1"));
    if (mount("memsim", dir_.c_str(), "tmpfs", 0, "size=64k") != 0) return kNotAllowed;
    { std::ofstream(dir_ + "/filler") << std::string(20000, 'x'); }
    int64_t added = 0;
    absl::Status full;
    while (full.ok()) {
      const auto number = Add(1);
      if (number.ok()) added = *number;
      full = number.status();
    }
    if (!absl::StrContains(full.message(), "No space left on device, the record is not in it")) return 1;
    const std::string text = Text();
    const auto all = ReadRecords(path_);
    if (added < 5 || text.back() != '\n' || !all.ok() || !all->warnings.empty()) return 2;
    if (static_cast<int64_t>(all->records.size()) != added) return 3;
    std::filesystem::remove(dir_ + "/filler");
    return Add(2).value_or(0) == added + 1 ? 0 : 4;
  });
  if (status == kNotAllowed) GTEST_SKIP() << "no mounts in a user namespace here";
  EXPECT_EQ(status, 0);
}

// What is no file of records: letters, JSON of another kind, a directory, a pipe, a device, a missing
// directory. Expect refusals that leave it as it was.
TEST_F(RecordFileTest, ForeignFilesAreLeftAlone) {
  Write("Dear Sir,\nthe results are in.\n");
  ExpectRefused("is not empty and holds no record");
  Write("Dear Sir");
  ExpectRefused("is not empty and holds no record");
  Write("{\"schema\":\"memsim.compare/2\"}\n");
  ExpectRefused("is not empty and holds no record");
  std::filesystem::remove(path_);
  ASSERT_EQ(mkfifo(path_.c_str(), 0600), 0);
  EXPECT_FALSE(RecordFile::Check(path_).ok());
  for (const auto& [path, why] : std::map<std::string, std::string>{{dir_, "is a directory"},
                                                                    {"/dev/full", "is not a regular file"},
                                                                    {"/nowhere/r.jsonl", "No such file"},
                                                                    {dir_ + "/new/", "No such file"},
                                                                    {"", "is empty"}}) {
    const auto file = RecordFile::Check(path);
    ASSERT_FALSE(file.ok()) << path;
    EXPECT_TRUE(absl::StrContains(file.status().message(), why)) << file.status();
  }
}

// Lines that are no records between those that are: text, JSON too deep, one of another version, one with a
// field of another type, an empty one, one of six megabytes. Expect the others with the numbers of their
// lines.
TEST_F(RecordFileTest, LinesThatAreNoRecordsAreLeftOut) {
  ASSERT_TRUE(Add(1).ok());
  const std::string good = Text();
  nlohmann::json other = nlohmann::json::parse(good), wrong = other;
  other["schema"] = "memsim.record/9";
  wrong["report"]["environment"]["cpus"] = "two";
  Write(absl::StrCat(good, "hello\n", std::string(100000, '['), "\n", other.dump(), "\n", wrong.dump(),
                     "\n\n", std::string(6 << 20, 'x'), "\n", good));
  const auto all = ReadRecords(path_);
  ASSERT_TRUE(all.ok()) << all.status();
  ASSERT_EQ(all->records.size(), 2u);
  EXPECT_EQ(all->records[1].number, 8);
  ASSERT_EQ(all->warnings.size(), 1u);
  EXPECT_TRUE(absl::StrContains(all->warnings[0], "6 of 8 lines left out")) << all->warnings[0];
  const std::map<int, std::string> why = {{2, "is not a JSON object"},
                                          {3, "is not a JSON object"},
                                          {4, "/schema: \"memsim.record/9\"; valid: memsim.record/1"},
                                          {5, "/report/environment/cpus: \"two\"; valid: a number"},
                                          {7, "is longer than 4 MiB"},
                                          {9, "valid: " + path_ + "#N with N from 1 to 8"}};
  for (const auto& [line, words] : why) {
    const auto one = ReadRecord(absl::StrCat(path_, "#", line));
    ASSERT_FALSE(one.ok());
    EXPECT_TRUE(absl::StrContains(one.status().message(), words)) << one.status();
  }
  EXPECT_EQ(Add(3).value_or(0), 9);
}

}  // namespace
}  // namespace memsim
