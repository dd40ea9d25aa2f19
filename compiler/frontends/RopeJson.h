// The entries of "ropes" in model.json.
#pragma once

#include <nlohmann/json.hpp>

#include "compiler/frontends/JsonReader.h"
#include "compiler/frontends/ModelDesc.h"

namespace inf {

/// Fails with BadInput for an unknown type, or a key that the type does not use.
RopeDesc parseRopeJson(JsonObject object);
/// Only the keys that the type uses.
nlohmann::ordered_json writeRopeJson(const RopeDesc &rope);

} // namespace inf
