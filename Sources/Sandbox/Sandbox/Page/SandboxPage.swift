import FoundationEssentials

/// The web page: accounts, their folders and files, with pictures and text displayed.
struct SandboxPage {
    let server: SandboxServer
    /// The number of files shown per folder: the newest ones.
    private static let shownPerFolder = 200
    /// The amount of text shown of a file, in bytes: what its tile can display.
    private static let excerptBytes = 600
    /// The number of notifications shown: the newest ones.
    private static let shownPushes = 20

    /// The complete page.
    func response() -> SandboxResponse {
        let (accounts, violations, faults, pushes) = server.withState { state in
            (
                state.accountOrder.compactMap { state.accounts[$0] }, state.violations.count, state.faults.count,
                Array(state.pushes.suffix(Self.shownPushes))
            )
        }
        var html = "<header><h1>Sandbox</h1><p>Emulated providers, nothing here is real: "
        html += "\(PageText.count(accounts.count, "account")), \(PageText.count(faults, "fault")) armed, "
        html += "<a href=\"/sandbox/violations\">\(PageText.count(violations, "violation"))</a>, "
        html += "<a href=\"/sandbox/requests\">requests</a>.</p></header><main>"
        html += server.appServer == nil ? Self.withoutServer : Self.welcome(accounts)
        if accounts.isEmpty { html += "<p class=empty>There are no accounts yet.</p>" }
        for account in accounts.reversed() { html += section(account) }
        html += Self.section(pushes)
        return PageLayout.response("Sandbox", body: html + "</main>")
    }

    /// The people that the form suggests, one after another.
    private static let suggestions: [(name: String, provider: Provider)] = [
        ("Alice", .google), ("Bob", .facebook), ("Carol", .dropbox), ("Dave", .apple),
    ]

    /// Instructions for newcomers, and the form to begin with.
    private static func welcome(_ accounts: [Account]) -> String {
        let suggestion = suggestions.first { suggested in !accounts.contains { $0.name == suggested.name } }
        var html = """
            <section><h2>Try it</h2><ol>
            <li>Add two people, such as Alice, with storage at Google, and Bob, at Facebook and without storage. \
            Each gets a phone.</li>
            <li>On the first phone, sign up, share a text and a picture, and invite the other person.</li>
            <li>On the second phone, accept the invitation and download the shared files.</li>
            <li>Return to this page: the first person's storage contains the shared files.</li></ol>
            <form method=post action="/sandbox/people"><div class=steps>
            <label>Name <input name=name value="\(suggestion?.name ?? "")" maxlength=100 required autocomplete=off></label>
            <label>Account at <select name=provider>
            """
        for provider in Provider.allCases {
            html += "<option value=\(provider.rawValue)\(provider == suggestion?.provider ? " selected" : "")>"
            html += "\(provider.title)\(provider.hasStorage ? "" : " (no storage)")"
            html += "</option>"
        }
        return html + "</select></label></div><p><button>Add a person</button></p></form></section>"
    }

    private static let withoutServer = """
        <p class=empty>With <code>--server URL</code>, each person has a phone here that uses that server. \
        <code>POST /sandbox/accounts</code> creates an account.</p>
        """

    private func section(_ account: Account) -> String {
        var html = "<section><div class=top><h2>\(PageText.escape(account.name)) \(PageLayout.badge(account.provider))"
        html += "</h2>"
        if server.appServer != nil {
            html += "<a class=button href=\"\(PageLayout.address(of: account))phone\">Open phone</a>"
        }
        html += "</div><p class=meta>\(PageText.escape(account.email)) · \(PageText.escape(account.id))"
        guard let storage = server.withState({ $0.shownFiles(of: account) }) else { return html + "</p></section>" }
        html += " · \(PageText.size(storage.usedBytes)) of \(PageText.size(account.quotaBytes))</p>"
        let folders = Dictionary(grouping: storage.files, by: \.folder)
        if folders.isEmpty { html += "<p class=empty>No files.</p>" }
        for (folder, files) in folders.sorted(by: { $0.key < $1.key }) {
            html += "<h3>\(folder.isEmpty ? storage.root : PageText.escape(folder))</h3><ul class=files>"
            for file in files.suffix(Self.shownPerFolder) { html += item(file, account) }
            html += "</ul>"
            let hidden = files.count - Self.shownPerFolder
            if hidden > 0 { html += "<p class=empty>and \(PageText.count(hidden, "older file")).</p>" }
        }
        return html + "</section>"
    }

