import SyncProtocol
import TestSupport
import Testing

@testable import Store

@Suite("Uploads in pieces")
struct ResumableUploadTests {
    private let fixture: StoreFixture
    private let owner: Member
    private var store: MetadataStore { fixture.store }

    init() throws {
        fixture = try StoreFixture()
        owner = try fixture.addOwner()
    }

    /// Begins the same upload, which is then valid for a hundred seconds.
    private func begin(_ upload: UploadUUID, at time: WireDate) throws -> UploadUUID {
        try store.transaction { session in
            try session.beginUpload(
                upload, asking: "{}", hash: [UInt8](repeating: 1, count: 32), lengthBytes: 9, by: owner.user,
                on: DeviceUUID("1b5e2a1c-9d5c-4d3a-8f4e-0a1b2c3d4e5f")!,
                until: WireDate(secondsSince1970: time.secondsSince1970 + 100), at: time
            ).uploadUUID
        }
    }

    @Test("An upload begun twice is the same one, unless the first has expired")
    func begunTwice() throws {
        let uploads = ["0b5e2a1c-9d5c-4d3a-8f4e-0a1b2c3d4e51", "0b5e2a1c-9d5c-4d3a-8f4e-0a1b2c3d4e52"].map {
            UploadUUID($0)!
        }

        #expect(try begin(uploads[0], at: noon) == uploads[0])
        #expect(try begin(uploads[1], at: noon(plus: 99)) == uploads[0])
        #expect(try begin(uploads[1], at: noon(plus: 100)) == uploads[1])
    }

    /// Begins an upload whose session has left data in a storage, and continues until `end`.
    /// - Returns: the record of it in the outbox.
    private func beginInStorage(_ upload: UploadUUID, of owner: Member) throws -> OutboxID {
        let storage = try owner.owningUser()!
        return try store.transaction { session in
            _ = try session.beginUpload(
                upload, asking: "{}", hash: [UInt8](repeating: 2, count: 32), lengthBytes: 9, by: owner.user,
                on: device, until: noon(plus: 100), at: noon)
            let intent = try session.addIntent(
                toStore: nil, named: ["name"], in: storage, at: AccountEpoch(0), leaseOwner: upload.rawValue,
                until: noon(plus: 100), at: noon)
            _ = try session.takeOver(upload, as: "writer")
            _ = try session.record(
                UploadDestination(
                    owner: storage, objectName: "name", spareName: nil, objectID: nil, folderID: nil, intent: intent),
                of: upload, by: "writer")
            _ = try session.record(
                UploadProgress(storedBytes: 5, isCertain: true, hashState: [1], session: [7]), of: upload, by: "writer")
            return intent
        }
    }

    private let device = DeviceUUID("1b5e2a1c-9d5c-4d3a-8f4e-0a1b2c3d4e5f")!
    private let first = UploadUUID("0b5e2a1c-9d5c-4d3a-8f4e-0a1b2c3d4e53")!
    private let second = UploadUUID("0b5e2a1c-9d5c-4d3a-8f4e-0a1b2c3d4e54")!

    private func remains(of intent: OutboxID, in owner: Member) throws -> ResumableUpload? {
        try store.withSession { try $0.upload(of: intent, in: try owner.owningUser()!) }
    }

    private enum End: CaseIterable {
        case abandoned, expired, ownerRemoved
    }

    @Test(
        "An upload begun on S3 stays on record until it has been ended there, but is hidden from the client",
        arguments: End.allCases)
    private func begunAtS3(end: End) throws {
        let owner = try fixture.addOwner(.s3)
        let intent = try beginInStorage(first, of: owner)

        switch end {
        case .abandoned:
            #expect(try store.transaction { try $0.abandonUpload(first, of: owner.user, on: device, at: noon) })
            #expect(try !store.transaction { try $0.abandonUpload(first, of: owner.user, on: device, at: noon) })
        case .expired: break
        case .ownerRemoved: try store.transaction { try $0.endUploads(ofRemoved: owner.user, at: noon) }
        }
        let later = noon(plus: 100)
        _ = try store.transaction { try $0.forgetResumableUploads(at: later, limit: 100) }

        #expect(try remains(of: intent, in: owner)?.progress.session == [7])
        if end != .expired {
            #expect(try !store.transaction { try $0.record(.none, of: first, by: "writer") }, "a request still runs")
        }
        let isVisible = try store.withSession { try $0.resumableUpload(first, of: owner.user, on: device, at: later) }
        #expect(isVisible == nil)
        // Meanwhile the same upload can begin again.
        if end != .ownerRemoved {
            let again = try store.transaction { session in
                try session.beginUpload(
                    second, asking: "{}", hash: [UInt8](repeating: 2, count: 32), lengthBytes: 9, by: owner.user,
                    on: device, until: noon(plus: 200), at: later)
            }
            #expect(again.uploadUUID == second)
        }
        #expect(try remains(of: intent, in: owner)?.progress.session == [7])
        try store.transaction { try $0.forgetUpload(of: intent, in: try owner.owningUser()!) }
        #expect(try remains(of: intent, in: owner) == nil)
    }

    @Test("At other providers the record of an abandoned upload is removed at once")
    func begunElsewhere() throws {
        let intent = try beginInStorage(first, of: owner)
        #expect(try store.transaction { try $0.abandonUpload(first, of: owner.user, on: device, at: noon) })
        #expect(try remains(of: intent, in: owner) == nil)
    }
}
