import SyncProtocol
import Testing

/// A query, the parameters that its endpoint knows, and the expected result.
struct DecodingCase: Sendable, CustomTestStringConvertible {
    enum Outcome: Sendable, Equatable {
        case values([ParameterName: String])
        case error(RequestError)
    }

    var parameters: ParameterList
    var query: String
    var outcome: Outcome

    init(_ parameters: ParameterList, _ query: String, _ values: [ParameterName: String]) {
        self.parameters = parameters
        self.query = query
        outcome = .values(values)
    }

    init(_ parameters: ParameterList, _ query: String, error: RequestError) {
        self.parameters = parameters
        self.query = query
        outcome = .error(error)
    }

    var testDescription: String { "\(query.prefix(80))" }

    static func decode(_ query: [UInt8], _ parameters: ParameterList) -> Outcome {
        do throws(RequestError) {
            let decoded = try QueryDecoder.decode(query, parameters: parameters)
            let values = parameters.names.compactMap { name in decoded.text(name).map { (name, $0) } }
            return .values(Dictionary(uniqueKeysWithValues: values))
        } catch {
            return .error(error)
        }
    }
}

@Suite("Decoding queries")
struct QueryDecodingTests {
    static let rename = UpdateSharingGroupRequest.parameters
    static let create = CreateSharingGroupRequest.parameters
    static let addUser = AddUserRequest.parameters
    static let done = DoneUploadsRequest.parameters
    static let upload = UploadFileRequest.parameters
    static let metadata = UploadAppMetaDataRequest.parameters
    static let delete = UploadDeletionRequest.parameters
    static let index = IndexRequest.parameters
    static let push = RegisterPushNotificationTokenRequest.parameters

    static let characters: [DecodingCase] = [
        .init(create, "", [:]),
        .init(create, "sharingGroupName=", [.sharingGroupName: ""]),
        .init(create, "sharingGroupName=a%20b", [.sharingGroupName: "a b"]),
        .init(create, "sharingGroupName=a+b", [.sharingGroupName: "a+b"]),
        .init(create, "sharingGroupName=a%2Bb", [.sharingGroupName: "a+b"]),
        .init(create, "sharingGroupName=%252F", [.sharingGroupName: "%2F"]),
        .init(create, "sharingGroupName=100%25", [.sharingGroupName: "100%"]),
        .init(create, "sharingGroupName=100%25%20done", [.sharingGroupName: "100% done"]),
        .init(create, "sharingGroupName=a=b==", [.sharingGroupName: "a=b=="]),
        .init(create, "sharingGroupName==", [.sharingGroupName: "="]),
        .init(create, "sharingGroupName=%3D", [.sharingGroupName: "="]),
        .init(create, "sharingGroupName=%c3%a4%C3%A4", [.sharingGroupName: "ää"]),
        .init(create, "sharingGroupName=ä", [.sharingGroupName: "ä"]),
        .init(create, "sharingGroupName=%F0%9F%98%80", [.sharingGroupName: "😀"]),
        .init(create, "sharingGroupName=a%00b", [.sharingGroupName: "a\0b"]),
        .init(create, "sharingGroupName=%0A%0D%09", [.sharingGroupName: "\n\r\t"]),
        .init(create, "sharingGroupName=%22%5C%27'", [.sharingGroupName: "\"\\''"]),
        .init(create, "sharingGroupName=!$'()*+,-.;=_~", [.sharingGroupName: "!$'()*+,-.;=_~"]),
        .init(create, "sharingGroupName=:[]/?@", [.sharingGroupName: ":[]/?@"]),
        .init(create, "sharingGroupName=%3A%5B%5D%2F", [.sharingGroupName: ":[]/"]),
        .init(create, "sharingGroupName=e%CC%81", [.sharingGroupName: "e\u{301}"]),
        .init(create, "sharingGroupName=%26", [.sharingGroupName: "&"]),
        .init(upload, "mimeType=text%2Fplain", [.mimeType: "text/plain"]),
        .init(upload, "mimeType=text/plain", [.mimeType: "text/plain"]),
        .init(create, "sharing%47roupName=x", [.sharingGroupName: "x"]),
        .init(create, "sharingGroupName=%", error: .brokenEscape),
        .init(create, "sharingGroupName=%2", error: .brokenEscape),
        .init(create, "sharingGroupName=a%2", error: .brokenEscape),
        .init(create, "sharingGroupName=%G0", error: .brokenEscape),
        .init(create, "sharingGroupName=%0G", error: .brokenEscape),
        .init(create, "sharingGroupName=%%20", error: .brokenEscape),
        .init(create, "sharingGroupName=%2&sharingGroupUUID=0", error: .brokenEscape),
        .init(create, "sharingGroupName=50%&sharingGroupUUID=x", error: .brokenEscape),
        .init(create, "sharingGroupName=%+1", error: .brokenEscape),
        .init(create, "junk=%zz", error: .brokenEscape),
        .init(create, "sharingGroupUUID=x&junk=%", error: .brokenEscape),
        .init(create, "sharingGroupName=%FF", error: .invalidUTF8),
        .init(create, "sharingGroupName=%C3", error: .invalidUTF8),
        .init(create, "sharingGroupName=%C3%28", error: .invalidUTF8),
        .init(create, "sharingGroupName=%C0%80", error: .invalidUTF8),
        .init(create, "sharingGroupName=%ED%A0%80", error: .invalidUTF8),
        .init(create, "sharingGroupName=%F4%90%80%80", error: .invalidUTF8),
        .init(create, "sharingGroupName=%A4x", error: .invalidUTF8),
        .init(create, "junk=%FF", error: .invalidUTF8),
        .init(create, "sharingGroupName=%EF%BF%BD", [.sharingGroupName: "\u{FFFD}"]),
        .init(create, "sharingGroupName=%EF%BB%BFx", [.sharingGroupName: "\u{FEFF}x"]),
    ]

