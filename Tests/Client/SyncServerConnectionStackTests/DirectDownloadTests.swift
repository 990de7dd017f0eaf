import Foundation
import HTTPTypes
import SyncProtocol
import SyncServerConnection
import Synchronization
import TestSupport
import Testing

@Suite("Downloads directly from the storage", .serialized)
struct DirectDownloadTests {
    private static let stack = Result {
        try TestServer(PrivateStack("direct-readers", responders: 1, overrides: #"{"directTransfers": true}"#))
    }
    private static let storages: [SandboxProvider] = [.dropbox, .microsoft]
    private static let contentHost = "my.microsoftpersonalcontent.com"

    private let server: TestServer
    private let bytes = Data(RandomData.bytes(700_000))

    init() throws {
        server = try Self.stack.get()
        try server.sandbox.clearFaults()
    }

    private func published(at provider: SandboxProvider, direct: Bool = true) async throws -> (Phone, FileUUID) {
        let phone = try await Phone.signedUp(server, provider, directDownloads: direct)
        phone.executor.server.withLock { $0 = server }
        return (phone, try await phone.publish(bytes, masterVersion: 0))
    }

    private func expectDownload(_ phone: Phone, _ uuid: FileUUID) async throws {
        let copy = phone.newFile
        let outcome = try await phone.download(uuid, masterVersion: 1, to: copy)
        #expect(outcome.value?.length == Int64(bytes.count))
        #expect(outcome.value?.cloudStorageType == phone.storage)
        #expect(try Data(contentsOf: copy) == bytes)
    }

    @Test("The bytes come from the storage, without credentials", arguments: storages)
    func direct(provider: SandboxProvider) async throws {
        let (phone, uuid) = try await published(at: provider)
        try await expectDownload(phone, uuid)

        let requests = phone.executor.direct.withLock { $0 }
        #expect(requests.count == 1)
        #expect(requests.allSatisfy { $0.method == .get && $0.headerFields.isEmpty })
    }

    @Test("Google's bytes come through the server, as do all bytes unless the app requests direct downloads")
    func through() async throws {
        for (provider, direct) in [(SandboxProvider.google, true), (.dropbox, false)] {
            let (phone, uuid) = try await published(at: provider, direct: direct)
            try await expectDownload(phone, uuid)
            #expect(phone.executor.direct.withLock { $0.isEmpty })
        }
    }

    @Test("If the storage is unreachable, the bytes come through the server, and so do those of the next file")
    func unreachable() async throws {
        let (phone, uuid) = try await published(at: .dropbox)
        phone.executor.refusesDirect.withLock { $0 = true }
        for _ in 0..<2 { try await expectDownload(phone, uuid) }
        #expect(phone.executor.direct.withLock { $0.count } == 1)
    }

    @Test("A rejected address or damaged bytes do not prevent the download", arguments: [true, false])
    func refused(isDamaged: Bool) async throws {
        let (phone, uuid) = try await published(at: .microsoft)
        var fault = SandboxFault(
            host: Self.contentHost, method: "GET", status: isDamaged ? nil : 403, times: 1)
        if isDamaged { fault.corruptAtByte = 1_000 }
        try server.sandbox.inject(fault)
        try await expectDownload(phone, uuid)
        #expect(phone.executor.direct.withLock { $0.count } == 1)
    }

    @Test("An interrupted download resumes where it stopped")
    func cut() async throws {
        let (phone, uuid) = try await published(at: .microsoft)
        var fault = SandboxFault(host: Self.contentHost, method: "GET", times: 1)
        fault.truncateAfterBytes = 300_000
        try server.sandbox.inject(fault)
        try await expectDownload(phone, uuid)

        let ranges = phone.executor.direct.withLock { $0 }.map { $0.headerFields[.range] }
        #expect(ranges.count == 2 && ranges[0] == nil && ranges[1]?.hasPrefix("bytes=") == true, "\(ranges)")
    }
}
