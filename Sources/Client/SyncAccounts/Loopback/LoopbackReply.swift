/// The reply to the browser.
struct LoopbackReply: Sendable, Equatable {
    var status: Int
    /// Where to redirect the browser; `nil` to show ``text``.
    var location: String?
    /// A sentence for the user.
    var text: String
    /// Whether this reply completes the sign-in.
    var isLast = false

    static let notFound = LoopbackReply(status: 404, text: "Nothing was found here.")

    /// The serialized reply (RFC 9112); one for each connection.
    var bytes: [UInt8] {
        let page =
            "<!doctype html><html lang=en><meta charset=utf-8><title>Sign-in</title>"
            + "<style>:root{color-scheme:light dark}body{font:1rem/1.5 system-ui,sans-serif;margin:4rem auto;"
            + "max-width:30rem;padding:0 1rem}</style><p>" + Self.escape(text) + "</p></html>\n"
        var head = "HTTP/1.1 \(status) \(Self.phrase(status))\r\n"
        if let location { head += "Location: \(location)\r\n" }
        if status == 405 { head += "Allow: GET\r\n" }
        head += "Content-Type: text/html; charset=utf-8\r\nContent-Length: \(page.utf8.count)\r\n"
        // The URL contains the code: it must be neither cached nor passed on.
        head += "Cache-Control: no-store\r\nReferrer-Policy: no-referrer\r\nX-Content-Type-Options: nosniff\r\n"
        head += "Content-Security-Policy: default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'\r\n"
        return Array((head + "Connection: close\r\n\r\n" + page).utf8)
    }

    private static func phrase(_ status: Int) -> String {
        switch status {
        case 200: "OK"
        case 302: "Found"
        case 404: "Not Found"
        case 405: "Method Not Allowed"
        case 431: "Request Header Fields Too Large"
        default: "Bad Request"
        }
    }

    private static func escape(_ text: String) -> String {
        text.replacing("&", with: "&amp;").replacing("<", with: "&lt;").replacing(">", with: "&gt;")
    }
}

/// The head of a request to the listener, as far as it is needed.
struct LoopbackRequest: Sendable, Equatable {
    let method: String
    let target: String
    /// Includes the port.
    let host: String?

    /// `nil` if it is not HTTP/1.
    init?(_ head: [UInt8]) {
        guard let text = String(validating: head, as: UTF8.self) else { return nil }
        let lines = text.split(separator: "\r\n", omittingEmptySubsequences: false)
        let words = (lines.first ?? "").split(separator: " ", omittingEmptySubsequences: false)
        guard words.count == 3, words[2].hasPrefix("HTTP/1.") else { return nil }
        (method, target) = (String(words[0]), String(words[1]))
        let hosts = lines.dropFirst().compactMap { line -> String? in
            let halves = line.split(separator: ":", maxSplits: 1)
            guard halves.count == 2, halves[0].lowercased() == "host" else { return nil }
            return halves[1].filter { $0 != " " && $0 != "\t" }
        }
        guard hosts.count <= 1 else { return nil }
        host = hosts.first
    }
}
