import Foundation
import Providers
import SyncProtocol
import Synchronization
import TestSupport
import Testing

@testable import SyncService

@Suite("Admission of transfers")
struct AdmissionTests {
    private let server: TestServer
    private let alice: Phone

    init() throws {
        server = try TestServer()
        alice = try server.signUp()
    }

    private func head(
        _ request: some RequestMessage, of phone: Phone?, length: Int64? = nil, ticket: String? = nil,
        adding headers: [RequestHeader: String] = [:]
    ) -> RequestHead {
        let endpoint = type(of: request).endpoint
        return RequestHead(
            method: endpoint.route.method.rawValue, path: "/\(endpoint.rawValue)/", query: request.encodedQuery,
            contentLength: length, requestID: "request-1",
            headers: (phone?.headers ?? [:]).merging(headers) { $1 }, signInTicket: ticket)
    }

    private func ask(_ head: RequestHead) -> FakeConnection {
        let connection = FakeConnection(zeros: 1_000)
        server.router.admit(head, on: connection, transport: .unused)
        return connection
    }

    private func upload(in group: SharingGroupUUID) -> UploadFileRequest {
        .of(someFile(), someBytes(10), version: 0, master: 0, in: group)
    }

    private func download(in group: SharingGroupUUID) -> DownloadFileRequest {
        DownloadFileRequest(
            fileUUID: someFile(), fileVersion: FileVersion(0), masterVersion: MasterVersion(0),
            sharingGroupUUID: group)
    }

    @Test("A member is admitted with 204, and nothing of the body is read")
    func admitted() {
        for head in [
            head(upload(in: alice.group), of: alice, length: 10), head(download(in: alice.group), of: alice),
        ] {
            let answer = ask(head)

            #expect(answer.status == 204)
            #expect(answer.end == .finished)
            #expect(answer.readBytes == 0)
            #expect(server.log.request?["endpoint"] != head.path.replacingOccurrences(of: "/", with: ""))
        }
    }

    @Test("A rejection is identical to the reply that the request itself would get")
    func refusals() throws {
        let reader = try server.join(alice, as: "reader", .read)
        let stranger = Phone(name: "stranger", accountType: .google)
        let problem = [RequestHeader.accept: "application/problem+json"]
        let heads = [
            head(upload(in: alice.group), of: nil, length: 10), head(upload(in: alice.group), of: stranger, length: 10),
            head(upload(in: alice.group), of: alice), head(upload(in: alice.group), of: alice, length: 6 << 30),
            head(upload(in: reader.group), of: reader, length: 10), head(download(in: alice.group), of: nil),
            head(download(in: SharingGroupUUID("none")!), of: alice, adding: problem),
            RequestHead(
                method: "PUT", path: "/UploadFile", query: "", contentLength: 1, requestID: "request-1", headers: [:]),
        ]
        var seen: Set<String> = []
        for head in heads {
            let answer = ask(head)
            let direct = FakeConnection()
            server.router.handle(head, on: direct, transport: .unused)

            #expect(answer.status == 403)
            #expect(answer.readBytes == 0)
            #expect(answer.header("syncd-refusal-status") == direct.status.map { "\($0)" })
            #expect(answer.header("syncd-refusal-body") == String(decoding: direct.body, as: UTF8.self))
            let type = direct.header("content-type") ?? ""
            #expect(answer.header("syncd-refusal-form") == (type.contains("problem") ? "problem" : "json"))
            for name in ["syncserver-error-code", "syncserver-version", "retry-after", "allow"] {
                #expect(answer.header(name) == direct.header(name), "\(name)")
            }
            seen.insert(answer.header("syncserver-error-code") ?? "")
        }
        #expect(
            seen == [
                "credentials_missing", "user_unknown", "length_required", "body_too_large", "permission_too_low",
                "not_a_member", "method_not_allowed",
            ])
    }

    @Test("A rejected transfer is logged like any request")
    func log() {
        _ = ask(head(upload(in: alice.group), of: nil, length: 10))

        #expect(server.log.request?["endpoint"] == "UploadFile")
        #expect(server.log.request?["status"] == "401")
        #expect(server.log.request?["code"] == "credentials_missing")
        #expect(server.log.request?["bytes_received"] == "0")
    }

    @Test("No other endpoint is admitted")
    func otherEndpoints() {
        #expect(ask(head(IndexRequest(), of: alice)).header("syncserver-error-code") == "endpoint_unknown")
    }

    @Test("The ticket saves the transfer role the sign-in; it is valid for exactly these credentials")
    func ticket() throws {
        let ticket = try #require(ask(head(download(in: alice.group), of: alice)).header("syncd-signed-in"))
        // A token that nobody knows: without a ticket it is refused.
        let unknown = [RequestHeader.accessToken: "bad token"]
        let withoutTicket = FakeConnection()
        server.router.handle(
            head(download(in: alice.group), of: alice, adding: unknown), on: withoutTicket, transport: .unused)
        #expect(withoutTicket.code == "credentials_rejected")
        let others = FakeConnection()
        server.router.handle(
            head(download(in: alice.group), of: alice, ticket: ticket, adding: unknown), on: others, transport: .unused)
        #expect(others.code == "credentials_rejected")

        let profile = SignInTickets(keys: server.keys).profile(
            in: ticket,
            for: PresentedCredentials(accountType: .google, accessToken: "good \(alice.name)"),
            at: noon.secondsSince1970)
        #expect(profile?.providerUserID == alice.name)
    }
}

@Suite("Sign-in tickets")
struct SignInTicketTests {
    private let server: TestServer
    private let tickets: SignInTickets
    private let presented = PresentedCredentials(accountType: .google, accessToken: "a")
    private let profile = SignInProfile(providerUserID: "alice\u{e9}", displayName: "Al\nice")

    init() throws {
        server = try TestServer(withDatabase: false)
        tickets = SignInTickets(keys: server.keys)
    }

    @Test("A ticket is valid for two minutes, for the same credentials only")
    func lifetime() throws {
        let ticket = try #require(tickets.issue(profile, for: presented, at: 1_000))

        #expect(tickets.profile(in: ticket, for: presented, at: 1_120) == profile)
        #expect(tickets.profile(in: ticket, for: presented, at: 1_121) == nil)
        #expect(tickets.profile(in: ticket, for: presented, at: 879) == nil)
        for other in [
            PresentedCredentials(accountType: .google, accessToken: "b"),
            PresentedCredentials(accountType: .facebook, accessToken: "a"),
        ] { #expect(tickets.profile(in: ticket, for: other, at: 1_000) == nil) }
    }

    @Test("A sign-in with an identity token gets none: each role verifies the token itself")
    func identityToken() {
        var profile = profile
        profile.identityToken = IdentityToken(hash: "h", isExpired: false, issuedAt: 1_000)

        #expect(tickets.issue(profile, for: presented, at: 1_000) == nil)
    }

    @Test("A ticket that is not ours is ignored", arguments: ["", "x", "AAAA", "good alice", "...."])
    func foreign(text: String) throws {
        #expect(tickets.profile(in: text, for: presented, at: 1_000) == nil)
    }
}
