import Foundation
import TestSupport
import Testing

@Suite("Invalid input gets a clear error", .serialized)
struct BadInputTests {
    /// The senders of the invalid requests, none of which changes anything.
    struct People: Sendable {
        let server: TestServer
        let owner: TestUser
        let newGoogleAccount: TestUser
        let newFacebookAccount: TestUser
        let invitation: String

        init() throws {
            server = try TestServer.shared()
            owner = try server.signUpOwningUser()
            newGoogleAccount = try server.newcomer()
            newFacebookAccount = try server.newcomer(.facebook)
            invitation = try owner.invite()
        }
    }

    static let people = Result { try People() }

    @Test("The table has enough requests")
    func tableSize() {
        #expect(BadInput.all.count >= 150)
    }

    @Test(
        "Each invalid request is rejected with the right error, never with a 5xx [7] [11] [15] [20] [30] [44] [99] [125] [128] [262] [265] [274] [279] [320] [322] [324] [F30]",
        arguments: BadInput.all)
    func refused(input: BadInput) throws {
        let people = try Self.people.get()
        let sender: TestUser? =
            switch input.sender {
            case .nobody: nil
            case .owner: people.owner
            case .newGoogleAccount: people.newGoogleAccount
            case .newFacebookAccount: people.newFacebookAccount
            }
        var headers = sender?.headers ?? []
        for (name, value) in input.headers {
            headers.removeAll { $0.name.lowercased() == name.lowercased() }
            if let value { headers.append((name, value)) }
        }
        var query = input.query.map { "\($0.name)=\($0.value)" }.joined(separator: "&")
        query = query.replacingOccurrences(of: "{group}", with: people.owner.group)
            .replacingOccurrences(of: "{new}", with: UUID().uuidString)
            .replacingOccurrences(of: "{invitation}", with: people.invitation)
        let target = input.path + (query.isEmpty ? "" : "?" + query)

        let reply = try people.server.address.perform(
            HTTPCall(input.method, target, headers: headers, body: input.body))

        expectError(reply, oneOf: input.statuses, goneReason: reply.status == 410 ? "userRemoved" : nil)
        #expect(reply.json?.retryable == .bool(false))
    }

    /// Requests that violate HTTP itself, with the correct statuses.
    static let raw: [(name: String, text: String, statuses: [Int])] = [
        ("no length", "POST /UploadFile/{upload} HTTP/1.1\r\nHost: localhost\r\n{headers}\r\n", [411]),
        (
            "chunked instead of a length",
            "POST /UploadFile/{upload} HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n{headers}\r\n"
                + "b\r\nHello World\r\n0\r\n\r\n", [411]
        ),
        (
            "a length that is not a number",
            "POST /UploadFile/{upload} HTTP/1.1\r\nHost: localhost\r\nContent-Length: eleven\r\n{headers}\r\n", [400]
        ),
        (
            "a negative length",
            "POST /UploadFile/{upload} HTTP/1.1\r\nHost: localhost\r\nContent-Length: -11\r\n{headers}\r\n", [400]
        ),
        (
            "two lengths",
            "POST /UploadFile/{upload} HTTP/1.1\r\nHost: localhost\r\nContent-Length: 11\r\nContent-Length: 12\r\n"
                + "{headers}\r\nHello World!", [400]
        ),
        (
            "a large body where none is expected",
            "POST /DoneUploads/ HTTP/1.1\r\nHost: localhost\r\nContent-Length: 50000000\r\n{headers}\r\n", [413]
        ),
        (
            "a body larger than any file",
            "POST /UploadFile/{upload} HTTP/1.1\r\nHost: localhost\r\nContent-Length: 99999999999999\r\n{headers}\r\n",
            [413]
        ),
        ("no host", "GET /HealthCheck/ HTTP/1.1\r\nConnection: close\r\n\r\n", [400]),
        ("a method in lower case", "get /HealthCheck/ HTTP/1.1\r\nHost: localhost\r\n\r\n", [400, 405]),
        ("an unknown method", "BREW /HealthCheck/ HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n", [405]),
        ("TRACE", "TRACE /HealthCheck/ HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n", [405]),
        ("OPTIONS", "OPTIONS /Index/ HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n", [405]),
        ("CONNECT", "CONNECT localhost:443 HTTP/1.1\r\nHost: localhost:443\r\n\r\n", [400, 405]),
        ("a path without a slash", "GET HealthCheck HTTP/1.1\r\nHost: localhost\r\n\r\n", [400]),
        ("a broken escape in the path", "GET /%zz/ HTTP/1.1\r\nHost: localhost\r\n\r\n", [400]),
        ("not HTTP", "\u{1}\u{2}\u{3}\r\n\r\n", [400]),
    ]

    @Test("Malformed HTTP requests get the right error", arguments: raw.indices)
    func brokenHTTP(number: Int) throws {
        let people = try Self.people.get()
        let (name, text, statuses) = Self.raw[number]
        let upload = ClientQuery.text(people.owner.uploadParameters(TestFile(), masterVersion: 0))
        let headers = people.owner.headers.map { "\($0.name): \($0.value)\r\n" }.joined() + "Connection: close\r\n"
        var conversation = try HTTPConversation(to: people.server.address, timeout: .seconds(30))
        try conversation.send(
            text.replacingOccurrences(of: "{upload}", with: upload).replacingOccurrences(of: "{headers}", with: headers)
        )

        let reply = try conversation.reply()

        #expect(statuses.contains(reply.status), "\(name): \(reply)")
        if statuses.contains(reply.status) { expectError(reply, oneOf: statuses) }
    }

    @Test("After all invalid requests the group is unchanged")
    func nothingChanged() throws {
        let people = try Self.people.get()

        let index = try people.owner.index()

        #expect(index.masterVersion == 0)
        #expect(index.files.isEmpty)
        #expect(try people.owner.stagedUploads().isEmpty)
        expectError(try people.newGoogleAccount.checkCredentials(), 401)
        expectError(try people.newFacebookAccount.checkCredentials(), 401)
    }
}
