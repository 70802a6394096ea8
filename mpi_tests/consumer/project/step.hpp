// What a trainer does with RoutePack between two optimizer steps.
#pragma once

#include <mpi.h>

// Collective: plans a small window and moves the experts' state to the plan's placement. True, on
// all ranks, if plan and bytes are as they must be; says on stdout what is not.
bool plan_and_move(MPI_Comm comm);