    static let pieces: [DecodingCase] = [
        .init(create, "sharingGroupName=Tom%20&%20Jerry", [.sharingGroupName: "Tom & Jerry"]),
        .init(create, "sharingGroupName=&", [.sharingGroupName: "&"]),
        .init(create, "sharingGroupName=&&", [.sharingGroupName: "&&"]),
        .init(create, "sharingGroupName=a&", [.sharingGroupName: "a&"]),
        .init(create, "sharingGroupName=&a", [.sharingGroupName: "&a"]),
        .init(
            create, "sharingGroupName=a&b&sharingGroupUUID=g", [.sharingGroupName: "a&b", .sharingGroupUUID: "g"]),
        .init(
            create, "sharingGroupName=a&&sharingGroupUUID=g", [.sharingGroupName: "a&", .sharingGroupUUID: "g"]),
        .init(create, "sharingGroupName=a&junk=1&c", [.sharingGroupName: "a&junk=1&c"]),
        .init(create, "sharingGroupName=a&masterVersion=1", [.sharingGroupName: "a&masterVersion=1"]),
        .init(create, "sharingGroupName=a&sharingGroupUUIDx=1", [.sharingGroupName: "a&sharingGroupUUIDx=1"]),
        .init(create, "sharingGroupName=a&SharingGroupUUID=1", [.sharingGroupName: "a&SharingGroupUUID=1"]),
        .init(create, "sharingGroupName=a&sharingGroupUUID", [.sharingGroupName: "a&sharingGroupUUID"]),
        .init(create, "sharingGroupName=a& sharingGroupUUID=1", [.sharingGroupName: "a& sharingGroupUUID=1"]),
        .init(create, "sharingGroupUUID=g&junk", [.sharingGroupUUID: "g"]),
        .init(create, "sharingGroupUUID=g&junk=1&more", [.sharingGroupUUID: "g"]),
        .init(create, "sharingGroupUUID=g&", [.sharingGroupUUID: "g"]),
        .init(create, "&&sharingGroupUUID=g&&", [.sharingGroupUUID: "g"]),
        .init(create, "junk&sharingGroupUUID=g", [.sharingGroupUUID: "g"]),
        .init(create, "fbclid=x%20y&sharingGroupUUID=g", [.sharingGroupUUID: "g"]),
        .init(create, "=x&sharingGroupUUID=g", [.sharingGroupUUID: "g"]),
        .init(create, "SHARINGGROUPUUID=g", [:]),
        .init(create, "sharingGroupUUID", [:]),
        .init(create, "sharingGroupName%3Dx", [:]),
        .init(
            create, "sharingGroupUUID=g&sharingGroupName=n", [.sharingGroupUUID: "g", .sharingGroupName: "n"]),
        .init(
            addUser, "cloudFolderName=A&B&sharingGroupName=C&D&sharingGroupUUID=g&E",
            [.cloudFolderName: "A&B", .sharingGroupName: "C&D", .sharingGroupUUID: "g"]),
        .init(
            done, "masterVersion=1&pushNotificationMessage=x&y=z&sharingGroupUUID=g",
            [.masterVersion: "1", .pushNotificationMessage: "x&y=z", .sharingGroupUUID: "g"]),
        .init(
            done, "masterVersion=1&pushNotificationMessage=&sharingGroupName=&sharingGroupUUID=g",
            [.masterVersion: "1", .pushNotificationMessage: "", .sharingGroupName: "", .sharingGroupUUID: "g"]),
        .init(
            done, "masterVersion=1&pushNotificationMessage=m&sharingGroupUUID=g&testLockSync=5",
            [.masterVersion: "1", .pushNotificationMessage: "m", .sharingGroupUUID: "g", .testLockSync: "5"]),
        .init(push, "pushNotificationToken=a&b=c&d", [.pushNotificationToken: "a&b=c&d"]),
        .init(index, "sharingGroupUUID=g&testServerSleep=1", [.sharingGroupUUID: "g", .testServerSleep: "1"]),
        .init(
            delete, "actualDeletion=1&fileUUID=f&fileVersion=0",
            [.actualDeletion: "1", .fileUUID: "f", .fileVersion: "0"]
        ),
        .init(HealthCheckRequest.parameters, "anything=goes&here", [:]),
    ]

