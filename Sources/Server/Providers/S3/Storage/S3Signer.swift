import FoundationEssentials
import HTTPTransport
import HTTPTypes

/// Signs the requests of one operation, and learns the service's time and the bucket's region from rejections, once
/// each.
final class S3Signer {
    /// Amazon tolerates a quarter of an hour; a smaller difference than this cannot be the reason for a rejection.
    private static let tolerableSeconds: Int64 = 60

    private let now: @Sendable () -> Int64
    /// How far the service's clock is ahead of ours.
    private var secondsAhead: Int64 = 0
    private var isClockCorrected = false
    /// Replaces the region that the person named.
    private var region: String?

    /// - Parameter now: seconds since 1970.
    init(now: @escaping @Sendable () -> Int64) { self.now = now }

    /// Signs `request` with an access key's secret. The hash of its payload is in its header; see ``S3Request``.
    func sign(_ request: inout OutgoingRequest, secret: String, as location: S3Location) {
        let signature = SignatureV4(
            accessKeyID: location.accessKeyID, secretKey: secret, region: region ?? location.region, service: "s3")
        signature.sign(
            &request, payloadHash: request.headers[.amzContentSHA256] ?? SignatureV4.unsignedPayload,
            at: now() + secondsAhead)
    }

    /// Whether a rejection has provided information with which a new signature of the same request may be accepted.
    func learns(from reply: Reply, _ error: S3ErrorBody?) -> Bool {
        switch error?.code {
        // Services use different codes for a request with a wrong time; a request that is rejected for another reason
        // is rejected again.
        case "RequestTimeTooSkewed", "RequestExpired", "SignatureDoesNotMatch", "AccessDenied":
            guard !isClockCorrected, let date = reply.head.date else { return false }
            let difference = date - now()
            guard abs(difference) >= Self.tolerableSeconds else { return false }
            isClockCorrected = true
            secondsAhead = difference
            return true
        case "AuthorizationHeaderMalformed", "PermanentRedirect", "TemporaryRedirect":
            guard region == nil, let named = reply.head.headers[.amzBucketRegion] ?? error?.region,
                (1...64).contains(named.utf8.count),
                named.utf8.allSatisfy({ (0x61...0x7A).contains($0) || (0x30...0x39).contains($0) || $0 == 0x2D })
            else { return false }
            region = named
            return true
        default: return false
        }
    }
}

extension HTTPField.Name {
    static let amzContentSHA256 = Self("x-amz-content-sha256")!
    static let amzBucketRegion = Self("x-amz-bucket-region")!
    static let amzChecksumAlgorithm = Self("x-amz-checksum-algorithm")!
    static let amzChecksumSHA256 = Self("x-amz-checksum-sha256")!
    /// Indicates an encrypted object, whose ETag is not necessarily the MD5 of the whole object.
    static let amzEncryption = Self("x-amz-server-side-encryption")!
    static let amzCustomerAlgorithm = Self("x-amz-server-side-encryption-customer-algorithm")!
    static let amzVersionID = Self("x-amz-version-id")!
    static let amzMetaMD5 = Self("x-amz-meta-md5")!
    static let contentMD5 = Self("Content-MD5")!
}
