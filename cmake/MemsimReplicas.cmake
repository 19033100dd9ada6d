# Replicas: the objects of the kernels' native code, linked again at other places. memsim_replicas is a library
# of them and of the table that finds them; programs that measure link it, the others need not.
#
# Left out  sanitizer builds, whose objects register what they hold; knobs that are turned (the objects
#           *_dynamic); linkers other than ld.bfd, which alone dissolves COMDAT groups
set(MEMSIM_REPLICAS 32 CACHE STRING "Replicas of each kernel's native code; 0: none")

function(memsim_add_replicas)
  find_program(MEMSIM_LD_BFD ld.bfd)
  set(count ${MEMSIM_REPLICAS})
  if(MEMSIM_SANITIZE OR NOT MEMSIM_LD_BFD OR NOT CMAKE_OBJCOPY OR NOT CMAKE_OBJDUMP)
    set(count 0)
  endif()
  set(script "${PROJECT_SOURCE_DIR}/cmake/replicate.sh")
  set(dir "${CMAKE_CURRENT_BINARY_DIR}/replicas")
  file(MAKE_DIRECTORY "${dir}")
  set(enabled _ZN6memsim8internal30memory_cgrp_subsys_enabled_keyE)
  set(ever _ZN6memsim8internal22memcg_ever_enabled_keyE)
  set(objects "")
  set(MEMSIM_REPLICA_SYMBOLS "")
  set(MEMSIM_REPLICA_KERNELS "")
  set(MEMSIM_REPLICA_ROWS "")
  foreach(kernel IN LISTS ARGV)
    set(made "")
    set(row "")
    if(count GREATER 0)
      foreach(replica RANGE 1 ${count})
        list(APPEND made "${dir}/${kernel}_${replica}.o")
        set(name "memsim_replica_${kernel}_${replica}")
        string(APPEND MEMSIM_REPLICA_SYMBOLS
               "extern const memsim::Kernel ${name};\n"
               "DEFINE_STATIC_KEY_TRUE(memsim_enabled_${kernel}_${replica});\n"
               "DEFINE_STATIC_KEY_TRUE(memsim_ever_${kernel}_${replica});\n")
        string(APPEND row "&${name},\n")
      endforeach()
      string(LENGTH "kKernel${kernel}" length)
      add_custom_command(
        OUTPUT ${made}
        COMMAND ${CMAKE_COMMAND} -E env
                "KEYS=${enabled}=memsim_enabled_${kernel} ${ever}=memsim_ever_${kernel}"
                bash "${script}" "${MEMSIM_LD_BFD}" "${CMAKE_OBJCOPY}" "${CMAKE_OBJDUMP}" ${count}
                "_ZN6memsim${length}kKernel${kernel}E" "memsim_replica_${kernel}" "${dir}/${kernel}"
                "$<FILTER:$<TARGET_OBJECTS:memsim>,INCLUDE,/${kernel}_fixed\\.cc>"
        DEPENDS "${script}" "$<FILTER:$<TARGET_OBJECTS:memsim>,INCLUDE,/${kernel}_fixed\\.cc>"
        COMMENT "Linking ${count} replicas of ${kernel}"
        VERBATIM)
      string(APPEND MEMSIM_REPLICA_KERNELS "extern const Kernel kKernel${kernel};\n")
      string(APPEND MEMSIM_REPLICA_ROWS "{&kKernel${kernel}, {${row}}},\n")
    endif()
    list(APPEND objects ${made})
  endforeach()
  configure_file("${PROJECT_SOURCE_DIR}/lib/session/replicas.cc.in" "${dir}/replicas.cc" @ONLY)
  set_source_files_properties(${objects} PROPERTIES EXTERNAL_OBJECT TRUE GENERATED TRUE)
  add_library(memsim_replicas STATIC "${dir}/replicas.cc" ${objects})
  target_link_libraries(memsim_replicas PUBLIC memsim PRIVATE memsim_warnings memsim_sanitize)
  if(count GREATER 0)
    target_link_options(memsim_replicas INTERFACE LINKER:--discard-locals)
  endif()
endfunction()
