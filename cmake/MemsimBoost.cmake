# Boost.Context and the Boost headers, with or without a CMake config: Debian ships one for the libraries,
# other systems may have the headers alone. Used by the build and by the installed package.
find_package(Boost 1.74 CONFIG QUIET COMPONENTS context)
if(NOT TARGET Boost::context)
  find_package(Boost 1.74 REQUIRED COMPONENTS context)
endif()
if(NOT TARGET Boost::headers)
  find_path(MEMSIM_BOOST_INCLUDE boost/intrusive/circular_list_algorithms.hpp REQUIRED)
  add_library(Boost::headers INTERFACE IMPORTED)
  target_include_directories(Boost::headers SYSTEM INTERFACE "${MEMSIM_BOOST_INCLUDE}")
endif()
