#!/usr/bin/env python3
"""Fails when a module of src/ includes a header of a module that it may not use.

usage: check_arrows.py PROJECT_ROOT
The allowed arrows stand in the tables below. Public headers (include/routepack) are plain data that
every module may use; they themselves use nothing of src/.
"""
import fnmatch
import re

import tree_check

# Modules that a module may include, beside itself and the public headers.
PURE = ["base", "random", "domain"]
ALLOWED = {
    "base": [],
    "random": ["base"],
    "domain": ["base", "random"],
    "comm": ["base"],
    "io": ["base", "domain"],
    "demand": ["base", "domain", "io", "comm"],
    "objective": PURE,
    "packing": PURE,
    "placement": PURE,
    "annealing": PURE + ["objective", "packing", "placement"],
    "shuffle": ["base", "random", "domain", "comm"],
    "synth": PURE + ["comm", "io"],
    "planner": PURE + ["objective", "packing", "placement", "annealing", "comm", "demand", "io"],
    "cli": PURE
    + ["objective", "packing", "placement", "annealing", "comm", "demand", "io", "planner", "shuffle",
       "synth"],
}

# Rooms of a module that may be included by a room, beside itself, and by the module's files outside
# of rooms ("").
ROOMS = {
    "placement": {
        "aggregate": [],
        "blocks": ["aggregate"],
        "moving": ["aggregate", "blocks"],
        "": ["aggregate", "blocks", "moving"],
    },
    "shuffle": {
        "engine": [],
        "plan": ["engine"],
        "transport": ["engine"],
        "check": ["engine", "transport"],
        "": ["engine", "plan", "transport"],
    },
}

# Files that may include more than their module: pattern under src/, modules.
EXCEPTIONS = [
    ("annealing/exchange*", ["comm"]),
    ("annealing/population*", ["comm"]),
    ("placement/aggregate/place_experts*", ["comm"]),
]

# Foreign headers that only some files may include: header pattern, file patterns (from the root).
CONFINED = [
    ("mpi.h", ["src/comm/*", "src/demand/*", "src/planner/*", "src/cli/*", "src/shuffle/transport/mpi_*",
               "src/annealing/exchange*", "src/placement/aggregate/place_experts*", "include/routepack/*"]),
    ("boost/*", ["src/cli/*.cpp"]),
    ("nlohmann/*", ["src/io/*.cpp", "src/synth/*.cpp", "src/cli/*.cpp"]),
    ("cuda*", ["src/shuffle/transport/nccl_*", "src/*.cu"]),
    ("nccl*", ["src/shuffle/transport/nccl_*", "src/*.cu"]),
]

INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]')


def includes(text):
    """-> [(line number, is quoted, header)]"""
    found = []
    for number, line in enumerate(text.split("\n"), 1):
        match = INCLUDE.match(line)
        if match:
            found.append((number, match.group(1) == '"', match.group(2)))
    return found


def allowed_modules(path, module):
    allowed = set(ALLOWED[module]) | {module}
    for pattern, more in EXCEPTIONS:
        if fnmatch.fnmatch(path, "src/" + pattern):
            allowed |= set(more)
    return allowed


def room_of(path):
    """-> (module, room) of a path under src/; the room is "" outside of rooms"""
    parts = path.split("/")
    return parts[0], parts[1] if len(parts) > 2 else ""


def fault_of_room(path, header):
    module, room = room_of(path)
    target_module, target = room_of(header)
    rooms = ROOMS.get(module)
    if rooms is None or module != target_module or room == target:
        return None
    if room not in rooms:
        return f"but {room} is no room of the table in check_arrows.py"
    if target in rooms[room]:
        return None
    return f"but {'/'.join(filter(None, (module, room)))} may not use {target or 'files outside of rooms'}"


def faults_of_file(root, path):
    faults = []
    parts = path.split("/")
    module = parts[1] if parts[0] == "src" else None
    if module is not None and (len(parts) < 3 or module not in ALLOWED):
        return [f"{path}: {module} is no module of the table in check_arrows.py"]
    for number, quoted, header in includes(tree_check.read(root, path)):
        where = f"{path}:{number}: includes {header}"
        target = header.split("/")[0]
        if quoted and target != "routepack":
            if "/" not in header or target not in ALLOWED:
                faults.append(f"{where}, name headers from src/, as module/header.hpp")
            elif module is None:
                faults.append(f"{where}, a public header may use no module")
            elif target not in allowed_modules(path, module):
                faults.append(f"{where}, but {module} may not use {target}")
            elif fault := fault_of_room(path.removeprefix("src/"), header):
                faults.append(f"{where}, {fault}")
        for pattern, files in CONFINED:
            if fnmatch.fnmatch(header, pattern) and not any(fnmatch.fnmatch(path, f) for f in files):
                faults.append(f"{where}, which only {', '.join(files)} may")
    return faults


def check(root):
    """-> (number of files read, faults)"""
    faults, count = [], 0
    for path in tree_check.sources(root, ("src", "include")):
        faults += faults_of_file(root, path)
        count += 1
    return count, faults


if __name__ == "__main__":
    tree_check.main(check, __doc__, "sources", "arrows that point the wrong way")
