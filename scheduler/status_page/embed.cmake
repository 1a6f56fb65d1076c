# Writes the page's files into a source: cmake -DPAGE=FOLDER -DOUT=FILE -P embed.cmake
set(css "text/css; charset=utf-8")
set(js "text/javascript; charset=utf-8")
set(svg "image/svg+xml")
file(GLOB files RELATIVE ${PAGE} ${PAGE}/*.css ${PAGE}/*.js ${PAGE}/*.svg)
string(CONCAT text "#include \"scheduler/status_page/page_files.h\"\n\nnamespace fgnn {\n\n"
         "absl::Span<const PageFile> PageFiles() {\n"
         "  static constexpr PageFile kFiles[] = {\n")
foreach(file ${files})
  file(READ ${PAGE}/${file} bytes)
  string(REGEX REPLACE "^.*[.]" "" ending ${file})
  string(APPEND text "{\"/${file}\", \"${${ending}}\", R\"page(${bytes})page\"},\n")
endforeach()
file(READ ${PAGE}/index.html bytes)
file(WRITE ${OUT} "${text}" "  };\n  return kFiles;\n}\n\n"
                  "std::string_view IndexHtml() {\n  return R\"page(${bytes})page\";\n}\n\n"
                  "}  // namespace fgnn\n")
