// 10 000 sites of one key: 44 bytes apart, or MEMSIM_SITE_PADDING bytes further if that is defined.
#include "memsim/static_key/static_key.h"

#ifdef MEMSIM_SITE_PADDING
#define STRING_OF(x) #x
#define STRING(x) STRING_OF(x)
#define PADDING "jmp 1f\n\t.skip " STRING(MEMSIM_SITE_PADDING) ", 0xcc\n1:"
#define ten_thousand ten_thousand_apart
#else
#define PADDING ""
#endif

namespace ten_thousand {

DEFINE_STATIC_KEY_FALSE(key);

#define SITE                                     \
  if (static_branch_unlikely(&key)) ++taken;     \
  asm volatile(PADDING : "+r"(taken));
#define SITES_10 SITE SITE SITE SITE SITE SITE SITE SITE SITE SITE
#define SITES_100 SITES_10 SITES_10 SITES_10 SITES_10 SITES_10 SITES_10 SITES_10 SITES_10 SITES_10 SITES_10
#define FUNCTION(a, b)                                \
  __attribute__((noinline)) static int Run##a##b() {  \
    int taken = 0;                                    \
    SITES_100                                         \
    return taken;                                     \
  }
#define FUNCTIONS(a)                                                                             \
  FUNCTION(a, 0) FUNCTION(a, 1) FUNCTION(a, 2) FUNCTION(a, 3) FUNCTION(a, 4) FUNCTION(a, 5)       \
  FUNCTION(a, 6) FUNCTION(a, 7) FUNCTION(a, 8) FUNCTION(a, 9)                                     \
  static int Run##a() {                                                                          \
    return Run##a##0() + Run##a##1() + Run##a##2() + Run##a##3() + Run##a##4() + Run##a##5() +    \
           Run##a##6() + Run##a##7() + Run##a##8() + Run##a##9();                                 \
  }
FUNCTIONS(0)
FUNCTIONS(1)
FUNCTIONS(2)
FUNCTIONS(3)
FUNCTIONS(4)
FUNCTIONS(5)
FUNCTIONS(6)
FUNCTIONS(7)
FUNCTIONS(8)
FUNCTIONS(9)

// How many sites found the key enabled.
int Run() {
  return Run0() + Run1() + Run2() + Run3() + Run4() + Run5() + Run6() + Run7() + Run8() + Run9();
}

}  // namespace ten_thousand
