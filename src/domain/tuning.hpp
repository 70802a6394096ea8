// Every number that trades the quality of a plan against time, with its default. Not
// limits of formats, types and buffers: those stand where they hold. Not for users: programs plan
// with the defaults; tests and benches pass others through planner/planner.hpp.
//
// Every group says where its values come from. "By hand" means: chosen while the search was
// written, never swept on its own since.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace routepack::domain {

struct Tuning {
  // A stretch of annealing.
  struct Turn {
    double share = 0.0;  // of the sweeps or of the time
    double heat = 0.0;   // first temperature, relative to the range that the effort allows
    int num_stages = 1;  // temperatures
  };

  // A placement of the experts for the layout that a stretch of annealing found.
  struct PlacementTurn {
    std::int64_t moves_per_layer = 0;  // proposed swaps, where the plan is to be reproducible
    double time_share = 0.0;           // of a time limit
  };

  // How much work a plan gets where the user left it open, and how fast a machine is thought to be.
  // By hand; a chain a worker with a time limit is measured (docs/bench.md, "One chain, independent
  // chains, population").
  struct Effort {
    int num_chains = 4;                // without a time limit; with one, a chain a worker
    double seconds_per_chain = 1.6;    // of annealing, at the speed below, in a full window
    double full_samples = 512.0;       // fewer get less than in proportion: the square of the share
    std::int64_t min_sweeps = 20;      // the sweeps that come of it, at least
    std::int64_t max_sweeps = 20'000;  // and at most
    double move_ns = 30.0;             // a move without its bytes
    double move_bytes = 12.0;          // a move, a (EP rank, layer padded to 16)
    double bytes_per_ns = 25.0;        // docs/bench.md, "Evaluating a move": 18 to 41 with AVX2
  };

  // Range of a round's temperatures, relative to the mean |energy change| of a random move: from
  // few moves a sample, nearly a descent, to many, a hot start. By hand.
  struct Temperatures {
    double first_per_move = 5e-5;  // first temperature, for every move that a sample will get
    double min_first = 0.003;
    double max_first = 0.8;
    double last = 0.001;      // at most
    double last_share = 0.1;  // of the first, at most
  };

