import Foundation
import SyncProtocol
import Testing

@Suite("Writing an index")
struct IndexTests {
    static func file(at date: WireDate) -> FileInfo {
        var file = FileInfo(fileUUID: Sample.file, sharingGroupUUID: Sample.group, deleted: false)
        file.deviceUUID = Sample.device
        file.fileGroupUUID = FileGroupUUID("group \"1\"")
        file.creationDate = date
        file.updateDate = date
        file.mimeType = MIMEType("text/plain")
        file.appMetaDataVersion = AppMetaDataVersion(1)
        file.fileVersion = FileVersion(2)
        file.owningUserId = UserID(77)
        file.cloudStorageType = .google
        return file
    }

    static let groups = [
        SharingGroupInfo(
            sharingGroupUUID: Sample.group, sharingGroupName: Sample.nasty, deleted: false,
            masterVersion: MasterVersion(5), permission: .write,
            sharingGroupUsers: [.init(name: "Ann \"A\"", userId: UserID(1)), .init(name: "", userId: UserID(2))],
            cloudStorageType: .dropbox),
        SharingGroupInfo(
            sharingGroupUUID: SharingGroupUUID("g")!, sharingGroupName: nil, deleted: true,
            masterVersion: MasterVersion(0), permission: .read, sharingGroupUsers: [], cloudStorageType: nil),
        SharingGroupInfo(
            sharingGroupUUID: SharingGroupUUID("r")!, sharingGroupName: nil, deleted: false,
            masterVersion: MasterVersion(3), permission: .admin, sharingGroupUsers: [], cloudStorageType: nil,
            restoreMark: RestoreMark("7c9e6679-7425-40de-944b-e07fc1f90ae7"), restoredMasterVersion: MasterVersion(2)),
    ]

    /// Writes a file from a row's columns, as the server does.
    private static func write(_ file: FileInfo, to writer: inout IndexResponseWriter) {
        writer.beginFile()
        unsafe writer.fileUUID(Array(file.fileUUID.rawValue.utf8).span.bytes)
        if let device = file.deviceUUID { unsafe writer.deviceUUID(Array(device.rawValue.utf8).span.bytes) }
        if let group = file.fileGroupUUID { unsafe writer.fileGroupUUID(Array(group.rawValue.utf8).span.bytes) }
        unsafe writer.sharingGroupUUID(Array(file.sharingGroupUUID.rawValue.utf8).span.bytes)
        if let date = file.creationDate { writer.creationDate(date) }
        if let date = file.updateDate { unsafe writer.updateDate(Array(date.description.utf8).span.bytes) }
        if let type = file.mimeType { unsafe writer.mimeType(Array(type.rawValue.utf8).span.bytes) }
        writer.deleted(file.deleted)
        if let version = file.appMetaDataVersion { writer.appMetaDataVersion(version) }
        if let version = file.fileVersion { writer.fileVersion(version) }
        if let user = file.owningUserId { writer.owningUserID(user) }
        if let type = file.cloudStorageType { writer.cloudStorageType(type) }
        writer.endFile()
    }

    @Test("The streaming writer produces the same bytes as the message", arguments: [0, 1, 3])
    func sameBytes(fileCount: Int) throws {
        let files = (0..<fileCount).map { Self.file(at: WireDate(secondsSince1970: Int64($0) * 1_000_003)) }
        let message = IndexResponse(
            files: .init(masterVersion: MasterVersion(5), fileIndex: files), sharingGroups: Self.groups)

        var writer = IndexResponseWriter()
        writer.beginFiles(masterVersion: MasterVersion(5))
        for file in files { Self.write(file, to: &writer) }
        writer.endFiles()
        writer.beginGroups()
        for group in Self.groups { writer.group(group) }
        writer.finish()

        #expect(String(decoding: writer.json.bytes, as: UTF8.self) == String(decoding: message.body, as: UTF8.self))
        #expect(try JSONDecoder().decode(IndexResponse.self, from: Data(writer.json.bytes)) == message)
    }

    @Test("Without a group there is neither a master version nor a file list")
    func withoutGroup() {
        var writer = IndexResponseWriter()
        writer.beginGroups()
        writer.finish()
        #expect(String(decoding: writer.json.bytes, as: UTF8.self) == #"{"sharingGroups":[]}"#)
        #expect(IndexResponse(files: nil, sharingGroups: []).headerText == #"{"sharingGroups":[]}"#)
    }

    @Test("A file has the members that clients know, with their types")
    func exactFile() throws {
        let date = try #require(WireDate("2020-05-01 09:30:00"))
        var writer = JSONWriter()
        Self.file(at: date).write(to: &writer)
        #expect(
            String(decoding: writer.bytes, as: UTF8.self) == """
                {"fileUUID":"11111111-1111-4111-8111-11111111111A","deviceUUID":"33333333-3333-4333-8333-333333333333",\
                "fileGroupUUID":"group \\"1\\"","sharingGroupUUID":"22222222-2222-4222-8222-22222222222b",\
                "creationDate":"2020-05-01 09:30:00","updateDate":"2020-05-01 09:30:00","mimeType":"text/plain",\
                "deleted":false,"appMetaDataVersion":1,"fileVersion":2,"owningUserId":77,"cloudStorageType":"Google"}
                """)
    }

    @Test("A group has the members that clients know; those without a value are omitted")
    func exactGroup() {
        var writer = JSONWriter()
        Self.groups[1].write(to: &writer)
        #expect(
            String(decoding: writer.bytes, as: UTF8.self)
                == #"{"sharingGroupUUID":"g","deleted":true,"masterVersion":0,"permission":"read","sharingGroupUsers":[]}"#
        )
    }

    @Test("A restored group has a mark and its master version at the restoration")
    func restoredGroup() {
        var writer = JSONWriter()
        Self.groups[2].write(to: &writer)
        #expect(
            String(decoding: writer.bytes, as: UTF8.self) == """
                {"sharingGroupUUID":"r","deleted":false,"masterVersion":3,"permission":"admin","sharingGroupUsers":[],\
                "restoreMark":"7c9e6679-7425-40de-944b-e07fc1f90ae7","restoredMasterVersion":2}
                """)
    }

    @Test(
        "A restore mark is 1 to 36 ASCII characters, and its letter case is significant",
        arguments: [
            ("", false), ("a", true), (String(repeating: "f", count: 36), true),
            (String(repeating: "f", count: 37), false), ("\u{E9}", false), ("a\nb", false),
        ])
    func restoreMark(_ text: String, isAccepted: Bool) throws {
        let body = Data(try JSONEncoder().encode([text]))
        #expect((RestoreMark(text) != nil) == isAccepted)
        #expect(((try? JSONDecoder().decode([RestoreMark].self, from: body)) != nil) == isAccepted)
        #expect(RestoreMark("a") != RestoreMark("A"))
    }
}
