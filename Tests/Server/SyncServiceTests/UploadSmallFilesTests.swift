import Foundation
import Providers
import SyncProtocol
import TestSupport
import Testing

@testable import SyncService

@Suite("UploadSmallFiles, from the phone to the cloud")
struct UploadSmallFilesTests {
    private let server: TestServer
    private let alice: Phone

    init() throws {
        server = try TestServer()
        alice = try server.signUp()
    }

    private static let form = SmallFileForm(boundary: "a-boundary")

    /// A file of a request; the request may be wrong about it.
    private struct Sent {
        var request: UploadFileRequest
        var bytes: [UInt8]
        /// The length in the list; `nil` for the right one.
        var listedBytes: Int?

        init(
            _ bytes: [UInt8], of file: FileUUID = someFile(), version: Int32 = 0, master: Int64 = 0, by phone: Phone,
            batch: UploadBatch? = nil
        ) {
            request = .of(file, bytes, version: version, master: master, in: phone.group, batch: batch)
            self.bytes = bytes
        }

        var entry: SmallFile { SmallFile(request, sizeBytes: Int64(listedBytes ?? bytes.count)) }
    }

    private static func body(_ files: [Sent]) -> [UInt8] {
        var body = form.head(files.map(\.entry))
        for (index, file) in files.enumerated() {
            body += file.bytes + (index == files.count - 1 ? form.end : form.beginning)
        }
        return body
    }

    @discardableResult
    private func send(
        _ body: [UInt8], by phone: Phone? = nil, to server: TestServer? = nil, type: String? = form.contentType,
        announcing length: Int64? = nil, on connection: FakeConnection? = nil
    ) -> FakeConnection {
        let phone = phone ?? alice
        return (server ?? self.server).send(
            UploadSmallFilesRequest(sharingGroupUUID: phone.group), as: phone,
            adding: type.map { [.contentType: $0] } ?? [:], announcing: length ?? Int64(body.count),
            on: connection ?? FakeConnection(body: body))
    }

    private func results(_ reply: FakeConnection) throws -> [UploadSmallFilesResponse.Result] {
        try #require(reply.status == 200, "\(reply.json)")
        return try JSONDecoder().decode(UploadSmallFilesResponse.self, from: Data(reply.body)).results
    }

    private func codes(_ reply: FakeConnection) throws -> [String] {
        try results(reply).map { if case .refused(let body, _) = $0 { body.code } else { "staged" } }
    }

    private func deletions(_ server: TestServer? = nil) throws -> Int {
        try (server ?? self.server).count("SELECT COUNT(*) FROM outbox WHERE kind = 'deleteObject'")
    }
    private func stagedRows(_ server: TestServer? = nil) throws -> Int {
        try (server ?? self.server).count("SELECT COUNT(*) FROM staged_changes")
    }

    @Test(
        "Each file is stored and staged, even an empty one, and no intent is left", arguments: [false, true])
    func stored(uniqueNames: Bool) throws {
        server.cloud.behaviour.hasUniqueNames = uniqueNames
        let files = (0..<40).map { Sent(someBytes($0 * 700), by: alice) }

        let results = try results(send(Self.body(files)))

        #expect(results == Array(repeating: .message(.staged(creationDate: noon, updateDate: noon)), count: 40))
        #expect(Set(server.cloud.objects.values) == Set(files.map(\.bytes)))
        #expect(try stagedRows() == 40)
        #expect(try deletions() == 0)
        #expect(server.commit(from: 0, by: alice).json["numberUploadsTransferred"] as? Int == 40)
    }

