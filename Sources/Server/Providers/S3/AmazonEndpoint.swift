import HTTPTransport

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
