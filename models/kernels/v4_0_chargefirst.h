// Linux v4.0 with the patch of May 2015: charge the page before it is marked up to date. This is the
// "chargefirst" kernel of the mail; the patch went into 4.2.
//
// Mirrors   linux v4.0 + eb3c24f305e5 "mm, memcg: Try charging a page before setting page up to date"
#ifndef MEMSIM_MODELS_KERNELS_V4_0_CHARGEFIRST_H_
#define MEMSIM_MODELS_KERNELS_V4_0_CHARGEFIRST_H_

#include "models/kernels/v4_0.h"

namespace memsim {

struct V4_0ChargeFirst : V4_0 {
  static constexpr absl::string_view kName = "v4.0-chargefirst";
  static constexpr absl::string_view kSource = "linux v4.0 + eb3c24f305e5";
  static constexpr absl::string_view kStory =
      "charges before SetPageUptodate: the kernel of the 2015 mail";
  static constexpr bool kChargeFirst = true;
};

}  // namespace memsim

#endif  // MEMSIM_MODELS_KERNELS_V4_0_CHARGEFIRST_H_