    @Test("An invalid file is refused as UploadFile would refuse it, and the others are staged")
    func faults() throws {
        let good = someFile()
        var wrong = Sent(someBytes(10), by: alice)
        wrong.bytes[3] ^= 1
        var otherGroup = alice
        otherGroup.group = SharingGroupUUID(UUID().uuidString)!
        let files = [
            Sent(someBytes(1), of: good, by: alice), wrong,
            Sent(someBytes(262_145), by: alice), Sent(someBytes(262_144), by: alice),
            Sent(someBytes(4), version: 1, by: alice), Sent(someBytes(5), of: good, by: alice),
            Sent(someBytes(6), by: otherGroup), Sent(someBytes(7), master: 9, by: alice),
        ]

        let reply = send(Self.body(files))

        #expect(
            try codes(reply) == [
                "staged", "checksum_mismatch", "body_too_large", "staged", "file_version_mismatch",
                "repeated_parameter", "parameter_out_of_range", "staged",
            ])
        #expect(try results(reply).last == .message(.stale(current: MasterVersion(0))))
        #expect(Set(server.cloud.objects.values.map(\.count)) == [1, 262_144])
        #expect(try stagedRows() == 2)
        #expect(try server.count("SELECT COUNT(*) FROM outbox WHERE lease_owner IS NOT NULL") == 0)
    }

    @Test("A repeated request gets the same results, and stores nothing again")
    func repeated() throws {
        let body = Self.body((0..<5).map { Sent(someBytes(100 + $0), by: alice) })
        let lost = FakeConnection(body: body)
        lost.takesReplyBytes = 0

        send(body, on: lost)
        let objects = server.cloud.objects
        let reply = send(body)

        #expect(try codes(reply) == Array(repeating: "staged", count: 5))
        #expect(server.cloud.objects == objects)
        #expect(try stagedRows() == 5)
        #expect(try deletions() == 0)
    }

    @Test("If the body breaks off, the files that have arrived are staged, and the others leave nothing behind")
    func cut() throws {
        let files = (0..<6).map { Sent(someBytes(20_000 + $0), by: alice) }
        let body = Self.body(files)
        let connection = FakeConnection(body: body)
        connection.hangsUpAfterBytes = Int64(body.count / 2)

        send(body, on: connection)

        #expect(connection.end == .abandoned)
        #expect(try stagedRows() == 2)
        #expect(try deletions() == 0)
        #expect(try codes(send(body)) == Array(repeating: "staged", count: 6))
        #expect(server.cloud.objects.count == 6)
    }

    @Test("A failure of the cloud affects each file separately, and the failed files' objects are deleted")
    func cloudFailure() throws {
        server.cloud.behaviour.uploadFailure = .rateLimited(retryAfter: .seconds(7))

        let results = try results(send(Self.body((0..<3).map { Sent(someBytes($0), by: alice) })))

        for result in results {
            guard case .refused(let body, let retryAfter) = result else {
                Issue.record("\(result)")
                continue
            }
            #expect(body.code == "cloud_rate_limited")
            #expect(body.status == 502)
            #expect(body.retryable)
            #expect(retryAfter == 7)
        }
        #expect(try stagedRows() == 0)
        #expect(try deletions() == 3)
        #expect(try server.count("SELECT COUNT(*) FROM outbox WHERE lease_owner IS NOT NULL") == 0)
    }

    @Test("If the group changes before the files are staged, all are stale and their objects are deleted")
    func changedMeanwhile() throws {
        let (server, alice) = (server, alice)
        server.cloud.behaviour.afterUpload = { _ = server.commit(from: 0, by: alice) }

        let results = try results(send(Self.body((0..<3).map { Sent(someBytes($0), by: alice) })))

        #expect(results == Array(repeating: .message(.stale(current: MasterVersion(1))), count: 3))
        #expect(try stagedRows() == 0)
        #expect(try deletions() == 3)
    }

    @Test("Files beyond the quota of staged changes are refused, and those within it are staged")
    func quota() throws {
        var quotas = Quotas.unlimited
        quotas[.stagedChanges] = 3
        let server = try TestServer(quotas: quotas)
        let phone = try server.signUp()

        let codes = try codes(
            send(Self.body((0..<5).map { Sent(someBytes($0), by: phone) }), by: phone, to: server))

        #expect(codes.sorted() == ["quota_staged_changes", "quota_staged_changes", "staged", "staged", "staged"])
        #expect(try stagedRows(server) == 3)
        #expect(server.refusals.quotas == [.stagedChanges])
    }

    @Test("If a user's share of transfers is used up, files are uploaded one after another")
    func oneShare() throws {
        let server = try TestServer(transferLimit: TransferLimit(threads: 4, maximumPerUser: 1))
        let phone = try server.signUp()
        let body = Self.body((0..<10).map { Sent(someBytes($0), by: phone) })

        #expect(try codes(send(body, by: phone, to: server)) == Array(repeating: "staged", count: 10))
        // All shares have been returned.
        #expect(server.upload(someBytes(9), of: someFile(), by: phone).status == 200)
    }

    @Test("The request that completes a batch commits it")
    func batch() throws {
        let batch = UploadBatch(batchUUID: BatchUUID(UUID().uuidString)!, batchCount: 3)
        let body = Self.body((0..<3).map { Sent(someBytes($0), by: alice, batch: batch) })

        let committed = try results(send(body)).filter {
            if case .message(.committed(_, _, let version)) = $0 { version == MasterVersion(1) } else { false }
        }

        #expect(committed.count == 3)
        #expect(try server.count("SELECT COUNT(*) FROM files") == 3)
        #expect(server.commits.endpoints == [.uploadSmallFiles])
        // Repeated after a lost reply.
        #expect(try codes(send(body)) == Array(repeating: "staged", count: 3))
    }

    /// Bodies that do not match the list in them.
    enum Malformation: CaseIterable {
        case noBoundary, otherBoundary, listTooShort, listTooLong, tooFewParts, tooManyParts, noList, longerThanBody
        case negativeLength, cut
    }

    @Test("A malformed body is refused as a whole, and leaves no intent", arguments: Malformation.allCases)
    func malformed(how: Malformation) throws {
        var files = (0..<3).map { Sent(someBytes(1_000 + $0), by: alice) }
        var type: String? = Self.form.contentType
        var code = "bad_request"
        var length: Int64?
        switch how {
        case .noBoundary: (type, code) = ("multipart/form-data", "media_type_unsupported")
        case .otherBoundary: type = SmallFileForm(boundary: "another").contentType
        case .listTooShort: files[1].listedBytes = 900
        case .listTooLong: files[1].listedBytes = 1_100
        case .longerThanBody: files[1].listedBytes = 100_000
        case .negativeLength: files[1].listedBytes = -1
        case .tooFewParts, .tooManyParts, .noList, .cut: break
        }
        var body = Self.body(files)
        switch how {
        case .tooFewParts:
            body = Self.form.head(files.map(\.entry)) + files[0].bytes + Self.form.end
        case .tooManyParts: body = Array(body.dropLast(Self.form.end.count)) + Self.form.beginning + Self.form.end
        case .noList: body = Array("--a-boundary\r\n\r\nnothing".utf8) + Self.form.beginning + Self.form.end
        case .cut:
            (length, code) = (Int64(body.count), "body_length_mismatch")
            body.removeLast(500)
        default: break
        }
        if how == .tooFewParts { length = Int64(body.count + 4_000) }

        let reply = send(body, type: type, announcing: length)

        #expect(reply.status == ErrorCode(rawValue: code)?.status)
        #expect(reply.code == code, "\(how): \(reply.json)")
        #expect(try deletions() == 0)
        #expect(try server.count("SELECT COUNT(*) FROM staged_changes") == server.cloud.objects.count)
    }

    @Test("The number of files and the length of the body are limited")
    func limits() throws {
        let many = Self.body((0..<129).map { Sent(someBytes($0), by: alice) })
        #expect(send(many).code == "parameter_out_of_range")
        #expect(send([], announcing: 16 << 20 + 1).code == "body_too_large")
        #expect(server.cloud.objects.isEmpty)
        #expect(try codes(send(Self.body([]))) == [])
    }
}
