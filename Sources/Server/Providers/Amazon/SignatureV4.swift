internal import HTTPTransport
internal import HTTPTypes
internal import OpenSSLCrypto
import SyncProtocol

/// Signs requests to Amazon's services, and to services with compatible interfaces, with an access key (AWS Signature
/// Version 4).
///
/// https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_sigv-create-signed-request.html
struct SignatureV4: Sendable {
    var accessKeyID: String
    var secretKey: String
    var region: String
    var service: String

    /// The value of the `Authorization` header.
    ///
    /// - Parameters:
    ///   - path: absolute and percent-encoded.
    ///   - query: the URL's query in the form of ``canonicalQuery(_:)``.
    ///   - headers: all headers to sign, including `host` and `x-amz-date`.
    ///   - payloadHash: ``payloadHash(of:)`` or ``unsignedPayload``.
    ///   - time: the value of `x-amz-date`, such as `20150830T123600Z`.
    func authorization(
        method: String, path: String, query: String = "", headers: [(name: String, value: String)],
        payloadHash: String, at time: String
    ) -> String {
        let headers = headers.map { (name: $0.name.lowercased(), value: Self.trimmed($0.value)) }
            .sorted { $0.name < $1.name }
        let signedHeaders = headers.map(\.name).joined(separator: ";")
        let canonicalRequest = [
            method, path, query,
            headers.map { "\($0.name):\($0.value)\n" }.joined(), signedHeaders, payloadHash,
        ].joined(separator: "\n")
        let date = String(time.prefix(8))
        let scope = "\(date)/\(region)/\(service)/aws4_request"
        let text = "AWS4-HMAC-SHA256\n\(time)\n\(scope)\n\(Self.payloadHash(of: canonicalRequest.utf8))"
        let signature = hmacSHA256(key: signingKey(on: date), message: Array(text.utf8)).hexLowercase
        return "AWS4-HMAC-SHA256 Credential=\(accessKeyID)/\(scope), SignedHeaders=\(signedHeaders), "
            + "Signature=\(signature)"
    }

    /// Signs `request` at a time in seconds since 1970, including its host, its content type, and all its `x-amz-`
    /// headers.
    ///
    /// The query of its URL must have the form of ``canonicalQuery(_:)``.
    func sign(_ request: inout OutgoingRequest, payloadHash: String, at seconds: Int64) {
        let time = Self.time(seconds)
        request.headers[.amzDate] = time
        let target = request.url.split(separator: "/", maxSplits: 3, omittingEmptySubsequences: false)
        let halves = (target.count > 3 ? target[3] : "").split(
            separator: "?", maxSplits: 1, omittingEmptySubsequences: false)
        var headers = request.headers.map { (name: $0.name.canonicalName, value: $0.value) }
            .filter { $0.name.hasPrefix("x-amz-") || $0.name == "content-type" }
        headers.append((name: "host", value: String(target.count > 2 ? target[2] : "")))
        request.headers[.authorization] = authorization(
            method: request.method.rawValue, path: "/" + (halves.first ?? ""),
            query: halves.count > 1 ? String(halves[1]) : "", headers: headers, payloadHash: payloadHash, at: time)
    }

    /// Formats a time as `20150830T123600Z`.
    static func time(_ secondsSince1970: Int64) -> String {
        let digits = WireDate(secondsSince1970: secondsSince1970).description.filter(\.isNumber)
        return digits.prefix(8) + "T" + digits.dropFirst(8) + "Z"
    }

    /// The signing key for one day, region and service.
    func signingKey(on date: String) -> [UInt8] {
        [date, region, service, "aws4_request"].reduce(Array("AWS4\(secretKey)".utf8)) { key, word in
            hmacSHA256(key: key, message: Array(word.utf8))
        }
    }

    /// The query in the form that is signed: sorted bytewise by encoded name, then by value.
    static func canonicalQuery(_ query: [(name: String, value: String)]) -> String {
        query.map { (PercentEncoding.encode($0.name), PercentEncoding.encode($0.value)) }
            .sorted { $0.0 == $1.0 ? isBefore($0.1, $1.1) : isBefore($0.0, $1.0) }
            .map { $0.0 + "=" + $0.1 }.joined(separator: "&")
    }

    private static func isBefore(_ left: String, _ right: String) -> Bool {
        left.utf8.lexicographicallyPrecedes(right.utf8)
    }

    /// A header's value without surrounding spaces, and with each run of inner spaces collapsed to one.
    private static func trimmed(_ value: String) -> String { value.split(separator: " ").joined(separator: " ") }

    /// Takes the place of the hash for a payload that only TLS protects; only S3 allows it.
    static let unsignedPayload = "UNSIGNED-PAYLOAD"

    static func payloadHash(of bytes: some Sequence<UInt8>) -> String {
        IncrementalDigest.digest(of: Array(bytes), .sha256).hexLowercase
    }
}

extension HTTPField.Name {
    static let amzDate = Self("x-amz-date")!
}
