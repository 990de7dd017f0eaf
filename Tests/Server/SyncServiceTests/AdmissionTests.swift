import Foundation
import Logging
import Providers
import Store
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
        location: String? = nil, adding headers: [RequestHeader: String] = [:]
    ) -> RequestHead {
        let endpoint = type(of: request).endpoint
        return RequestHead(
            method: endpoint.route.method.rawValue, path: "/\(endpoint.rawValue)/", query: request.encodedQuery,
            contentLength: length, requestID: "request-1",
            headers: (phone?.headers ?? [:]).merging(headers) { $1 }, signInTicket: ticket, admissionLocation: location)
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

    @Test("A member is admitted with 204, and the body is not read")
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

    @Test("The ticket saves the transfer role the sign-in, and is valid for exactly these credentials")
    func ticket() throws {
        let ticket = try #require(ask(head(download(in: alice.group), of: alice)).header("syncd-signed-in"))
        // An unknown token, which is rejected without a ticket.
        let unknown = [RequestHeader.accessToken: "bad token"]
        let withoutTicket = FakeConnection()
        server.router.handle(
            head(download(in: alice.group), of: alice, adding: unknown), on: withoutTicket, transport: .unused)
        #expect(withoutTicket.code == "credentials_rejected")
        let others = FakeConnection()
        server.router.handle(
            head(download(in: alice.group), of: alice, ticket: ticket, adding: unknown), on: others, transport: .unused)
        #expect(others.code == "credentials_rejected")

        let contents = SignInTickets(keys: server.keys).contents(
            of: ticket, for: PresentedCredentials(accountType: .google, accessToken: "good \(alice.name)"),
            at: noon.secondsSince1970)
        #expect(contents?.profile.providerUserID == alice.name)
    }
}

@Suite("Downloads that need no admission")
struct UnaskedDownloadTests {
    private static let location = "@somewhere"
    private let server: TestServer
    private let alice: Phone
    private let request: DownloadFileRequest
    /// The clock of the transfer role.
    private let clock = SteppedClock()

    init() throws {
        server = try TestServer(signInTimeToLive: .seconds(60))
        alice = try server.signUp()
        request = DownloadFileRequest(
            fileUUID: someFile(), fileVersion: FileVersion(0), masterVersion: MasterVersion(0),
            sharingGroupUUID: alice.group)
    }

    /// The transfer role: another process, without the api role's memory.
    private func transferRole(_ maintenance: MaintenanceWatch? = nil) -> Router {
        var services = server.services
        services.signInCache = SignInCache(timeToLive: .seconds(60), pause: { _ in }, now: { [clock] in clock.now })
        services.maintenance = maintenance
        services.refusesDuringMaintenance = false
        return Router(services: services, logger: Logger(label: "transfers", factory: { [log = server.log] _ in log }))
    }

    private func head(
        ticket: String? = nil, location: String? = nil, adding headers: [RequestHeader: String] = [:]
    ) -> RequestHead {
        RequestHead(
            method: "GET", path: "/DownloadFile/", query: request.encodedQuery, contentLength: nil,
            requestID: "request-1", headers: alice.headers.merging(headers) { $1 }, signInTicket: ticket,
            admissionLocation: location)
    }

    /// Admits the download in the api role, and serves it in the transfer role.
    private func serveAdmitted(_ router: Router) throws {
        let admission = FakeConnection()
        server.router.admit(head(), on: admission, transport: .unused)
        let ticket = try #require(admission.header("syncd-signed-in"))
        #expect(code(router, head(ticket: ticket)) == "file_unknown")
    }

    private func code(_ router: Router, _ head: RequestHead) -> String? {
        let connection = FakeConnection()
        router.handle(head, on: connection, transport: .unused)
        return connection.code
    }

    private func isPassedOn(_ router: Router, adding headers: [RequestHeader: String] = [:]) -> Bool {
        let connection = FakeConnection()
        let lines = server.log.lines("Request").count
        router.handle(head(location: Self.location, adding: headers), on: connection, transport: .unused)
        guard let location = connection.header("x-accel-redirect") else { return false }
        #expect(location == Self.location)
        #expect(connection.status == 200)
        #expect(connection.body == [])
        #expect(connection.end == .finished)
        #expect(server.log.lines("Request").count == lines, "it is logged when it returns")
        return true
    }

    @Test("The api role admits the first download with a token; the following ones need no admission")
    func known() throws {
        let router = transferRole()
        #expect(isPassedOn(router))

        try serveAdmitted(router)

        #expect(!isPassedOn(router))
        #expect(code(router, head(location: Self.location)) == "file_unknown")
    }

