internal import HTTPTransport
internal import OpenSSLCrypto
import SyncProtocol

/// Signs requests to Amazon's services with an access key (AWS Signature Version 4).
///
/// https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_sigv-create-signed-request.html
struct SignatureV4: Sendable {
    var accessKeyID: String
    var secretKey: String
    var region: String
    var service: String

    /// The value of the header `Authorization`.
    ///
    /// - Parameters:
    ///   - path: absolute and percent-encoded.
    ///   - query: decoded names and values.
    ///   - headers: all that are to be signed, `host` and `x-amz-date` among them.
    ///   - time: as `20150830T123600Z`, what `x-amz-date` says.
    func authorization(
        method: String, path: String, query: [(name: String, value: String)] = [],
        headers: [(name: String, value: String)], payload: some Sequence<UInt8>, at time: String
    ) -> String {
        let headers = headers.map { (name: $0.name.lowercased(), value: Self.trimmed($0.value)) }
            .sorted { $0.name < $1.name }
        let signedHeaders = headers.map(\.name).joined(separator: ";")
        let canonicalRequest = [
            method, path, Self.canonicalQuery(query),
            headers.map { "\($0.name):\($0.value)\n" }.joined(), signedHeaders, Self.hash(payload),
        ].joined(separator: "\n")
        let date = String(time.prefix(8))
        let scope = "\(date)/\(region)/\(service)/aws4_request"
        let text = "AWS4-HMAC-SHA256\n\(time)\n\(scope)\n\(Self.hash(canonicalRequest.utf8))"
        let signature = hmacSHA256(key: signingKey(on: date), message: Array(text.utf8)).hexLowercase
        return "AWS4-HMAC-SHA256 Credential=\(accessKeyID)/\(scope), SignedHeaders=\(signedHeaders), "
            + "Signature=\(signature)"
    }

    /// The key of one day, region and service.
    func signingKey(on date: String) -> [UInt8] {
        [date, region, service, "aws4_request"].reduce(Array("AWS4\(secretKey)".utf8)) { key, word in
            hmacSHA256(key: key, message: Array(word.utf8))
        }
    }

    /// Sorted by the encoded names, then values, byte by byte.
    private static func canonicalQuery(_ query: [(name: String, value: String)]) -> String {
        query.map { (PercentEncoding.encode($0.name), PercentEncoding.encode($0.value)) }
            .sorted { $0.0 == $1.0 ? isBefore($0.1, $1.1) : isBefore($0.0, $1.0) }
            .map { $0.0 + "=" + $0.1 }.joined(separator: "&")
    }

    private static func isBefore(_ left: String, _ right: String) -> Bool {
        left.utf8.lexicographicallyPrecedes(right.utf8)
    }

    /// A header's value without blanks at its ends, and with inner blanks collapsed to one.
    private static func trimmed(_ value: String) -> String { value.split(separator: " ").joined(separator: " ") }

    private static func hash(_ bytes: some Sequence<UInt8>) -> String {
        IncrementalDigest.digest(of: Array(bytes), .sha256).hexLowercase
    }
}
