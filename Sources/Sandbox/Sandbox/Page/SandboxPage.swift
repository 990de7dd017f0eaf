internal import FoundationEssentials
internal import Posix

/// The page for people: accounts, their folders, and what is in them, pictures as pictures.
struct SandboxPage {
    let server: SandboxServer
    /// Files shown of one folder: the newest.
    private static let shownPerFolder = 200
    /// Notifications shown: the newest.
    private static let shownPushes = 20

    /// The page, complete in itself.
    func response() -> SandboxResponse {
        let (accounts, violations, faults, pushes) = server.withState { state in
            (
                state.accountOrder.compactMap { state.accounts[$0] }, state.violations.count, state.faults.count,
                Array(state.pushes.suffix(Self.shownPushes))
            )
        }
        var html = Self.head
        html += "<header><h1>Sandbox</h1><p>Emulated providers: nothing here is real. "
        html += "\(Self.count(accounts.count, "account")), \(Self.count(faults, "fault")) armed, "
        html += "<a href=\"/sandbox/violations\">\(Self.count(violations, "violation"))</a>, "
        html += "<a href=\"/sandbox/requests\">requests</a>.</p></header><main>"
        if accounts.isEmpty {
            html += "<p class=empty>No accounts yet. Make one with <code>POST /sandbox/accounts</code>.</p>"
        }
        for account in accounts.reversed() { html += section(account) }
        html += Self.section(pushes)
        html += "</main></html>\n"
        return SandboxResponse(
            200,
            headers: [
                ("Content-Type", "text/html; charset=UTF-8"), ("Cache-Control", "no-store"),
                (
                    "Content-Security-Policy",
                    "default-src 'none'; img-src 'self'; style-src 'unsafe-inline'; frame-ancestors 'none'"
                ),
            ], body: Array(html.utf8))
    }

    private func section(_ account: Account) -> String {
        var html = "<section><h2>\(Self.escape(account.name)) <span class=\"\(account.provider.rawValue)\">"
        html +=
            "\(account.provider.rawValue.capitalized)</span></h2><p class=meta>\(Self.escape(account.email)) · \(account.id)"
        guard let storage = server.withState({ $0.shownFiles(of: account) }) else { return html + "</p></section>" }
        html += " · \(Self.size(storage.usedBytes)) of \(Self.size(account.quotaBytes))</p>"
        let folders = Dictionary(grouping: storage.files, by: \.folder)
        if folders.isEmpty { html += "<p class=empty>No files.</p>" }
        for (folder, files) in folders.sorted(by: { $0.key < $1.key }) {
            html += "<h3>\(folder.isEmpty ? storage.root : Self.escape(folder))</h3><ul>"
            for file in files.suffix(Self.shownPerFolder) { html += item(file, account) }
            html += "</ul>"
            let hidden = files.count - Self.shownPerFolder
            if hidden > 0 { html += "<p class=empty>and \(Self.count(hidden, "older file")).</p>" }
        }
        return html + "</section>"
    }

    /// What devices would show; empty if nothing.
    private static func section(_ pushes: [DeliveredPush]) -> String {
        guard !pushes.isEmpty else { return "" }
        var html = "<section><h2>Notifications</h2><ul>"
        for push in pushes.reversed() {
            let device = push.token.count > 16 ? push.token.prefix(16) + "…" : push.token[...]
            html += "<li><b>\(escape(push.text))</b><small>\(escape(push.service)) · \(escape(String(device))) · "
            html += escape(String(push.time.text.prefix(16)).replacing("T", with: " ")) + "</small></li>"
        }
        return html + "</ul></section>"
    }

    private func item(_ file: ShownFile, _ account: Account) -> String {
        let address =
            "/sandbox/accounts/\(account.id)/files/\(PercentEncoding.encode(file.name))"
            + "?folder=\(PercentEncoding.encode(file.folder))"
        var html = "<li\(file.isTrashed ? " class=trashed" : "")><a href=\"\(address)\">"
        if file.mimeType.hasPrefix("image/") {
            html += "<img src=\"\(address)\" alt=\"\" loading=lazy>"
        } else {
            let kind = file.mimeType.split(separator: "/").last.map(String.init) ?? "file"
            html += "<span class=kind>\(Self.escape(String(kind.prefix(14))))</span>"
        }
        html += "<b>\(Self.escape(file.name))</b></a><small>\(Self.size(file.sizeBytes)) · "
        html += Self.escape(String(file.modifiedAt.text.prefix(16)).replacing("T", with: " "))
        return html + (file.isTrashed ? " · in the bin" : "") + "</small></li>"
    }

    private static func count(_ number: Int, _ noun: String) -> String {
        "\(number == 0 ? "no" : String(number)) \(noun)\(number == 1 ? "" : "s")"
    }

    /// A size for people: 1,000 bytes are 1 kB.
    static func size(_ bytes: Int) -> String {
        var number = Double(bytes)
        for unit in ["bytes", "kB", "MB", "GB", "TB"] {
            if number < 999.5 || unit == "TB" {
                let isWhole = unit == "bytes" || number >= 99.5 || number == number.rounded()
                return isWhole ? "\(Int(number.rounded())) \(unit)" : "\((number * 10).rounded() / 10) \(unit)"
            }
            number /= 1_000
        }
        return ""
    }

    /// Text, safe inside elements and quoted attributes; invisible characters, and those that reverse a line, by
    /// number.
    static func escape(_ text: String) -> String {
        var output = ""
        for character in PrintableText.escaping(text) {
            switch character {
            case "&": output += "&amp;"
            case "<": output += "&lt;"
            case ">": output += "&gt;"
            case "\"": output += "&quot;"
            case "'": output += "&#39;"
            default: output.append(character)
            }
        }
        return output
    }

    private static let head = """
        <!doctype html><html lang=en><meta charset=utf-8><title>Sandbox</title>
        <meta name=viewport content="width=device-width,initial-scale=1"><style>
        :root{color-scheme:light dark;--line:#8884;--soft:#8881}
        body{font:15px/1.5 system-ui,sans-serif;margin:0 auto;max-width:68rem;padding:1.5rem}
        h1{margin:0;font-size:1.6rem}h2{margin:0;font-size:1.2rem}h3{margin:1rem 0 .5rem;font-size:1rem}
        header{border-bottom:1px solid var(--line);margin-bottom:1rem}
        section{border:1px solid var(--line);border-radius:.6rem;margin:1rem 0;padding:1rem 1.2rem}
        h2 span{border-radius:1rem;color:#fff;font-size:.7rem;padding:.15rem .6rem;vertical-align:middle}
        .google{background:#1a73e8}.facebook{background:#0866ff}.dropbox{background:#0061fe}
        .microsoft{background:#0f6cbd}.apple{background:#111}
        .meta,.empty,small{margin:.2rem 0;opacity:.7}
        ul{display:grid;gap:.8rem;grid-template-columns:repeat(auto-fill,minmax(10.5rem,1fr));list-style:none;margin:0;padding:0}
        li{background:var(--soft);border-radius:.5rem;overflow:hidden;padding:.6rem}
        li a{color:inherit;display:block;text-decoration:none}
        li b{display:block;font-size:.8rem;font-weight:600;overflow-wrap:anywhere}
        img,.kind{background:var(--soft);border-radius:.3rem;display:block;height:8rem;margin-bottom:.4rem;object-fit:cover;width:100%}
        .kind{align-items:center;display:flex;font-size:1.1rem;justify-content:center;opacity:.6}
        .trashed{opacity:.45}</style>
        """
}
