// Makes every rank agree on a test's verdict, so that one failing rank fails the test everywhere.
#pragma once

#include <gtest/gtest.h>

namespace routepack::testing {

// Appended after the printer, so its end events come before the printer's and the printed
// verdict is the common one.
class MpiListener : public ::testing::EmptyTestEventListener {
 public:
  void OnTestPartResult(const ::testing::TestPartResult& result) override;
  void OnTestEnd(const ::testing::TestInfo& info) override;
};

}  // namespace routepack::testing