    @Test("Credentials that were not admitted are passed to the api role")
    func others() throws {
        let router = transferRole()
        try serveAdmitted(router)

        #expect(isPassedOn(router, adding: [.accessToken: "good somebody else"]))
        #expect(isPassedOn(router, adding: [.tokenType: "FacebookToken"]))
        #expect(isPassedOn(router, adding: [.tokenType: "NoSuchToken"]))
        #expect(isPassedOn(router, adding: [.accessToken: ""]))
    }

    @Test("A sign-in is passed to the api role when its renewal is due, and never outlasts the api role's")
    func settledTime() throws {
        let router = transferRole()
        try serveAdmitted(router)

        // The api role renews it after three quarters of its minute, which has already begun.
        clock.advance(.seconds(43))
        #expect(!isPassedOn(router))
        clock.advance(.seconds(2))
        #expect(isPassedOn(router))
    }

    @Test("A sign-in that the api role does not remember is not remembered in the transfer role")
    func notRemembered() throws {
        let router = transferRole()
        let ticket = try #require(
            SignInTickets(keys: server.keys).issue(
                SignInProfile(providerUserID: alice.name, displayName: alice.name),
                for: PresentedCredentials(accountType: .google, accessToken: "good \(alice.name)"), settledTime: nil,
                at: noon.secondsSince1970))

        #expect(code(router, head(ticket: ticket)) == "file_unknown")
        #expect(isPassedOn(router))
    }

    @Test("While the server is closed, downloads are passed to the api role, and admitted ones are finished")
    func maintenance() throws {
        let watch = MaintenanceWatch(store: server.store, logger: Logger(label: "maintenance"))
        let router = transferRole(watch)
        try serveAdmitted(router)
        #expect(!isPassedOn(router))

        var operatorSwitch = try MaintenanceSwitch(try #require(server.settings))
        _ = try operatorSwitch.close("Back soon.")
        watch.refresh()

        #expect(isPassedOn(router))
        try serveAdmitted(router)
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

    @Test("A ticket is valid for two minutes, and only for the same credentials")
    func lifetime() throws {
        let ticket = try #require(tickets.issue(profile, for: presented, settledTime: nil, at: 1_000))

        #expect(tickets.contents(of: ticket, for: presented, at: 1_120)?.profile == profile)
        #expect(tickets.contents(of: ticket, for: presented, at: 1_121) == nil)
        #expect(tickets.contents(of: ticket, for: presented, at: 879) == nil)
        for other in [
            PresentedCredentials(accountType: .google, accessToken: "b"),
            PresentedCredentials(accountType: .facebook, accessToken: "a"),
        ] { #expect(tickets.contents(of: ticket, for: other, at: 1_000) == nil) }
    }

    @Test("A ticket preserves an identifier regardless of its characters")
    func oddIdentifier() throws {
        let odd = SignInProfile(providerUserID: "sha256:ab\nx@evil/\"\\", displayName: "A")
        let ticket = try #require(tickets.issue(odd, for: presented, settledTime: nil, at: 1_000))

        #expect(tickets.contents(of: ticket, for: presented, at: 1_000)?.profile == odd)
    }

    @Test("A ticket gives the time for which the sign-in may be remembered, minus its own age")
    func settledTime() throws {
        let cases: [(given: Int, age: Int64, left: Int)] = [
            (90, 0, 90), (90, 60, 30), (90, -60, 30), (90, 100, 0), (0, 0, 0),
        ]
        for (given, age, left) in cases {
            let ticket = try #require(
                tickets.issue(profile, for: presented, settledTime: .seconds(given), at: 1_000))
            let contents = tickets.contents(of: ticket, for: presented, at: 1_000 + age)
            #expect(contents == SignInTickets.Contents(profile: profile, settledTime: .seconds(left)))
        }
    }

    @Test("A sign-in with an identity token gets no ticket: each role verifies the token itself")
    func identityToken() {
        var profile = profile
        profile.identityToken = IdentityToken(hash: "h", isExpired: false, issuedAt: 1_000, clientID: "")

        #expect(tickets.issue(profile, for: presented, settledTime: nil, at: 1_000) == nil)
    }

    @Test("A ticket that the server did not issue is ignored", arguments: ["", "x", "AAAA", "good alice", "...."])
    func foreign(text: String) throws {
        #expect(tickets.contents(of: text, for: presented, at: 1_000) == nil)
    }
}
