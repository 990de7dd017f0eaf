import Expat
import HTTPTransport

/// The body of a refusal: `<Error><Code>…` ("Error responses").
struct S3ErrorBody {
    /// Such as `NoSuchKey`; at most 64 letters and digits, since it is logged.
    let code: String
    /// The region that a request must be signed for.
    let region: String?
    /// Whether the message says that a quota is reached, for which Garage has no code of its own (`check_quotas` in its
    /// source).
    let mentionsQuota: Bool

    /// `nil` if the body is something else, or there is none, as with HEAD.
    init?(_ body: [UInt8]) {
        guard let root = try? XMLElement(parsing: body), root.name == "Error",
            let code = root.child("Code", in: root.namespace)?.text
        else { return nil }
        self.code = String(code.filter { $0.isASCII && ($0.isLetter || $0.isNumber) }.prefix(64))
        region = root.child("Region", in: root.namespace)?.text
        mentionsQuota = root.child("Message", in: root.namespace)?.text.contains("quota is reached") == true
    }
}
