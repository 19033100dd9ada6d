#include <nlohmann/json.hpp>

#include "absl/strings/str_cat.h"
#include "lib/report/table.h"
#include "memsim/report/render.h"

namespace memsim {

namespace {

uint64_t LineOf(uint32_t offset) { return offset / static_cast<uint64_t>(kCacheLine); }

}  // namespace

std::string LayoutText(absl::string_view kernel, const std::vector<StructInfo>& structs) {
  std::string text = absl::StrCat(
      kernel, ": offsets and sizes in bytes; line: 64-byte cache line of the structure\n",
      "written by: setup (then only read), own-cpu (no LOCK), locked (under the lock named), atomic\n",
      "(LOCK, any CPU), racy (any CPU, on purpose without a lock), - (there, but not modelled)\n");
  for (const StructInfo& one : structs) {
    absl::StrAppend(&text, "\n", one.type, "  ", one.size, " bytes, ",
                    (one.size + kCacheLine - 1) / kCacheLine, " lines\n");
    Table table("rrrlll");
    table.Row({"line", "offset", "size", "field", "written by", "purpose"});
    for (const FieldInfo& field : one.fields) {
      std::string name(field.name);
      if (field.element != 0) absl::StrAppend(&name, "[", field.size / field.element, "]");
      const uint64_t first = LineOf(field.offset);
      const uint64_t last = LineOf(field.offset + field.size - 1);
      table.Row({first == last ? absl::StrCat(first) : absl::StrCat(first, "-", last),
                 absl::StrCat(field.offset), absl::StrCat(field.size), name,
                 std::string(WriterName(field.writer)), std::string(field.purpose)});
    }
    absl::StrAppend(&text, table.Text());
  }
  return text;
}

std::string LayoutJson(absl::string_view kernel, const std::vector<StructInfo>& structs) {
  nlohmann::ordered_json document = {{"schema", "memsim.layout/1"}, {"kernel", std::string(kernel)}};
  document["structures"] = nlohmann::ordered_json::array();
  for (const StructInfo& one : structs) {
    nlohmann::ordered_json structure = {{"name", std::string(one.type)}, {"size", one.size}};
    for (const FieldInfo& field : one.fields) {
      structure["fields"].push_back({{"name", std::string(field.name)},
                                     {"offset", field.offset},
                                     {"size", field.size},
                                     {"line", LineOf(field.offset)},
                                     {"written_by", std::string(WriterName(field.writer))},
                                     {"purpose", std::string(field.purpose)}});
    }
    document["structures"].push_back(std::move(structure));
  }
  return document.dump(2) + "\n";
}

std::string LayoutCsv(const std::vector<StructInfo>& structs) {
  std::string text = "structure,field,offset,size,line,written_by\n";
  for (const StructInfo& one : structs) {
    for (const FieldInfo& field : one.fields) {
      absl::StrAppend(&text, one.type, ",", field.name, ",", field.offset, ",", field.size, ",",
                      LineOf(field.offset), ",", WriterName(field.writer), "\n");
    }
  }
  return text;
}

}  // namespace memsim
