// From an address or a symbol of this program to the kernel function it models.
#ifndef MEMSIM_LIB_MEASURE_SYMBOLS_H_
#define MEMSIM_LIB_MEASURE_SYMBOLS_H_

#include <cstdint>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "absl/strings/string_view.h"
#include "memsim/machine/functions.h"

namespace memsim {

class Symbols {
 public:
  enum class Kind : uint8_t { kFunction, kClearPage, kRealFault, kKernel, kDriver, kOther };
  struct Place {
    Kind kind;
    Fn fn;
    std::string name;  // of the symbol, when kOther
  };

  Symbols();
  const Place& Find(uint64_t address);
  // Of a function by its symbol, mangled or not.
  Place Named(absl::string_view symbol) const;
  // How reports name what is no function of the kernel.
  static absl::string_view KindName(Kind kind);

 private:
  Place LookUp(uint64_t address) const;

  // C++ names of functions and what they mean.
  std::vector<std::pair<std::string, Place>> names_;
  std::unordered_map<uint64_t, Place> seen_;
};

}  // namespace memsim

#endif  // MEMSIM_LIB_MEASURE_SYMBOLS_H_
