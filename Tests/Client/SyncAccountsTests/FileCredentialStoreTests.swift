import Foundation
import Testing

@testable import SyncAccounts

@Suite("Credentials in a file")
final class FileCredentialStoreTests {
    private let folder = FileManager.default.temporaryDirectory.appending(path: "accounts-\(UUID().uuidString)")
    private var file: URL { folder.appending(path: "inner/credentials.json") }
    private var store: FileCredentialStore { FileCredentialStore(file: file) }

    deinit { try? FileManager.default.removeItem(at: folder) }

    private func mode(_ url: URL) throws -> Int? {
        try FileManager.default.attributesOfItem(atPath: url.path)[.posixPermissions] as? Int
    }

    @Test("Stored credentials are loaded again, from a file and a folder accessible to the owner only")
    func roundTrip() throws {
        #expect(try store.load() == nil)
        try store.remove()

        try store.save(.alice)
        var other = AccountCredentials.alice
        other.expires = Date(timeIntervalSinceReferenceDate: 1)
        try store.save(other)

        #expect(try store.load() == other)
        #expect(try mode(file) == 0o600 && mode(file.deletingLastPathComponent()) == 0o700)
        // No temporary files remain.
        #expect(
            try FileManager.default.contentsOfDirectory(atPath: file.deletingLastPathComponent().path)
                == ["credentials.json"])
        try store.remove()
        #expect(try store.load() == nil)
    }

    @Test("A file accessible to others is rejected", arguments: [0o640, 0o604, 0o620, 0o601, 0o666])
    func open(mode: Int) throws {
        try store.save(.alice)
        try FileManager.default.setAttributes([.posixPermissions: mode], ofItemAtPath: file.path)

        let error = #expect(throws: SignInError.self) { try store.load() }

        #expect(error?.code == .storageInsecure)
        try store.save(.alice)
        #expect(try store.load() == .alice)
    }

    @Test("A symbolic link is rejected, and replaced rather than followed")
    func link() throws {
        try store.save(.alice)
        let target = folder.appending(path: "elsewhere")
        try FileManager.default.moveItem(at: file, to: target)
        try FileManager.default.createSymbolicLink(at: file, withDestinationURL: target)
        let before = try Data(contentsOf: target)

        let error = #expect(throws: SignInError.self) { try store.load() }
        var other = AccountCredentials.alice
        other.accessToken = "other"
        try store.save(other)

        #expect(error?.code == .storageInsecure)
        #expect(try store.load() == other)
        #expect(try Data(contentsOf: target) == before)
    }

    @Test("A folder in place of the file, corruption and excessive size are errors that reveal no contents")
    func damaged() throws {
        try store.save(.alice)
        for (bytes, code) in [
            (Data("{".utf8), SignInError.Code.storageFailed), (Data(count: 300_000), .storageFailed),
            (Data(), .storageFailed),
        ] {
            try bytes.write(to: file)
            try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: file.path)
            #expect(#expect(throws: SignInError.self) { try store.load() }?.code == code)
        }
        try store.remove()
        try FileManager.default.createDirectory(at: file, withIntermediateDirectories: false)
        #expect(#expect(throws: SignInError.self) { try store.load() }?.code == .storageInsecure)
    }

    @Test("A failed save keeps the previous file, and leaves no temporary files")
    func failedSave() throws {
        try FileManager.default.createDirectory(at: file, withIntermediateDirectories: true)
        try Data().write(to: file.appending(path: "in the way"))

        #expect(throws: SignInError.self) { try store.save(.alice) }

        #expect(
            try FileManager.default.contentsOfDirectory(atPath: file.deletingLastPathComponent().path)
                == ["credentials.json"])
    }
}
