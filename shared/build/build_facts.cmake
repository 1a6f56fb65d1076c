# Writes the source that holds the build's facts; leaves it alone where they are
# the same as before.
if(NOT revision)
  execute_process(
    COMMAND git -C ${source} describe --always --dirty --abbrev=12 --exclude=*
    OUTPUT_VARIABLE revision OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET
    RESULT_VARIABLE failed)
  if(failed)
    set(revision unknown)
  endif()
endif()
# Without -march the compiler takes the least that such a processor has. Some
# functions are there once more, for better ones.
if(NOT flags MATCHES "-march=([^ ]+)")
  set(CMAKE_MATCH_1 ${processor})
  string(REPLACE x86_64 x86-64 CMAKE_MATCH_1 "${CMAKE_MATCH_1}")
endif()
set(baseline ${CMAKE_MATCH_1})
if(sanitizers)
  string(APPEND type " with sanitizers ${sanitizers}")
endif()
configure_file(${template} ${output} @ONLY)
