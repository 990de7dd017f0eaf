import Foundation
import SyncClient
import Synchronization
import TestSupport
import Testing

@Suite("When syncs begin and end")
struct SyncControlTests {
    let server: TestServer

    init() throws { server = try TestServer.shared() }

    @Test("A sync with nothing to do starts and ends once; a second one is delayed", arguments: ServerKind.allCases)
    func nothing(kind: ServerKind) async throws {
        let phone = try await Device.signedUp(server, kind)
        #expect(try await phone.events { try await phone.sync() } == [.syncStarted, .syncDone])

        let events = try await phone.events {
            try phone.client.sync(sharingGroupUUID: phone.group)
            try await phone.sync()
        }

        #expect(events.filter { $0 == .syncDelayed }.count == 1)
        #expect(events.filter { $0 == .syncStarted }.count == 2 && events.filter { $0 == .syncDone }.count == 2)
        #expect(!phone.client.isSyncing)
    }

    @Test(
        "Stopping without a sync has no effect; a stop right after the start leaves the upload for the next sync",
        arguments: ServerKind.allCases)
    func stop(kind: ServerKind) async throws {
        let phone = try await Device.signedUp(server, kind)
        #expect(try await phone.events { phone.client.stopSync() }.isEmpty)
        try phone.upload("0")

        let events = try await phone.events {
            try phone.client.sync(sharingGroupUUID: phone.group)
            await phone.client.stopped()
        }

        #expect(events == [.syncStarted, .syncStopping, .syncDone])
        #expect(!phone.client.isSyncing && phone.client.uploadsPending)
        #expect(try await phone.sync().uploaded == 1)
    }

    @Test(
        "Callers waiting for a sync are notified of its stop; delayed callers end with it",
        arguments: ServerKind.allCases)
    func stoppedWhileWaiting(kind: ServerKind) async throws {
        let phone = try await Device.signedUp(server, kind)
        try phone.upload("0")
        let client = phone.client
        phone.executor.before { endpoint in if endpoint == "UploadFile" { client.stopSync() } }
        async let first = phone.sync()
        async let second = phone.sync()

        let reports = try await [first, second]

        // The upload in progress is cancelled, and sent by the next sync.
        #expect(reports.allSatisfy { $0.wasStopped && $0.uploaded == 0 })
        phone.executor.before(nil)
        #expect(try await phone.sync().uploaded == 1)
        #expect(phone.executor.count("UploadFile") == 2)
        #expect(try phone.leftovers() == [])
    }

    @Test("Cancelling a waiting caller ends the wait, not the sync")
    func cancelled() async throws {
        let phone = try await Device.signedUp(server)
        try phone.upload("0")
        let waiting = Task { try await phone.sync() }
        phone.executor.before { endpoint in if endpoint == "UploadFile" { waiting.cancel() } }

        await #expect(throws: CancellationError.self) { try await waiting.value }

        phone.executor.before(nil)
        try await eventually("the sync has ended") { !phone.client.isSyncing }
        #expect(!phone.client.uploadsPending)
    }

    @Test("An awaited sync ends once everything closed before it is sent")
    func waitsForItsQueue() async throws {
        let phone = try await Device.signedUp(server)
        var files: [FileUUID] = []
        for number in 0..<3 {
            files.append(try phone.upload("\(number)"))
            try phone.client.closeQueue(sharingGroupUUID: phone.group)
        }
        files.append(try phone.upload("3"))

        let report = try await phone.sync()

        #expect(report.uploaded == 4)
        for file in files { #expect(try phone.row(file) != nil) }
    }

    @Test("Simultaneous syncs of two groups each deliver their own files", arguments: ServerKind.allCases)
    func twoGroups(kind: ServerKind) async throws {
        let phone = try await Device.signedUp(server, kind)
        let second = SharingGroupUUID.random()
        try phone.client.createSharingGroup(sharingGroupUUID: second)
        try await phone.sync(second)
        let tablet = try await phone.another()
        let left = try phone.upload("left")
        try phone.client.sync(sharingGroupUUID: phone.group)
        let right = try phone.upload("right", group: second)
        try await phone.sync(second)

        tablet.app.forget()
        async let first = tablet.sync(tablet.group)
        async let other = tablet.sync(second)
        let (leftReport, rightReport) = try await (first, other)

        #expect(leftReport.delivered.map(\.attributes.fileUUID) == [left])
        #expect(rightReport.delivered.map(\.attributes.fileUUID) == [right])
    }

    @Test("The streams report progress, failures and sharing groups")
    func streams() async throws {
        let phone = try await Device.signedUp(server)
        let tablet = try await phone.another()
        let (statuses, errors, groups) = (
            Recorder(tablet.client.status()), Recorder(tablet.client.errors),
            Recorder(tablet.client.sharingGroupChanges())
        )
        let transfers = Recorder(tablet.client.progress())
        try await phone.publish(String(repeating: "x", count: 300_000))
        _ = try await tablet.received()
        #expect(tablet.client.url(of: LocalFileLocation(base: .absolute, path: "/x"))?.path == "/x")
        try await eventually("the transfer is reported") { transfers.elements.last?.completedBytes == 300_000 }
        #expect(transfers.elements.allSatisfy { $0.direction == .download })
        try await eventually("the status is idle") { statuses.elements.last == .idle }

        tablet.executor.decide { _, _ in .fails(500) }
        #expect(await refusal { try await tablet.sync() } == .requestRefused)
        try await eventually("the error is reported") { errors.elements.map(\.code) == [.requestRefused] }
        #expect(errors.elements.first?.recovery == .retryLater)
        tablet.executor.pass()

        try phone.client.updateSharingGroup(sharingGroupUUID: phone.group, newSharingGroupName: "Friends")
        try await phone.sync()
        try await tablet.sync()
        try await eventually("the new name is reported") { groups.elements.last?.first?.sharingGroupName == "Friends" }
    }
}
