import SyncProtocol
import Testing

@Suite("Identifiers")
struct IdentifierTests {
    static let uuid = "0a1B2c3D-4e5F-6071-8293-A4b5C6d7E8f9"

    @Test("A UUID keeps its letter case and is compared without regard to it")
    func letterCase() throws {
        let mixed = try #require(FileUUID(Self.uuid))
        let upper = try #require(FileUUID(Self.uuid.uppercased()))

        #expect(mixed.rawValue == Self.uuid)
        #expect(mixed == upper)
        #expect(Set([mixed, upper]).count == 1)
        #expect(!(mixed < upper) && !(upper < mixed))
    }

    @Test(
        "A text that is not a hyphenated UUID is rejected",
        arguments: [
            "", "foobar", "0a1B2c3D4e5F60718293A4b5C6d7E8f9", "0a1B2c3D-4e5F-6071-8293-A4b5C6d7E8f", uuid + "0",
            "{0a1B2c3D-4e5F-6071-8293-A4b5C6d7E8}", "0a1B2c3D-4e5F-6071-8293_A4b5C6d7E8f9",
            "ga1B2c3D-4e5F-6071-8293-A4b5C6d7E8f9", "0a1B2c3D-4e5F-6071-8293-A4b5C6d7E8ﬀ", " " + uuid.dropLast(),
        ])
    func malformedUUID(text: String) {
        #expect(FileUUID(text) == nil)
        #expect(DeviceUUID(text) == nil)
        #expect(SharingInvitationUUID(text) == nil)
    }

    @Test("A sharing group's identifier is any text of 1 to 36 characters, counted as Unicode scalars")
    func groupText() throws {
        #expect(SharingGroupUUID("") == nil)
        #expect(SharingGroupUUID(String(repeating: "😀", count: 37)) == nil)
        let odd = try #require(SharingGroupUUID(String(repeating: "😀", count: 36)))
        #expect(!odd.isWellFormedUUID)
        #expect(try #require(SharingGroupUUID(Self.uuid)).isWellFormedUUID)
        #expect(FileGroupUUID("x") != nil)
    }

    @Test("Only ASCII letters are folded when identifiers are compared")
    func foldsASCIIOnly() {
        #expect(SharingGroupUUID("abc") == SharingGroupUUID("ABC"))
        #expect(SharingGroupUUID("ä") != SharingGroupUUID("Ä"))
        #expect(SharingGroupUUID("@") != SharingGroupUUID("`"))
        #expect(SharingGroupUUID("[") != SharingGroupUUID("{"))
        #expect(SharingGroupUUID("\u{E9}") != SharingGroupUUID("e\u{301}"))
    }

    @Test("Longer identifiers are compared like short ones, regardless of a byte's position", arguments: 0..<17)
    func foldsEverywhere(place: Int) throws {
        func identifier(with text: String) throws -> SharingGroupUUID {
            let before = String(repeating: "1", count: place)
            return try #require(SharingGroupUUID(before + text + String(repeating: "Z", count: 16 - place)))
        }
        let characters = (0..<128).map { String(UnicodeScalar(UInt8($0))) }
        // In ASCII, only letters have a lower-case form.
        let known = try characters.map { (identifier: try identifier(with: $0), form: $0.lowercased()) }
        for left in known {
            let equal = known.filter { $0.identifier == left.identifier }.map(\.form)
            #expect(equal == known.map(\.form).filter { $0 == left.form })
            #expect(Set(known.filter { $0.form == left.form }.map(\.identifier)).count == 1)
        }
        #expect(try identifier(with: "\u{E9}") != identifier(with: "\u{C9}"))
    }

    @Test("Identifiers are ordered without regard to letter case")
    func order() throws {
        let names = ["b", "A", "a1", "C"].compactMap { SharingGroupUUID($0) }
        #expect(names.sorted().map(\.rawValue) == ["A", "a1", "b", "C"])
    }

    @Test("Versions are incremented by one, up to the maximum of their width")
    func versions() {
        #expect(MasterVersion.initial.next == MasterVersion(1))
        #expect(MasterVersion(.max).next == MasterVersion(.max))
        #expect(FileVersion.first.next == FileVersion(1))
        #expect(FileVersion(.max).next == nil)
        #expect(AppMetaDataVersion(7).next == AppMetaDataVersion(8))
    }

    @Test("Each permission includes those below it")
    func permissions() {
        #expect(Permission.read < .write && Permission.write < .admin)
        #expect(Permission.admin.allows(.read) && Permission.write.allows(.write))
        #expect(!Permission.read.allows(.write) && !Permission.write.allows(.admin))
    }

    @Test("Account types define their token type, their storage, and whether they need a folder")
    func accountTypes() {
        for type in AccountType.allCases { #expect(AccountType(tokenType: type.tokenType) == type) }
        #expect(AccountType(tokenType: "googletoken") == nil)
        let owning: [AccountType] = [.google, .dropbox, .microsoft, .webDAV, .s3]
        #expect(AccountType.allCases.filter { $0.userType == .owning } == owning)
        #expect(AccountType.allCases.filter(\.needsCloudFolderName) == [.google, .webDAV])
        #expect(AccountType.facebook.cloudStorageType == nil)
        #expect(AccountType.appleSignIn.rawValue == "AppleSignIn")
    }

    @Test("A cloud file name consists of file, device, version and extension, with letter case preserved")
    func cloudFileName() throws {
        let file = try #require(FileUUID(Self.uuid))
        let device = try #require(DeviceUUID("33333333-3333-4333-8333-33333333333F"))

        let name = CloudFileName(fileUUID: file, deviceUUID: device, fileVersion: FileVersion(12), fileExtension: "jpg")

        #expect(name.rawValue == "\(Self.uuid).33333333-3333-4333-8333-33333333333F.12.jpg")
    }
}
