import FoundationEssentials
import HTTPTransport
import OpenSSLCrypto
import SyncProtocol
import UntrustedInput

/// The location of a person's objects in a service with the interface of Amazon S3, and the ID of the access key that
/// opens it, without the secret.
struct S3Location: Codable, Equatable, Sendable {
    /// The service's address, in canonical form.
    let address: String
    /// Such as `eu-central-1`; services without regions accept any value.
    let region: String
    let bucket: String
    let accessKeyID: String
    /// The prefix of all objects' keys: empty, or with a slash at its end.
    let prefix: String
}

extension S3Location {
    /// Reads the stored form (``StoredCredentials/location``).
    init(stored text: String) throws(CloudStorageError) {
        do { self = try JSONDecoder().decode(Self.self, from: Data(text.utf8)) } catch { throw .localFailure(error) }
    }

    /// Contains only strings, so it can always be encoded.
    var stored: String? { (try? JSONEncoder().encode(self)).map { String(decoding: $0, as: UTF8.self) } }

    /// Distinguishes one person's storage from another's. Excludes the key, which may be replaced.
    var identity: String {
        // Amazon has several addresses for each bucket.
        let server = server.flatMap(AmazonEndpoint.init)?.partition.rawValue ?? address
        let text = "\(server)\(bucket)/\(prefix)"
        guard text.unicodeScalars.count > 255 else { return text }
        return "sha256:" + IncrementalDigest.digest(of: Array(text.utf8), .sha256).hexLowercase
    }

    var server: ServerAddress? { ServerAddress(address) }

    /// The prefix of all objects' URLs: at Amazon, with the bucket in the host name if the certificate allows it;
    /// otherwise with the bucket in the path ("Virtual hosting of buckets").
    func baseURL(on server: ServerAddress) -> String {
        AmazonEndpoint(server) != nil && !bucket.contains(".")
            ? "\(server.scheme.rawValue)://\(bucket).\(server.authority)/" : "\(server.text)\(bucket)/"
    }

    /// The prefix as encoded in URLs.
    var encodedPrefix: String {
        prefix.split(separator: "/", omittingEmptySubsequences: false).map { PercentEncoding.encode(String($0)) }
            .joined(separator: "/")
    }
}

// Presented by a phone.
extension S3Location {
    /// The members of `X-account-details`.
    private struct Details: Decodable {
        var address: String
        var region: String
        var bucket: String
        var accessKeyID: String
        var prefix: String?
    }

    private static let longestPrefix = 512

    /// Reads the details that a phone presents.
    /// - Throws: ``AccountError/malformedDetails(_:)``; ``AccountError/serverNotAllowed`` for an invalid address.
    init(details text: String?) throws(AccountError) {
        guard let text, let details = try? UntrustedJSON.decode(Details.self, from: Array(text.utf8)) else {
            throw .malformedDetails("must be JSON with address, region, bucket and accessKeyID")
        }
        guard details.address.contains("://") else {
            throw .malformedDetails("has an address that does not begin with https://")
        }
        // The caller does not learn why an address is not accepted.
        guard let server = ServerAddress(details.address) else { throw .serverNotAllowed }
        guard server.path == "/" else { throw .malformedDetails("must have the address of a server, without a path") }
        guard details.region.isMade(of: "-", upTo: 64) else {
            throw .malformedDetails("must have a region of letters, digits and hyphens")
        }
        guard Self.isBucketName(details.bucket) else {
            throw .malformedDetails("must have a bucket of 3 to 63 lower-case letters, digits, dots and hyphens")
        }
        guard details.accessKeyID.isMade(of: "-._", upTo: 128) else {
            throw .malformedDetails("must have an accessKeyID of letters, digits, hyphens, dots and underscores")
        }
        guard let prefix = Self.canonicalPrefix(details.prefix ?? "") else {
            throw .malformedDetails("must have a prefix of at most \(Self.longestPrefix) bytes, without empty parts")
        }
        self.init(
            address: server.text, region: details.region, bucket: details.bucket, accessKeyID: details.accessKeyID,
            prefix: prefix)
    }