    /// The notifications that devices would show; may be empty.
    private static func section(_ pushes: [DeliveredPush]) -> String {
        guard !pushes.isEmpty else { return "" }
        var html = "<section><h2>Notifications</h2><ul class=files>"
        for push in pushes.reversed() {
            let device = push.token.count > 16 ? push.token.prefix(16) + "…" : push.token[...]
            html += "<li><b>\(PageText.escape(push.text))</b><small>\(PageText.escape(push.service)) · "
            html += "\(PageText.escape(String(device))) · \(push.time.shown)</small></li>"
        }
        return html + "</ul></section>"
    }

    private func item(_ file: ShownFile, _ account: Account) -> String {
        var html = "<li\(file.trashed ? " class=trashed" : "")>"
        html += "<a href=\"\(file.address(in: "view", of: account))\">"
        switch file.content(in: server.directory, of: account, limit: Self.excerptBytes).0 {
        case .picture:
            html += "<img class=tile src=\"\(file.address(in: "files", of: account))\" alt=\"\" loading=lazy>"
        case .text(let text): html += "<pre class=tile>\(PageText.escapeLines(text))</pre>"
        case .bytes:
            let kind = file.mimeType.split(separator: "/").last.map(String.init) ?? "file"
            html += "<span class=\"tile kind\">\(PageText.escape(String(kind.prefix(14))))</span>"
        }
        html += "<b>\(PageText.escape(file.name))</b></a><small>\(PageText.size(file.size)) · "
        return html + file.modified.shown + (file.trashed ? " · in the bin" : "") + "</small></li>"
    }
}

/// The page of one file in a person's storage: displays pictures and text.
struct FilePage {
    let server: SandboxServer
    let account: Account
    /// The amount of text to display, in bytes.
    private static let shownBytes = 262_144

    /// The page of the newest file with that name in the folder named by `?folder=`.
    /// - Throws: ``ControlError/notFound(_:)``.
    func response(to request: SandboxRequest, name: String) throws(ControlError) -> SandboxResponse {
        let folder = request.query["folder"] ?? ""
        let files = server.withState { $0.shownFiles(of: account)?.files } ?? []
        guard let file = files.last(where: { $0.name == name && $0.folder == folder }) else {
            throw .notFound("file \(name) does not exist")
        }
        let address = file.address(in: "files", of: account)
        var html = "<header><p><a href=\"/sandbox\">All people</a></p><h1>\(PageText.escape(name))</h1><p class=meta>"
        html += "\(PageText.size(file.size)) · \(PageText.escape(file.mimeType)) · "
        html += "\(file.modified.shown) · in \(PageText.escape(account.name))’s storage "
        html += "\(PageLayout.badge(account.provider))</p></header><main>"
        let (content, isWhole) = file.content(in: server.directory, of: account, limit: Self.shownBytes)
        switch content {
        case .picture: html += "<img class=whole src=\"\(address)\" alt=\"\(PageText.escape(name))\">"
        case .text("") where isWhole: html += "<p class=empty>The file is empty.</p>"
        case .text(let text):
            html += "<pre>\(PageText.escapeLines(text))</pre>"
            if !isWhole {
                html +=
                    "<p class=empty>The first \(PageText.size(Self.shownBytes)) of \(PageText.size(file.size))."
                html += "</p>"
            }
        case .bytes: html += "<p class=empty>Neither a picture nor text.</p>"
        }
        html += "<p><a class=button href=\"\(address)\" download>Save the file</a></p></main>"
        return PageLayout.response(name, body: html)
    }
}
