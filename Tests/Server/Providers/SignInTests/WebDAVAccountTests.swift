import Foundation
import HTTPTransport
import HTTPTypes
import Providers
import SyncProtocol
import Synchronization
import TestSupport
import Testing

@Suite("WebDAV accounts")
struct WebDAVAccountTests {
    private static let servers = NamedServers(
        listed: ["https://cloud.example.com/", "http://nas.local:8080/"].compactMap { ServerAddress($0) },
        admitsAnyPublic: false)

    private static func presented(_ details: String?) -> PresentedCredentials {
        PresentedCredentials(accountType: .webDAV, accessToken: "app-password", accountDetails: details)
    }

    private static func details(_ address: String, user: String? = "alice@example.com") -> String {
        let user = user.map { ",\"user\":\"\($0)\"" } ?? ""
        return "{\"address\":\"\(address)\"\(user)}"
    }

    private static func folder(_ properties: String = "") -> Reply {
        Reply(
            207,
            "<d:multistatus xmlns:d='DAV:' xmlns:oc='http://owncloud.org/ns'><d:response><d:href>/x/</d:href><d:propstat>"
                + "<d:prop><d:resourcetype><d:collection/></d:resourcetype>\(properties)</d:prop>"
                + "<d:status>HTTP/1.1 200 OK</d:status></d:propstat></d:response></d:multistatus>")
    }

    private static let principal =
        "<d:current-user-principal><d:href>/remote.php/dav/principals/users/alice/</d:href></d:current-user-principal>"

