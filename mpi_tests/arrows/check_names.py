#!/usr/bin/env python3
"""Fails when two types of one full name are defined in different files, or a public header leaks a name.

usage: check_names.py PROJECT_ROOT
Two such types break the one-definition rule as soon as they meet in a program, and neither compiler nor
linker has to say so. Looks at the public headers, src/ and mpi_tests/; a type in an unnamed namespace
is a file's own. Public headers keep what they declare in the namespace routepack, open no other one to
their users, and define no macro but RP_… or ROUTEPACK_….
"""
import collections
import re

import tree_check

FOLDERS = ("include", "src", "mpi_tests")
# What has no braces that matter: comments, raw strings, strings, characters.
OPAQUE = re.compile(
    r"//[^\n]*|/\*.*?\*/|R\"(?P<mark>[^()\s]*)\(.*?\)(?P=mark)\"|\"(?:\\.|[^\"\\\n])*\"|(?<![0-9a-fA-F])'(?:\\.|[^'\\])+'",
    re.DOTALL,
)
NAMESPACE = re.compile(r"\bnamespace\s*([\w:]*)\s*$")
TYPE = re.compile(r"\b(?:struct|class|union|enum)\s+(?:class\s+|struct\s+)?(?:alignas\([^)]*\)\s*)?"
                  r"(?:\[\[\w+\]\]\s*)?([\w:]*\w)\s*(?:final\s*)?(?::(?!:)[^{}]*)?$")


def types_of(text):
    """-> full names of the types that `text` defines outside of functions, types and unnamed namespaces"""
    text = OPAQUE.sub(" ", text)
    found, scopes, begin = [], [], 0
    for brace in re.finditer(r"[{};]", text):
        head, begin = text[begin:brace.start()], brace.end()
        if brace.group() == "}":
            if scopes:
                scopes.pop()
        elif brace.group() == "{":
            namespace, definition = NAMESPACE.search(head), TYPE.search(head)
            if namespace:
                scopes.append(namespace.group(1))
                continue
            if definition and all(scopes):
                found.append("::".join(scopes + [definition.group(1)]))
            scopes.append("")  # nothing in here, nor in an unnamed namespace, is of interest
    return found


def leaks_of(text):
    """-> what a public header gives its users outside of the namespace routepack"""
    text = OPAQUE.sub(" ", text).replace("\\\n", " ")
    macros = re.findall(r"^\s*#\s*define\s+(\w+)", text, re.MULTILINE)
    leaks = [f"the macro {macro}" for macro in macros if not macro.startswith(("RP_", "ROUTEPACK_"))]
    text = re.sub(r"^\s*#.*$", "", text, flags=re.MULTILINE)
    leaks += [f"using namespace {name}" for name in re.findall(r"\busing\s+namespace\s+([\w:]+)", text)]
    begin, depth, outside = 0, 0, ""
    for brace in re.finditer(r"[{}]", text):
        if depth == 0:
            outside += re.sub(r"\bnamespace\s+routepack(::\w+)*\s*$", "", text[begin:brace.start()])
        depth += 1 if brace.group() == "{" else -1
        if depth == 0:
            begin = brace.end()
    outside = " ".join((outside + text[begin:]).split())
    return leaks + ([f'"{outside}" outside of the namespace routepack'] if outside else [])


def check(root):
    """-> (number of types, faults)"""
    faults = []
    files = collections.defaultdict(list)
    for path in tree_check.sources(root, FOLDERS):
        text = tree_check.read(root, path)
        for full_name in types_of(text):
            files[full_name].append(path)
        if path.startswith("include/"):
            faults += [f"{path} leaks {leak}" for leak in leaks_of(text)]
    faults += [f"{name} is defined in {' and '.join(paths)}" for name, paths in sorted(files.items()) if len(paths) > 1]
    return len(files), faults


if __name__ == "__main__":
    tree_check.main(check, __doc__, "types", "names that are used twice or leak")
