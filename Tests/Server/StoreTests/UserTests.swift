import MariaDB
import SyncProtocol
import TestSupport
import Testing

@testable import Store

@Suite("Users, devices and their credentials")
struct UserTests {
    private let fixture: StoreFixture
    private var store: MetadataStore { fixture.store }

    init() throws { fixture = try StoreFixture() }

    @Test(
        "A user is found by number and by account, with all properties [334]",
        arguments: [(AccountType.google, "Folder" as String?), (.facebook, nil), (.dropbox, nil)])
    func addAndFind(type: AccountType, folder: String?) throws {
        let user = try store.transaction { session in
            try session.addUser(type, "p-4711", displayName: "Zoë 🦉", cloudFolderName: folder, at: noon)
        }

        let expected = UserRecord(
            userID: user, accountType: type, providerUserID: "p-4711", displayName: "Zoë 🦉", cloudFolderName: folder,
            cloudFolderID: nil, accountEpoch: AccountEpoch(0))
        #expect(try store.withSession { try $0.user(user) } == expected)
        #expect(try store.withSession { try $0.user(type, "p-4711", device: nil)?.user } == expected)
    }

    @Test("Provider ids are compared exactly, and an account has only one user [334]")
    func accountIsUnique() throws {
        let add: (String) throws -> UserID = { id in
            try store.transaction { session in
                try session.addUser(.google, id, displayName: "", cloudFolderName: "F", at: noon)
            }
        }
        _ = try add("abc")

        #expect { try add("abc") } throws: { $0.isDuplicate(of: "account") }
        _ = try add("ABC")
        _ = try add("abc ")
        #expect(try store.withSession { try $0.user(.google, "Abc", device: nil) == nil })
        #expect(try store.withSession { try $0.user(.dropbox, "abc", device: nil) == nil })
    }

    @Test("If several threads add the same account at once, exactly one succeeds")
    func addRace() throws {
        let outcomes = concurrently(6) { _ in
            try store.transaction { session in
                try session.addUser(.google, "one person", displayName: "", cloudFolderName: "F", at: noon)
            }
        }

        #expect(outcomes.successes().count == 1)
        #expect(outcomes.failures().allSatisfy { $0.isDuplicate(of: "account") })
    }

    @Test("Names longer than the column are truncated between Unicode scalars")
    func longName() throws {
        let user = try fixture.addUser(.google, String(repeating: "🦉", count: 300))

        #expect(try store.withSession { try $0.user(user)?.displayName } == String(repeating: "🦉", count: 255))
    }

    @Test("Only a caller that has read the current credentials can replace them [334]")
    func compareAndSwap() throws {
        let user = try fixture.addUser()
        #expect(try store.withSession { try $0.credentials(of: user) } == nil)

        #expect(try store.transaction { try $0.storeCredentials([1], of: user) })
        let first = try #require(try store.withSession { try $0.credentials(of: user) })
        #expect(first.record == [1])
        #expect(try store.transaction { try $0.storeCredentials([2], of: user, ifVersion: first.version) })
        #expect(try !store.transaction { try $0.storeCredentials([3], of: user, ifVersion: first.version) })
        #expect(try store.withSession { try $0.credentials(of: user)?.record } == [2])
        // The version rises even if the bytes are the same.
        #expect(try store.transaction { try $0.storeCredentials([2], of: user) })
        #expect(try store.withSession { try $0.credentials(of: user)?.version } == first.version + 2)
    }

    @Test("A record that was set aside is kept until a refresh token replaces it, and the oldest one is used")
    func setAside() throws {
        let user = try fixture.addUser()
        let storeAs: ([UInt8], NewCredentials.Replaced, WireDate?) throws -> CredentialRow = { record, replaced, time in
            try store.transaction { session in
                _ = try session.storeCredentials(
                    NewCredentials(
                        record, hasOfflineAccess: replaced == .obsolete, replaced: replaced, consentWithdrawnAt: time),
                    of: user)
            }
            return try #require(try store.withSession { try $0.credentialRow(of: user) })
        }
        #expect(
            try store.withSession { try $0.credentialRow(of: user) }
                == CredentialRow(
                    record: nil, formerRecord: nil, version: 0, consentWithdrawnAt: nil, accountEpoch: AccountEpoch(0)))

        #expect(try storeAs([1], .forgotten, nil).formerRecord == nil)
        #expect(try storeAs([2], .setAside, noon).formerRecord == [1])
        #expect(try storeAs([3], .setAside, nil).formerRecord == [1])
        #expect(try storeAs([4], .forgotten, nil).formerRecord == [1])
        let last = try storeAs([5], .obsolete, nil)

