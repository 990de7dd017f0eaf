import Expat
import HTTPTransport

/// The body of a rejection: `<Error><Code>…` ("Error responses").
struct S3ErrorBody {
    /// Such as `NoSuchKey`; at most 64 letters and digits, since it is logged.
    let code: String
    /// The region for which a request must be signed.
    let region: String?
    /// Whether the message reports that a quota is reached: Garage's `AccessDenied` ("… quota is reached",
    /// `check_quotas` in its source), OpenStack Swift's `EntityTooLarge` ("Upload exceeds quota.").
    let mentionsQuota: Bool
    /// Whether the message reports that the clocks differ: `rclone serve s3` replies with `AccessDenied` ("The
    /// difference between the request time and the server's time exceeds the maximum allowed").
    let mentionsClock: Bool
    /// Whether the message reports that the key or its secret is wrong: Garage replies with `AccessDenied` ("Forbidden:
    /// No such key: …", "Forbidden: Invalid signature", `check_signature` in its source).
    let mentionsKey: Bool

    /// `nil` if the body has a different form, or is empty as in a reply to HEAD.
    init?(_ body: [UInt8]) {
        guard let root = try? XMLElement(parsing: body), root.name == "Error",
            let code = root.child("Code", in: root.namespace)?.text
        else { return nil }
        self.code = String(code.filter { $0.isASCII && ($0.isLetter || $0.isNumber) }.prefix(64))
        region = root.child("Region", in: root.namespace)?.text
        let message = root.child("Message", in: root.namespace)?.text ?? ""
        mentionsQuota = ["quota is reached", "exceeds quota"].contains { message.contains($0) }
        mentionsClock = message.contains("request time")
        mentionsKey = ["No such key: ", "Invalid signature"].contains { message.contains($0) }
    }
}
