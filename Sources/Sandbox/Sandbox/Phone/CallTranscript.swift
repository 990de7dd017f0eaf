/// One request and its reply, collapsed to a line.
struct CallTranscript {
    let call: PhoneCall
    /// The number of characters shown of a header's value: tokens are long.
    private static let shownValue = 60
    /// The number of characters shown of a reply.
    private static let shownBody = 4_000

    /// The markup.
    var html: String {
        let endpoint = call.target.prefix { $0 != "?" }
        var html = "<details><summary><code>\(call.method) \(PageText.escape(String(endpoint)))</code> "
        html +=
            "<span class=\"status\(call.status == 200 ? "" : " bad")\">\(call.status.map(String.init) ?? "no reply")"
        return html + "</span></summary><pre>\(PageText.escapeLines(request))</pre>"
            + "<pre>\(PageText.escapeLines(reply))</pre></details>"
    }

    private var request: String {
        var text = "\(call.method) \(call.target)\n"
        for (name, value) in call.headers { text += "\(name): \(Self.shortened(value))\n" }
        if call.sentBytes > 0 { text += "\n(\(PageText.size(call.sentBytes)) of contents)" }
        return text
    }

    private var reply: String {
        switch call.outcome {
        case .failure(let error): return error.reason
        case .success(let reply):
            var text = "\(reply.status)\n"
            for (name, value) in reply.headers where name.lowercased().hasPrefix("syncserver-") {
                text += "\(name): \(value)\n"
            }
            if reply.header("syncserver-message-params") != nil {
                return text + "\n(\(PageText.size(reply.body.count)) of contents)"
            }
            let body =
                (try? JSONValue(parsing: reply.body))?.text(isPretty: true)
                ?? String(decoding: reply.body, as: UTF8.self)
            return text + "\n" + body.prefix(Self.shownBody) + (body.count > Self.shownBody ? "…" : "")
        }
    }

    private static func shortened(_ value: String) -> String {
        value.count > shownValue ? "\(value.prefix(shownValue))… (\(value.utf8.count) characters)" : value
    }
}