    /// "Bucket naming rules".
    private static func isBucketName(_ text: String) -> Bool {
        let ends = [text.utf8.first, text.utf8.last]
        return text.utf8.count >= 3 && text.isMade(of: "-.", upTo: 63) && text == text.lowercased()
            && !text.contains("..") && !ends.contains(UInt8(ascii: "-")) && !ends.contains(UInt8(ascii: "."))
    }

    private static func canonicalPrefix(_ text: String) -> String? {
        let parts = text.split(separator: "/", omittingEmptySubsequences: false)
        let inner = parts.last == "" ? parts.dropLast() : parts[...]
        guard text.utf8.count <= longestPrefix, !inner.contains(where: { ["", ".", ".."].contains($0) }),
            text.unicodeScalars.allSatisfy({ $0.value >= 0x20 && $0.value != 0x7F })
        else { return nil }
        return inner.map { $0 + "/" }.joined()
    }
}

extension String {
    /// Whether the text consists of 1 to `maximum` ASCII letters, digits and characters of `others`.
    fileprivate func isMade(of others: String, upTo maximum: Int) -> Bool {
        (1...maximum).contains(utf8.count)
            && utf8.allSatisfy { byte in
                switch byte {
                case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                    UInt8(ascii: "0")...UInt8(ascii: "9"):
                    true
                default: others.utf8.contains(byte)
                }
            }
    }
}

/// An address of Amazon S3 itself ("Amazon S3 endpoints and quotas", AWS General Reference). Other Amazon services have
/// names below the same domain, and some of these names are open to anybody's programs.
struct AmazonEndpoint: Equatable {
    /// A group of regions within which bucket names are unique ("General purpose bucket naming rules").
    enum Partition: String {
        case commercial = "https://s3.amazonaws.com/"
        case governmental = "https://s3.us-gov-west-1.amazonaws.com/"
        case chinese = "https://s3.cn-north-1.amazonaws.com.cn/"
    }

    let partition: Partition

    /// - Returns: `nil` for any other address.
    init?(_ server: ServerAddress) {
        let labels = server.host.split(separator: ".", omittingEmptySubsequences: false)
        let isChinese = labels.last == "cn"
        let domain: [Substring] = isChinese ? ["amazonaws", "com", "cn"] : ["amazonaws", "com"]
        guard server.scheme == .https, server.authority == server.host, labels.count > domain.count,
            Array(labels.suffix(domain.count)) == domain
        else { return nil }
        guard let region = Self.region(in: labels.dropLast(domain.count)) else { return nil }
        // China's regions, and no others, have their own domain.
        guard region.hasPrefix("cn-") == isChinese else { return nil }
        partition = isChinese ? .chinese : region.hasPrefix("us-gov-") ? .governmental : .commercial
    }

    /// The region denoted by `s3`, `s3.REGION`, `s3-REGION`, or `s3.dualstack.REGION`, each also with `s3-fips` instead
    /// of `s3`.
    private static func region(in labels: ArraySlice<Substring>) -> Substring? {
        var labels = labels
        guard let service = labels.popFirst() else { return nil }
        if labels.isEmpty, service == "s3" { return "us-east-1" }
        if labels.isEmpty, service.hasPrefix("s3-") {
            let region = service.dropFirst(3)
            // A former name of us-east-1.
            return region == "external-1" ? "us-east-1" : isRegion(region) ? region : nil
        }
        guard service == "s3" || service == "s3-fips" else { return nil }
        if labels.first == "dualstack" { labels.removeFirst() }
        guard labels.count == 1, let region = labels.first, isRegion(region) else { return nil }
        return region
    }

    /// Accepts names such as `eu-central-1`.
    private static func isRegion(_ text: Substring) -> Bool {
        let parts = text.split(separator: "-", omittingEmptySubsequences: false)
        guard parts.count >= 3, let number = parts.last else { return false }
        return !number.isEmpty && number.utf8.allSatisfy { (0x30...0x39).contains($0) }
            && parts.dropLast().allSatisfy { part in
                !part.isEmpty && part.utf8.allSatisfy { (0x61...0x7A).contains($0) }
            }
    }
}
