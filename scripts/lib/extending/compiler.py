"""Compiles the changed modules of a copy of the tree, and everything that depends on them, with the arguments of the debug
build and its other modules.

Modules that the tests need are compiled, as one unit each, which takes a fraction of the time of an incremental build.
The others are only type-checked. Of a module with tests, only files that are new or changed or contain a `switch`
without a default are type-checked: what the others use has not changed.
"""

import json
import os
import re
import shlex
import subprocess
from collections.abc import Iterable
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, field
from graphlib import TopologicalSorter
from pathlib import Path

RULE = re.compile(r'^  "C\.(\w+)-[^"\n]*-debug(?:-exe|-test)?\.(module|test)":\n((?:    .*\n)+)', re.MULTILINE)
# Arguments that belong to the incremental build, without and with a value.
OMITTED = {"-emit-dependencies", "-emit-module", "-incremental", "-c", "-enable-batch-mode", "-serialize-diagnostics",
           "-parseable-output", "-emit-objc-header", "-v", "-g"}
OMITTED_PAIRS = {"-emit-module-path", "-output-file-map", "-index-store-path", "-emit-objc-header-path", "-o"}
RUNNER = """
import Testing

@main struct Runner {
    static func main() async { await Testing.__swiftPMEntryPoint() as Never }
}
"""


@dataclass
class Module:
    name: str
    arguments: list[str]
    # In the tree, relative to it.
    sources: list[str]
    generated: list[str]
    imports: list[str] = field(default_factory=list)

    @property
    def folder(self) -> str:
        return os.path.commonpath([os.path.dirname(source) for source in self.sources])

    @property
    def has_tests(self) -> bool:
        return self.name.endswith("Tests") and self.folder.startswith("Tests/")


