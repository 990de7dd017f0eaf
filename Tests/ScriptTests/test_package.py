"""Package.swift is the module map: each target declares exactly the modules that it imports.

SwiftPM allows a module to import undeclared ones if another target happened to build them before. An app's build gets
no settings that SwiftPM refuses, or that could make it fail; all our own builds get the same settings.

usage: /usr/bin/python3 -m unittest discover Tests/ScriptTests
"""

import json
import os
import re
import subprocess
import unittest
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[2]
IMPORT = re.compile(r"^[ \t]*(?:@testable )?(?:public |package |internal )?import (\w+)", re.MULTILINE)


BUILD = re.compile(r'^ *(?:exec |\w+=\S+ )*swift (?:build|test) |"swift", "(?:build|test)"', re.MULTILINE)
STRICT = "SYNCSERVER_WARNINGS_ARE_ERRORS"


def described(**variables: str) -> dict:
    environment = {name: value for name, value in os.environ.items() if name != STRICT}
    return json.loads(subprocess.run(
        ["swift", "package", "dump-package"], cwd=REPOSITORY, env={**environment, **variables}, capture_output=True,
        text=True, check=True).stdout)


def declared(target: dict) -> set[str]:
    """The modules that a target may import; libraries of other packages are named like their modules."""
    return {next(iter(dependency.values()))[0] for dependency in target["dependencies"]}


def imported(target: dict) -> set[str]:
    folder = REPOSITORY / (target.get("path") or f"{'Tests' if target['type'] == 'test' else 'Sources'}/{target['name']}")
    return {module for file in folder.rglob("*.swift") for module in IMPORT.findall(file.read_text(encoding="utf-8"))}


class ModuleMapTests(unittest.TestCase):
    def setUp(self) -> None:
        self.targets = [target for target in described()["targets"] if target["type"] != "system"]
        self.programs = {target["name"] for target in self.targets if target["type"] == "executable"}

    def test_imports_are_declared(self) -> None:
        """No module imports an undeclared module."""
        known = {target["name"] for target in self.targets}.union(*map(declared, self.targets))
        for target in self.targets:
            with self.subTest(target["name"]):
                self.assertEqual(imported(target) & known - declared(target), set())

    def test_declared_is_imported(self) -> None:
        """No module declares an unused one; tests may declare a program, so that it is built for them."""
        for target in self.targets:
            with self.subTest(target["name"]):
                self.assertEqual(declared(target) - imported(target) - self.programs, set())

    def test_no_test_code_in_products(self) -> None:
        """Targets below Sources do not depend on those below Tests."""
        below_tests = {target["name"] for target in self.targets if (target.get("path") or "").startswith("Tests")}
        for target in self.targets:
            if target["type"] != "test" and target["name"] not in below_tests:
                with self.subTest(target["name"]):
                    self.assertEqual(declared(target) & below_tests, set())


class SettingsTests(unittest.TestCase):
    def kinds(self, **variables: str) -> list[set[str]]:
        """The kinds of settings of each target with any."""
        targets = [target for target in described(**variables)["targets"] if target["settings"]]
        return [{kind for setting in target["settings"] for kind in setting["kind"]} for target in targets]

    def test_apps_get_no_settings_that_hinder_them(self) -> None:
        for kinds in self.kinds():
            self.assertLessEqual(
                kinds, {"swiftLanguageMode", "enableUpcomingFeature", "strictMemorySafety"})

    def test_warnings_are_errors_in_scripts(self) -> None:
        """All scripts that build set the variable, so that none compiles everything again after another one."""
        for kinds in self.kinds(**{STRICT: "1"}):
            self.assertIn("treatAllWarnings", kinds)
        names = subprocess.run(["git", "ls-files", "scripts", "bench", ".ci"], cwd=REPOSITORY, capture_output=True,
                               text=True, check=True).stdout.split()
        texts = {name: (REPOSITORY / name).read_text(encoding="utf-8", errors="ignore") for name in names}
        builders = {name for name, text in texts.items() if BUILD.search(text)}
        self.assertLessEqual({"scripts/build", "scripts/judges", "scripts/sanitize", "scripts/test"}, builders)
        self.assertEqual([name for name in sorted(builders) if STRICT not in texts[name]], [])


if __name__ == "__main__":
    unittest.main()
