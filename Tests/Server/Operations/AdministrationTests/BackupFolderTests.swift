import Foundation
import Posix
import Store
import SyncProtocol
import TestSupport
import Testing

@testable import Operations

@Suite("Folders of backups, and copies elsewhere")
struct BackupFolderTests {
    private let ownFolder: ScratchFolder
    private var place: URL { ownFolder.url }
    private var folder: BackupFolder { BackupFolder(path: place.path) }

    init() throws { ownFolder = try ScratchFolder("backups") }

    private static let day: Int64 = 86_400
    private static let hour: Int64 = 3_600
    /// Monday, 2026-11-23 03:00:00 UTC.
    private static let monday: Int64 = 1_795_402_800

    private func date(_ day: Int64, _ hour: Int64 = 0) -> WireDate {
        WireDate(secondsSince1970: Self.monday + day * Self.day + hour * Self.hour)
    }

    @discardableResult
    private func backUp(_ fixture: AdministrationFixture, at date: WireDate) throws -> BackupReport {
        try BackupWriter(store: fixture.store).write(
            to: folder.path(of: date), serverVersion: "1.2.3", database: "test", at: date)
    }

    private func names() throws -> Set<String> {
        Set(try FileManager.default.contentsOfDirectory(atPath: place.path).filter { !$0.hasPrefix(".") })
    }

    @Test("A file created by root is handed to the owner of the folder, who runs the nightly backups; links are not")
    func owner() throws {
        guard Terminal.isRoot else { return }
        let nobody: UInt32 = 65_534
        func owner(_ name: String) throws -> UInt32? {
            try FileManager.default.attributesOfItem(atPath: place.appending(path: name).path)[.ownerAccountID]
                .flatMap { ($0 as? NSNumber)?.uint32Value }
        }
        for name in ["made", "linked"] { try Data().write(to: place.appending(path: name)) }
        try FileManager.default.linkItem(
            at: place.appending(path: "linked"), to: place.appending(path: "second"))
        try FileManager.default.createSymbolicLink(
            at: place.appending(path: "symbolic"), withDestinationURL: place.appending(path: "linked"))
        try folder.withLock {}
        #expect(try owner(".lock") == 0)

        try FileManager.default.setAttributes([.ownerAccountID: NSNumber(value: nobody)], ofItemAtPath: place.path)
        try folder.withLock {}
        try RegularFile.giveToOwnerOfFolder(place.appending(path: "made").path)
        try RegularFile.giveToOwnerOfFolder(place.appending(path: "linked").path)
        #expect(throws: PosixError.self) {
            try RegularFile.giveToOwnerOfFolder(place.appending(path: "symbolic").path)
        }

