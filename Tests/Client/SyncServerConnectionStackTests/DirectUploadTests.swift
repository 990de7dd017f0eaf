import Foundation
import HTTPTypes
import SyncProtocol
import SyncServerConnection
import Synchronization
import TestSupport
import Testing

@Suite("Uploads directly to the storage", .serialized)
struct DirectUploadTests {
    private static let stack = Result {
        try TestServer(PrivateStack("direct-phones", responders: 1, overrides: #"{"directTransfers": true}"#))
    }
    private static let lengthBytes = 3 << 20
    private static let storages: [SandboxProvider] = [.google, .dropbox, .microsoft]

    private let server: TestServer
    private let bytes = Data(RandomData.bytes(lengthBytes))
    private let uuid = FileUUID(UUID().uuidString)!

    init() throws {
        server = try Self.stack.get()
        try server.sandbox.clearFaults()
    }

    private func upload(_ phone: Phone) async throws {
        _ = try await phone.files()
        #expect(try await phone.upload(bytes, as: uuid, masterVersion: 0).value != nil)
        #expect(try await phone.commit(0) == .success(1))
        let copy = phone.newFile
        let downloaded = try await phone.download(uuid, masterVersion: 1, to: copy)
        #expect(downloaded.value?.length == Int64(Self.lengthBytes))
        #expect(try Data(contentsOf: copy) == bytes)
        try await eventually("exactly one object exists") {
            try server.sandbox.files(of: phone.user.account).count { $0.name.hasPrefix(uuid.rawValue) } == 1
        }
    }

    @Test("The storage receives the bytes from the phone, in one request", arguments: storages)
    func direct(provider: SandboxProvider) async throws {
        let phone = try await Phone.signedUp(server, provider, directUploads: true)
        try await upload(phone)

        // An upload session is first asked for its offset.
        #expect(phone.executor.direct.withLock { $0.count } == (provider == .dropbox ? 1 : 2))
        #expect(phone.executor.sentPartBytes == 0)
    }

    @Test(
        "After a broken connection, the phone resumes at the storage's offset",
        arguments: [SandboxProvider.google, .microsoft], [1, 3])
    func cut(provider: SandboxProvider, times: Int) async throws {
        let phone = try await Phone.signedUp(server, provider, directUploads: true)
        try server.sandbox.inject(cut(provider, keeping: 600_000, times: times))
        try await upload(phone)

        let requests = phone.executor.direct.withLock { $0 }.map {
            "\($0.method) \($0.headerFields[.contentRange] ?? "-")"
        }
        #expect(
            phone.executor.sentPartBytes == 0, "\(provider), \(times): no bytes went through the server: \(requests)")
        // Some of the faults hit Google's offset requests, which are PUT requests as well.
        try expectContinued(phone, atLeast: provider == .google ? 1 : times)
    }

    @Test("After a process ends, the next one resumes", arguments: [SandboxProvider.google, .microsoft])
    func restarted(provider: SandboxProvider) async throws {
        let phone = try await Phone.signedUp(server, provider, directUploads: true)
        try server.sandbox.inject(cut(provider, keeping: 1_500_000, times: 1))
        // The offset request, the upload, and the offset request after the interruption.
        phone.executor.cancelsDirect.withLock { $0 = 3 }
        _ = try await phone.files()
        let error = try await failure { try await phone.upload(bytes, as: uuid, masterVersion: 0) }
        #expect(error?.code == .cancelled)

        try await upload(phone)
        #expect(phone.executor.sentPartBytes == 0, "no bytes went through the server")
        try expectContinued(phone, atLeast: 1)
    }

    /// A connection that breaks after so many bytes of an upload request.
    private func cut(_ provider: SandboxProvider, keeping bytes: Int, times: Int) -> SandboxFault {
        var fault = SandboxFault(
            host: provider == .google ? "www.googleapis.com" : "my.microsoftpersonalcontent.com", method: "PUT",
            status: 503, times: times)
        // Skips Google's offset request.
        fault.skip = provider == .google ? 1 : 0
        fault.keepBytes = bytes
        fault.afterEffect = true
        return fault
    }

    /// Expects each upload request to begin where the previous one stopped, except for rounding by the storage.
    private func expectContinued(_ phone: Phone, atLeast times: Int) throws {
        let begins = phone.executor.direct.withLock { $0 }.compactMap { request in
            request.headerFields[.contentRange].flatMap { $0.firstMatch(of: /bytes (\d+)-/) }.flatMap { Int($0.1) }
        }
        #expect(begins.first == 0 && begins.count > times, "\(begins)")
        #expect(begins == begins.sorted() && begins.last ?? 0 > 0, "\(begins)")
        // Only the first request of the upload starts at 0.
        #expect(begins.count { $0 == 0 } == 1, "\(begins)")
    }

    @Test("A phone that does not request an address uploads through the server")
    func through() async throws {
        let phone = try await Phone.signedUp(server, .google)
        phone.executor.server.withLock { $0 = server }
        try await upload(phone)

        #expect(phone.executor.direct.withLock { $0.isEmpty })
    }

    @Test(
        "If the storage rejects the phone's bytes, they go through the server", arguments: storages)
    func refused(provider: SandboxProvider) async throws {
        let phone = try await Phone.signedUp(server, provider, directUploads: true)
        phone.executor.refusesDirect.withLock { $0 = true }
        try await upload(phone)

        #expect(phone.executor.direct.withLock { $0.count } == 1)
        #expect(phone.executor.sentPartBytes == Int64(Self.lengthBytes))
    }
}
