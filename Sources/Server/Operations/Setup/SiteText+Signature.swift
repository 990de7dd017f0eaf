import OpenSSLCrypto

/// Setup recognises its own sites by their first line, which has the digest of all others: a site that a person has
/// changed is that person's.
extension SiteText {
    private static let mark =
        "# `syncctl setup` wrote this and replaces it, unless it was changed. SHA-256 of all else: "

    static func signed(_ text: String) -> String { mark + digest(of: text) + "\n" + text }

    /// The site without the first line that setup wrote.
    static func unsigned(_ site: String) -> String {
        guard site.hasPrefix(mark), let end = site.utf8.firstIndex(of: UInt8(ascii: "\n")) else { return site }
        return String(site[site.utf8.index(after: end)...])
    }

    /// Whether a site is as setup wrote it.
    static func isUnchanged(_ site: String, template: String) -> Bool {
        let text = unsigned(site)
        if text != site { return site == signed(text) }
        // Earlier releases signed nothing: what they wrote is what they would write.
        let present = SitePresence(site)
        guard let host = present.host else { return false }
        if site == earlierInterim(host: host) { return true }
        guard let certificate = present.certificate else { return false }
        return [true, false].contains { staples in
            (try? complete(template, host: host, certificate: certificate, staples: staples)).map(unsigned) == site
        }
    }

    /// What earlier releases wrote until there was a certificate.
    static func earlierInterim(host: String) -> String {
        """
        # SyncServer's site for \(host) until there is a certificate; made by `syncctl setup`, which is to be run again
        # then and replaces it, unless it was changed.

        """ + challenge(host: host)
    }

    private static func digest(of text: String) -> String {
        IncrementalDigest.digest(of: Array(text.utf8), .sha256).hexLowercase
    }
}
