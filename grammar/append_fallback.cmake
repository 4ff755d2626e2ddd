# Writes OUTPUT: the grammar, then a %fallback line for each keyword that may be a name.
file(READ ${GRAMMAR} text)
file(STRINGS ${KEYWORDS} rows REGEX "^K\\([A-Z]+, (FREE|CONTEXT)\\)$")
foreach(row IN LISTS rows)
  string(REGEX REPLACE "^K\\(([A-Z]+),.*" "%fallback NAME \\1.\n" line "${row}")
  string(APPEND text "${line}")
endforeach()
file(WRITE ${OUTPUT} "${text}")
