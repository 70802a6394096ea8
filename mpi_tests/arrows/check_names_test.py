#!/usr/bin/env python3
"""check_names.py must find every type that can meet another one, and no other."""
import unittest

import check_names
import tree_check


def faults_of(files):
    return tree_check.check_files(check_names.check, files)[1]


def inside(text, namespace="routepack"):
    return f"namespace {namespace} {{\n{text}\n}}  // namespace {namespace}\n"


class CheckNames(unittest.TestCase):
    def test_types_are_found_with_their_full_names(self):
        text = inside(
            "struct A { struct B { int c[2]{1, 2}; }; };\nclass C final : public A {};\nenum class D : int { kOne };\n"
            "template <class T>\nunion alignas(16) E { T e; };\nstruct A::F { int f; };\nstruct Declared;\n"
            "void f() { struct Local {}; }\nstruct G* g(const struct H& h) { return nullptr; }\n"
            "// struct Comment {\nconst char* text = \"struct Text {\";\nconst char* raw = R\"(struct Raw {)\";\n"
            "constexpr int kMany = 1'000'000;\nconstexpr char kBrace = '{';\nstruct Last {};"
        )
        names = check_names.types_of(text)
        self.assertEqual(names, ["routepack::" + name for name in ("A", "C", "D", "E", "A::F", "Last")])

    def test_two_types_of_one_name_are_a_fault(self):
        first, second = inside("struct Move { int a; };"), inside("enum class Move { kA };")
        faults = faults_of({"src/a/a.hpp": first, "src/b/b.hpp": second})
        self.assertEqual(faults, ["routepack::Move is defined in src/a/a.hpp and src/b/b.hpp"])
        self.assertEqual(len(faults_of({"include/routepack/a.hpp": first, "mpi_tests/b_test.cpp": second})), 1)
        self.assertEqual(len(faults_of({"src/a/a.cpp": first + second})), 1)

    def test_other_scopes_are_other_names(self):
        first = inside("struct Move { int a; };")
        for other in (
            inside("namespace {\nstruct Move {};\n}"),
            inside("struct Move {};", "routepack::testing"),
            inside("class Game { struct Move {}; };"),
            inside("struct Move;\nstruct Move f();"),
        ):
            self.assertEqual(faults_of({"src/a/a.hpp": first, "src/b/b.hpp": other}), [])

    def test_public_headers_leak_nothing(self):
        header = "#pragma once\n#include <vector>\n#define RP_A(x) \\\n  do { x; } while (false)\n"
        clean = header + inside("namespace detail {\nint f();\n}\nstruct A {\n  int a{1};\n};") + "// }\n"
        self.assertEqual(check_names.leaks_of(clean), [])
        self.assertEqual(check_names.leaks_of(inside("int a;", "routepack::detail")), [])
        for text, leak in (
            ("# define MAX(a) a\n" + clean, "the macro MAX"),
            (inside("using namespace std;"), "using namespace std"),
            (clean + "int f();\n", '"int f();" outside of the namespace routepack'),
            (clean + "struct B { int b; };\n", '"struct B ;" outside of the namespace routepack'),
            (inside("int a;", "other"), '"namespace other" outside of the namespace routepack'),
        ):
            self.assertEqual(check_names.leaks_of(text), [leak])
        self.assertEqual(
            faults_of({"include/routepack/a.hpp": "#define A 1\n", "src/a/a.hpp": "#define B 1\n"}),
            ["include/routepack/a.hpp leaks the macro A"],
        )


if __name__ == "__main__":
    unittest.main()