    static let nested: [DecodingCase] = [
        .init(metadata, "appMetaData={}&fileUUID=f", [.appMetaData: "{}", .fileUUID: "f"]),
        .init(metadata, "appMetaData=%7B%7D&fileUUID=f", [.appMetaData: "{}", .fileUUID: "f"]),
        .init(
            metadata, "appMetaData=%7B%22a%22:%22x&y%22%7D&fileUUID=f",
            [.appMetaData: #"{"a":"x&y"}"#, .fileUUID: "f"]),
        .init(
            upload, "appMetaData=%7B%22a%22:%22x&mimeType=text%2Fplain&y%22%7D&mimeType=image%2Fjpeg",
            [.appMetaData: #"{"a":"x&mimeType=text/plain&y"}"#, .mimeType: "image/jpeg"]),
        .init(
            upload, "appMetaData=%7B%22a%22:%22&&%22%7D&fileUUID=f", [.appMetaData: #"{"a":"&&"}"#, .fileUUID: "f"]),
        .init(
            upload, "appMetaData=%7B%22a%22:%22&%22%7D", [.appMetaData: #"{"a":"&"}"#]),
        .init(
            upload, "appMetaData=%7B%22a%22:%22%5C%22%7D&fileUUID=x%22%7D&fileUUID=f",
            [.appMetaData: #"{"a":"\"}&fileUUID=x"}"#, .fileUUID: "f"]),
        .init(
            upload, "appMetaData=%7B%22a%22:%22%5C%5C%22%7D&fileUUID=f", [.appMetaData: #"{"a":"\\"}"#, .fileUUID: "f"]),
        .init(
            upload, "appMetaData=%7B%22a%22:%22%7D%5D&%22,%22b%22:%5B1,%7B%7D%5D%7D&fileUUID=f",
            [.appMetaData: #"{"a":"}]&","b":[1,{}]}"#, .fileUUID: "f"]),
        .init(
            upload, "appMetaData=%7B%22a%22:%22x&appMetaData=y%22%7D&fileUUID=f",
            [.appMetaData: #"{"a":"x&appMetaData=y"}"#, .fileUUID: "f"]),
        .init(upload, "appMetaData=%7B%7D%20&junk&fileUUID=f", [.appMetaData: "{} ", .fileUUID: "f"]),
        .init(upload, "appMetaData=%7B%7D&junk&fileUUID=f", [.appMetaData: "{}", .fileUUID: "f"]),
        .init(upload, "appMetaData=%22x&y%22&fileUUID=f", [.appMetaData: "\"x&y\"", .fileUUID: "f"]),
        .init(upload, "appMetaData=12&fileUUID=f", [.appMetaData: "12", .fileUUID: "f"]),
        .init(upload, "appMetaData=%7B&fileUUID=f", [.appMetaData: "{&fileUUID=f"]),
        .init(upload, "appMetaData=&fileUUID=f", [.appMetaData: "&fileUUID=f"]),
        .init(upload, "appMetaData=%7B%22&%2", error: .brokenEscape),
        .init(upload, "appMetaData=%7B%22&%FF%22%7D", error: .invalidUTF8),
        .init(upload, "appMetaData=%7B%7D&appMetaData=%7B%7D", error: .repeated(.appMetaData)),
        .init(
            upload, "fileUUID=f&appMetaData=%7B%22x&%22:1%7D&checkSum=c",
            [.fileUUID: "f", .appMetaData: #"{"x&":1}"#, .checkSum: "c"]),
    ]

    static let repetition: [DecodingCase] = [
        .init(upload, "fileUUID=a&fileUUID=b", error: .repeated(.fileUUID)),
        .init(upload, "fileUUID=a&fileUUID=a", error: .repeated(.fileUUID)),
        .init(index, "sharingGroupUUID=a&sharingGroupUUID=a", error: .repeated(.sharingGroupUUID)),
        .init(
            push, "pushNotificationToken=a&pushNotificationToken=b",
            [.pushNotificationToken: "a&pushNotificationToken=b"]),
        .init(
            done, "masterVersion=4&pushNotificationMessage=x&masterVersion=5&sharingGroupUUID=g",
            [.masterVersion: "4", .pushNotificationMessage: "x&masterVersion=5", .sharingGroupUUID: "g"]),
        .init(
            create, "sharingGroupName=a&sharingGroupUUID=x&sharingGroupUUID=g",
            [.sharingGroupName: "a&sharingGroupUUID=x", .sharingGroupUUID: "g"]),
        .init(
            create, "sharingGroupName=a&sharingGroupName=b&sharingGroupUUID=g",
            [.sharingGroupName: "a&sharingGroupName=b", .sharingGroupUUID: "g"]),
        .init(
            rename, "masterVersion=1&sharingGroupName=a&sharingGroupUUID=x&sharingGroupName=b&sharingGroupUUID=g",
            [
                .masterVersion: "1", .sharingGroupName: "a&sharingGroupUUID=x&sharingGroupName=b",
                .sharingGroupUUID: "g",
            ]),
        .init(
            addUser, "cloudFolderName=a&sharingGroupName=b&cloudFolderName=c&sharingGroupUUID=g",
            error: .repeated(.cloudFolderName)),
        .init(
            done,
            "masterVersion=1&pushNotificationMessage=Hi&sharingGroupName=x&sharingGroupName=Real&sharingGroupUUID=g",
            error: .repeated(.sharingGroupName)),
        .init(create, "sharingGroupUUID=a&sharingGroupName=x&sharingGroupUUID=b", error: .repeated(.sharingGroupUUID)),
        .init(create, "sharingGroupUUID=a&sharingGroupUUID=b", error: .repeated(.sharingGroupUUID)),
        .init(
            rename, "masterVersion=1&masterVersion=2&sharingGroupName=a&sharingGroupUUID=g",
            error: .repeated(.masterVersion)),
        .init(done, "masterVersion=4&pushNotificationMessage=x&masterVersion=5", error: .repeated(.masterVersion)),
    ]

    @Test("Characters are decoded exactly once, and `+` is a plus sign [F6] [F7]", arguments: characters)
    func decodesCharacters(of example: DecodingCase) {
        #expect(DecodingCase.decode(Array(example.query.utf8), example.parameters) == example.outcome)
    }

    @Test("A bare `&` is restored after free text; elsewhere, unknown pieces are ignored", arguments: pieces)
    func joinsPieces(of example: DecodingCase) {
        #expect(DecodingCase.decode(Array(example.query.utf8), example.parameters) == example.outcome)
    }

    @Test("App metadata absorb pieces until their JSON is complete", arguments: nested)
    func completesMetadata(example: DecodingCase) {
        #expect(DecodingCase.decode(Array(example.query.utf8), example.parameters) == example.outcome)
    }

    @Test("A repeated parameter is text if only one reading is possible, and otherwise an error", arguments: repetition)
    func resolvesRepetition(of example: DecodingCase) {
        #expect(DecodingCase.decode(Array(example.query.utf8), example.parameters) == example.outcome)
    }

    @Test("Invalid UTF-8 is an error even if it is not percent-encoded")
    func rawBytes() {
        let query = Array("sharingGroupName=".utf8) + [0xFF]
        #expect(DecodingCase.decode(query, Self.create) == .error(.invalidUTF8))
        let split = Array("sharingGroupName=".utf8) + [0xC3] + Array("&sharingGroupUUID=g".utf8)
        #expect(DecodingCase.decode(split, Self.create) == .error(.invalidUTF8))
    }

    @Test("A query longer than FastCGI can carry is rejected")
    func tooLong() {
        let start = Array("sharingGroupName=".utf8)
        let longest = start + [UInt8](repeating: 0x61, count: 65_535 - start.count)
        #expect(DecodingCase.decode(longest, Self.create) != .error(.queryTooLong(maximumBytes: 65_535)))
        #expect(DecodingCase.decode(longest + [0x61], Self.create) == .error(.queryTooLong(maximumBytes: 65_535)))
    }

    @Test(
        "No query slows down decoding",
        arguments: ["&", "sharingGroupName=&", "sharingGroupUUID=a&", "appMetaData=%7B%22&", "%41=&"])
    func hostileQueries(unit: String) {
        let query = Array(String(repeating: unit, count: 65_535 / unit.utf8.count).utf8)
        let clock = ContinuousClock()
        for list in [Self.create, Self.upload, Self.done] {
            let duration = clock.measure { _ = DecodingCase.decode(query, list) }
            #expect(duration < .seconds(5), "a quadratic decoder takes minutes in a debug build")
        }
    }
}
