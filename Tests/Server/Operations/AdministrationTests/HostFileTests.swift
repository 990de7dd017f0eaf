import Foundation
import SyncProtocol
import TestSupport
import Testing

@testable import Operations

@Suite("Host files in a backup")
struct HostFileTests {
    private let ownFolder: ScratchFolder
    private var root: String { ownFolder.url.appending(path: "root").path }
    private var path: String { ownFolder.url.appending(path: "b.gz").path }

    init() throws { ownFolder = try ScratchFolder("host") }

    private static let paths = [
        "/etc/syncd/syncd.json", "/etc/nginx/sites-available/syncd.conf", "/etc/nginx/syncd/syncd-exempt.conf",
        "/etc/systemd/system/syncd-transfer@.service.d/memory.conf", "/etc/systemd/system/syncd.target.d/more.conf",
    ]

    private func write(_ text: String, to path: String) throws {
        let place = URL(filePath: root + path)
        try FileManager.default.createDirectory(
            at: place.deletingLastPathComponent(), withIntermediateDirectories: true)
        try Data(text.utf8).write(to: place)
    }

    private func text(_ path: String) throws -> String { try String(contentsOfFile: root + path, encoding: .utf8) }

    private func populate() throws {
        for path in Self.paths { try write("text of \(path)\n", to: path) }
        // Neither secrets nor other programs' files.
        for path in [
            "/etc/syncd/secrets/sealing-key", "/etc/nginx/sites-available/default",
            "/etc/systemd/system/other.service.d/o.conf", "/etc/systemd/system/syncd.target.d/README",
        ] { try write("not ours\n", to: path) }
    }

    @Test("A backup holds the configuration, the site and the unit settings, and restores them unchanged")
    func roundTrip() throws {
        try populate()
        let fixture = try AdministrationFixture()
        let collected = HostFiles(root: root).collect(leavingOutConfiguration: false)
        let report = try BackupWriter(store: fixture.store, files: collected.files).write(
            to: path, serverVersion: "1.2.3", database: "test", at: AdministrationFixture.now)

        let (manifest, files) = try BackupReader(path: path).examine()

        #expect(collected.omitted == [])
        #expect(Set(files.map(\.path)) == Set(Self.paths))
        #expect(manifest.header.format == 2)
        #expect(report.text.contains("files      /etc/nginx/sites-available/syncd.conf, "))
        let other = HostFiles(root: ownFolder.url.appending(path: "other").path)
        for file in files { #expect(try other.restore(file) == .written) }
        for path in Self.paths {
            let place = ownFolder.url.appending(path: "other" + path).path
            #expect(try String(contentsOfFile: place, encoding: .utf8) == "text of \(path)\n")
        }
        let mode =
            try FileManager.default.attributesOfItem(
                atPath: ownFolder.url.appending(path: "other" + Self.paths[0]).path)[.posixPermissions] as? Int
        #expect(mode == 0o644)
        // The rows are restored as from any other backup.
        #expect(try Restorer(into: AdministrationFixture(migrated: false).settings).restore(path).counts["files"] == 2)
    }

    @Test("A backup without files has the format that earlier releases read")
    func rowsAlone() throws {
        let report = try BackupWriter(store: AdministrationFixture(populated: false).store).write(
            to: path, serverVersion: "1.2.3", database: "test", at: AdministrationFixture.now)

        #expect(report.manifest.header.format == 1)
        #expect(report.manifest.files == nil)
    }

    @Test("A changed file is detected")
    func tampered() throws {
        try populate()
        let files = HostFiles(root: root).collect(leavingOutConfiguration: false).files
        _ = try BackupWriter(store: AdministrationFixture(populated: false).store, files: files).write(
            to: path, serverVersion: "1.2.3", database: "test", at: AdministrationFixture.now)
        let changed = try Command(
            "/bin/sh", ["-c", "zcat '\(path)' | sed 's/text of/words of/' | gzip >'\(path).new'"])
        #expect(changed.status == 0)

        #expect(throws: BackupError.self) { try BackupReader(path: path + ".new").verify() }
    }

    @Test("A configuration that contains secrets itself is omitted, and the report mentions it")
    func inlineSecrets() throws {
        try populate()

        let collected = HostFiles(root: root).collect(leavingOutConfiguration: true)

        #expect(!collected.files.contains { $0.path == "/etc/syncd/syncd.json" })
        #expect(collected.omitted == ["/etc/syncd/syncd.json: it contains secrets"])
    }

    @Test("Existing files of a host are kept, except the list that the package installs empty")
    func present() throws {
        try populate()
        let files = HostFiles(root: root)

        #expect(try files.restore(HostFile(path: Self.paths[0], text: "other")) == .kept)
        #expect(try text(Self.paths[0]) == "text of \(Self.paths[0])\n")
        let same = HostFile(path: Self.paths[1], text: "text of \(Self.paths[1])\n")
        #expect(try files.restore(same) == .same)
        #expect(try files.restore(HostFile(path: Self.paths[2], text: "other")) == .replaced)
        #expect(try text(Self.paths[2]) == "other")
        #expect(try text(Self.paths[2] + ".old") == "text of \(Self.paths[2])\n")
    }

    @Test(
        "A restore writes no files outside the expected places",
        arguments: [
            "/etc/passwd", "/etc/systemd/system/ssh.service.d/o.conf", "/etc/systemd/system/syncd.service",
            "/etc/systemd/system/syncd.target.d/../../x.conf", "/etc/systemd/system/syncd.target.d/sub/x.conf",
            "/etc/syncd/secrets/sealing-key", "/etc/systemd/system/../syncd.d/x.conf",
        ])
    func elsewhere(path: String) throws {
        #expect(try HostFiles(root: root).restore(HostFile(path: path, text: "x")) == nil)
        #expect(!FileManager.default.fileExists(atPath: root))
    }

    @Test(
        "A verification reports a file that a backup must not contain, with its path on one line",
        arguments: [
            "/etc/passwd", "../etc/syncd/syncd.json", "etc/syncd/syncd.json", "/etc/syncd/../passwd",
            "/etc/syncd/syncd.json/", "//etc/syncd/syncd.json", "", "/etc/syncd/syncd.json\n\u{1b}[2J",
            "/etc/systemd/system/syncd.target.d/../../x.conf",
        ])
    func foreign(foreign: String) throws {
        let files = [Self.paths[0], foreign].map { HostFile(path: $0, text: "x") }
        _ = try BackupWriter(store: AdministrationFixture(populated: false).store, files: files).write(
            to: path, serverVersion: "1.2.3", database: "test", at: AdministrationFixture.now)

        let error = #expect(throws: BackupError.foreignFiles([foreign])) { try BackupVerifier(path: path).verify() }

        let sentence = try #require(error).description
        #expect(sentence.contains("files that syncctl never writes"))
        #expect(!sentence.unicodeScalars.contains { $0.value < 0x20 }, "\(sentence)")
    }
}
