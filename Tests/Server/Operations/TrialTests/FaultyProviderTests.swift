import HTTPTransport
import HTTPTypes
import Operations
import Providers
import TestSupport
import Testing

/// A fault of a provider or of the operator's settings, and the step that must report it.
struct PlantedFault: Sendable, CustomTestStringConvertible {
    let name: String
    let provider: SandboxProvider
    let step: String
    /// The required text of the step.
    let words: String
    var prepare: @Sendable (inout TrialPerson, SandboxControl) throws -> Void = { _, _ in }
    var deceptions: @Sendable () -> Deceptions = { Deceptions() }
    /// Whether the storage is empty afterwards despite the fault.
    var leavesNothing = true

    var testDescription: String { "\(provider.rawValue): \(name)" }
}

extension PlantedFault {
    static let all = settings + signIn + storage + farewell

    // MARK: Settings

    private static let settings = [
        PlantedFault(
            name: "a wrong client secret", provider: .google, step: "registration", words: "invalid_client",
            prepare: { person, _ in try person.set("GoogleServerClientSecret", to: "another") }),
        PlantedFault(
            name: "a wrong app secret", provider: .dropbox, step: "registration", words: "invalid_client",
            prepare: { person, _ in try person.set("DropboxAppSecret", to: "another") }),
        PlantedFault(
            name: "a wrong client secret", provider: .microsoft, step: "registration", words: "7000215",
            prepare: { person, _ in try person.set("MicrosoftClientSecret", to: "another") }),
    ]

    // MARK: Sign-in

