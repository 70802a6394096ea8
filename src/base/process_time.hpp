// When this process began, for limits that count from the start of the program.
#pragma once

namespace routepack {

// Seconds since the kernel started this process, MPI start-up included; 0 where it does not tell.
[[nodiscard]] double seconds_since_process_start();

}  // namespace routepack
