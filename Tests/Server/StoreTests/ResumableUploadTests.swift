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

    /// Begins the same upload, which then lasts for a hundred seconds.
    private func begin(_ upload: UploadUUID, at time: WireDate) throws -> UploadUUID {
        try store.transaction { session in
            try session.beginUpload(
                upload, asking: "{}", hash: [UInt8](repeating: 1, count: 32), lengthBytes: 9, by: owner.user,
                on: DeviceUUID("1b5e2a1c-9d5c-4d3a-8f4e-0a1b2c3d4e5f")!,
                until: WireDate(secondsSince1970: time.secondsSince1970 + 100), at: time
            ).uploadUUID
        }
    }

    @Test("An upload that is begun twice is the same one, unless the first has expired")
    func begunTwice() throws {
        let uploads = ["0b5e2a1c-9d5c-4d3a-8f4e-0a1b2c3d4e51", "0b5e2a1c-9d5c-4d3a-8f4e-0a1b2c3d4e52"].map {
            UploadUUID($0)!
        }

        #expect(try begin(uploads[0], at: noon) == uploads[0])
        #expect(try begin(uploads[1], at: noon(plus: 99)) == uploads[0])
        #expect(try begin(uploads[1], at: noon(plus: 100)) == uploads[1])
    }
}
