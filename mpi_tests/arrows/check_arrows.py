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
    "planner": PURE + ["objective", "packing", "placement", "annealing", "comm", "demand", "io"],
    "cli": PURE
    + ["objective", "packing", "placement", "annealing", "comm", "demand", "io", "planner", "shuffle"],
}

# Files that may include more than their module: pattern under src/, modules.
EXCEPTIONS = [
    ("io/synth/*", ["random"]),
    ("annealing/exchange*", ["comm"]),
    ("annealing/population*", ["comm"]),
    ("placement/gather*", ["comm"]),
]

# Foreign headers that only some files may include: header pattern, file patterns (from the root).
CONFINED = [
    ("mpi.h", ["src/comm/*", "src/demand/*", "src/planner/*", "src/cli/*", "src/shuffle/*transport*",
               "src/annealing/exchange*", "src/placement/gather*", "include/routepack/*"]),
    ("boost/*", ["src/cli/*.cpp"]),
    ("nlohmann/*", ["src/io/*.cpp", "src/cli/*.cpp"]),
    ("cuda*", ["src/shuffle/nccl_*", "src/*.cu"]),
    ("nccl*", ["src/shuffle/nccl_*", "src/*.cu"]),
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
