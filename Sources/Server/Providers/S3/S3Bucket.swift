import FoundationEssentials
import HTTPTransport
import HTTPTypes
import OpenSSLCrypto
import SyncProtocol

/// One person's part of a bucket, for one operation: creates, signs and sends requests.
struct S3Bucket {
    let access: StorageAccess
    let location: S3Location
    private let token: String
    private let destination: OutgoingRequest.Destination
    private let baseURL: String
    private let signer: S3Signer
    private let abilities: S3Abilities
    /// Without TLS, only a signature protects a payload.
    let signsPayloads: Bool
    /// The latest reply, if it was a rejection.
    let lastRefusal = S3Refusal()

    /// - Throws: ``CloudStorageError/serverNotAllowed`` if the operator no longer allows the server.
    init(
        in access: StorageAccess, servers: NamedServers, abilities: S3Abilities,
        now: @escaping @Sendable () -> Int64
    ) throws(CloudStorageError) {
        let current = try access.tokens.current()
        guard let stored = current.location else { throw .authorizationRevoked }
        token = current.text
        location = try S3Location(stored: stored)
        guard let server = location.server, let destination = servers.destination(of: server) else {
            throw .serverNotAllowed
        }
        self.access = access
        self.destination = destination
        self.abilities = abilities
        baseURL = location.baseURL(on: server)
        signsPayloads = server.scheme == .http
        signer = S3Signer(now: now)
    }

    /// A bucket whose owner has no account yet: for sign-in.
    init(
        _ location: S3Location, secret: String, destination: OutgoingRequest.Destination, server: ServerAddress,
        access: StorageAccess, now: @escaping @Sendable () -> Int64
    ) {
        token = secret
        self.location = location
        self.access = access
        self.destination = destination
        abilities = S3Abilities()
        baseURL = location.baseURL(on: server)
        signsPayloads = server.scheme == .http
        signer = S3Signer(now: now)
    }

    func has(_ ability: S3Abilities.Ability) -> Bool { abilities.has(ability, access.tokens.accountKey) }

    func rememberLack(of ability: S3Abilities.Ability) { abilities.rememberLack(of: ability, access.tokens.accountKey) }

    /// Sends requests with the key's signature, and retries them.
    /// - Parameter answers: the error codes for which the caller wants to see the reply.
    func client(accepting answers: Set<String> = []) -> ProviderClient {
        ProviderClient(
            access, token: token,
            authorize: { [signer] request, token, stored throws(CloudStorageError) in
                // Another process may have stored a different key in the meantime.
                let location = try stored.map { text throws(CloudStorageError) in try S3Location(stored: text) }
                signer.sign(&request, secret: token, as: location ?? self.location)
            },
            classify: { [signer, lastRefusal] reply in
                lastRefusal.note(reply)
                return S3Verdict.classify(reply, accepting: answers, correcting: signer)
            })
    }

    /// A request that concerns the whole bucket.
    func request(
        _ operation: ProviderCall.Operation, _ method: HTTPRequest.Method,
        query: [(name: String, value: String)], headers: HTTPFields = [:]
    ) -> OutgoingRequest {
        make(operation, method, baseURL, query, headers)
    }

    /// A request that concerns an object.
    func request(
        _ operation: ProviderCall.Operation, _ method: HTTPRequest.Method, object: String,
        query: [(name: String, value: String)] = [], headers: HTTPFields = [:]
    ) -> OutgoingRequest {
        make(operation, method, baseURL + location.encodedPrefix + object, query, headers)
    }

    private func make(
        _ operation: ProviderCall.Operation, _ method: HTTPRequest.Method, _ address: String,
        _ query: [(name: String, value: String)], _ headers: HTTPFields
    ) -> OutgoingRequest {
        let text = SignatureV4.canonicalQuery(query)
        var request = OutgoingRequest(
            .s3, operation, method, text.isEmpty ? address : address + "?" + text, headers: headers)
        request.destination = destination
        request.headers[.amzContentSHA256] = SignatureV4.payloadHash(of: [])
        return request
    }

    /// Attaches bytes to a request as its body.
    /// - Parameter hash: the SHA-256 of the bytes in hexadecimal digits, if known.
    func attach(_ bytes: ArraySlice<UInt8>, hash: String? = nil, to request: inout OutgoingRequest) {
        request.body = .bytes(bytes)
        request.headers[.amzContentSHA256] =
            hash ?? (signsPayloads ? SignatureV4.payloadHash(of: bytes) : SignatureV4.unsignedPayload)
    }

    /// Makes the service compare the bytes of a request with their MD5. Several servers do not compare them with the
    /// hash that is signed over plain HTTP (SeaweedFS 4.48, `rclone serve s3` 1.75).
    func attach(checked bytes: ArraySlice<UInt8>, to request: inout OutgoingRequest) {
        var md5 = IncrementalDigest(.md5)
        md5.update(bytes)
        request.headers[.contentMD5] = Data(md5.finish()).base64EncodedString()
        attach(bytes, to: &request)
    }

    /// Attaches a part to a request as its body: sent as it arrives, unless it must be hashed first.
    func attach(_ part: UploadPart, to request: inout OutgoingRequest) throws(CloudStorageError) {
        guard !signsPayloads else { return attach(try part.whole(), to: &request) }
        request.body = part.body()
        request.headers[.amzContentSHA256] = SignatureV4.unsignedPayload
    }
}

/// The latest rejection within one operation, so that its cause can be reported afterwards.
final class S3Refusal {
    /// `nil` if the reply was a success.
    private(set) var status: Int?
    /// ``S3ErrorBody/code``; `nil` if the reply did not come from S3.
    private(set) var code: String?

    func note(_ reply: Reply) {
        let isRefusal = reply.status >= 300
        status = isRefusal ? reply.status : nil
        code = isRefusal ? S3ErrorBody(reply.body)?.code : nil
    }
}

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
