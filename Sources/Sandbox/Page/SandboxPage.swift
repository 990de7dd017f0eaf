/// The page for people: accounts, their folders, and what is in them, pictures as pictures.
struct SandboxPage {
    let server: SandboxServer
    /// Files shown of one folder: the newest.
    private static let shownPerFolder = 200

    /// The page, complete in itself.
    func response() -> SandboxResponse {
        let (accounts, drives, violations, faults) = server.withState { state in
            (
                state.accountOrder.compactMap { state.accounts[$0] }, state.drives, state.violations.count,
                state.faults.count
            )
        }
        let oneDrives = server.withState { $0.oneDrives }
        var html = Self.head
        html += "<header><h1>Sandbox</h1><p>Emulated providers: nothing here is real. "
        html += "\(Self.count(accounts.count, "account")), \(Self.count(faults, "fault")) armed, "
        html += "<a href=\"/sandbox/violations\">\(Self.count(violations, "violation"))</a>, "
        html += "<a href=\"/sandbox/requests\">requests</a>.</p></header><main>"
        if accounts.isEmpty {
            html += "<p class=empty>No accounts yet. Make one with <code>POST /sandbox/accounts</code>.</p>"
        }
        for account in accounts.reversed() {
            if let drive = oneDrives[account.id] {
                html += section(account, drive)
            } else {
                html += section(account, drives[account.id])
            }
        }
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

    private func section(_ account: Account, _ drive: Drive?) -> String {
        var html = "<section><h2>\(Self.escape(account.name)) <span class=\"\(account.provider.rawValue)\">"
        html +=
            "\(account.provider == .google ? "Google" : account.provider == .apple ? "Apple" : "Facebook")</span></h2><p class=meta>\(Self.escape(account.email)) · \(account.id)"
        guard let drive else { return html + "</p></section>" }
        html += " · \(Self.size(drive.usedBytes)) of \(Self.size(account.quotaBytes))</p>"
        let listing = FileListing(drive: drive)
        let folders = Dictionary(grouping: listing.files) { listing.folderName(of: $0) }
        if folders.isEmpty { html += "<p class=empty>No files.</p>" }
        for (folder, files) in folders.sorted(by: { $0.key < $1.key }) {
            html += "<h3>\(folder.isEmpty ? "My Drive" : Self.escape(folder))</h3><ul>"
            for file in files.suffix(Self.shownPerFolder) { html += item(file, account, listing) }
            html += "</ul>"
            let hidden = files.count - Self.shownPerFolder
            if hidden > 0 { html += "<p class=empty>and \(Self.count(hidden, "older file")).</p>" }
        }
        return html + "</section>"
    }

    private func section(_ account: Account, _ drive: OneDrive) -> String {
        var html = "<section><h2>\(Self.escape(account.name)) <span class=microsoft>Microsoft</span></h2>"
        html += "<p class=meta>\(Self.escape(account.email)) · \(account.id)"
        html += " · \(Self.size(drive.usedBytes)) of \(Self.size(account.quotaBytes))</p>"
        let files = OneDriveListing(drive: drive).files
        let folders = Dictionary(grouping: files) { drive.folderPath(of: $0) }
        if folders.isEmpty { html += "<p class=empty>No files.</p>" }
        for (folder, files) in folders.sorted(by: { $0.key < $1.key }) {
            html += "<h3>\(folder.isEmpty ? "OneDrive" : Self.escape(folder))</h3><ul>"
            for file in files.suffix(Self.shownPerFolder) {
                html += item(
                    name: file.name, folder: folder, type: file.mimeType, size: file.size,
                    modified: file.modifiedAt.text,
                    isTrashed: false, account)
            }
            html += "</ul>"
            let hidden = files.count - Self.shownPerFolder
            if hidden > 0 { html += "<p class=empty>and \(Self.count(hidden, "older file")).</p>" }
        }
        return html + "</section>"
    }

    private func item(_ file: DriveFile, _ account: Account, _ listing: FileListing) -> String {
        item(
            name: file.name, folder: listing.folderName(of: file), type: file.mimeType, size: file.size ?? 0,
            modified: file.modifiedAt.text, isTrashed: listing.drive.isTrashed(file), account)
    }

    private func item(
        name: String, folder: String, type: String, size: Int, modified: String, isTrashed: Bool, _ account: Account
    ) -> String {
        let address =
            "/sandbox/accounts/\(account.id)/files/\(PercentEncoding.encode(name))"
            + "?folder=\(PercentEncoding.encode(folder))"
        var html = "<li\(isTrashed ? " class=trashed" : "")><a href=\"\(address)\">"
        if type.hasPrefix("image/") {
            html += "<img src=\"\(address)\" alt=\"\" loading=lazy>"
        } else {
            let kind = type.split(separator: "/").last.map(String.init) ?? "file"
            html += "<span class=kind>\(Self.escape(String(kind.prefix(14))))</span>"
        }
        html += "<b>\(Self.escape(name))</b></a><small>\(Self.size(size)) · "
        html += Self.escape(String(modified.prefix(16)).replacing("T", with: " "))
        return html + (isTrashed ? " · in the bin" : "") + "</small></li>"
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

    /// Text, safe inside elements and quoted attributes.
    static func escape(_ text: String) -> String {
        var output = ""
        for character in text {
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
        .google{background:#1a73e8}.facebook{background:#0866ff}.microsoft{background:#0f6cbd}.apple{background:#111}
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
