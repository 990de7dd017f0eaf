import HTTPTransport

/// The hosts for uploads and downloads; Graph issues their addresses, which are themselves the authorization.
enum ContentHost {
    /// Classifies a reply to a download. If an address is no longer accepted, a new one is requested.
    static func classify(_ reply: Reply) -> ReplyVerdict {
        switch reply.status {
        case 200..<300: .answer
        case 401, 403, 404, 408, 410, 423, 429, 500...:
            .tryAgain(after: reply.head.retryAfter, detail: "status \(reply.status) from a download address")
        case 507: .failure(.quotaExceeded)
        default: .failure(.rejected(code: "\(reply.status) from a download address"))
        }
    }

    /// `url` if it belongs to Microsoft: a person's files are never sent elsewhere, whatever a reply contains.
    static func checked(_ url: String) throws(CloudStorageError) -> String {
        guard ExternalService.microsoft.owns(url) else { throw .rejected(code: "bytes at an unknown host") }
        return url
    }
}
