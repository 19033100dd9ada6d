# Warnings and sanitizers of our own targets; nothing of it reaches a consumer.
add_library(memsim_warnings INTERFACE)
target_compile_options(memsim_warnings INTERFACE -Wall -Wextra -Wshadow -Wconversion
                       -Wno-sign-conversion -Wnon-virtual-dtor -Wold-style-cast)
# offsetof in the field tables is applied to classes with base classes in the observed machines; both
# compilers define it for our single-inheritance, data-in-one-class fields.
target_compile_options(memsim_warnings INTERFACE -Wno-invalid-offsetof)

add_library(memsim_sanitize INTERFACE)
if(MEMSIM_SANITIZE)
  target_compile_options(memsim_sanitize INTERFACE -fsanitize=${MEMSIM_SANITIZE}
                         -fno-omit-frame-pointer -fno-sanitize-recover=all)
  target_link_options(memsim_sanitize INTERFACE -fsanitize=${MEMSIM_SANITIZE})
endif()