        #expect(
            last
                == CredentialRow(
                    record: [5], formerRecord: nil, version: 5, consentWithdrawnAt: noon, accountEpoch: AccountEpoch(0))
        )
        #expect(try fixture.count("SELECT has_refresh_token FROM users") == 1)
    }

    @Test("If several threads refresh the same tokens, only one result is stored")
    func compareAndSwapRace() throws {
        let user = try fixture.addUser()
        try store.transaction { _ = try $0.storeCredentials([0], of: user) }
        let version = try store.withSession { try $0.credentials(of: user)!.version }

        let outcomes = concurrently(6) { number in
            try store.transaction { try $0.storeCredentials([UInt8(number)], of: user, ifVersion: version) }
        }

        #expect(outcomes.failures().isEmpty)
        let winner = try #require(outcomes.successes().firstIndex(of: true))
        #expect(outcomes.successes().filter { $0 }.count == 1)
        #expect(try store.withSession { try $0.credentials(of: user)?.record } == [UInt8(winner)])
    }

    @Test("The first folder found is stored, and later callers get it")
    func folder() throws {
        let user = try fixture.addUser()
        let replace: @Sendable (String?, String) throws -> String? = { old, new in
            try store.transaction { try $0.replaceCloudFolder(of: user, at: AccountEpoch(0), old, by: new) }
        }

        let outcomes = concurrently(6) { number in try replace(nil, "folder \(number)") }
        let remembered = try #require(try store.withSession { try $0.user(user)?.cloudFolderID })
        #expect(outcomes.successes() == Array(repeating: remembered, count: 6))
        #expect(try replace("folder of old", "x") == remembered)
        #expect(try replace(remembered, "Folder") == "Folder")
        #expect(try replace("folder", "x") == "Folder", "compared exactly")
    }

    // MARK: Devices

    private func register(_ device: DeviceUUID, of user: UserID, maximum: Int?) throws -> DeviceRegistration {
        try store.transaction { try $0.register(device, of: user, maximum: maximum, at: noon) }
    }

    @Test("A device is registered once, is then known, and belongs only to its user [329] [F21]")
    func device() throws {
        let user = try store.transaction { session in
            try session.addUser(.google, "me", displayName: "", cloudFolderName: nil, at: noon)
        }
        let device = DeviceUUID("0aa16cf3-7a4b-4f4e-9c8b-3f3a7f6d5c01")!
        #expect(try store.withSession { try $0.user(.google, "me", device: device)?.isDeviceKnown } == false)

        #expect(try register(device, of: user, maximum: nil) == .registered)
        #expect(try register(DeviceUUID(device.rawValue.uppercased())!, of: user, maximum: 1) == .registered)
        #expect(try store.withSession { try $0.user(.google, "me", device: device)?.isDeviceKnown } == true)
        #expect(try fixture.count("SELECT COUNT(*) FROM devices") == 1)
        // Another user may sign in on the same phone.
        #expect(try register(device, of: fixture.addUser(), maximum: 1) == .registered)
    }

    @Test("A device beyond the maximum is rejected; without a maximum, no device is rejected [329]")
    func maximumDevices() throws {
        let user = try fixture.addUser()
        let devices = (0..<5).map { _ in DeviceUUID(someFile().rawValue)! }

        #expect(try register(devices[0], of: user, maximum: 2) == .registered)
        #expect(try register(devices[1], of: user, maximum: 2) == .registered)
        #expect(try register(devices[2], of: user, maximum: 2) == .tooMany)
        #expect(try register(devices[1], of: user, maximum: 2) == .registered, "known devices continue")
        #expect(try fixture.count("SELECT COUNT(*) FROM devices") == 2)
        for device in devices { #expect(try register(device, of: user, maximum: nil) == .registered) }
    }

    @Test("Devices that register at the same moment do not exceed the maximum [329] [F21]")
    func maximumDevicesRace() throws {
        let user = try fixture.addUser()

        let outcomes = concurrently(8) { _ in
            try register(DeviceUUID(someFile().rawValue)!, of: user, maximum: 3)
        }

        #expect(outcomes.failures().isEmpty)
        #expect(outcomes.successes().filter { $0 == .registered }.count == 3)
        #expect(try fixture.count("SELECT COUNT(*) FROM devices") == 3)
    }
}

extension Error {
    /// Whether the error means that a row with the same key exists.
    func isDuplicate(of key: String) -> Bool {
        guard case .alreadyExists(let name)? = self as? StoreError else { return false }
        return name == key
    }
}
