"""The bill of materials lists exactly the linked packages.

usage: /usr/bin/python3 -m unittest discover Tests/ScriptTests
"""

import importlib.machinery
import importlib.util
import unittest
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[2]
SCRIPT = str(REPOSITORY / "scripts" / "lib" / "bill-of-materials")


def load():
    loader = importlib.machinery.SourceFileLoader("bill_of_materials", SCRIPT)
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader(loader.name, loader))
    loader.exec_module(module)
    return module


def target(name: str, *dependencies: dict) -> dict:
    return {"name": name, "dependencies": list(dependencies)}


def by_name(name: str) -> dict:
    return {"byName": [name, None]}


def product(name: str, package: str) -> dict:
    return {"product": [name, package, None, None]}


class LinkedPackagesTests(unittest.TestCase):
    bill = load()
    package = {"targets": [
        target("program", by_name("Service"), product("ArgumentParser", "swift-argument-parser")),
        target("Service", by_name("Wrapper"), product("Logging", "swift-log")),
        target("Wrapper"),
        target("Tests", by_name("Service"), product("JWTKit", "jwt-kit")),
    ]}

    def test_of_all_modules_below(self) -> None:
        """A package counts if any module below the program uses it, but not if only tests use it."""
        self.assertEqual(
            self.bill.linked_packages(self.package, ["program"]), {"swift-argument-parser", "swift-log"})

    def test_unknown_program(self) -> None:
        """An unknown program is an error, not an empty list."""
        with self.assertRaisesRegex(SystemExit, "target prgram does not exist"):
            self.bill.linked_packages(self.package, ["prgram"])

    def test_unknown_dependency(self) -> None:
        """A dependency on an unknown package is an error, not omitted."""
        package = {"targets": [target("program", by_name("Logging"))]}
        with self.assertRaisesRegex(SystemExit, "program depends on Logging"):
            self.bill.linked_packages(package, ["program"])

    def test_dependencies_of_packages(self) -> None:
        """The dependencies of a linked package are also linked."""
        inner = {"identity": "inner", "dependencies": []}
        root = {"dependencies": [
            {"identity": "outer", "dependencies": [inner]}, {"identity": "unused", "dependencies": []}]}
        found: dict[str, dict] = {}
        self.bill.with_dependencies(root, {"outer"}, found)
        self.assertEqual(set(found), {"outer", "inner"})


if __name__ == "__main__":
    unittest.main()
