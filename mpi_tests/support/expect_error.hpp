// Expects an Error of a code, whose text names what it should.
#pragma once

#include <gtest/gtest.h>

#include <string>

#include "routepack/error.hpp"

namespace routepack::testing {

void expect_error(ErrorCode code, const std::string& part_of_text, const auto& action) {
  try {
    action();
    ADD_FAILURE() << "no error, expected " << name_of(code) << " with '" << part_of_text << "'";
  } catch (const Error& error) {
    EXPECT_EQ(name_of(error.code()), name_of(code)) << error.what();
    EXPECT_NE(std::string(error.what()).find(part_of_text), std::string::npos)
        << "the text is '" << error.what() << "', expected '" << part_of_text << "' in it";
    EXPECT_EQ(std::string(error.what()).find('\n'), std::string::npos) << "more than one line";
  }
}

}  // namespace routepack::testing
