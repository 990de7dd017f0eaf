import HTTPTransport
import HTTPTypes
import Synchronization
import TestSupport
import Testing

@testable import Metrics

@Suite("Requests to providers, in few words")
struct ProviderCallTests {
    typealias Call = (method: String, url: String, provider: ServiceProvider, operation: ProviderCall.Operation)

    @Test(
        "Host, path and method say what is asked",
        arguments: [
            ("GET", "https://oauth2.googleapis.com/tokeninfo?access_token=x", .google, .identity),
            ("GET", "https://www.googleapis.com/oauth2/v3/userinfo", .google, .identity),
            ("GET", "https://www.googleapis.com/drive/v3/files?q=x", .google, .metadata),
            ("GET", "https://www.googleapis.com/drive/v3/files/id?alt=media", .google, .download),
            ("GET", "https://www.googleapis.com/drive/v3/files/id?fields=md5Checksum", .google, .metadata),
            ("POST", "https://www.googleapis.com/drive/v3/files", .google, .metadata),
            ("POST", "https://www.googleapis.com/upload/drive/v3/files?uploadType=resumable", .google, .upload),
            ("PUT", "https://www.googleapis.com/upload/drive/v3/files?upload_id=1", .google, .upload),
            ("DELETE", "https://www.googleapis.com/drive/v3/files/id", .google, .delete),
            ("POST", "https://api.dropboxapi.com/2/users/get_current_account", .dropbox, .identity),
            ("POST", "https://api.dropboxapi.com/2/files/get_metadata", .dropbox, .metadata),
            ("POST", "https://api.dropboxapi.com/2/files/delete_v2", .dropbox, .delete),
            ("POST", "https://content.dropboxapi.com/2/files/download", .dropbox, .download),
            ("POST", "https://content.dropboxapi.com/2/files/upload_session/start", .dropbox, .upload),
            ("GET", "https://graph.microsoft.com/v1.0/me", .microsoft, .identity),
            ("GET", "https://graph.microsoft.com/v1.0/me/drive/special/approot", .microsoft, .metadata),
            ("GET", "https://graph.microsoft.com/v1.0/me/drive/items/id/content", .microsoft, .download),
            ("POST", "https://graph.microsoft.com/v1.0/me/drive/items/id:/n:/createUploadSession", .microsoft, .upload),
            ("PUT", "https://my.microsoftpersonalcontent.com/personal/x/up", .microsoft, .upload),
            ("GET", "https://my.microsoftpersonalcontent.com/personal/x/down", .microsoft, .download),
            ("GET", "https://login.microsoftonline.com/common/discovery/v2.0/keys", .microsoft, .identity),
            ("GET", "https://graph.facebook.com/v25.0/me?fields=id", .facebook, .identity),
            ("GET", "https://appleid.apple.com/auth/keys", .apple, .identity),
            ("POST", "https://appleid.apple.com/auth/token", .apple, .token),
            ("POST", "https://api.push.apple.com/3/device/0a", .apns, .push),
            ("POST", "https://fcm.googleapis.com/v1/projects/p/messages:send", .fcm, .push),
            ("POST", "https://sns.us-west-2.amazonaws.com/", .sns, .push),
            ("GET", "https://example.com/", .other, .metadata),
        ] as [Call])
    func words(call: Call) throws {
        let found = ProviderCall(OutgoingRequest(try #require(.init(call.method)), call.url))

        #expect(found.provider == call.provider, "\(call.url)")
        #expect(found.operation == call.operation, "\(call.url)")
    }

    @Test("A refresh is told from a code, whatever else stands in the form")
    func refresh() {
        let url = "https://login.microsoftonline.com/common/oauth2/v2.0/token"
        let form = { (grant: String) in
            OutgoingRequest.form(url, [("client_secret", "s"), ("grant_type", grant), ("scope", "x")])
        }
        #expect(ProviderCall(form("refresh_token")).operation == .refresh)
        #expect(ProviderCall(form("authorization_code")).operation == .token)
    }

    @Test("Each status and each failure has its word")
    func outcomes() {
        let words: [(Int, ProviderCall.Outcome)] = [
            (200, .ok), (308, .ok), (400, .rejected), (401, .denied), (403, .denied), (404, .missing), (409, .conflict),
            (410, .missing), (412, .conflict), (429, .rateLimited), (500, .failed), (503, .failed), (507, .full),
        ]
        for (status, outcome) in words { #expect(ProviderCall.Outcome(status: status) == outcome) }
        #expect(ProviderCall.Outcome(.timedOut) == .timeout)
        #expect(ProviderCall.Outcome(.notSent) == .unreachable)
        #expect(ProviderCall.Outcome(.refused("TLS")) == .aborted)
    }

    @Test("A measured transport reports replies and failures, and changes neither")
    func measured() throws {
        let script = ScriptedTransport(replies: [Reply(503), Reply(200)])
        let record = Record()
        let transport = script.transport.measured { call, outcome, _ in record.add("\(call.provider) \(outcome)") }
        let request = OutgoingRequest(.get, "https://graph.facebook.com/me")

        #expect(try transport.send(request, by: .after(.seconds(5))).status == 503)
        #expect(try transport.send(request, by: .after(.seconds(5))).status == 200)
        #expect(throws: TransportError.interrupted) { try transport.send(request, by: .after(.seconds(5))) }

        #expect(record.words == ["facebook failed", "facebook ok", "facebook unreachable"])
    }
}

/// What a measured transport reported, in words.
private final class Record: Sendable {
    private let noted = Mutex<[String]>([])
    func add(_ words: String) { noted.withLock { $0.append(words) } }
    var words: [String] { noted.withLock { $0 } }
}
