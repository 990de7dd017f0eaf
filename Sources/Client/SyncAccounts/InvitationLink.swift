public import Foundation
public import SyncProtocol

/// Creates and parses invitation links: `BUNDLE-ID.invitation://?code=CODE`.
public struct InvitationLink: Sendable, Hashable {
    private let scheme: String

    /// - Parameter bundleID: the app's identifier, such as `com.example.app`.
    /// - Throws: ``SignInError/Code/misconfigured`` if it is not valid in a URL scheme (RFC 3986, section 3.1).
    public init(bundleID: String) throws(SignInError) {
        let isScheme =
            bundleID.first.map { $0.isASCII && $0.isLetter } ?? false
            && bundleID.allSatisfy { $0.isASCII && ($0.isLetter || $0.isNumber || "+-.".contains($0)) }
        guard isScheme else { throw SignInError(.misconfigured, "\(bundleID) is not valid in a URL scheme") }
        scheme = bundleID + ".invitation"
    }

    /// The link for an invitation.
    public func url(for code: SharingInvitationUUID) -> URL {
        guard let url = URL(string: "\(scheme)://?" + FormText.encode([("code", code.rawValue)])) else {
            preconditionFailure("a scheme and an escaped query are a URL")
        }
        return url
    }

    /// The invitation code of a link; `nil` if the link is another app's, or has no code.
    ///
    /// The scheme is compared case-insensitively, as systems change its case; further query items are ignored: older
    /// links contain the permission after the code.
    public func code(in url: URL) -> SharingInvitationUUID? {
        let text = url.absoluteString.prefix { $0 != "#" }
        guard let colon = text.firstIndex(of: ":"), text[..<colon].lowercased() == scheme.lowercased(),
            let mark = text.firstIndex(of: "?")
        else { return nil }
        return RequestTarget("/" + text[mark...])?.single("code").flatMap { SharingInvitationUUID($0) }
    }
}
