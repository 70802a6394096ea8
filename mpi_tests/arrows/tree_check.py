"""What the checkers of this folder share: the walk over the sources, the command line, and trees to
test them on."""
import os
import sys
import tempfile

SOURCES = (".hpp", ".cpp", ".h", ".cu", ".cuh", ".in")


def sources(root, folders):
    """-> paths from the root, with slashes, of the sources under `folders`, in a fixed order"""
    for top in folders:
        for folder, _, names in sorted(os.walk(os.path.join(root, top))):
            for name in sorted(names):
                if name.endswith(SOURCES):
                    yield os.path.relpath(os.path.join(folder, name), root).replace(os.sep, "/")


def read(root, path):
    with open(os.path.join(root, path), encoding="utf-8") as source:
        return source.read()


def main(check, usage, counted, wrong):
    """Runs check(PROJECT_ROOT) -> (number of things looked at, faults); status 1 where there is a fault.

    `counted` and `wrong` name the things and the faults in the last line.
    """
    if len(sys.argv) != 2:
        sys.exit(usage)
    count, faults = check(sys.argv[1])
    if count == 0:
        sys.exit(f"no {counted} under {sys.argv[1]}")
    for fault in faults:
        print(fault)
    print(f"{count} {counted}, {len(faults)} {wrong}")
    sys.exit(1 if faults else 0)


def check_files(check, files):
    """-> check() of a tree that holds these {path: text}"""
    with tempfile.TemporaryDirectory() as root:
        for path, text in files.items():
            os.makedirs(os.path.dirname(os.path.join(root, path)), exist_ok=True)
            with open(os.path.join(root, path), "w", encoding="utf-8") as source:
                source.write(text)
        return check(root)