    @Test("A user who can read the folder at the address is its owner, and the address is part of the identity")
    func verified() throws {
        let script = AccountScript(["files/": Self.folder()])
        let account = WebDAVAccount(servers: Self.servers)

        let profile = try account.verify(
            Self.presented(Self.details("HTTPS://Cloud.Example.com:443/files")), through: script.client)

        #expect(profile.providerUserID == "alice@example.com@cloud.example.com/files/")
        let request = try #require(script.transport.requests.first)
        #expect(request.url == "https://cloud.example.com/files/" && request.method.rawValue == "PROPFIND")
        #expect(
            request.headers[.authorization]
                == "Basic " + Data("alice@example.com:app-password".utf8).base64EncodedString())
        #expect(request.destination == .listed)
    }

    @Test("On a Nextcloud server, a user is the same regardless of the name that they sign in with")
    func principals() throws {
        let script = AccountScript(["alice/": Self.folder("<oc:fileid>3</oc:fileid>" + Self.principal)])
        let account = WebDAVAccount(servers: Self.servers)
        let details = ["alice", "alice@example.com"].map {
            Self.details("https://cloud.example.com/remote.php/dav/files/alice/", user: $0)
        }

        let profiles = try details.map { try account.verify(Self.presented($0), through: script.client) }

        #expect(Set(profiles.map(\.providerUserID)) == ["alice@cloud.example.com/remote.php/dav/files/alice/"])
        // A plain server could call every user alice.
        let plain = AccountScript(["alice/": Self.folder(Self.principal)])
        #expect(
            try account.verify(Self.presented(details[1]), through: plain.client).providerUserID.hasPrefix(
                "alice@example.com@"))
    }

    @Test("A token without a user is a bearer token")
    func bearer() throws {
        let script = AccountScript(["dav/": Self.folder("<oc:fileid>3</oc:fileid>" + Self.principal)])
        let account = WebDAVAccount(servers: Self.servers)

        _ = try account.verify(
            Self.presented(Self.details("https://cloud.example.com/dav", user: nil)), through: script.client)

        #expect(script.transport.requests.first?.headers[.authorization] == "Bearer app-password")
        let plain = AccountScript(["dav/": Self.folder()])
        #expect(throws: AccountError.self) {
            try account.verify(
                Self.presented(Self.details("https://cloud.example.com/dav", user: nil)), through: plain.client)
        }
    }

    @Test(
        "Details that name no folder are rejected, with a sentence about them",
        arguments: [
            nil, "", "alice", "{}", "{\"address\":5}", "{\"address\":\"cloud.example.com\",\"user\":\"a\"}",
            "{\"address\":\"https://cloud.example.com/a/../b\",\"user\":\"a\"}",
            "{\"address\":\"https://cloud.example.com/\",\"user\":\"a:b\"}",
            "{\"address\":\"https://example.com/\",\"user\":\"bob@example.com@cloud.example.com/files/bob\"}",
            "{\"address\":\"https://cloud.example.com/\",\"user\":\"a\\nb\"}",
        ])
    func malformed(details: String?) {
        let script = AccountScript([:])
        #expect {
            try WebDAVAccount(servers: Self.servers).verify(Self.presented(details), through: script.client)
        } throws: { error in
            if case AccountError.malformedDetails = error { true } else { false }
        }
        #expect(script.transport.requests.isEmpty)
    }

    @Test(
        "A server that the operator does not list is not contacted",
        arguments: [
            "https://other.example.com/", "http://cloud.example.com/", "https://127.0.0.1/", "http://nas.local/",
        ])
    func unlisted(address: String) {
        let script = AccountScript([:])
        #expect(throws: AccountError.serverNotAllowed) {
            try WebDAVAccount(servers: Self.servers).verify(
                Self.presented(Self.details(address)), through: script.client)
        }
        #expect(script.transport.requests.isEmpty)
    }

    @Test("A wrong password is rejected; an address without a folder is reported", arguments: [401, 403, 404, 200])
    func refused(status: Int) {
        let script = AccountScript([
            "files/": Reply(status, "", headers: [.wwwAuthenticate: "Basic realm=\"files\""])
        ])
        #expect {
            try WebDAVAccount(servers: Self.servers).verify(
                Self.presented(Self.details("https://cloud.example.com/files/")), through: script.client)
        } throws: { error in
            switch error {
            case AccountError.rejected: status == 401
            case AccountError.storageUnusable(.forbidden): status == 403
            case AccountError.malformedDetails: [404, 200].contains(status)
            default: false
            }
        }
    }

    @Test(
        "Only the server's own rejection rejects a password",
        arguments: [
            (
                Reply(401, "<html>401 Authorization Required", headers: [.wwwAuthenticate: "Basic realm=\"files\""]),
                AccountError.rejected
            ),
            (Reply(401, "<!DOCTYPE html><html>Please sign in"), .unavailable(detail: "a 401 without a challenge")),
            (Reply(401, "{\"message\": \"Unauthorized\"}"), .unavailable(detail: "a 401 without a challenge")),
            (
                Reply(401, "Please sign in", headers: [.contentType: "text/html; charset=utf-8"]),
                .unavailable(detail: "a 401 without a challenge")
            ),
            (
                Reply(401, "", headers: [.wwwAuthenticate: "Digest realm=\"/\", nonce=\"a\", qop=\"auth\""]),
                .storageUnusable(.digestOnly)
            ),
            (
                Reply(401, "", headers: [.wwwAuthenticate: "Digest realm=\"/\", nonce=\"a\", Basic realm=\"/\""]),
                .rejected
            ),
            (
                Reply(401, "", headers: [.wwwAuthenticate: "Bearer realm=\"Nextcloud\", Basic realm=\"Nextcloud\""]),
                .rejected
            ),
            (
                Reply(
                    403,
                    "<d:error xmlns:d='DAV:' xmlns:s='http://sabredav.org/ns'><s:exception>OCA\\TermsOfService\\"
                        + "TermsNotSignedException</s:exception><s:message>Terms of service are not signed</s:message></d:error>"
                ), .storageUnusable(.termsNotAccepted)
            ),
            (Reply(403, "<html>Attention required"), .storageUnusable(.forbidden)),
        ])
    func words(reply: Reply, meaning: AccountError) {
        let script = AccountScript(["files/": reply])
        #expect(throws: meaning) {
            try WebDAVAccount(servers: Self.servers).verify(
                Self.presented(Self.details("https://cloud.example.com/files/")), through: script.client)
        }
    }

    @Test("Unaccepted terms of service do not withdraw a password")
    func terms() throws {
        let account = WebDAVAccount(servers: Self.servers)
        let script = AccountScript([
            "files/": Reply(403, "<s:exception>OCA\\TermsOfService\\TermsNotSignedException</s:exception>")
        ])
        let stored = account.credentials(from: Self.presented(Self.details("https://cloud.example.com/files/")))
        #expect(throws: AccountError.storageUnusable(.termsNotAccepted)) {
            try account.refresh(stored, through: script.client)
        }
    }

    @Test(
        "A Nextcloud address that is not a files folder is distinguished from a folder without write access",
        arguments: [
            ("https://cloud.example.com/remote.php/dav/files/", StorageObstacle.notAHome),
            ("https://cloud.example.com/remote.php/dav/calendars/alice/", .notAHome),
            ("https://cloud.example.com/remote.php/dav/files/bob/", .ofSomebodyElse),
            ("https://cloud.example.com/remote.php/dav/files/Alice/", .readOnly),
            ("https://cloud.example.com/remote.php/webdav/", .readOnly), ("https://cloud.example.com/dav/", .readOnly),
        ])
    func misleadingAddresses(address: String, obstacle: StorageObstacle) {
        let account = WebDAVAccount(servers: Self.servers)
        let script = AccountScript(answering: { url in
            url.hasSuffix("trial/") ? Reply(403, "") : Self.folder("<oc:fileid>3</oc:fileid>" + Self.principal)
        })
        let stored = account.credentials(from: Self.presented(Self.details(address)))

        #expect(throws: AccountError.storageUnusable(obstacle)) {
            try account.requireStorage(with: stored, through: script.client)
        }
    }

    @Test("A password is withdrawn when it is rejected twice, a minute apart, and it is not tried in between")
    func refusals() throws {
        let seconds = Mutex(1_000_000.0)
        let account = WebDAVAccount(servers: Self.servers) {
            Date(timeIntervalSince1970: seconds.withLock { $0 })
        }
        let script = AccountScript(["files/": .refusedPassword])
        var stored = account.credentials(from: Self.presented(Self.details("https://cloud.example.com/files/")))

        stored = stored.updated(with: try account.refresh(stored, through: script.client))
        #expect(stored.usableToken == "app-password" && stored.refusal == CredentialRefusal(firstAt: 1_000_000))
        seconds.withLock { $0 += 59 }
        stored = stored.updated(with: try account.refresh(stored, through: script.client))
        #expect(stored.usableToken == "app-password" && script.transport.requests.count == 1)
        seconds.withLock { $0 += 1 }
        stored = stored.updated(with: try account.refresh(stored, through: script.client))

        #expect(stored.usableToken == nil && script.transport.requests.count == 2)
        // A new sign-in brings other credentials, about which nothing is known.
        let again = stored.updated(with: account.credentials(from: Self.presented(stored.location)))
        #expect(again.usableToken == "app-password" && again.refusal == nil)
    }

    @Test("A password accepted after a rejection is valid as before")
    func accepted() throws {
        let account = WebDAVAccount(servers: Self.servers) { Date(timeIntervalSince1970: 1_000_100) }
        let script = AccountScript(["files/": Self.folder()])
        var stored = account.credentials(from: Self.presented(Self.details("https://cloud.example.com/files/")))
        stored.refusal = CredentialRefusal(firstAt: 1_000_000)

        stored = stored.updated(with: try account.refresh(stored, through: script.client))

        #expect(stored.usableToken == "app-password" && stored.refusal == nil)
    }

    @Test("An unreachable server has not rejected anything", arguments: [500, 503])
    func unavailable(status: Int) {
        let account = WebDAVAccount(servers: Self.servers)
        let script = AccountScript(["files/": Reply(status, "")])
        let stored = account.credentials(from: Self.presented(Self.details("https://cloud.example.com/files/")))
        #expect(throws: AccountError.notAsked(retryAfter: Pauses.usual, detail: "status \(status)")) {
            try account.refresh(stored, through: script.client)
        }
    }

    @Test("When a user leaves, the app password is revoked, at Nextcloud only")
    func revocation() throws {
        let account = WebDAVAccount(servers: Self.servers)
        let script = AccountScript(["apppassword": Reply(200, "")])
        func revoke(_ address: String) throws {
            try account.revoke(
                account.credentials(from: Self.presented(Self.details(address))), through: script.client)
        }

        try revoke("https://cloud.example.com/nc/remote.php/dav/files/alice/Some/Folder/")
        try revoke("https://cloud.example.com/dav/")

        let requests = script.transport.requests
        #expect(requests.map(\.url) == ["https://cloud.example.com/nc/ocs/v2.php/core/apppassword"])
        #expect(requests.first?.method == .delete)
        #expect(requests.first?.headers[HTTPField.Name("OCS-APIRequest")!] == "true")
    }

    @Test("The stored details are in canonical form, and contain no secret")
    func kept() {
        let stored = WebDAVAccount(servers: Self.servers).credentials(
            from: Self.presented(Self.details("https://Cloud.example.com:443/a%2db", user: "alice")))
        #expect(stored.location == "{\"address\":\"https://cloud.example.com/a-b/\",\"user\":\"alice\"}")
        #expect(stored.accessToken == "app-password" && "\(stored)" == "<redacted>")
    }
}