    private static let signIn = [
        PlantedFault(
            name: "the token of another app", provider: .google, step: "audience", words: "belongs to another app",
            deceptions: {
                Deceptions { request in
                    request.url.contains("/tokeninfo")
                        ? .turning { $0.replacing("1234567890-", with: "9876543210-") } : .none
                }
            }),
        PlantedFault(
            name: "the token of another app", provider: .microsoft, step: "audience", words: "belongs to another app",
            prepare: { person, _ in
                try person.set("MicrosoftClientId", to: "00000000-0000-4000-8000-000000000000")
            },
            // The application is registered, but the token belongs to another one.
            deceptions: {
                Deceptions { request in
                    request.call.operation == .token
                        ? .saying(Reply(400, #"{"error": "invalid_grant", "error_codes": [70008]}"#)) : .none
                }
            }),
        PlantedFault(
            name: "the token of another app", provider: .facebook, step: "audience", words: "belongs to another app",
            deceptions: {
                Deceptions { request in
                    request.url.contains("/debug_token")
                        ? .turning { $0.replacing("123456789012345", with: "543210987654321") } : .none
                }
            }),
        PlantedFault(
            name: "a wrong password", provider: .webdav, step: "identity", words: "the token is rejected",
            prepare: { person, _ in person.credentials.accessToken = "another-password" }),
        PlantedFault(
            name: "a token that has expired", provider: .dropbox, step: "identity", words: "the token is rejected",
            prepare: { person, sandbox in try sandbox.expireAccessTokens(of: person.account, .device) }),
        PlantedFault(
            name: "a web page instead of JSON", provider: .google, step: "identity", words: "a web page",
            deceptions: {
                Deceptions { request in
                    request.url.contains("/userinfo")
                        ? .saying(Reply(200, "<html></html>", headers: [.contentType: "text/html; charset=UTF-8"]))
                        : .none
                }
            }),
        PlantedFault(
            name: "any token is accepted", provider: .dropbox, step: "forgery", words: "is accepted",
            deceptions: Deceptions.acceptingAnybody),
        PlantedFault(
            name: "the code is rejected", provider: .google, step: "exchange",
            words: "the authorization code is rejected",
            prepare: { person, _ in person.credentials.authorizationCode = "4/0Aanother-code" }),
        PlantedFault(
            name: "no refresh token", provider: .google, step: "exchange", words: "no refresh token",
            deceptions: {
                Deceptions { request in
                    request.call.operation == .token
                        ? .turning { $0.replacing("\"refresh_token\"", with: "\"other\"") } : .none
                }
            }),
        PlantedFault(
            name: "the permission for the storage is missing", provider: .google, step: "exchange",
            words: "the permission for the storage is missing",
            deceptions: {
                Deceptions { request in
                    request.call.operation == .token
                        ? .turning { $0.replacing("/auth/drive", with: "/auth/elsewhere") } : .none
                }
            }),
        PlantedFault(
            name: "the renewal is rejected", provider: .dropbox, step: "renewal", words: "the authorization is revoked",
            deceptions: {
                let first = Memory(true)
                return Deceptions { request in
                    guard request.isRenewal, first.value else { return .none }
                    first.value = false
                    return .saying(Reply(400, #"{"error": "invalid_grant"}"#))
                }
            }),
    ]

    // MARK: Storage

    private static let storage = [
        PlantedFault(
            name: "an account without OneDrive", provider: .microsoft, step: "storage",
            words: "the account has no storage",
            prepare: { person, sandbox in try sandbox.setOneDrive(of: person.account, "unlicensed") }),
        PlantedFault(
            name: "a web page instead of a listing", provider: .microsoft, step: "storage",
            words: "a web page",
            deceptions: {
                Deceptions { request in
                    request.url.contains("/children")
                        ? .saying(Reply(200, "<html></html>", headers: [.contentType: "text/html"])) : .none
                }
            }),
        PlantedFault(
            name: "no quota", provider: .google, step: "quota", words: "no quota is reported",
            deceptions: {
                Deceptions { request in request.url.contains("/about") ? .saying(Reply(200, "{}")) : .none }
            }),
        PlantedFault(
            name: "a full storage", provider: .dropbox, step: "smallUpload", words: "quota exceeded",
            prepare: { _, sandbox in
                var fault = SandboxFault(host: nil, pathPrefix: "/2/files/upload", status: 409)
                fault.reason = "path/insufficient_space"
                try sandbox.inject(fault)
            }),
        PlantedFault(
            name: "a wrong hash", provider: .google, step: "smallUpload", words: "computed: 3000 bytes with the hash",
            deceptions: {
                Deceptions { request in
                    request.call.operation == .upload
                        || request.call.operation == .metadata
                        ? .turning {
                            $0.replacing(member: "md5Checksum", by: "\"00000000000000000000000000000000\"")
                        } : .none
                }
            }),
        PlantedFault(
            name: "bytes that change in transit", provider: .webdav, step: "storage", words: "its contents differ",
            prepare: { _, sandbox in
                var fault = SandboxFault(host: "nextcloud.sandbox.test", method: "PUT")
                fault.corruptAtByte = 100
                try sandbox.inject(fault)
            }),
        PlantedFault(
            name: "a different size", provider: .microsoft, step: "description", words: "reported: 3001 bytes",
            deceptions: {
                Deceptions { request in
                    request.call.operation == .metadata && request.method == .get && request.url.contains("/items/")
                        ? .turning { $0.replacing(member: "size", by: "3001") } : .none
                }
            }),
        PlantedFault(
            name: "a download that ends early", provider: .google, step: "download", words: "connection lost",
            prepare: { _, sandbox in
                var fault = SandboxFault(pathPrefix: "/drive/v3/files/")
                fault.queryContains = "alt=media"
                fault.truncateAfterBytes = 0
                try sandbox.inject(fault)
            }),
        PlantedFault(
            name: "other bytes", provider: .dropbox, step: "download", words: "first at position 77",
            prepare: { _, sandbox in
                // The request has no body.
                var fault = SandboxFault(host: nil, pathPrefix: "/2/files/download", times: 1)
                fault.corruptAtByte = 77
                try sandbox.inject(fault)
            }),
        PlantedFault(
            name: "the whole file instead of a range", provider: .google, step: "range",
            words: "the whole file is returned",
            deceptions: { Deceptions { $0.headers[.range] == nil ? .none : .asking($0.without(.range)) } }),
        PlantedFault(
            name: "an upload session that is lost when its connection breaks", provider: .google, step: "largeUpload",
            words: "Drive lost the upload session",
            prepare: { _, sandbox in
                var fault = SandboxFault(pathPrefix: "/upload/drive/v3/files", method: "PUT", status: 404)
                fault.skip = 2
                try sandbox.inject(fault)
            }),
        PlantedFault(
            name: "an upload session that is lost when its connection breaks", provider: .microsoft,
            step: "largeUpload", words: "session",
            deceptions: {
                let parts = Memory(0)
                return Deceptions { request in
                    guard request.call.operation == .upload, request.method == .put || request.method == .get,
                        request.url.contains("microsoftpersonalcontent")
                    else { return .none }
                    parts.value += 1
                    return parts.value < 2
                        ? .none : .saying(Reply(404, #"{"error": {"code": "itemNotFound", "message": ""}}"#))
                }
            }),
        PlantedFault(
            name: "an upload session that is lost when its connection breaks", provider: .dropbox, step: "largeUpload",
            words: "upload session",
            prepare: { _, sandbox in
                var fault = SandboxFault(host: nil, pathPrefix: "/2/files/upload_session/append_v2", status: 409)
                fault.reason = "not_found"
                try sandbox.inject(fault)
            }),
        PlantedFault(
            name: "a download that cannot be resumed", provider: .dropbox, step: "resumedDownload",
            words: "connection lost",
            deceptions: {
                let downloads = Memory(0)
                return Deceptions { request in
                    guard request.call.operation == .download else { return .none }
                    downloads.value += 1
                    // The earlier requests read the small file, whole and as a range.
                    return downloads.value > 3 ? .silence : .none
                }
            }),
        PlantedFault(
            name: "an identifier that changes with the name", provider: .google, step: "rename",
            words: "no longer found by its identifier",
            deceptions: {
                let isRenamed = Memory(false)
                return Deceptions { request in
                    if request.method == .patch { isRenamed.value = true }
                    guard isRenamed.value, request.method == .get, request.url.contains("/files/") else { return .none }
                    return .saying(Reply(404, #"{"error": {"code": 404, "errors": [{"reason": "notFound"}]}}"#))
                }
            }),
        PlantedFault(
            name: "a renamed file that is not found", provider: .webdav, step: "rename",
            words: "no longer found by its identifier",
            deceptions: {
                let isRenamed = Memory(false)
                return Deceptions { request in
                    if request.headers.contains(where: { $0.value.hasSuffix("-renamed.bin") }) {
                        isRenamed.value = true
                    }
                    return isRenamed.value && request.method.rawValue == "SEARCH"
                        ? .saying(
                            Reply(207, #"<d:multistatus xmlns:d="DAV:"/>"#, headers: [.contentType: "application/xml"]))
                        : .none
                }
            }),
        PlantedFault(
            name: "a listing that is empty", provider: .google, step: "listing", words: "missing from the listing",
            deceptions: {
                let asked = Memory(0)
                return Deceptions { request in
                    guard request.url.contains("in%20parents") else { return .none }
                    asked.value += 1
                    // Until the step has given up; the clean-up sees the real listing.
                    return asked.value <= 8 ? .saying(Reply(200, #"{"files": []}"#)) : .none
                }
            }),
        PlantedFault(
            name: "a deletion that does not delete", provider: .google, step: "deletion", words: "still exists",
            deceptions: {
                Deceptions { request in
                    request.method == .delete
                        ? .saying(Reply(head: ReplyHead(status: 204, headers: [:]), body: [])) : .none
                }
            }, leavesNothing: false),
        PlantedFault(
            name: "a second deletion that is rejected", provider: .microsoft, step: "repeatedDeletion",
            words: "accessDenied",
            deceptions: {
                let deletions = Memory(0)
                return Deceptions { request in
                    guard request.call.operation == .delete, request.url.contains("/items/") else { return .none }
                    deletions.value += 1
                    return deletions.value == 2
                        ? .saying(Reply(403, #"{"error": {"code": "accessDenied", "message": ""}}"#)) : .none
                }
            }),
    ]

    // MARK: Clean-up

    private static let farewell = [
        PlantedFault(
            name: "a revocation that is rejected", provider: .google, step: "revocation", words: "replied not_allowed",
            deceptions: {
                Deceptions { request in
                    request.call.operation == .revoke ? .saying(Reply(400, #"{"error": "not_allowed"}"#)) : .none
                }
            }),
        PlantedFault(
            name: "a revoked token rejected with another error", provider: .google, step: "revoked",
            words: "replied token_withdrawn",
            deceptions: {
                let isRevoked = Memory(false)
                return Deceptions { request in
                    if request.call.operation == .revoke { isRevoked.value = true }
                    return isRevoked.value && request.isRenewal
                        ? .saying(Reply(400, #"{"error": "token_withdrawn"}"#)) : .none
                }
            }),
        PlantedFault(
            name: "a revocation that revokes nothing", provider: .dropbox, step: "revoked", words: "still renews",
            deceptions: {
                Deceptions { request in
                    request.call.operation == .revoke ? .saying(Reply(200, "null")) : .none
                }
            }),
    ]
}

/// State that a deception keeps from one request to the next, on one thread.
final class Memory<Value> {
    var value: Value

    init(_ value: Value) { self.value = value }
}

extension TrialTests {
    @Suite("Providers with faults")
    struct FaultyProviderTests {
        @Test("A planted fault is reported by its step, and no file is left in storage", arguments: PlantedFault.all)
        func named(fault: PlantedFault) throws {
            var person = try TrialPerson(fault.provider)
            try fault.prepare(&person, try TrialSandbox.server().sandbox)

            let report = try person.run(fault.deceptions())

            try report.expectFault(
                in: fault.step, words: fault.words, files: fault.leavesNothing ? person.files() : nil)
        }

        @Test("A provider that never replies is reported as unreachable, not as faulty")
        func unreachable() throws {
            let report = try TrialPerson(.google).run(Deceptions { _ in .silence })

            #expect(report.outcome == .unreachable)
            #expect(report["registration"]?.came.contains("no connection") == true)
            #expect(report["smallUpload"]?.result == .notTried)
        }

        @Test("A failed step shows the provider's code and the shape of the call; a successful one shows neither")
        func calls() throws {
            var person = try TrialPerson(.google)
            try person.set("GoogleServerClientSecret", to: "another")

            let report = try person.run()

            let call = try #require(report["registration"]?.calls.first)
            #expect(call.method == "POST" && call.host == "oauth2.googleapis.com" && call.path == "/token")
            #expect(call.status == 401 && call.code == "invalid_client")
            #expect(report["identity"]?.calls == [])
        }
    }
}
