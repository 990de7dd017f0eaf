import Foundation
import SyncProtocol
import SyncServerConnection
import TestSupport
import Testing

@Suite("Uploads in pieces, and lost connections")
struct PiecewiseUploadTests {
    let server: TestServer

    init() throws { server = try TestServer.shared() }

    private static let storages = [SandboxProvider.google, .dropbox, .microsoft]
    /// The most bytes that are sent again after a lost connection.
    private static let mostSentTwice: Int64 = 512 * 1024
    private static let shared = Data(RandomData.bytes(9_000_000))
    private let bytes = shared
    private let uuid = FileUUID(UUID().uuidString)!

    /// A phone that knows its server's capabilities.
    private func phone(_ provider: SandboxProvider = .google) async throws -> Phone {
        let phone = try await Phone.signedUp(server, provider)
        _ = try await phone.files()
        return phone
    }

    private func expectDownload(_ phone: Phone, masterVersion: Int64) async throws {
        let copy = phone.newFile
        #expect(try await phone.download(uuid, masterVersion: masterVersion, to: copy).value?.length == 9_000_000)
        #expect(try Data(contentsOf: copy) == bytes)
        try await eventually("exactly one object exists") {
            try server.sandbox.files(of: phone.user.account).count { $0.name.hasPrefix(uuid.rawValue) } == 1
        }
    }

    @Test("An upload resumes at the storage's offset, and the file is complete", arguments: storages)
    func cut(provider: SandboxProvider) async throws {
        let phone = try await phone(provider)
        let cuts = [3_000_000, 700_000, 2_000_000]
        phone.executor.cutParts(after: cuts)

        #expect(try await phone.upload(bytes, as: uuid, masterVersion: 0).value != nil)

        let again = phone.executor.sentPartBytes - Int64(bytes.count)
        #expect(again >= 0 && again <= Int64(cuts.count) * Self.mostSentTwice, "\(again) bytes were sent again")
        #expect(try await phone.commit(0) == .success(1))
        try await expectDownload(phone, masterVersion: 1)
    }

    @Test("A file uploaded again after an account switch resumes in the same way")
    func uploadedAgain() async throws {
        let before = try await phone()
        #expect(try await before.upload(bytes, as: uuid, masterVersion: 0).value != nil)
        #expect(try await before.commit(0) == .success(1))
        let phone = try Phone(switched(before.user, to: server.newcomer(.dropbox).account))
        _ = try await phone.files()
        let cuts = [3_000_000, 700_000, 2_000_000]
        phone.executor.cutParts(after: cuts)
        let file = try phone.file(bytes)

        let outcome = try await phone.connection.reuploadFile(
            ReuploadFileRequest(
                fileUUID: uuid, sharingGroupUUID: phone.group, fileVersion: .first, mimeType: MIMEType("text/plain")!,
                checkSum: try await CheckSum.ofFile(at: file, flavour: .dropboxContentHash),
                contentSHA256: try await SHA256Digits.ofFile(at: file)), from: file)

        #expect(outcome == .success(.stored))
        let again = phone.executor.sentPartBytes - Int64(bytes.count)
        #expect(again >= 0 && again <= Int64(cuts.count) * Self.mostSentTwice, "\(again) bytes were sent again")
        try await expectDownload(phone, masterVersion: 2)
    }

    /// The same person and device after a switch to another account.
    private func switched(_ user: TestUser, to account: SandboxAccount) throws -> TestUser {
        let next = user.with(account: account)
        let identity = try server.call("GET", "CheckCreds", ["reportIdentity": "1"], headers: user.headers)
        try server.establish(identity.json?.deviceGrant?.text ?? "")
        let begun = try server.call(
            "POST", "BeginAccountSwitch", ["userAppId": identity.json?.userAppId?.text],
            headers: next.headers + [("SyncServer-Device-Grant", identity.json?.deviceGrant?.text ?? "")])
        let confirmed = try server.call(
            "POST", "ConfirmAccountSwitch", ["switchId": begun.json?.switchId?.text, "expectedEpoch": "0"],
            headers: next.headers)
        #expect(confirmed.json?.numberAwaiting?.integer == 1, "\(begun) \(confirmed)")
        return next
    }

    @Test("A failed call is continued by the next one")
    func continued() async throws {
        let phone = try await phone()
        // No later attempt gets further than the first one.
        phone.executor.cutParts(after: [5_000_000] + Array(repeating: 0, count: 5))
        let failed = try await failure { try await phone.upload(bytes, as: uuid, masterVersion: 0) }
        #expect(failed?.code == .connectionLost)
        let sent = phone.executor.sentPartBytes

        #expect(try await phone.upload(bytes, as: uuid, masterVersion: 0).value != nil)

        let again = phone.executor.sentPartBytes - Int64(bytes.count)
        #expect(sent == 5_000_000 && again <= Self.mostSentTwice, "\(again) bytes were sent again")
        #expect(try await phone.commit(0) == .success(1))
        try await expectDownload(phone, masterVersion: 1)
    }

    @Test("If the master version changes meanwhile, no byte is sent again")
    func stale() async throws {
        let phone = try await phone()
        phone.executor.cutParts(after: [5_000_000] + Array(repeating: 0, count: 5))
        _ = try await failure { try await phone.upload(bytes, as: uuid, masterVersion: 0) }
        // Another device of the group commits.
        let other = TestFile()
        try phone.user.publish(other, masterVersion: 0)

        #expect(try await phone.upload(bytes, as: uuid, masterVersion: 0) == .stale(current: MasterVersion(1)))
        #expect(try await phone.upload(bytes, as: uuid, masterVersion: 1).value != nil)

        #expect(phone.executor.sentPartBytes - Int64(bytes.count) <= Self.mostSentTwice)
        #expect(try await phone.commit(1) == .success(1))
        try await expectDownload(phone, masterVersion: 2)
    }

    @Test("A lost reply to the last piece is requested again, without the bytes")
    func lostReply() async throws {
        let phone = try await phone()
        phone.executor.cutParts(after: [])
        phone.executor.loseReplies(3)

        #expect(try await phone.upload(bytes, as: uuid, masterVersion: 0).value != nil)

        #expect(phone.executor.sentPartBytes == Int64(bytes.count))
        #expect(try await phone.commit(0) == .success(1))
        try await expectDownload(phone, masterVersion: 1)
    }

    @Test("Bytes that do not match the checksum are rejected, and leave nothing behind")
    func wrongBytes() async throws {
        let phone = try await phone()
        let file = try phone.file(bytes)
        var other = bytes
        other[8_000_000] ^= 1
        let request = UploadFileRequest(
            fileUUID: uuid, sharingGroupUUID: phone.group, mimeType: MIMEType("text/plain")!, fileVersion: .first,
            masterVersion: MasterVersion(0),
            checkSum: try await CheckSum.ofFile(at: try phone.file(other), flavour: phone.storage.checkSumFlavour))

        let refused = try await failure { try await phone.connection.uploadFile(request, from: file) }

        #expect(refused?.status == 422)
        try await eventually("the object is deleted") {
            try server.sandbox.files(of: phone.user.account).allSatisfy { !$0.name.hasPrefix(uuid.rawValue) }
        }
    }
}
