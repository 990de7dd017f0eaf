import OpenSSLCrypto
import Providers
import Store
import SyncProtocol
import Testing

@testable import Operations

@Suite("Converting the rows of an older server")
struct ConversionTests {
    private let users: [Int64: UserHere] = [
        1: UserHere(userID: UserID(1), accountType: .google), 2: UserHere(userID: UserID(2), accountType: .facebook),
        3: UserHere(userID: UserID(30), accountType: .microsoft),
    ]

    private func file(_ change: (inout SourceFile) -> Void = { _ in }) -> SourceFile {
        var file = SourceFile(
            fileIndexId: 1, fileUUID: "FFFFFFFF-0000-4000-8000-000000000001", userId: 1,
            deviceUUID: "DDDDDDDD-0000-4000-8000-000000000001", fileGroupUUID: nil,
            creationDate: "2019-01-02 03:04:05", updateDate: "2019-01-02 03:04:06", mimeType: "text/plain",
            appMetaData: nil, appMetaDataVersion: nil, deleted: false, fileVersion: 3,
            lastUploadedCheckSum: "b10a8db164e0754105b7a99be72e3fe5")
        change(&file)
        return file
    }

    private func convert(_ rows: [SourceFile]) -> (files: [ImportedGroup.File], reasons: [ImportNote.Reason]) {
        var conversion = FileConversion(group: "G", users: users)
        let files = conversion.files(rows)
        return (files, conversion.notes.map(\.reason))
    }

    @Test("A valid row is imported without a remark")
    func good() throws {
        let (files, reasons) = convert([file()])

        #expect(reasons == [])
        #expect(files.first?.checkSum?.rawValue == "b10a8db164e0754105b7a99be72e3fe5")
        #expect(files.first?.fileVersion == FileVersion(3))
        #expect(files.first?.owningUserID == UserID(1))
    }

    @Test(
        "A file that could not be served is skipped and named",
        arguments: [
            (.fileUUID, "x", .fileUUIDUnusable), (.deviceUUID, "my phone", .deviceUUIDUnusable),
            (.fileVersion, "-1", .fileVersionUnusable), (.mimeType, "", .mimeTypeUnusable),
            (.mimeType, "bildlich/größer", .mimeTypeUnusable),
        ] as [(Column, String, ImportNote.Reason)])
    func leftOut(_ column: Column, _ value: String, _ reason: ImportNote.Reason) {
        let row = file {
            switch column {
            case .fileUUID: $0.fileUUID = value
            case .deviceUUID: $0.deviceUUID = value
            case .fileVersion: $0.fileVersion = Int64(value) ?? 0
            case .mimeType: $0.mimeType = value
            }
        }

        let (files, reasons) = convert([row])

        #expect(files.isEmpty)
        #expect(reasons == [reason])
    }

    enum Column: Sendable { case fileUUID, deviceUUID, fileVersion, mimeType }

    @Test("Invalid dates are replaced with the other one, or with 1970")
    func dates() throws {
        let zero = convert([file { $0.creationDate = "0000-00-00 00:00:00" }])
        let none = convert([
            file {
                $0.creationDate = nil
                $0.updateDate = "2019-02-30 00:00:00"
            }
        ])

        #expect(zero.files.first?.createdAt.description == "2019-01-02 03:04:06")
        #expect(zero.reasons == [.dateUnusable])
        #expect(none.files.first?.createdAt.description == "1970-01-01 00:00:00")
        #expect(none.files.first?.updatedAt.description == "1970-01-01 00:00:00")
    }

    @Test("A file whose owner has left is listed as deleted, and its checksum identifies the kind of storage [F14]")
    func ownerGone() throws {
        var conversion = FileConversion(group: "G", users: users)
        let dropbox = conversion.files([
            file {
                $0.userId = 99
                $0.lastUploadedCheckSum = String(repeating: "a", count: 64)
            }
        ])

        #expect(dropbox.first?.isDeleted == true)
        #expect(dropbox.first?.storageType == .dropbox)
        #expect(dropbox.first?.owningUserID == GroupConversion.nobody)
        #expect(conversion.hasVanishedFiles)
        #expect(convert([file { $0.userId = 2 }]).reasons == [.ownerGone])
    }

    @Test("A checksum gets the letter case of its storage, or is dropped if its length is wrong")
    func checkSums() throws {
        let microsoft = convert([
            file {
                $0.userId = 3
                $0.lastUploadedCheckSum = "0a4d55a8d778e5022fab701977c5d840bbc486d0"
            }
        ])
        let short = convert([file { $0.lastUploadedCheckSum = "abc" }])

        #expect(microsoft.files.first?.checkSum?.rawValue == "0A4D55A8D778E5022FAB701977C5D840BBC486D0")
        #expect(microsoft.files.first?.owningUserID == UserID(30))
        #expect(short.files.first?.checkSum == nil)
        #expect(short.reasons == [.checkSumUnusable])
        #expect(convert([file { $0.lastUploadedCheckSum = nil }]).reasons == [])
    }