  // Course of a search: explorations, then turns. Which placement the search ends in is decided by
  // the explorations, and matters more than how long it then anneals. By hand; four turns, the
  // later ones barely warm, took the place of two (docs/moving.md: on one window 61 instead of 56 %
  // of a gain kept), and six were within the spread of two. The swaps of a placement are measured
  // (docs/bench.md, "Placing experts for the rows").
  struct Search {
    int num_explorations = 4;     // each from a start of its own
    Turn explore{0.05, 0.3, 12};  // under the aggregate's placement
    PlacementTurn explore_placement{10'000, 0.01};
    Turn settle{0.03, 0.05, 12};  // under the placement for the layout
    // In what is left, from the best exploration: a long anneal, and short ones that are only as
    // hot as it takes to settle into the placement before. Shares of what is left; 0: no turn.
    std::array<Turn, 4> turns = {
        {{0.55, 0.3, 32}, {0.15, 0.02, 8}, {0.15, 0.01, 8}, {0.15, 0.005, 8}}};
    PlacementTurn turn_placement{40'000, 0.03};
    double share_after_search = 0.03;  // of a time limit, for figures, checks and writing
  };

  // Swaps of a placement for the layout, where moving experts is free. By hand.
  struct Placing {
    std::int64_t chain_moves_per_swap = 8;  // without a time limit, at least: sweeps may be few
    std::int64_t fewest_per_layer = 500;    // but so many in any case
    std::int64_t first_per_layer = 5'000;   // with a time limit, to learn the speed
    std::int64_t most_per_layer = 400'000;  // with a time limit
  };

  // Placements for the layout, where moving has a limit or a price. By hand.
  struct Migration {
    double trace_share = 0.1;      // of a time limit, for the swap trajectories of one placement
    double share_of_rest = 0.25;   // of the time left that a placement may take, to be tried
    int price_steps = 40;          // limits that are looked at where moving has a price
    int price_reach_percent = 15;  // of the moves, to either side: over these a price is measured
  };

  // Other limits on moving, shown beside a plan with a current placement. By hand; docs/moving.md,
  // "What is weak", says what it costs them (hotter points were tried, to no effect).
  struct Front {
    double share = 0.25;       // of the budget, for all points
    double trace_share = 0.4;  // of that, where it is time: for the swap trajectories
    double heat = 0.02;        // of a point's two anneals
    int num_stages = 6;        // of each
  };

  // Windows so small that all plans are looked at. By hand.
  struct Enumeration {
    int max_samples = 12;
    std::size_t max_placements = 120;    // of a layer
    std::int64_t max_work = 60'000'000;  // steps of the innermost loops
  };

  // Shares of the kinds of moves of a chain, out of 256; what is left swaps whole cells. By hand.
  struct Moves {
    std::uint32_t near_swap = 96;          // with one of the nearest in length
    std::uint32_t far_swap = 36;           // with one of the near ones
    std::uint32_t swap_within_block = 28;  // evens attention, leaves the experts alone
    std::uint32_t any_swap = 32;
    std::uint32_t relocate = 24;     // to another cell, nothing in return
    std::uint32_t one_for_two = 32;  // of about its length together
    int near_reach = 8;              // places in length order, to either side
    int far_reach = 64;
  };

  // Sweeps, cooling and resampling of the chains. By hand, but for `resample`: on or off is level
  // in whole plans (docs/bench.md, "One chain, independent chains, population").
  struct Population {
    std::int64_t moves_per_sample = 16;  // of a sweep
    int fewest_samples = 64;             // a smaller window's sweeps are as long as with so many
    std::int64_t scale_moves = 4096;     // proposals that set the scale of temperatures
    std::int64_t first_sweeps = 2;       // of a round with a deadline, to learn the speed
    double culling = 0.07;               // chains replaced by a resampling, aimed at
    double fewest_families = 2.0;        // below so many even ones, a population parts first
    bool resample = true;                // false: chains never meet, the best of independent ones
  };

  // Layouts to start chains from. By hand.
  struct Starts {
    std::int64_t max_exchanges = 4'000'000;  // looked at by each descent of a layout
    std::size_t partners = 8;                // light cells that a heavy one is levelled with
    std::uint64_t candidates = 8;            // cells drawn for a sample of a random best fit
    std::uint32_t swap_reach = 64;           // places in length order, of a shuffle's swaps
    int block_swaps = 200;                   // between shards, when blocks are dealt
  };

  // The fewest rows. Counted work, never time: equal inputs give equal rows everywhere. By hand;
  // what it proves on 200 windows a class is measured (docs/bounds.md), each number alone is not.
  struct Packing {
    std::int64_t max_nodes_per_cell = 2'000;  // bounded completion of a cell
    std::int64_t tolerance_share = 64;        // a fit that leaves capacity / this is taken at once
    std::size_t max_searched_samples = 128;   // complete search up to so many
    std::int64_t max_search_nodes = 1'000'000;
    std::int64_t max_pool_steps = 15'000'000;  // for each number of cells tried
    std::int64_t max_parts = 30;               // k of the dual feasible bounds u and u_l2
    std::size_t max_lambdas = 120;             // of f2
    std::size_t max_composed_lambdas = 24;     // of u_l2, those with the highest l2
  };

  // Cells that exchange samples with a pool. By hand.
  struct Pool {
    std::array<std::size_t, 3> sizes = {240, 960, 480};  // samples, in turn
    int cycles_per_round = 2;
    int closing_attempts = 3;
    std::array<std::size_t, 3> drawn = {12, 20, 40};  // samples a cell is closed from, in turn
    std::size_t narrow = 60;         // a pool of so many no longer closes cells without room
    std::int64_t max_nodes = 1'000;  // for a cell in a sweep
    std::int64_t max_closing_nodes = 20'000;  // for an open cell
    std::int64_t spare_share = 16'000;        // capacity / this of spare room a cell is enough
  };

  // Layouts that keep rules on numbers of samples. By hand; a million steps are a part of a second.
  struct Counts {
    std::uint32_t attempts = 4;  // for each number of rows
    std::int64_t steps_per_sample = 2'000;
    std::int64_t most_steps = 1'000'000;
    int exchange_tries = 8;  // of two samples for one
  };

  // Experts for the demand of the whole window: rounds of local search where the bound is not met,
  // and steps that refute peaks above the bound (1 to 3 ms a layer). By hand.
  struct Aggregate {
    int search_iterations = 100;
    std::int64_t refutation_steps = 1 << 16;
  };

  // Annealing a layer's placement for its blocks. The temperature follows the share of accepted
  // swaps, which falls evenly over the stages: what is hot differs more between layers than what
  // share pays. By hand.
  struct BlockAnnealing {
    int num_stages = 40;
    int cold_stages = 2;  // of them, at the end: downhill only
    double first_accepted = 0.12;
    double last_accepted = 0.005;
    double first_heat = 0.05;         // of the mean change
    std::uint64_t scale_moves = 256;  // proposals that set it
    std::uint32_t reach = 4;          // places in the order of demand, of most proposals
  };

  // Placements that move few experts. Nothing more is searched here (docs/moving.md). By hand.
  struct Moving {
    int free_passes = 8;    // of a descent that may move everything
    int price_passes = 2;   // at each price of a rising or falling one
    int search_passes = 8;  // of a descent in the search at a price
    // Of a layer: a round of that search costs about E² · blocks steps.
    std::size_t search_work = 10'000'000;
    std::size_t most_rounds = 40;
    std::array<std::uint32_t, 2> targets = {0, 30};  // percent of the way back from the free peaks
  };

  Starts starts;
  Packing packing;
  Pool pool;
  Counts counts;
  Aggregate aggregate;
  BlockAnnealing block_annealing;
  Moving moving;
  Effort effort;
  Temperatures temperatures;
  Search search;
  Placing placing;
  Migration migration;
  Front front;
  Enumeration enumeration;
  Moves moves;
  Population population;
};

}  // namespace routepack::domain