class Compiler:
    def __init__(self, repository: Path, tree: Path, output: Path):
        self.tree = tree
        self.output = output
        self.modules: dict[str, Module] = {}
        self.link: list[str] = []
        self.objects: list[str] = []
        self._read((repository / ".build" / "debug.yaml").read_text(encoding="utf-8"), f"{repository}/")
        (output / "modules").mkdir(parents=True)

    def _read(self, rules: str, prefix: str) -> None:
        for name, kind, rule in RULE.findall(rules):
            arguments, inputs = (
                json.loads(re.search(rf"^    {key}: (\[.*\])$", rule, re.MULTILINE)[1]) for key in ("args", "inputs"))
            if kind == "test":
                self.link = arguments
                self.objects = [path for path in inputs if path.endswith(".o")]
                continue
            swift = [path for path in inputs if path.endswith(".swift")]
            own = [path.removeprefix(prefix) for path in swift if path.startswith(prefix) and "/.build/" not in path]
            if own:
                self.modules[name] = Module(
                    name, list(plain(arguments)), own, [path for path in swift if "/.build/" in path],
                    [Path(path).stem for path in inputs if path.endswith(".swiftmodule")])

    def add(self, created: Iterable[str]) -> None:
        """Adds new files to the modules whose folders they are in."""
        for path in sorted(created):
            if path.endswith(".swift"):
                homes = [module for module in self.modules.values() if path.startswith(f"{module.folder}/")]
                max(homes, key=lambda module: len(module.folder)).sources.append(path)

    def affected(self, changed: set[str]) -> list[str]:
        """The modules with these files, and all that depend on them; each after those that it imports."""
        order = TopologicalSorter({
            name: [other for other in module.imports if other in self.modules]
            for name, module in self.modules.items()}).static_order()
        found: list[str] = []
        for name in order:
            module = self.modules[name]
            if any(path.startswith(f"{module.folder}/") for path in changed) or set(module.imports) & set(found):
                found.append(name)
        return found

    def needed_by(self, tests: Iterable[str]) -> set[str]:
        """The modules with which these are linked, including those of other packages."""
        needed: set[str] = set()
        rest = list(tests)
        while rest:
            name = rest.pop()
            if name not in needed:
                needed.add(name)
                rest += self.modules[name].imports if name in self.modules else []
        return needed

    def compile(self, changed: set[str], tests: dict[str, list[str]], jobs: int) -> tuple[list[str], list[str]]:
        """Compiles what the files in `tests`, by module, need, and checks all other affected modules.

        Returns the names of the affected modules, and the compiler's messages.
        """
        affected = self.affected(changed)
        linked = self.needed_by(tests)
        waiting = {name: set(self.modules[name].imports) & set(affected) for name in affected}
        messages: list[str] = []
        running: dict[Future, str] = {}
        with ThreadPoolExecutor(jobs) as threads:
            while waiting or running:
                for name in [name for name, needs in waiting.items() if not needs]:
                    del waiting[name]
                    running[threads.submit(self._treat, name, name in linked, tests.get(name, []), changed)] = name
                done, _ = wait(running, return_when=FIRST_COMPLETED)
                for future in done:
                    name = running.pop(future)
                    if message := future.result():
                        messages.append(message)
                        # What imports it would fail for the same reason.
                        waiting.clear()
                    for needs in waiting.values():
                        needs.discard(name)
        return affected, messages

    def _treat(self, name: str, is_linked: bool, tests: list[str], changed: set[str]) -> str:
        """Compiles or checks a module; returns the compiler's messages if there is an error."""
        module = self.modules[name]
        if not module.has_tests:
            how = ["-wmo", "-emit-module", "-emit-module-path", f"{self.output}/modules/{name}.swiftmodule"]
            return self._run(self._command(module, module.sources, [*how, *(self._to_object(name) if is_linked else [])]))
        if tests and (message := self._run(self._command(module, tests, ["-wmo", *self._to_object(name)]))):
            return message
        primary = {source for source in module.sources if source not in tests and (
            source in changed or has_complete_switch((self.tree / source).read_text(encoding="utf-8")))}
        return self._run(self._checking(module, primary)) if primary else ""

    def _to_object(self, name: str) -> list[str]:
        return ["-c", "-o", f"{self.output}/{name}.o"]

    def _command(self, module: Module, sources: list[str], how: list[str]) -> list[str]:
        compiler, *arguments = module.arguments
        return [compiler, *how, "-I", f"{self.output}/modules", *arguments, *map(self._path, sources),
                *self._generated(module)]

    def _path(self, source: str) -> str:
        return str(self.tree / source)

    def _checking(self, module: Module, primary: set[str]) -> list[str]:
        """The command that type-checks only these files of a module: the driver cannot be asked for that, but prints the
        compiler's arguments."""
        command = self._command(module, module.sources, ["-typecheck", "-wmo", "-driver-filelist-threshold=100000", "-###"])
        printed = subprocess.run(command, cwd=self.tree, check=True, stdout=subprocess.PIPE, text=True).stdout
        files = set(map(self._path, primary))
        return [part for word in shlex.split(printed.splitlines()[-1])
                for part in (["-primary-file", word] if word in files else [word])]

    def _generated(self, module: Module) -> list[str]:
        """Generated sources, among them the embedded files, which include new ones."""
        embedded = [path for path in module.generated if path.endswith("/embedded_resources.swift")]
        if not embedded:
            return module.generated
        source = self.output / f"{module.name}Resources.swift"
        texts = "".join(
            f'static let _{re.sub(r"[^a-z0-9]", "_", file.name[1:])}: [UInt8] = '
            f'Array(#"""\n{file.read_text(encoding="utf-8")}\n"""#.utf8)\n'
            for file in sorted((self.tree / module.folder).rglob("*.sql")))
        source.write_text(f"enum PackageResources {{\n{texts}}}\n", encoding="utf-8")
        return [str(source) if path in embedded else path for path in module.generated]

    def link_tests(self, tests: Iterable[str], affected: list[str]) -> tuple[Path, str]:
        """A program that runs the tests of these modules, and the linker's messages if there is an error."""
        runner, program = self.output / "Runner.swift", self.output / "tests"
        runner.write_text(RUNNER, encoding="utf-8")
        needed = self.needed_by(tests)
        kept = [path for path in self.objects if path.split("/")[-2].removesuffix(".build") in needed - set(affected)]
        own = [str(self.output / f"{name}.o") for name in affected if name in needed]
        libraries = [word for word in self.link if word.startswith(("-l", "-L")) and word != "-L"]
        return program, self._run(
            [self.link[0], "-parse-as-library", "-module-name", "Runner", "-o", str(program), str(runner), *kept, *own,
             *libraries])

    def _run(self, command: list[str]) -> str:
        done = subprocess.run(
            command, cwd=self.tree, check=False, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        return "" if done.returncode == 0 else done.stdout or f"{command[0]} ended with {done.returncode}"


def has_complete_switch(source: str) -> bool:
    """Whether the source has a `switch` without a default, which a new case may break."""
    return len(re.findall(r"\bswitch ", source)) > len(re.findall(r"^\s*default:", source, re.MULTILINE))


def plain(arguments: list[str]) -> Iterable[str]:
    """The arguments without those of the incremental build."""
    words = iter(arguments)
    for word in words:
        if word == "-Xcc":
            yield from (word, next(words))
        elif word in OMITTED_PAIRS:
            next(words)
        elif word not in OMITTED and not word.startswith(("@", "-j")):
            yield word