    @Test("Metadata keep their text and always have a version")
    func metaData() throws {
        let noVersion = convert([file { $0.appMetaData = "text" }])
        let noText = convert([file { $0.appMetaDataVersion = 4 }])
        let long = convert([
            file {
                $0.appMetaData = String(repeating: "ä", count: 33_000)
                $0.appMetaDataVersion = 1
            }
        ])

        #expect(noVersion.files.first?.appMetaData == "text")
        #expect(noVersion.files.first?.appMetaDataVersion == AppMetaDataVersion(0))
        #expect(noText.files.first?.appMetaData == "")
        #expect(noText.files.first?.appMetaDataVersion == AppMetaDataVersion(4))
        #expect(long.files.first?.appMetaDataVersion == nil)
        #expect(long.reasons == [.appMetaDataTooLong])
    }

    @Test("Of rows that differ only in letter case, the live one is used, then the one with the higher version")
    func letterCase() throws {
        let rows = [
            file {
                $0.deleted = true
                $0.fileVersion = 9
            },
            file {
                $0.fileIndexId = 2
                $0.fileUUID = $0.fileUUID.lowercased()
                $0.fileVersion = 1
            },
            file {
                $0.fileIndexId = 3
                $0.fileVersion = 0
            },
        ]

        let (files, reasons) = convert(rows)

        #expect(files.map(\.fileVersion) == [FileVersion(1)])
        #expect(files.first?.fileUUID.rawValue == "ffffffff-0000-4000-8000-000000000001")
        #expect(reasons == [.fileListedTwice, .fileListedTwice])
    }

    @Test(
        "UTF-8 text stored in a latin1 column is repaired, and other text is not changed",
        arguments: [
            ("Müller", "Müller"), ("MÃ¼ller", "Müller"), ("plain", "plain"), ("Ã", "Ã"), ("â‚¬ 5", "€ 5"),
            ("日本", "日本"), ("æ—¥", "日"), ("", ""),
        ])
    func misread(_ stored: String, _ meant: String) {
        #expect(MisreadText.repaired(stored) == meant)
    }

    @Test("Tokens of every account type are read; codes are stored as hashes only")
    func credentials() throws {
        let hash = IncrementalDigest.digest(of: Array("code".utf8), .sha256).hexLowercase
        let json = #"{"accessToken":"a","refreshToken":"r","serverAuthCode":"code","idToken":"i","other":1}"#

        #expect(
            try CredentialsConversion.credentials(json, of: .google)
                == StoredCredentials(accessToken: "a", refreshToken: "r", codeHash: hash))
        #expect(try CredentialsConversion.credentials(json, of: .dropbox) == StoredCredentials(accessToken: "a"))
        #expect(
            try CredentialsConversion.credentials(json, of: .microsoft)
                == StoredCredentials(accessToken: "a", refreshToken: "r"))
        #expect(try CredentialsConversion.credentials("{}", of: .facebook) == nil)
        #expect(try CredentialsConversion.credentials(json, of: .appleSignIn)?.refreshToken == "r")
        let identity = try CredentialsConversion.credentials(json, of: .appleSignIn)?.identity
        let tokenHash = IncrementalDigest.digest(of: Array("i".utf8), .sha256).hexLowercase
        #expect(identity?.tokenHashes == [tokenHash])
        #expect(throws: CredentialsConversion.Failure.unreadable) {
            try CredentialsConversion.credentials("", of: .google)
        }
        #expect(throws: CredentialsConversion.Failure.unreadable) {
            try CredentialsConversion.credentials(#"{"accessToken":5}"#, of: .google)
        }
    }

    @Test("A removed topic, stored by the older server as the text NULL, is imported as missing [F43]")
    func topics() throws {
        var notes: [ImportNote] = []
        func topic(_ text: String?) -> String? {
            UserConversion.user(
                SourceUser(
                    userId: 1, username: "", accountType: "Facebook", credsId: "1", creds: "{}", cloudFolderName: nil,
                    pushNotificationTopic: text), devices: [], &notes)?.pushTopicARN
        }

        #expect(topic("NULL") == nil)
        #expect(topic(nil) == nil)
        #expect(topic("arn:aws:sns:us-west-2:1:1") == "arn:aws:sns:us-west-2:1:1")
    }
}
