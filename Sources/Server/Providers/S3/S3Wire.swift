import Expat
import HTTPTransport
import SyncProtocol

/// One page of `ListObjectsV2`.
struct S3Listing {
    let objects: [StoredObject]
    /// The token for the next page; `nil` after the last one.
    let continuation: String?

    /// - Throws: ``CloudStorageError/unavailable(detail:)``.
    init(_ reply: Reply, prefix: String) throws(CloudStorageError) {
        let root = try S3XML.root(of: reply, named: "ListBucketResult")
        objects = root.children("Contents", in: root.namespace).compactMap { entry in
            guard let key = entry.child("Key", in: root.namespace)?.text, key.hasPrefix(prefix), key != prefix,
                let size = (entry.child("Size", in: root.namespace)?.text).flatMap({ Int64($0) }),
                let tag = entry.child("ETag", in: root.namespace)?.text
            else { return nil }
            let name = String(key.dropFirst(prefix.count))
            let object = StoredObject(
                objectID: S3.objectID(name), name: name, sizeBytes: size, providerHash: S3ETag(tag).md5,
                revision: S3ETag(tag).text,
                createdAt: (entry.child("LastModified", in: root.namespace)?.text).flatMap(WireDate.init(internetText:))
            )
            // An object whose key is too long is not ours.
            return object.isPlausible ? object : nil
        }
        let next = root.child("NextContinuationToken", in: root.namespace)?.text ?? ""
        continuation =
            root.child("IsTruncated", in: root.namespace)?.text == "true" && !next.isEmpty ? next : nil
    }
}

/// Parses the XML of replies.
enum S3XML {
    /// The root element, if it has that name with or without `Result`, which `rclone serve s3` sometimes omits.
    /// - Throws: ``CloudStorageError/unavailable(detail:)``: a service that sends anything else is not working.
    static func root(of reply: Reply, named name: String) throws(CloudStorageError) -> XMLElement {
        guard let root = try? XMLElement(parsing: reply.body), [root.name, root.name + "Result"].contains(name) else {
            throw .unavailable(detail: "unreadable reply from the provider")
        }
        return root
    }
}

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

/// Classifies replies of S3 by the action they require ("Error responses", "List of error codes").
///
/// Services differ in their statuses and agree in their codes, so the status counts only if the code is inconclusive. A
/// rejection without a code comes from a proxy, or from a different service at the address, and reveals nothing about
/// the key.
enum S3Verdict {
    /// Error codes for an unacceptable key or secret. `Unauthorized` is Cloudflare R2's ("Error codes").
    private static let keyRejections: Set = [
        "InvalidAccessKeyId", "SignatureDoesNotMatch", "ExpiredToken", "InvalidToken", "TokenRefreshRequired",
        "InvalidSecurity", "Unauthorized",
    ]
    /// Statuses of permanent rejections, because of a request's size or method, that a proxy in front of the service
    /// may also send.
    private static let limits: Set = [411, 413, 414, 431, 501]

    /// - Parameter answers: the error codes for which the caller wants to see the reply.
    static func classify(
        _ reply: Reply, accepting answers: Set<String> = [], correcting signer: S3Signer?
    ) -> ReplyVerdict {
        if (200..<300).contains(reply.status) { return .answer }
        let error = S3ErrorBody(reply.body)
        if let error, answers.contains(error.code) { return .answer }
        if signer?.learns(from: reply, error) == true { return .authorizationCorrected }
        let word = "\(reply.status) \(error?.code ?? "")"
        switch error?.code {
        case let code? where keyRejections.contains(code): return .tokenRejected
        case "AccessDenied" where error?.mentionsKey == true: return .tokenRejected
        // Garage and OpenStack Swift have no code for a quota.
        case "AccessDenied" where error?.mentionsQuota == true, "EntityTooLarge" where error?.mentionsQuota == true:
            return .failure(.quotaExceeded)
        case "AccessDenied" where error?.mentionsClock == true:
            return .tryAgain(after: reply.head.retryAfter, detail: word)
        case "NoSuchKey": return .failure(.notFound)
        case "QuotaExceeded", "XMinioStorageFull", "XMinioAdminBucketQuotaExceeded", "InsufficientCapacity":
            return .failure(.quotaExceeded)
        case "BadDigest", "InvalidDigest", "XAmzContentSHA256Mismatch", "XAmzContentChecksumMismatch":
            return .failure(.contentMismatch)
        case "SlowDown", "TooManyRequests": return .throttled(after: reply.head.retryAfter, detail: word)
        case "ServiceUnavailable", "InternalError", "RequestTimeout", "RequestTimeTooSkewed", "RequestExpired",
            "ConditionalRequestConflict", "OperationAborted":
            return .tryAgain(after: reply.head.retryAfter, detail: word)
        default: break
        }
        switch reply.status {
        case 507: return .failure(.quotaExceeded)
        case let status where limits.contains(status): return .failure(.rejected(code: word))
        case 429: return .throttled(after: reply.head.retryAfter, detail: word)
        case 408, 500...: return .tryAgain(after: reply.head.retryAfter, detail: word)
        default:
            guard error == nil else { return .failure(.rejected(code: word)) }
            return .failure(.unavailable(detail: "\(word)from something that is not S3"))
        }
    }
}
