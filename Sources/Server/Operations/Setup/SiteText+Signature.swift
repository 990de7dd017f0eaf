import OpenSSLCrypto

/// Setup recognises its own sites by their first line, which contains the digest of all other lines: it never
/// overwrites a site that a person has changed.
extension SiteText {
    private static let signature = SignedText(by: "syncctl setup")

    static func signed(_ text: String) -> String { signature.sign(text) }

    /// The site without the first line that setup wrote.
    static func unsigned(_ site: String) -> String { signature.unsigned(site) }

    /// Whether a site is unchanged since setup wrote it.
    public static func isUnchanged(_ site: String, template: String) -> Bool {
        let text = unsigned(site)
        if text != site { return site == signed(text) }
        // Earlier releases did not sign: regenerate their text to compare it.
        let present = SitePresence(site)
        guard let host = present.host else { return false }
        if site == earlierInterim(host: host) { return true }
        guard let certificate = present.certificate else { return false }
        return [true, false].contains { staples in
            (try? complete(
                template, host: host, certificate: certificate, staples: staples, balancers: present.balancers)).map {
                    unsigned(adapted($0, to: .parameter))
                } == site
        }
    }

    /// The site that earlier releases wrote until a certificate existed.
    static func earlierInterim(host: String) -> String {
        """
        # SyncServer's site for \(host) until there is a certificate; made by `syncctl setup`, which is to be run again
        # then and replaces it, unless it was changed.

        """ + challenge(host: host)
    }
}

/// Texts whose first line, a comment, contains the digest of all other lines, to detect changes by a person.
struct SignedText {
    private let mark: String

    /// - Parameter command: the command that writes the texts.
    init(by command: String) {
        mark = "# `\(command)` wrote this and replaces it, unless it was changed. SHA-256 of all else: "
    }

    func sign(_ text: String) -> String {
        mark + IncrementalDigest.digest(of: Array(text.utf8), .sha256).hexLowercase + "\n" + text
    }

    /// The text without its signature, if it has one.
    func unsigned(_ text: String) -> String {
        guard text.hasPrefix(mark), let end = text.utf8.firstIndex(of: UInt8(ascii: "\n")) else { return text }
        return String(text[text.utf8.index(after: end)...])
    }

    /// Whether it is unchanged since it was signed.
    func isUnchanged(_ text: String) -> Bool { text.hasPrefix(mark) && sign(unsigned(text)) == text }
}
