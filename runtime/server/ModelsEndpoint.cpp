// /v1/models
#include "runtime/server/AnswerJson.h"
#include "runtime/server/AnswerStart.h"

namespace inf {
namespace {

using nlohmann::ordered_json;

ordered_json modelJson(const ServedModel &model) {
  ordered_json json;
  json["id"] = model.id;
  json["object"] = "model";
  json["created"] = model.created;
  json["owned_by"] = "inf";
  json["max_model_len"] = model.tokens();
  return json;
}

} // namespace

void modelsEndpoint(ApiCall &call) {
  ordered_json list;
  list["object"] = "list";
  list["data"] = ordered_json::array({modelJson(call.model)});
  call.exchange->respond(jsonResponse(list));
}

void modelEndpoint(ApiCall &call) {
  expectModel(call.model, call.argument);
  call.exchange->respond(jsonResponse(modelJson(call.model)));
}

} // namespace inf
