// SPDX-License-Identifier: Apache-2.0
#include "api/openapi.h"

#include <array>
#include <nlohmann/json.hpp>

#include "api/openai/field_table.h"

namespace o3::api {
namespace {

using Json = nlohmann::ordered_json;
using openai::Endpoint;

Json reference(std::string_view schema) {
  return {{"$ref", "#/components/schemas/" + std::string(schema)}};
}

Json content(const char* type, Json schema) {
  Json out;
  out[type] = {{"schema", std::move(schema)}};
  return out;
}

Json request_schema(Endpoint endpoint, Json required) {
  return {{"type", "object"},
          {"required", std::move(required)},
          {"properties", openai::field_schemas(endpoint)}};
}

Json message_schema() {
  return Json::parse(R"({"type":"object","required":["role","content"],"properties":{
    "role":{"type":"string","enum":["system","developer","user","assistant"]},
    "content":{"oneOf":[{"type":"string"},{"type":"array","minItems":1,"items":{"type":"object",
      "required":["type","text"],"properties":{"type":{"type":"string","enum":["text"]},
      "text":{"type":"string"}}}}]}}})");
}

Json prompt_schema() {
  return Json::parse(R"({"oneOf":[{"type":"string"},
    {"type":"array","minItems":1,"maxItems":64,"items":{"type":"string"}},
    {"type":"array","minItems":1,"items":{"type":"integer","minimum":0}},
    {"type":"array","minItems":1,"maxItems":64,"items":{"type":"array","minItems":1,
      "items":{"type":"integer","minimum":0}}}]})");
}

Json text_schema(const char* members) {
  Json schema{{"type", "object"}};
  schema["properties"] = Json::parse(members);
  schema["properties"]["model"] = {{"type", "string"}};
  return schema;
}

Json error_schema() {
  return Json::parse(R"({"type":"object","required":["error"],"properties":{"error":{
    "type":"object","required":["message","type","param","code"],"properties":{
    "message":{"type":"string"},"type":{"type":"string"},"param":{"type":"string","nullable":true},
    "code":{"type":"string","nullable":true}}}}})");
}

Json schemas() {
  constexpr const char* kTemplate =
      R"("add_generation_prompt":{"type":"boolean"},"continue_final_message":{"type":"boolean"},
         "chat_template_kwargs":{"type":"object","additionalProperties":{"type":"string"}},
         "messages":{"type":"array","minItems":1,"items":{"$ref":"#/components/schemas/Message"}})";
  const std::string common = kTemplate;
  Json out;
  out["ChatRequest"] = request_schema(Endpoint::kChat, {"model", "messages"});
  out["CompletionRequest"] = request_schema(Endpoint::kCompletions, {"model", "prompt"});
  out["Message"] = message_schema();
  out["Prompt"] = prompt_schema();
  out["TokenizeRequest"] =
      text_schema((R"({"prompt":{"type":"string"},"content":{"type":"string"},)"
                   R"("add_special_tokens":{"type":"boolean"},"add_special":{"type":"boolean"},)"
                   R"("parse_special":{"type":"boolean"},"return_token_strs":{"type":"boolean"},)"
                   R"("with_pieces":{"type":"boolean"},)" +
                   common + "}")
                      .c_str());
  out["DetokenizeRequest"] =
      text_schema(R"({"tokens":{"type":"array","items":{"type":"integer","minimum":0}}})");
  out["DetokenizeRequest"]["required"] = {"tokens"};
  out["TemplateRequest"] = text_schema(("{" + common + "}").c_str());
  out["TemplateRequest"]["required"] = {"messages"};
  out["ManageRequest"] = text_schema("{}");
  out["ManageRequest"]["required"] = {"model"};
  out["Error"] = error_schema();
  return out;
}

// What every row may answer beside its own statuses (docs/http.md says when).
constexpr std::array kErrors{"400", "401", "403", "404", "405", "408", "409", "413",
                             "415", "417", "429", "431", "500", "503", "504"};

Json responses(const Route& row) {
  Json out;
  Json& ok = out["200"];
  ok["description"] = "done";
  ok["content"] = content(row.doc.answer, row.doc.answer == std::string_view("application/json")
                                              ? Json{{"type", "object"}}
                                              : Json{{"type", "string"}});
  if (row.doc.streams) ok["content"]["text/event-stream"] = {{"schema", {{"type", "string"}}}};
  for (const char* status : kErrors) {
    if (row.access == govern::Access::kPublic && std::string_view(status) == "401") continue;
    out[status]["description"] = "an error";
    if (std::string_view(status) == "503" && row.access == govern::Access::kPublic) continue;
    out[status]["content"] = content("application/json", reference("Error"));
  }
  return out;
}

Json operation(const Route& row) {
  Json out;
  out["summary"] = row.doc.summary;
  if (row.path.find("{id}") != std::string::npos) {
    out["parameters"] = Json::array({{{"name", "id"},
                                      {"in", "path"},
                                      {"required", true},
                                      {"schema", {{"type", "string"}, {"minLength", 1}}}}});
  }
  if (!row.doc.request.empty()) {
    out["requestBody"]["required"] = true;
    out["requestBody"]["content"] = content("application/json", reference(row.doc.request));
  }
  out["responses"] = responses(row);
  const bool is_public = row.access == govern::Access::kPublic;
  out["security"] = is_public ? Json::array() : Json::array({{{"key", Json::array()}}});
  return out;
}

std::string lower(std::string_view text) {
  std::string out;
  for (const char c : text) out += static_cast<char>(c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c);
  return out;
}

}  // namespace

std::string openapi_document(std::span<const Route> rows) {
  Json document;
  document["openapi"] = "3.0.3";
  document["info"] = {{"title", "O3"}, {"version", "1"}};
  document["paths"] = Json::object();
  for (const Route& row : rows) {
    if (row.doc.summary == nullptr) continue;
    document["paths"][row.path][lower(row.method)] = operation(row);
  }
  document["components"]["schemas"] = schemas();
  document["components"]["securitySchemes"]["key"] = {{"type", "http"}, {"scheme", "bearer"}};
  return document.dump();
}

}  // namespace o3::api
