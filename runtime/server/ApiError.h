// What the API says when it can't do what was asked, in the shape OpenAI's clients know.
#pragma once

#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/http/HttpMessage.h"

namespace inf {

/// Thrown by whoever reads or prepares a request; docs/serving.md lists all of them.
class ApiError : public std::runtime_error {
public:
  ApiError(unsigned httpStatus, std::string errorType, std::string errorCode,
           const std::string &message, std::string errorParam = "")
      : std::runtime_error(message), status(httpStatus), type(std::move(errorType)),
        code(std::move(errorCode)), param(std::move(errorParam)) {}

  unsigned status;
  std::string type, code;
  std::string param;                  ///< "messages[0].content"; "" becomes null
  std::optional<unsigned> retryAfter; ///< seconds
  std::vector<HttpField> fields;      ///< further ones of the response
};

/// 400 for one field of the body. `pointer` is a JSON pointer ("/messages/0/content"); the message
/// names it, and `param` has the same path with dots.
ApiError invalidField(std::string_view pointer, std::string_view code, std::string_view what);

/// "messages[0].content" for "/messages/0/content".
std::string dottedPath(std::string_view pointer);

/// {"error": {"message", "type", "param", "code"}}
std::string errorBody(const ApiError &error);
HttpResponse errorResponse(const ApiError &error);

/// The error that stands for whatever was thrown: ApiError as it is, a Refusal of the service by
/// its reason, all else 500 without details, which `details` gets.
ApiError apiErrorOf(const std::exception &thrown, std::string &details);

} // namespace inf
