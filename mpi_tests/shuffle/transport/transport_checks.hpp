// What every transport must do, whatever its ranks are. Each function is called by all ranks of
// the transport and reports to GoogleTest.
#pragma once

#include "shuffle/transport/transport.hpp"

namespace routepack::testing {

void check_slices_of_any_size(Transport& transport);
// More than 64 MiB, from rank 0 to rank 1 only.
void check_large_slice(Transport& transport);
// A slice that is not sent: everybody recovers, and no old slice meets a new receive.
void check_recovery(Transport& transport);
// One round of slices of 3001 bytes between all pairs.
void check_clean_round(Transport& transport);

}  // namespace routepack::testing
