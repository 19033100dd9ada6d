#include "lib/static_key/file_text.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <string>

#include "lib/static_key/site_code.h"

namespace memsim::static_key::internal {

namespace {

// Where in which file `begin` comes from, when one mapping holds all of [begin, end).
struct Origin {
  std::string path;
  off_t offset = 0;
};

bool Find(uintptr_t begin, uintptr_t end, Origin* origin) {
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line);) {
    unsigned long low = 0, high = 0, offset = 0, inode = 0;
    char access[8] = {};
    int path = 0;
    // low-high access offset device inode path
    if (std::sscanf(line.c_str(), "%lx-%lx %7s %lx %*s %lu %n", &low, &high, access, &offset, &inode,
                    &path) != 5) {
      continue;
    }
    if (low > begin || high < end) continue;
    if (std::strcmp(access, "r-xp") != 0 || inode == 0) return false;
    origin->path = line.substr(static_cast<size_t>(path));
    origin->offset = static_cast<off_t>(offset + (begin - low));
    return true;
  }
  return false;
}

}  // namespace

bool SameAsFile(uintptr_t begin, uintptr_t end, const std::vector<uintptr_t>& sites) {
  Origin origin;
  if (!Find(begin, end, &origin)) return false;
  const int fd = open(origin.path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return false;
  const size_t size = end - begin;
  std::vector<uint8_t> file(size);
  const ssize_t got = pread(fd, file.data(), size, origin.offset);
  close(fd);
  if (got != static_cast<ssize_t>(size)) return false;
  const auto* memory = reinterpret_cast<const uint8_t*>(begin);
  for (const uintptr_t site : sites) {
    const uintptr_t from = std::max(site, begin), to = std::min(site + kSiteBytes, end);
    if (from < to) std::memcpy(&file[from - begin], memory + (from - begin), to - from);
  }
  return std::memcmp(file.data(), memory, size) == 0;
}

}  // namespace memsim::static_key::internal