        #expect(try owner(".lock") == nobody)
        #expect(try owner("made") == nobody)
        #expect(try owner("linked") == 0)
    }

    // MARK: Retention

    @Test("The last backup of each day and of each week is kept, counting only days and weeks with backups")
    func retention() {
        let backups = (-30...0).flatMap { [date($0), date($0, 5)] }

        let kept = RetentionPolicy(days: 3, weeks: 3).kept(of: backups)

        // All of Monday, Sunday and Saturday, and the Sundays of the weeks before; the first of these Sundays is also a
        // kept day.
        let untouched = [0, -1, -2].flatMap { [date($0), date($0, 5)] }.filter { $0 != date(-2) }
        #expect(kept == Set(untouched + [date(-8, 5)]))
        #expect(RetentionPolicy(days: 1, weeks: 0).kept(of: backups) == Set(untouched))
    }

    @Test("A backup created after an accident expires none of the two days before it")
    func accident() {
        let backups = [date(-3), date(-2, 9), date(-1), date(0), date(0, 4), date(0, 9)]

        #expect(RetentionPolicy(days: 1, weeks: 0).kept(of: backups) == Set(backups.dropFirst()))
    }

    @Test("No backup expires while no new ones are created, and the newest is always kept")
    func pause() {
        let backups = [date(-900), date(-800), date(-700)]

        #expect(RetentionPolicy(days: 14, weeks: 8).kept(of: backups) == Set(backups))
        #expect(RetentionPolicy(days: 1, weeks: 0).kept(of: backups) == [date(-700)])
        #expect(RetentionPolicy(days: 1, weeks: 0).kept(of: []) == [])
    }

    @Test("A backup is named after its time, and files with other names are ignored")
    func naming() {
        let name = BackupFolder.name(of: date(0))
        #expect(name == "syncd-2026-11-23T030000Z.backup.gz")
        #expect(BackupFolder.date(ofName: name) == date(0))
        for other in [
            "syncd-2026-11-23.backup.gz", "syncd-2026-13-23T030000Z.backup.gz", "syncd-2026-11-23T030000Z.backup",
            "x" + name, name + ".partial", "syncd-2026-11-23 03:00:00.backup.gz",
        ] { #expect(BackupFolder.date(ofName: other) == nil, "\(other)") }
    }

    @Test("Only backups that belong to this folder are deleted")
    func deletesItsOwn() throws {
        let fixture = try AdministrationFixture(populated: false)
        for day in -6 ... -4 { try backUp(fixture, at: date(Int64(day))) }
        try backUp(fixture, at: date(0))
        // Matching names that are not ours: not a backup, a backup of another time, a folder.
        let foreign = [date(-20), date(-21), date(-22)].map { BackupFolder.name(of: $0) } + ["2026-11-01.backup.gz"]
        try Data("mine".utf8).write(to: place.appending(path: foreign[0]))
        try FileManager.default.copyItem(
            atPath: folder.path(of: date(-6)), toPath: place.appending(path: foreign[1]).path)
        try FileManager.default.createDirectory(
            at: place.appending(path: foreign[2]), withIntermediateDirectories: false)
        try FileManager.default.copyItem(
            atPath: folder.path(of: date(-6)), toPath: place.appending(path: foreign[3]).path)

        let deleted = try folder.prune(RetentionPolicy(days: 2, weeks: 0), after: date(0))

        #expect(deleted == [date(-6), date(-5)].map { BackupFolder.name(of: $0) })
        #expect(try names() == Set(foreign + [date(-4), date(0)].map { BackupFolder.name(of: $0) }))
    }

    @Test("A new backup is kept even if a wrong clock has made others look newer")
    func wrongClock() throws {
        let fixture = try AdministrationFixture(populated: false)
        for day: Int64 in [0, 400, 404] { try backUp(fixture, at: date(day)) }

        let deleted = try folder.prune(RetentionPolicy(days: 1, weeks: 0), after: date(0))

        #expect(deleted == [BackupFolder.name(of: date(400))])
        #expect(try names() == [BackupFolder.name(of: date(0)), BackupFolder.name(of: date(404))])
    }

    @Test("The next backup deletes the remains of an interrupted one; two at once are not possible")
    func leftovers() throws {
        let partial = BackupFolder.name(of: date(0)) + ".partial"
        try Data().write(to: place.appending(path: partial))
        try Data().write(to: place.appending(path: "other.partial"))

        try folder.withLock { () -> Void in
            #expect(throws: (any Error).self) { try folder.withLock {} }
        }

        #expect(try names() == ["other.partial"])
    }

    // MARK: Copies

    private func program(_ verbs: String) throws -> String {
        let path = place.appending(path: "program").path
        try Data("#!/bin/sh\nset -eu\ncd \(place.path)\ncase $1 in \(verbs) esac\n".utf8).write(to: URL(filePath: path))
        try FileManager.default.setAttributes([.posixPermissions: 0o755], ofItemAtPath: path)
        return path
    }

    private func copy(_ verbs: String) throws -> CopyReport {
        try BackupCopy(from: folder, by: try program(verbs), record: place.path).copyNewest()
    }

    @Test("The newest backup is sent, and recorded once an identical copy has been fetched")
    func copied() throws {
        let fixture = try AdministrationFixture(populated: false)
        try backUp(fixture, at: date(-1))
        try backUp(fixture, at: date(0))

        let report = try copy("send) cat >elsewhere; echo $2 >name ;; fetch) cat elsewhere; echo noise >&2 ;;")

        let name = BackupFolder.name(of: date(0))
        #expect(report.name == name)
        #expect(try String(contentsOf: place.appending(path: "name"), encoding: .utf8) == name + "\n")
        #expect(
            try Data(contentsOf: place.appending(path: "elsewhere"))
                == Data(contentsOf: URL(filePath: folder.path(of: date(0)))))
        #expect(try BackupRecord(.copied, in: place.path) == BackupRecord(name: name, takenAt: date(0)))
        #expect(try !names().contains("fetched.partial"))
    }

    @Test(
        "A copy that is refused, lost, truncated or different does not count",
        arguments: [
            "send) exit 3 ;;", "send) cat >elsewhere ;; fetch) exit 1 ;;",
            "send) cat >elsewhere ;; fetch) head -c 100 elsewhere ;;", "send) cat >/dev/null ;; fetch) echo other ;;",
        ])
    func notCopied(verbs: String) throws {
        try backUp(try AdministrationFixture(populated: false), at: date(0))

        #expect(throws: BackupCopy.Failure.self) { try copy(verbs) }

        #expect(throws: (any Error).self) { try BackupRecord(.copied, in: place.path) }
        #expect(try !names().contains("fetched.partial"))
    }

    @Test("A backup damaged in the meantime is not sent; without a backup or a program nothing is sent")
    func nothingToCopy() throws {
        #expect(throws: BackupCopy.Failure.nothingToCopy(folder: place.path)) { try copy("send) : ;;") }
        try backUp(try AdministrationFixture(populated: false), at: date(0))
        let nowhere = BackupCopy(from: folder, by: "/nowhere/program", record: place.path)
        #expect(throws: BackupCopy.Failure.self) { try nowhere.copyNewest() }

        let path = URL(filePath: folder.path(of: date(0)))
        let bytes = try Data(contentsOf: path)
        try bytes.prefix(bytes.count - 9).write(to: path)
        #expect(throws: (any Error).self) { try copy("send) touch sent; cat >elsewhere ;; fetch) cat elsewhere ;;") }
        #expect(try !names().contains("sent"))
    }

    // MARK: Findings

    @Test("Backups that are too old, or scheduled but never created, are findings")
    func findings() {
        func judge(
            _ made: Int64?, _ copied: Int64? = nil, isScheduled: Bool = true
        ) -> [DiagnosisCode?] {
            func record(_ hours: Int64?) -> BackupRecord? {
                hours.map { BackupRecord(name: "b", takenAt: date(0, -$0)) }
            }
            return BackupCheck.judge(
                made: record(made), copied: record(copied), isScheduled: isScheduled, maximumAgeHours: 36, now: date(0)
            ).map(\.code)
        }

        #expect(judge(nil, isScheduled: false) == [.backupMissing])
        #expect(judge(nil) == [.backupOld])
        #expect(judge(36) == [nil])
        #expect(judge(37) == [.backupOld])
        #expect(judge(37, isScheduled: false) == [.backupOld])
        #expect(judge(1, 36) == [nil])
        #expect(judge(1, 37) == [.backupCopyOld])
        #expect(judge(37, 37) == [.backupOld, .backupCopyOld])
    }

    @Test("Backup units are reported only if they failed, or are enabled and stopped")
    func units() {
        func judge(_ name: String, _ active: String, _ file: String) -> [DiagnosisCode?] {
            UnitsCheck.judge(
                [
                    UnitState([
                        "Id": name, "LoadState": "loaded", "ActiveState": active, "SubState": active,
                        "UnitFileState": file,
                    ])
                ], at: 0
            ).map(\.code)
        }

        #expect(judge("syncd-backup.timer", "inactive", "disabled") == [nil])
        #expect(judge("syncd-backup.timer", "active", "enabled") == [nil])
        #expect(judge("syncd-backup.timer", "inactive", "enabled") == [.unitStopped])
        #expect(judge("syncd-backup.service", "inactive", "static") == [nil])
        #expect(judge("syncd-backup.service", "failed", "static") == [.unitFailed])
        #expect(judge("syncd-backup-copy.service", "failed", "static") == [.unitFailed])
    }
}
