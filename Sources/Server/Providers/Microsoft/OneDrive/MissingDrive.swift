import HTTPTransport
import UntrustedInput

/// Why a person has no OneDrive at all.
///
/// Only Graph's message reveals it: the codes, `ResourceNotFound` and `BadRequest`, have many other meanings.
enum MissingDrive: String {
    case notSetUp = "the person's OneDrive was never set up (mysite not found)"
    case notLicensed = "the person's organization has no license for OneDrive (SharePoint Online)"

    /// - Returns: `nil` for every other reply.
    init?(_ reply: Reply) {
        guard reply.status == 400 || reply.status == 404,
            let text = try? UntrustedJSON.decode(Body.self, from: reply.body).error.message?.lowercased()
        else { return nil }
        if text.contains("mysite") {
            self = .notSetUp
        } else if text.contains("does not have a spo license") {
            self = .notLicensed
        } else {
            return nil
        }
    }

    private struct Body: Decodable {
        struct Content: Decodable {
            var message: String?
        }
        var error: Content
    }
}
