#!/usr/bin/env python3
"""Fails when a module of src/ includes a header of a module that it may not use.

usage: check_arrows.py PROJECT_ROOT
The allowed arrows stand in the tables below. Public headers (include/routepack) are plain data that
every module may use; they themselves use nothing of src/.
"""
import fnmatch
import os
import re
import sys

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

# Files that may include more than their module: pattern under src/, modules.
EXCEPTIONS = [
    ("annealing/exchange*", ["comm"]),
    ("annealing/population*", ["comm"]),
    ("placement/gather*", ["comm"]),
]

# Foreign headers that only some files may include: header pattern, file patterns (from the root).
CONFINED = [
    ("mpi.h", ["src/comm/*", "src/demand/*", "src/planner/*", "src/cli/*", "src/shuffle/*transport*",
               "src/annealing/exchange*", "src/placement/gather*", "include/routepack/*"]),
    ("boost/*", ["src/cli/*.cpp"]),
    ("nlohmann/*", ["src/io/*.cpp", "src/synth/*.cpp", "src/cli/*.cpp"]),
    ("cuda*", ["src/shuffle/nccl_*", "src/*.cu"]),
    ("nccl*", ["src/shuffle/nccl_*", "src/*.cu"]),
]

SOURCES = (".hpp", ".cpp", ".h", ".cu", ".cuh", ".in")
INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]')


def includes(path):
    """-> [(line number, is quoted, header)]"""
    found = []
    with open(path, encoding="utf-8") as source:
        for number, line in enumerate(source, 1):
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
    for number, quoted, header in includes(os.path.join(root, path)):
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
    for top in ("src", "include"):
        for folder, _, names in sorted(os.walk(os.path.join(root, top))):
            for name in sorted(names):
                if name.endswith(SOURCES):
                    path = os.path.relpath(os.path.join(folder, name), root).replace(os.sep, "/")
                    faults += faults_of_file(root, path)
                    count += 1
    return count, faults


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    count, faults = check(sys.argv[1])
    if count == 0:
        sys.exit(f"no sources under {sys.argv[1]}")
    for fault in faults:
        print(fault)
    print(f"{count} files, {len(faults)} arrows that point the wrong way")
    sys.exit(1 if faults else 0)


if __name__ == "__main__":
    main()
