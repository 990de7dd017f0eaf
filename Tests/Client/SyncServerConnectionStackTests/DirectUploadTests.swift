import Foundation
import SyncProtocol
import SyncServerConnection
import Synchronization
import TestSupport
import Testing

@Suite("Uploads that the library sends to the storage itself", .serialized)
struct DirectUploadTests {
    private static let stack = Result {
        try TestServer(PrivateStack("direct-phones", responders: 1, overrides: #"{"directTransfers": true}"#))
    }
    private static let lengthBytes = 3 << 20

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
        try await eventually("there is one object") {
            try server.sandbox.files(of: phone.user.account).count { $0.name.hasPrefix(uuid.rawValue) } == 1
        }
    }

    @Test("Google and Dropbox get the bytes from the phone", arguments: [SandboxProvider.google, .dropbox])
    func direct(provider: SandboxProvider) async throws {
        let phone = try await Phone.signedUp(server, provider, directUploads: true)
        try await upload(phone)

        #expect(phone.executor.direct.withLock { $0.count } == 1)
        #expect(phone.executor.sentPartBytes == 0)
    }

    @Test(
        "A storage that gives no address, and a phone that asks for none, go through the server",
        arguments: [true, false])
    func through(isAsked: Bool) async throws {
        let phone = try await Phone.signedUp(server, isAsked ? .microsoft : .google, directUploads: isAsked)
        try await upload(phone)

        #expect(phone.executor.direct.withLock { $0.isEmpty })
    }

    @Test(
        "If the storage refuses the phone's bytes, they go through the server",
        arguments: [SandboxProvider.google, .dropbox])
    func refused(provider: SandboxProvider) async throws {
        let phone = try await Phone.signedUp(server, provider, directUploads: true)
        phone.executor.refusesDirect.withLock { $0 = true }
        try await upload(phone)

        #expect(phone.executor.direct.withLock { $0.count } == 1)
        #expect(phone.executor.sentPartBytes == Int64(Self.lengthBytes))
    }
}
